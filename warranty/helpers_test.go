package warranty_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// random is a deterministic stream of bytes, so that tests are reproducible.
func random() *rand.ChaCha8 { return rand.NewChaCha8([32]byte{'w', 'a', 'r', 'r', 'a', 'n', 't', 'y'}) }

// must panics on an error. It is for the test's own values.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// codeOf returns the code of an error, or "" for nil.
func codeOf(t *testing.T, err error) warranty.Code {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *warranty.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T is not a *warranty.Error: %v", err, err)
	}
	return e.Code
}

// faults lists the field errors in err as "field code", in order.
func faults(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *warranty.Error
	if !errors.As(err, &e) || e.Code != warranty.ValidationFailed {
		t.Fatalf("not a validation error: %v", err)
	}
	var list []string
	for _, f := range e.Fields {
		if f.Message == "" {
			t.Errorf("%s %s has no message", f.Field, f.Code)
		}
		list = append(list, f.Field+" "+f.Code)
	}
	slices.Sort(list)
	return list
}

// expectFaults compares the field errors in err with want.
func expectFaults(t *testing.T, err error, want ...string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, faults(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// roleSets returns the eight possible sets of roles.
func roleSets() []warranty.Roles {
	var sets []warranty.Roles
	for mask := range int64(8) {
		sets = append(sets, warranty.RolesOf(mask))
	}
	return sets
}
