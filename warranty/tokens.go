package warranty

import (
	"slices"
	"strings"
	"time"
)

// Limits of integration tokens.
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
	RateLimitPerMinute int         `json:"rate_limit_per_minute" doc:"Requests per minute that the token may make."`
	Status             TokenStatus `json:"status" doc:"Whether the token works."`
	ExpiresAt          time.Time   `json:"expires_at" doc:"When the token stops working."`
	LastUsedAt         *time.Time  `json:"last_used_at" doc:"When the token was last used. Updated every few seconds."`
	RevokedAt          *time.Time  `json:"revoked_at" doc:"When the token was revoked."`
	CreatedAt          time.Time   `json:"created_at" doc:"When the token was created."`
	CreatedBy          string      `json:"created_by" doc:"Name of the person who created the token."`
	Usage              []DayUsage  `json:"usage" doc:"Requests per day over the last 30 days, oldest first. Days without requests are omitted."`
}

// RecordID returns the ID used in the Location header of a created record.
func (t Token) RecordID() ID { return t.ID }

// DayUsage counts a token's requests on one day.
type DayUsage struct {
	Date     Date  `json:"date" doc:"The UTC day."`
	Requests int64 `json:"requests" doc:"Requests on that day."`
}

// Show sets Status as of now.
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

// TokenStatus is whether a token is active, expired or revoked.
type TokenStatus string

// The statuses of a token.
const (
	TokenIsActive  TokenStatus = "active"
	TokenIsExpired TokenStatus = "expired"
	TokenIsRevoked TokenStatus = "revoked"
)

var tokenStatusNames = namesOf(TokenIsActive, TokenIsExpired, TokenIsRevoked)

// Values lists the known token statuses.
func (TokenStatus) Values() []string { return tokenStatusNames }

// String returns the status's name.
func (s TokenStatus) String() string { return string(s) }

// NewToken is a token with its secret, which is returned only on creation and
// rotation.
type NewToken struct {
	Token
	Secret string `json:"secret" doc:"The secret to send as x-api-key. It is returned only once."`
}

// CreateToken is the input of tokens.create.
type CreateToken struct {
	Name               string     `json:"name,omitzero" required:"true" max:"80" doc:"Label of the token, unique among your active tokens." example:"ERP"`
	Scopes             []string   `json:"scopes,omitempty" required:"true" enum:"warranties:read,warranties:write,claims:read,documents:read" doc:"What the token may do." example:"warranties:read"`
	RateLimitPerMinute *int       `json:"rate_limit_per_minute,omitempty" min:"1" doc:"Requests per minute that the token may make. Defaults to 100." example:"100"`
	ExpiresAt          *time.Time `json:"expires_at,omitempty" doc:"When the token expires. Defaults to 365 days from now; at most 5 years."`
}

// Check validates the input and sets defaults.
func (in *CreateToken) Check(now time.Time, maxRate int) error {
	var c Checks
	in.checkShape(&c)
	if in.RateLimitPerMinute == nil {
		rate := min(DefaultTokenRate, maxRate)
		in.RateLimitPerMinute = &rate
	}
	if r := *in.RateLimitPerMinute; r < 1 || r > maxRate {
		c.Add("rate_limit_per_minute", "out_of_range", "Must be between 1 and %d.", maxRate)
	}
	if in.ExpiresAt == nil {
		at := now.AddDate(0, 0, DefaultTokenDays)
		in.ExpiresAt = &at
	}
	switch at := *in.ExpiresAt; {
	case !at.After(now):
		c.Add("expires_at", "in_the_past", "Must be in the future.")
	case at.After(now.AddDate(MaxTokenYears, 0, 0)):
		c.Add("expires_at", "too_far", "Must be at most 5 years from now.")
	}
	return c.Err()
}

// CheckShape is the part of Check that needs neither the clock nor the server's
// limits. A decoder uses it to report these errors together with its own.
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
		c.Add("scopes", "required", "Choose at least one scope: %s.", scopeNames())
	}
	for i, s := range scopes {
		switch {
		case !AllScopes.Has(Scope(s)):
			c.Add("scopes", "unknown_scope", "Scope %d is unknown. Choose from: %s.", i+1, scopeNames())
		case slices.Contains(scopes[:i], s):
			c.Add("scopes", "duplicate", "Scope %d is a duplicate. Remove it.", i+1)
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

// ScopeSet returns the requested scopes in their fixed order.
func (in CreateToken) ScopeSet() Scopes {
	set := make(Scopes, 0, len(in.Scopes))
	for _, s := range AllScopes {
		if slices.Contains(in.Scopes, string(s)) {
			set = append(set, s)
		}
	}
	return set
}

// ListTokens is the input of tokens.list.
type ListTokens struct {
	Paging
}

// Check validates the input.
func (in *ListTokens) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// GetToken is the input of tokens.get.
type GetToken struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the token."`
}

// RotateToken is the input of tokens.rotate.
type RotateToken struct {
	ID             ID   `json:"id" in:"path" required:"true" doc:"Identifier of the token."`
	OverlapSeconds *int `json:"overlap_seconds,omitempty" min:"0" max:"86400" doc:"Seconds for which the old secret keeps working. Defaults to 0."`
}

// Check validates the input.
func (in *RotateToken) Check() error {
	var c Checks
	if o := in.OverlapSeconds; o != nil && (*o < 0 || *o > MaxOverlapSeconds) {
		c.Add("overlap_seconds", "out_of_range", "Must be between 0 and 86400 seconds.")
	}
	return c.Err()
}

// RevokeToken is the input of tokens.revoke.
type RevokeToken struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the token."`
}
