package paper

import (
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"strings"
)

// Measures of frames and seals.
const (
	frameWidth  = 0.25
	frameCorner = 1.6
	sealSize    = 1000.0 // of the drawing
	sealLine    = 3.5
)

// SVG draws a sheet as a picture with a label for people who do not see it. It has no styles, which the
// Content-Security-Policy forbids; paper.css has its fonts.
func (s *Sheet) SVG(label string) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="paper" viewBox="0 0 %.2f %.2f" role="img" aria-label="%s">`,
		s.Width, s.Height, html.EscapeString(label))
	fmt.Fprintf(&b, `<path fill="#fff" d="M0 0h%.2fv%.2fH0z"/>`, s.Width, s.Height)
	for _, it := range s.items {
		svgItem(&b, it)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers, and escaped texts
}

func (c Color) hex() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func svgItem(b *strings.Builder, it item) {
	switch it.kind {
	case isText:
		fmt.Fprintf(b, `<text class="paper-%s" x="%.2f" y="%.2f" font-size="%.3f" fill="%s" textLength="%.2f" `+
			`lengthAdjust="spacingAndGlyphs">%s</text>`,
			families[it.face], it.X, it.baseline, it.points*pointSize, it.color.hex(), it.Width, html.EscapeString(it.text))
	case isRule:
		fmt.Fprintf(b, `<path fill="%s" d="M%.2f %.2fh%.2fv%.2fh-%.2fz"/>`,
			it.color.hex(), it.X, it.Y, it.Width, it.Height, it.Width)
	case isDashes:
		fmt.Fprintf(b, `<path stroke="%s" stroke-width="%.2f" stroke-dasharray="1 .8" d="M%.2f %.2fh%.2f"/>`,
			it.color.hex(), it.Height, it.X, it.Y+it.Height/2, it.Width)
	case isFrame:
		fmt.Fprintf(b, `<rect fill="none" stroke="%s" stroke-width="%.2f" x="%.2f" y="%.2f" width="%.2f" height="%.2f" `+
			`rx="%.2f"/>`,
			it.color.hex(), frameWidth, it.X, it.Y, it.Width, it.Height, frameCorner)
	case isPicture:
		fmt.Fprintf(b, `<image x="%.2f" y="%.2f" width="%.2f" height="%.2f" href="data:image/png;base64,%s"/>`,
			it.X, it.Y, it.Width, it.Height, base64.StdEncoding.EncodeToString(it.picture.png))
	case isCode:
		dot := it.Width / float64(it.code.Size+2*quietZone)
		fmt.Fprintf(b, `<path shape-rendering="crispEdges" transform="translate(%.2f %.2f) scale(%.4f)" d="`, it.X, it.Y, dot)
		dots(it.code, func(x, y, width int) { fmt.Fprintf(b, "M%d %dh%dv1h-%dz", x, y, width, width) })
		b.WriteString(`"/>`)
	case isSeal:
		fmt.Fprintf(b, `<g fill="none" stroke="%s" stroke-width="%.1f" transform="translate(%.2f %.2f) scale(%.4f)">`,
			it.color.hex(), sealLine, it.X, it.Y, it.Width/sealSize)
		for _, path := range it.curves {
			fmt.Fprintf(b, `<path d="%s"/>`, html.EscapeString(path))
		}
		b.WriteString(`</g>`)
	}
}

// eachCurve reads the path of a seal: a point to start from, and quadratic curves.
func eachCurve(path string, move func(x, y float64), curve func(cx, cy, x, y float64)) {
	start, curves, _ := strings.Cut(strings.TrimPrefix(path, "M"), "Q")
	var x, y, cx, cy float64
	if n, _ := fmt.Sscan(start, &x, &y); n != 2 {
		return
	}
	move(x, y)
	for part := range strings.SplitSeq(curves, "Q") {
		if n, _ := fmt.Sscan(part, &cx, &cy, &x, &y); n == 4 {
			curve(cx, cy, x, y)
		}
	}
}
