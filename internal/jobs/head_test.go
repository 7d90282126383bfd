package jobs

import (
	"encoding/json"
	"strings"
	"testing"

	"warranty.example/svc/internal/sheet"
)

// TestHeadOf reads results that end anywhere.
func TestHeadOf(t *testing.T) {
	of := func(result any) string {
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	imported := of(ImportResult{
		Counts: sheet.Counts{Rows: 300, Created: 231, Updated: 7, Reasons: map[sheet.SkipReason]int{"blank": 2}},
		Name:   "Sold_2026.xlsx", LeftOut: strings.Repeat("x", 5000),
	})
	for length := range len(imported) {
		HeadOf(imported[:length])
	}
	if got, want := HeadOf(imported[:2000]), (Head{Name: "Sold_2026.xlsx", Created: 231, Updated: 7}); got != want {
		t.Errorf("an import is %+v, want %+v", got, want)
	}
	bulk := of(BulkResult{Action: Void, Changed: 3})
	if got, want := HeadOf(bulk[:40]), (Head{Action: Void, Changed: 3}); got != want {
		t.Errorf("a change is %+v, want %+v", got, want)
	}
	for _, broken := range []string{"", "null", "[1", `{"name":3}`, "{"} {
		if got := HeadOf(broken); got != (Head{}) {
			t.Errorf("%q is %+v", broken, got)
		}
	}
}
