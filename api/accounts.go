package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on accounts and sessions.
var (
	Register = define[warranty.Register, warranty.Session](Spec{
		Name: "auth.register", Method: http.MethodPost, Base: Host, Path: "/auth/register", Auth: Public,
		Summary: "Create an account and sign in; a code to verify the address is mailed.",
		Status:  http.StatusCreated, Errors: []warranty.Code{warranty.AlreadyExists, warranty.RoleNotAllowed},
	})
	SignIn = define[warranty.SignIn, warranty.Session](Spec{
		Name: "auth.sign_in", Method: http.MethodPost, Base: Host, Path: "/auth/sessions", Auth: Public,
		Summary: "Sign in with a password or a mailed code.", Status: http.StatusCreated, Errors: []warranty.Code{warranty.InvalidCredential, warranty.RateLimited},
	})
	RequestSignInCode = define[warranty.RequestSignInCode, warranty.None](Spec{
		Name: "auth.request_code", Method: http.MethodPost, Base: Host, Path: "/auth/codes", Auth: Public,
		Summary: "Mail a code to sign in with, if the address has an account; the answer never tells.", Status: http.StatusAccepted,
		Errors: []warranty.Code{warranty.RateLimited},
	})
	SignOut = define[warranty.SignOut, warranty.None](Spec{
		Name: "auth.sign_out", Method: http.MethodDelete, Base: Host, Path: "/auth/sessions/current", Auth: SessionOnly,
		Summary: "End the session that asks.",
	})
	VerifyEmail = define[warranty.VerifyEmail, warranty.User](Spec{
		Name: "auth.verify_email", Method: http.MethodPost, Base: Host, Path: "/auth/verify-email", Auth: SessionOnly,
		Summary: "Verify your e-mail address by the mailed code; records that name it as seller become visible.",
	})
	SendVerification = define[warranty.SendVerification, warranty.None](Spec{
		Name: "auth.send_verification", Method: http.MethodPost, Base: Host, Path: "/auth/verify-email/resend", Auth: SessionOnly,
		Summary: "Mail a new verification code to your address.", Status: http.StatusAccepted,
	})
	RequestPasswordReset = define[warranty.RequestPasswordReset, warranty.None](Spec{
		Name: "auth.request_password_reset", Method: http.MethodPost, Base: Host, Path: "/auth/password-reset", Auth: Public,
		Summary: "Mail a code that sets a new password, if the address has an account; the answer never tells.", Status: http.StatusAccepted,
		Errors: []warranty.Code{warranty.RateLimited},
	})
	ResetPassword = define[warranty.ResetPassword, warranty.None](Spec{
		Name: "auth.reset_password", Method: http.MethodPost, Base: Host, Path: "/auth/password-reset/confirm", Auth: Public,
		Summary: "Set a new password by the mailed code; every session, token and calendar feed of the account ends.",
	})
	ChangePassword = define[warranty.ChangePassword, warranty.Session](Spec{
		Name: "auth.change_password", Method: http.MethodPost, Base: Host, Path: "/auth/password", Auth: SessionOnly,
		Summary: "Change your password; every session ends and a new one begins.", Errors: []warranty.Code{warranty.InvalidCredential},
	})
	GetAuthStatus = define[warranty.GetAuthStatus, warranty.AuthStatus](Spec{
		Name: "auth.status", Method: http.MethodGet, Base: V1, Path: "/auth/status", Auth: Credential,
		Summary: "Tell who the credential is and what it may do.",
	})
	GetAccount = define[warranty.GetAccount, warranty.Account](Spec{
		Name: "account.get", Method: http.MethodGet, Base: Host, Path: "/account", Auth: SessionOnly,
		Summary: "Get your account.",
	})
	UpdateAccount = define[warranty.UpdateAccount, warranty.Account](Spec{
		Name: "account.update", Method: http.MethodPut, Base: Host, Path: "/account", Auth: SessionOnly,
		Summary: "Change your name and which mails you get; what is not given stays.",
	})
)
