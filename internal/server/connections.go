package server

import (
	"container/list"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"warranty.example/svc/internal/limit"
)

// Limits of connections. One address may have [Server.ConnectionsPerAddress] of them.
const (
	maxConnections = 10_000
	// crowdedIdle is how long a connection may be idle while the server is nearly full.
	crowdedIdle = 5 * time.Second
	// refusalPeriod is how often refused connections are logged at most.
	refusalPeriod = time.Minute
)

// Reasons for refusing a connection.
const (
	addressFull = "address" // the address has as many connections as it may have
	serverFull  = "server"  // the server has, and none of them is idle
)

// connections is a listener that bounds how many connections are open, in all and
// per address. It closes what is too much before a byte is read.
//
// While it is nearly full, it closes connections that have been idle for a while
// when a new one arrives; when it is full, it closes the one that has been idle the
// longest. The connections of trusted proxies are shared by many clients: they
// have no limit per address and are never closed for being idle, because a proxy
// may be sending the next request already.
type connections struct {
	net.Listener
	most, perAddress int
	proxies          limit.Proxies
	log              *slog.Logger
	now              func() time.Time

	mu        sync.Mutex
	open      int
	byAddress map[string]int
	idle      list.List // of *conn, the longest idle first
	refused   map[string]int64
	unlogged  int64
	loggedAt  time.Time
}

func newConnections(listener net.Listener, most, perAddress int, proxies limit.Proxies, log *slog.Logger) *connections {
	return &connections{Listener: listener, most: most, perAddress: perAddress, proxies: proxies, log: log, now: time.Now,
		byAddress: map[string]int{}, refused: map[string]int64{}}
}

// conn is an open connection. Its fields are guarded by the listener's lock.
type conn struct {
	net.Conn
	from    *connections
	address string // what it is counted under; empty for proxies and for peers without an IP address
	element *list.Element
	since   time.Time // idle since
	closed  bool
}

// Accept waits for a connection that there is room for.
func (l *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(accepted); c != nil {
			return c, nil
		}
	}
}

// admit counts a connection, or closes it and returns nil.
func (l *connections) admit(accepted net.Conn) net.Conn {
	c := &conn{Conn: accepted, from: l}
	if peer, trusted := l.proxies.Peer(accepted.RemoteAddr().String()); peer.IsValid() && !trusted {
		c.address = limit.Key(peer)
	}
	l.mu.Lock()
	var crowd []*conn
	reason := ""
	if c.address != "" && l.perAddress > 0 && l.byAddress[c.address] >= l.perAddress {
		reason = addressFull
	} else if crowd = l.makeRoom(); l.open >= l.most {
		reason = serverFull
	}
	if reason == "" {
		l.open++
		if c.address != "" {
			l.byAddress[c.address]++
		}
	}
	l.mu.Unlock()
	for _, old := range crowd {
		_ = old.Conn.Close() // nobody waits for an answer on it
	}
	if reason == "" {
		return c
	}
	l.refuse(accepted, c.address, reason)
	return nil
}

// makeRoom forgets the idle connections that have to go, for the caller to close
// without the lock.
func (l *connections) makeRoom() []*conn {
	var crowd []*conn
	for l.open >= l.most-l.most/5 && l.idle.Len() > 0 {
		oldest := l.idle.Front().Value.(*conn)
		if l.open < l.most && l.now().Sub(oldest.since) < crowdedIdle {
			break
		}
		l.forget(oldest)
		crowd = append(crowd, oldest)
	}
	return crowd
}

// refuse resets a connection, which leaves nothing behind in the kernel, and logs
// how many there were, at most once per period.
func (l *connections) refuse(accepted net.Conn, address, reason string) {
	if tcp, ok := accepted.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the connection is closed less cheaply
	}
	_ = accepted.Close() // there is nothing on it to be lost
	l.mu.Lock()
	l.refused[reason]++
	l.unlogged++
	count, now := l.unlogged, l.now()
	due := l.loggedAt.IsZero() || now.Sub(l.loggedAt) >= refusalPeriod
	if due {
		l.unlogged, l.loggedAt = 0, now
	}
	l.mu.Unlock()
	if due {
		l.log.Warn("connections refused", "refused", count, "reason", reason, "ip", address, "period", refusalPeriod.String())
	}
}

// track learns from net/http which connections are idle.
func (l *connections) track(tracked net.Conn, state http.ConnState) {
	c, ok := tracked.(*conn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.element != nil {
		l.idle.Remove(c.element)
		c.element = nil
	}
	if state == http.StateIdle && c.address != "" && !c.closed {
		c.since = l.now()
		c.element = l.idle.PushBack(c)
	}
}

// forget stops counting a connection; forgetting it twice is a no-op.
func (l *connections) forget(c *conn) {
	if c.closed {
		return
	}
	c.closed = true
	l.open--
	if c.address != "" {
		if l.byAddress[c.address]--; l.byAddress[c.address] == 0 {
			delete(l.byAddress, c.address)
		}
	}
	if c.element != nil {
		l.idle.Remove(c.element)
		c.element = nil
	}
}

// Close closes the connection and makes room for another.
func (c *conn) Close() error {
	c.from.mu.Lock()
	c.from.forget(c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets net/http end an answer to a request that it did not read to its
// end, without a reset that would take the answer from the client.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// counts is what the metrics show.
func (l *connections) counts() (open int, refused map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, map[string]int64{addressFull: l.refused[addressFull], serverFull: l.refused[serverFull]}
}
