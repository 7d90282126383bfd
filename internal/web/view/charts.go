package view

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

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

// Timeline draws the warranties that end in the next 13 months: a column per month and a line
// at today. A brick is a warranty, or several if a column would be too high.
func Timeline(ending map[warranty.Date]int64, today warranty.Date, words *Texts) template.HTML {
	const months, width, column, brick, least, most = 13, 920, 70, 19, 3, 6
	now := today.Time()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	counts := [months]int64{}
	urgent := [months]bool{}
	for day, n := range ending {
		end := day.Time()
		month := (end.Year()-first.Year())*12 + int(end.Month()) - int(first.Month())
		if month < 0 || month >= months {
			continue
		}
		counts[month] += n
		urgent[month] = urgent[month] || day-today <= EndingSoon
	}
	highest := slices.Max(counts[:])
	worth := max(1, (highest+most-1)/most) // warranties per brick
	floor := 38 + min(max(highest, least), most)*(brick+4)
	var b strings.Builder
	var spoken []string // for screen readers
	at := 5 + float64(now.Day()-1)/31*62
	for i, n := range counts {
		x := 5 + i*column
		tone := ""
		if urgent[i] {
			tone = " w"
		}
		bricks := (n + worth - 1) / worth
		for k := range bricks {
			fmt.Fprintf(&b, `<rect class="bar%s" x="%d" y="%d" width="46" height="%d" rx="4"/>`,
				tone, x, floor-(k+1)*(brick+4), brick)
		}
		month := first.AddDate(0, i, 0)
		label := words.Month(month)
		if n > 0 {
			figure := words.Figure(n)
			fmt.Fprintf(&b, `<text class="cnt" %s y="%d">%s</text>`,
				besideToday(float64(x+23), at, figure), floor-bricks*(brick+4)-8, figure)
			spoken = append(spoken, fmt.Sprint(label, ": ", n))
		}
		fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/><text x="%d" y="%d">%s</text>`,
			x, floor, x+62, floor, x, floor+22, label)
	}
	fmt.Fprintf(&b, `<line class="now" x1="%.0f" y1="0" x2="%.0f" y2="%d"/><text x="%.0f" y="11">%s</text>`,
		at, at, floor+6, at+6, template.HTMLEscapeString(words.Text("overview.today")))
	described := `aria-hidden="true"`
	if len(spoken) > 0 {
		described = `role="img" aria-label="` + strings.Join(spoken, ", ") + `"`
	}
	return template.HTML(fmt.Sprintf( //nolint:gosec // numbers, names of months and an escaped label
		`<svg class="tl" viewBox="0 0 %d %d" %s focusable="false">%s</svg>`, width, floor+30, described, b.String()))
}

// besideToday returns the position of a figure: centered over its column, or beside the line at
// today if the line would cross it.
func besideToday(middle, today float64, figure string) string {
	half := 4 + 4.5*float64(len(figure))
	switch {
	case today < middle-half || today > middle+half:
		return fmt.Sprintf(`x="%.0f" text-anchor="middle"`, middle)
	case today-2*half > 5:
		return fmt.Sprintf(`x="%.0f" text-anchor="end"`, today-5)
	}
	return fmt.Sprintf(`x="%.0f"`, today+5)
}
