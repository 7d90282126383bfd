package api_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// grants maps each scope to the operations that it allows, by interface.md and the
// contract.
var grants = map[warranty.Scope]string{
	"warranties:read":  "warranties.list warranties.get warranties.lookup warranties.verify",
	"warranties:write": "warranties.create warranties.update warranties.delete",
	"claims:read":      "claims.list claims.get",
	"documents:read":   "documents.list documents.get",
}

// Of the rest, these need any credential, a session, or none.
const (
	anyCredential = "auth.status"
	sessionOnly   = "tokens.create tokens.list tokens.get tokens.rotate tokens.revoke tokens.history tokens.requests " +
		"claims.file claims.move documents.delete transfers.offer transfers.cancel transfers.accept warranties.history " +
		"auth.sign_out auth.verify_email auth.send_verification auth.change_password account.get account.update"
	public = "auth.register auth.sign_in auth.request_code auth.request_password_reset auth.reset_password"
)

// allowed returns the sorted names of the operations that a principal may use.
func allowed(p warranty.Principal) []string {
	var names []string
	for _, s := range api.Operations() {
		if s.Allow(p) == nil {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestAllowToken tries every set of scopes on every operation.
func TestAllowToken(t *testing.T) {
	for mask := range int64(1 << len(warranty.AllScopes)) {
		scopes := warranty.ScopesOf(mask)
		want := strings.Fields(anyCredential + " " + public)
		for _, scope := range scopes {
			want = append(want, strings.Fields(grants[scope])...)
		}
		slices.Sort(want)
		p := warranty.Principal{Credential: warranty.ByToken, Scopes: scopes}
		if diff := cmp.Diff(want, allowed(p)); diff != "" {
			t.Errorf("a token with %v may use (-want +got):\n%s", scopes, diff)
		}
	}
}

func TestAllowOthers(t *testing.T) {
	everything := public + " " + anyCredential + " " + sessionOnly
	for _, names := range grants {
		everything += " " + names
	}
	for name, tc := range map[string]struct {
		principal warranty.Principal
		want      string
	}{
		"anonymous": {warranty.Principal{}, public},
		// Scopes of an anonymous principal have no effect.
		"anonymous with scopes": {warranty.Principal{Scopes: warranty.AllScopes}, public},
		"a signed-in person":    {warranty.Principal{Credential: warranty.BySession, Scopes: warranty.AllScopes}, everything},
	} {
		t.Run(name, func(t *testing.T) {
			want := strings.Fields(tc.want)
			slices.Sort(want)
			if diff := cmp.Diff(want, allowed(tc.principal)); diff != "" {
				t.Errorf("may use (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTableIsComplete fails when an operation is added without a line in the tables above.
func TestTableIsComplete(t *testing.T) {
	if got, want := len(allowed(warranty.Principal{Credential: warranty.BySession, Scopes: warranty.AllScopes})), len(api.Operations()); got != want {
		t.Errorf("a signed-in person may use %d of %d operations", got, want)
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
	bound := api.Bind(api.GetWarranty, func(_ context.Context, p warranty.Principal, in warranty.GetWarranty) (warranty.Warranty, error) {
		calls++
		if !p.Scopes.Has(warranty.WarrantiesRead) {
			t.Errorf("called for %+v", p)
		}
		return warranty.Warranty{ID: in.ID}, nil
	})
	in := &warranty.GetWarranty{ID: someID}
	out, err := bound.Do(t.Context(), warranty.Principal{Credential: warranty.ByToken, Scopes: warranty.Scopes{warranty.WarrantiesRead}}, in)
	if err != nil || out.(warranty.Warranty).ID != someID {
		t.Errorf("Do = %v, %v", out, err)
	}
	for _, p := range []warranty.Principal{{}, {Credential: warranty.ByToken, Scopes: warranty.Scopes{warranty.WarrantiesWrite, warranty.ClaimsRead, warranty.DocumentsRead}}} {
		if _, err := bound.Do(t.Context(), p, in); err == nil {
			t.Errorf("Do for %+v gave no error", p)
		}
	}
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
}
