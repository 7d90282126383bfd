package view

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestTimeline draws from one to a million warranties on every day of a month. Everything is
// inside the graphic, and a month with more warranties is higher.
func TestTimeline(t *testing.T) {
	words, err := newTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	tops := regexp.MustCompile(` y="(-?\d+)"`)
	for _, most := range []int64{1, 6, 7, 250, 1_000_000} {
		for day := range 31 {
			today := warranty.NewDate(2026, 3, 1) + warranty.Date(day)
			drawn := string(Timeline(map[warranty.Date]int64{today + 1: (most + 1) / 2, today + 100: most}, today, words))
			for _, y := range tops.FindAllStringSubmatch(drawn, -1) {
				if n, _ := strconv.Atoi(y[1]); n < 11 {
					t.Errorf("%d on day %d: %s is above the graphic", most, day, y[1])
				}
			}
			urgent, all := strings.Count(drawn, `"bar w"`), strings.Count(drawn, `<rect`)
			bricks := all - urgent
			if bricks < 1 || bricks > 6 || urgent < 1 || urgent > bricks || most > 6 && urgent == bricks {
				t.Errorf("%d on day %d: %d bricks now and %d later", most, day, urgent, bricks)
			}
			if !strings.Contains(drawn, ">"+words.Figure(most)+"<") {
				t.Errorf("%d on day %d: the figure is missing", most, day)
			}
		}
	}
}
