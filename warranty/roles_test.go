package warranty_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// roleTable is the table in the contract, section 4. The first column is for owners of issued warranties,
// the second for owners of self-recorded ones, who are also issuers. The rule that owners do not decide
// their own claims is tested with claims.
var roleTable = []struct {
	name                                verb
	owner, selfRecorded, issuer, seller bool
}{
	{verb{"change the promise", warranty.ChangePromise}, false, true, true, false},
	{verb{"change the category", warranty.ChangeNotes}, true, true, false, false},
	{verb{"void / reinstate", warranty.VoidOrReinstate}, false, true, true, true},
	{verb{"cancel", warranty.Cancel}, false, true, true, false},
	{verb{"delete, or remove from the account", warranty.Delete}, true, true, false, false},
	{verb{"transfer", warranty.Transfer}, true, true, false, false},
	{verb{"hand over", warranty.HandOver}, false, true, false, false},
	{verb{"file a claim", warranty.FileAClaim}, true, true, false, false},
	{verb{"decide a claim", warranty.DecideClaim}, false, true, true, true},
	{verb{"upload a document", warranty.Upload}, true, true, true, true},
	{verb{"set the external id", warranty.SetExternalID}, false, true, true, false},
	{verb{"leave as seller", warranty.LeaveSeller}, false, false, false, true},
}

type verb struct {
	text string
	warranty.Verb
}

// allows reports whether the contract's table permits the verb for the roles.
func allows(v warranty.Verb, r warranty.Roles) bool {
	for _, row := range roleTable {
		if row.name.Verb == v {
			owner, issuer := r.Has(warranty.Owner), r.Has(warranty.Issuer)
			return row.owner && owner && !issuer || row.selfRecorded && owner && issuer || row.issuer && issuer && !owner ||
				row.seller && r.Has(warranty.Seller)
		}
	}
	panic("no such verb in the contract")
}

func TestRolesMay(t *testing.T) {
	for _, row := range roleTable {
		for _, r := range roleSets() {
			t.Run(row.name.text+" as "+strings.Join(r.Names(), "+"), func(t *testing.T) {
				want := warranty.RoleNotAllowed
				if allows(row.name.Verb, r) {
					want = ""
				}
				if got := codeOf(t, r.May(row.name.Verb)); got != want {
					t.Errorf("May = %q, want %q", got, want)
				}
			})
		}
	}
}

func TestRoleRefusalNamesWhoMay(t *testing.T) {
	err := warranty.NewRoles(warranty.Seller).May(warranty.Cancel)
	for _, word := range []string{"the issuer", "cancel", "Your role: seller."} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}

func TestRolesJSON(t *testing.T) {
	want := []string{`[]`, `["owner"]`, `["seller"]`, `["owner","seller"]`, `["issuer"]`, `["owner","issuer"]`,
		`["seller","issuer"]`, `["owner","seller","issuer"]`}
	for i, r := range roleSets() {
		b := must(json.Marshal(r))
		if string(b) != want[i] {
			t.Errorf("roles %v are written %s, want %s", r, b, want[i])
		}
		again := warranty.NewRoles(warranty.Owner, warranty.Seller, warranty.Issuer)
		if err := json.Unmarshal(b, &again); err != nil || again != r {
			t.Errorf("%s is parsed as %v, %v", b, again.Names(), err)
		}
	}
}

// TestUnknownRolesAreKept checks that roles of a newer service survive a round trip (C8).
func TestUnknownRolesAreKept(t *testing.T) {
	for text, names := range map[string][]string{
		`["auditor"]`:                   {"auditor"},
		`["owner","auditor","a,\"b\""]`: {"owner", "auditor", `a,"b"`},
		`["auditor","issuer"]`:          {"issuer", "auditor"},
	} {
		var r warranty.Roles
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(names, r.Names()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		var again warranty.Roles
		if err := json.Unmarshal(must(json.Marshal(r)), &again); err != nil || again != r {
			t.Errorf("%s is encoded as %s", text, r.JSON())
		}
		if r.Has("auditor") || r.May(warranty.Upload) == nil != (r.Has(warranty.Owner) || r.Has(warranty.Issuer)) {
			t.Errorf("%s grants a permission", text)
		}
	}
}

func TestScopesMask(t *testing.T) {
	for mask := range int64(16) {
		s := warranty.ScopesOf(mask)
		if s == nil || s.Mask() != mask {
			t.Errorf("%d is parsed as %q and stored as %d", mask, s, s.Mask())
		}
		for i, scope := range warranty.AllScopes {
			if s.Has(scope) != (mask&(1<<i) != 0) {
				t.Errorf("%d has %s: %t", mask, scope, s.Has(scope))
			}
		}
	}
	if warranty.AllScopes.Has("") || warranty.AllScopes.Has("warranties") {
		t.Error("a set contains an unknown scope")
	}
}
