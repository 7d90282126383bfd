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
	first := today - warranty.UsageDays + 1
	counts := make([]int64, warranty.UsageDays)
	for _, u := range usage {
		if at := int(u.Date - first); at >= 0 && at < len(counts) {
			counts[at] = u.Requests
		}
	}
	return Trend(counts)
}

// Trend draws numbers as a line that starts at zero. It is hidden from screen readers.
func Trend(counts []int64) template.HTML {
	const width, height, top = 120.0, 28.0, 2.0
	most := max(1, slices.Max(counts))
	var line strings.Builder
	for i, n := range counts {
		command := "L"
		if i == 0 {
			command = "M"
		}
		x := width * float64(i) / float64(max(1, len(counts)-1))
		y := height - top - (height-2*top)*float64(n)/float64(most)
		fmt.Fprintf(&line, "%s%.1f %.1f", command, x, y)
	}
	return template.HTML(fmt.Sprintf( //nolint:gosec // only numbers
		`<svg class="spark" viewBox="0 0 %.0f %.0f" preserveAspectRatio="none" aria-hidden="true" focusable="false">`+
			`<path class="a" d="%sV%.0fH0Z"/><path d="%s"/></svg>`,
		width, height, &line, height, &line))
}

// Bar is a bar of a chart: the number that ends in a month. It stands, or lies in a narrow card, from zero.
type Bar struct {
	Label string
	Count int64
	Soon  bool // some of them end soon
	// Y and Height are of the standing bar, in a graphic of BarHeight.
	Y, Height int
	Width     string // of the lying bar, in percent
}

// BarHeight is the height of the graphic of a standing bar.
const BarHeight = 150

// Bars counts the warranties that end in this month and the next twelve. The longest bar is as long as the graphic, and
// even one warranty can be seen.
func Bars(ending map[warranty.Date]int64, today warranty.Date, words *Texts) []Bar {
	const months = 13
	now := today.Time()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	bars, most := make([]Bar, months), int64(1)
	for day, n := range ending {
		end := day.Time()
		month := (end.Year()-first.Year())*12 + int(end.Month()) - int(first.Month())
		if month < 0 || month >= months {
			continue
		}
		bars[month].Count += n
		bars[month].Soon = bars[month].Soon || day-today <= EndingSoon
		most = max(most, bars[month].Count)
	}
	for i := range bars {
		b, month := &bars[i], first.AddDate(0, i, 0)
		if b.Label = words.Month(month); i == months-1 && month.Month() != time.January {
			b.Label += month.Format(" ’06") // as the first one
		}
		share := float64(b.Count) / float64(most)
		b.Height = int(share * BarHeight)
		if b.Count > 0 {
			b.Height = max(b.Height, 2)
			share = max(share, .01)
		}
		b.Y = BarHeight - b.Height
		b.Width = fmt.Sprintf("%.1f%%", 100*share)
	}
	return bars
}
