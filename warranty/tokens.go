package warranty

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of integration tokens.
const (
	MaxActiveTokens   = 20
	MaxTokenName      = 80
	DefaultTokenRate  = 100
	DefaultTokenDays  = 365
	MaxTokenYears     = 5
	MaxOverlapSeconds = 86400
	UsageDays         = 30
)

// Token is an integration token, without its secret.
type Token struct {
	ID                 ID          `json:"id" doc:"Identifier of the token."`
	Name               string      `json:"name" doc:"Label of the token."`
	Prefix             string      `json:"prefix" doc:"First characters of the secret, to tell tokens apart."`
	Scopes             Scopes      `json:"scopes" doc:"What the token may do."`
	RateLimitPerMinute int         `json:"rate_limit_per_minute" doc:"Requests a minute that the token may make."`
	Status             TokenStatus `json:"status" doc:"Whether the token works."`
	ExpiresAt          time.Time   `json:"expires_at" doc:"When the token stops working."`
	LastUsedAt         *time.Time  `json:"last_used_at" doc:"When the token was last used; a few seconds behind."`
	RevokedAt          *time.Time  `json:"revoked_at" doc:"When the token was revoked."`
	CreatedAt          time.Time   `json:"created_at" doc:"When the token was made."`
	Usage              []DayUsage  `json:"usage" doc:"Requests a day over the last 30 days, oldest first; days without any are left out."`
}

// RecordID is the id that a created record's Location is made of.
func (t Token) RecordID() ID { return t.ID }

// DayUsage counts a token's requests on one day.
type DayUsage struct {
	Date     Date  `json:"date" doc:"The UTC day."`
	Requests int64 `json:"requests" doc:"Requests on that day."`
}

// Show derives the status that the token has now.
func (t *Token) Show(now time.Time) {
	switch {
	case t.RevokedAt != nil:
		t.Status = TokenIsRevoked
	case !now.Before(t.ExpiresAt):
		t.Status = TokenIsExpired
	default:
		t.Status = TokenIsActive
	}
}

// TokenStatus tells whether a token works.
type TokenStatus string

// The statuses of a token.
const (
	TokenIsActive  TokenStatus = "active"
	TokenIsExpired TokenStatus = "expired"
	TokenIsRevoked TokenStatus = "revoked"
)

var tokenStatusNames = namesOf(TokenIsActive, TokenIsExpired, TokenIsRevoked)

// Values lists the names a TokenStatus may have.
func (TokenStatus) Values() []string { return tokenStatusNames }

// String is the status's name.
func (s TokenStatus) String() string { return string(s) }

// NewToken is a token with its secret: the only time that the secret is shown.
type NewToken struct {
	Token
	Secret string `json:"secret" doc:"The secret to send as x-api-key. It is shown once and can not be read again."`
}

// CreateToken makes an integration token.
type CreateToken struct {
	Name               string     `json:"name,omitzero" required:"true" max:"80" doc:"Label of the token, unique among your active ones." example:"ERP"`
	Scopes             []string   `json:"scopes,omitempty" required:"true" enum:"warranties:read,warranties:write,claims:read,documents:read" doc:"What the token may do." example:"warranties:read"`
	RateLimitPerMinute *int       `json:"rate_limit_per_minute,omitempty" min:"1" doc:"Requests a minute that the token may make; 100 when left out." example:"100"`
	ExpiresAt          *time.Time `json:"expires_at,omitempty" doc:"When the token stops working; 365 days from now when left out, at most 5 years."`
}

// Check refuses what no token can be, and fills in what was left out.
func (in *CreateToken) Check(now time.Time, maxRate int) error {
	var c Checks
	in.checkShape(&c)
	if in.RateLimitPerMinute == nil {
		rate := min(DefaultTokenRate, maxRate)
		in.RateLimitPerMinute = &rate
	}
	if r := *in.RateLimitPerMinute; r < 1 || r > maxRate {
		c.Add("rate_limit_per_minute", "out_of_range", fmt.Sprintf("Write a number from 1 to %d.", maxRate))
	}
	if in.ExpiresAt == nil {
		at := now.AddDate(0, 0, DefaultTokenDays)
		in.ExpiresAt = &at
	}
	switch at := *in.ExpiresAt; {
	case !at.After(now):
		c.Add("expires_at", "in_the_past", "The token would be expired at once; choose a later time.")
	case at.After(now.AddDate(MaxTokenYears, 0, 0)):
		c.Add("expires_at", "too_far", "A token lives at most 5 years.")
	}
	return c.Err()
}

// CheckShape is the part of Check that needs neither the clock nor the server's
// limits, so that a decoder can report it along with its own findings.
func (in *CreateToken) CheckShape() error {
	var c Checks
	in.checkShape(&c)
	return c.Err()
}

func (in *CreateToken) checkShape(c *Checks) {
	in.Name = c.text("name", in.Name, 1, MaxTokenName)
	checkScopes(c, in.Scopes)
}

func checkScopes(c *Checks, scopes []string) {
	if len(scopes) == 0 {
		c.Add("scopes", "required", "Choose at least one of: "+scopeNames()+".")
	}
	for i, s := range scopes {
		switch {
		case !AllScopes.Has(Scope(s)):
			c.Add("scopes", "unknown_scope", fmt.Sprintf("Scope number %d is not known; choose from: %s.", i+1, scopeNames()))
		case slices.Contains(scopes[:i], s):
			c.Add("scopes", "duplicate", fmt.Sprintf("Scope number %d is given twice.", i+1))
		}
	}
}

func scopeNames() string {
	names := make([]string, 0, len(AllScopes))
	for _, s := range AllScopes {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// ScopeSet is the scopes asked for as a set in its fixed order.
func (in CreateToken) ScopeSet() Scopes {
	set := make(Scopes, 0, len(in.Scopes))
	for _, s := range AllScopes {
		if slices.Contains(in.Scopes, string(s)) {
			set = append(set, s)
		}
	}
	return set
}

// ListTokens asks for the caller's tokens, newest first.
type ListTokens struct {
	Paging
}

// Check refuses what no list can be asked for.
func (in *ListTokens) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// GetToken asks for one token.
type GetToken struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the token."`
}

// RotateToken gives a token a new secret.
type RotateToken struct {
	ID             ID   `json:"id" in:"path" required:"true" doc:"Identifier of the token."`
	OverlapSeconds *int `json:"overlap_seconds,omitempty" min:"0" max:"86400" doc:"How long the old secret goes on working; 0 when left out."`
}

// Check refuses an overlap that is out of range.
func (in *RotateToken) Check() error {
	var c Checks
	if o := in.OverlapSeconds; o != nil && (*o < 0 || *o > MaxOverlapSeconds) {
		c.Add("overlap_seconds", "out_of_range", "Write a number of seconds from 0 to 86400.")
	}
	return c.Err()
}

// RevokeToken ends a token at once.
type RevokeToken struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the token."`
}
