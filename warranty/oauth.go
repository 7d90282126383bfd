package warranty

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Lifetimes of what the authorization server issues.
const (
	AuthorizationLifetime = 10 * time.Minute // of a request that waits for the person's decision
	AuthCodeLifetime      = time.Minute
	AccessLifetime        = time.Hour
	RefreshIdle           = 90 * 24 * time.Hour // after which an unused connection ends
	// RefreshGrace is how long a rotated refresh token still works: clients send it again after a lost
	// response, or from several processes at once.
	RefreshGrace = 2 * time.Minute
	// MaxRefreshPairs is how many pairs of tokens one refresh token gets in that time.
	MaxRefreshPairs = 10
	// UnusedClientLifetime is how long a registered client is kept without a connection.
	UnusedClientLifetime = 30 * 24 * time.Hour
	// MinDocumentFresh and MaxDocumentFresh bound how long a document that describes a client is kept.
	MinDocumentFresh = 5 * time.Minute
	MaxDocumentFresh = 24 * time.Hour
)

// Limits of clients and connected apps.
const (
	MaxConnectedApps  = 50 // active ones of a person in an account
	MaxClientName     = 60
	MaxRedirects      = 20
	MaxRedirectLength = 1000
	MaxClientID       = 1000
)

// CommandClient is the id of the built-in client of the programs svc and svc-mcp. Its access tokens are for
// the API; those of other clients are for the MCP endpoint.
const CommandClient = "svc"

// ConnectionEnd returns when a connection made at created ends if it is not used after now.
func ConnectionEnd(created, now time.Time) time.Time {
	end := now.Add(RefreshIdle)
	if last := created.AddDate(1, 0, 0); last.Before(end) {
		return last
	}
	return end
}

// OAuthClient is an app that asks for access.
type OAuthClient struct {
	ID   string
	Name string // what the app calls itself
	// Redirects are the addresses that may get an authorization code. Those on this computer have no port.
	Redirects []string
}

// BuiltInClient returns the client of svc and svc-mcp.
func BuiltInClient() OAuthClient {
	return OAuthClient{
		ID:        CommandClient,
		Name:      "svc",
		Redirects: []string{"http://127.0.0.1/callback", "http://[::1]/callback", "http://localhost/callback"},
	}
}

// IsDocument reports whether a client id is the address of a document that describes the client.
func IsDocument(id string) bool {
	u, err := url.Parse(id)
	if err != nil || u.Scheme != "https" || !ValidRedirect(id) || u.Path == "" || u.Path == "/" {
		return false
	}
	_, err = netip.ParseAddr(u.Hostname())
	return err != nil // an IP address says nothing about who it is
}

// DescribedClient returns the client that a document describes, with those of the addresses that may get a code. It
// returns false if there are none, or no name.
func DescribedClient(id, name string, redirects []string) (c OAuthClient, ok bool) {
	c = OAuthClient{ID: id, Name: ClientName(name)}
	for _, r := range redirects[:min(len(redirects), MaxRedirects)] {
		if ValidRedirect(r) {
			portless, _ := withoutPort(r)
			c.Redirects = append(c.Redirects, portless)
		}
	}
	return c, c.Name != "" && c.Redirects != nil
}

// Host returns the host of the document that describes the client, or "" if the client only registered:
// then nothing proves who it is.
func (c OAuthClient) Host() string {
	u, err := url.Parse(c.ID)
	if err != nil || u.Scheme != "https" {
		return ""
	}
	return u.Host
}

// Allows reports whether an address is one of the client's. The bytes must be equal, except for the port of an
// address on this computer, which is chosen when the app starts.
func (c OAuthClient) Allows(redirect string) bool {
	if !ValidRedirect(redirect) {
		return false
	}
	portless, _ := withoutPort(redirect)
	return slices.Contains(c.Redirects, portless)
}

// cursorRedirect is the address of Cursor, which registers it together with ordinary ones. Other private schemes
// are refused: any app on a computer can claim them.
const cursorRedirect = "cursor://anysphere.cursor-mcp/oauth/callback"

// loopbacks are the beginnings of addresses on the computer of the person.
var loopbacks = []string{"http://localhost", "http://127.0.0.1", "http://[::1]"}

// OnThisComputer reports whether an address is on the computer of the person.
func OnThisComputer(redirect string) bool {
	_, local := withoutPort(redirect)
	return local || redirect == cursorRedirect
}

// withoutPort returns an address on this computer without its port, and reports whether it is one.
func withoutPort(redirect string) (portless string, local bool) {
	for _, start := range loopbacks {
		rest, ok := strings.CutPrefix(redirect, start)
		if !ok {
			continue
		}
		if port, ok := strings.CutPrefix(rest, ":"); ok {
			rest = strings.TrimLeft(port, "0123456789")
			if digits := len(port) - len(rest); digits == 0 || digits > 5 {
				return redirect, false
			}
		}
		if rest == "" || rest[0] == '/' || rest[0] == '?' {
			return start + rest, true
		}
	}
	return redirect, false
}

// ValidRedirect reports whether an address may get an authorization code: https, or on this computer. It refuses
// everything that programs read differently.
func ValidRedirect(redirect string) bool {
	if redirect == cursorRedirect {
		return true
	}
	if redirect == "" || len(redirect) > MaxRedirectLength || strings.ContainsAny(redirect, `\#*<>"{}|^`+"`") ||
		strings.ContainsFunc(redirect, func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
		return false
	}
	u, err := url.Parse(redirect)
	if err != nil || u.User != nil || u.Opaque != "" || !plainPath(u.EscapedPath()) {
		return false
	}
	if _, local := withoutPort(redirect); local {
		return true
	}
	return strings.HasPrefix(redirect, "https://") && plainHost(u)
}

// plainHost reports whether the host of an address is a name in lower case, or an IP address, and its port a number.
func plainHost(u *url.URL) bool {
	host := u.Hostname()
	if host == "" || strings.HasSuffix(u.Host, ":") || strings.Contains(host, "..") || strings.Contains(host, "%") {
		return false
	}
	return strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-.:") == ""
}

// plainPath reports whether a path has no dot segments, also not encoded.
func plainPath(path string) bool {
	decoded := strings.ReplaceAll(strings.ToLower(path), "%2e", ".")
	for segment := range strings.SplitSeq(strings.ReplaceAll(strings.ReplaceAll(decoded, "%2f", "/"), "%5c", "/"), "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// NewClient returns a client that registers with a name and addresses. Equal registrations give the same client:
// its id is a hash of them, without the ports of addresses on this computer. It returns false if an address is not
// valid.
func NewClient(name string, redirects []string) (c OAuthClient, ok bool) {
	if len(redirects) == 0 || len(redirects) > MaxRedirects {
		return c, false
	}
	for _, r := range redirects {
		if !ValidRedirect(r) {
			return c, false
		}
		portless, _ := withoutPort(r)
		c.Redirects = append(c.Redirects, portless)
	}
	slices.Sort(c.Redirects)
	c.Redirects = slices.Compact(c.Redirects)
	if c.Name = ClientName(name); c.Name == "" {
		c.Name = RedirectHost(c.Redirects[0])
	}
	sum := sha256.Sum256([]byte(c.Name + "\n" + strings.Join(c.Redirects, "\n")))
	c.ID = "app_" + base64.RawURLEncoding.EncodeToString(sum[:])
	return c, true
}

// RedirectHost returns the host of an address, to show it.
func RedirectHost(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil {
		return ""
	}
	return u.Host
}

// ClientName returns the name of a client as it is shown: without characters that are invisible or change the
// direction of text, on one line.
func ClientName(name string) string {
	const doubleQuotes = "\"＂„″‶ʺ˝ˮ״❝❞⹂〝〞〟🙶🙷🙸" // besides those of the categories below
	marks := 0
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r) || r == '\u2800' ||
			unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		case unicode.In(r, unicode.Pi, unicode.Pf) || strings.ContainsRune(doubleQuotes, r):
			return '\'' // the name is shown in quotes
		case unicode.Is(unicode.Mn, r):
			if marks++; marks > 2 {
				return -1 // more would cover the text around the name
			}
			return r
		}
		marks = 0
		return r
	}, name)
	if !strings.ContainsFunc(clean, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return ""
	}
	runes := []rune(strings.Join(strings.Fields(clean), " "))
	return strings.TrimSpace(string(runes[:min(len(runes), MaxClientName)]))
}

// ValidChallenge reports whether a PKCE challenge has the form of an S256 one.
func ValidChallenge(challenge string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(challenge)
	return err == nil && len(raw) == sha256.Size
}

// Verifies reports whether a PKCE verifier belongs to an S256 challenge.
func Verifies(verifier, challenge string) bool {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	if len(verifier) < 43 || len(verifier) > 128 || strings.Trim(verifier, unreserved) != "" {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	computed := base64.RawURLEncoding.EncodeToString(sum[:])
	return subtle.ConstantTimeCompare([]byte(computed), []byte(challenge)) == 1
}

// ParseScopes returns the known scopes of a text with scopes separated by spaces, in their fixed order. If there are
// none, it returns all.
func ParseScopes(text string) Scopes {
	asked := strings.Fields(text)
	var known Scopes
	for _, s := range AllScopes {
		if slices.Contains(asked, string(s)) {
			known = append(known, s)
		}
	}
	if known == nil {
		return slices.Clone(AllScopes)
	}
	return known
}

// String returns the scopes separated by spaces.
func (s Scopes) String() string {
	names := make([]string, len(s))
	for i, scope := range s {
		names[i] = string(scope)
	}
	return strings.Join(names, " ")
}

// Authorization is a request of an app that waits for the person's decision.
type Authorization struct {
	Client    OAuthClient
	Redirect  string
	State     string
	Scopes    Scopes // those that the app asks for
	Challenge string
}

// ConnectedApp is an app that a person has connected.
type ConnectedApp struct {
	ID         ID
	Name       string // what the app calls itself
	Host       string // that the app proved, or that got the code; empty for an app on the person's computer
	Scopes     Scopes
	LastUsedAt *time.Time
	ExpiresAt  time.Time
	CreatedAt  time.Time
	PersonID   ID // who connected the app
	CreatedBy  string
}

// AppGrant is a connection with what the service needs to renew it.
type AppGrant struct {
	ID              ID
	Account, Person ID
	ClientID        string
	Name            string
	Host            string
	Scopes          Scopes
	RateLimit       int
	CreatedAt       time.Time
	ExpiresAt       time.Time
	RevokedAt       *time.Time
}
