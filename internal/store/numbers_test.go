package store

import (
	"strconv"
	"strings"
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
		{claimSubmitted, warranty.Submitted},
		{claimUnderReview, warranty.UnderReview},
		{claimInfoRequested, warranty.InfoRequested},
		{claimApproved, warranty.Approved},
		{claimInProgress, warranty.InProgress},
		{sideOwner, warranty.OwnerSide},
		{sideBusiness, warranty.BusinessSide},
		{managedByBusiness, enumNumber(warranty.ManagedByBusiness)},
		{managedByOwner, enumNumber(warranty.ManagedByOwner)},
		{standingActive, warranty.Active},
		{jobFailed, warranty.JobFailed},
		{fileDeleted, int64(FileDeleted)},
		{firstOperatorAction, warranty.AccountAdded},
		{lastOperatorAction, warranty.AccountToBeErased},
		{doorOperator, warranty.DoorOperator},
	} {
		n, ok := encode(c.stored).(int64)
		if want := strconv.FormatInt(n, 10); !ok || c.literal != want {
			t.Errorf("%v is %s in SQL, want %s", c.stored, c.literal, want)
		}
	}
	var open []string
	for _, name := range warranty.JobState("").Values() {
		if state := warranty.JobState(name); state.Open() {
			open = append(open, strconv.FormatInt(enumNumber(state), 10))
		}
	}
	if got := strings.Join(open, ", "); got != openJobs {
		t.Errorf("open jobs are %s, want %s", openJobs, got)
	}
}
