package find_test

import (
	"testing"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/warranty"
)

// TestSummaryKeepsTheNearestMonths counts records that end in more months than the limit.
func TestSummaryKeepsTheNearestMonths(t *testing.T) {
	today := warranty.NewDate(2026, 11, 16)
	counts := find.NewCounts(warranty.GroupByEndMonth)
	for _, end := range []warranty.Date{
		warranty.NewDate(2019, 1, 1), warranty.NewDate(2026, 9, 1), warranty.NewDate(2026, 12, 31),
		warranty.NewDate(2027, 1, 1), warranty.NewDate(2030, 5, 5), warranty.Lifetime,
	} {
		counts.Add(&find.Record{Standing: warranty.Active, End: end}, today)
	}
	var months []string
	summary := counts.Summary(today, 3)
	for _, g := range summary.Groups {
		months = append(months, *g.Value)
	}
	if len(months) != 3 || months[0] != "2026-09" || months[1] != "2026-12" || months[2] != "2027-01" {
		t.Errorf("the months are %q", months)
	}
	if summary.Other.Groups != 3 || summary.Other.Count != 3 || summary.Total != 6 {
		t.Errorf("%+v", summary)
	}
}
