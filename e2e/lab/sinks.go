package lab

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
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
	l, err := net.Listen("tcp", FreeAddress(t))
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

// Mailbox is a mail server that records everything it receives.
type Mailbox struct {
	Address string
	mu      sync.Mutex
	text    strings.Builder
}

func NewMailbox(t testing.TB) *Mailbox {
	m := &Mailbox{}
	m.Address = listen(t, m.serve)
	return m
}

// String returns every received line, of commands and emails.
func (m *Mailbox) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

var codeInMail = regexp.MustCompile(`(?m)^    (\S+)\r?$`)

// Code waits for an email with a subject and returns the code in it.
func (m *Mailbox) Code(t testing.TB, subject string) string {
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

// TakeMail waits until one of two mailboxes has a complete email, and empties both.
func (m *Mailbox) TakeMail(t testing.TB, other *Mailbox) (mine, others string) {
	t.Helper()
	testenv.Wait(t, "a mail", func() bool {
		mine, others = mine+m.take(), others+other.take()
		return strings.Contains(mine+others, "\n.\n")
	})
	return mine, others
}

func (m *Mailbox) take() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.text.Reset()
	return m.text.String()
}

// serve implements just enough SMTP to receive an email.
func (m *Mailbox) serve(conn net.Conn) {
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

// Proxy forwards connections to a server, and can interrupt them.
type Proxy struct {
	Address string
	target  string
	cut     atomic.Bool  // connections are closed, new ones immediately
	Stalled atomic.Bool  // connections stay open but forward nothing
	HeldUp  atomic.Int64 // number of messages held back
	Refused atomic.Int64 // number of connections closed immediately
	mu      sync.Mutex
	open    map[net.Conn]bool
}

func NewProxy(t testing.TB, target string) *Proxy {
	p := &Proxy{target: target, open: map[net.Conn]bool{}}
	p.Address = listen(t, p.serve)
	t.Cleanup(func() { p.SetCut(true); p.Stalled.Store(false) })
	return p
}

// SetCut closes all connections and refuses new ones, or accepts them again.
func (p *Proxy) SetCut(cut bool) {
	p.cut.Store(cut)
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		if cut {
			conn.Close()
		}
	}
}

func (p *Proxy) serve(conn net.Conn) {
	if p.cut.Load() {
		p.Refused.Add(1)
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
func (p *Proxy) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if p.Stalled.Load() {
			p.HeldUp.Add(1)
		}
		for p.Stalled.Load() {
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

// Silent starts a server that accepts and counts connections but never responds.
func Silent(t testing.TB) (address string, seen *atomic.Int64) {
	seen = new(atomic.Int64)
	return listen(t, func(conn net.Conn) {
		seen.Add(1)
		conn.SetDeadline(time.Now().Add(testenv.Patience))
		io.Copy(io.Discard, conn)
	}), seen
}

// BehindProxy starts svcd on PostgreSQL behind a proxy that the test controls.
func BehindProxy(t testing.TB) (*Process, *Proxy) {
	t.Helper()
	u, err := url.Parse(testenv.Postgres(t))
	if err != nil {
		t.Fatal("SVC_TEST_POSTGRES is not a URL")
	}
	database := NewProxy(t, u.Host)
	u.Host = database.Address
	return Start(t, append(Unthrottled, "--database="+u.String())...), database
}
