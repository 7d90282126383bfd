package identitytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"
)

// Provider is an OpenID Connect provider that forges what a test tells it to. Change its fields before it is used.
type Provider struct {
	*httptest.Server
	ClientID string
	Now      func() time.Time

	Discovery  map[string]any // changes of the discovery document; nil removes a member
	Claims     map[string]any // changes of the ID token
	Header     map[string]any // changes of the header of the ID token
	Algorithm  string         // RS256 if it is empty; also none and HS256
	UserInfo   map[string]any // the document of the userinfo endpoint
	AccessHash bool           // ID tokens have a wrong at_hash
	Handle     func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	codes    map[string]url.Values // the requests of the codes
	requests map[string]int        // by path
	rsa      *rsa.PrivateKey
	ecdsa    *ecdsa.PrivateKey
	ed       ed25519.PrivateKey
}

// NewProvider starts a provider with TLS. Its client for the client id accepts any redirect URL.
func NewProvider(clientID string, now func() time.Time) (*Provider, error) {
	p := &Provider{ClientID: clientID, Now: now, codes: map[string]url.Values{}, requests: map[string]int{}}
	var err error
	if p.rsa, err = sharedKey(); err != nil {
		return nil, err
	}
	if p.ecdsa, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	if _, p.ed, err = ed25519.GenerateKey(rand.Reader); err != nil {
		return nil, err
	}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(p.serve))
	return p, nil
}

// sharedKey is the RSA key of all providers, because it takes long to make one.
var sharedKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// NewKey gives the provider an RSA key that no other has.
func (p *Provider) NewKey() (err error) {
	p.rsa, err = rsa.GenerateKey(rand.Reader, 2048)
	return err
}

// Requests returns how many requests had a path.
func (p *Provider) Requests(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[path]
}

// SignIn does what a browser does at the provider, and returns the parameters of the callback.
func (p *Provider) SignIn(address string) (url.Values, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	code := encode(random(16))
	p.mu.Lock()
	p.codes[code] = u.Query()
	p.mu.Unlock()
	return url.Values{"code": {code}, "state": {u.Query().Get("state")}, "iss": {p.URL}}, nil
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.requests[r.URL.Path]++
	p.mu.Unlock()
	if p.Handle != nil && p.Handle(w, r) {
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		reply(w, 200, with(map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token",
			"jwks_uri": p.URL + "/keys", "userinfo_endpoint": p.URL + "/me",
		}, p.Discovery))
	case "/keys":
		reply(w, 200, map[string]any{"keys": p.keys()})
	case "/token":
		p.token(w, r)
	case "/me":
		reply(w, 200, p.UserInfo)
	default:
		reply(w, 404, nil)
	}
}

// token exchanges a code once, with the right verifier, redirect URL and client.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	asked, ok := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || asked.Get("code_challenge") != encode(sum[:]) || asked.Get("code_challenge_method") != "S256" ||
		asked.Get("redirect_uri") != r.FormValue("redirect_uri") {
		reply(w, 400, map[string]any{"error": "invalid_grant", "error_description": "<b>canary</b>"})
		return
	}
	claims := map[string]any{"sub": "ada", "nonce": asked.Get("nonce"), "email": "ada@example.com", "email_verified": true}
	if p.AccessHash {
		claims["at_hash"] = "x"
	}
	maps.Copy(claims, p.Claims)
	reply(w, 200, map[string]any{"access_token": "access", "token_type": "Bearer", "id_token": p.Sign(claims)})
}

// Sign returns a token with claims that are completed with the issuer, the audience and the times.
func (p *Provider) Sign(claims map[string]any) string {
	now := p.Now()
	claims = with(map[string]any{"iss": p.URL, "aud": p.ClientID, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix()}, claims)
	algorithm := p.Algorithm
	if algorithm == "" {
		algorithm = "RS256"
	}
	signed := text64(with(map[string]any{"alg": algorithm, "kid": algorithm}, p.Header)) + "." + text64(claims)
	return signed + "." + encode(p.signature(algorithm, []byte(signed)))
}

func (p *Provider) signature(algorithm string, signed []byte) (out []byte) {
	sum := sha256.Sum256(signed)
	var err error
	switch algorithm {
	case "RS256":
		out, err = rsa.SignPKCS1v15(nil, p.rsa, crypto.SHA256, sum[:])
	case "PS256":
		out, err = rsa.SignPSS(rand.Reader, p.rsa, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	case "RS512":
		h := crypto.SHA512.New()
		h.Write(signed)
		out, err = rsa.SignPKCS1v15(nil, p.rsa, crypto.SHA512, h.Sum(nil))
	case "ES256":
		var r, s *big.Int
		r, s, err = ecdsa.Sign(rand.Reader, p.ecdsa, sum[:])
		if err == nil {
			out = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	case "EdDSA":
		out = ed25519.Sign(p.ed, signed)
	case "HS256": // with what everybody knows: the public key
		mac := hmac.New(sha256.New, p.rsa.N.Bytes())
		mac.Write(signed)
		out = mac.Sum(nil)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func (p *Provider) keys() []map[string]any {
	point, err := p.ecdsa.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	n, e := encode(p.rsa.N.Bytes()), encode(big.NewInt(int64(p.rsa.E)).Bytes())
	return []map[string]any{
		{"kid": "RS256", "kty": "RSA", "n": n, "e": e},
		{"kid": "PS256", "kty": "RSA", "n": n, "e": e},
		{"kid": "RS512", "kty": "RSA", "n": n, "e": e},
		{"kid": "ES256", "kty": "EC", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])},
		{"kid": "EdDSA", "kty": "OKP", "crv": "Ed25519", "x": encode(p.ed.Public().(ed25519.PublicKey))},
		{"kid": "HS256", "kty": "oct", "k": n},
	}
}

// with returns a map with changes; nil removes a member.
func with(base, changes map[string]any) map[string]any {
	for name, value := range changes {
		if value == nil {
			delete(base, name)
		} else {
			base[name] = value
		}
	}
	return base
}

func reply(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document)
}

func text64(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
