package warranty

import "time"

// What the holder of an account does with it: another address, "This was not me", deleting it and taking that back.

// NotMeLifetime is how long the code in a security email works with which someone says that it was not them.
const NotMeLifetime = 7 * 24 * time.Hour

// ChangeEmail is the input of account.change_email.
type ChangeEmail struct {
	Email string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"The new address. We send a code to it." example:"ada@home.example"`
}

// Check validates the input.
func (in *ChangeEmail) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	return c.Err()
}

// CheckFor validates the input for an account with an address.
func (in *ChangeEmail) CheckFor(email string) error {
	var c Checks
	c.Merge(in.Check())
	if in.Email != "" && in.Email == email {
		c.Add("email", "same_address", "This is the address of your account already.")
	}
	return c.Err()
}

// ConfirmEmail is the input of account.confirm_email.
type ConfirmEmail struct {
	Code         string `json:"code,omitzero" required:"true" max:"100" doc:"The code from the email to the new address."`
	RevokeTokens *bool  `json:"revoke_tokens,omitempty" doc:"Whether to also revoke all integration tokens and calendar feeds. Defaults to false."`
}

// Check validates the input.
func (in *ConfirmEmail) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}

// NotMe is the input of auth.not_me.
type NotMe struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"The code from the email."`
}

// Check validates the input.
func (in *NotMe) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}

// DeleteAccount is the input of account.delete.
type DeleteAccount struct {
	Email string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"The address of the account, typed again." example:"ada@shop.example"`
}

// Check validates the input.
func (in *DeleteAccount) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	return c.Err()
}

// CheckFor validates the input for an account with an address.
func (in *DeleteAccount) CheckFor(email string) error {
	var c Checks
	c.Merge(in.Check())
	if in.Email != "" && in.Email != email {
		c.Add("email", "other_address", "This is not the address of your account.")
	}
	return c.Err()
}

// DeletedAccount is the response of account.delete.
type DeletedAccount struct {
	ErasedAt time.Time `json:"erased_at" doc:"When the account is erased. Until then you can sign in and restore it."`
}

// RestoreAccount is the input of auth.restore.
type RestoreAccount struct {
	Flow string `json:"flow,omitzero" required:"true" max:"200" doc:"The flow from the response account_deleted to a sign-in."`
}

// Check validates the input.
func (in *RestoreAccount) Check() error {
	var c Checks
	in.Flow = c.text("flow", in.Flow, 1, 200)
	return c.Err()
}
