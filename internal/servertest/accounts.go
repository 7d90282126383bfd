package servertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
)

// Alive checks whether a credential works.
func (w *World) Alive(t testing.TB, what, secret string, yes bool) {
	t.Helper()
	a := w.Get("/api/v1/auth/status", secret)
	if yes {
		Want(t, what, a, 200, "")
		return
	}
	if a.Status != 401 {
		t.Errorf("%s still works: %d", what, a.Status)
	}
}

// ResetPassword sets a new password with an emailed code and signs in with it.
func (w *World) ResetPassword(t testing.TB, email, password string) (session string) {
	t.Helper()
	w.Must(202, NewRequest("POST", "/api/auth/password-reset", "", Fields{"email": email}))
	body := Fields{"code": w.MailedCode(email), "password": password}
	w.Must(204, NewRequest("POST", "/api/auth/password-reset/confirm", "", body))
	return w.SignIn(email, password)
}

// Records returns the number of warranties in the database.
func (w *World) Records() int {
	w.T.Helper()
	return w.Count(`SELECT count(*) FROM warranties`)
}

// SignIn signs in and returns the session.
func (w *World) SignIn(email, password string) string {
	w.T.Helper()
	var session struct {
		AccessToken string `json:"access_token"`
	}
	w.Must(201, NewRequest("POST", "/api/auth/sessions", "", Fields{"email": email, "password": password})).
		Into(w.T, &session)
	return session.AccessToken
}

// RecordedRequest is a recorded request without the fields that always differ.
type RecordedRequest struct {
	Token         struct{ ID, Name string }
	Method, Route string
	Status        int
	Client, Door  string
}

// Recorded flushes usage until n requests of a token are recorded, and lists them,
// newest first. Requests are recorded after their response is sent.
func (w *World) Recorded(t testing.TB, p Person, id string, n int) (list []RecordedRequest) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("%d requests", n), func() bool {
		if err := w.Service.FlushUsage(context.Background()); err != nil {
			t.Fatal(err)
		}
		return w.Count(`SELECT count(*) FROM requests WHERE token_id = `+w.IDLiteral(id)) >= n
	})
	w.Must(200, NewRequest("GET", TokensPath+"/"+id+"/requests?limit=100", p.Session, nil)).Into(t, &list)
	Equal(t, "how many requests were recorded", len(list), n)
	return list
}

// TokensPath is the path of the integration tokens.
const TokensPath = "/api/integration-tokens"

// IntegrationToken is a token in a response.
type IntegrationToken struct {
	ID, Name, Prefix, Status, Secret string
	Scopes                           []string
	RateLimitPerMinute               int        `json:"rate_limit_per_minute"`
	ExpiresAt                        time.Time  `json:"expires_at"`
	LastUsedAt                       *time.Time `json:"last_used_at"`
	RevokedAt                        *time.Time `json:"revoked_at"`
	CreatedAt                        time.Time  `json:"created_at"`
	Usage                            []struct {
		Date     string
		Requests int
	}
}

// NewToken creates a token from a request body.
func (w *World) NewToken(p Person, body Fields) (token IntegrationToken) {
	w.T.Helper()
	w.Must(201, NewRequest("POST", TokensPath, p.Session, body)).Into(w.T, &token)
	return token
}

// Passkey adds a passkey to an account without a ceremony, and returns its id.
func (w *World) Passkey(email string) string {
	w.T.Helper()
	account, err := w.Store.AccountByEmail(context.Background(), email)
	if err != nil {
		w.T.Fatal(err)
	}
	p := store.Passkey{User: account.ID, CredentialID: account.ID[:], PublicKey: []byte("key")}
	p.ID, p.Name, p.CreatedAt = w.Service.NewID(), "Phone", w.Service.Now()
	if err := w.Store.Write(context.Background(), func(tx *store.Tx) error { return tx.InsertPasskey(p) }); err != nil {
		w.T.Fatal(err)
	}
	return p.ID.String()
}
