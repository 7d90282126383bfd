package warranty

import (
	"regexp"
	"strings"
	"time"
)

// Bounds of the record of requests.
const (
	RequestLifetime  = 30 * 24 * time.Hour
	MaxRequestsKept  = 10_000 // of one user
	MaxRequestClient = 80
)

// RequestRecord is one request that was made with an integration token. It says
// which route answered and not what was asked for: an address may hold a serial
// number or a name.
type RequestRecord struct {
	ID        ID        `json:"id" doc:"Identifier of the record."`
	Token     TokenName `json:"token" doc:"The integration token it was made with."`
	At        time.Time `json:"at" doc:"When it was answered."`
	Method    string    `json:"method" doc:"The HTTP method."`
	Route     string    `json:"route" doc:"The route that took it, with names in place of what was asked for; - when none did."`
	Status    int       `json:"status" doc:"The HTTP status of the answer."`
	Ms        int       `json:"ms" doc:"Milliseconds that the answer took, rounded up."`
	RequestID string    `json:"request_id" doc:"The answer's X-Request-Id."`
	Address   string    `json:"address" doc:"Network that it came from: an IPv4 address or an IPv6 /64."`
	Client    string    `json:"client" doc:"What the caller's program calls itself, in at most 80 characters."`
	Door      Door      `json:"door" doc:"How it came in."`
}

// ListTokenRequests asks for the requests of one integration token, newest first.
type ListTokenRequests struct {
	Paging
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the token."`
}

// Check refuses what no list can be asked for.
func (in *ListTokenRequests) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// looksSecret finds what may be a bearer secret, or the better part of one.
var looksSecret = regexp.MustCompile(`sv[cs]_[0-9A-Za-z]{6,}`)

// Printable is what a caller says of itself as it may be kept: one line of plain
// characters, cut, and without anything that looks like a secret.
func Printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	text = looksSecret.ReplaceAllString(text, "(secret)")
	return text[:min(len(text), most)]
}
