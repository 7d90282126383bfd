package paper

import (
	"fmt"
	"slices"
	"strings"
)

// Label has the texts of a label to stick on.
type Label struct {
	Product string
	Serial  string
	Help    string // what the code is for
	Number  string // the reference number, or the code to type
	Link    string // the address in the QR code
	// From is the verified domain of the issuer, and Name what it calls itself. Small labels have no room for the name.
	From, Name string
}

// Grid is how labels are arranged on a page. Lengths are in millimeters.
type Grid struct {
	PageWidth, PageHeight float64
	Columns, Rows         int
	Top, Left             float64 // margins of the page; those on the other sides are equal
	GapX, GapY            float64 // between labels
}

// Bounds of the labels of a sheet.
const (
	minLabelWidth, minLabelHeight = 48, 24
	sheetColumns, sheetRows       = 3, 8
)

// A4Sheet returns A4 sheets of 3 by 8 labels with margins and gaps. The labels fill the rest. It returns an error if
// they become too small.
func A4Sheet(top, left, gapX, gapY float64) (Grid, error) {
	g := Grid{a4Width, a4Height, sheetColumns, sheetRows, top, left, gapX, gapY}
	if w, h := g.Label(); w < minLabelWidth || h < minLabelHeight || top < 0 || left < 0 || gapX < 0 || gapY < 0 {
		return g, fmt.Errorf("labels of %.1f by %.1f mm", w, h)
	}
	return g, nil
}

// Roll returns a roll of labels, one per page.
func Roll(width, height float64) Grid {
	return Grid{PageWidth: width, PageHeight: height, Columns: 1, Rows: 1}
}

// Label returns the size of a label.
func (g Grid) Label() (width, height float64) {
	columns, rows := float64(g.Columns), float64(g.Rows)
	return (g.PageWidth - 2*g.Left - (columns-1)*g.GapX) / columns, (g.PageHeight - 2*g.Top - (rows-1)*g.GapY) / rows
}

// PerPage returns the number of labels of a page.
func (g Grid) PerPage() int { return g.Columns * g.Rows }

// Pages returns the number of pages of labels if the first one is at a position, from 1.
func (g Grid) Pages(labels, first int) int {
	return (labels + first - 1 + g.PerPage() - 1) / g.PerPage()
}

// Place returns the place of a label, counted from 0, on its page.
func (g Grid) Place(n int) Box {
	w, h := g.Label()
	row, column := float64(n%g.PerPage()/g.Columns), float64(n%g.Columns)
	return Box{g.Left + column*(w+g.GapX), g.Top + row*(h+g.GapY), w, h}
}

// Labels lays out labels on pages. The first label is at a position, from 1, so that a sheet that was used in part can
// be used up. lostHelp replaces the help of a label with characters that the fonts lack.
func Labels(list []Label, g Grid, first int, lostHelp string) []Sheet {
	sheets := make([]Sheet, g.Pages(len(list), first))
	for i := range sheets {
		sheets[i].Width, sheets[i].Height = g.PageWidth, g.PageHeight
	}
	for i, label := range list {
		at := i + first - 1
		sheets[at/g.PerPage()].label(g.Place(at), label, lostHelp)
	}
	return sheets
}

// label draws a label in its place: the code on the left, and beside it as much text as fits.
func (s *Sheet) label(at Box, l Label, lostHelp string) {
	// Most printers cannot print on the edge of a sheet.
	pad := 1.5
	if at.Height >= 30 {
		pad = 4
	} else {
		l.Name = ""
	}
	side := min(at.Height-2*min(pad, 3), .4*at.Width)
	s.qrCode(at.X+pad-.5, at.Y+(at.Height-side)/2, side, l.Link)
	x := at.X + pad + side + .8
	wide, high := at.X+at.Width-pad-x, at.Height-2*pad
	for _, try := range []labelText{
		{points: 11, lines: 3, help: 3}, {points: 9, lines: 3, help: 3}, {points: 8, lines: 3, help: 2},
		{points: 7, lines: 3, help: 2},
		{points: 6.5, lines: 2, help: 2}, {points: 6, lines: 2, help: 1}, {points: 5.5, lines: 2, help: 1},
		{points: 5.5, lines: 2}, {points: 5, lines: 1}, {points: 4.5, lines: 1, brief: true},
	} {
		part := Sheet{}
		height := try.draw(&part, wide, l, lostHelp)
		if (height > high || try.points > 6 && splits(l.Help, wide, try.points)) && !try.brief {
			continue
		}
		for _, it := range part.items {
			it.X, it.Y, it.baseline = it.X+x, it.Y+at.Y+(at.Height-height)/2, it.baseline+at.Y+(at.Height-height)/2
			s.items = append(s.items, it)
		}
		s.Lost = s.Lost || part.Lost
		return
	}
}

// splits reports whether a word of a text, such as an address, is too long for a line.
func splits(text string, wide, points float64) bool {
	text, _ = printable(text)
	return slices.ContainsFunc(strings.Fields(text), func(word string) bool { return sans.width(word, points) > wide })
}

// labelText is a way to print the texts of a label.
type labelText struct {
	points      float64
	lines, help int // lines of the product and of the help
	brief       bool
}

// draw prints the texts from the top left corner on, and returns their height.
func (t labelText) draw(s *Sheet, wide float64, l Label, lostHelp string) (y float64) {
	const lead, gap = 1.22, .5
	st := func(f face, points float64, most int) style {
		return style{face: f, points: points, lead: lead, most: most, least: max(points-1, 4)}
	}
	_, lost := printable(l.Product + l.Serial)
	help, lines := l.Help, t.help
	if lost {
		help, lines = lostHelp, max(1, t.help)
	}
	y = s.write(0, y, wide, l.Product, st(bold, t.points, t.lines)) + gap
	if !t.brief {
		y = s.write(0, y, wide, l.Serial, st(mono, t.points-.5, 2)) + gap
	}
	if lines > 0 {
		y = s.write(0, y, wide, help, st(sans, t.points-.5, lines)) + gap
	}
	if !t.brief && l.From != "" {
		y = s.write(0, y, wide, l.From, st(bold, t.points-.5, 1))
		y = s.write(0, y, wide, l.Name, st(sans, t.points-.5, 1)) + gap
	}
	number := style{face: mono, points: t.points - .5, lead: lead}
	if mono.width(l.Number, number.points) <= wide {
		return s.write(0, y, wide, l.Number, number)
	}
	first, second := halves(l.Number)
	return s.write(0, s.write(0, y, wide, first, number), wide, second, number)
}

// halves splits a number after the group in its middle.
func halves(number string) (first, second string) {
	for i := len(number) / 2; i < len(number); i++ {
		if number[i] == '-' {
			return number[:i+1], number[i+1:]
		}
	}
	return number, ""
}
