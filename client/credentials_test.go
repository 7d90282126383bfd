package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// TestRejectedCredentialIsReplacedOnce: after a 401 the source is asked for another credential, and the request is sent
// once more, whatever its method.
func TestRejectedCredentialIsReplacedOnce(t *testing.T) {
	f := serve(t, problem(warranty.TokenExpired))
	var asked []string
	failure := errors.New("signed out")
	for _, c := range []struct {
		next  string
		err   error
		want  error
		sent  int
		asked []string
	}{
		{next: "new", sent: 2, asked: []string{"", "old"}},
		{next: "old", sent: 1, asked: []string{"", "old"}}, // there is no other
		{next: "new", err: failure, want: failure, sent: 1, asked: []string{"", "old"}},
	} {
		asked = nil
		before := f.count()
		source := func(_ context.Context, rejected string) (string, error) {
			if asked = append(asked, rejected); rejected == "" {
				return "old", nil
			}
			return c.next, c.err
		}
		_, err := f.client(t, client.WithCredentials(source)).CreateWarranty(t.Context(), warranty.CreateWarranty{})
		var refused *client.Error
		if c.want == nil && !errors.As(err, &refused) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		if f.count()-before != c.sent || !slices.Equal(asked, c.asked) {
			t.Errorf("%+v: %d requests, asked %q", c, f.count()-before, asked)
		}
	}
}

// TestAccessTokensAreBearer: the service accepts them in no other header.
func TestAccessTokensAreBearer(t *testing.T) {
	secret, err := warranty.NewSecret(warranty.AccessSecret, zeros{})
	if err != nil {
		t.Fatal(err)
	}
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	c, err := client.New(f.URL+"/api/v1", secret)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.AuthStatus(t.Context()) // the response does not matter
	if h := f.requests[0].Header; h.Get("Authorization") != "Bearer "+secret || h.Get("X-Api-Key") != "" {
		t.Errorf("%v", h)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
