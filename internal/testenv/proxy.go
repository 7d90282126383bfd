package testenv

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy is a proxy to PostgreSQL that can fail like a network.
type Proxy struct {
	Target string // the address of PostgreSQL

	listener net.Listener
	mu       sync.Mutex
	down     bool
	conns    map[net.Conn]bool
	// next is the fate of the next message from the client.
	next Fate
	// gate, if not nil, holds back messages from the client until it is closed. held is closed when
	// the first message is held back.
	gate, held chan struct{}
	sealed     bool // no new connections
	frozen     bool // with a gate: connections are accepted but never answered
}

// Fate is what happens to a message.
type Fate int

// The fates of messages.
const (
	Delivered    Fate = iota
	Swallowed         // the message is lost and the connection closed
	ResponseLost      // the message arrives, the response is lost and the connection closed
)

// NewProxy returns a proxy to a PostgreSQL database and the address to use. settings are names and
// values to set in the address.
func NewProxy(t testing.TB, database string, settings ...string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Target: u.Host, listener: listener, conns: map[net.Conn]bool{}}
	go p.serve()
	t.Cleanup(func() {
		_ = listener.Close()
		p.Release()
		p.Cut()
	})
	u.Host = listener.Addr().String()
	q := u.Query()
	for i := 0; i < len(settings); i += 2 {
		q.Set(settings[i], settings[i+1])
	}
	u.RawQuery = q.Encode()
	return p, u.String()
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.keep(client) {
			continue
		}
		server, err := net.Dial("tcp", p.Target)
		if err != nil || !p.add(client, server) {
			_ = client.Close()
			if server != nil {
				_ = server.Close()
			}
			continue
		}
		go p.forward(client, server)
		go p.respond(client, server)
	}
}

// keep accepts a connection without answering if the proxy is frozen.
func (p *Proxy) keep(client net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen {
		p.conns[client] = true
	}
	return p.frozen
}

func (p *Proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = true
	}
	return !p.down && !p.sealed && p.gate == nil
}

func (p *Proxy) end(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// forward sends messages from the client to PostgreSQL.
func (p *Proxy) forward(client, server net.Conn) {
	late := false // a delayed message is still processed by the server
	defer func() {
		if late {
			_ = server.(*net.TCPConn).CloseWrite() // respond closes it
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
		fate, gate := p.message()
		if gate != nil {
			late = true
			<-gate
		}
		switch fate {
		case Delivered:
		case Swallowed:
			return
		case ResponseLost:
			p.end(client) // so that no response arrives
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
		if fate == ResponseLost {
			// The server processes this message, its response is discarded, and then it sees the end
			// of the connection.
			late = true
			return
		}
	}
}

// message returns the fate of the next message and the gate that holds it back.
func (p *Proxy) message() (Fate, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fate := p.next
	p.next = Delivered
	if p.gate != nil && p.held != nil {
		close(p.held)
		p.held = nil
	}
	return fate, p.gate
}

// respond sends responses to the client, or discards them if the client is gone.
func (p *Proxy) respond(client, server net.Conn) {
	defer p.end(client, server)
	_, _ = io.Copy(client, server) // either side may close
	_, _ = io.Copy(io.Discard, server)
}

// Hold holds back messages from the client, like a network that loses and resends packets.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate, p.held = make(chan struct{}), make(chan struct{})
}

// AwaitHeld waits until a message is held back.
func (p *Proxy) AwaitHeld(t testing.TB) {
	t.Helper()
	Wait(t, "a message to be held back", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.gate != nil && p.held == nil
	})
}

// Freeze makes the server accept everything and answer nothing.
func (p *Proxy) Freeze() {
	p.Hold()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

// Release forwards the messages held back.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gate != nil {
		close(p.gate)
		p.gate = nil
	}
	p.frozen = false
}

// Seal refuses new connections; existing ones stay open.
func (p *Proxy) Seal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sealed = true
}

// Arrange sets the fate of the next message.
func (p *Proxy) Arrange(f Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = f
}

// Cut closes all connections and refuses new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.down = true
	p.mu.Unlock()
	p.Drop()
}

// Drop closes all connections.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

// Restore accepts connections again.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}
