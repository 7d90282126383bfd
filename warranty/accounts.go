package warranty

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of accounts and sessions.
const (
	MaxUserName     = 120
	MinPassword     = 12
	MaxPassword     = 256
	SessionLifetime = 12 * time.Hour
	// WebSessionLifetime is for people, who do not sign in every morning.
	WebSessionLifetime = 30 * 24 * time.Hour
	// ResetLifetime and SignInCodeLifetime are at least as long as the window in which
	// codes are counted: whenever a further one is refused, one that works has been mailed.
	ResetLifetime      = time.Hour
	SignInCodeLifetime = time.Hour
	VerifyLifetime     = 24 * time.Hour
	// DeviceLifetime is how long a device stays known after its last sign-in.
	DeviceLifetime = 400 * 24 * time.Hour
)

// User is a registered person, as they see themselves.
type User struct {
	ID            ID        `json:"id" doc:"Identifier of the user."`
	Name          string    `json:"name" doc:"Name shown to others."`
	Email         string    `json:"email" format:"email" doc:"E-mail address."`
	EmailVerified bool      `json:"email_verified" doc:"Whether the address was shown to be theirs."`
	CreatedAt     time.Time `json:"created_at" doc:"When the account was made."`
}

// Session is a signed-in session with its secret.
type Session struct {
	AccessToken string    `json:"access_token" doc:"Secret to send as Authorization: Bearer."`
	ExpiresAt   time.Time `json:"expires_at" doc:"When the session ends."`
	User        User      `json:"user" doc:"Who is signed in."`
}

// Register makes an account.
type Register struct {
	Name     string `json:"name,omitzero" required:"true" max:"120" doc:"Name shown to others." example:"Ada Moreno"`
	Email    string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"E-mail address to sign in with." example:"ada@shop.example"`
	Password string `json:"password,omitzero" required:"true" min:"12" max:"256" format:"password" doc:"12 to 256 characters; any will do, but not a well-known one."`
}

// Check refuses what no account can be made of.
func (in *Register) Check() error {
	var c Checks
	in.Name = c.text("name", in.Name, 1, MaxUserName)
	in.Email = c.email("email", in.Email, true)
	c.password("password", in.Password, in.Name, in.Email)
	return c.Err()
}

// password checks a new password. It is never trimmed, truncated or echoed. own are
// the person's name and address, as far as they are known.
func (c *Checks) password(field, password string, own ...string) {
	switch n := utf8.RuneCountInString(password); {
	case n == 0:
		c.Add(field, "required", "This field is required.")
	case n < MinPassword:
		c.Add(field, "too_short", fmt.Sprintf("At least %d characters are needed; a few words in a row are easy to remember.", MinPassword))
	case n > MaxPassword:
		c.Add(field, "too_long", fmt.Sprintf("At most %d characters are allowed.", MaxPassword))
	case !utf8.ValidString(password) || strings.ContainsRune(password, 0):
		c.Add(field, "forbidden_character", "A password is text without NUL characters.")
	case guessable(password, own...):
		c.Add(field, "well_known", "This password is easy to guess. Choose another, such as four unrelated words.")
	}
}

// CheckPassword checks a new password against the name and the address of the
// account that it is for.
func CheckPassword(field, password string, u User) error {
	var c Checks
	c.password(field, password, u.Name, u.Email)
	return c.Err()
}

// SignIn opens a session, by a password or by a mailed code.
type SignIn struct {
	Email    string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"E-mail address of the account." example:"ada@shop.example"`
	Password string `json:"password,omitzero" max:"256" format:"password" doc:"Password of the account. Send either password or code."`
	Code     string `json:"code,omitzero" max:"100" doc:"A code that POST /api/auth/codes mailed, instead of the password."`
}

// Check refuses what no account can have.
func (in *SignIn) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	switch {
	case in.Password != "" && in.Code != "":
		c.Add("code", "not_both", "Send either password or code.")
	case in.Password != "":
		c.oldPassword("password", in.Password)
	case in.Code != "":
		c.code(in.Code)
	}
	return c.Err()
}

// CheckWhole is Check, and demands one of password and code.
func (in *SignIn) CheckWhole() error {
	var c Checks
	c.Merge(in.Check())
	if in.Password == "" && in.Code == "" {
		c.Add("password", "required", "Send password or code.")
	}
	return c.Err()
}

// RequestSignInCode mails a code to sign in with, if the address has an account.
type RequestSignInCode struct {
	Email string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"E-mail address of the account." example:"ada@shop.example"`
}

// Check refuses what is not an address.
func (in *RequestSignInCode) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	return c.Err()
}

// oldPassword checks a password that is only compared: one that is too long is
// no account's, and is not worth hashing.
func (c *Checks) oldPassword(field, password string) {
	switch n := utf8.RuneCountInString(password); {
	case n == 0:
		c.Add(field, "required", "This field is required.")
	case n > MaxPassword:
		c.Add(field, "too_long", fmt.Sprintf("At most %d characters are allowed.", MaxPassword))
	}
}

// SignOut ends the session that asks.
type SignOut struct{}

// VerifyEmail shows by a mailed code that the caller's address is theirs.
type VerifyEmail struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"The code from the mail."`
}

// Check refuses an empty code.
func (in *VerifyEmail) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}

func (c *Checks) code(code string) {
	c.text("code", code, 1, 100)
}

// SendVerification mails a new code to the address of who asks.
type SendVerification struct{}

// RequestPasswordReset mails a code to the address, if it has an account.
type RequestPasswordReset struct {
	Email string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"E-mail address of the account." example:"ada@shop.example"`
}

// Check refuses what is no address.
func (in *RequestPasswordReset) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	return c.Err()
}

// ResetPassword sets a new password by a mailed code and ends every session, token
// and calendar feed.
type ResetPassword struct {
	Code     string `json:"code,omitzero" required:"true" max:"100" doc:"The code from the mail."`
	Password string `json:"password,omitzero" required:"true" min:"12" max:"256" format:"password" doc:"The new password."`
}

// Check refuses an empty code and a password that no account can have.
func (in *ResetPassword) Check() error {
	var c Checks
	c.code(in.Code)
	c.password("password", in.Password)
	return c.Err()
}

// ChangePassword sets a new password and ends every other session.
type ChangePassword struct {
	CurrentPassword string `json:"current_password,omitzero" required:"true" max:"256" format:"password" doc:"The current password."`
	NewPassword     string `json:"new_password,omitzero" required:"true" min:"12" max:"256" format:"password" doc:"The new password."`
	RevokeTokens    *bool  `json:"revoke_tokens,omitempty" doc:"Also revoke every integration token and calendar feed; false by default."`
}

// Check refuses a password that no account can have.
func (in *ChangePassword) Check() error {
	var c Checks
	c.oldPassword("current_password", in.CurrentPassword)
	c.password("new_password", in.NewPassword)
	return c.Err()
}

// GetAuthStatus asks who the credential is.
type GetAuthStatus struct{}

// AuthStatus says who a credential resolves to and what it may do.
type AuthStatus struct {
	User               User       `json:"user" doc:"Whose credential it is."`
	Credential         string     `json:"credential" enum:"token,session" doc:"token or session."`
	Token              *TokenName `json:"token" doc:"The integration token in short; null for a session."`
	Scopes             Scopes     `json:"scopes" doc:"What the credential may do."`
	RateLimitPerMinute int        `json:"rate_limit_per_minute" doc:"Requests a minute that it may make."`
	ExpiresAt          time.Time  `json:"expires_at" doc:"When it stops working."`
}

// TokenName is a token in short.
type TokenName struct {
	ID   ID     `json:"id" doc:"Identifier of the token."`
	Name string `json:"name" doc:"Label of the token."`
}

// GetAccount asks for the caller's own account.
type GetAccount struct{}

// Account is what a person keeps about themselves.
type Account struct {
	User
	Mails MailChoices `json:"mails" doc:"Which mails they want; codes that they ask for always come."`
}

// MailChoices are the mails that a person may switch off.
type MailChoices struct {
	WarrantyEnd bool `json:"warranty_end" doc:"A warranty ends in 30 and in 7 days."`
	Claims      bool `json:"claims" doc:"A claim is filed or moves."`
	TokenExpiry bool `json:"token_expiry" doc:"An integration token expires in 7 days."`
}

// UpdateAccount changes what is given and leaves the rest.
type UpdateAccount struct {
	Name            *string `json:"name,omitempty" max:"120" doc:"Name shown to others."`
	MailWarrantyEnd *bool   `json:"mail_warranty_end,omitempty" doc:"Whether to be told that a warranty ends in 30 and in 7 days."`
	MailClaims      *bool   `json:"mail_claims,omitempty" doc:"Whether to be told that a claim is filed or moves."`
	MailTokenExpiry *bool   `json:"mail_token_expiry,omitempty" doc:"Whether to be told that an integration token expires in 7 days."`
}

// Check refuses a name that no account can have.
func (in *UpdateAccount) Check() error {
	var c Checks
	if in.Name != nil {
		*in.Name = c.text("name", *in.Name, 1, MaxUserName)
	}
	return c.Err()
}

// Apply makes the change.
func (in UpdateAccount) Apply(a Account) Account {
	set(&a.Name, in.Name)
	set(&a.Mails.WarrantyEnd, in.MailWarrantyEnd)
	set(&a.Mails.Claims, in.MailClaims)
	set(&a.Mails.TokenExpiry, in.MailTokenExpiry)
	return a
}
