// Package api declares every operation of the service once. REST routes, MCP tools,
// CLI commands, the Go client and the API documentation are generated from this
// table, so they cannot disagree.
package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"warranty.example/svc/warranty"
)

// Base is the URL prefix of an operation's path.
type Base string

// The bases. V1 is versioned, Host is not.
const (
	V1   Base = "/api/v1"
	Host Base = "/api"
)

// Auth is the credential that an operation requires.
type Auth uint8

// The kinds of Auth. The zero value is invalid, so a missing Auth panics at startup.
const (
	Credential  Auth = iota + 1 // a token or a session
	SessionOnly                 // a session
	Public                      // none
)

// Spec describes an operation without its Go types.
type Spec struct {
	Name    string // noun.verb, such as "warranties.update"
	Method  string
	Base    Base
	Path    string // relative to Base, such as "/warranties/{id}"
	Auth    Auth
	Scope   warranty.Scope // scope that a token needs, if any
	Tool    string         // name of the MCP tool, if any
	Summary string
	// ToolDoc describes the tool to a model. Without it, Summary does.
	ToolDoc string
	// ToolFields are the fields that the tool of a list returns unless a call selects
	// others. Models pay for every word that they read.
	ToolFields []string
	Status     int // HTTP status of success
	// Location is the path of the created record, relative to Base.
	Location string
	// ReadOnly marks a POST that changes nothing and can be retried.
	ReadOnly bool
	// Destructive marks a POST that can end something that exists, as PUT and DELETE can.
	Destructive bool
	// Idempotent marks a POST whose repetition has no further effect.
	Idempotent bool
	// Emails marks an operation that can email people who have no account.
	Emails bool
	// Items allows a body that is a JSON array or newline-delimited JSON instead of an object with items.
	Items bool
	// BodyOptional allows a request without a body.
	BodyOptional bool
	// LacksTwoStep allows the operation to people who still have to turn on two-step sign-in.
	LacksTwoStep bool
	// ByPerson lists fields that only a person can correct, on the page /warranties/{id}/correct.
	ByPerson []string
	// Errors lists codes beyond those that Refusals derives from the other fields.
	Errors []warranty.Code

	Params  []Param
	In, Out reflect.Type
	byName  map[string]int
}

// Op is an operation with the Go types of its input and its result.
type Op[In, Out any] struct{ *Spec }

// define completes a declaration with what it derives from the types.
func define[In, Out any](s Spec) Op[In, Out] {
	s.In, s.Out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	s.Params = params(s.In)
	s.byName = make(map[string]int, len(s.Params))
	for i, p := range s.Params {
		s.byName[p.Name] = i
		if p.Type == fieldNames {
			s.Params[i].Enum = s.selectable()
		}
		// Outside PUT, null is the same as omitting a field. In PUT, null clears the fields
		// that allow it.
		s.Params[i].Nullable = p.In == Body && !p.Required && (p.Nullable || s.Method != http.MethodPut)
	}
	if s.Auth == 0 {
		panic("api: " + s.Name + " does not say which credential it takes")
	}
	if s.Status == 0 {
		s.Status = http.StatusOK
		if s.Out == reflect.TypeFor[warranty.None]() {
			s.Status = http.StatusNoContent
		}
	}
	declared = append(declared, &s)
	return Op[In, Out]{&s}
}

// declared lists every Spec that define has made, for the test of the table.
var declared []*Spec

// Reads reports whether the operation changes nothing.
func (s *Spec) Reads() bool { return s.Method == http.MethodGet || s.ReadOnly }

// Destroys reports whether the operation can change or end something that exists.
func (s *Spec) Destroys() bool {
	return s.Destructive || s.Method == http.MethodPut || s.Method == http.MethodDelete
}

// Repeats reports whether a repetition of the operation has no further effect.
func (s *Spec) Repeats() bool { return s.Method != http.MethodPost || s.ReadOnly || s.Idempotent }

// Route returns the full path, with parameters in braces.
func (s *Spec) Route() string { return string(s.Base) + s.Path }

// HasBody reports whether any parameter is in the body.
func (s *Spec) HasBody() bool {
	for _, p := range s.Params {
		if p.In == Body {
			return true
		}
	}
	return false
}

// HasCommand reports whether the operation is a CLI command: integration tokens can
// perform it, or it manages organizations or their products, and every parameter can be a flag.
func (s *Spec) HasCommand() bool {
	for _, p := range s.Params {
		if p.Type.Kind() == reflect.Slice && p.Type.Elem().Kind() != reflect.String {
			return false
		}
	}
	group, _, _ := strings.Cut(s.Name, ".")
	switch group {
	case "organizations", "members", "invitations", "addresses", "products":
		return true
	}
	return s.Auth == Credential
}

// Paged reports whether the result is a page of a list.
func (s *Spec) Paged() bool {
	_, ok := reflect.Zero(s.Out).Interface().(interface{ Paged() warranty.Pagination })
	return ok
}

// Record returns the type of the record in the result: that of the elements of a page.
func (s *Spec) Record() reflect.Type {
	if data, ok := s.Out.FieldByName("Data"); ok && s.Paged() {
		return data.Type.Elem()
	}
	return s.Out
}

// FeedOnly reports whether the result is always a list of changes.
func (s *Spec) FeedOnly() bool { return s.ListsChanges() && !s.takes("page") }

// ListsChanges reports whether the result can be a list of changes.
func (s *Spec) ListsChanges() bool { return s.takes("after") }

// ActsForAccount reports whether the operation is on records or tokens of the account that the caller acts
// for. Others are about the person, or name an organization in their path.
func (s *Spec) ActsForAccount() bool {
	group, _, _ := strings.Cut(s.Name, ".")
	switch group {
	case "warranties", "claims", "bulk", "documents", "transfers", "confirmations", "sellers", "handovers", "customers",
		"products", "replies", "reminders", "trash", "tokens":
		return s.Auth != Public
	}
	return s.Name == "auth.status"
}

// TakesFields reports whether a call can select the fields of the records in the result.
func (s *Spec) TakesFields() bool { return s.takes("fields") }

func (s *Spec) takes(param string) bool { _, ok := s.byName[param]; return ok }

// Refusals lists every error code that the operation can return.
func (s *Spec) Refusals() []warranty.Code {
	list := []warranty.Code{
		warranty.MalformedRequest, warranty.NotAcceptable, warranty.ValidationFailed,
		warranty.IPThrottled, warranty.Internal, warranty.Unavailable,
	}
	add := func(codes ...warranty.Code) { list = append(list, codes...) }
	if s.Auth != Public {
		add(warranty.MissingCredential, warranty.InvalidCredential, warranty.TokenExpired, warranty.TokenRevoked,
			warranty.SessionExpired, warranty.RateLimited, warranty.AccountNotAllowed)
		if !s.LacksTwoStep {
			add(warranty.TwoStepRequired)
		}
		if !s.Reads() {
			add(warranty.RoleNotAllowed) // viewers of an organization
		}
	}
	if s.Auth == SessionOnly {
		add(warranty.SessionRequired)
	}
	if s.Scope != "" {
		add(warranty.InsufficientScope)
	}
	if s.HasBody() {
		add(warranty.BodyTooLarge, warranty.UnsupportedMediaType)
	}
	if strings.Contains(s.Path, "{") {
		add(warranty.NotFound)
	}
	add(s.Errors...)
	var ordered []warranty.Code
	for _, info := range warranty.Codes() {
		for _, c := range list {
			if c == info.Code {
				ordered = append(ordered, c)
				break
			}
		}
	}
	return ordered
}

// ErrTwoStepRequired refuses people who still have to turn on two-step sign-in.
var ErrTwoStepRequired = warranty.Refuse(warranty.TwoStepRequired,
	"This service requires two-step sign-in. Turn it on in your settings under Sign-in and security.")

// Allow returns nil if the principal's credential may be used for the operation. It is
// the only scope check.
func (s *Spec) Allow(p warranty.Principal) error {
	switch {
	case s.Auth == Public:
		return nil
	case p.Credential == warranty.Anonymous:
		return warranty.Refuse(warranty.MissingCredential,
			"No credential was sent. Send an integration token in the x-api-key header.")
	case s.Auth == SessionOnly && p.Credential != warranty.BySession:
		return warranty.Refuse(warranty.SessionRequired,
			"Integration tokens cannot do this. Sign in and send the session as Authorization: Bearer.")
	case p.LacksTwoStep && !s.LacksTwoStep:
		return ErrTwoStepRequired
	case s.Scope != "" && !p.Scopes.Has(s.Scope):
		return warranty.Refuse(warranty.InsufficientScope,
			"This token does not have the scope %s. Use a token that has it.", s.Scope)
	}
	return nil
}

// Bound is an operation with its implementation: the service in this process, or a
// client of a remote one.
type Bound struct {
	*Spec
	call func(ctx context.Context, p warranty.Principal, in any) (any, error)
}

// Bind returns op with fn as its implementation.
func Bind[In, Out any](op Op[In, Out], fn func(context.Context, warranty.Principal, In) (Out, error)) Bound {
	return Bound{Spec: op.Spec, call: func(ctx context.Context, p warranty.Principal, in any) (any, error) {
		return fn(ctx, p, *in.(*In))
	}}
}

// Relayed is the result of a remote service: the decoded value, and the original body,
// which may have fields that this version does not know.
type Relayed struct {
	Value any
	Body  []byte
	Today warranty.Date // of the remote service, or 0 if it did not say
}

// Relay returns the operation with call, which sends it to a remote service, as its
// implementation. in is a pointer to the operation's In.
func Relay(s *Spec, call func(ctx context.Context, in any) (Relayed, error)) Bound {
	return Bound{Spec: s, call: func(ctx context.Context, _ warranty.Principal, in any) (any, error) {
		return call(ctx, in)
	}}
}

// Do performs the operation for the principal. in is a result of Decode.
func (b Bound) Do(ctx context.Context, p warranty.Principal, in any) (any, error) {
	if err := b.Allow(p); err != nil {
		return nil, err
	}
	out, err := b.call(ctx, p, in)
	if errors.Is(err, warranty.ErrNotFound) {
		err = b.NotFound()
	}
	return out, err
}

// records names the record in the paths of each group of operations.
var records = map[string]string{
	"warranties":    "Warranty",
	"claims":        "Claim",
	"documents":     "Document",
	"tokens":        "Integration token",
	"transfers":     "Warranty or transfer",
	"domains":       "Organization or domain",
	"handovers":     "Warranty or offer",
	"sellers":       "Warranty",
	"confirmations": "Warranty",
	"customers":     "Customer",
	"products":      "Product",

	"organizations": "Organization",
	"brand":         "Organization",
	"members":       "Organization or member",
	"invitations":   "Organization or invitation",
	"addresses":     "Organization or address",
}

// NotFound returns warranty.ErrNotFound with a message that names the record, if the
// path has its ID.
func (s *Spec) NotFound() error {
	group, _, _ := strings.Cut(s.Name, ".")
	if record := records[group]; record != "" && strings.Contains(s.Path, "{id}") {
		return warranty.Refuse(warranty.NotFound, "%s not found.", record)
	}
	return warranty.ErrNotFound
}
