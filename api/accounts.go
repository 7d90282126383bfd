package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on accounts and sessions.
var (
	Register = define[warranty.Register, warranty.Session](Spec{
		Name:    "auth.register",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/auth/register",
		Auth:    Public,
		Summary: "Create an account and sign in. We email a code to verify the address.",
		Status:  http.StatusCreated,
		Errors:  []warranty.Code{warranty.AlreadyExists, warranty.RoleNotAllowed},
	})
	SignIn = define[warranty.SignIn, warranty.Session](Spec{
		Name:   "auth.sign_in",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/auth/sessions",
		Auth:   Public,
		Summary: "Sign in with a password or an emailed code. With two-step sign-in, the response is second_factor_required: " +
			"send its flow with totp or recovery_code.",
		Status: http.StatusCreated,
		Errors: []warranty.Code{
			warranty.InvalidCredential, warranty.SecondFactorRequired, warranty.AccountIsDeleted, warranty.InvalidCode,
			warranty.RateLimited,
		},
	})
	RequestSignInCode = define[warranty.RequestSignInCode, warranty.None](Spec{
		Name:    "auth.request_code",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/auth/codes",
		Auth:    Public,
		Summary: "Email a sign-in code if the address has an account. The response does not reveal whether it does.",
		Status:  http.StatusAccepted,
		Errors:  []warranty.Code{warranty.RateLimited},
	})
	SignOut = define[warranty.SignOut, warranty.None](Spec{
		Name:         "auth.sign_out",
		Method:       http.MethodDelete,
		Base:         Host,
		Path:         "/auth/sessions/current",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "Sign out: end the current session.",
	})
	VerifyEmail = define[warranty.VerifyEmail, warranty.User](Spec{
		Name:         "auth.verify_email",
		Method:       http.MethodPost,
		Base:         Host,
		Path:         "/auth/verify-email",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "Verify your email address with the emailed code. You can then see records that name it as the seller.",
	})
	SendVerification = define[warranty.SendVerification, warranty.None](Spec{
		Name:         "auth.send_verification",
		Method:       http.MethodPost,
		Base:         Host,
		Path:         "/auth/verify-email/resend",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "Email a new verification code to your address.",
		Status:       http.StatusAccepted,
	})
	RequestPasswordReset = define[warranty.RequestPasswordReset, warranty.None](Spec{
		Name:    "auth.request_password_reset",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/auth/password-reset",
		Auth:    Public,
		Summary: "Email a password reset code if the address has an account. The response does not reveal whether it does.",
		Status:  http.StatusAccepted,
		Errors:  []warranty.Code{warranty.RateLimited},
	})
	ResetPassword = define[warranty.ResetPassword, warranty.None](Spec{
		Name:    "auth.reset_password",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/auth/password-reset/confirm",
		Auth:    Public,
		Summary: "Set a new password with the emailed code. All sessions, tokens and calendar feeds are revoked.",
	})
	ChangePassword = define[warranty.ChangePassword, warranty.Session](Spec{
		Name:    "auth.change_password",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/auth/password",
		Auth:    SessionOnly,
		Summary: "Change your password. All sessions end, and a new one is returned.",
		Errors:  []warranty.Code{warranty.InvalidCredential},
	})
	ListSessions = define[warranty.ListSessions, warranty.AccountSessions](Spec{
		Name:         "sessions.list",
		Method:       http.MethodGet,
		Base:         Host,
		Path:         "/account/sessions",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "List where you are signed in: your sessions, the most recently used first.",
	})
	EndSession = define[warranty.EndSession, warranty.None](Spec{
		Name:         "sessions.end",
		Method:       http.MethodDelete,
		Base:         Host,
		Path:         "/account/sessions/{id}",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "End one of your sessions. Another one than the current one needs a confirmed session.",
		Errors:       []warranty.Code{warranty.ConfirmationRequired},
	})
	EndOtherSessions = define[warranty.EndOtherSessions, warranty.None](Spec{
		Name:         "sessions.end_others",
		Method:       http.MethodDelete,
		Base:         Host,
		Path:         "/account/sessions",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "End all your sessions but the current one, which must be confirmed.",
		Errors:       []warranty.Code{warranty.ConfirmationRequired},
	})
	ConfirmSession = define[warranty.ConfirmSession, warranty.Session](Spec{
		Name:         "auth.confirm",
		Method:       http.MethodPost,
		Base:         Host,
		Path:         "/auth/confirm",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary: "Confirm that it is you, for 15 minutes. The session gets a new secret, which is returned; the old one ends " +
			"at once.",
		Errors: []warranty.Code{warranty.InvalidCredential, warranty.InvalidCode, warranty.RateLimited},
	})
	GetAuthStatus = define[warranty.GetAuthStatus, warranty.AuthStatus](Spec{
		Name:    "auth.status",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/auth/status",
		Auth:    Credential,
		Summary: "Get the user, scopes and rate limit of the credential.",
	})
	GetAccount = define[warranty.GetAccount, warranty.Account](Spec{
		Name:    "account.get",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/account",
		Auth:    SessionOnly,
		Summary: "Get your account.",
	})
	UpdateAccount = define[warranty.UpdateAccount, warranty.Account](Spec{
		Name:    "account.update",
		Method:  http.MethodPut,
		Base:    Host,
		Path:    "/account",
		Auth:    SessionOnly,
		Summary: "Update the given fields of your account: your name, email notifications, language and time zone.",
	})
)

// authStatusOperations come before the tokens in the documentation.
var authStatusOperations = []*Spec{GetAuthStatus.Spec}

// accountOperations are the rows of this file in the operation table.
var accountOperations = []*Spec{
	Register.Spec,
	SignIn.Spec,
	RequestSignInCode.Spec,
	SignOut.Spec,
	VerifyEmail.Spec,
	SendVerification.Spec,
	RequestPasswordReset.Spec,
	ResetPassword.Spec,
	ChangePassword.Spec,
	ConfirmSession.Spec,
	GetAccount.Spec,
	UpdateAccount.Spec,
	ListSessions.Spec,
	EndSession.Spec,
	EndOtherSessions.Spec,
}
