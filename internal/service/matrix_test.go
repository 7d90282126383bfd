package service_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// The matrix: every caller tries every operation. The expectations come from the
// contract and are not computed by the code under test.

// Responses shared by many cells: a status and an error code.
const (
	ok, created, accepted, gone = "200", "201", "202", "204"

	roleNotAllowed    = "403 role_not_allowed"
	notFound          = "404 not_found"
	sessionRequired   = "403 session_required"
	insufficientScope = "403 insufficient_scope"
	missing           = "401 missing_credential"
	invalid           = "401 invalid_credential"
	sessionExpired    = "401 session_expired"
	tokenExpired      = "401 token_expired"
	tokenRevoked      = "401 token_revoked"
	othersCode        = "422 validation_failed"
)

// row is something to try.
type row struct {
	operation string // its name in api.Operations, or in the OpenAPI document
	variant   string
	request   func(s *stage) request
	// Responses to sessions, by role on the record.
	owner, issuer, seller, stranger string
	// Tokens get the same responses unless a session is required; scope is the required
	// scope.
	scope       warranty.Scope
	sessionOnly bool
	// Public operations ignore the credential.
	public bool
	// tells means that outsiders may learn about the record.
	tells bool
	// echoes means that the response repeats the claim's id that the caller sent.
	echoes bool
	// unverified is the response to users without a verified address, if it is another one.
	unverified string
	// organization is the response to organizations, if it is another one than to people.
	organization string
	// business is the response to organizations that issued or sold it, if it is another one.
	business string
}

// allRoles is a row with the same response for all roles.
func allRoles(r row, answer string) row {
	r.owner, r.issuer, r.seller, r.stranger = answer, answer, answer, answer
	return r
}

// involved is a row for those who can see the record.
func involved(r row, answer string) row {
	r.owner, r.issuer, r.seller, r.stranger = answer, answer, answer, notFound
	return r
}

// owners is a row that returns "not found" to everyone but the owner.
func owners(r row, answer string) row {
	r.owner, r.issuer, r.seller, r.stranger = answer, notFound, notFound, notFound
	return r
}

func get(path string) func(*stage) request {
	return func(s *stage) request { return request{Method: "GET", Path: s.fill(path)} }
}

func send(method, path string, body fields) func(*stage) request {
	return func(s *stage) request {
		filled := fields{}
		for name, value := range body {
			if text, ok := value.(string); ok {
				value = s.fill(text)
			}
			filled[name] = value
		}
		r := request{Method: method, Path: s.fill(path), Body: filled}
		if body == nil {
			r.Body = nil
		}
		return r
	}
}

func uploadRequest(s *stage) request {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("warranty_id", s.fill("{id}")) // writing to memory cannot fail
	_ = form.WriteField("type", "receipt")
	part, _ := form.CreateFormFile("file", "receipt.txt")
	_, _ = part.Write([]byte("A receipt, in plain text."))
	_ = form.Close()
	return request{
		Method: "POST",
		Path:   "/api/documents",
		Body:   body.String(),
		Header: map[string]string{"Content-Type": form.FormDataContentType()},
	}
}

var rows = []row{
	allRoles(row{operation: "warranties.list", scope: warranty.WarrantiesRead, request: get("/api/v1/warranties")}, ok),
	allRoles(row{
		operation: "warranties.list",
		variant:   "by customer",
		scope:     warranty.WarrantiesRead,
		request:   get("/api/v1/warranties?customer=kim&purchased_from=2020-01-01"),
	}, ok),
	allRoles(row{operation: "warranties.changes", scope: warranty.WarrantiesRead, request: get("/api/v1/warranties/changes")}, ok),
	allRoles(row{
		operation: "warranties.summarize",
		scope:     warranty.WarrantiesRead,
		request:   get("/api/v1/warranties/summary"),
	}, ok),
	allRoles(row{
		operation: "warranties.create",
		scope:     warranty.WarrantiesWrite,
		request: send("POST", "/api/v1/warranties", fields{
			"product_name": "Pan",
			"start_date":   "2024-01-01",
			"end_date":     "2025-01-01",
			"seller_email": "{seller}",
		}),
	}, created),
	allRoles(row{
		operation: "warranties.issue",
		scope:     warranty.WarrantiesWrite,
		request: send("POST", "/api/v1/warranties/issue", fields{
			"product_name": "Pan",
			"start_date":   "2024-01-01",
			"end_date":     "2025-01-01",
			"print":        true,
		}),
		organization: created,
	}, roleNotAllowed),
	involved(row{operation: "warranties.get", scope: warranty.WarrantiesRead, request: get("/api/v1/warranties/{id}")},
		ok),
	{
		operation: "warranties.update",
		variant:   "the promise",
		scope:     warranty.WarrantiesWrite,
		owner:     roleNotAllowed,
		issuer:    ok,
		seller:    roleNotAllowed,
		stranger:  notFound,
		request: send("PUT", "/api/v1/warranties/{id}", fields{
			"product_name": "Changed",
			"supplier":     "Changed",
			"start_date":   "2020-02-02",
			"end_date":     "2098-02-02",
		}),
	},
	{
		operation: "warranties.update",
		variant:   "nothing that is new",
		scope:     warranty.WarrantiesWrite,
		owner:     roleNotAllowed,
		issuer:    ok,
		seller:    roleNotAllowed,
		stranger:  notFound,
		request:   send("PUT", "/api/v1/warranties/{id}", fields{"product_name": canary}),
	},
	{
		operation: "warranties.update",
		variant:   "category",
		scope:     warranty.WarrantiesWrite,
		owner:     ok,
		issuer:    roleNotAllowed,
		seller:    roleNotAllowed,
		stranger:  notFound,
		request:   send("PUT", "/api/v1/warranties/{id}", fields{"category": "Changed"}),
	},
	{
		operation: "warranties.update",
		variant:   "void",
		scope:     warranty.WarrantiesWrite,
		owner:     roleNotAllowed,
		issuer:    ok,
		seller:    ok,
		stranger:  notFound,
		request:   send("PUT", "/api/v1/warranties/{id}", fields{"status": "void"}),
	},
	{
		operation: "warranties.update",
		variant:   "cancel",
		scope:     warranty.WarrantiesWrite,
		owner:     roleNotAllowed,
		issuer:    ok,
		seller:    roleNotAllowed,
		stranger:  notFound,
		request:   send("PUT", "/api/v1/warranties/{id}", fields{"status": "cancelled"}),
	},
	{
		operation: "warranties.update",
		variant:   "void and fields",
		scope:     warranty.WarrantiesWrite,
		owner:     roleNotAllowed,
		issuer:    ok,
		seller:    roleNotAllowed,
		stranger:  notFound,
		request:   send("PUT", "/api/v1/warranties/{id}", fields{"status": "void", "supplier": "Mine"}),
	},
	{
		operation:   "warranties.correct",
		sessionOnly: true,
		owner:       roleNotAllowed,
		issuer:      ok,
		seller:      roleNotAllowed,
		stranger:    notFound,
		request: send("POST", "/api/warranties/{id}/corrections",
			fields{"serial_number": "SN-2", "seller_email": "{new}", "reason": "Typing error"}),
	},
	{
		operation:   "warranties.correct",
		variant:     "nothing that is new",
		sessionOnly: true,
		owner:       roleNotAllowed,
		issuer:      ok,
		seller:      roleNotAllowed,
		stranger:    notFound,
		request:     send("POST", "/api/warranties/{id}/corrections", fields{"reason": "Typing error"}),
	},
	{
		operation: "warranties.delete",
		scope:     warranty.WarrantiesWrite,
		owner:     gone,
		issuer:    roleNotAllowed,
		seller:    roleNotAllowed,
		stranger:  notFound,
		request:   send("DELETE", "/api/v1/warranties/{id}?force=true", nil),
	},
	{
		operation: "warranties.delete",
		variant:   "with an open claim",
		scope:     warranty.WarrantiesWrite,
		owner:     inUse,
		issuer:    roleNotAllowed,
		seller:    roleNotAllowed,
		stranger:  notFound,
		request:   send("DELETE", "/api/v1/warranties/{id}", nil),
	},
	allRoles(row{operation: "trash.list", sessionOnly: true, request: get("/api/trash")}, ok),
	owners(row{
		operation:   "warranties.restore",
		sessionOnly: true,
		request:     send("POST", "/api/warranties/{trashed}/restore", nil),
	}, ok),
	{
		operation: "warranties.update",
		variant:   "external id",
		scope:     warranty.WarrantiesWrite,
		owner:     roleNotAllowed,
		issuer:    ok,
		seller:    roleNotAllowed,
		stranger:  notFound,
		request:   send("PUT", "/api/v1/warranties/{id}", fields{"external_id": "A-1"}),
	},
	allRoles(row{
		operation: "warranties.batch",
		scope:     warranty.WarrantiesWrite,
		request: send("POST", "/api/v1/warranties/batch", fields{"items": []fields{
			{"product_name": "Pan", "start_date": "2024-01-01", "end_date": "2025-01-01"},
		}}),
	}, ok),
	allRoles(row{
		operation: "confirmations.list",
		scope:     warranty.WarrantiesWrite,
		request:   get("/api/v1/confirmations"),
	}, ok),
	{
		operation: "confirmations.decide",
		scope:     warranty.WarrantiesWrite,
		owner:     notFound,
		issuer:    notFound,
		seller:    ok,
		stranger:  notFound,
		request: func(s *stage) request {
			return made("POST", s.fill("/api/v1/confirmations/{waiting}"), "", fields{"decision": "confirm"}, "If-Match", `"1"`)
		},
	},
	{
		operation: "sellers.leave",
		scope:     warranty.WarrantiesWrite,
		owner:     roleNotAllowed,
		issuer:    roleNotAllowed,
		seller:    gone,
		stranger:  notFound,
		request:   send("DELETE", "/api/v1/warranties/{id}/seller", nil),
	},
	{
		operation: "warranties.hand_over",
		scope:     warranty.WarrantiesWrite,
		owner:     roleNotAllowed,
		issuer:    roleNotAllowed, // it is handed over
		seller:    roleNotAllowed,
		stranger:  notFound,
		request:   send("POST", "/api/v1/warranties/{id}/handover", fields{}),
	},
	{
		operation: "warranties.cancel_handover",
		scope:     warranty.WarrantiesWrite,
		owner:     roleNotAllowed,
		issuer:    roleNotAllowed,
		seller:    roleNotAllowed,
		stranger:  notFound,
		request:   send("DELETE", "/api/v1/warranties/{id}/handover", nil),
	},
	allRoles(row{
		operation:   "handovers.take",
		sessionOnly: true,
		request:     send("POST", "/api/handovers/take", fields{"code": "{handover code}"}),
		unverified:  "403 email_not_verified",
		tells:       true,
	}, ok),
	allRoles(row{
		operation: "handovers.preview",
		public:    true,
		request:   send("POST", "/api/handovers/preview", fields{"code": "{handover code}"}),
		tells:     true,
	}, ok),
	allRoles(row{
		operation: "handovers.email",
		public:    true,
		request:   send("POST", "/api/handovers/email", fields{"code": "{handover code}", "email": "{new}"}),
	}, accepted),
	allRoles(row{
		operation: "handovers.register",
		variant:   "with a printed code",
		public:    true,
		request:   send("POST", "/api/handovers/register", fields{"code": "{handover code}"}),
	}, othersCode),
	allRoles(row{
		operation: "warranties.deleted",
		scope:     warranty.WarrantiesRead,
		request:   get("/api/v1/warranties/deleted"),
	}, ok),
	allRoles(row{
		operation: "warranties.lookup",
		scope:     warranty.WarrantiesRead,
		request: send("POST", "/api/v1/warranties/lookup",
			fields{"items": []fields{{"product_name": "Pan", "start_date": "2024-01-01", "end_date": "2025-01-01"}}}),
	}, ok),
	allRoles(row{
		operation: "warranties.lookup",
		variant:   "by serial number",
		scope:     warranty.WarrantiesRead,
		request:   send("POST", "/api/v1/warranties/lookup", fields{"items": []fields{{"serial_number": "SN-1"}}}),
	}, ok),
	allRoles(row{
		operation: "warranties.verify",
		scope:     warranty.WarrantiesRead,
		request:   get("/api/v1/verify/{reference}"),
		tells:     true,
	}, ok),
	involved(row{operation: "warranties.history", sessionOnly: true, request: get("/api/warranties/{id}/history")}, ok),

	allRoles(row{operation: "claims.list", scope: warranty.ClaimsRead, request: get("/api/v1/claims")}, ok),
	allRoles(row{
		operation: "claims.list",
		variant:   "of the record",
		scope:     warranty.ClaimsRead,
		request:   get("/api/v1/claims?warranty_id={id}"),
	}, ok),
	allRoles(row{
		operation: "claims.list",
		variant:   "by customer",
		scope:     warranty.ClaimsRead,
		request:   get("/api/v1/claims?customer=kim&updated_since=2020-01-01T00:00:00Z"),
	}, ok),
	involved(row{operation: "claims.get", scope: warranty.ClaimsRead, request: get("/api/v1/claims/{claim}")}, ok),
	involved(row{
		operation: "claims.messages",
		scope:     warranty.ClaimsRead,
		request:   get("/api/v1/claims/{claim}/messages"),
	}, ok),
	involved(row{
		operation:   "claims.write",
		sessionOnly: true,
		request:     send("POST", "/api/claims/{claim}/messages", fields{"body": "Any news?"}),
	}, created),
	{
		operation:   "claims.handling",
		sessionOnly: true,
		owner:       roleNotAllowed,
		issuer:      ok,
		seller:      ok,
		stranger:    notFound,
		request:     get("/api/claims/{claim}/handling"),
	},
	{
		operation: "claims.notes",
		scope:     warranty.ClaimsRead,
		owner:     roleNotAllowed,
		issuer:    ok,
		seller:    ok,
		stranger:  notFound,
		request:   get("/api/v1/claims/{claim}/notes"),
	},
	{
		operation:   "claims.note",
		sessionOnly: true,
		owner:       roleNotAllowed,
		issuer:      created,
		seller:      created,
		stranger:    notFound,
		request:     send("POST", "/api/claims/{claim}/notes", fields{"body": "Returned machine."}),
	},
	allRoles(row{operation: "claims.count", scope: warranty.ClaimsRead, request: get("/api/v1/claims/count")}, ok),
	{
		operation:   "claims.assign",
		sessionOnly: true,
		owner:       roleNotAllowed,
		issuer:      roleNotAllowed,
		seller:      roleNotAllowed,
		stranger:    notFound,
		business:    ok,
		request:     send("PUT", "/api/claims/{claim}/handling", fields{"user_id": nil}),
	},
	allRoles(row{
		operation:   "bulk.claims", // what the caller may not change is skipped
		sessionOnly: true,
		echoes:      true,
		request: func(s *stage) request {
			items := []fields{{"id": s.fill("{claim}")}}
			return request{Method: "POST", Path: "/api/claims/bulk", Body: fields{"action": "approve", "items": items}}
		},
	}, ok),
	{
		operation:    "bulk.claims",
		variant:      "assign",
		sessionOnly:  true,
		echoes:       true,
		owner:        roleNotAllowed,
		issuer:       roleNotAllowed,
		seller:       roleNotAllowed,
		stranger:     roleNotAllowed,
		organization: ok,
		business:     ok,
		request: func(s *stage) request {
			items := []fields{{"id": s.fill("{claim}")}}
			return request{Method: "POST", Path: "/api/claims/bulk", Body: fields{"action": "assign", "assign_to": "none", "items": items}}
		},
	},
	allRoles(row{operation: "bulk.get", sessionOnly: true, request: get("/api/bulk/{id}")}, notFound),
	allRoles(row{operation: "bulk.undo", sessionOnly: true, request: send("POST", "/api/bulk/{id}/undo", nil)}, notFound),
	{
		operation:   "claims.mute",
		sessionOnly: true,
		owner:       ok,
		issuer:      ok,
		seller:      ok,
		stranger:    notFound,
		request:     send("PUT", "/api/claims/{claim}/muted", fields{"muted": true}),
	},
	{ // a document that was not sent from those of the warranty
		operation:   "claims.detach",
		sessionOnly: true,
		owner:       notFound,
		issuer:      roleNotAllowed,
		seller:      roleNotAllowed,
		stranger:    notFound,
		request:     send("DELETE", "/api/claims/{claim}/documents/{claim}", nil),
	},
	allRoles(row{operation: "replies.list", sessionOnly: true, request: get("/api/replies")}, ok),
	allRoles(row{
		operation:   "replies.create",
		sessionOnly: true,
		request:     send("POST", "/api/replies", fields{"title": "Plate", "body": "Please send a photo of the plate."}),
	}, created),
	allRoles(row{ // of no account
		operation:   "replies.update",
		sessionOnly: true,
		request:     send("PUT", "/api/replies/{claim}", fields{"title": "Plate"}),
	}, notFound),
	allRoles(row{
		operation:   "replies.delete",
		sessionOnly: true,
		request:     send("DELETE", "/api/replies/{claim}", nil),
	}, notFound),
	allRoles(row{operation: "reminders.get", sessionOnly: true, request: get("/api/reminders")}, ok),
	allRoles(row{
		operation:   "reminders.update",
		sessionOnly: true,
		request:     send("PUT", "/api/reminders", fields{"days": []int{60, 14}}),
	}, ok),
	involved(row{
		operation:   "reminders.get_warranty",
		sessionOnly: true,
		request:     get("/api/warranties/{id}/reminders"),
	}, ok),
	involved(row{
		operation:   "reminders.update_warranty",
		sessionOnly: true,
		request:     send("PUT", "/api/warranties/{id}/reminders", fields{"choice": "own", "days": []int{3}}),
	}, ok),
	{
		operation:   "claims.file",
		sessionOnly: true,
		owner:       created,
		issuer:      roleNotAllowed,
		seller:      roleNotAllowed,
		stranger:    notFound,
		request: send("POST", "/api/claims",
			fields{"warranty_id": "{id}", "type": "repair", "description": "It broke.", "incident_date": "2024-05-17"}),
	},
	{
		operation:   "claims.move",
		variant:     "decide",
		sessionOnly: true,
		owner:       roleNotAllowed,
		issuer:      ok,
		seller:      ok,
		stranger:    notFound,
		request:     send("POST", "/api/claims/{claim}/status", fields{"status": "under_review"}),
	},
	{
		operation:   "claims.move",
		variant:     "withdraw",
		sessionOnly: true,
		owner:       ok,
		issuer:      roleNotAllowed,
		seller:      roleNotAllowed,
		stranger:    notFound,
		request:     send("POST", "/api/claims/{claim}/status", fields{"status": "withdrawn"}),
	},

	allRoles(
		row{operation: "documents.list", scope: warranty.DocumentsRead, request: get("/api/v1/documents?q=receipt")},
		ok),
	allRoles(row{
		operation: "documents.list",
		variant:   "of the record",
		scope:     warranty.DocumentsRead,
		request:   get("/api/v1/documents?warranty_id={id}"),
	}, ok),
	involved(
		row{operation: "documents.get", scope: warranty.DocumentsRead, request: get("/api/v1/documents/{document}")},
		ok),
	involved(row{operation: "documents.download", sessionOnly: true, request: get("/api/documents/{document}/file")},
		ok),
	owners(row{
		operation: "documents.get",
		variant:   "the owner's",
		scope:     warranty.DocumentsRead,
		request:   get("/api/v1/documents/{receipt}"),
	}, ok),
	owners(row{
		operation:   "documents.download",
		variant:     "the owner's",
		sessionOnly: true,
		request:     get("/api/documents/{receipt}/file"),
	}, ok),
	owners(row{
		operation:   "documents.delete",
		variant:     "the owner's",
		sessionOnly: true,
		request:     send("DELETE", "/api/documents/{receipt}", nil),
	}, gone),
	involved(row{operation: "documents.upload", sessionOnly: true, request: uploadRequest}, created),
	{
		operation:   "documents.delete",
		variant:     "the seller's",
		sessionOnly: true,
		owner:       gone,
		issuer:      roleNotAllowed,
		seller:      gone,
		stranger:    notFound,
		request:     send("DELETE", "/api/documents/{document}", nil),
	},

	{
		operation:   "transfers.offer",
		sessionOnly: true,
		owner:       created,
		issuer:      roleNotAllowed,
		seller:      roleNotAllowed,
		stranger:    notFound,
		request:     send("POST", "/api/warranties/{id}/transfer", fields{"email": "new@people.example"}),
	},
	{
		operation:   "transfers.cancel",
		sessionOnly: true,
		owner:       gone,
		issuer:      roleNotAllowed,
		seller:      roleNotAllowed,
		stranger:    notFound,
		request:     send("DELETE", "/api/warranties/{id}/transfer", nil),
	},
	// Any other signed-in user with the code becomes the owner.
	{
		operation:   "transfers.accept",
		sessionOnly: true,
		owner:       roleNotAllowed,
		issuer:      ok,
		seller:      ok,
		stranger:    ok,
		unverified:  "403 email_not_verified",
		request:     send("POST", "/api/transfers/accept", fields{"code": "{transfer code}"}),
		tells:       true,
	},

	allRoles(row{
		operation:   "tokens.create",
		sessionOnly: true,
		request:     send("POST", "/api/integration-tokens", fields{"name": "New", "scopes": []string{"claims:read"}}),
	}, created),
	allRoles(row{operation: "tokens.list", sessionOnly: true, request: get("/api/integration-tokens")}, ok),
	owners(row{operation: "tokens.get", sessionOnly: true, request: get("/api/integration-tokens/{token}")}, ok),
	owners(row{
		operation:   "tokens.rotate",
		sessionOnly: true,
		request:     send("POST", "/api/integration-tokens/{token}/rotate", nil),
	}, ok),
	owners(row{
		operation:   "tokens.revoke",
		sessionOnly: true,
		request:     send("DELETE", "/api/integration-tokens/{token}", nil),
	}, gone),
	owners(row{operation: "tokens.history", sessionOnly: true, request: get("/api/integration-tokens/{token}/history")},
		ok),
	owners(
		row{operation: "tokens.requests", sessionOnly: true, request: get("/api/integration-tokens/{token}/requests")},
		ok),

	allRoles(row{operation: "auth.status", request: get("/api/v1/auth/status")}, ok),
	allRoles(row{operation: "account.get", sessionOnly: true, request: get("/api/account")}, ok),
	allRoles(row{
		operation:   "account.update",
		sessionOnly: true,
		request:     send("PUT", "/api/account", fields{"name": "Renamed"}),
	}, ok),
	allRoles(
		row{operation: "auth.sign_out", sessionOnly: true, request: send("DELETE", "/api/auth/sessions/current", nil)},
		gone),
	allRoles(row{operation: "sessions.list", sessionOnly: true, request: get("/api/account/sessions")}, ok),
	allRoles(row{operation: "passkeys.list", sessionOnly: true, request: get("/api/account/passkeys")}, ok),
	owners(row{operation: "passkeys.rename", sessionOnly: true, organization: notFound,
		request: send("PUT", "/api/account/passkeys/{passkey}", fields{"name": "Renamed"})}, ok),
	owners(row{operation: "passkeys.remove", sessionOnly: true, organization: notFound,
		request: send("DELETE", "/api/account/passkeys/{passkey}", nil)}, gone),
	owners(row{operation: "sessions.end", sessionOnly: true, organization: notFound, request: send("DELETE", "/api/account/sessions/{session}", nil)},
		gone),
	allRoles(row{operation: "sessions.end_others", sessionOnly: true,
		request: send("DELETE", "/api/account/sessions?others=true", nil)}, gone),
	allRoles(row{operation: "security.get", sessionOnly: true, request: get("/api/account/security")}, ok),
	allRoles(row{operation: "security.update", sessionOnly: true,
		request: send("PUT", "/api/account/security", fields{"two_step": false})}, ok),
	allRoles(row{operation: "totp.add", sessionOnly: true, request: send("POST", "/api/account/totp", nil)}, ok),
	allRoles(row{operation: "totp.confirm", sessionOnly: true,
		request: send("POST", "/api/account/totp/confirm", fields{"code": "123456"})}, "409 invalid_transition"),
	allRoles(row{operation: "totp.remove", sessionOnly: true, request: send("DELETE", "/api/account/totp", nil)}, notFound),
	allRoles(row{operation: "recovery_codes.create", sessionOnly: true,
		request: send("POST", "/api/account/recovery-codes", nil)}, "409 invalid_transition"),
	allRoles(row{
		operation:   "auth.send_verification",
		sessionOnly: true,
		request:     send("POST", "/api/auth/verify-email/resend", nil),
	}, accepted),
	allRoles(row{
		operation:   "auth.change_password",
		sessionOnly: true,
		request: send("POST", "/api/auth/password",
			fields{"current_password": servertest.Password, "new_password": servertest.Password}),
	}, ok),
	allRoles(row{
		operation:   "auth.confirm",
		sessionOnly: true,
		request:     send("POST", "/api/auth/confirm", fields{"password": servertest.Password}),
	}, ok),

	allRoles(row{
		operation: "auth.register",
		public:    true,
		request: send("POST", "/api/auth/register",
			fields{"name": "New", "email": "{new}", "password": servertest.Password}),
	}, created),
	allRoles(row{
		operation: "auth.sign_in",
		public:    true,
		request: send("POST", "/api/auth/sessions",
			fields{"email": "{bystander}", "password": servertest.Password}),
	}, created),
	allRoles(row{operation: "auth.verify_email", variant: "by another user's code", sessionOnly: true,
		request: send("POST", "/api/auth/verify-email", fields{"code": "{verification code}"})}, othersCode),
	allRoles(row{
		operation: "auth.request_code",
		public:    true,
		request:   send("POST", "/api/auth/codes", fields{"email": "{bystander}"}),
	}, accepted),
	allRoles(row{
		operation: "auth.request_password_reset",
		public:    true,
		request:   send("POST", "/api/auth/password-reset", fields{"email": "{bystander}"}),
	}, accepted),
	allRoles(row{
		operation: "auth.reset_password",
		public:    true,
		request: send("POST", "/api/auth/password-reset/confirm",
			fields{"code": "{reset code}", "password": servertest.Password}),
	}, gone),
	allRoles(row{
		operation: "account.change_email", sessionOnly: true,
		request: send("POST", "/api/account/email", fields{"email": "{new}"}),
	}, accepted),
	allRoles(row{
		operation: "account.confirm_email", sessionOnly: true,
		request: send("POST", "/api/account/email/confirm", fields{"code": "AAAA-BBBB-CCCC-DDDD-EEEE"}),
	}, othersCode),
	allRoles(row{
		operation: "account.delete", sessionOnly: true, variant: "another address",
		request: send("DELETE", "/api/account", fields{"email": "nobody@people.example"}),
	}, othersCode),
	allRoles(row{
		operation: "auth.restore", public: true,
		request: send("POST", "/api/auth/restore", fields{"flow": "svf_unknown"}),
	}, invalid),
	allRoles(row{
		operation: "auth.not_me", public: true,
		request: send("POST", "/api/auth/not-me", fields{"code": "AAAA-BBBB-CCCC-DDDD-EEEE"}),
	}, othersCode),
}

// open are the operations that need no credential. No others may be open.
var open = []string{
	"handovers.preview", "handovers.email", "handovers.register", "account.cancel_conversion", "auth.restore", "auth.not_me",
	"auth.register", "auth.sign_in", "auth.request_code", "auth.request_password_reset", "auth.reset_password",
	"verification.get", "verification.product", "verification.certificate", "verification.certificate_pdf",
	"verification.keys", "service.health", "service.ready", "service.openapi",
}

// canary occurs only in the record under test.
const canary = "Kettle with a canary"

// stage is a record and users in every role.
type stage struct {
	*world
	ownerIs, issuerIs, sellerIs, strangerIs, bystander person
	record                                             warranty.Warranty
	claimed                                            warranty.Claim
	paper                                              warranty.Document
	storageKey                                         string
	names                                              map[string]string // values for the names in braces

	// staff are people by organization and role: see organize.
	staff map[warranty.ID]map[warranty.MemberRole]person
}

// newStage creates a record with an owner, another issuer and a seller, whose address
// may be unverified.
func newStage(w *world, unverified bool) *stage {
	s := &stage{
		world:      w,
		ownerIs:    w.person("Olga", true),
		issuerIs:   w.person("Ian", true),
		sellerIs:   w.person("Sami", !unverified),
		strangerIs: w.person("Stran", true),
		bystander:  w.person("By", true),
	}
	made, err := w.Service.CreateWarranty(
		w.T.Context(),
		s.issuerIs.Principal,
		warranty.CreateWarranty{ProductName: canary, StartDate: date("2020-01-01"), EndDate: date("2099-12-31"),
			SellerEmail: s.sellerIs.User.Email},
	)
	if err != nil {
		w.T.Fatal(err)
	}
	s.record = made
	if !unverified {
		w.confirm(s.sellerIs, made.ID)
	}
	w.issue(made.ID, s.issuerIs, s.ownerIs)
	waiting, unsold, slip := w.record(s.bystander, s.sellerIs.User.Email), w.record(s.bystander, ""), w.newCode()
	w.write(func(tx *store.Tx) error {
		by := s.bystander.User.ID
		return tx.InsertOfferCode(store.OfferCode{
			Hash: warranty.HashCode(slip), Warranty: unsold.ID, Giver: by, By: by, Expires: w.Clock.Now().Add(time.Hour),
		})
	})
	s.claimed = w.claim(s.ownerIs, made.ID)
	uploader := s.sellerIs
	if unverified {
		uploader = s.ownerIs
	}
	receipt := w.document(s.ownerIs, made.ID)
	s.paper = w.document(uploader, made.ID)
	s.storageKey = w.strings(`SELECT storage_key FROM documents ORDER BY created_at DESC`)[0]
	offer, err := w.Service.OfferTransfer(w.T.Context(), s.ownerIs.Principal,
		warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: made.ID}, Email: "someone@people.example"})
	if err != nil {
		w.T.Fatal(err)
	}
	trashed := w.record(s.ownerIs, s.sellerIs.User.Email)
	if _, err := w.Service.DeleteWarranty(w.T.Context(), s.ownerIs.Principal,
		warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: trashed.ID}}); err != nil {
		w.T.Fatal(err)
	}
	_, token := w.token(s.ownerIs.User, warranty.AllScopes, time.Hour, false)
	months := 24
	product := warranty.Product{ID: w.Service.NewID(), Name: canary, LengthMonths: &months}
	w.write(func(tx *store.Tx) error { return tx.InsertProduct(s.ownerIs.User.ID, product) })
	customers := w.customersOf(s.ownerIs.User.ID, 4)
	// Tokens without claims:read see only customers that a warranty was issued to.
	w.execute(`UPDATE warranties SET customer_id = (SELECT head_id FROM customers WHERE merged_into IS NOT NULL AND account_id = $1)
		WHERE id = $2`, w.key(s.ownerIs.User.ID), w.key(w.record(s.ownerIs, "").ID))
	s.names = map[string]string{
		"customer":          customers[0],
		"second customer":   customers[1],
		"third customer":    customers[2],
		"merged customer":   customers[3],
		"product":           product.ID.String(),
		"id":                made.ID.String(),
		"reference":         string(made.ReferenceNumber),
		"claim":             s.claimed.ID.String(),
		"document":          s.paper.ID.String(),
		"receipt":           receipt.ID.String(),
		"trashed":           trashed.ID.String(),
		"waiting":           waiting.ID.String(),
		"handover code":     slip,
		"session":           s.ownerIs.CredentialID.String(),
		"passkey":           w.passkeyOf(s.ownerIs).String(),
		"token":             token.String(),
		"transfer code":     offer.Code,
		"seller":            s.sellerIs.User.Email,
		"bystander":         s.bystander.User.Email,
		"new":               fmt.Sprintf("new.%x@people.example", made.ID[8:]),
		"verification code": w.code(s.bystander.User, store.ForVerification),
		"reset code":        w.code(s.bystander.User, store.ForReset),
	}
	return s
}

// byNumber returns the stage with the record's reference and the claim's number, sloppily
// typed, in place of their ids.
func (s *stage) byNumber() *stage {
	other := *s
	other.names = maps.Clone(s.names)
	typed := func(number warranty.Reference) string {
		return strings.ToLower(strings.ReplaceAll(string(number), "-", ""))
	}
	other.names["id"], other.names["claim"] = typed(s.record.ReferenceNumber), typed(s.claimed.ClaimNumber)
	return &other
}

var braces = regexp.MustCompile(`\{[^}]+\}`)

// fill replaces the names in braces.
func (s *stage) fill(text string) string {
	return braces.ReplaceAllStringFunc(text, func(name string) string {
		value, ok := s.names[name[1:len(name)-1]]
		if !ok {
			s.T.Fatalf("%s has no value", name)
		}
		return value
	})
}

// caller is a user with a credential.
type caller struct {
	name string
	// secret returns the credential; after undoes its changes.
	secret func(s *stage, r row) (secret string, after func())
	// expected is the response according to the contract.
	expected func(r row) string
	// account, if set, is the account of the header X-Account.
	account func(s *stage) person
	// door, if set, sends the request in another way than REST.
	door func(s *stage, r row, what request) servertest.Answer
	// unverified requires the stage with an unverified seller.
	unverified bool
	// outside means that the caller may learn nothing about the record.
	outside bool
}

func (r row) token(answer string) string {
	if r.sessionOnly {
		return sessionRequired
	}
	return answer
}

// unlessPublic is the response to callers without a valid credential.
func (r row) unlessPublic(answer string) string {
	if r.public {
		return r.owner
	}
	return answer
}

func (r row) scopes(wanted bool) warranty.Scopes {
	var list warranty.Scopes
	for _, scope := range warranty.AllScopes {
		if (scope == r.scope) == wanted {
			list = append(list, scope)
		}
	}
	return list
}

func bySession(who func(*stage) person) func(*stage, row) (string, func()) {
	return func(s *stage, _ row) (string, func()) { return s.session(who(s).User, time.Hour).session, nil }
}

func byToken(who func(*stage) person, lifetime time.Duration, revoked bool) func(*stage, row) (string, func()) {
	return func(s *stage, _ row) (string, func()) {
		key, _ := s.token(who(s).User, warranty.AllScopes, lifetime, revoked)
		return key, nil
	}
}

func theOwner(s *stage) person    { return s.ownerIs }
func theIssuer(s *stage) person   { return s.issuerIs }
func theSeller(s *stage) person   { return s.sellerIs }
func theStranger(s *stage) person { return s.strangerIs }

// disabled disables the owner temporarily.
func disabled(secret func(*stage, row) (string, func())) func(*stage, row) (string, func()) {
	return func(s *stage, r row) (string, func()) {
		key, _ := secret(s, r)
		s.execute(`UPDATE users SET disabled_at = 1 WHERE id = $1`, s.key(s.ownerIs.User.ID))
		return key, func() { s.execute(`UPDATE users SET disabled_at = NULL WHERE id = $1`, s.key(s.ownerIs.User.ID)) }
	}
}

var callers = []caller{
	{name: "the owner, by session", secret: bySession(theOwner), expected: func(r row) string { return r.owner }},
	{
		name:     "the owner, by token",
		secret:   byToken(theOwner, time.Hour, false),
		expected: func(r row) string { return r.token(r.owner) },
	},
	{name: "the issuer, by session", secret: bySession(theIssuer), expected: func(r row) string { return r.issuer }},
	{
		name:     "the issuer, by token",
		secret:   byToken(theIssuer, time.Hour, false),
		expected: func(r row) string { return r.token(r.issuer) },
	},
	{name: "the seller, by session", secret: bySession(theSeller), expected: func(r row) string { return r.seller }},
	{
		name:     "the seller, by token",
		secret:   byToken(theSeller, time.Hour, false),
		expected: func(r row) string { return r.token(r.seller) },
	},
	{
		name:     "a stranger, by session",
		secret:   bySession(theStranger),
		outside:  true,
		expected: func(r row) string { return r.stranger },
	},
	{
		name:     "a stranger, by token",
		secret:   byToken(theStranger, time.Hour, false),
		outside:  true,
		expected: func(r row) string { return r.token(r.stranger) },
	},
	{
		name:       "a seller whose address is not verified, by session",
		secret:     bySession(theSeller),
		unverified: true,
		outside:    true,
		expected:   func(r row) string { return r.stranger },
	},
	{
		name:       "a seller whose address is not verified, by token",
		secret:     byToken(theSeller, time.Hour, false),
		unverified: true,
		outside:    true,
		expected:   func(r row) string { return r.token(r.stranger) },
	},

	{
		name:     "anonymous",
		outside:  true,
		secret:   func(*stage, row) (string, func()) { return "", nil },
		expected: func(r row) string { return r.unlessPublic(missing) },
	},
	{
		name:     "an unknown session",
		outside:  true,
		secret:   func(s *stage, _ row) (string, func()) { return secret(s.T, warranty.SessionSecret), nil },
		expected: func(r row) string { return r.unlessPublic(invalid) },
	},
	{
		name:     "an unknown token",
		outside:  true,
		secret:   func(s *stage, _ row) (string, func()) { return secret(s.T, warranty.TokenSecret), nil },
		expected: func(r row) string { return r.unlessPublic(invalid) },
	},
	{
		name:     "the owner, by a session that has ended",
		outside:  true,
		expected: func(r row) string { return r.unlessPublic(sessionExpired) },
		secret:   func(s *stage, _ row) (string, func()) { return s.session(s.ownerIs.User, -time.Second).session, nil },
	},
	{
		name:     "the owner, by a token that has expired",
		secret:   byToken(theOwner, -time.Second, false),
		outside:  true,
		expected: func(r row) string { return r.unlessPublic(tokenExpired) },
	},
	{
		name:     "the owner, by a token that was revoked",
		secret:   byToken(theOwner, time.Hour, true),
		outside:  true,
		expected: func(r row) string { return r.unlessPublic(tokenRevoked) },
	},
	{name: "the owner, signed out", outside: true, expected: func(r row) string { return r.unlessPublic(invalid) },
		secret: func(s *stage, _ row) (string, func()) {
			p := s.session(s.ownerIs.User, time.Hour)
			s.write(func(tx *store.Tx) error { return tx.DeleteSession(p.CredentialID) })
			return p.session, nil
		}},
	{
		name:     "the owner, disabled, by session",
		secret:   disabled(bySession(theOwner)),
		outside:  true,
		expected: func(r row) string { return r.unlessPublic(invalid) },
	},
	{
		name:     "the owner, disabled, by token",
		secret:   disabled(byToken(theOwner, time.Hour, false)),
		outside:  true,
		expected: func(r row) string { return r.unlessPublic(invalid) },
	},
	{name: "the owner, by a token with all scopes but the one",
		secret: func(s *stage, r row) (string, func()) {
			key, _ := s.token(s.ownerIs.User, r.scopes(false), time.Hour, false)
			return key, nil
		},
		expected: func(r row) string {
			if r.scope != "" {
				return insufficientScope
			}
			return r.token(r.owner)
		}},
	{name: "the owner, by a token with no scope but the one",
		secret: func(s *stage, r row) (string, func()) {
			key, _ := s.token(s.ownerIs.User, r.scopes(true), time.Hour, false)
			return key, nil
		},
		expected: func(r row) string { return r.token(r.owner) }},
}

func TestEverybodyTriesEverything(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		cells, refused := 0, 0
		for _, unverified := range []bool{false, true} {
			var s *stage
			for _, r := range slices.Concat(rows, organizationRows) {
				for _, c := range callers {
					if c.unverified != unverified || !w.tries(r.operation, r.variant, c.name) {
						continue
					}
					if s == nil {
						w.empty()
						s = newStage(w, unverified)
						s.addOrganization()
					}
					cells++
					if !s.try(t, r, c) {
						refused++
					} else if r.request(s).Method != "GET" {
						s = nil // the stage was changed
					}
				}
			}
		}
		t.Logf("%d cells, %d refused", cells, refused)
	}, busy)
}

// try runs one cell and reports whether the caller was allowed.
func (s *stage) try(t *testing.T, r row, c caller) bool {
	t.Helper()
	key, after := c.secret(s, r)
	if after != nil {
		defer after()
	}
	what := r.request(s)
	what.Secret = key
	if c.account != nil {
		what.Header = maps.Clone(what.Header)
		if what.Header == nil {
			what.Header = map[string]string{}
		}
		what.Header["X-Account"] = c.account(s).User.ID.String()
	}
	want := c.expected(r)
	if c.unverified && r.unverified != "" && want == r.stranger {
		want = r.unverified
	}
	var before map[string]string
	if want >= "400" {
		before = s.snapshot()
	}
	door := s.Do
	if c.door != nil {
		door = func(what request) servertest.Answer { return c.door(s, r, what) }
	}
	answer := door(what)
	got := fmt.Sprint(answer.Status)
	if answer.Status >= 400 {
		got += " " + answer.Code()
	}
	if before != nil {
		if tables := changed(before, s.snapshot()); tables != nil {
			t.Errorf("%s %s, tried by %s: should be refused, and changed %s", r.operation, r.variant, c.name,
				strings.Join(tables, ", "))
		}
	}
	if got != want {
		t.Errorf("%s %s, tried by %s: %s, want %s: %s", r.operation, r.variant, c.name, got, want, answer.Body)
	}
	s.checkSecrets(t, r, c, answer)
	if c.outside && !r.tells {
		for _, private := range []string{
			canary, s.record.ID.String(), string(s.record.ReferenceNumber), s.claimed.ID.String(),
			string(s.claimed.ClaimNumber), s.paper.ID.String(), s.paper.SHA256,
		} {
			if strings.Contains(answer.Body, private) && !(r.echoes && private == s.claimed.ID.String()) {
				t.Errorf("%s %s, tried by %s, tells %q: %s", r.operation, r.variant, c.name, private, answer.Body)
			}
		}
	}
	return answer.Status < 400
}

// checkSecrets checks that a response contains no secrets.
func (s *stage) checkSecrets(t *testing.T, r row, c caller, answer servertest.Answer) {
	t.Helper()
	hidden := map[string]string{
		"a password's hash":      passwordHash(t, s.world),
		"where a file is":        s.storageKey,
		"another user's session": s.issuerIs.session,
	}
	decides := strings.HasPrefix(c.name, "the issuer") || strings.HasPrefix(c.name, "the seller")
	if !strings.HasPrefix(c.name, "the owner") && !(decides && strings.HasPrefix(r.operation, "claims.")) &&
		!slices.Contains([]string{"members.list", "claims.handling", "claims.assign"}, r.operation) { // colleagues and deciders see it
		hidden["the owner's address"] = s.ownerIs.User.Email
	}
	text := answer.Body + fmt.Sprint(answer.Header)
	for what, value := range hidden {
		if strings.Contains(text, value) {
			t.Errorf("%s %s, tried by %s: the answer holds %s", r.operation, r.variant, c.name, what)
		}
	}
}

// documented returns the operations of the OpenAPI document: method and path by name.
func documented(t testing.TB) map[string]request {
	t.Helper()
	text, err := describe.OpenAPI(servertest.PublicURL, describe.Version)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	list := map[string]request{}
	for path, methods := range doc.Paths {
		for method, text := range methods {
			var operation struct{ OperationID string }
			if json.Unmarshal(text, &operation) == nil && operation.OperationID != "" {
				list[operation.OperationID] = request{Method: strings.ToUpper(method), Path: path}
			}
		}
	}
	return list
}

// TestEverythingIsInTheMatrix: every operation needs a row, with its scope and the
// response to each role.
func TestEverythingIsInTheMatrix(t *testing.T) {
	in := map[string]bool{}
	for _, r := range slices.Concat(rows, organizationRows) {
		in[r.operation] = true
	}
	known := documented(t)
	for _, op := range api.Operations() {
		if known[op.Name].Path != op.Route() {
			t.Errorf("the OpenAPI document does not have %s", op.Name)
		}
		if !in[op.Name] {
			t.Errorf("add a row for %s to rows in internal/service/matrix_test.go. If every role gets the same response:\n%s",
				op.Name, newRow(op))
			in[op.Name] = true
		}
	}
	for name, what := range known {
		if strings.HasPrefix(what.Path, "/api/") && !in[name] {
			t.Errorf("%s (%s %s) has no row in the matrix: who may do it?", name, what.Method, what.Path)
		}
	}
	for name := range in {
		if known[name].Path == "" {
			t.Errorf("the matrix has a row for %s, which is not an operation", name)
		}
	}
}

// newRow returns the source of a row for the operation.
func newRow(op *api.Spec) string {
	access := ""
	switch {
	case op.Auth == api.Public:
		access = "public: true, "
	case op.Auth == api.SessionOnly:
		access = "sessionOnly: true, "
	case op.Scope != "":
		access = fmt.Sprintf("scope: %q, ", op.Scope)
	}
	request := fmt.Sprintf("get(%q)", op.Route())
	if op.Method != http.MethodGet {
		request = fmt.Sprintf("send(%q, %q, nil)", op.Method, op.Route())
	}
	kind := "allRoles"
	if strings.Contains(op.Path, "{id}") {
		kind = "involved"
	}
	return fmt.Sprintf("\t%s(row{operation: %q, %srequest: %s}, \"%d\"),", kind, op.Name, access, request, op.Status)
}

// TestEveryOperationIsBound compares Service.Operations with the operation table.
func TestEveryOperationIsBound(t *testing.T) {
	bound := map[*api.Spec]bool{}
	for _, op := range (&service.Service{}).Operations() {
		bound[op.Spec] = true
	}
	for _, op := range api.Operations() {
		if name := op.In.Name(); !bound[op] {
			t.Errorf("add api.Bind(api.%s, s.%s) to the list at the top of its file in internal/service", name, name)
		}
	}
}

// TestNothingIsOpenByAccident calls every route without a credential.
func TestNothingIsOpenByAccident(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servertest.SQLite(t), busy)
	w.Client.Transport = http.DefaultTransport // not everything that is probed is documented
	isOpen := map[string]bool{}
	for _, name := range open {
		isOpen[name] = true
	}
	some := w.Service.NewID().String()
	probes := documented(t)
	for _, op := range api.Operations() {
		probes[op.Name] = request{Method: op.Method, Path: op.Route()}
	}
	for _, path := range []string{
		"/api/", "/api/v1", "/api/v1/", "/api/v1/users", "/api/v2/warranties", "/api/admin", "/api/mcp",
		"/api/account/",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH"} {
			probes[method+" "+path] = request{Method: method, Path: path}
		}
	}
	before := w.snapshot()
	for name, probe := range probes {
		probe.Path = braces.ReplaceAllString(probe.Path, some)
		if probe.Method != "GET" {
			probe.Body = "{}"
		}
		answer := w.Do(probe)
		switch refused := answer.Status == http.StatusUnauthorized; {
		case refused == isOpen[name] && !(name == "auth.sign_in" && refused):
			t.Errorf("%s %s without a credential: %d %s", probe.Method, probe.Path, answer.Status, answer.Body)
		case refused && answer.Header.Get("WWW-Authenticate") == "":
			t.Errorf("%s %s: a 401 that does not say how to authenticate", probe.Method, probe.Path)
		}
	}
	if tables := changed(before, w.snapshot()); tables != nil {
		t.Errorf("the probes changed %v", tables)
	}
}
