package mail

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestLogIsOneLine(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(slog.New(slog.NewTextHandler(&out, nil)))
	m := english.VerifyEmail("ann@example.com", "Ann", "ABCD-EFGH", "https://w.example.com")
	if err := l.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.Send(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("not a line each: %q", lines)
	}
	want := `level=INFO msg=mail to=ann@example.com subject="Confirm your email address" code=ABCD-EFGH`
	if !strings.HasSuffix(lines[0], want) {
		t.Errorf("%s\nwant %s", lines[0], want)
	}
	if strings.Contains(lines[1], "code=") || strings.Contains(out.String(), "Hello") {
		t.Errorf("a code that is none, or the text: %s", out.String())
	}
}

func TestLogHeedsContext(t *testing.T) {
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewLog(slog.New(slog.NewTextHandler(&out, nil))).Send(ctx, hello); !errors.Is(err, context.Canceled) ||
		out.Len() > 0 {
		t.Errorf("%v %s", err, out.String())
	}
}

func TestHeadersCannotBeInjected(t *testing.T) {
	var out bytes.Buffer
	srv := new(server).start(t)
	senders := []Sender{NewLog(slog.New(slog.NewTextHandler(&out, nil))), sender(t, "smtp://"+srv.addr)}
	for _, m := range []Message{
		{To: "a@b.example\r\nBcc: c@d.example", Subject: "x"},
		{To: "a@b.example\nBcc: c@d.example", Subject: "x"},
		{To: "a@b.example>\rRCPT TO:<c@d.example", Subject: "x"},
		{To: "a@b.example, c@d.example", Subject: "x"},
		{To: "Ann <a@b.example>", Subject: "x"},
		{To: "a@b.example\x00", Subject: "x"},
		{To: "", Subject: "x"},
		{To: "a", Subject: "x"},
		{To: "a@b.example", Subject: "x\r\nBcc: c@d.example"},
		{To: "a@b.example", Subject: "x\ny"},
		{To: "a@b.example", Subject: "x\ry"},
	} {
		for _, s := range senders {
			if err := s.Send(t.Context(), m); err == nil || strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("%T takes %q %q: %v", s, m.To, m.Subject, err)
			}
		}
	}
	if commands, _ := srv.got(); commands != "" || out.Len() > 0 {
		t.Errorf("something was sent: %s %s", commands, out.String())
	}
}
