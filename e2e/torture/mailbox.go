package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// email is an email that arrived.
type email struct{ to, subject, id, text string }

// mailbox is a mail server that keeps all emails. Faults do not affect it.
type mailbox struct {
	listener net.Listener
	mu       sync.Mutex
	emails   []email
}

func newMailbox() (*mailbox, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &mailbox{listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); m.serve(conn) }()
		}
	}()
	return m, nil
}

func (m *mailbox) url() string { return "smtp://" + m.listener.Addr().String() }

// serve implements the part of SMTP that a sender needs. It stores an email before it
// acknowledges it.
func (m *mailbox) serve(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReader(conn)
	say := func(line string) bool { _, err := fmt.Fprintf(conn, "%s\r\n", line); return err == nil }
	if !say("220 torture") {
		return
	}
	var to string
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		command := strings.ToUpper(strings.TrimSpace(line))
		switch {
		case strings.HasPrefix(command, "RCPT TO:"):
			to = strings.Trim(strings.TrimSpace(line[len("RCPT TO:"):]), "<>")
			say("250 ok")
		case command == "DATA":
			say("354 go on")
			var text strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				text.WriteString(strings.TrimPrefix(line, "."))
			}
			m.keep(to, text.String())
			say("250 kept")
		case command == "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (m *mailbox) keep(to, text string) {
	e := email{to: to, text: text}
	if parsed, err := mail.ReadMessage(strings.NewReader(text)); err == nil {
		e.subject, _ = new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject")) // on an error it stays encoded
		e.id = parsed.Header.Get("Message-Id")
		body := parsed.Body
		if strings.EqualFold(parsed.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
			body = quotedprintable.NewReader(body)
		}
		if plain, err := io.ReadAll(body); err == nil {
			e.text = string(plain)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.emails = append(m.emails, e)
}

// all returns the emails that have arrived so far.
func (m *mailbox) all() []email {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.emails)
}

var codePattern = regexp.MustCompile(`(?m)^    (\S+)\r?$`)

// code waits for an email and returns the code in it.
func (m *mailbox) code(ctx context.Context, to, subject string) (string, error) {
	for range 600 {
		for _, e := range m.all() {
			if found := codePattern.FindStringSubmatch(e.text); found != nil && e.to == to && e.subject == subject {
				return found[1], nil
			}
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return "", fmt.Errorf("no email %q to %s within a minute", subject, to)
}
