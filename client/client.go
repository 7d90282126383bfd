// Package client is a Go client for the service: a typed method for every operation
// of package api, typed errors, and retries of requests that are safe to repeat.
//
//	c, err := client.New(client.DefaultBaseURL, os.Getenv("SVC_API_KEY"))
//	page, err := c.ListWarranties(ctx, warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Status: warranty.Active}})
//	var refused *client.Error
//	if errors.As(err, &refused) && refused.Code == warranty.InsufficientScope { … }
package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// DefaultBaseURL is the address of a local service with default settings.
const DefaultBaseURL = "http://127.0.0.1:8080/api/v1"

// Client calls one service with one credential. It is safe for concurrent use.
type Client struct {
	root string // base URL without /api/v1
	host string // of root; requests to other hosts are rejected
	// credential is a function, so that printing a Client never shows the secret.
	credential CredentialSource
	userAgent  string
	// traceparent is sent with requests whose context has none.
	traceparent string
	account     string // the organization that a session acts for; empty for the user's own account
	http        *http.Client
	attempts    int
	maxWait     time.Duration
	observe     func(Attempt)
}

// Option configures a Client.
type Option func(*Client)

// WithHTTPClient sets the HTTP client. Unless it has a CheckRedirect function,
// redirects are not followed, because they would forward the x-api-key header.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) {
		own := *h
		if own.CheckRedirect == nil {
			own.CheckRedirect = noRedirect
		}
		c.http = &own
	}
}

// WithUserAgent sets the User-Agent header.
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// WithTraceparent makes all requests part of the trace that a W3C traceparent names. A
// malformed one is ignored. [api.WithTraceparent] sets the trace of a single call.
func WithTraceparent(traceparent string) Option {
	return func(c *Client) {
		if api.TraceID(traceparent) != "" {
			c.traceparent = traceparent
		}
	}
}

// WithAccount makes a session act for an organization that the user is a member of. It sends the header
// X-Account.
func WithAccount(organization warranty.ID) Option {
	return func(c *Client) { c.account = organization.String() }
}

// CredentialSource returns the credential for a request. rejected is the one that the service has just rejected with
// 401, or empty. If the source then returns another one, the request is sent again.
type CredentialSource func(ctx context.Context, rejected string) (string, error)

// WithCredentials sets a source of credentials that change, such as access tokens. It replaces the credential of New.
func WithCredentials(source CredentialSource) Option {
	return func(c *Client) { c.credential = source }
}

// WithAttempts sets the maximum number of attempts per request; 1 disables retries.
func WithAttempts(n int) Option { return func(c *Client) { c.attempts = max(1, n) } }

// WithMaxWait sets the maximum wait before a retry. If Retry-After is longer, the
// call returns the error instead.
func WithMaxWait(d time.Duration) Option { return func(c *Client) { c.maxWait = d } }

// WithObserver calls f after every attempt, for debug logs. Attempts do not contain
// the secret.
func WithObserver(f func(Attempt)) Option { return func(c *Client) { c.observe = f } }

// New returns a client for the service at baseURL, which ends in /api/v1. The
// credential is an integration token, a session or an access token, or empty for
// operations that need none.
func New(baseURL, credential string, options ...Option) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the base URL must look like https://host/api/v1")
	}
	path, ok := strings.CutSuffix(strings.TrimRight(u.Path, "/"), string(api.V1))
	if !ok {
		return nil, errors.New("the base URL must end in /api/v1")
	}
	c := &Client{
		root:       u.Scheme + "://" + u.Host + (&url.URL{Path: path}).EscapedPath(),
		host:       u.Host,
		credential: func(context.Context, string) (string, error) { return credential, nil },
		userAgent:  "svc-go",
		http:       &http.Client{Timeout: time.Minute, CheckRedirect: noRedirect},
		attempts:   4,
		maxWait:    70 * time.Second,
	}
	for _, option := range options {
		option(c)
	}
	return c, nil
}

// authorize sets the header for the kind of credential. An unknown kind is sent as a
// token, for the service to reject.
func authorize(h http.Header, credential string) {
	switch kind, _ := warranty.ParseSecret(credential); {
	case credential == "":
	case kind == warranty.SessionSecret || kind == warranty.AccessSecret:
		h.Set("Authorization", "Bearer "+credential)
	default:
		h.Set("X-Api-Key", credential)
	}
}

// noRedirect prevents redirects from forwarding the credential to another address.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Root returns the base URL without /api/v1.
func (c *Client) Root() string { return c.root }

// Call performs an operation.
func Call[In, Out any](ctx context.Context, c *Client, op api.Op[In, Out], in In) (Out, error) {
	var out Out
	_, err := c.perform(ctx, op.Spec, &in, &out)
	return out, err
}

// Do performs an operation whose types are only known at run time. in is a pointer
// to the input type, out a pointer to the output type. The response is also
// returned with an error of the service.
func (c *Client) Do(ctx context.Context, op *api.Spec, in any) (out any, r Response, err error) {
	out = reflect.New(op.Out).Interface()
	r, err = c.perform(ctx, op, in, out)
	return out, r, err
}

func (c *Client) perform(ctx context.Context, op *api.Spec, in, out any) (Response, error) {
	request, err := op.Request(in)
	if err != nil {
		return Response{}, err
	}
	r, err := c.send(ctx, request, op.ReadOnly || repeatable(request))
	if err != nil {
		return r, err
	}
	return r, r.decode(op, out)
}

// Send sends any request to the service. Its path is relative to Root and begins
// with a slash. The response is also returned with an error of the service.
func (c *Client) Send(ctx context.Context, r api.Request) (Response, error) {
	return c.send(ctx, r, repeatable(r))
}

// NewKey returns a random idempotency key.
func NewKey() string { return rand.Text() }
