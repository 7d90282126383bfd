package warranty

import "time"

// TOTPPendingLifetime is how long the first code of an authenticator app is waited for.
const TOTPPendingLifetime = time.Hour

// Security is what a person has beside the first step of a sign-in.
type Security struct {
	TwoStep           bool       `json:"two_step" doc:"Whether signing in takes a second step."`
	TwoStepSince      *time.Time `json:"two_step_since" doc:"When two-step sign-in was turned on; null if it is off."`
	TwoStepRequired   bool       `json:"two_step_required" doc:"Whether this service requires two-step sign-in of you."`
	TOTP              *TOTP      `json:"totp" doc:"Your authenticator app; null if you have none."`
	TOTPAvailable     bool       `json:"totp_available" doc:"Whether this service can check the codes of authenticator apps."`
	Passkeys          int        `json:"passkeys" doc:"Number of your passkeys."`
	RecoveryCodesLeft int        `json:"recovery_codes_left" doc:"Number of recovery codes that you have not used."`
}

// TOTP is an authenticator app whose first code was right.
type TOTP struct {
	AddedAt time.Time `json:"added_at" doc:"When the app was added."`
}

// SecurityChange is the response of security.update.
type SecurityChange struct {
	Security
	Codes []string `json:"codes" doc:"Ten recovery codes if two-step sign-in was just turned on. They are not shown again."`
}

// NewTOTP is the secret of an authenticator app that is being added.
type NewTOTP struct {
	Secret string `json:"secret" doc:"The secret in base 32, to type into the app. It is not shown again."`
	URL    string `json:"otpauth_url" doc:"The address that apps read from a QR code."`
}

// RecoveryCodes is the response of recovery_codes.create.
type RecoveryCodes struct {
	Codes []string `json:"codes" doc:"Ten recovery codes. Each works once, and they are not shown again."`
}

// GetSecurity is the input of security.get.
type GetSecurity struct{}

// UpdateSecurity is the input of security.update.
type UpdateSecurity struct {
	TwoStep      *bool `json:"two_step,omitempty" required:"true" doc:"Whether signing in takes a second step. Turning it off removes the authenticator app and the recovery codes."`
	RevokeTokens *bool `json:"revoke_tokens,omitempty" doc:"Whether to also revoke all integration tokens, connected apps and calendar feeds. Defaults to false."`
}

// Check validates the input.
func (in *UpdateSecurity) Check() error {
	var c Checks
	if in.TwoStep == nil {
		c.Add("two_step", "required", "This field is required.")
	}
	return c.Err()
}

// AddTOTP is the input of totp.add.
type AddTOTP struct{}

// ConfirmTOTP is the input of totp.confirm.
type ConfirmTOTP struct {
	Code      string `json:"code,omitzero" required:"true" max:"100" doc:"The six digits that the app shows."`
	EndOthers *bool  `json:"end_others,omitempty" doc:"Whether to also end all your other sessions. Defaults to false."`
}

// Check validates the input.
func (in *ConfirmTOTP) Check() error {
	var c Checks
	in.Code = c.text("code", in.Code, 1, 100)
	return c.Err()
}

// RemoveTOTP is the input of totp.remove.
type RemoveTOTP struct {
	RevokeTokens bool `json:"revoke_tokens,omitzero" in:"query" doc:"Whether to also revoke all integration tokens, connected apps and calendar feeds."`
}

// CreateRecoveryCodes is the input of recovery_codes.create.
type CreateRecoveryCodes struct{}
