package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on passkeys. Adding and using one needs a browser, so they are pages.
var (
	ListPasskeys = define[warranty.ListPasskeys, warranty.AccountPasskeys](Spec{
		Name:         "passkeys.list",
		Method:       http.MethodGet,
		Base:         Host,
		Path:         "/account/passkeys",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "List your passkeys. You add and use them in the browser.",
	})
	RenamePasskey = define[warranty.RenamePasskey, warranty.AccountPasskey](Spec{
		Name:         "passkeys.rename",
		Method:       http.MethodPut,
		Base:         Host,
		Path:         "/account/passkeys/{id}",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary:      "Rename a passkey.",
	})
	RemovePasskey = define[warranty.RemovePasskey, warranty.None](Spec{
		Name:         "passkeys.remove",
		Method:       http.MethodDelete,
		Base:         Host,
		Path:         "/account/passkeys/{id}",
		Auth:         SessionOnly,
		LacksTwoStep: true,
		Summary: "Remove a passkey. Needs a confirmed session. All your other sessions and all emailed codes end. Your last way to " +
			"sign in cannot be removed.",
		Errors: []warranty.Code{warranty.ConfirmationRequired, warranty.LastMethod},
	})
)

// passkeyOperations are the rows of this file in the operation table.
var passkeyOperations = []*Spec{ListPasskeys.Spec, RenamePasskey.Spec, RemovePasskey.Spec}
