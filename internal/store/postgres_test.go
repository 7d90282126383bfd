package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// proxy is a proxy to PostgreSQL that can fail like a network.
type proxy struct {
	net.Listener
	target string

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
	// next is the fate of the next message from the store.
	next fate
	// gate, if not nil, holds back messages from the store until it is closed. held is closed when
	// the first message is held back.
	gate, held chan struct{}
	sealed     bool // no new connections
	frozen     bool // with a gate: connections are accepted but never answered
}

// fate is what happens to a message.
type fate int

const (
	delivered    fate = iota
	swallowed         // the message is lost and the connection closed
	answerIsLost      // the message arrives, the response is lost and the connection closed
)

// newProxy returns a proxy to an empty PostgreSQL database and the address to use.
func newProxy(t *testing.T, settings ...string) (*proxy, string) {
	t.Helper()
	return newProxyOf(t, testenv.Postgres(t), settings...)
}

// newProxyOf is like newProxy for an existing database.
func newProxyOf(t *testing.T, database string, settings ...string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: listener, target: u.Host, conns: map[net.Conn]bool{}}
	go p.serve()
	t.Cleanup(func() {
		p.Close()
		p.release()
		p.cut()
	})
	u.Host = listener.Addr().String()
	q := u.Query()
	for i := 0; i < len(settings); i += 2 {
		q.Set(settings[i], settings[i+1])
	}
	u.RawQuery = q.Encode()
	return p, u.String()
}

func (p *proxy) serve() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		if p.keep(client) {
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil || !p.add(client, server) {
			client.Close()
			if server != nil {
				server.Close()
			}
			continue
		}
		go p.forth(client, server)
		go p.back(client, server)
	}
}

// keep accepts a connection without answering if the proxy is frozen.
func (p *proxy) keep(client net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen {
		p.conns[client] = true
	}
	return p.frozen
}

func (p *proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = true
	}
	return !p.down && !p.sealed && p.gate == nil
}

// seal refuses new connections; existing ones stay open.
func (p *proxy) seal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sealed = true
}

func (p *proxy) end(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		c.Close()
		delete(p.conns, c)
	}
}

// forth forwards messages from the store.
func (p *proxy) forth(client, server net.Conn) {
	late := false // a delayed message is still processed by the server
	defer func() {
		if late {
			_ = server.(*net.TCPConn).CloseWrite() // back closes it
			return
		}
		p.end(client, server)
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		fate := p.next
		p.next = delivered
		gate := p.gate
		if gate != nil && p.held != nil {
			close(p.held)
			p.held = nil
		}
		p.mu.Unlock()
		if gate != nil {
			late = true
			<-gate
		}
		switch fate {
		case swallowed:
			return
		case answerIsLost:
			p.end(client) // so that no response arrives
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
		if fate == answerIsLost {
			// The server processes this message, its response is discarded, and then it sees the
			// end of the connection.
			late = true
			return
		}
	}
}

// back forwards responses from PostgreSQL, or discards them if the store is gone.
func (p *proxy) back(client, server net.Conn) {
	defer p.end(client, server)
	_, _ = io.Copy(client, server) // either side may close
	_, _ = io.Copy(io.Discard, server)
}

// hold holds back messages from the store, like a network that loses and resends packets.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate, p.held = make(chan struct{}), make(chan struct{})
}

// freeze makes the server accept everything and answer nothing.
func (p *proxy) freeze() {
	p.hold()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

// awaitHeld waits until a message is held back.
func (p *proxy) awaitHeld(t testing.TB) {
	t.Helper()
	testenv.Wait(t, "a message to be held back", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.gate != nil && p.held == nil
	})
}

// release forwards the messages held back.
func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gate != nil {
		close(p.gate)
		p.gate = nil
	}
	p.frozen = false
}

// arrange sets the fate of the next message.
func (p *proxy) arrange(f fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = f
}

// cut closes all connections and refuses new ones.
func (p *proxy) cut() {
	p.mu.Lock()
	p.down = true
	p.mu.Unlock()
	p.drop()
}

// drop closes all connections.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

// restore accepts connections again.
func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// tally creates a table that accepts duplicate rows.
func tally(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Write(context.Background(), func(tx *Tx) error { return tx.later(`CREATE TABLE tally (k BIGINT NOT NULL)`) }); err != nil {
		t.Fatal(err)
	}
}

func count(t testing.TB, s *Store, k int) int64 {
	t.Helper()
	return number(t, s, `SELECT count(*) FROM tally WHERE k = $1`, k)
}

func TestPostgresAwayIsAnOutage(t *testing.T) {
	p, database := newProxy(t)
	s := open(t, database)
	withScratch(t, s)
	ctx := context.Background()
	reads := map[string]func() error{
		"ping":     func() error { return s.Ping(ctx) },
		"a read":   func() error { _, err := s.HasUsers(ctx); return err },
		"a lookup": func() error { _, err := s.Warranty(ctx, newID(), newID()); return notFoundIsFine(err) },
	}
	k := 0
	write := func() error { k++; return s.Write(ctx, put(k, "x")) }
	all := func(check func(what string, err error)) {
		for what, read := range reads {
			check(what, read())
		}
		check("a write", write())
	}
	for round := range 3 {
		together(16, func(int) { _ = reads["a read"]() }) // open many connections
		p.cut()
		all(func(what string, err error) {
			if !isUnavailable(err) {
				t.Errorf("round %d, while PostgreSQL is down, %s: %v", round, what, err)
			}
		})
		p.restore()
		testenv.Wait(t, "the store to recover", func() bool { return s.Ping(ctx) == nil && write() == nil })
		all(func(what string, err error) {
			if err != nil && !isUnavailable(err) { // some pooled connections are still dead
				t.Errorf("round %d, after PostgreSQL came back, %s: %v", round, what, err)
			}
		})
	}
}

func notFoundIsFine(err error) error {
	if err != nil && !isUnavailable(err) {
		return nil
	}
	return err
}

// TestNothingIsDoubledOrLostInAnOutage drops connections under load. Acknowledged rows must exist
// once, rows of Unavailable writes at most once, and there must be no other errors.
func TestNothingIsDoubledOrLostInAnOutage(t *testing.T) {
	p, database := newProxy(t)
	s := open(t, database)
	tally(t, s)
	stop, answered := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stop)
		for range 25 {
			for range rand.IntN(20) {
				<-answered
			}
			p.drop()
		}
	}()
	var acknowledged, refused atomic.Int64
	var done sync.Map
	together(8, func(i int) {
		for n := 0; ; n++ {
			k := i*100_000 + n
			err := s.Write(context.Background(), func(tx *Tx) error {
				// A read first, so that the transaction takes several round trips.
				if err := queryRow(tx.ctx, tx.tx, `SELECT count(*) FROM tally WHERE k = $1`, func(Row) {}, k); err != nil {
					return err
				}
				return tx.later(`INSERT INTO tally (k) VALUES ($1)`, k)
			})
			switch {
			case err == nil:
				acknowledged.Add(1)
			case isUnavailable(err):
				refused.Add(1)
			default:
				t.Errorf("%d: %v", k, err)
			}
			done.Store(int64(k), err == nil)
			select {
			case answered <- struct{}{}:
			case <-stop:
				return
			}
		}
	})
	rows := map[int64]int{}
	for tries := 0; ; tries++ {
		clear(rows)
		err := s.engine.query(context.Background(), `SELECT k, count(*) FROM tally GROUP BY k`, func(r Row) error {
			rows[r.Int(0)] = int(r.Int(1))
			return nil
		})
		if err == nil {
			break
		}
		if tries == 20 {
			t.Fatal(err)
		}
	}
	done.Range(func(k, ok any) bool {
		if n := rows[k.(int64)]; n > 1 || ok.(bool) && n != 1 {
			t.Errorf("%d: acknowledged %v, %d rows", k, ok, n)
		}
		return true
	})
	if acknowledged.Load() < 20 {
		t.Errorf("only %d writes were acknowledged, too few to test anything", acknowledged.Load())
	}
	t.Logf("%d acknowledged, %d refused", acknowledged.Load(), refused.Load())
}

// TestAConnectionLostAmongRows: a query is not retried after its first rows, which would be
// delivered twice.
func TestAConnectionLostAmongRows(t *testing.T) {
	p, database := newProxy(t)
	s := open(t, database)
	last := int64(0)
	err := s.engine.query(context.Background(), `SELECT i FROM generate_series(1::bigint, 3000000) i`, func(r Row) error {
		if r.Int(0) != last+1 {
			t.Fatalf("%d came after %d", r.Int(0), last)
		}
		if last++; last == 1 {
			p.drop()
		}
		return nil
	})
	if !isUnavailable(err) {
		t.Errorf("after %d rows: %v", last, err)
	}
}

// TestAConnectionLostAtCommit: the outcome of a commit whose response is lost is unknown, so the
// transaction is not retried.
func TestAConnectionLostAtCommit(t *testing.T) {
	p, database := newProxy(t, "pool_max_conns", "1")
	s := open(t, database)
	tally(t, s)
	unit := func(k int, atStart, atCommit fate) error {
		runs := 0
		return s.Write(context.Background(), func(tx *Tx) error {
			runs++
			if runs > 1 { // retries succeed
				atStart, atCommit = delivered, delivered
			}
			p.arrange(atStart)
			_, err := tx.exec(`INSERT INTO tally (k) VALUES ($1)`, k)
			p.arrange(atCommit)
			return err
		})
	}
	if err := unit(0, delivered, delivered); err != nil { // prepares the statements
		t.Fatal(err)
	}
	k := 0
	for range 5 {
		for _, c := range []struct {
			name              string
			atStart, atCommit fate
			unavailable       bool
			rows              int64
		}{
			{"before the commit arrives", delivered, swallowed, true, 0},
			{"after the commit arrives", delivered, answerIsLost, true, 1},
			{"before anything arrives", swallowed, delivered, false, 1},
			{"before anything is committed", answerIsLost, delivered, false, 1},
		} {
			k++
			err := unit(k, c.atStart, c.atCommit)
			if isUnavailable(err) != c.unavailable || err != nil && !c.unavailable {
				t.Errorf("lost %s: %v", c.name, err)
			}
			if err := unit(-k, delivered, delivered); err != nil { // prepares a new connection
				t.Fatal(err)
			}
			// A busy server may still be committing.
			testenv.Wait(t, fmt.Sprintf("%d rows when the response was lost %s", c.rows, c.name), func() bool { return count(t, s, k) == c.rows })
		}
	}
}

// TestDeadlocksAreTriedAgain has two transactions lock two rows in opposite order.
func TestDeadlocksAreTriedAgain(t *testing.T) {
	_, database := newProxy(t, "deadlock_timeout", "50ms")
	s := withScratch(t, open(t, database))
	for _, k := range []int{1, 2} {
		if err := s.Write(context.Background(), put(k, "")); err != nil {
			t.Fatal(err)
		}
	}
	var runs atomic.Int64
	meet := meeting(2)
	together(2, func(i int) {
		met := false
		err := s.Write(context.Background(), func(tx *Tx) error {
			runs.Add(1)
			if _, err := tx.exec(`UPDATE scratch SET v = v || 'x' WHERE k = $1`, 1+i); err != nil {
				return err
			}
			if !met {
				met = true
				meet()
			}
			_, err := tx.exec(`UPDATE scratch SET v = v || 'x' WHERE k = $1`, 2-i)
			return err
		})
		if err != nil {
			t.Errorf("transaction %d: %v", i, err)
		}
	})
	if rows := values(t, s); rows[1] != "xx" || rows[2] != "xx" {
		t.Errorf("the rows are %v", rows)
	}
	if runs.Load() < 3 { // a busy server may have more than one deadlock
		t.Errorf("two transactions ran %d times: there was no deadlock", runs.Load())
	}
}

// TestSerializationFailuresAreTriedAgain has two transactions read and then change one row, where
// PostgreSQL lets only one commit.
func TestSerializationFailuresAreTriedAgain(t *testing.T) {
	s := withScratch(t, open(t, testenv.Postgres(t)))
	if err := s.Write(context.Background(), put(1, "")); err != nil {
		t.Fatal(err)
	}
	meet := meeting(2)
	var runs atomic.Int64
	together(2, func(i int) {
		met := false
		err := s.Write(context.Background(), func(tx *Tx) error {
			runs.Add(1)
			if err := tx.later(`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`); err != nil {
				return err
			}
			was := ""
			if err := queryRow(tx.ctx, tx.tx, `SELECT v FROM scratch WHERE k = 1`, func(r Row) { was = r.Text(0) }); err != nil {
				return err
			}
			if !met {
				met = true
				meet()
			}
			return tx.later(`UPDATE scratch SET v = $1 WHERE k = 1`, was+"x") // fails at the commit
		})
		if err != nil {
			t.Errorf("transaction %d: %v", i, err)
		}
	})
	if rows := values(t, s); rows[1] != "xx" || runs.Load() < 3 {
		t.Errorf("the row is %q after %d runs", rows[1], runs.Load())
	}
}

// meeting returns a function in which n goroutines wait for each other.
func meeting(n int) func() {
	var all sync.WaitGroup
	all.Add(n)
	return func() {
		all.Done()
		all.Wait()
	}
}

// TestAnEndlessConflictIsAnOutage: a transaction that always fails to serialize returns
// Unavailable, which callers may retry.
func TestAnEndlessConflictIsAnOutage(t *testing.T) {
	s := open(t, testenv.Postgres(t))
	runs := 0
	err := s.Write(context.Background(), func(tx *Tx) error {
		runs++
		_, err := tx.exec(`DO $do$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END $do$`)
		return err
	})
	if !isUnavailable(err) || runs != writeTries {
		t.Errorf("after %d runs: %v", runs, err)
	}
	var refusal interface{ Unwrap() []error }
	if !errors.As(err, &refusal) || sqlState(err) != "40001" {
		t.Errorf("the error does not contain the cause: %v", err)
	}
}
