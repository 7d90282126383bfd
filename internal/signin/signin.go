// Package signin connects svc and svc-mcp to a service in the browser: OAuth with the built-in client svc, PKCE and a
// redirect to this computer (RFC 8252). The connection is stored with the API keys and refreshed when it has to be.
package signin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/credentials"
	"warranty.example/svc/warranty"
)

// Service is a service to connect to.
type Service struct {
	Store credentials.Store
	Now   func() time.Time

	mu     sync.Mutex
	cached credentials.Connection
}

// Error is the reason why there is no connection, and what to do.
type Error struct{ Detail, Fix string }

// Error returns both.
func (e *Error) Error() string { return e.Detail + " " + e.Fix }

const again = "Run svc auth login --web again."

// requestTimeout bounds each request, also while other processes wait for the lock.
const requestTimeout = 15 * time.Second

// early is how long before its end an access token is replaced, because the clock of the service may be ahead.
const early = 30 * time.Second

// httpClient follows no redirects: codes and tokens are for the service alone.
func httpClient() *http.Client {
	return &http.Client{
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// metadata is the part of the metadata of an authorization server (RFC 8414) that is used.
type metadata struct {
	Issuer    string   `json:"issuer"`
	Authorize string   `json:"authorization_endpoint"`
	Token     string   `json:"token_endpoint"`
	Revoke    string   `json:"revocation_endpoint"`
	Methods   []string `json:"code_challenge_methods_supported"`
}

// maxMetadata bounds the metadata that is read.
const maxMetadata = 64 << 10

// discover reads the metadata of the service. All addresses must be those of the service itself.
func (s *Service) discover(ctx context.Context) (m metadata, err error) {
	root := strings.TrimSuffix(s.Store.BaseURL, string(api.V1))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, root+"/.well-known/oauth-authorization-server", nil)
	if err != nil {
		return m, err
	}
	response, err := httpClient().Do(request)
	if err != nil {
		return m, &client.NetworkError{Err: err}
	}
	defer response.Body.Close() // read to the end
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMetadata))
	switch {
	case err != nil:
		return m, &client.NetworkError{Err: err}
	case response.StatusCode == http.StatusNotFound:
		return m, &Error{"This service does not support signing in with a browser: its address must start with https://, " +
			"or be on this computer.", "Run svc auth login with an integration token."}
	case response.StatusCode != http.StatusOK || api.ReadJSON(body, &m) != nil:
		return m, &client.NetworkError{Err: &client.UnexpectedResponse{Status: response.StatusCode,
			ContentType: response.Header.Get("Content-Type"), Reason: "it has no sign-in metadata; check the base URL"}}
	case m.Issuer != root:
		return m, &Error{"The service at " + root + " has another address: " + api.Printable(m.Issuer) + ".",
			"Use its address as the base URL, ending in " + string(api.V1) + "."}
	}
	for _, endpoint := range []string{m.Authorize, m.Token, m.Revoke} {
		if !strings.HasPrefix(endpoint, m.Issuer+"/") {
			return m, &Error{"The sign-in metadata of " + root + " names another host.", "Contact your administrator."}
		}
	}
	return m, nil
}

// config returns the settings of the built-in client.
func (s *Service) config(m metadata, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID:    warranty.CommandClient,
		RedirectURL: redirect,
		Scopes:      strings.Fields(warranty.AllScopes.String()),
		Endpoint:    oauth2.Endpoint{AuthURL: m.Authorize, TokenURL: m.Token, AuthStyle: oauth2.AuthStyleInParams},
	}
}

// connection converts the response of the token endpoint.
func (s *Service) connection(t *oauth2.Token) (credentials.Connection, error) {
	access, _ := warranty.ParseSecret(t.AccessToken)
	refresh, _ := warranty.ParseSecret(t.RefreshToken)
	if access != warranty.AccessSecret || refresh != warranty.RefreshSecret || !strings.EqualFold(t.TokenType, "Bearer") {
		return credentials.Connection{}, errors.New("the service returned no valid access token")
	}
	return credentials.Connection{
		Access:  t.AccessToken,
		Refresh: t.RefreshToken,
		Expires: s.Now().Add(time.Duration(t.ExpiresIn) * time.Second),
	}, nil
}

// failed converts an error of the token endpoint. Its text is not printed, because it has the whole response.
func failed(err error, refused *Error) error {
	var answer *oauth2.RetrieveError
	switch {
	case !errors.As(err, &answer):
		return &client.NetworkError{Err: err}
	case answer.ErrorCode == "invalid_grant" || answer.ErrorCode == "invalid_client":
		return refused
	case answer.ErrorCode == "":
		return &client.NetworkError{Err: &client.UnexpectedResponse{Status: answer.Response.StatusCode,
			ContentType: answer.Response.Header.Get("Content-Type"), Reason: "it is not from this service; check the base URL"}}
	}
	return fmt.Errorf("the service refused: %s (%s)", api.Printable(answer.ErrorDescription), api.Printable(answer.ErrorCode))
}

// Credential returns a valid access token; it is a client.CredentialSource. It refreshes the stored connection if the
// access token is about to expire or was rejected, one process at a time: a second process finds what the first stored.
func (s *Service) Credential(ctx context.Context, rejected string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	usable := func(c credentials.Connection) bool {
		return c.Access != "" && c.Access != rejected && s.Now().Before(c.Expires.Add(-early))
	}
	if usable(s.cached) {
		return s.cached.Access, nil
	}
	stored, err := s.Store.Load()
	if err != nil {
		return "", err
	}
	if s.cached = stored.Connections[s.Store.BaseURL]; usable(s.cached) {
		return s.cached.Access, nil
	}
	_, err = s.Store.Update(ctx, func(stored *credentials.StoredKeys, damaged error) error {
		c, ok := stored.Connections[s.Store.BaseURL]
		switch {
		case damaged != nil:
			return damaged
		case !ok:
			return &Error{"You are signed out of " + s.Store.BaseURL + ".", again}
		case !usable(c): // otherwise another process has refreshed it
			if c, err = s.refresh(ctx, c); err != nil {
				return err
			}
			stored.Set(s.Store.BaseURL, "", c)
		}
		s.cached = c
		return nil
	})
	return s.cached.Access, err
}

// refresh exchanges the refresh token for a new pair.
func (s *Service) refresh(ctx context.Context, c credentials.Connection) (credentials.Connection, error) {
	m, err := s.discover(ctx)
	if err != nil {
		return c, err
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, httpClient())
	t, err := s.config(m, "").TokenSource(ctx, &oauth2.Token{RefreshToken: c.Refresh}).Token()
	if err != nil {
		return c, failed(err, &Error{"Your sign-in to " + s.Store.BaseURL + " has ended.", again})
	}
	return s.connection(t)
}

// Connect asks the user in the browser, stores the connection and returns the file. It ends the connection that it
// replaces. show opens an address, or prints it.
func (s *Service) Connect(ctx context.Context, show func(address string)) (file string, err error) {
	c, err := s.login(ctx, show)
	if err != nil {
		return "", err
	}
	var old credentials.Connection
	file, err = s.Store.Update(ctx, func(stored *credentials.StoredKeys, _ error) error {
		old = stored.Connections[s.Store.BaseURL]
		stored.Set(s.Store.BaseURL, "", c)
		return nil
	})
	if err != nil {
		old = c // useless, because it is not stored
	}
	if old.Refresh != "" {
		_ = s.revoke(ctx, old) // it ends by itself, later
	}
	return file, err
}

// Disconnect removes the stored key or connection, and ends the connection at the service. file is empty if nothing
// was stored; connected reports whether it was a connection. If the service cannot be reached, the connection is
// removed but continues.
func (s *Service) Disconnect(ctx context.Context) (file string, connected bool, err error) {
	errNone := errors.New("nothing stored")
	var c credentials.Connection
	file, err = s.Store.Update(ctx, func(stored *credentials.StoredKeys, damaged error) error {
		c = stored.Connections[s.Store.BaseURL]
		switch {
		case damaged != nil:
			return damaged
		case c.Refresh == "" && stored.Keys[s.Store.BaseURL] == "":
			return errNone
		}
		stored.Set(s.Store.BaseURL, "", credentials.Connection{})
		return nil
	})
	switch {
	case errors.Is(err, errNone):
		return "", false, nil
	case err != nil || c.Refresh == "":
		return file, false, err
	}
	return file, true, s.revoke(ctx, c)
}

// revoke ends a connection at the service (RFC 7009).
func (s *Service) revoke(ctx context.Context, c credentials.Connection) error {
	m, err := s.discover(ctx)
	if err != nil {
		return err
	}
	form := url.Values{"token": {c.Refresh}, "client_id": {warranty.CommandClient}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.Revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := httpClient().Do(request)
	if err != nil {
		return &client.NetworkError{Err: err}
	}
	defer response.Body.Close() // not read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the service responded with %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	return nil
}
