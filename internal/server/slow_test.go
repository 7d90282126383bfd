package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
)

// TestSlowRequestsAreLoggedWithTheReason: a write waits for another one, and a client that sends slowly is not slow.
// Finding O10.
func TestSlowRequestsAreLoggedWithTheReason(t *testing.T) {
	w := webWorld(t)
	olga := w.Person("Olga")
	began, finish, held := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	b := w.SignedIn(t, olga)
	time.AfterFunc(3500*time.Millisecond, func() { close(finish) })
	go func() {
		held <- w.Store.Write(context.Background(), func(*store.Tx) error {
			select {
			case <-began:
			default:
				close(began)
			}
			<-finish
			return nil
		})
	}()
	<-began
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		b.Post("/settings/security/sign-out-everywhere")
	}()
	reader, writer := io.Pipe()
	go func() {
		time.Sleep(3200 * time.Millisecond)
		_, _ = io.WriteString(writer, `{}`) // the request may be over
		writer.Close()
	}()
	req, err := http.NewRequest(http.MethodPost, w.HTTP.URL+"/api/auth/sessions", reader)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.HTTP.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	<-changed
	requestLine(w, t, "POST /settings/security/sign-out-everywhere")
	lines := logged(w, "slow request")
	for _, line := range lines {
		reason, _ := line["reason"].(string)
		if line["level"] != "WARN" || !strings.Contains(reason, "waiting for") || line["database_ms"].(float64) < 2500 {
			t.Error(line)
		}
		if line["route"] == "POST /api/auth/sessions" {
			t.Error("the client was slow")
		}
	}
	if len(lines) == 0 {
		t.Error("no slow request")
	}
}
