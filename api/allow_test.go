package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// The matrix in internal/service/matrix_test.go pins who may use each operation. The
// tests here check that Allow follows the table.

// allowed returns the names of the operations that a principal may use.
func allowed(p warranty.Principal) []string {
	return namesOf(func(s *api.Spec) bool { return s.Allow(p) == nil })
}

// namesOf returns the names of the operations for which the function returns true.
func namesOf(included func(*api.Spec) bool) []string {
	var names []string
	for _, s := range api.Operations() {
		if included(s) {
			names = append(names, s.Name)
		}
	}
	return names
}

// TestAllowToken tries every set of scopes on every operation.
func TestAllowToken(t *testing.T) {
	for mask := range int64(1 << len(warranty.AllScopes)) {
		scopes := warranty.ScopesOf(mask)
		want := namesOf(func(s *api.Spec) bool {
			return s.Auth == api.Public || s.Auth == api.Credential && (s.Scope == "" || slices.Contains(scopes, s.Scope))
		})
		p := warranty.Principal{Credential: warranty.ByToken, Scopes: scopes}
		if diff := cmp.Diff(want, allowed(p)); diff != "" {
			t.Errorf("a token with %v may use (-want +got):\n%s", scopes, diff)
		}
	}
}

func TestAllowOthers(t *testing.T) {
	public := namesOf(func(s *api.Spec) bool { return s.Auth == api.Public })
	for name, tc := range map[string]struct {
		principal warranty.Principal
		want      []string
	}{
		"anonymous": {warranty.Principal{}, public},
		// Scopes of an anonymous principal have no effect.
		"anonymous with scopes": {warranty.Principal{Scopes: warranty.AllScopes}, public},
		"session": {warranty.Principal{Credential: warranty.BySession, Scopes: warranty.AllScopes},
			namesOf(func(*api.Spec) bool { return true })},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, allowed(tc.principal)); diff != "" {
				t.Errorf("may use (-want +got):\n%s", diff)
			}
		})
	}
}

// TestScopesFitTheOperation checks that a scope names the record in the path, and that
// operations which change something do not have a read scope.
func TestScopesFitTheOperation(t *testing.T) {
	for _, s := range api.Operations() {
		if s.Scope == "" {
			continue
		}
		group, _, _ := strings.Cut(s.Name, ".")
		if group == "confirmations" || group == "sellers" || group == "handovers" || group == "customers" || group == "products" {
			group = "warranties"
		}
		want := group + ":write"
		if s.Name == "confirmations.list" {
			// It shows records on which the account has no role.
		} else if s.Method == http.MethodGet || s.ReadOnly {
			want = group + ":read"
		}
		if string(s.Scope) != want {
			t.Errorf("%s has the scope %s, want %s", s.Name, s.Scope, want)
		}
	}
}

// TestTableIsComplete fails if an operation is declared and not in the table.
func TestTableIsComplete(t *testing.T) {
	for _, s := range api.Declared() {
		if s != api.VerifyPublicly.Spec && s != api.VerifyProduct.Spec && !slices.Contains(api.Operations(), s) {
			t.Errorf("add %s.Spec to the list at the end of its file in api", s.In.Name())
		}
	}
}

func TestAllowSaysWhy(t *testing.T) {
	token := warranty.Principal{Credential: warranty.ByToken, Scopes: warranty.AllScopes}
	for _, s := range api.Operations() {
		t.Run(s.Name, func(t *testing.T) {
			if s.Auth == api.Public {
				expect(t, s.Allow(warranty.Principal{}), "")
				return
			}
			expect(t, s.Allow(warranty.Principal{}), warranty.MissingCredential)
			if s.Auth == api.SessionOnly {
				expect(t, s.Allow(token), warranty.SessionRequired)
			}
			if s.Scope != "" {
				err := s.Allow(warranty.Principal{Credential: warranty.ByToken})
				expect(t, err, warranty.InsufficientScope)
				if !strings.Contains(err.Error(), string(s.Scope)) {
					t.Errorf("%v does not name the scope %s", err, s.Scope)
				}
			}
		})
	}
}

// TestDo checks that Do calls the implementation only for principals that Allow permits.
func TestDo(t *testing.T) {
	calls := 0
	bound := api.Bind(api.GetWarranty, func(_ context.Context, p warranty.Principal,
		in warranty.GetWarranty) (warranty.Warranty, error) {
		calls++
		if !p.Scopes.Has(warranty.WarrantiesRead) {
			t.Errorf("called for %+v", p)
		}
		return warranty.Warranty{ID: in.ID.ID}, nil
	})
	in := &warranty.GetWarranty{ID: warranty.WarrantyKey{ID: someID}}
	out, err := bound.Do(t.Context(), warranty.Principal{Credential: warranty.ByToken,
		Scopes: warranty.Scopes{warranty.WarrantiesRead}}, in)
	if err != nil || out.(warranty.Warranty).ID != someID {
		t.Errorf("Do = %v, %v", out, err)
	}
	for _, p := range []warranty.Principal{{}, {Credential: warranty.ByToken,
		Scopes: warranty.Scopes{warranty.WarrantiesWrite, warranty.ClaimsRead, warranty.DocumentsRead}}} {
		if _, err := bound.Do(t.Context(), p, in); err == nil {
			t.Errorf("Do for %+v gave no error", p)
		}
	}
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
}
