package store

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

// pulse notices a PostgreSQL that takes connections and statements and answers
// none: a frozen machine, or a network that loses everything. It asks on a
// connection of its own; when neither that nor any other statement is answered for
// a while, everything that waits is given up at once, and what comes is refused at
// once until there is an answer again. A statement that is only slow is left alone.
type pulse struct {
	config          *pgx.ConnConfig
	every, patience time.Duration
	silent          func() // is called when the server has fallen silent

	begun    time.Time
	answered atomic.Int64 // when a statement was last answered, since begun

	mu    sync.Mutex
	alive context.Context // ends when the server falls silent
	end   context.CancelFunc
	avoid map[string]bool // addresses that have fallen silent

	stop    context.CancelFunc
	stopped chan struct{}
}

const (
	pulseEvery    = time.Second
	pulsePatience = 3 * time.Second
	// While the server is silent it is asked more often.
	pulseAgain = 250 * time.Millisecond
)

var errSilent = errors.New("PostgreSQL does not answer")

func newPulse(silent func()) *pulse {
	p := &pulse{every: pulseEvery, patience: pulsePatience, silent: silent, begun: time.Now(), avoid: map[string]bool{}, stopped: make(chan struct{})}
	p.alive, p.end = context.WithCancel(context.Background())
	return p
}

// start begins to watch the server of a configuration.
func (p *pulse) start(config *pgx.ConnConfig) {
	ctx, stop := context.WithCancel(context.Background())
	p.config, p.stop = config, stop
	go p.run(ctx)
}

func (p *pulse) close() {
	p.stop()
	<-p.stopped
}

// heard notes that a statement was answered.
func (p *pulse) heard() { p.answered.Store(int64(time.Since(p.begun))) }

// guard is a context that ends when the server falls silent, or has.
func (p *pulse) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	p.mu.Lock()
	alive := p.alive
	p.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(alive, func() { cancel(errSilent) })
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
			p.heard()
			p.revive()
		case pgconn.Timeout(err) && time.Since(p.begun)-time.Duration(p.answered.Load()) >= p.patience && ctx.Err() == nil:
			p.end()
			p.silent()
			wait = min(pulseAgain, p.every)
		default: // a server that refuses connections tells so to whoever asks
			wait = min(pulseAgain, p.every)
		}
		select {
		case <-ctx.Done():
			if conn != nil {
				hangUp(conn)
			}
			return
		case <-time.After(wait):
		}
	}
}

// beat asks once. A connection on which there was no answer is given up, and its
// address is not tried first.
func (p *pulse) beat(ctx context.Context, conn **pgx.Conn) (err error) {
	if *conn == nil {
		if *conn, err = pgx.ConnectConfig(ctx, p.config); err != nil {
			p.avoidNone()
			return err
		}
	}
	asking, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	if err = (*conn).Ping(asking); err != nil {
		p.mu.Lock()
		if pgconn.Timeout(err) {
			p.avoid[(*conn).PgConn().Conn().RemoteAddr().String()] = true
		}
		p.mu.Unlock()
		hangUp(*conn)
		*conn = nil
	}
	return err
}

// hangUp closes a connection without waiting for the other side.
func hangUp(conn *pgx.Conn) {
	soon, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = conn.Close(soon) // nobody may be there to hear it
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

// dial makes the connections to the servers. An address that has fallen silent is
// passed over, so that the next one of several is tried at once.
func (p *pulse) dial(ctx context.Context, network, address string) (net.Conn, error) {
	p.mu.Lock()
	avoided := p.avoid[address]
	p.mu.Unlock()
	if avoided {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errSilent}
	}
	return postgresDialer.DialContext(ctx, network, address)
}

// postgresDialer makes connections that notice within about ten seconds that
// nothing arrives on the other side any more, also when nobody waits for an answer.
var postgresDialer = &net.Dialer{
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3},
	Control:         limitUnacknowledged,
}

// unacknowledged is how long sent data may remain unacknowledged.
const unacknowledged = 10 * time.Second
