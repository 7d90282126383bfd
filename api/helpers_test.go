package api_test

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// must panics on an error. It is for the test's own values.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var (
	someID = must(warranty.ParseID("01935b2e-7c4a-7def-8123-456789abcdef"))
	now    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

const maxRate = 1000

// asSent compares what a request carries.
var asSent = cmpopts.IgnoreUnexported(warranty.CorrectWarranty{})

// withBody returns the operations with a body.
func withBody() []*api.Spec {
	return slices.DeleteFunc(api.Operations(), func(s *api.Spec) bool { return !s.HasBody() })
}

// field returns a parameter's field in an input, which is a pointer to the operation's In.
func field(in any, p api.Param) reflect.Value {
	v := reflect.ValueOf(in).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == p.Name {
			return v.FieldByIndex(f.Index)
		}
	}
	panic("no field " + p.Name)
}

// isText reports whether a parameter is free text.
func isText(p api.Param) bool { return base(p).Kind() == reflect.String && p.Enum == nil }

// base returns a parameter's type without the pointer.
func base(p api.Param) reflect.Type {
	if p.Type.Kind() == reflect.Pointer {
		return p.Type.Elem()
	}
	return p.Type
}

// setText sets a free-text parameter.
func setText(in any, p api.Param, text string) {
	f := field(in, p)
	if f.Kind() == reflect.Pointer {
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	f.SetString(text)
}

// sample returns a valid input with only the required parameters.
func sample(s *api.Spec) any {
	in := reflect.New(s.In).Interface()
	for _, p := range s.Params {
		if !p.Required {
			continue
		}
		f := field(in, p)
		switch {
		case p.Format == "email":
			f.SetString("ada@shop.example")
		case p.Format == "password":
			f.SetString("correct horse battery")
		case p.Enum != nil && f.Kind() == reflect.String:
			f.SetString(p.Example)
		case f.Type() == reflect.TypeFor[*bool]():
			f.Set(reflect.ValueOf(new(true)))
		case f.Kind() == reflect.String:
			f.SetString("WR-7K2M-9QXT-4D8P-HV3A")
		case f.Type() == reflect.TypeFor[[]warranty.LookupItem]():
			f.Set(reflect.ValueOf([]warranty.LookupItem{{ExternalID: "order-1"}}))
		case f.Type() == reflect.TypeFor[[]warranty.BatchItem]():
			f.Set(reflect.ValueOf([]warranty.BatchItem{{Text: []byte(`{}`)}}))
		case f.Type() == reflect.TypeFor[[]warranty.ClaimItem]():
			f.Set(reflect.ValueOf([]warranty.ClaimItem{{ID: someID}}))
		case f.Kind() == reflect.Slice:
			f.Set(reflect.ValueOf([]string{"warranties:read"}))
		case f.Type() == reflect.TypeFor[warranty.Date]():
			f.Set(reflect.ValueOf(warranty.DateOf(now)))
		case f.Type() == reflect.TypeFor[warranty.ID]():
			f.Set(reflect.ValueOf(someID))
		case f.Type() == reflect.TypeFor[warranty.WarrantyKey]():
			f.Set(reflect.ValueOf(warranty.WarrantyKey{ID: someID}))
		case f.Type() == reflect.TypeFor[warranty.ClaimKey]():
			f.Set(reflect.ValueOf(warranty.ClaimKey{ID: someID}))
		default:
			panic("add a value to sample in api/helpers_test.go for " + s.Name + " " + p.Name)
		}
	}
	switch in := in.(type) {
	case *warranty.CreateProduct:
		in.LengthMonths = new(24) // or lifetime
	case *warranty.IssueWarranty:
		in.ProductID, in.CustomerEmail = &someID, "kim@people.example" // or a name and dates, and print
	case *warranty.MergeCustomers:
		in.FromID[0]++ // another one
	}
	return in
}

// roomy returns a sample that accepts every text parameter: a claim accepts those about
// its resolution only if it is resolved.
func roomy(s *api.Spec) any {
	in := sample(s)
	if move, ok := in.(*warranty.MoveClaim); ok {
		move.Status, move.Resolution = warranty.Resolved, warranty.Repaired
	}
	switch in := in.(type) {
	case *warranty.RegisterHandover:
		in.Code = "123456"
	case *warranty.BulkClaims:
		in.Action, in.Resolution = warranty.ResolveClaims, warranty.Repaired
	case *warranty.UpdateWarranty:
		in.Status, in.Price, in.Currency = new(warranty.Void), new("1"), new("EUR")
	case *warranty.CreateWarranty:
		in.Price, in.Currency = "1", "EUR"
	case *warranty.IssueWarranty:
		in.Price, in.Currency = "1", "EUR"
	}
	return in
}

// manyLines lists the parameters that allow line breaks.
var manyLines = []string{
	"warranties.create description", "warranties.issue description",
	"warranties.update status_reason",
	"warranties.correct description", "warranties.correct reason",
	"claims.file description",
	"claims.move reason", "claims.write body", "claims.note body", "replies.create body", "replies.update body",
	"claims.move resolution_note", "bulk.claims message", "bulk.claims resolution_note",
	"products.create terms",
	"products.update terms",
	"customers.add note", "customers.update note",
	"brand.update postal_address",
}

// check runs the check that the service runs first.
func check(in any) error {
	switch in := in.(type) {
	case interface{ Check() error }:
		return in.Check()
	case *warranty.CreateToken:
		return in.Check(now, maxRate)
	}
	return nil
}

// parts returns a request with the body and a valid path.
func parts(body string) api.Parts {
	return api.Parts{Path: func(string) string { return someID.String() }, Header: http.Header{}, Body: []byte(body)}
}

// decodeBody decodes and checks a body.
func decodeBody(s *api.Spec, body string) (any, error) { return checked(s.Decode(parts(body))) }

// decodeQuery decodes and checks a query.
func decodeQuery(s *api.Spec, query string) (any, error) {
	p := parts("")
	p.Query = query
	return checked(s.Decode(p))
}

// decodeArguments decodes and checks the arguments of a tool.
func decodeArguments(s *api.Spec, arguments string) (any, error) {
	return checked(s.DecodeArguments([]byte(arguments)))
}

func checked(in any, err error) (any, error) {
	if err == nil {
		err = check(in)
	}
	return in, err
}

// refusal returns err as a *warranty.Error, or fails the test.
func refusal(t *testing.T, err error) *warranty.Error {
	t.Helper()
	var e *warranty.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T is not a *warranty.Error: %v", err, err)
	}
	return e
}

// expect compares an error with the code and the faults, each "field code". An empty code
// means no error.
func expect(t *testing.T, err error, code warranty.Code, want ...string) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("accepted; want %s %q", code, want)
	}
	e := refusal(t, err)
	var got []string
	for _, f := range e.Fields {
		got = append(got, f.Field+" "+f.Code)
	}
	slices.Sort(got)
	slices.Sort(want)
	if e.Code != code {
		t.Errorf("refused with %s, want %s: %v", e.Code, code, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("the error repeats the input: %v", err)
	}
}

// canary is a value that no error may repeat.
const canary = "cAnArY"

// varied returns n characters without a pattern, the same on every run.
func varied(n int, letters string) string {
	source, runes := rand.NewChaCha8([32]byte{'a', 'p', 'i'}), []rune(letters)
	var b strings.Builder
	for range n {
		b.WriteRune(runes[source.Uint64()%uint64(len(runes))])
	}
	return b.String()
}
