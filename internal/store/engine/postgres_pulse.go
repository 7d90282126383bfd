package engine

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pulse detects a PostgreSQL server that accepts connections and statements but does not respond,
// because its machine is frozen or the network drops everything. It pings on a separate connection.
// When neither the ping nor any other statement gets a response for a while, everything that waits
// is canceled, and new calls fail immediately until the server responds again. A slow statement
// alone is left running.
type pulse struct {
	config          *pgx.ConnConfig
	every, patience time.Duration
	onSilence       func() // called when the server stops responding

	started      time.Time
	lastResponse atomic.Int64 // time of the last response, since started

	mu    sync.Mutex
	alive context.Context // canceled when the server stops responding
	end   context.CancelFunc
	avoid map[string]bool // addresses that stopped responding

	stop    context.CancelFunc
	stopped chan struct{}
}

const (
	pulseEvery    = time.Second
	pulsePatience = 3 * time.Second
	// pulseRetry is the interval while the server is not responding.
	pulseRetry = 250 * time.Millisecond
)

var errNotResponding = errors.New("PostgreSQL is not responding")

func newPulse(onSilence func()) *pulse {
	p := &pulse{
		every:     pulseEvery,
		patience:  pulsePatience,
		onSilence: onSilence,
		started:   time.Now(),
		avoid:     map[string]bool{},
		stopped:   make(chan struct{}),
	}
	p.alive, p.end = context.WithCancel(context.Background())
	return p
}

// start begins to ping the server of config.
func (p *pulse) start(config *pgx.ConnConfig) {
	ctx, stop := context.WithCancel(context.Background())
	p.config, p.stop = config, stop
	go p.run(ctx)
}

func (p *pulse) close() {
	p.stop()
	<-p.stopped
}

// noteResponse records that a statement got a response.
func (p *pulse) noteResponse() { p.lastResponse.Store(int64(time.Since(p.started))) }

// guard returns a context that is canceled when the server stops responding, or already has.
func (p *pulse) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	p.mu.Lock()
	alive := p.alive
	p.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(alive, func() { cancel(errNotResponding) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

func (p *pulse) run(ctx context.Context) {
	defer close(p.stopped)
	var conn *pgx.Conn
	for {
		wait := p.every
		err := p.beat(ctx, &conn)
		switch {
		case err == nil:
			p.noteResponse()
			p.revive()
		case pgconn.Timeout(err) && ctx.Err() == nil &&
			time.Since(p.started)-time.Duration(p.lastResponse.Load()) >= p.patience:
			p.end()
			p.onSilence()
			wait = min(pulseRetry, p.every)
		default: // the server refuses connections; callers get that error themselves
			wait = min(pulseRetry, p.every)
		}
		select {
		case <-ctx.Done():
			if conn != nil {
				closeNow(conn)
			}
			return
		case <-time.After(wait):
		}
	}
}

// beat pings once. A connection that gets no response is closed, and its address is avoided.
func (p *pulse) beat(ctx context.Context, conn **pgx.Conn) (err error) {
	if *conn == nil {
		if *conn, err = pgx.ConnectConfig(ctx, p.config); err != nil {
			p.avoidNone()
			return err
		}
	}
	pinging, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	if err = (*conn).Ping(pinging); err != nil {
		p.mu.Lock()
		if pgconn.Timeout(err) {
			p.avoid[(*conn).PgConn().Conn().RemoteAddr().String()] = true
		}
		p.mu.Unlock()
		closeNow(*conn)
		*conn = nil
	}
	return err
}

// closeNow closes a connection without waiting for the server.
func closeNow(conn *pgx.Conn) {
	soon, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = conn.Close(soon) // the server may be gone
}

func (p *pulse) revive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alive.Err() != nil {
		p.alive, p.end = context.WithCancel(context.Background())
	}
}

func (p *pulse) avoidNone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.avoid)
}

// dial connects to a server. It fails for an address that stopped responding, so that the next host
// is tried immediately.
func (p *pulse) dial(ctx context.Context, network, address string) (net.Conn, error) {
	p.mu.Lock()
	avoided := p.avoid[address]
	p.mu.Unlock()
	if avoided {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errNotResponding}
	}
	return postgresDialer.DialContext(ctx, network, address)
}

// postgresDialer makes connections that detect a dead peer within about ten seconds, even when no
// response is pending.
var postgresDialer = &net.Dialer{
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3},
	Control:         limitUnacknowledged,
}

// maxUnacknowledged is how long sent data may remain unacknowledged.
const maxUnacknowledged = 10 * time.Second
