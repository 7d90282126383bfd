package view

import (
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestBars draws from one to a million warranties on every day of a month: bars start at zero, are in proportion, and show
// their number. The smallest can be seen.
func TestBars(t *testing.T) {
	words, err := newTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int64{1, 2, 250, 2608, 1_000_000} {
		for day := range 31 {
			today := warranty.NewDate(2026, 3, 1) + warranty.Date(day)
			soon := (most + 1) / 2
			bars := Bars(map[warranty.Date]int64{today: soon, today + 100: most, today + 5000: 9}, today, words)
			if len(bars) != 13 || bars[0].Label != "Mar" || bars[10].Label != "Jan ’27" || bars[12].Label != "Mar ’27" {
				t.Fatalf("%d on day %d: %+v", most, day, bars)
			}
			total := int64(0)
			for i, b := range bars {
				total += b.Count
				if b.Y+b.Height != BarHeight || b.Y < 0 || (b.Height > 0) != (b.Count > 0) || strings.HasPrefix(b.Width, "0.0") != (b.Count == 0) {
					t.Errorf("%d on day %d: month %d is %+v", most, day, i, b)
				}
				if b.Count == most && (b.Height != BarHeight || b.Width != "100.0%") {
					t.Errorf("%d on day %d: the longest is %+v", most, day, b)
				}
				if b.Soon != (i == 0) && b.Count > 0 {
					t.Errorf("%d on day %d: month %d ends soon: %t", most, day, i, b.Soon)
				}
			}
			if total != soon+most {
				t.Errorf("%d on day %d: %d are drawn", most, day, total)
			}
		}
	}
}
