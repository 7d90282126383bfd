package certs

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Timing of ACME.
const (
	pollPeriod   = time.Minute     // between looks at the database with a valid certificate
	waitPeriod   = 2 * time.Second // the same without one
	orderTimeout = 5 * time.Minute
	// challengeAge is how long a replica may answer from memory whether there is a challenge, so
	// that requests cannot cause many queries.
	challengeAge  = time.Second
	firstRetry    = 2 * time.Minute // doubled after each failure; Let's Encrypt allows 5 an hour
	longestRetry  = time.Hour
	lookupTimeout = 2 * time.Second
)

// ACME obtains and renews the certificate of one host. Replicas share everything through
// the database: one of them orders, any of them answers the challenge, and all use the
// certificate. Handshakes never cause an order.
type ACME struct {
	Host      string
	Directory string // URL of the certificate authority
	Email     string // optional
	HTTP      bool   // answer http-01 on the HTTP listener instead of tls-alpn-01
	Store     *store.Store
	Log       *slog.Logger

	current atomic.Pointer[tls.Certificate]
	stored  string // the PEM text of current

	mu        sync.Mutex
	challenge challenge
	lookedAt  time.Time
}

// challenge is what a certificate authority asks for.
type challenge struct {
	Path, Answer string // http-01
	Certificate  string // tls-alpn-01: certificate and key in PEM
}

// names of values in the database
func (a *ACME) accountName() string     { return "account " + a.Directory }
func (a *ACME) certificateName() string { return "certificate " + a.Directory + " " + a.Host }
func (a *ACME) orderName() string       { return "order " + a.Directory + " " + a.Host }
func (a *ACME) challengeName() string   { return "challenge " + a.Host }

// Run keeps the certificate valid until the context is done.
func (a *ACME) Run(ctx context.Context) {
	for {
		err := a.refresh(ctx)
		if err != nil && ctx.Err() == nil {
			a.Log.Error("cannot obtain a certificate; will retry", "host", a.Host, "error", err.Error())
		}
		wait := pollPeriod
		if a.current.Load() == nil {
			wait = waitPeriod
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// refresh takes the certificate from the database, and orders one if it is missing or
// due for renewal and no other replica does.
func (a *ACME) refresh(ctx context.Context) error {
	if err := a.load(ctx); err != nil || !a.due() {
		return err
	}
	now, claimed := a.Store.Now(), false
	err := a.Store.Write(ctx, func(t *store.Tx) (err error) {
		claimed, err = t.ClaimACME(a.orderName(), now, now.Add(orderTimeout+time.Minute))
		return err
	})
	if err != nil || !claimed {
		return err
	}
	// Another replica may have finished between the look and the claim.
	if err := a.load(ctx); err != nil || !a.due() {
		return errors.Join(err, a.release(ctx, 0, a.Store.Now()))
	}
	failures, _, err := a.Store.ACME(ctx, a.orderName())
	if err != nil {
		return err
	}
	count, _ := strconv.Atoi(failures) // empty before the first failure
	limited, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	a.Log.Info("ordering a certificate", "host", a.Host, "directory", a.Directory)
	if err := a.order(limited); err != nil {
		wait := min(firstRetry<<min(count, 10), longestRetry)
		var refused *acme.Error
		if errors.As(err, &refused) {
			if after, ok := acme.RateLimit(refused); ok {
				wait = max(wait, after)
			}
		}
		if ctx.Err() != nil { // stopped: no failure of the order
			wait = 0
			count--
		}
		err = fmt.Errorf("%w; next attempt in %s", err, wait)
		return errors.Join(err, a.release(context.WithoutCancel(ctx), count+1, a.Store.Now().Add(wait)))
	}
	return errors.Join(a.release(ctx, 0, a.Store.Now()), a.load(ctx))
}

// release ends the claim at a time and stores the number of failures in a row.
func (a *ACME) release(ctx context.Context, failures int, at time.Time) error {
	return a.Store.Write(ctx, func(t *store.Tx) error {
		return t.PutACME(a.orderName(), strconv.Itoa(failures), at)
	})
}

// due reports whether there is no certificate, or less than a third of its validity is left.
func (a *ACME) due() bool {
	c := a.current.Load()
	if c == nil {
		return true
	}
	lifetime := c.Leaf.NotAfter.Sub(c.Leaf.NotBefore)
	return a.Store.Now().After(c.Leaf.NotAfter.Add(-lifetime / 3))
}

// load takes the certificate from the database.
func (a *ACME) load(ctx context.Context) error {
	text, _, err := a.Store.ACME(ctx, a.certificateName())
	if errors.Is(err, warranty.ErrNotFound) || err == nil && text == a.stored {
		return nil
	}
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair([]byte(text), []byte(text))
	if err != nil {
		return err
	}
	a.current.Store(&pair)
	a.stored = text
	a.Log.Info("certificate loaded", "host", a.Host, "expires", pair.Leaf.NotAfter)
	return nil
}

// Stored returns until when the certificate in the database is valid, and whether its renewal is due. The
// time is zero if there is none yet.
func (a *ACME) Stored(ctx context.Context) (expires time.Time, due bool, err error) {
	err = a.load(ctx)
	return a.Expires(), a.due(), err
}

// order obtains a certificate and stores it.
func (a *ACME) order(ctx context.Context) error {
	account, err := a.account(ctx)
	if err != nil {
		return err
	}
	client := &acme.Client{
		Key:          account,
		DirectoryURL: a.Directory,
		UserAgent:    "svcd",
		HTTPClient:   &http.Client{Timeout: time.Minute},
	}
	contact := &acme.Account{}
	if a.Email != "" {
		contact.Contact = []string{"mailto:" + a.Email}
	}
	if _, err := client.Register(ctx, contact, acme.AcceptTOS); err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return fmt.Errorf("register: %w", err)
	}
	order, err := client.AuthorizeOrder(ctx, acme.DomainIDs(a.Host))
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	for _, url := range order.AuthzURLs {
		if err := a.authorize(ctx, client, url); err != nil {
			return err
		}
	}
	ready, err := client.WaitOrder(ctx, order.URI)
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	ready.URI = order.URI // authorities may omit it
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{a.Host}}, key)
	if err != nil {
		return err
	}
	chain, _, err := client.CreateCertFromOrder(ctx, ready, request, true)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	text, err := encode(key, chain...)
	if err != nil {
		return err
	}
	return a.Store.Write(ctx, func(t *store.Tx) error {
		return t.PutACME(a.certificateName(), text, a.Store.Now())
	})
}

// authorize answers a challenge that proves control of the host.
func (a *ACME) authorize(ctx context.Context, client *acme.Client, url string) error {
	authorization, err := client.GetAuthorization(ctx, url)
	if err != nil {
		return fmt.Errorf("authorization: %w", err)
	}
	if authorization.Status == acme.StatusValid {
		return nil
	}
	kind := "tls-alpn-01"
	if a.HTTP {
		kind = "http-01"
	}
	for _, offered := range authorization.Challenges {
		if offered.Type != kind {
			continue
		}
		if err := a.publish(ctx, client, offered); err != nil {
			return err
		}
		if _, err := client.Accept(ctx, offered); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if _, err := client.WaitAuthorization(ctx, authorization.URI); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		return nil
	}
	return fmt.Errorf("the certificate authority does not offer %s", kind)
}

// publish stores the answer to a challenge and waits until all replicas give it.
func (a *ACME) publish(ctx context.Context, client *acme.Client, offered *acme.Challenge) (err error) {
	var c challenge
	if a.HTTP {
		c.Path = client.HTTP01ChallengePath(offered.Token)
		c.Answer, err = client.HTTP01ChallengeResponse(offered.Token)
	} else {
		var pair tls.Certificate
		if pair, err = client.TLSALPN01ChallengeCert(offered.Token, a.Host); err == nil {
			c.Certificate, err = encode(pair.PrivateKey.(crypto.Signer), pair.Certificate...)
		}
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	err = a.Store.Write(ctx, func(t *store.Tx) error {
		return t.PutACME(a.challengeName(), string(text), a.Store.Now().Add(orderTimeout))
	})
	if err != nil {
		return err
	}
	select {
	case <-time.After(2 * challengeAge):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// account returns the key of the account, which replicas share.
func (a *ACME) account(ctx context.Context) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := encode(key)
	if err != nil {
		return nil, err
	}
	if err := a.Store.Write(ctx, func(t *store.Tx) error { return t.KeepACME(a.accountName(), text) }); err != nil {
		return nil, err
	}
	if text, _, err = a.Store.ACME(ctx, a.accountName()); err != nil {
		return nil, err
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the stored account key is damaged")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	stored, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the stored account key is damaged")
	}
	return stored, nil
}

// lookUp returns the current challenge, which is at most challengeAge old.
func (a *ACME) lookUp() challenge {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.lookedAt) < challengeAge {
		return a.challenge
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	var found challenge
	text, until, err := a.Store.ACME(ctx, a.challengeName())
	if err == nil && a.Store.Now().Before(until) && json.Unmarshal([]byte(text), &found) != nil {
		found = challenge{}
	}
	a.challenge, a.lookedAt = found, time.Now()
	return found
}

// Answer returns the answer to an http-01 challenge.
func (a *ACME) Answer(path string) (string, bool) {
	if !strings.HasPrefix(path, "/.well-known/acme-challenge/") {
		return "", false
	}
	c := a.lookUp()
	return c.Answer, c.Path != "" && c.Path == path
}

// Certificate returns the certificate for a handshake, for tls.Config. Clients without a
// server name, such as load balancers, get it too.
func (a *ACME) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName != "" && !strings.EqualFold(strings.TrimSuffix(hello.ServerName, "."), a.Host) {
		return nil, errors.New("the server name is not the host of the public URL")
	}
	if len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto {
		text := a.lookUp().Certificate
		if text == "" {
			return nil, errors.New("there is no challenge")
		}
		pair, err := tls.X509KeyPair([]byte(text), []byte(text))
		return &pair, err
	}
	if c := a.current.Load(); c != nil {
		return c, nil
	}
	return nil, errors.New("there is no certificate yet")
}

// Expires returns the end of the certificate's validity, and the zero time without one.
func (a *ACME) Expires() time.Time {
	if c := a.current.Load(); c != nil {
		return c.Leaf.NotAfter
	}
	return time.Time{}
}

// encode returns a chain of certificates and their key in PEM.
func encode(key crypto.Signer, chain ...[]byte) (string, error) {
	var b strings.Builder
	for _, der := range chain {
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	b.Write(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return b.String(), nil
}
