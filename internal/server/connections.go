package server

import (
	"container/list"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"warranty.example/svc/internal/limit"
)

// Connection limits. The limit per address is [Server.ConnectionsPerAddress].
const (
	maxConnections = 10_000
	// crowdedIdle is the idle timeout while the server is nearly full.
	crowdedIdle = 5 * time.Second
	// refusalPeriod is the minimum time between log lines about refused connections.
	refusalPeriod = time.Minute
)

// Reasons for refusing a connection.
const (
	addressFull = "address" // the address has reached its limit
	serverFull  = "server"  // the server has reached its limit and no connection is idle
)

// connections is a listener that limits the number of open connections, in total
// and per address. It closes excess connections before reading from them.
//
// When a connection arrives at a nearly full server, connections idle for longer
// than crowdedIdle are closed; at a full server, the one that has been idle longest
// is closed. Connections from trusted proxies are shared by many clients: they have
// no limit per address and are never closed for being idle, because the proxy may
// already be sending the next request. The same goes for connections on a Unix socket.
type connections struct {
	net.Listener
	maxOpen, perAddress int
	proxies             limit.Proxies
	log                 *slog.Logger
	now                 func() time.Time

	mu        sync.Mutex
	open      int
	byAddress map[string]int
	idle      list.List // of *conn, longest idle first
	refused   map[string]int64
	unlogged  int64
	loggedAt  time.Time
}

func newConnections(
	listener net.Listener, maxOpen, perAddress int, proxies limit.Proxies, log *slog.Logger,
) *connections {
	return &connections{
		Listener:   listener,
		maxOpen:    maxOpen,
		perAddress: perAddress,
		proxies:    proxies,
		log:        log,
		now:        time.Now,
		byAddress:  map[string]int{},
		refused:    map[string]int64{},
	}
}

// conn is an open connection. Its fields are guarded by the listener's mutex.
type conn struct {
	net.Conn
	from    *connections
	address string // the key in byAddress; empty for proxies and Unix sockets
	element *list.Element
	since   time.Time // idle since
	closed  bool
}

// Accept waits for a connection that is within the limits.
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

// admit returns the counted connection, or closes it and returns nil.
func (l *connections) admit(accepted net.Conn) net.Conn {
	c := &conn{Conn: accepted, from: l}
	if peer, trusted := l.proxies.Peer(c.RemoteAddr().String()); peer.IsValid() && !trusted {
		c.address = limit.Key(peer)
	}
	l.mu.Lock()
	var evicted []*conn
	reason := ""
	if c.address != "" && l.perAddress > 0 && l.byAddress[c.address] >= l.perAddress {
		reason = addressFull
	} else if evicted = l.makeRoom(); l.open >= l.maxOpen {
		reason = serverFull
	}
	if reason == "" {
		l.open++
		if c.address != "" {
			l.byAddress[c.address]++
		}
	}
	l.mu.Unlock()
	for _, old := range evicted {
		_ = old.Conn.Close() // idle: no response is pending
	}
	if reason == "" {
		return c
	}
	l.refuse(accepted, c.address, reason)
	return nil
}

// makeRoom removes idle connections from the counts and returns them. The caller
// closes them after releasing the lock.
func (l *connections) makeRoom() []*conn {
	var evicted []*conn
	for l.open >= l.maxOpen-l.maxOpen/5 && l.idle.Len() > 0 {
		oldest := l.idle.Front().Value.(*conn)
		if l.open < l.maxOpen && l.now().Sub(oldest.since) < crowdedIdle {
			break
		}
		l.forget(oldest)
		evicted = append(evicted, oldest)
	}
	return evicted
}

// refuse closes a connection with a reset, which leaves no TIME_WAIT state in the
// kernel, and logs the number of refused connections at most once per refusalPeriod.
func (l *connections) refuse(accepted net.Conn, address, reason string) {
	if tcp, ok := accepted.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // best effort: a normal close works too
	}
	_ = accepted.Close() // nothing was sent or read
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
		l.log.Warn("connections refused",
			"refused", count, "reason", reason, "ip", address, "period", refusalPeriod.String())
	}
}

// track is the http.Server's ConnState hook; it maintains the list of idle connections.
func (l *connections) track(tracked net.Conn, state http.ConnState) {
	if encrypted, ok := tracked.(*tls.Conn); ok {
		tracked = encrypted.NetConn()
	}
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

// forget removes a connection from the counts. Calling it again is a no-op.
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

// Close removes the connection from the counts and closes it.
func (c *conn) Close() error {
	c.from.mu.Lock()
	c.from.forget(c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}

// RemoteAddr returns the address of the peer. All peers of a Unix socket have the same
// one: they choose their own names, which could look like IP addresses.
func (c *conn) RemoteAddr() net.Addr {
	if _, ok := c.Conn.LocalAddr().(*net.UnixAddr); ok {
		return &net.UnixAddr{Net: "unix", Name: limit.UnixPeer}
	}
	return c.Conn.RemoteAddr()
}

// CloseWrite lets net/http finish a response to a request whose body it did not read
// completely. Without it the connection is reset and the client may lose the response.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// counts returns the number of open connections and of refused ones by reason.
func (l *connections) counts() (open int, refused map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, map[string]int64{addressFull: l.refused[addressFull], serverFull: l.refused[serverFull]}
}
