package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"
)

// Logout is a back-channel logout token of a provider. The caller accepts its ID once for the provider, and can forget it
// after Until.
type Logout struct {
	Subject   string // empty: whoever has the session
	SessionID string // empty: all sessions of the subject
	ID        string
	Until     time.Time
}

const (
	logoutType  = "logout+jwt"
	logoutEvent = "http://schemas.openid.net/event/backchannel-logout"
	// maxLogoutLife bounds how long ids of logout tokens are kept.
	maxLogoutLife = 24 * time.Hour
)

// Logout verifies a logout token. The error is an ErrRejected or an ErrUnreachable.
func (p *Provider) Logout(ctx context.Context, raw string, now time.Time) (Logout, error) {
	if kind, err := tokenType(raw); err != nil || !strings.EqualFold(kind, logoutType) {
		return Logout{}, reject("not a logout token")
	}
	token, err := p.verify(ctx, raw, now)
	if err != nil {
		return Logout{}, err
	}
	var c struct {
		ID        string                     `json:"jti"`
		SessionID string                     `json:"sid"`
		Events    map[string]json.RawMessage `json:"events"`
	}
	var all map[string]json.RawMessage
	if token.Claims(&c) != nil || token.Claims(&all) != nil {
		return Logout{}, reject("the claims of the logout token have wrong types")
	}
	_, nonce := all["nonce"]
	var event map[string]json.RawMessage
	switch {
	case json.Unmarshal(c.Events[logoutEvent], &event) != nil || event == nil:
		return Logout{}, reject("the token has no logout event")
	case nonce:
		return Logout{}, reject("a logout token has no nonce")
	case c.ID == "" || len(c.ID) > maxClaim || len(token.Subject) > maxClaim || len(c.SessionID) > maxClaim:
		return Logout{}, reject("an id of the logout token is missing or too long")
	case token.Subject == "" && c.SessionID == "":
		return Logout{}, reject("the logout token names nobody")
	case token.Expiry.After(now.Add(maxLogoutLife)):
		return Logout{}, reject("the logout token is valid for too long")
	}
	return Logout{Subject: token.Subject, SessionID: c.SessionID, ID: c.ID, Until: token.Expiry}, nil
}

// tokenType returns the typ of the header of a token that is not verified yet.
func tokenType(raw string) (string, error) {
	head, _, ok := strings.Cut(raw, ".")
	if !ok || len(raw) > maxToken {
		return "", errors.New("not a token")
	}
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return "", err
	}
	var h struct {
		Type string `json:"typ"`
	}
	err = json.Unmarshal(text, &h)
	return h.Type, err
}

// jsonTime is a time in seconds.
type jsonTime time.Time

// UnmarshalJSON implements json.Unmarshaler.
func (t *jsonTime) UnmarshalJSON(text []byte) error {
	var seconds float64
	if err := json.Unmarshal(text, &seconds); err != nil {
		return err
	}
	if math.Abs(seconds) > 1e12 {
		return errors.New("not a time")
	}
	*t = jsonTime(time.Unix(int64(seconds), 0))
	return nil
}
