package warranty_test

import (
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestWaitingFor lists whom a claim waits for: after its status changed, after a message of its owner, and after
// one of a business.
func TestWaitingFor(t *testing.T) {
	for status, want := range map[warranty.ClaimStatus][3]string{
		warranty.Submitted:     {"business", "business", "business"},
		warranty.UnderReview:   {"business", "business", "owner"},
		warranty.InfoRequested: {"owner", "business", "owner"}, // a reply moves it to under_review
		warranty.Approved:      {"", "business", ""},
		warranty.InProgress:    {"", "business", ""},
		warranty.Rejected:      {"", "", ""},
		warranty.Resolved:      {"", "", ""},
		warranty.Withdrawn:     {"", "", ""},
	} {
		for i, side := range []warranty.ClaimSide{"", warranty.OwnerSide, warranty.BusinessSide} {
			for _, by := range managers {
				c := warranty.Claim{Status: status, ManagedBy: by}
				if side != "" {
					c.Says(side, now)
				}
				expected := want[i]
				if by == warranty.ManagedByOwner {
					expected = ""
				}
				got := ""
				if waiting := c.Waiting(); waiting != nil {
					got = waiting.String()
				}
				if got != expected {
					t.Errorf("%s, managed by %s, %q wrote: waits for %q, want %q", status, by, side, got, expected)
				}
			}
		}
	}
	// What was said counts in its status only.
	c := warranty.Claim{Status: warranty.InProgress, ManagedBy: warranty.ManagedByBusiness}
	c.Says(warranty.OwnerSide, now)
	if c.Status = warranty.UnderReview; *c.Waiting() != warranty.BusinessSide {
		t.Error("what was said in an earlier status counts")
	}
}

// TestOwnersReplyContinuesTheReview checks which messages change the status.
func TestOwnersReplyContinuesTheReview(t *testing.T) {
	for _, c := range []struct {
		status warranty.ClaimStatus
		by     warranty.ManagedBy
		side   warranty.ClaimSide
		want   warranty.ClaimStatus
	}{
		{warranty.InfoRequested, warranty.ManagedByBusiness, warranty.OwnerSide, warranty.UnderReview},
		{warranty.InfoRequested, warranty.ManagedByBusiness, warranty.BusinessSide, warranty.InfoRequested},
		{warranty.InfoRequested, warranty.ManagedByOwner, warranty.OwnerSide, warranty.InfoRequested},
		{warranty.Approved, warranty.ManagedByBusiness, warranty.OwnerSide, warranty.Approved},
	} {
		claim := warranty.Claim{Status: c.status, ManagedBy: c.by, StatusReason: new("Why?")}
		later := now.Add(time.Hour)
		replied := claim.Says(c.side, later)
		if claim.Status != c.want || replied != (c.want != c.status) || claim.UpdatedAt != later ||
			(claim.StatusReason == nil) != replied {
			t.Errorf("%+v: %s, replied %t", c, claim.Status, replied)
		}
	}
}

// TestADecisionNamesTheStatusThatItIsAbout checks MoveClaim.From.
func TestADecisionNamesTheStatusThatItIsAbout(t *testing.T) {
	c := sampleClaim(warranty.UnderReview)
	c.ManagedBy = warranty.ManagedByBusiness
	in := warranty.MoveClaim{Status: warranty.Rejected, Reason: "Worn.", From: warranty.InfoRequested}
	if _, err := in.Apply(c, warranty.NewRoles(warranty.Issuer), now); codeOf(t, err) != warranty.InvalidTransition {
		t.Error(err)
	}
	in.From = warranty.UnderReview
	if _, err := in.Apply(c, warranty.NewRoles(warranty.Issuer), now); err != nil {
		t.Error(err)
	}
}
