package warranty_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// enums lists the enums with their values in the contract.
var enums = []struct {
	zero  interface{ Values() []string }
	names string
}{
	{warranty.Status(""), "active void cancelled upcoming expired"},
	{warranty.ClaimType(""), "repair replacement refund inspection other"},
	{warranty.ClaimStatus(""), "submitted under_review info_requested approved rejected in_progress resolved withdrawn"},
	{warranty.Resolution(""), "repaired replaced refunded store_credit other"},
	{warranty.DocumentType(""), "receipt invoice certificate terms manual photo claim_evidence other"},
	{warranty.TokenStatus(""), "active expired revoked"},
	{warranty.Role(""), "owner seller issuer"},
	{warranty.ManagedBy(""), "business owner"},
	{warranty.ClaimSide(""), "owner business"},
	{warranty.ClaimSort(""), "-created_at waiting updated_at -updated_at"},
	{warranty.Decision(""), "confirm decline"},
	{warranty.HandoverStatus(""), "none offered taken"},
	{warranty.DomainStatus(""), "waiting verified failing"},
	{warranty.JobState(""), "running done failed undoing undone"},
	{warranty.Assurance(""), "issuer_verified seller_confirmed unverified"},
	{warranty.BatchStatus(""), "created unchanged updated differs failed"},
	{warranty.ConfirmationStatus(""), "pending confirmed declined"},
	{warranty.Door(""), "web api cli mcp operator"},
	{warranty.Action(""),
		"warranty.created warranty.updated warranty.deleted seller.linked claim.filed claim.moved document.uploaded " +
			"document.deleted transfer.offered transfer.cancelled transfer.accepted token.created token.rotated token.revoked " +
			"account.added account.password_set account.disabled account.enabled account.deleted account.admin_granted " +
			"account.admin_revoked mail.retried mail.given_up account.to_be_erased " +
			"organization.created organization.updated organization.deleted organization.restored organization.converted " +
			"member.invited member.invitation_cancelled member.joined member.changed member.removed " +
			"address.verified address.removed seller.confirmed seller.left warranty.removed " +
			"handover.offered handover.cancelled handover.taken domain.verified domain.lost domain.removed " +
			"warranty.restored claim.messaged document.renamed document.replaced app.connected app.updated app.disconnected warranty.corrected document.version_erased document.detached claim.undone brand.updated service.updated account.factors_reset"},
}

func TestEnums(t *testing.T) {
	for _, e := range enums {
		t.Run(fmt.Sprintf("%T", e.zero), func(t *testing.T) {
			names := strings.Fields(e.names)
			if diff := cmp.Diff(names, e.zero.Values()); diff != "" {
				t.Fatalf("names (-want +got):\n%s", diff)
			}
			for _, name := range append(names, "") {
				if err := warranty.CheckEnum(e.zero, name); err != nil {
					t.Errorf("%q: %v", name, err)
				}
			}
			for _, text := range []string{strings.ToUpper(names[0]), " " + names[0], names[0] + "\n", names[0] + "\x00",
				names[0][:2], "1", "CANARY"} {
				err := warranty.CheckEnum(e.zero, text)
				if err == nil || !strings.Contains(err.Error(), names[0]) || strings.Contains(err.Error(), "CANARY") {
					t.Errorf("the error for %q should list the values and not repeat it: %v", text, err)
				}
			}
		})
	}
}

// TestEnumsAreStoredByPosition pins the stored numbers.
func TestEnumsAreStoredByPosition(t *testing.T) {
	for i, name := range append([]string{""}, warranty.ClaimStatus("").Values()...) {
		if n := warranty.EnumNumber(warranty.ClaimStatus(name)); n != int64(i) ||
			warranty.EnumOf[warranty.ClaimStatus](n) != warranty.ClaimStatus(name) {
			t.Errorf("%q is stored as %d", name, n)
		}
	}
	for _, n := range []int64{-1, 0, 9, 200} {
		if s := warranty.EnumOf[warranty.ClaimStatus](n); s != "" {
			t.Errorf("%d is parsed as %q", n, s)
		}
	}
	if n := warranty.EnumNumber(warranty.Status("frozen")); n != 0 {
		t.Errorf("an unknown status is stored as %d", n)
	}
}
