package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations with which the holder of an account changes its address, deletes it, or stops someone else.
var (
	ChangeEmail = define[warranty.ChangeEmail, warranty.None](Spec{
		Name:   "account.change_email",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/account/email",
		Auth:   SessionOnly,
		Summary: "Start to change the address of your account: email a code to the new one. The response does not reveal " +
			"whether it has an account. The present address is told.",
		Status: http.StatusAccepted,
		Errors: []warranty.Code{warranty.ConfirmationRequired, warranty.RateLimited},
	})
	ConfirmEmail = define[warranty.ConfirmEmail, warranty.Session](Spec{
		Name:   "account.confirm_email",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/account/email/confirm",
		Auth:   SessionOnly,
		Summary: "Change the address of your account with the emailed code, in the session that asked for it. All sessions " +
			"end, and a new one is returned.",
		Errors: []warranty.Code{warranty.AlreadyExists},
	})
	DeleteAccount = define[warranty.DeleteAccount, warranty.DeletedAccount](Spec{
		Name:   "account.delete",
		Method: http.MethodDelete,
		Base:   Host,
		Path:   "/account",
		Auth:   SessionOnly,
		Summary: "Delete your account. Everything ends at once; 30 days later it is erased. Until then, signing in offers to " +
			"restore it.",
		Errors: []warranty.Code{warranty.ConfirmationRequired, warranty.LastAdmin},
	})
	RestoreAccount = define[warranty.RestoreAccount, warranty.Session](Spec{
		Name:    "auth.restore",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/auth/restore",
		Auth:    Public,
		Summary: "Take back the deletion of your account and sign in, with the flow that signing in answered.",
		Errors:  []warranty.Code{warranty.InvalidCredential, warranty.InvalidTransition},
	})
	NotMe = define[warranty.NotMe, warranty.None](Spec{
		Name:        "auth.not_me",
		Method:      http.MethodPost,
		Base:        Host,
		Path:        "/auth/not-me",
		Auth:        Public,
		Destructive: true,
		Summary: "Say that it was not you, with the code from an email about your account. All sessions, tokens and codes " +
			"end, the password no longer works, and the account gets back the address that the email was sent to.",
	})
)

// holderOperations are the rows of this file in the operation table.
var holderOperations = []*Spec{
	ChangeEmail.Spec,
	ConfirmEmail.Spec,
	DeleteAccount.Spec,
	RestoreAccount.Spec,
	NotMe.Spec,
}
