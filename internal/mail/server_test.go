package mail

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is a minimal SMTP server on loopback.
type server struct {
	cert     *tls.Certificate  // nil: no TLS
	implicit bool              // implicit TLS
	auth     string            // announced mechanisms, none by default
	answers  map[string]string // unusual responses by command
	silent   string            // the command that gets no response, "greeting" for the first line

	addr string
	mu   sync.Mutex
	log  []string // received commands, "TLS" once encrypted
	data string   // the last message
}

// start listens until the test ends.
func (s *server) start(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				s.serve(conn, stop)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); close(stop); wg.Wait() })
	return s
}

func (s *server) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, line)
}

// got returns every command so far, one per line, and the last message.
func (s *server) got() (commands, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, "\n"), s.data
}

func (s *server) config() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{*s.cert}}
}

func (s *server) serve(conn net.Conn, stop <-chan struct{}) {
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if s.implicit {
		conn = tls.Server(conn, s.config())
		s.note("TLS")
	}
	r := bufio.NewReader(conn)
	say := func(verb, usual string) {
		if s.silent == verb {
			<-stop
			return
		}
		if other, ok := s.answers[verb]; ok {
			usual = other
		}
		_, _ = conn.Write([]byte(usual + "\r\n"))
	}
	say("greeting", "220 test ready")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.note(line)
		verb, _, _ := strings.Cut(strings.ToUpper(line), " ")
		switch verb {
		case "EHLO":
			say(verb, s.hello(conn))
		case "STARTTLS":
			say(verb, "220 go on")
			conn = tls.Server(conn, s.config())
			r = bufio.NewReader(conn)
			s.note("TLS")
		case "AUTH":
			if line == "AUTH LOGIN" { // asks for user and password separately
				for range 2 {
					say("LOGIN", "334 ")
					answer, _ := r.ReadString('\n')
					s.note("LOGIN " + strings.TrimSpace(answer))
				}
			}
			say(verb, "235 welcome")
		case "DATA":
			say(verb, "354 go on")
			s.read(r)
			say(".", "250 taken")
		case "QUIT":
			say(verb, "221 bye")
			return
		default:
			say(verb, "250 fine")
		}
	}
}

// hello is the response to EHLO.
func (s *server) hello(conn net.Conn) string {
	lines := []string{"250-test", "250-8BITMIME", "250-SMTPUTF8"}
	if _, encrypted := conn.(*tls.Conn); s.cert != nil && !encrypted {
		lines = append(lines, "250-STARTTLS")
	}
	if s.auth != "" {
		lines = append(lines, "250-AUTH "+s.auth)
	}
	return strings.Join(append(lines, "250 HELP"), "\r\n")
}

// read reads a message up to the lone dot.
func (s *server) read(r *bufio.Reader) {
	var data strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		data.WriteString(strings.TrimPrefix(line, "."))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = data.String()
}

// certificate returns a self-signed certificate for host.
func certificate(t *testing.T, host string) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
