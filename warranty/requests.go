package warranty

import (
	"regexp"
	"strings"
	"time"
)

// Limits of the request log.
const (
	RequestLifetime  = 30 * 24 * time.Hour
	MaxRequestsKept  = 10_000 // per user
	MaxRequestClient = 80
)

// RequestRecord is a request made with an integration token. It has the route instead
// of the path, which may contain serial numbers or names.
type RequestRecord struct {
	ID        ID        `json:"id" doc:"Identifier of the log entry."`
	Token     TokenName `json:"token" doc:"The integration token that was used."`
	At        time.Time `json:"at" doc:"When the response was sent."`
	Method    string    `json:"method" doc:"HTTP method."`
	Route     string    `json:"route" doc:"Matched route, with parameter names in place of values; - if none matched."`
	Status    int       `json:"status" doc:"HTTP status of the response."`
	Ms        int       `json:"ms" doc:"Duration in milliseconds, rounded up."`
	RequestID string    `json:"request_id" doc:"X-Request-Id of the response."`
	Address   string    `json:"address" doc:"Client network: an IPv4 address or an IPv6 /64."`
	Client    string    `json:"client" doc:"User-Agent of the client, at most 80 characters."`
	Door      Door      `json:"door" doc:"Interface that was used."`
}

// ListTokenRequests is the input of tokens.requests.
type ListTokenRequests struct {
	Paging
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the token."`
}

// Check validates the input.
func (in *ListTokenRequests) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// looksSecret matches secrets and parts of secrets.
var looksSecret = regexp.MustCompile(`sv[acgqrs]_[0-9A-Za-z]{6,}`)

// Printable makes caller-supplied text safe to store: it replaces characters outside
// printable ASCII, redacts secrets and truncates the text to most bytes.
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
