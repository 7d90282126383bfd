package service_test

import (
	"testing"

	"warranty.example/svc/warranty"
)

// tried says which attempts of TestPeopleDoWhatTheirRolesAllow and TestEveryDoorKeepsTheTableOfRoles belong to a right.
var tried = map[string][]string{
	"read the record, its claims and its history": {"read", "list history", "read a claim"},
	"read the owner's documents":                  {"read the owner's document", "download the owner's document"},
	"upload a document":                           {"upload", "upload to a claim"},
	"change the promise":                          {"change the product", "extend it", "start it earlier", "change the supplier"},
	"change the category":                         {"change the category"},
	"read and set the external id":                {"set the external id"},
	"void or reinstate":                           {"void", "reinstate"},
	"cancel":                                      {"cancel"},
	"delete":                                      {"delete, or remove from the account"},
	"transfer":                                    {"transfer", "cancel a transfer"},
	"file, reply to or withdraw a claim":          {"file a claim", "answer", "appeal", "withdraw at once"},
	"decide a claim":                              {"review", "ask", "approve", "reject", "begin", "resolve"},
}

// TestTheTableOfRolesIsTried: the table of roles, from which the documentation is generated, says what the tests of all
// doors expect, for every set of roles.
func TestTheTableOfRolesIsTried(t *testing.T) {
	expected := map[string]func(cast) bool{}
	for _, v := range verbs {
		expected[v.name] = v.allowed
	}
	for _, c := range cells {
		expected[c.name] = c.allowed
	}
	for _, right := range warranty.Rights() {
		attempts, ok := tried[right.Name]
		// The matrix has operations that need an organization or a seller: warranties.hand_over and sellers.leave.
		if !ok && right.Name != "hand over to a customer" && right.Name != "leave as the seller" {
			t.Errorf("nothing tries %q", right.Name)
		}
		for _, attempt := range attempts {
			allowed := expected[attempt]
			if allowed == nil {
				t.Errorf("%q: nothing tries %q", right.Name, attempt)
				continue
			}
			for _, c := range casts {
				if right.Name == "decide a claim" && c.owner == me && c.creator == me && c.seller == nobody {
					continue // a log of the owner
				}
				if got, want := right.Allows(c.roles()), allowed(c); got != want {
					t.Errorf("%q as %s: the table says %v, %q expects %v", right.Name, c, got, attempt, want)
				}
			}
		}
	}
}
