package warranty

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Code names a kind of refusal. Codes are stable: clients branch on them.
type Code string

// The codes, in the order of their HTTP status.
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
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	NotAcceptable        Code = "not_acceptable"
	TokenLimitReached    Code = "token_limit_reached"
	InvalidTransition    Code = "invalid_transition"
	AlreadyExists        Code = "already_exists"
	FileMissing          Code = "file_missing"
	PreconditionFailed   Code = "precondition_failed"
	BodyTooLarge         Code = "body_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	ValidationFailed     Code = "validation_failed"
	IdempotencyKeyReused Code = "idempotency_key_reused"
	RateLimited          Code = "rate_limited"
	IPThrottled          Code = "ip_throttled"
	Internal             Code = "internal"
	Unavailable          Code = "unavailable"
)

// CodeInfo is what the documentation says of a code.
type CodeInfo struct {
	Code   Code
	Status int
	Title  string
	Fix    string
}

// codes is the one table behind statuses, titles, OpenAPI and the error page.
var codes = []CodeInfo{
	{MalformedRequest, http.StatusBadRequest, "Malformed request", "Send one well-formed JSON object with each name once, and one credential only."},
	{MissingCredential, http.StatusUnauthorized, "Missing credential", "Send an integration token in the x-api-key header, or a session as Authorization: Bearer."},
	{InvalidCredential, http.StatusUnauthorized, "Invalid credential", "Check that the whole secret was copied; an integration token begins with svc_, a session with svs_."},
	{TokenExpired, http.StatusUnauthorized, "Token expired", "Generate a new integration token; rotating one does not make it last longer."},
	{TokenRevoked, http.StatusUnauthorized, "Token revoked", "Generate a new integration token and replace this one where it is used."},
	{SessionExpired, http.StatusUnauthorized, "Session expired", "Sign in again."},
	{InsufficientScope, http.StatusForbidden, "Insufficient scope", "Use a token that has the scope named in the detail."},
	{SessionRequired, http.StatusForbidden, "Session required", "Sign in and send the session as Authorization: Bearer; integration tokens can not do this."},
	{RoleNotAllowed, http.StatusForbidden, "Role not allowed", "Ask somebody whose role on this warranty allows it."},
	{EmailNotVerified, http.StatusForbidden, "Email address not verified", "Request a code with POST /api/auth/verify-email/resend and send it to POST /api/auth/verify-email."},
	{NotFound, http.StatusNotFound, "Not found", "Check the address and the id; what belongs to somebody else looks the same as what does not exist."},
	{MethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed", "Use one of the methods in the Allow header."},
	{NotAcceptable, http.StatusNotAcceptable, "Not acceptable", "Accept application/json."},
	{TokenLimitReached, http.StatusConflict, "Token limit reached", "Revoke a token that is no longer used, then try again."},
	{InvalidTransition, http.StatusConflict, "Invalid transition", "Move to one of the statuses named in the detail."},
	{AlreadyExists, http.StatusConflict, "Already exists", "Choose another value, or use the one that exists."},
	{FileMissing, http.StatusGone, "File missing", "Ask the operator to restore the file from a backup, or upload the document again."},
	{PreconditionFailed, http.StatusPreconditionFailed, "Precondition failed", "Read the record again and repeat the change with its new ETag."},
	{BodyTooLarge, http.StatusRequestEntityTooLarge, "Body too large", "Send less: a JSON body has at most 1 MiB, a file at most 20 MiB."},
	{UnsupportedMediaType, http.StatusUnsupportedMediaType, "Unsupported media type", "Send Content-Type: application/json, or multipart/form-data for an upload."},
	{ValidationFailed, http.StatusUnprocessableEntity, "Validation failed", "Fix every field listed in errors. Nothing was changed."},
	{IdempotencyKeyReused, http.StatusUnprocessableEntity, "Idempotency key reused", "Use a new Idempotency-Key for a new request."},
	{RateLimited, http.StatusTooManyRequests, "Rate limited", "Wait for the seconds in Retry-After, or in retry_after_seconds of the problem."},
	{IPThrottled, http.StatusTooManyRequests, "Too many requests from this address", "Wait for the seconds in Retry-After, or in retry_after_seconds of the problem."},
	{Internal, http.StatusInternalServerError, "Internal error", "Try again; when it stays, report the request_id."},
	{Unavailable, http.StatusServiceUnavailable, "Unavailable", "Try again after the seconds in Retry-After."},
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

// Known tells whether this version has the code; a newer service may send others.
func (c Code) Known() bool {
	_, ok := codeIndex[c]
	return ok
}

// Info is the documentation of the code. An unknown one is documented as internal.
func (c Code) Info() CodeInfo {
	if i, ok := codeIndex[c]; ok {
		return i
	}
	return codeIndex[Internal]
}

// Error is the one error type of the service: what was refused, in words that
// say how to fix it. It never holds a secret or the offending value.
type Error struct {
	Code    Code
	Message string
	Fields  []FieldError
	// Wait is how long the caller should wait before it tries again.
	Wait time.Duration
	// ExistingID is the record that is in the way, if the caller may know it.
	ExistingID *ID
}

// FieldError says what is wrong with one field, under the caller's name for it.
type FieldError struct {
	Field   string `json:"field" doc:"Name of the field or parameter as the caller sent it."`
	Code    string `json:"code" doc:"Stable name of what is wrong with it."`
	Message string `json:"message" doc:"What is wrong and how to fix it."`
}

// Error joins the message and the fields into one line.
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

// RetryAfterSeconds is Wait in whole seconds, rounded up: whoever waits for it never
// comes too early.
func (e *Error) RetryAfterSeconds() int64 { return int64((e.Wait + time.Second - 1) / time.Second) }

// Refuse makes an Error of a code and a message.
func Refuse(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// AsError finds the refusal in an error, or makes one of it: a deadline that has
// passed is no fault, and all else is ours and shows nothing.
func AsError(err error) *Error {
	var refusal *Error
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return &Error{Code: Unavailable, Wait: time.Second, Message: "The request took too long and was given up; try again."}
	}
	return Refuse(Internal, "Something went wrong on our side; it was logged under this request_id.")
}

// ErrNotFound is the one answer for what does not exist and for what is not the caller's.
var ErrNotFound = Refuse(NotFound, "There is nothing here that you may see. Check the address and the id.")

// Problem is an Error as RFC 9457 writes it: REST answers, MCP results and the
// command line's stderr all show this object.
type Problem struct {
	Type   string       `json:"type" format:"uri" doc:"Address of this code's documentation."`
	Title  string       `json:"title" doc:"The kind of problem in a few words."`
	Status int          `json:"status" doc:"The HTTP status."`
	Code   Code         `json:"code" doc:"Stable name of the kind of problem."`
	Detail string       `json:"detail" doc:"What is wrong and how to fix it."`
	Errors []FieldError `json:"errors,omitempty" doc:"Every wrong field, all at once."`
	// ExistingID comes with already_exists alone.
	ExistingID *ID    `json:"existing_id,omitempty" doc:"With already_exists: the record of yours that has the value already."`
	RequestID  string `json:"request_id,omitzero" required:"true" doc:"Identifier of the request, for support."`
	// RetryAfterSeconds is for callers that see no headers: a model that calls a tool.
	RetryAfterSeconds int64 `json:"retry_after_seconds,omitzero" doc:"Seconds to wait before trying again, as in Retry-After."`
}

// Problem writes the error as a problem object of the service at publicURL.
func (e *Error) Problem(publicURL, requestID string) Problem {
	info := e.Code.Info()
	return Problem{
		Type: publicURL + "/docs/errors#" + string(info.Code), Title: info.Title, Status: info.Status, Code: info.Code,
		Detail: e.Message, Errors: e.Fields, ExistingID: e.ExistingID, RequestID: requestID, RetryAfterSeconds: e.RetryAfterSeconds(),
	}
}
