package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
)

// listen serves connections on a loopback port until the test ends.
func listen(t testing.TB, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer conn.Close(); serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

// mailbox is a mail server that records everything it receives.
type mailbox struct {
	address string
	mu      sync.Mutex
	text    strings.Builder
}

func newMailbox(t testing.TB) *mailbox {
	m := &mailbox{}
	m.address = listen(t, m.serve)
	return m
}

// String returns every received line, of commands and emails.
func (m *mailbox) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

var codeInMail = regexp.MustCompile(`(?m)^    (\S+)\r?$`)

// code waits for an email with a subject and returns the code in it.
func (m *mailbox) code(t testing.TB, subject string) string {
	t.Helper()
	code := ""
	testenv.Wait(t, "a mail "+subject, func() bool {
		_, mail, _ := strings.Cut(m.String(), "Subject: "+subject)
		if found := codeInMail.FindStringSubmatch(mail); found != nil {
			code = found[1]
		}
		return code != ""
	})
	return code
}

// takeMail waits until one of two mailboxes has a complete email, and empties both.
func (m *mailbox) takeMail(t testing.TB, other *mailbox) (mine, others string) {
	t.Helper()
	testenv.Wait(t, "a mail", func() bool {
		mine, others = mine+m.take(), others+other.take()
		return strings.Contains(mine+others, "\n.\n")
	})
	return mine, others
}

func (m *mailbox) take() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.text.Reset()
	return m.text.String()
}

// serve implements just enough SMTP to receive an email.
func (m *mailbox) serve(conn net.Conn) {
	conn.SetDeadline(time.Now().Add(testenv.Patience))
	fmt.Fprint(conn, "220 mailbox\r\n")
	inMail := false
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		line := lines.Text()
		m.mu.Lock()
		m.text.WriteString(line + "\n")
		m.mu.Unlock()
		answer := "250 fine"
		switch verb, _, _ := strings.Cut(line, " "); {
		case inMail && line == ".":
			inMail = false
		case inMail:
			continue
		case verb == "EHLO":
			answer = "250-mailbox\r\n250 AUTH PLAIN"
		case verb == "AUTH":
			answer = "235 welcome"
		case verb == "DATA":
			inMail, answer = true, "354 go on"
		case verb == "QUIT":
			answer = "221 bye"
		}
		fmt.Fprint(conn, answer+"\r\n")
	}
}

// proxy forwards connections to a server, and can interrupt them.
type proxy struct {
	address string
	target  string
	cut     atomic.Bool  // connections are closed, new ones immediately
	stalled atomic.Bool  // connections stay open but forward nothing
	heldUp  atomic.Int64 // number of messages held back
	refused atomic.Int64 // number of connections closed immediately
	mu      sync.Mutex
	open    map[net.Conn]bool
}

func newProxy(t testing.TB, target string) *proxy {
	p := &proxy{target: target, open: map[net.Conn]bool{}}
	p.address = listen(t, p.serve)
	t.Cleanup(func() { p.setCut(true); p.stalled.Store(false) })
	return p
}

// setCut closes all connections and refuses new ones, or accepts them again.
func (p *proxy) setCut(cut bool) {
	p.cut.Store(cut)
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		if cut {
			conn.Close()
		}
	}
}

func (p *proxy) serve(conn net.Conn) {
	if p.cut.Load() {
		p.refused.Add(1)
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer func() {
		server.Close()
		p.mu.Lock()
		delete(p.open, conn)
		delete(p.open, server)
		p.mu.Unlock()
	}()
	p.mu.Lock()
	p.open[conn], p.open[server] = true, true
	late := p.cut.Load() // setCut has not seen these two connections
	p.mu.Unlock()
	if late {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { p.carry(server, conn) })
	wg.Go(func() { p.carry(conn, server) })
	wg.Wait()
}

// carry copies in one direction until either end closes.
func (p *proxy) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if p.stalled.Load() {
			p.heldUp.Add(1)
		}
		for p.stalled.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// silent starts a server that accepts and counts connections but never responds.
func silent(t testing.TB) (address string, seen *atomic.Int64) {
	seen = new(atomic.Int64)
	return listen(t, func(conn net.Conn) {
		seen.Add(1)
		conn.SetDeadline(time.Now().Add(testenv.Patience))
		io.Copy(io.Discard, conn)
	}), seen
}
