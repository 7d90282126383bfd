package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// ErrUnreachable is in the chain of errors about a provider that does not answer, or not as one.
var ErrUnreachable = errors.New("identity: the provider does not answer")

// tokenAlgorithms are the signatures of tokens that are accepted, whatever the provider lists.
var tokenAlgorithms = []string{oidc.RS256, oidc.PS256, oidc.ES256, oidc.EdDSA}

const (
	skew         = 5 * time.Minute  // between the clocks of the provider and the service
	keysInterval = 10 * time.Second // between two requests for the keys of a provider
	maxToken     = 64 << 10
	maxClaim     = 255 // bytes of a subject and of other ids
)

// ProviderConfig is what an operator or an organization says about an OpenID Connect provider.
type ProviderConfig struct {
	Issuer       string // compared by bytes
	ClientID     string
	ClientSecret string
	RedirectURL  string // of this provider alone, so that one provider's code is not sent to another
	// Client reads documents. It bounds their size and the time, and follows no redirects: see outbound.Client.HTTP.
	Client *http.Client
	// Internal allows http, for providers of the operator.
	Internal bool
}

// Provider is an OpenID Connect provider whose discovery document was read. It can be kept for an hour.
type Provider struct {
	config   ProviderConfig
	lib      *oidc.Provider
	oauth    oauth2.Config
	userinfo bool
	sendsIss bool // the provider says that it sends iss to the callback
	keys     *keySource
}

// discovery is what the library does not check of the discovery document.
type discovery struct {
	Auth     string   `json:"authorization_endpoint"`
	Token    string   `json:"token_endpoint"`
	Keys     string   `json:"jwks_uri"`
	UserInfo string   `json:"userinfo_endpoint"`
	Methods  []string `json:"token_endpoint_auth_methods_supported"`
	SendsIss bool     `json:"authorization_response_iss_parameter_supported"`
}

// Discover reads the discovery document of a provider. The error is an ErrUnreachable.
func Discover(ctx context.Context, c ProviderConfig) (*Provider, error) {
	if c.Client == nil || c.ClientID == "" {
		return nil, errors.New("identity: a provider needs a client and its id")
	}
	if err := c.checkAddress(c.Issuer); err != nil {
		return nil, err
	}
	lib, err := oidc.NewProvider(oidc.ClientContext(ctx, c.Client), c.Issuer)
	if err != nil {
		return nil, unreachable("its discovery document cannot be read", err)
	}
	var d discovery
	if err := lib.Claims(&d); err != nil {
		return nil, unreachable("its discovery document is not valid", err)
	}
	addresses := []string{d.Auth, d.Token, d.Keys}
	if d.UserInfo != "" {
		addresses = append(addresses, d.UserInfo)
	}
	for _, address := range addresses {
		if err := c.checkAddress(address); err != nil {
			return nil, err
		}
	}
	endpoint := lib.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the default of the standard
	if len(d.Methods) > 0 && !slices.Contains(d.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &Provider{
		config: c,
		lib:    lib,
		oauth: oauth2.Config{
			ClientID: c.ClientID, ClientSecret: c.ClientSecret, RedirectURL: c.RedirectURL, Endpoint: endpoint,
			Scopes: []string{oidc.ScopeOpenID, oidc.ScopeEmail, oidc.ScopeProfile},
		},
		userinfo: d.UserInfo != "",
		sendsIss: d.SendsIss,
		keys:     newKeySource(c.Client, d.Keys),
	}, nil
}

// checkAddress rejects addresses that a provider must not have.
func (c ProviderConfig) checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return unreachable("an address of it is not valid", nil)
	case u.Scheme != "https" && (u.Scheme != "http" || !c.Internal):
		return unreachable("an address of it is not https", nil)
	}
	return nil
}

func unreachable(what string, err error) error {
	if err != nil { // it can repeat what the provider sent, which is for the log only
		return fmt.Errorf("%w: %s: %.300s", ErrUnreachable, what, fmt.Sprintf("%q", err.Error()))
	}
	return fmt.Errorf("%w: %s", ErrUnreachable, what)
}

// Origin returns the origin of the page that the browser is sent to, for the form-action of the sign-in page.
func (p *Provider) Origin() string {
	u, err := url.Parse(p.oauth.Endpoint.AuthURL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// ProviderFlow is what the service remembers between Start and Finish, sealed, in the flow of the browser. Finish works
// once: the caller deletes the flow first.
type ProviderFlow struct {
	Issuer, ClientID       string
	State, Nonce, Verifier string
	Fresh                  bool
}

// Start returns the address to send the browser to. fresh asks for a new sign-in, for the confirmation of a session.
func (p *Provider) Start(fresh bool) (address string, f ProviderFlow) {
	f = ProviderFlow{
		Issuer: p.config.Issuer, ClientID: p.config.ClientID,
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Fresh: fresh,
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if fresh {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return p.oauth.AuthCodeURL(f.State, options...), f
}

// Identity is what a provider says about whoever signed in. Only Issuer and Subject identify them.
type Identity struct {
	Issuer, Subject string
	Email           string
	EmailVerified   bool // the claim is exactly true
	Name            string
	SessionID       string    // for a logout by the provider
	AuthTime        time.Time // zero if the provider does not say
}

// ProviderError is the answer of a provider that signs nobody in.
type ProviderError struct {
	Denied bool // the person, or a rule of the provider, refused
}

func (e *ProviderError) Error() string { return "identity: rejected: the provider signed nobody in" }

// Is makes a ProviderError an ErrRejected.
func (*ProviderError) Is(target error) bool { return target == ErrRejected }

// Finish verifies what the browser brings to the callback, and exchanges the code. The error is an ErrRejected or an
// ErrUnreachable.
func (p *Provider) Finish(ctx context.Context, f ProviderFlow, query url.Values, now time.Time) (Identity, error) {
	code, err := p.checkCallback(f, query)
	if err != nil {
		return Identity{}, err
	}
	ctx = oidc.ClientContext(ctx, p.config.Client)
	token, err := p.oauth.Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode/100 == 4 {
			return Identity{}, reject("the provider refuses the code")
		}
		return Identity{}, unreachable("the code cannot be exchanged", err)
	}
	raw, _ := token.Extra("id_token").(string)
	found, err := p.checkIDToken(ctx, f, raw, token.AccessToken, now)
	if err != nil {
		return Identity{}, err
	}
	if found.Email == "" && p.userinfo {
		err = p.addUserInfo(ctx, token, &found)
	}
	return found, err
}

// checkCallback verifies the parameters of the callback and returns the code.
func (p *Provider) checkCallback(f ProviderFlow, query url.Values) (code string, err error) {
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(query[name]) > 1 {
			return "", reject("the callback has a parameter twice")
		}
	}
	switch {
	case f.Issuer != p.config.Issuer || f.ClientID != p.config.ClientID:
		return "", reject("the sign-in was started at another provider")
	case f.State == "" || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(f.State)) != 1:
		return "", reject("the state is not the one of this browser")
	case query.Has("iss") && query.Get("iss") != p.config.Issuer, p.sendsIss && !query.Has("iss"):
		return "", reject("the callback is of another provider")
	case query.Has("error"):
		return "", &ProviderError{Denied: query.Get("error") == "access_denied"}
	case query.Get("code") == "":
		return "", reject("the callback has no code")
	}
	return query.Get("code"), nil
}

// claims are those that the library does not check.
type claims struct {
	Party         string    `json:"azp"`
	Email         string    `json:"email"`
	EmailVerified any       `json:"email_verified"`
	Name          string    `json:"name"`
	SessionID     string    `json:"sid"`
	AuthTime      *jsonTime `json:"auth_time"`
}

func (p *Provider) checkIDToken(ctx context.Context, f ProviderFlow, raw, access string, now time.Time) (Identity, error) {
	if kind, err := tokenType(raw); err != nil || kind != "" && !strings.EqualFold(kind, "JWT") {
		return Identity{}, reject("not an ID token")
	}
	token, err := p.verify(ctx, raw, now)
	if err != nil {
		return Identity{}, err
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return Identity{}, reject("the claims of the ID token have wrong types")
	}
	switch {
	case f.Nonce == "" || subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(f.Nonce)) != 1:
		return Identity{}, reject("the nonce is not the one of this sign-in")
	case len(token.Audience) > 1 && c.Party == "", c.Party != "" && c.Party != p.config.ClientID:
		return Identity{}, reject("the ID token is for another client")
	case token.Subject == "" || len(token.Subject) > maxClaim || len(c.SessionID) > maxClaim:
		return Identity{}, reject("the subject is missing or too long")
	case token.AccessTokenHash != "" && token.VerifyAccessToken(access) != nil:
		return Identity{}, reject("the access token does not belong to the ID token")
	}
	verified, _ := c.EmailVerified.(bool)
	found := Identity{
		Issuer: p.config.Issuer, Subject: token.Subject, Email: c.Email, EmailVerified: verified, Name: c.Name, SessionID: c.SessionID,
	}
	if c.AuthTime != nil {
		found.AuthTime = time.Time(*c.AuthTime)
	}
	if f.Fresh && (found.AuthTime.Before(now.Add(-time.Minute)) || found.AuthTime.After(now.Add(skew))) {
		return Identity{}, reject("the provider did not ask for a new sign-in")
	}
	return found, nil
}

// verify verifies the signature, issuer, audience and times of a token.
func (p *Provider) verify(ctx context.Context, raw string, now time.Time) (*oidc.IDToken, error) {
	keys := &keySet{source: p.keys}
	verifier := oidc.NewVerifier(p.config.Issuer, keys, &oidc.Config{
		ClientID: p.config.ClientID, SupportedSigningAlgs: tokenAlgorithms, Now: func() time.Time { return now },
	})
	token, err := verifier.Verify(ctx, raw)
	switch {
	case keys.failed != nil:
		return nil, unreachable("its keys cannot be read", keys.failed)
	case err != nil:
		return nil, reject("the token is not valid")
	case token.Issuer != p.config.Issuer: // the library makes an exception for Google
		return nil, reject("the token is of another issuer")
	case token.IssuedAt.IsZero() || token.IssuedAt.After(now.Add(skew)):
		return nil, reject("the token has no time, or one in the future")
	}
	return token, nil
}

// addUserInfo adds the address from the userinfo endpoint, which must be about the same subject.
func (p *Provider) addUserInfo(ctx context.Context, token *oauth2.Token, found *Identity) error {
	info, err := p.lib.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return unreachable("its userinfo cannot be read", err)
	}
	var c claims
	if err := info.Claims(&c); err != nil || info.Subject != found.Subject {
		return reject("the userinfo is about another subject")
	}
	verified, _ := c.EmailVerified.(bool)
	found.Email, found.EmailVerified = c.Email, verified
	if found.Name == "" {
		found.Name = c.Name
	}
	return nil
}

// keySource is the keys of a provider. Tokens with unknown keys make it ask for them again, but not in a loop.
type keySource struct {
	mu     sync.Mutex
	remote *oidc.RemoteKeySet
	asked  time.Time
}

// errTooOften ends a request for keys that comes too soon.
var errTooOften = errors.New("the keys were read a moment ago")

func newKeySource(client *http.Client, address string) *keySource {
	s := &keySource{}
	slow := *client
	slow.Transport = &keyTransport{s, client.Transport}
	s.remote = oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), &slow), address)
	return s
}

type keyTransport struct {
	source *keySource
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *keyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.source.mu.Lock()
	soon := time.Since(t.source.asked) < keysInterval
	if !soon {
		t.source.asked = time.Now()
	}
	t.source.mu.Unlock()
	if soon {
		return nil, errTooOften
	}
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	return next.RoundTrip(r)
}

// keySet is the keySource for one token.
type keySet struct {
	source *keySource
	failed error // the provider did not answer
}

// VerifySignature implements oidc.KeySet.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.source.remote.VerifySignature(ctx, token)
	if err != nil && strings.HasPrefix(err.Error(), "fetching keys") && !errors.Is(err, errTooOften) {
		k.failed = err
	}
	return payload, err
}
