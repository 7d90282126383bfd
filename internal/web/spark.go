package web

import (
	"fmt"
	"html/template"
	"strings"

	"warranty.example/svc/warranty"
)

// spark draws the sparkline of a token's requests per day over the last 30 days. It is
// hidden from screen readers: the total is printed beside it.
func spark(usage []warranty.DayUsage, today warranty.Date) template.HTML {
	const width, height, top = 120.0, 28.0, 2.0
	first := today - warranty.UsageDays + 1
	var counts [warranty.UsageDays]int64
	most := int64(1)
	for _, u := range usage {
		if at := int(u.Date - first); at >= 0 && at < len(counts) {
			counts[at] = u.Requests
			most = max(most, u.Requests)
		}
	}
	var line strings.Builder
	for i, n := range counts {
		command := "L"
		if i == 0 {
			command = "M"
		}
		x := width * float64(i) / float64(len(counts)-1)
		y := height - top - (height-2*top)*float64(n)/float64(most)
		fmt.Fprintf(&line, "%s%.1f %.1f", command, x, y)
	}
	return template.HTML(fmt.Sprintf( //nolint:gosec // only numbers
		`<svg class="spark" viewBox="0 0 %.0f %.0f" preserveAspectRatio="none" aria-hidden="true" focusable="false">`+
			`<path class="a" d="%sV%.0fH0Z"/><path d="%s"/></svg>`,
		width, height, &line, height, &line))
}
