package view

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"math"
	"strings"

	"rsc.io/qr"

	"warranty.example/svc/warranty"
)

// Graphics are inline SVG made of numbers, without user input. Their geometry is in attributes,
// because the Content-Security-Policy forbids style attributes.

// coverage draws the coverage line from start to end: a tick per year, or every ten years, and a ring at today.
func coverage(w warranty.Warranty, today warranty.Date) template.HTML {
	return CoverageLine(w.StartDate, w.EndDate, today, Tone(w.Status, w.DaysRemaining))
}

// CoverageLine draws a coverage line in a tone.
func CoverageLine(start, end, today warranty.Date, tone string) template.HTML {
	const left, right, middle = 0.0, 100.0, 12.0 // left and right in percent
	last := end
	if end == warranty.Lifetime {
		// A lifetime warranty has no end to draw: the line ends five years from today.
		last = max(today, start) + 5*365
	}
	at := func(d warranty.Date) float64 {
		if last <= start {
			return right
		}
		share := float64(d-start) / float64(last-start)
		return left + (right-left)*math.Min(1, math.Max(0, share))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="cov %s" width="100%%" height="24" aria-hidden="true" focusable="false">`, tone)
	fmt.Fprintf(&b, `<line class="t" x1="%.1f%%" y1="%.1f" x2="%.1f%%" y2="%.1f"/>`, left, middle, right, middle)
	if today >= start {
		fmt.Fprintf(&b, `<line class="f" x1="%.1f%%" y1="%.1f" x2="%.1f%%" y2="%.1f"/>`, left, middle, at(today), middle)
	}
	step := 1
	if last-start > 20*366 { // as many ticks as fit into a table
		step = 10
	}
	for years := step; years <= 200; years += step {
		day := start.AddYears(years)
		if day >= last {
			break
		}
		fmt.Fprintf(&b, `<line class="k" x1="%.1f%%" y1="%.1f" x2="%.1f%%" y2="%.1f"/>`, at(day), middle-5, at(day), middle+5)
	}
	if today >= start && today <= last && tone != "quiet" {
		fmt.Fprintf(&b, `<circle class="m" cx="%.1f%%" cy="%.1f" r="5"/>`, at(today), middle)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers and constants
}

// seal draws the rosette of a reference number. Each number has its own curves.
func seal(reference warranty.Reference) template.HTML {
	return template.HTML( //nolint:gosec // only numbers
		`<svg class="seal" viewBox="0 0 1000 1000" aria-hidden="true" focusable="false">` +
			rosette(reference) + `</svg>`)
}

// SealCurves returns the curves of the seal of a reference number, on a square of 1000 by 1000.
func SealCurves(reference warranty.Reference) []string {
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(rosette(reference), pathStart), pathEnd), pathEnd+pathStart)
}

const pathStart, pathEnd = `<path d="`, `"/>`

func rosette(reference warranty.Reference) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(reference)) // never fails
	seed := h.Sum64()
	pick := func(n uint64) float64 { v := seed % n; seed /= n; return float64(v) }
	var b strings.Builder
	// Two bands of crossing waves, as on a banknote.
	for _, band := range []struct{ radius, depth, strands float64 }{
		{330, 90 + pick(70), 5},
		{170, 50 + pick(50), 4},
	} {
		lobes := 7 + pick(8)
		for strand := range int(band.strands) {
			wave(&b, band.radius, band.depth, lobes, 2*math.Pi*float64(strand)/band.strands)
		}
	}
	return b.String()
}

// wave writes a closed wave around a circle as quadratic Bézier curves. Its points are control
// points, and the curve runs through the midpoints between them.
func wave(b *strings.Builder, radius, depth, lobes, phase float64) {
	points := 6 * int(lobes)
	at := func(i int) (x, y float64) {
		a := 2 * math.Pi * float64(i) / float64(points)
		r := radius + depth*math.Sin(lobes*a+phase)
		return 500 + r*math.Cos(a), 500 + r*math.Sin(a)
	}
	for i := range points + 1 {
		x, y := at(i)
		nextX, nextY := at(i + 1)
		if i == 0 {
			fmt.Fprintf(b, pathStart+`M%.0f %.0f`, (x+nextX)/2, (y+nextY)/2)
			continue
		}
		fmt.Fprintf(b, "Q%.0f %.0f %.0f %.0f", x, y, (x+nextX)/2, (y+nextY)/2)
	}
	b.WriteString(pathEnd)
}

// qrCode draws an address as a QR code, black on white in both themes, with the margin that
// scanners need. The label is for screen readers.
func qrCode(address, label string) (template.HTML, error) {
	code, err := qr.Encode(address, qr.M)
	if err != nil {
		return "", err
	}
	const margin = 4
	side := code.Size + 2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="qr" viewBox="0 0 %d %d" role="img" aria-label="%s" shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%dv%dH0z"/><path fill="#000" d="`,
		side, side, template.HTMLEscapeString(label), side, side)
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+margin, y+margin)
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return template.HTML(b.String()), nil //nolint:gosec // numbers, and an escaped label
}

// icons are drawn on a grid of 24 by 24.
var icons = map[string]string{
	"mark": `<path d="M12 2.8 19.5 6v6c0 4.6-3.1 7.6-7.5 9.2C7.6 19.6 4.500 16.6 4.500 12V6z"/>` +
		`<path d="m8.700 12.100 2.300 2.300 4.300-4.700"/>`,
	"overview": `<path d="M4 13h7V4H4zM13 20h7v-9h-7zM13 4v4h7V4zM4 20h7v-4H4z"/>`,
	"shield":   `<path d="M12 3 20 6v6c0 5-3.500 7.500-8 9-4.500-1.500-8-4-8-9V6z"/>`,
	"claim":    `<path d="M4 5h16v11H9l-5 4z"/>`,
	"file":     `<path d="M6 3h8l4 4v14H6z"/><path d="M14 3v4h4"/>`,
	"settings": `<circle cx="12" cy="12" r="3"/><path d="M12 2v4m0 12v4M2 12h4m12 0h4M5 5l3 3m8 8 3 3M5 19l3-3m8-8 3-3"/>`,
	"admin":    `<path d="M4 4h16v7H4zM4 13h16v7H4zM8 7.500v.5M8 16.500v.5"/>`,
	"person":   `<circle cx="12" cy="8" r="4"/><path d="M4 21c0-4 3.500-6 8-6s8 2 8 6"/>`,
	"people": `<circle cx="9" cy="8" r="3.500"/><path d="M2.500 20c0-4 3-5.500 6.500-5.500s6.500 1.500 6.500 5.500` +
		`M16 4.800a3.500 3.500 0 0 1 0 6.400M18 14.800c2.300.600 3.500 2.200 3.500 5.200"/>`,
	"more": `<g fill="currentColor" stroke="none"><circle cx="5" cy="12" r="1.750"/><circle cx="12" cy="12" r="1.750"/>` +
		`<circle cx="19" cy="12" r="1.750"/></g>`,
	"exit":    `<path d="M14 4H5v16h9M10 12h11m-4-4 4 4-4 4"/>`,
	"theme":   `<circle cx="12" cy="12" r="8"/><path d="M12 4v16a8 8 0 0 0 0-16z" fill="currentColor"/>`,
	"search":  `<circle cx="11" cy="11" r="6.500"/><path d="m16 16 4.500 4.500"/>`,
	"warning": `<path d="M12 4 22 20H2z"/><path d="M12 10v5m0 2v.5"/>`,
	"updown":  `<path d="m8 9 4-4 4 4M8 15l4 4 4-4"/>`,
	"plus":    `<path d="M12 5v14M5 12h14"/>`,
	"shop":    `<path d="M4 9h16v11H4zM3 9l2-5h14l2 5M9 20v-6h6v6"/>`,
	"table":   `<path d="M4 5h16v14H4zM4 10h16M4 14.500h16M10 5v14"/>`,
	"tag":     `<path d="M4 4h8l8 8-8 8-8-8z"/><path d="M8.500 8.500v.1"/>`,
	"print":   `<path d="M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z"/>`,
	"key":     `<circle cx="8" cy="15" r="4"/><path d="m11 12 8-8m-3 3 3 3"/>`,
	"device":  `<path d="M5 5h14v10H5zM2 19h20"/>`,
	"mail":    `<path d="M4 6h16v12H4z"/><path d="m4 7 8 6 8-6"/>`,
	"check":   `<path d="m5 12.500 4.500 4.500L19 7"/>`,
	"phone":   `<path d="M5 4h4l2 5-2.500 2a11 11 0 0 0 5 5l2-2.500 5 2v4c0 1-1 1.500-2 1.500C10 21 3 14 3.500 6c0-1 .5-2 1.500-2z"/>`,
	"link":    `<path d="M10 14a4 4 0 0 0 6 0l4-4a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-4 4a4 4 0 0 0 6 6l1-1"/>`,
	"clock":   `<circle cx="12" cy="12" r="8.500"/><path d="M12 7v5l3.500 2"/>`,
	"verified": `<path d="m12 2.500 2.600 2 3.200-.2.900 3.100 2.600 1.900-1.100 3 1.100 3-2.600 1.900-.9 3.100-3.200-.2-2.600 2-2.600-2-3.200.2` +
		`-.9-3.100-2.600-1.900 1.100-3-1.100-3 2.600-1.900.9-3.100 3.200.2z"/><path d="m8.500 12.200 2.400 2.400 4.600-4.900"/>`,
	"clip":   `<path d="M20 11l-8.500 8.500a5 5 0 0 1-7-7L13 4a3.500 3.500 0 0 1 5 5l-8.500 8.500a2 2 0 0 1-3-3L14 7"/>`,
	"minus":  `<path d="M6 12h12"/>`,
	"help":   `<circle cx="12" cy="12" r="9"/><path d="M9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.7.300-1 .8-1 1.700m0 3v.5"/>`,
	"undo":   `<path d="M8 5 4 9l4 4"/><path d="M4 9h10a5.500 5.500 0 0 1 0 11H9"/>`,
	"cross":  `<path d="M6 6l12 12M18 6L6 18"/>`,
	"camera": `<path d="M3 8h4l2-3h6l2 3h4v11H3z"/><circle cx="12" cy="13" r="3.500"/>`,
	"quote": `<path d="M10 7c-3 1-4 3-4 6h4v5H4v-5c0-5 2-7 6-8zM20 7c-3 1-4 3-4 6h4v5h-6v-5c0-5 2-7 6-8z" ` +
		`fill="currentColor" stroke="none"/>`,
}

func icon(name string) (template.HTML, error) {
	paths, ok := icons[name]
	if !ok {
		return "", fmt.Errorf("unknown icon %q", name)
	}
	return template.HTML( //nolint:gosec // only constants
		`<svg width="18" height="18" viewBox="0 0 24 24" fill="none" stroke="currentColor" ` +
			`stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">` +
			paths + `</svg>`), nil
}
