package warranty_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// TestDifferencesTellEveryChange tries every field that an update can change.
func TestDifferencesTellEveryChange(t *testing.T) {
	want := map[string]warranty.Change{
		"product_name": {Field: "product_name", From: new("Washing machine"), To: new("Dryer")},
		"start_date":   {Field: "start_date", From: new("2026-03-01"), To: new("2026-03-02")},
		"end_date":     {Field: "end_date", From: new("2028-02-29"), To: new("9999-12-31")},
		"category":     {Field: "category", From: new("Appliances"), To: new("White goods")},
		"no category":  {Field: "category", From: new("Appliances")},
		"supplier":     {Field: "supplier", From: new("Bosch"), To: new("Miele")},
		"no supplier":  {Field: "supplier", From: new("Bosch")},
	}
	for name, tc := range fieldChanges {
		t.Run(name, func(t *testing.T) {
			got := warranty.Differences(sample(), must(tc.in.Apply(sample())))
			if diff := cmp.Diff([]warranty.Change{want[name]}, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
	voided := must(warranty.UpdateWarranty{Status: new(warranty.Void)}.Apply(sample()))
	if diff := cmp.Diff([]warranty.Change{{Field: "status", From: new("active"), To: new("void")}},
		warranty.Differences(sample(), voided)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestDifferencesOfNothing(t *testing.T) {
	later := sample()
	later.Status, later.DaysRemaining = warranty.Expired, nil // derived, not changed
	if got := warranty.Differences(sample(), later); len(got) > 0 {
		t.Errorf("differences: %v", got)
	}
	if got := warranty.Differences(warranty.Warranty{Category: nil},
		warranty.Warranty{Category: new("x")}); len(got) != 1 || got[0].From != nil || *got[0].To != "x" {
		t.Errorf("differences: %v", got)
	}
}
