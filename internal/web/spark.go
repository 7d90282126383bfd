package web

import (
	"fmt"
	"html/template"
	"strings"

	"warranty.example/svc/warranty"
)

// spark draws a token's requests a day over the last 30 days. What it says is
// also told in words beside it.
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
		fmt.Fprintf(&line, "%s%.1f %.1f", command, width*float64(i)/float64(len(counts)-1), height-top-(height-2*top)*float64(n)/float64(most))
	}
	return template.HTML(fmt.Sprintf(`<svg class="spark" viewBox="0 0 %.0f %.0f" preserveAspectRatio="none" aria-hidden="true" focusable="false"><path class="a" d="%sV%.0fH0Z"/><path d="%s"/></svg>`, //nolint:gosec // numbers alone
		width, height, &line, height, &line))
}
