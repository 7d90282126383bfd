package warranty

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Code identifies a kind of error. Codes are stable: clients branch on them.
type Code string

// The codes, ordered by HTTP status.
const (
	MalformedRequest     Code = "malformed_request"
	MissingCredential    Code = "missing_credential"
	InvalidCredential    Code = "invalid_credential"
	TokenExpired         Code = "token_expired"
	TokenRevoked         Code = "token_revoked"
	SessionExpired       Code = "session_expired"
	InsufficientScope    Code = "insufficient_scope"
	SessionRequired      Code = "session_required"
	RoleNotAllowed       Code = "role_not_allowed"
	EmailNotVerified     Code = "email_not_verified"
	AccountNotAllowed    Code = "account_not_allowed"
	SecondFactorRequired Code = "second_factor_required"
	ConfirmationRequired Code = "confirmation_required"
	TwoStepRequired      Code = "two_step_required"
	SSORequired          Code = "sso_required"
	AccountIsDeleted     Code = "account_deleted"
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	NotAcceptable        Code = "not_acceptable"
	TokenLimitReached    Code = "token_limit_reached"
	InvalidTransition    Code = "invalid_transition"
	AlreadyExists        Code = "already_exists"
	LastAdmin            Code = "last_admin"
	InUse                Code = "in_use"
	LastMethod           Code = "last_method"
	IdentityInUse        Code = "identity_in_use"
	BreakGlassRequired   Code = "break_glass_required"
	FileMissing          Code = "file_missing"
	PreconditionFailed   Code = "precondition_failed"
	BodyTooLarge         Code = "body_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	ValidationFailed     Code = "validation_failed"
	InvalidCode          Code = "invalid_code"
	IdempotencyKeyReused Code = "idempotency_key_reused"
	PreconditionRequired Code = "precondition_required"
	RateLimited          Code = "rate_limited"
	IPThrottled          Code = "ip_throttled"
	Internal             Code = "internal"
	Unavailable          Code = "unavailable"
)

// CodeInfo documents a code.
type CodeInfo struct {
	Code   Code
	Status int
	Title  string
	Fix    string
}

// codes is the source of statuses, titles, the OpenAPI document and the error page.
var codes = []CodeInfo{
	{MalformedRequest, http.StatusBadRequest, "Malformed request",
		"Send one valid JSON object without duplicate names, and only one credential."},
	{MissingCredential, http.StatusUnauthorized, "Missing credential",
		"Send an integration token in the x-api-key header, or a session as Authorization: Bearer."},
	{InvalidCredential, http.StatusUnauthorized, "Invalid credential",
		"Check that you copied the whole secret. Integration tokens start with svc_, sessions with svs_."},
	{TokenExpired, http.StatusUnauthorized, "Token expired",
		"Create a new integration token. Rotating a token does not extend its lifetime."},
	{TokenRevoked, http.StatusUnauthorized, "Token revoked",
		"Create a new integration token and replace this one wherever it is used."},
	{SessionExpired, http.StatusUnauthorized, "Session expired",
		"Sign in again."},
	{InsufficientScope, http.StatusForbidden, "Insufficient scope",
		"Use a token that has the scope named in detail."},
	{SessionRequired, http.StatusForbidden, "Session required",
		"Sign in and send the session as Authorization: Bearer. Integration tokens cannot do this."},
	{RoleNotAllowed, http.StatusForbidden, "Role not allowed",
		"Ask a user with a role named in detail to do this."},
	{EmailNotVerified, http.StatusForbidden, "Email address not verified",
		"Request a code with POST /api/auth/verify-email/resend and send it to POST /api/auth/verify-email."},
	{AccountNotAllowed, http.StatusForbidden, "Account not allowed",
		"Send the ID of an organization that you are a member of in X-Account, or leave the header out."},
	{SecondFactorRequired, http.StatusForbidden, "Second step required",
		"Send the flow of this response with totp or recovery_code to POST /api/auth/sessions before expires_at, or sign in with the browser."},
	{ConfirmationRequired, http.StatusForbidden, "Confirmation required",
		"Confirm that it is you with POST /api/auth/confirm, then repeat the request within 15 minutes."},
	{TwoStepRequired, http.StatusForbidden, "Two-step sign-in required",
		"Turn on two-step sign-in in your settings under Security, then try again."},
	{SSORequired, http.StatusForbidden, "Single sign-on required",
		"Sign in with the identity provider of the organization, then try again."},
	{AccountIsDeleted, http.StatusForbidden, "Account deleted",
		"Send the flow of this response to POST /api/auth/restore before expires_at to restore the account and sign in."},
	{NotFound, http.StatusNotFound, "Not found",
		"Check the URL and the ID. Records that you cannot access also return this error."},
	{MethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed",
		"Use one of the methods in the Allow header."},
	{NotAcceptable, http.StatusNotAcceptable, "Not acceptable",
		"Send Accept: application/json."},
	{TokenLimitReached, http.StatusConflict, "Token limit reached",
		"Revoke a token that you no longer use, then try again."},
	{InvalidTransition, http.StatusConflict, "Invalid transition",
		"Change to one of the statuses named in detail."},
	{AlreadyExists, http.StatusConflict, "Already exists",
		"Choose another value, or use the existing record."},
	{LastAdmin, http.StatusConflict, "Last admin",
		"Make another member admin first, or delete the organization."},
	{InUse, http.StatusConflict, "In use",
		"End what detail names, then try again."},
	{LastMethod, http.StatusConflict, "Last way to sign in",
		"Add another way to sign in first, or turn off two-step sign-in."},
	{IdentityInUse, http.StatusConflict, "Identity in use",
		"Remove the identity from the other account first, or link another one."},
	{BreakGlassRequired, http.StatusConflict, "Break-glass admin required",
		"Name another break-glass admin who has two-step sign-in with a passkey, then try again."},
	{FileMissing, http.StatusGone, "File missing",
		"Ask your administrator to restore the file from a backup, or upload the document again."},
	{PreconditionFailed, http.StatusPreconditionFailed, "Precondition failed",
		"Get the record again and repeat the change with its new ETag."},
	{BodyTooLarge, http.StatusRequestEntityTooLarge, "Body too large",
		"Send at most 1 MiB of JSON, or a file of at most 20 MiB."},
	{UnsupportedMediaType, http.StatusUnsupportedMediaType, "Unsupported media type",
		"Send Content-Type: application/json, or multipart/form-data for an upload."},
	{ValidationFailed, http.StatusUnprocessableEntity, "Validation failed",
		"Fix the fields listed in errors. Nothing was changed."},
	{InvalidCode, http.StatusUnprocessableEntity, "Invalid code",
		"Enter the current code, or another way to prove that it is you. Nothing was changed."},
	{IdempotencyKeyReused, http.StatusUnprocessableEntity, "Idempotency key reused",
		"Use a new Idempotency-Key for each new request."},
	{PreconditionRequired, http.StatusPreconditionRequired, "Precondition required",
		"Get the record, and repeat the request with its ETag in If-Match."},
	{RateLimited, http.StatusTooManyRequests, "Rate limited",
		"Wait for the number of seconds in Retry-After or retry_after_seconds, then try again."},
	{IPThrottled, http.StatusTooManyRequests, "Too many requests from this address",
		"Wait for the number of seconds in Retry-After or retry_after_seconds, then try again."},
	{Internal, http.StatusInternalServerError, "Internal error",
		"Try again. If it keeps happening, report the request_id."},
	{Unavailable, http.StatusServiceUnavailable, "Unavailable",
		"Try again after the number of seconds in Retry-After."},
}

var codeIndex = func() map[Code]CodeInfo {
	m := make(map[Code]CodeInfo, len(codes))
	for _, c := range codes {
		m[c.Code] = c
	}
	return m
}()

// Codes lists every code with its documentation.
func Codes() []CodeInfo { return append([]CodeInfo(nil), codes...) }

// Known reports whether this version defines the code. A newer service may send
// others.
func (c Code) Known() bool {
	_, ok := codeIndex[c]
	return ok
}

// Info returns the documentation of the code, or that of Internal if it is unknown.
func (c Code) Info() CodeInfo {
	if i, ok := codeIndex[c]; ok {
		return i
	}
	return codeIndex[Internal]
}

// Error is an error that is reported to the caller. It never contains a secret or the
// invalid value.
type Error struct {
	Code    Code
	Message string
	Parts   *Text // Message with its arguments apart, or nil if it has none
	Fields  []FieldError
	// Wait is how long the caller should wait before retrying.
	Wait time.Duration
	// ExistingID is the conflicting record, if the caller may see it.
	ExistingID *ID
	// SecondStep is set with SecondFactorRequired and, without methods, with AccountIsDeleted.
	SecondStep *SecondStep
}

// FieldError describes an invalid field.
type FieldError struct {
	Field   string `json:"field" doc:"Name of the field or parameter as the caller sent it."`
	Code    string `json:"code" doc:"Stable error code of the field."`
	Message string `json:"message" doc:"What is wrong and how to fix it."`
	Parts   *Text  `json:"-"` // as in Error
}

// Error returns the message and the field errors on one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	b.WriteString(": ")
	b.WriteString(e.Message)
	for _, f := range e.Fields {
		b.WriteString("; ")
		b.WriteString(f.Field)
		b.WriteString(": ")
		b.WriteString(f.Message)
	}
	return b.String()
}

// RetryAfterSeconds returns Wait in whole seconds, rounded up.
func (e *Error) RetryAfterSeconds() int64 { return int64((e.Wait + time.Second - 1) / time.Second) }

// Refuse returns an Error with the code and message.
func Refuse(code Code, format string, args ...any) *Error {
	e := &Error{Code: code}
	e.Message, e.Parts = say(format, args...)
	return e
}

// After sets how long the caller should wait before retrying.
func (e *Error) After(wait time.Duration) *Error {
	e.Wait = wait
	return e
}

// Text returns the message with its arguments apart, to translate it.
func (e *Error) Text() Text { return TextOf(e.Message, e.Parts) }

// Text returns the message with its arguments apart, to translate it.
func (f FieldError) Text() Text { return TextOf(f.Message, f.Parts) }

// AsError returns the Error in err's chain. Without one, a timeout or cancellation
// becomes Unavailable, and any other error becomes Internal without its details.
func AsError(err error) *Error {
	var refusal *Error
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return Refuse(Unavailable, "The request timed out. Try again.").After(time.Second)
	}
	return Refuse(Internal, "Something went wrong. We've logged this error; if it keeps happening, report the request_id.")
}

// ErrNotFound means that a record does not exist or that the caller may not see it.
// Callers cannot tell which.
var ErrNotFound = Refuse(NotFound, "Not found. Check the URL and the ID.")

// Problem is an Error as an RFC 9457 problem object, which REST, MCP and the command
// line share.
type Problem struct {
	Type   string       `json:"type" format:"uri" doc:"URL of the documentation of this code."`
	Title  string       `json:"title" doc:"Short name of the error."`
	Status int          `json:"status" doc:"The HTTP status."`
	Code   Code         `json:"code" doc:"Stable error code."`
	Detail string       `json:"detail" doc:"What is wrong and how to fix it."`
	Parts  *Text        `json:"-"` // as in Error
	Errors []FieldError `json:"errors,omitempty" doc:"All invalid fields."`
	// ExistingID is set only with already_exists.
	ExistingID *ID `json:"existing_id,omitempty" doc:"With already_exists: your record that has this value."`
	// Flow, Methods and FlowExpires are set only with second_factor_required.
	Flow        string         `json:"flow,omitzero" doc:"With second_factor_required: send it with the second step."`
	Methods     []SecondFactor `json:"methods,omitzero" doc:"With second_factor_required: what completes the sign-in. Passkeys need a browser."`
	FlowExpires *time.Time     `json:"expires_at,omitempty" doc:"With second_factor_required: until when the second step is accepted."`
	RequestID   string         `json:"request_id,omitzero" required:"true" doc:"Identifier of the request, for support."`
	// RetryAfterSeconds is for callers that cannot see headers, such as MCP clients.
	RetryAfterSeconds int64 `json:"retry_after_seconds,omitzero" doc:"Seconds to wait before retrying, as in Retry-After."`
}

// Problem returns the error as a problem object of the service at publicURL.
func (e *Error) Problem(publicURL, requestID string) Problem {
	info := e.Code.Info()
	p := Problem{
		Type:              publicURL + "/docs/errors#" + string(info.Code),
		Title:             info.Title,
		Status:            info.Status,
		Code:              info.Code,
		Detail:            e.Message,
		Parts:             e.Parts,
		Errors:            e.Fields,
		ExistingID:        e.ExistingID,
		RequestID:         requestID,
		RetryAfterSeconds: e.RetryAfterSeconds(),
	}
	if step := e.SecondStep; step != nil {
		p.Flow, p.Methods, p.FlowExpires = step.Flow, append([]SecondFactor{}, step.Methods...), &step.ExpiresAt
	}
	return p
}
