package warranty

import "time"

// SignInMethod is how a person proved who they are when a session began.
type SignInMethod string

// The methods. They are stored by position, so new ones must go at the end.
const (
	MethodPassword     SignInMethod = "password"
	MethodEmailedCode  SignInMethod = "emailed_code"
	MethodOfferCode    SignInMethod = "offer_code"   // of an emailed hand-over or transfer
	MethodRegistration SignInMethod = "registration" // the account was just made
	MethodSetUp        SignInMethod = "set_up"       // the link of the operator
	MethodPasskey      SignInMethod = "passkey"
	MethodProvider     SignInMethod = "provider"
)

var methodNames = namesOf(MethodPassword, MethodEmailedCode, MethodOfferCode, MethodRegistration, MethodSetUp,
	MethodPasskey, MethodProvider)

// Values lists the known methods.
func (SignInMethod) Values() []string { return methodNames }

// SecondFactor is what completes a sign-in of a person with two-step sign-in.
type SecondFactor string

// The second factors. They are stored by position, so new ones must go at the end.
const (
	SecondPasskey      SecondFactor = "passkey"
	SecondTOTP         SecondFactor = "totp"
	SecondRecoveryCode SecondFactor = "recovery_code"
)

var secondFactorNames = namesOf(SecondPasskey, SecondTOTP, SecondRecoveryCode)

// Values lists the known second factors.
func (SecondFactor) Values() []string { return secondFactorNames }

// Limits of sign-ins and sessions.
const (
	// FlowLifetime is how long a sign-in waits for its second step, or for the answer of a provider.
	FlowLifetime = 10 * time.Minute
	// ConfirmationLifetime is how long a session stays confirmed.
	ConfirmationLifetime = 15 * time.Minute
	// FlowTries is the number of codes that can be entered for a sign-in.
	FlowTries = 5
)

// SecondStep is what completes a sign-in whose first step was right.
type SecondStep struct {
	Flow      string // the secret that continues the sign-in
	Methods   []SecondFactor
	ExpiresAt time.Time
}

// WrongCode refuses a code that a person entered in a field.
func WrongCode(field, format string, args ...any) *Error {
	e := Refuse(InvalidCode, "The code is wrong.")
	var c Checks
	c.Add(field, "invalid_code", format, args...)
	e.Fields = c.Fields
	return e
}

// MaxSessions is the number of sessions that a person can have. At the next sign-in the longest unused one ends.
const MaxSessions = 50

// AccountSession is a session as its person sees it, without its secret.
type AccountSession struct {
	ID         ID            `json:"id" doc:"Identifier of the session."`
	Current    bool          `json:"current" doc:"Whether it is the session of this request."`
	Method     *SignInMethod `json:"method" doc:"How you signed in, unless it was before version 1.1."`
	Second     *SecondFactor `json:"second" doc:"The second step of the sign-in, if there was one."`
	Program    string        `json:"program" doc:"The browser or program, if we know it, or empty."`
	System     string        `json:"system" doc:"The operating system, if we know it, or empty."`
	Network    string        `json:"network" doc:"The network address of the sign-in without its last part."`
	CreatedAt  time.Time     `json:"created_at" doc:"When you signed in."`
	LastSeenAt time.Time     `json:"last_seen_at" doc:"When the session was last used. Updated at most every 5 minutes."`
	ExpiresAt  time.Time     `json:"expires_at" doc:"When the session ends. It ends earlier if it is not used for 7 days."`
}

// AccountSessions is the response of sessions.list.
type AccountSessions struct {
	Sessions []AccountSession `json:"sessions" doc:"The sessions, the most recently used first."`
}

// ListSessions is the input of sessions.list.
type ListSessions struct{}

// EndSession is the input of sessions.end.
type EndSession struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the session."`
}

// EndOtherSessions is the input of sessions.end_others.
type EndOtherSessions struct {
	Others bool `json:"others,omitzero" in:"query" doc:"Must be true."`
}

// ConfirmSession is the input of auth.confirm.
type ConfirmSession struct {
	Password     string `json:"password,omitzero" max:"256" format:"password" doc:"Your password."`
	Code         string `json:"code,omitzero" max:"100" doc:"For an account without a password: a code from POST /api/auth/codes for your address."`
	TOTP         string `json:"totp,omitzero" max:"100" doc:"With two-step sign-in: the six digits that the authenticator app shows."`
	RecoveryCode string `json:"recovery_code,omitzero" max:"100" doc:"One of the recovery codes, instead of totp."`
}

// Check validates the input.
func (in *ConfirmSession) Check() error {
	var c Checks
	in.TOTP = c.text("totp", in.TOTP, 0, 100)
	in.RecoveryCode = c.text("recovery_code", in.RecoveryCode, 0, 100)
	switch {
	case in.Password != "" && in.Code != "":
		c.Add("code", "not_both", "Send either password or code, not both.")
	case in.Password != "":
		c.oldPassword("password", in.Password)
	case in.Code != "":
		c.code(in.Code)
	}
	if in.TOTP != "" && in.RecoveryCode != "" {
		c.Add("recovery_code", "not_both", "Send either totp or recovery_code, not both.")
	}
	return c.Err()
}
