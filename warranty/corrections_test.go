package warranty_test

import (
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestNeedsReason: corrections need a reason as soon as someone else relies on the record.
func TestNeedsReason(t *testing.T) {
	now := time.Now()
	own := warranty.NewRoles(warranty.Owner, warranty.Issuer)
	for name, test := range map[string]struct {
		w    warranty.Warranty
		want bool
	}{
		"self-recorded":        {warranty.Warranty{Roles: own}, false},
		"own shop":             {warranty.Warranty{Roles: own.With(warranty.Seller), SellerConfirmed: true}, false},
		"confirmed":            {warranty.Warranty{Roles: own, SellerConfirmed: true}, true},
		"offered":              {warranty.Warranty{Roles: own, Offer: warranty.Offer{OfferedAt: &now}}, true},
		"taken by a customer":  {warranty.Warranty{Roles: warranty.NewRoles(warranty.Issuer)}, true},
		"issued by a business": {warranty.Warranty{Roles: warranty.NewRoles(warranty.Owner)}, true},
	} {
		if got := test.w.NeedsReason(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
