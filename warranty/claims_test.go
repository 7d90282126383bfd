package warranty_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// claimMoves lists all moves of the contract, section 5.
const claimMoves = `
	submitted      under_review info_requested approved rejected withdrawn
	under_review   info_requested approved rejected withdrawn
	info_requested under_review rejected withdrawn
	approved       in_progress resolved
	in_progress    resolved
	rejected       under_review
	resolved
	withdrawn`

// contractMoves parses claimMoves.
func contractMoves() map[warranty.ClaimStatus][]warranty.ClaimStatus {
	read := func(name string) warranty.ClaimStatus { return must(warranty.ParseEnum[warranty.ClaimStatus](name)) }
	table := make(map[warranty.ClaimStatus][]warranty.ClaimStatus)
	for line := range strings.SplitSeq(strings.TrimSpace(claimMoves), "\n") {
		names := strings.Fields(line)
		table[read(names[0])] = nil
		for _, to := range names[1:] {
			table[read(names[0])] = append(table[read(names[0])], read(to))
		}
	}
	return table
}

// mayDecide follows the contract: the seller, and the issuer unless they are also the
// owner; if there is nobody to decide, the owner keeps a log.
func mayDecide(r warranty.Roles, by warranty.ManagedBy) bool {
	return r.Has(warranty.Seller) || r.Has(warranty.Issuer) && !r.Has(warranty.Owner) ||
		by == warranty.ManagedByOwner && r.Has(warranty.Owner)
}

var managers = []warranty.ManagedBy{warranty.ManagedByBusiness, warranty.ManagedByOwner}

// mayMove follows the contract: the owner withdraws, replies and appeals; other moves
// are decisions.
func mayMove(from, to warranty.ClaimStatus, r warranty.Roles, by warranty.ManagedBy) bool {
	if to == warranty.Withdrawn || to == warranty.UnderReview && from != warranty.Submitted {
		return r.Has(warranty.Owner)
	}
	return mayDecide(r, by)
}

func TestMayDecide(t *testing.T) {
	for _, r := range roleSets() {
		for _, by := range managers {
			want := warranty.RoleNotAllowed
			if mayDecide(r, by) {
				want = ""
			}
			if got := codeOf(t, r.MayDecide(by)); got != want {
				t.Errorf("%v decides, managed by %s: %q, want %q", r.Names(), by, got, want)
			}
		}
	}
}

func sampleClaim(status warranty.ClaimStatus) warranty.Claim {
	return warranty.Claim{ID: must(warranty.ParseID(sampleID)), ClaimNumber: "CL-7K2M-9QXT-4D8P-HV3A",
		Type: warranty.Repair, Description: "It broke.",
		IncidentDate: day("2026-05-17"), Status: status, StatusReason: new("Because."), CreatedAt: now.AddDate(0, -1, 0),
		UpdatedAt: now.AddDate(0, -1, 0)}
}

// TestClaimMoves tries every move from every status with every set of roles.
func TestClaimMoves(t *testing.T) {
	table := contractMoves()
	for from, allowed := range table {
		for to := range table {
			for _, roles := range roleSets() {
				for _, by := range managers {
					var want warranty.Code
					switch {
					case !slices.Contains(allowed, to):
						want = warranty.InvalidTransition
					case !mayMove(from, to, roles, by):
						want = warranty.RoleNotAllowed
					}
					before := sampleClaim(from)
					before.ManagedBy = by
					in := warranty.MoveClaim{Status: to, Reason: "New."}
					after := before
					after.Status, after.StatusReason, after.UpdatedAt = to, new("New."), now
					if was, is := before.Waiting(), after.Waiting(); was == nil || is == nil || *was != *is {
						after.Since = now // it waits for another side
					}
					if to == warranty.Resolved {
						in.Resolution, in.ResolutionNote = warranty.Replaced, "By a new one."
						after.Resolution, after.ResolutionNote, after.ResolvedAt = new(warranty.Replaced), new("By a new one."), &now
					}
					got, err := in.Apply(before, roles, now)
					if code := codeOf(t, err); code != want {
						t.Errorf("%s to %s as %v, managed by %s: %q, want %q", from, to, roles.Names(), by, code, want)
					}
					if diff := cmp.Diff(after, got); err == nil && diff != "" {
						t.Errorf("%s to %s changed (-want +got):\n%s", from, to, diff)
					}
					if offered := slices.Contains(before.Moves(roles), to); offered != (err == nil) {
						t.Errorf("%s to %s as %v, managed by %s: offered %t, but %v", from, to, roles.Names(), by, offered, err)
					}
				}
			}
		}
	}
}

func TestClaimMoveListsWhatIsAllowed(t *testing.T) {
	_, err := warranty.MoveClaim{Status: warranty.Resolved}.Apply(sampleClaim(warranty.Submitted),
		warranty.NewRoles(warranty.Seller), now)
	if !strings.Contains(err.Error(), "It can only change to: under_review, info_requested, approved, rejected, withdrawn.") {
		t.Error(err)
	}
	_, err = warranty.MoveClaim{Status: warranty.UnderReview}.Apply(sampleClaim(warranty.Withdrawn),
		warranty.NewRoles(warranty.Owner), now)
	if !strings.Contains(err.Error(), "is withdrawn and can no longer change") {
		t.Error(err)
	}
}

func TestMoveClaimCheck(t *testing.T) {
	type in = warranty.MoveClaim
	for name, tc := range map[string]struct {
		in   in
		want []string
	}{
		"nothing given":           {in{}, []string{"status required"}},
		"review":                  {in{Status: warranty.UnderReview}, nil},
		"reject without a reason": {in{Status: warranty.Rejected, Reason: " "}, []string{"reason required"}},
		"reject":                  {in{Status: warranty.Rejected, Reason: "Worn,\nnot broken."}, nil},
		"ask without a question":  {in{Status: warranty.InfoRequested}, []string{"reason required"}},
		"resolve, nothing said":   {in{Status: warranty.Resolved}, []string{"resolution required"}},
		"resolve": {in{Status: warranty.Resolved, Resolution: warranty.Replaced, ResolutionNote: "New.",
			ReplacementSerialNumber: "17"}, nil},
		"resolution of an approval": {in{Status: warranty.Approved, Resolution: warranty.Replaced},
			[]string{"resolution not_accepted"}},
		"all of it too early": {in{Status: warranty.Approved, Resolution: warranty.Replaced, ResolutionNote: "x",
			ReplacementSerialNumber: "y"},
			[]string{"resolution not_accepted", "resolution_note not_accepted", "replacement_serial_number not_accepted"}},
		"control characters": {in{Status: warranty.UnderReview, Reason: "\x1b"}, []string{"reason forbidden_character"}},
	} {
		t.Run(name, func(t *testing.T) { expectFaults(t, tc.in.Check(), tc.want...) })
	}
}

func TestFileClaimCheck(t *testing.T) {
	expectFaults(t, (&warranty.FileClaim{}).Check(), "warranty_id required", "type required", "description required",
		"incident_date required")
	in := warranty.FileClaim{WarrantyID: warranty.WarrantyKey{ID: must(warranty.ParseID(sampleID))}, Type: warranty.Repair,
		Description: " It\nbroke. ", IncidentDate: 1}
	expectFaults(t, in.Check())
	if in.Description != "It\nbroke." {
		t.Errorf("trimmed to %q", in.Description)
	}
}

// TestCheckCoverage checks that coverage depends on the day of the incident, not on
// today.
func TestCheckCoverage(t *testing.T) {
	for name, tc := range map[string]struct {
		standing        warranty.Status
		incident, today string
		want            []string
	}{
		"within":                    {warranty.Active, "2027-01-01", "2027-01-02", nil},
		"today":                     {warranty.Active, "2027-01-01", "2027-01-01", nil},
		"first day":                 {warranty.Active, "2026-03-01", "2027-01-01", nil},
		"last day, told years late": {warranty.Active, "2028-02-29", "2035-01-01", nil},
		"day before":                {warranty.Active, "2026-02-28", "2027-01-01", []string{"incident_date not_covered"}},
		"day after":                 {warranty.Active, "2028-03-01", "2029-01-01", []string{"incident_date not_covered"}},
		"tomorrow":                  {warranty.Active, "2027-01-02", "2027-01-01", []string{"incident_date in_the_future"}},
		"void":                      {warranty.Void, "2027-01-01", "2027-01-02", []string{"warranty_id not_covered"}},
		"cancelled":                 {warranty.Cancelled, "2027-01-01", "2027-01-02", []string{"warranty_id not_covered"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := sample()
			w.Standing = tc.standing
			expectFaults(t, warranty.FileClaim{IncidentDate: day(tc.incident)}.CheckCoverage(w, day(tc.today)), tc.want...)
		})
	}
}

// TestClaimJSON compares the fields with the contract, section 5.
func TestClaimJSON(t *testing.T) {
	want := strings.Fields("id claim_number warranty_id warranty type description incident_date status managed_by waiting_for status_reason resolution resolution_note " +
		"replacement_serial_number created_at updated_at resolved_at web_url last_message " +
		"customer fault waiting_since assignee queue") // and section 22
	slices.Sort(want)
	if diff := cmp.Diff(want, keys(t, warranty.Claim{})); diff != "" {
		t.Errorf("fields (-contract +got):\n%s", diff)
	}
}
