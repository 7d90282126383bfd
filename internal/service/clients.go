package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Client returns a client that asks for access. If its id is the address of a document, that is read, unless it was
// read a short while ago: only for someone who is signed in, because they choose the address.
func (s *Service) Client(ctx context.Context, p warranty.Principal, id string) (warranty.OAuthClient, error) {
	if !warranty.IsDocument(id) {
		c, _, err := s.knownClient(ctx, id)
		return c, err
	}
	if s.Documents == nil {
		return warranty.OAuthClient{}, errUnknownClient
	}
	c, fresh, err := s.knownClient(ctx, id)
	if err != nil && !errors.Is(err, errUnknownClient) || fresh != nil && s.now().Before(*fresh) {
		return c, err
	}
	if err := s.throttle(ctx, ClientDocuments, p.User.ID.String()); err != nil {
		return c, err
	}
	body, keep, err := s.Documents(ctx, id)
	if err == nil {
		c, err = readDocument(id, body)
	}
	if err != nil {
		s.Log.InfoContext(ctx, "cannot read the document of an app", "client", id, "error", err.Error())
		return c, errBadDocument // the same for every reason, so that nobody explores networks with it
	}
	now := s.now()
	until := now.Add(min(max(keep, warranty.MinDocumentFresh), warranty.MaxDocumentFresh))
	return c, s.Store.Write(ctx, func(tx *store.Tx) error { return tx.SaveClient(c, &until, now) })
}

// knownClient returns a client that registered or whose document was read. Tokens are issued to it whether or not the
// document can still be read. fresh is nil if there is no document.
func (s *Service) knownClient(ctx context.Context, id string) (c warranty.OAuthClient, fresh *time.Time, err error) {
	if id == warranty.CommandClient {
		return warranty.BuiltInClient(), nil, nil
	}
	// PostgreSQL accepts no NUL and no invalid UTF-8.
	if id == "" || len(id) > warranty.MaxClientID || strings.ContainsFunc(id, func(r rune) bool { return r < '!' || r > '~' }) {
		return c, nil, errUnknownClient
	}
	c, fresh, err = s.Store.OAuthClient(ctx, id)
	if errors.Is(err, warranty.ErrNotFound) {
		err = errUnknownClient
	}
	return c, fresh, err
}

// readDocument returns the client that a document at id describes. It must name the same id, and no shared secret.
func readDocument(id string, body []byte) (warranty.OAuthClient, error) {
	var in struct {
		ID         string   `json:"client_id"`
		Name       string   `json:"client_name"`
		Redirects  []string `json:"redirect_uris"`
		AuthMethod string   `json:"token_endpoint_auth_method"`
		Secret     any      `json:"client_secret"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return warranty.OAuthClient{}, err
	}
	if in.ID != id {
		return warranty.OAuthClient{}, errors.New("its client_id is not its address")
	}
	if in.Secret != nil || strings.HasPrefix(in.AuthMethod, "client_secret_") {
		return warranty.OAuthClient{}, errors.New("a client with a document cannot have a secret")
	}
	c, ok := warranty.DescribedClient(id, in.Name, in.Redirects)
	if !ok {
		return c, errors.New("client_name and a valid address in redirect_uris are required")
	}
	return c, nil
}

// RegisterClient adds a client, unless an equal one is registered.
func (s *Service) RegisterClient(
	ctx context.Context, p warranty.Principal, name string, redirects []string,
) (warranty.OAuthClient, error) {
	c, ok := warranty.NewClient(name, redirects)
	if !ok {
		return c, &OAuthError{"invalid_redirect_uri", fmt.Sprintf(
			"redirect_uris must have 1 to %d addresses that start with https:// or are on localhost, without a fragment.",
			warranty.MaxRedirects)}
	}
	_, _, err := s.Store.OAuthClient(ctx, c.ID)
	if !errors.Is(err, warranty.ErrNotFound) {
		return c, err
	}
	if err := s.throttle(ctx, ClientRegistrations, p.Address); err != nil {
		return c, err
	}
	now := s.now()
	return c, s.Store.Write(ctx, func(tx *store.Tx) error { return tx.SaveClient(c, nil, now) })
}
