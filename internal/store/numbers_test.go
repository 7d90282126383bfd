package store

import (
	"strconv"
	"testing"

	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// TestNumbersAreThoseOfTheEnums compares the literals in SQL with the values that are stored.
func TestNumbersAreThoseOfTheEnums(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		literal string
		stored  any
	}{
		{kindWarranty, lists.Warranties},
		{kindClaim, lists.Claims},
		{kindDocument, lists.Documents},
		{roleOwner, warranty.NewRoles(warranty.Owner)},
		{roleSeller, warranty.NewRoles(warranty.Seller)},
		{roleIssuer, warranty.NewRoles(warranty.Issuer)},
		{rolesOwnerIssuer, warranty.NewRoles(warranty.Owner, warranty.Issuer)},
		{kindPerson, enumNumber(warranty.PersonKind)},
		{kindOrganization, enumNumber(warranty.OrganizationKind)},
		{memberRemoved, warranty.MemberRole("")},
		{memberAdmin, warranty.Admin},
	} {
		n, ok := encode(c.stored).(int64)
		if want := strconv.FormatInt(n, 10); !ok || c.literal != want {
			t.Errorf("%v is %s in SQL, want %s", c.stored, c.literal, want)
		}
	}
}
