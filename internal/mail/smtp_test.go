package mail

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	gomail "github.com/wneessen/go-mail"
)

var hello = Message{To: "ann@example.com", Subject: "Hi", Text: "Hello\n"}

// sender returns an SMTP for a valid URL.
func sender(t *testing.T, rawURL string) *SMTP {
	t.Helper()
	server, err := ParseServer(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSMTP(server, &mail.Address{Name: "Warranty Service", Address: "warranty@example.com"})
	s.timeout = time.Minute // for busy machines
	return s
}

func TestMessageArrives(t *testing.T) {
	srv := new(server).start(t)
	text := "Grüße\n\n.a line with a dot\n" + strings.Repeat("long ", 300) + "= end\n"
	m := Message{To: "ann@example.com", Subject: "Garantie für Küche – ✓ " + strings.Repeat("lang ", 30), Text: text}
	before := time.Now().Truncate(time.Second) // the precision of a Date header
	if err := sender(t, "smtp://"+srv.addr).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	commands, data := srv.got()
	for _, want := range []string{
		"EHLO example.com", "MAIL FROM:<warranty@example.com> BODY=8BITMIME\n", "RCPT TO:<ann@example.com>", "QUIT",
	} {
		if !strings.Contains(commands, want) {
			t.Errorf("no %q in:\n%s", want, commands)
		}
	}
	got, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	from, err := got.Header.AddressList("From")
	if err != nil || len(from) != 1 ||
		*from[0] != (mail.Address{Name: "Warranty Service", Address: "warranty@example.com"}) {
		t.Errorf("From: %v %v", from, err)
	}
	to, err := got.Header.AddressList("To")
	if err != nil || len(to) != 1 || to[0].Address != m.To {
		t.Errorf("To: %v %v", to, err)
	}
	if subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject")); err != nil ||
		subject != m.Subject {
		t.Errorf("Subject: %q %v", subject, err)
	}
	if date, err := got.Header.Date(); err != nil || date.Before(before) || date.After(after) {
		t.Errorf("Date: %v %v, sent between %v and %v", date, err, before, after)
	}
	if id := got.Header.Get("Message-Id"); len(id) < 30 || !strings.HasSuffix(id, "@example.com>") {
		t.Errorf("Message-ID: %q", id)
	}
	s := sender(t, "smtp://"+srv.addr)
	m.ID = "0198c0de"
	for range 2 { // both attempts have the same id
		if got := s.compose(m).GetMessageID(); got != "<0198c0de@example.com>" {
			t.Errorf("Message-ID: %q", got)
		}
	}
	if kind := got.Header.Get("Content-Type"); kind != "text/plain; charset=UTF-8" {
		t.Errorf("Content-Type: %q", kind)
	}
	for _, h := range []string{"List-Unsubscribe", "List-Unsubscribe-Post"} {
		if value := got.Header.Get(h); value != "" {
			t.Errorf("an email that is always sent has %s: %q", h, value)
		}
	}
	for address, post := range map[string]string{"https://w.example/unsubscribe/A-b_": "List-Unsubscribe=One-Click", "http://w.example/u/1": ""} {
		var raw strings.Builder
		if _, err := s.compose(english.Finish(m, Links{Unsubscribe: address})).WriteTo(&raw); err != nil {
			t.Fatal(err)
		}
		with, err := mail.ReadMessage(strings.NewReader(raw.String()))
		if err != nil || with.Header.Get("List-Unsubscribe") != "<"+address+">" || with.Header.Get("List-Unsubscribe-Post") != post {
			t.Errorf("%s: %v, %v", address, with.Header, err)
		}
	}
	if auto := got.Header.Get("Auto-Submitted"); auto != "auto-generated" {
		t.Errorf("Auto-Submitted: %q", auto)
	}
	if encoding := got.Header.Get("Content-Transfer-Encoding"); encoding != "quoted-printable" {
		t.Errorf("Content-Transfer-Encoding: %q", encoding)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(got.Body))
	if err != nil || strings.TrimRight(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n")+"\n" != text {
		t.Errorf("body %q %v", body, err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(data, "\r\n"), "\r\n") {
		if len(line) > 200 || strings.ContainsAny(line, "\r\n") {
			t.Errorf("a line is too long or ends wrongly: %q", line)
		}
	}
}

func TestAddressBeyondASCII(t *testing.T) {
	srv := new(server).start(t)
	m := hello
	m.To = "jürgen@example.com"
	if err := sender(t, "smtp://"+srv.addr).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if commands, _ := srv.got(); !strings.Contains(commands, " SMTPUTF8") ||
		!strings.Contains(commands, "<jürgen@example.com>") {
		t.Errorf("not announced:\n%s", commands)
	}
}

func TestServerRefuses(t *testing.T) {
	for _, verb := range []string{"greeting", "MAIL", "RCPT", "DATA", "."} {
		srv := (&server{answers: map[string]string{verb: "550 5.1.1 no such user"}}).start(t)
		err := sender(t, "smtp://"+srv.addr).Send(t.Context(), hello)
		if err == nil || !strings.Contains(err.Error(), "550") || !strings.Contains(err.Error(), "no such user") {
			t.Errorf("%s refused: %v", verb, err)
		}
	}
}

func TestRudeGoodbyeIsNoError(t *testing.T) {
	answers := map[string]string{"QUIT": "421 out of here", "RSET": "500 what", "NOOP": "500 what"}
	srv := (&server{answers: answers}).start(t)
	if err := sender(t, "smtp://"+srv.addr).Send(t.Context(), hello); err != nil {
		t.Errorf("the mail was taken, yet: %v", err)
	}
}

func TestServerDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	err = sender(t, "smtp://"+addr).Send(t.Context(), hello)
	if err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("no error that names %s: %v", addr, err)
	}
}

func TestSilentServer(t *testing.T) {
	if timeout != 15*time.Second {
		t.Errorf("the timeout is %v", timeout)
	}
	for _, verb := range []string{"greeting", "EHLO", "STARTTLS", "MAIL", "DATA", "."} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			cert, _ := certificate(t, "127.0.0.1")
			srv := (&server{silent: verb, cert: cert}).start(t)

			s := sender(t, "smtp://"+srv.addr)
			s.timeout = 200 * time.Millisecond
			if err := s.Send(t.Context(), hello); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("timeout: %v", err)
			}

			s.timeout = time.Minute // a Send that ignores its context fails with another error
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(200*time.Millisecond, cancel)
			if err := s.Send(ctx, hello); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
}

// TestNoAnswerAtAll dials a host that does not respond: the dial times out.
func TestNoAnswerAtAll(t *testing.T) {
	s := sender(t, "smtp://mail.example.com")
	s.timeout = 50 * time.Millisecond
	s.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := s.Send(t.Context(), hello); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestCancelledBefore(t *testing.T) {
	srv := new(server).start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sender(t, "smtp://"+srv.addr).Send(ctx, hello); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if commands, _ := srv.got(); commands != "" {
		t.Errorf("the server was bothered:\n%s", commands)
	}
}

func TestNewSMTP(t *testing.T) {
	for _, c := range []struct {
		url    string
		addr   string
		policy gomail.TLSPolicy
	}{
		{"smtp://mail.example.com", "mail.example.com:25", gomail.TLSMandatory},
		{"smtp://mail.example.com?tls=off", "mail.example.com:25", gomail.NoTLS},
		{"smtp://u:p@mail.example.com", "mail.example.com:587", gomail.TLSMandatory},
		{"smtp://u:p@mail.example.com:2525/", "mail.example.com:2525", gomail.TLSMandatory},
		{"smtp://u:p@localhost", "localhost:587", gomail.TLSOpportunistic},
		{"smtp://u:p@[::1]:25", "[::1]:25", gomail.TLSOpportunistic},
		{"smtps://u:p@mail.example.com", "mail.example.com:465", gomail.TLSMandatory},
	} {
		s := sender(t, c.url)
		if s.addr() != c.addr || s.policy != c.policy || s.loopback != s.tls.InsecureSkipVerify {
			t.Errorf("%s: %s %v", c.url, s.addr(), s.policy)
		}
	}
	for _, raw := range []string{
		"", "mail.example.com", "http://u:hunter2@h", "smtp://", "smtp://u:hunter2@", "smtp://u@h",
		"smtp://:hunter2@h", "smtp://u:hunter2@h:0", "smtp://u:hunter2@h:x", "smtp://u:hunter2@h:99999",
		"smtp://u:hunter2@h/x", "smtp://u:hunter2@h?x", "smtp://u:hunter2%zz@h",
	} {
		if _, err := ParseServer(raw); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", raw, err)
		}
	}
	for _, from := range []string{
		"", "a", "a@b.example, c@d.example", "a@b.example\r\nBcc: c@d.example", "\"x\ry\" <a@b.example>",
	} {
		if _, err := ParseFrom(from); err == nil {
			t.Errorf("from %q is taken", from)
		}
	}
}

func TestPasswordIsNotPrinted(t *testing.T) {
	sent := base64.StdEncoding.EncodeToString([]byte("\x00me\x00hun\"ter2"))
	answers := map[string]string{"AUTH": "535-hun\"ter2 is wrong\r\n535 and so is " + sent}
	srv := (&server{auth: "PLAIN", answers: answers}).start(t)
	s := sender(t, "smtp://me:hun%22ter2@"+srv.addr)
	err := s.Send(t.Context(), hello)
	if err == nil || !strings.Contains(err.Error(), "535") || strings.ContainsAny(err.Error(), "\r\n") {
		t.Fatalf("no one-line error with the server's answer: %v", err)
	}
	if out := fmt.Sprintf("%v %v %+v %s", err, s, s, s); strings.Contains(out, "ter2") || strings.Contains(out, sent) {
		t.Errorf("the password is printed: %s", out)
	}
	if _, data := srv.got(); data != "" {
		t.Error("a mail was sent without sign-in")
	}
}
