package web_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestWebOverviewOfMany has more warranties than a page of a list. The overview and the calendar list
// them by end date, and count all of them.
func TestWebOverviewOfMany(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.Verified("Shop")
		key, _ := w.Token(shop)
		in := func(days int) string { return w.Service.Now().AddDate(0, 0, days).Format(time.DateOnly) }
		add := func(name, start, end string) {
			w.Warranty(key, fields{"product_name": name, "start_date": start, "end_date": end})
		}
		add("Ends second", "2020-01-01", in(4))
		add("Ends first", "2020-01-01", in(3))
		add("Not started", in(1), in(5))
		add("Ended", "2020-01-01", in(-1))
		for i := range 120 {
			add(fmt.Sprint("Another ", i), "2020-01-01", in(50+i%2*150)) // half of them end within 60 days
		}
		b := w.SignedIn(t, shop)
		overview := b.Get("/")
		overview.Says(t, "the overview", 200, "62 warranties end in the next 60 days", "Ends first", "Ends second")
		_, table, _ := strings.Cut(overview.Body, "Ending soon")
		if first, second := strings.Index(table, "Ends first"), strings.Index(table, "Ends second"); first > second {
			t.Error("the first warranty to end is not listed first")
		}
		drawn := 0
		_, bars, _ := strings.Cut(overview.Body, `<ol class="bars">`)
		bars, _, _ = strings.Cut(bars, "</ol>")
		for _, column := range regexp.MustCompile(`<b class="num">(\d+)<`).FindAllStringSubmatch(bars, -1) {
			n, err := strconv.Atoi(column[1])
			if err != nil {
				t.Fatal(err)
			}
			drawn += n
		}
		equal(t, "warranties on the timeline", drawn, 122)

		address := regexp.MustCompile(`/calendar/\w+\.ics`).FindString(b.Post("/settings/calendar").Body)
		feed := b.Get(address)
		var events []string
		for _, line := range strings.Split(feed.Body, "\r\n") {
			if summary, ok := strings.CutPrefix(line, "SUMMARY:"); ok {
				events = append(events, summary)
			}
		}
		if len(events) != 122 || !strings.Contains(events[0], "Ends first") || !strings.Contains(events[1], "Ends second") {
			t.Errorf("the calendar has %d events, the first are %q", len(events), events[:min(2, len(events))])
		}
	}, busy)
}
