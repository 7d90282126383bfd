// Package api declares every operation of the service once. REST routes, MCP
// tools, commands, the Go client and the documents that describe them are loops
// over this table, so they can not disagree.
package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"warranty.example/svc/warranty"
)

// Base is the part of the address before an operation's path.
type Base string

// The bases: V1 is the versioned one, Host is for calls that carry no version.
const (
	V1   Base = "/api/v1"
	Host Base = "/api"
)

// Auth is the credential that an operation takes.
type Auth uint8

// The kinds of Auth. The zero value is none of them, so a forgotten one is refused at start-up.
const (
	Credential  Auth = iota + 1 // a token or a session
	SessionOnly                 // a signed-in session
	Public                      // nothing
)

// Spec is what is known of an operation without knowing its types.
type Spec struct {
	Name    string // noun.verb: "warranties.update"
	Method  string
	Base    Base
	Path    string // relative to the base: "/warranties/{id}"
	Auth    Auth
	Scope   warranty.Scope // what a token must have been granted, if anything
	Tool    string         // name of the MCP tool, if it is one
	Summary string
	Status  int // of success
	// Location is the path, relative to the base, of what the operation creates.
	Location string
	// ReadOnly marks a POST that changes nothing, so that a client may repeat it.
	ReadOnly bool
	// BodyOptional lets a request whose body fields are all optional have no body.
	BodyOptional bool
	// Errors are the refusals beyond those that every operation of its kind can give.
	Errors []warranty.Code

	Params  []Param
	In, Out reflect.Type
	byName  map[string]int
}

// Op is an operation with its types: In is its parameters, Out is its answer.
type Op[In, Out any] struct{ *Spec }

// define completes a declaration with what reflection finds in its types, once.
func define[In, Out any](s Spec) Op[In, Out] {
	s.In, s.Out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	s.Params = params(s.In)
	s.byName = make(map[string]int, len(s.Params))
	for i, p := range s.Params {
		s.byName[p.Name] = i
		// Where nothing is there yet, null is the same as leaving a field out. A change
		// says which fields it can empty.
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
	return Op[In, Out]{&s}
}

// Route is the operation's whole path, with its parameters in braces.
func (s *Spec) Route() string { return string(s.Base) + s.Path }

// HasBody tells whether any parameter comes in the body.
func (s *Spec) HasBody() bool {
	for _, p := range s.Params {
		if p.In == Body {
			return true
		}
	}
	return false
}

// HasCommand tells whether the operation is a command of svc: an integration token
// may perform it, and every parameter can be a flag.
func (s *Spec) HasCommand() bool {
	for _, p := range s.Params {
		if p.Type.Kind() == reflect.Slice && p.Type.Elem().Kind() != reflect.String {
			return false
		}
	}
	return s.Auth == Credential
}

// Paged tells whether the answer is a page of a list.
func (s *Spec) Paged() bool {
	_, ok := reflect.Zero(s.Out).Interface().(interface{ Paged() warranty.Pagination })
	return ok
}

// Refusals lists every code that the operation can answer with.
func (s *Spec) Refusals() []warranty.Code {
	list := []warranty.Code{warranty.MalformedRequest, warranty.NotAcceptable, warranty.ValidationFailed, warranty.IPThrottled, warranty.Internal, warranty.Unavailable}
	add := func(codes ...warranty.Code) { list = append(list, codes...) }
	if s.Auth != Public {
		add(warranty.MissingCredential, warranty.InvalidCredential, warranty.TokenExpired, warranty.TokenRevoked,
			warranty.SessionExpired, warranty.RateLimited)
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

// Allow is nil when the principal's credential may be used for the operation. It
// is the only scope check there is.
func (s *Spec) Allow(p warranty.Principal) error {
	switch {
	case s.Auth == Public:
		return nil
	case p.Credential == warranty.Anonymous:
		return warranty.Refuse(warranty.MissingCredential, "Send an integration token in the x-api-key header.")
	case s.Auth == SessionOnly && p.Credential != warranty.BySession:
		return warranty.Refuse(warranty.SessionRequired, "Integration tokens can not do this: sign in, and send the session as Authorization: Bearer.")
	case s.Scope != "" && !p.Scopes.Has(s.Scope):
		return warranty.Refuse(warranty.InsufficientScope, "This token lacks the scope "+string(s.Scope)+"; generate one that has it.")
	}
	return nil
}

// Bound is an operation with somebody who performs it: the service in this
// process, or a client that calls one elsewhere.
type Bound struct {
	*Spec
	call func(ctx context.Context, p warranty.Principal, in any) (any, error)
}

// Bind joins an operation and the function that performs it.
func Bind[In, Out any](op Op[In, Out], fn func(context.Context, warranty.Principal, In) (Out, error)) Bound {
	return Bound{Spec: op.Spec, call: func(ctx context.Context, p warranty.Principal, in any) (any, error) {
		return fn(ctx, p, *in.(*In))
	}}
}

// Relayed is the answer of a service elsewhere: what this program knows of it, and
// the body as it came, which may hold fields that this program does not know.
type Relayed struct {
	Value any
	Body  []byte
}

// Relay joins an operation and a function that asks a service elsewhere. in is a
// pointer to the operation's In.
func Relay(s *Spec, ask func(ctx context.Context, in any) (Relayed, error)) Bound {
	return Bound{Spec: s, call: func(ctx context.Context, _ warranty.Principal, in any) (any, error) { return ask(ctx, in) }}
}

// Do performs the operation for the principal. The input is what Decode made.
func (b Bound) Do(ctx context.Context, p warranty.Principal, in any) (any, error) {
	if err := b.Allow(p); err != nil {
		return nil, err
	}
	return b.call(ctx, p, in)
}
