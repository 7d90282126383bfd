package mail

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"net"
	"strings"
	"testing"
)

var plain = "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00me\x00hunter2"))

// remote is a sender that treats the test server as mail.example.com.
func remote(t *testing.T, srv *server, rawURL string) *SMTP {
	t.Helper()
	s := sender(t, rawURL)
	s.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, srv.addr)
	}
	return s
}

func TestLoopbackNeedsNoKnownSigner(t *testing.T) {
	cert, _ := certificate(t, "snakeoil")
	srv := (&server{cert: cert, auth: "PLAIN LOGIN"}).start(t)
	if err := sender(t, "smtp://me:hunter2@"+srv.addr).Send(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	commands, data := srv.got()
	if !inOrder(commands, "STARTTLS", "TLS", plain, "MAIL FROM", "QUIT") || data == "" {
		t.Errorf("got:\n%s", commands)
	}
}

func TestLoopbackWithoutTLSSignsIn(t *testing.T) {
	for auth, want := range map[string]string{
		"PLAIN": plain,
		"LOGIN": "LOGIN " + base64.StdEncoding.EncodeToString([]byte("hunter2")),
	} {
		srv := (&server{auth: auth}).start(t)
		if err := sender(t, "smtp://me:hunter2@"+srv.addr).Send(t.Context(), hello); err != nil {
			t.Errorf("%s: %v", auth, err)
		}
		if commands, _ := srv.got(); !strings.Contains(commands, want) {
			t.Errorf("%s: got:\n%s", auth, commands)
		}
	}
}

func TestRemoteWithTLS(t *testing.T) {
	for _, scheme := range []string{"smtp", "smtps"} {
		cert, pool := certificate(t, "mail.example.com")
		srv := (&server{cert: cert, implicit: scheme == "smtps", auth: "PLAIN"}).start(t)
		s := remote(t, srv, scheme+"://me:hunter2@mail.example.com")

		err := s.Send(t.Context(), hello)
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: an unknown signer is taken: %v", scheme, err)
		}
		if commands, _ := srv.got(); strings.Contains(commands, "AUTH") {
			t.Errorf("%s: the password went to an unknown server:\n%s", scheme, commands)
		}

		s.tls.RootCAs = pool
		if err := s.Send(t.Context(), hello); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
		if commands, data := srv.got(); !inOrder(commands, "TLS", plain, "MAIL FROM") || data == "" {
			t.Errorf("%s: got:\n%s", scheme, commands)
		}
	}
}

func TestRemotePasswordNeedsTLS(t *testing.T) {
	srv := (&server{auth: "PLAIN"}).start(t)
	err := remote(t, srv, "smtp://me:hunter2@mail.example.com").Send(t.Context(), hello)
	if err == nil || !strings.Contains(err.Error(), "STARTTLS") {
		t.Errorf("sent without encryption: %v", err)
	}
	if commands, data := srv.got(); strings.Contains(commands, "AUTH") || data != "" {
		t.Errorf("got:\n%s", commands)
	}
}

// TestRemoteNeedsTLS requires STARTTLS even without a password (B12): emails contain
// sign-in codes.
func TestRemoteNeedsTLS(t *testing.T) {
	srv := new(server).start(t)
	err := remote(t, srv, "smtp://mail.example.com").Send(t.Context(), hello)
	if err == nil || !strings.Contains(err.Error(), "STARTTLS") {
		t.Errorf("sent without encryption: %v", err)
	}
	if commands, data := srv.got(); strings.Contains(commands, "MAIL FROM") || data != "" {
		t.Errorf("got:\n%s", commands)
	}
}

func TestTLSCanBeSwitchedOff(t *testing.T) {
	cert, _ := certificate(t, "mail.example.com")
	for _, address := range []string{"smtp://mail.example.com?tls=off", "smtp://me:hunter2@mail.example.com?tls=off"} {
		srv := (&server{cert: cert, auth: "PLAIN"}).start(t)
		if err := remote(t, srv, address).Send(t.Context(), hello); err != nil {
			t.Error(err)
		}
		if commands, data := srv.got(); strings.Contains(commands, "STARTTLS") || data == "" {
			t.Errorf("got:\n%s", commands)
		}
	}
	for _, address := range []string{
		"smtps://mail.example.com?tls=off", "smtp://mail.example.com?tls=on", "smtp://mail.example.com?tls=off&x=y",
	} {
		if _, err := ParseServer(address); err == nil {
			t.Errorf("%s is accepted", address)
		}
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	if v := sender(t, "smtp://mail.example.com").tls.MinVersion; v < tls.VersionTLS12 {
		t.Errorf("TLS version %x", v)
	}
}

// inOrder reports whether the parts occur in s in this order.
func inOrder(s string, parts ...string) bool {
	for _, part := range parts {
		_, after, found := strings.Cut(s, part)
		if !found {
			return false
		}
		s = after
	}
	return true
}
