package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on second factors.
var (
	GetSecurity = define[warranty.GetSecurity, warranty.Security](Spec{
		Name:         "security.get",
		Method:       http.MethodGet,
		Base:         Host,
		Path:         "/account/security",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "Get whether you have two-step sign-in, and with what.",
	})
	UpdateSecurity = define[warranty.UpdateSecurity, warranty.SecurityChange](Spec{
		Name:         "security.update",
		Method:       http.MethodPut,
		Base:         Host,
		Path:         "/account/security",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary: "Turn two-step sign-in on, with an authenticator app or a passkey, or off. The session must be confirmed. All " +
			"other sessions, and all emailed codes, end.",
		Errors: []warranty.Code{warranty.ConfirmationRequired, warranty.InvalidTransition, warranty.TwoStepRequired},
	})
	AddTOTP = define[warranty.AddTOTP, warranty.NewTOTP](Spec{
		Name:         "totp.add",
		Method:       http.MethodPost,
		Base:         Host,
		Path:         "/account/totp",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary: "Make the secret of an authenticator app. The app is added, in place of an earlier one, when totp.confirm gets " +
			"its first code, within an hour. The session must be confirmed.",
		Errors: []warranty.Code{warranty.ConfirmationRequired, warranty.RoleNotAllowed},
	})
	ConfirmTOTP = define[warranty.ConfirmTOTP, warranty.Security](Spec{
		Name:         "totp.confirm",
		Method:       http.MethodPost,
		Base:         Host,
		Path:         "/account/totp/confirm",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "Add the authenticator app, with a code that it shows. The session must be confirmed.",
		Errors:       []warranty.Code{warranty.ConfirmationRequired, warranty.InvalidTransition, warranty.InvalidCode},
	})
	RemoveTOTP = define[warranty.RemoveTOTP, warranty.None](Spec{
		Name:         "totp.remove",
		Method:       http.MethodDelete,
		Base:         Host,
		Path:         "/account/totp",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary: "Remove the authenticator app. The session must be confirmed. All other sessions, and all emailed codes, end. " +
			"The last factor can only be removed by turning two-step sign-in off.",
		Errors: []warranty.Code{warranty.ConfirmationRequired, warranty.NotFound, warranty.LastMethod},
	})
	CreateRecoveryCodes = define[warranty.CreateRecoveryCodes, warranty.RecoveryCodes](Spec{
		Name:         "recovery_codes.create",
		Method:       http.MethodPost,
		Base:         Host,
		Path:         "/account/recovery-codes",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "Make ten new recovery codes. The old ones end. The session must be confirmed.",
		Destructive:  true,
		Errors:       []warranty.Code{warranty.ConfirmationRequired, warranty.InvalidTransition},
	})
)

// securityOperations are the rows of this file in the operation table.
var securityOperations = []*Spec{
	GetSecurity.Spec,
	UpdateSecurity.Spec,
	AddTOTP.Spec,
	ConfirmTOTP.Spec,
	RemoveTOTP.Spec,
	CreateRecoveryCodes.Spec,
}
