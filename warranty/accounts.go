package warranty

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of accounts and sessions.
const (
	MaxUserName     = 120
	MinPassword     = 12
	MaxPassword     = 256
	SessionLifetime = 12 * time.Hour
	// WebSessionLifetime applies to sessions in a browser.
	WebSessionLifetime = 30 * 24 * time.Hour
	// SessionIdle is how long a session lasts without being used. Those of programs have ended before.
	SessionIdle = 7 * 24 * time.Hour
	// SeenInterval is how often the last use of a session is written at most.
	SeenInterval = 5 * time.Minute
	// CodeMailWindow is the rate-limit window of emailed codes. No code has a shorter
	// lifetime: a user who is denied another code still has a working one.
	CodeMailWindow     = 15 * time.Minute
	SignInCodeLifetime = 15 * time.Minute
	ResetLifetime      = 30 * time.Minute
	VerifyLifetime     = 24 * time.Hour
	// DeviceLifetime is how long a device is remembered after its last sign-in.
	DeviceLifetime = 400 * 24 * time.Hour
)

// User is a registered user.
type User struct {
	ID            ID        `json:"id" doc:"Identifier of the user."`
	Name          string    `json:"name" doc:"Name shown to others."`
	Email         string    `json:"email" format:"email" doc:"Email address."`
	EmailVerified bool      `json:"email_verified" doc:"Whether the email address is verified."`
	CreatedAt     time.Time `json:"created_at" doc:"When the account was created."`
}

// Session is a session with its secret.
type Session struct {
	AccessToken string    `json:"access_token" doc:"Secret to send as Authorization: Bearer."`
	ExpiresAt   time.Time `json:"expires_at" doc:"When the session expires."`
	User        User      `json:"user" doc:"The signed-in user."`
}

// Register is the input of auth.register.
type Register struct {
	Name     string `json:"name,omitzero" required:"true" max:"120" doc:"Name shown to others." example:"Ada Moreno"`
	Email    string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"Email address to sign in with." example:"ada@shop.example"`
	Password string `json:"password,omitzero" required:"true" min:"12" max:"256" format:"password" doc:"12 to 256 characters. Common passwords are rejected."`
}

// Check validates the input.
func (in *Register) Check() error {
	var c Checks
	in.Name = c.text("name", in.Name, 1, MaxUserName)
	in.Email = c.email("email", in.Email, true)
	c.password("password", in.Password, in.Name, in.Email)
	return c.Err()
}

// password validates a new password, which is never trimmed, truncated or echoed. own
// is the user's name and address, if known.
func (c *Checks) password(field, password string, own ...string) {
	switch n := utf8.RuneCountInString(password); {
	case n == 0:
		c.Add(field, "required", "This field is required.")
	case n < MinPassword:
		c.Add(field, "too_short",
			"Must be at least %d characters. A few unrelated words are easy to remember.", MinPassword)
	case n > MaxPassword:
		c.Add(field, "too_long", "Must be at most %d characters.", MaxPassword)
	case !utf8.ValidString(password) || strings.ContainsRune(password, 0):
		c.Add(field, "forbidden_character", "Must be valid UTF-8 without NUL characters.")
	case guessable(password, own...):
		c.Add(field, "well_known", "This password is easy to guess. Choose another one, such as four unrelated words.")
	}
}

// CheckPassword validates a new password of u.
func CheckPassword(field, password string, u User) error {
	var c Checks
	c.password(field, password, u.Name, u.Email)
	return c.Err()
}

// SignIn is the input of auth.sign_in: an address with a password or a code, or the second step of a sign-in.
type SignIn struct {
	Email        string `json:"email,omitzero" max:"254" format:"email" doc:"Email address of the account, unless you send flow." example:"ada@shop.example"`
	Password     string `json:"password,omitzero" max:"256" format:"password" doc:"Password of the account. Send either password or code."`
	Code         string `json:"code,omitzero" max:"100" doc:"A code from POST /api/auth/codes, instead of the password."`
	Flow         string `json:"flow,omitzero" max:"100" doc:"The flow of a second_factor_required response, with totp or recovery_code and nothing else."`
	TOTP         string `json:"totp,omitzero" max:"100" doc:"The six digits that the authenticator app shows."`
	RecoveryCode string `json:"recovery_code,omitzero" max:"100" doc:"One of the recovery codes, instead of totp."`
}

// Check validates the fields that are given.
func (in *SignIn) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, false)
	switch {
	case in.Password != "" && in.Code != "":
		c.Add("code", "not_both", "Send either password or code, not both.")
	case in.Password != "":
		c.oldPassword("password", in.Password)
	case in.Code != "":
		c.code(in.Code)
	}
	in.Flow = c.text("flow", in.Flow, 0, 100)
	in.TOTP = c.text("totp", in.TOTP, 0, 100)
	in.RecoveryCode = c.text("recovery_code", in.RecoveryCode, 0, 100)
	return c.Err()
}

// CheckWhole is Check, and also requires an address with a password or a code, or a flow with a second step.
func (in *SignIn) CheckWhole() error {
	var c Checks
	c.Merge(in.Check())
	if in.Flow == "" {
		in.checkFirstStep(&c)
	} else {
		in.checkSecondStep(&c)
	}
	return c.Err()
}

func (in *SignIn) checkFirstStep(c *Checks) {
	if in.Email == "" {
		c.Add("email", "required", "This field is required.")
	}
	if in.Password == "" && in.Code == "" {
		c.Add("password", "required", "Send either password or code.")
	}
	if in.TOTP != "" || in.RecoveryCode != "" {
		c.Add("flow", "required", "Send the flow that the first step returned.")
	}
}

func (in *SignIn) checkSecondStep(c *Checks) {
	if in.Email != "" || in.Password != "" || in.Code != "" {
		c.Add("flow", "not_both", "Send either flow or email with password or code, not both.")
	}
	switch {
	case in.TOTP != "" && in.RecoveryCode != "":
		c.Add("recovery_code", "not_both", "Send either totp or recovery_code, not both.")
	case in.TOTP == "" && in.RecoveryCode == "":
		c.Add("totp", "required", "Send either totp or recovery_code.")
	}
}

// RequestSignInCode is the input of auth.request_code.
type RequestSignInCode struct {
	Email string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"Email address of the account." example:"ada@shop.example"`
}

// Check validates the input.
func (in *RequestSignInCode) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	return c.Err()
}

// oldPassword validates an existing password. A longer one than allowed cannot be
// correct and is not hashed.
func (c *Checks) oldPassword(field, password string) {
	switch n := utf8.RuneCountInString(password); {
	case n == 0:
		c.Add(field, "required", "This field is required.")
	case n > MaxPassword:
		c.Add(field, "too_long", "Must be at most %d characters.", MaxPassword)
	}
}

// SignOut is the input of auth.sign_out.
type SignOut struct{}

// VerifyEmail is the input of auth.verify_email.
type VerifyEmail struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"The code from the email."`
}

// Check validates the input.
func (in *VerifyEmail) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}

func (c *Checks) code(code string) {
	c.text("code", code, 1, 100)
}

// SendVerification is the input of auth.send_verification.
type SendVerification struct{}

// RequestPasswordReset is the input of auth.request_password_reset.
type RequestPasswordReset struct {
	Email string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"Email address of the account." example:"ada@shop.example"`
}

// Check validates the input.
func (in *RequestPasswordReset) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	return c.Err()
}

// ResetPassword is the input of auth.reset_password.
type ResetPassword struct {
	Code     string `json:"code,omitzero" required:"true" max:"100" doc:"The code from the email."`
	Password string `json:"password,omitzero" required:"true" min:"12" max:"256" format:"password" doc:"The new password."`
}

// Check validates the input.
func (in *ResetPassword) Check() error {
	var c Checks
	c.code(in.Code)
	c.password("password", in.Password)
	return c.Err()
}

// ChangePassword is the input of auth.change_password.
type ChangePassword struct {
	CurrentPassword string `json:"current_password,omitzero" required:"true" max:"256" format:"password" doc:"The current password."`
	NewPassword     string `json:"new_password,omitzero" required:"true" min:"12" max:"256" format:"password" doc:"The new password."`
	RevokeTokens    *bool  `json:"revoke_tokens,omitempty" doc:"Whether to also revoke all integration tokens and calendar feeds. Defaults to false."`
}

// Check validates the input.
func (in *ChangePassword) Check() error {
	var c Checks
	c.oldPassword("current_password", in.CurrentPassword)
	c.password("new_password", in.NewPassword)
	return c.Err()
}

// GetAuthStatus is the input of auth.status.
type GetAuthStatus struct{}

// AuthStatus describes the credential of a request.
type AuthStatus struct {
	User               User       `json:"user" doc:"Person who is signed in, or who made the token."`
	Account            Acting     `json:"account" doc:"Account that the credential acts for: the person's own, or an organization's."`
	Credential         string     `json:"credential" enum:"token,session" doc:"Kind of credential: token or session."`
	Token              *TokenName `json:"token" doc:"The integration token; null for a session."`
	Scopes             Scopes     `json:"scopes" doc:"What the credential may do."`
	RateLimitPerMinute int        `json:"rate_limit_per_minute" doc:"Requests per minute that the credential may make."`
	ExpiresAt          time.Time  `json:"expires_at" doc:"When the credential expires."`
}

// Describe says which account a program was connected to, and what it may do there.
func (s AuthStatus) Describe(program string) string {
	name, kind := s.Account.Name, "organization, signed in as "+s.User.Email
	if s.Account.Kind == PersonKind {
		name, kind = s.User.Email, "personal account"
	}
	return fmt.Sprintf("Account: %s (%s). %s may use: %s.", name, kind, program, strings.ReplaceAll(s.Scopes.String(), " ", ", "))
}

// TokenName is the summary of a token in other records.
type TokenName struct {
	ID   ID     `json:"id" doc:"Identifier of the token."`
	Name string `json:"name" doc:"Label of the token."`
}

// GetAccount is the input of account.get.
type GetAccount struct{}

// Account is a user with their settings.
type Account struct {
	User
	Mails MailChoices `json:"mails" doc:"Which email notifications are on. Codes that the user requests are always sent."`
	// Null means automatic: the language and the time zone of the browser.
	Language *string `json:"language" doc:"Language of the web app and of emails: en or de. Null means that of the browser, and English for emails."`
	TimeZone *string `json:"time_zone" doc:"Time zone of the web app, as in the IANA time zone database. Null means that of the browser."`
}

// Locale returns the language and the time zone that the user chose.
func (a Account) Locale() (l Locale) {
	set(&l.Language, a.Language)
	set(&l.Zone, a.TimeZone)
	return l
}

// MailChoices are the email notifications that a user can turn off.
type MailChoices struct {
	WarrantyEnd bool `json:"warranty_end" doc:"Reminders before a warranty ends, or the weekly email."`
	Claims      bool `json:"claims" doc:"A claim is filed or changes status."`
	TokenExpiry bool `json:"token_expiry" doc:"Reminder 7 days before an integration token expires."`
}

// UpdateAccount is the input of account.update. Fields that are nil stay as they are.
type UpdateAccount struct {
	Name            *string `json:"name,omitempty" max:"120" doc:"Name shown to others."`
	MailWarrantyEnd *bool   `json:"mail_warranty_end,omitempty" doc:"Whether to send reminders before a warranty ends, or the weekly email."`
	MailClaims      *bool   `json:"mail_claims,omitempty" doc:"Whether to send an email when a claim is filed or changes status."`
	MailTokenExpiry *bool   `json:"mail_token_expiry,omitempty" doc:"Whether to send a reminder 7 days before an integration token expires."`
	Language        *string `json:"language,omitempty" max:"8" doc:"Language of the web app and of emails: en or de. Empty means that of the browser, and English for emails."`
	TimeZone        *string `json:"time_zone,omitempty" max:"64" doc:"Time zone of the web app, as in the IANA time zone database. Empty means that of the browser."`
}

// Check validates the input.
func (in *UpdateAccount) Check() error {
	var c Checks
	if in.Name != nil {
		*in.Name = c.text("name", *in.Name, 1, MaxUserName)
	}
	if in.Language != nil && *in.Language != "" && !KnownLanguage(*in.Language) {
		c.Add("language", "invalid", "Must be one of: %s.", strings.Join(Languages(), ", "))
	}
	if in.TimeZone != nil {
		if *in.TimeZone = strings.TrimSpace(*in.TimeZone); *in.TimeZone != "" && CheckZone(*in.TimeZone) != nil {
			c.Add("time_zone", "invalid", "Must be a time zone such as Europe/Berlin.")
		}
	}
	return c.Err()
}

// Apply returns the updated account.
func (in UpdateAccount) Apply(a Account) Account {
	set(&a.Name, in.Name)
	set(&a.Mails.WarrantyEnd, in.MailWarrantyEnd)
	set(&a.Mails.Claims, in.MailClaims)
	set(&a.Mails.TokenExpiry, in.MailTokenExpiry)
	for _, choice := range []struct{ of, to **string }{{&a.Language, &in.Language}, {&a.TimeZone, &in.TimeZone}} {
		if *choice.to != nil {
			if *choice.of = *choice.to; **choice.of == "" {
				*choice.of = nil
			}
		}
	}
	return a
}
