// Package client calls the service from Go: every operation of package api with
// its own types, errors that can be told apart, and retries of what is safe to
// repeat.
//
//	c, err := client.New(client.DefaultBaseURL, os.Getenv("SVC_API_KEY"))
//	page, err := c.ListWarranties(ctx, warranty.ListWarranties{Status: warranty.Active})
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

// DefaultBaseURL is where a service listens that was started without settings.
const DefaultBaseURL = "http://127.0.0.1:8080/api/v1"

// Client calls one service with one credential. It may be used by several
// goroutines at once.
type Client struct {
	root      string            // address before /api/v1
	host      string            // of root: no request goes anywhere else
	authorize func(http.Header) // a function: no way of printing a client shows the secret
	userAgent string
	http      *http.Client
	attempts  int
	maxWait   time.Duration
	observe   func(Attempt)
}

// Option changes how a client behaves.
type Option func(*Client)

// WithHTTPClient sends requests through another HTTP client. Unless it has a
// rule of its own for redirects they are not followed: x-api-key would go along.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) {
		own := *h
		if own.CheckRedirect == nil {
			own.CheckRedirect = stay
		}
		c.http = &own
	}
}

// WithUserAgent names the program that calls.
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// WithAttempts sets how often a request is tried at most; 1 switches retries off.
func WithAttempts(n int) Option { return func(c *Client) { c.attempts = max(1, n) } }

// WithMaxWait bounds how long the client waits before a single retry. A longer
// Retry-After ends the call with its error.
func WithMaxWait(d time.Duration) Option { return func(c *Client) { c.maxWait = d } }

// WithObserver is told of every attempt, for a debug log. It never sees the secret.
func WithObserver(f func(Attempt)) Option { return func(c *Client) { c.observe = f } }

// New makes a client for the service at a base address that ends in /api/v1. The
// secret is an integration token or a session; operations that need none work
// with an empty one.
func New(baseURL, credential string, options ...Option) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the base address must look like https://host/api/v1")
	}
	path, ok := strings.CutSuffix(strings.TrimRight(u.Path, "/"), string(api.V1))
	if !ok {
		return nil, errors.New("the base address must end in /api/v1")
	}
	c := &Client{root: u.Scheme + "://" + u.Host + (&url.URL{Path: path}).EscapedPath(), host: u.Host, authorize: authorizer(credential), userAgent: "svc-go",
		attempts: 4, maxWait: 70 * time.Second, http: &http.Client{Timeout: time.Minute, CheckRedirect: stay}}
	for _, option := range options {
		option(c)
	}
	return c, nil
}

// authorizer sends a credential where its kind belongs. What is no secret of
// ours, the service refuses as a token.
func authorizer(credential string) func(http.Header) {
	kind, _ := warranty.ParseSecret(credential)
	return func(h http.Header) {
		switch {
		case credential == "":
		case kind == warranty.SessionSecret:
			h.Set("Authorization", "Bearer "+credential)
		default:
			h.Set("X-Api-Key", credential)
		}
	}
}

// stay follows no redirect: it would take the credential to an address that nobody chose.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Root is the service's address, before /api/v1.
func (c *Client) Root() string { return c.root }

// Call performs an operation.
func Call[In, Out any](ctx context.Context, c *Client, op api.Op[In, Out], in In) (Out, error) {
	var out Out
	_, err := c.perform(ctx, op.Spec, &in, &out)
	return out, err
}

// Do performs an operation whose types are only known at run time. in is a
// pointer to its In, out will be one to its Out; the answer is given as it came,
// with an error too when the service refused.
func (c *Client) Do(ctx context.Context, op *api.Spec, in any) (out any, a Answer, err error) {
	out = reflect.New(op.Out).Interface()
	a, err = c.perform(ctx, op, in, out)
	return out, a, err
}

func (c *Client) perform(ctx context.Context, op *api.Spec, in, out any) (Answer, error) {
	request, err := op.Request(in)
	if err != nil {
		return Answer{}, err
	}
	a, err := c.send(ctx, request, op.ReadOnly || repeatable(request))
	if err != nil {
		return a, err
	}
	return a, a.decode(op, out)
}

// Send sends any request to the service. Its path is relative to the host and
// begins with a slash. The answer is given as it came, with an error too when the
// service refused.
func (c *Client) Send(ctx context.Context, r api.Request) (Answer, error) {
	return c.send(ctx, r, repeatable(r))
}

// NewKey makes an idempotency key.
func NewKey() string { return rand.Text() }
