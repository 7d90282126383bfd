// Package paper lays out certificates, slips and labels, and writes them as PDF and, for previews, as SVG. It knows no
// records: callers give it texts in the reader's language.
package paper

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"rsc.io/qr"
)

// Sheet is a page to print. Lengths are in millimeters, from its top left corner.
type Sheet struct {
	Width, Height float64
	items         []item
	// Lost reports whether a text has characters that the fonts lack.
	Lost bool
}

// Box is a place on a sheet.
type Box struct{ X, Y, Width, Height float64 }

// Color is a color in sRGB.
type Color struct{ R, G, B uint8 }

// The colors of papers.
var (
	black    = Color{}
	ink      = Color{20, 32, 38}
	quiet    = Color{82, 94, 100}
	line     = Color{217, 215, 207}
	strong   = Color{140, 140, 132}
	green    = Color{0, 102, 80}
	red      = Color{163, 32, 27}
	sealTone = Color{77, 148, 132} // green on white paper, seen through
)

type kind int

const (
	isText kind = iota
	isCode
	isPicture
	isSeal
	isRule   // a filled rectangle
	isDashes // a dashed line
	isFrame  // a rectangle with round corners
)

// item is something on a sheet. Only frames have others inside.
type item struct {
	kind kind
	Box
	text     string
	face     face
	points   float64
	track    float64 // between characters
	baseline float64 // from the top of the sheet
	color    Color
	code     *qr.Code
	link     string // of a code
	picture  *picture
	curves   []string // of a seal
}

// align says where a line begins.
type align int

const (
	left align = iota
	center
	right
)

// style says how a text is printed.
type style struct {
	face   face
	points float64
	color  Color
	align  align
	lead   float64 // height of a line in em; 1.35 if it is 0
	track  float64
	// most is the number of lines; 0 means any. A text that needs more is printed smaller, down to least points, and
	// then cut, or in more lines if the whole text is wanted.
	most  int
	least float64
	whole bool
}

func (st style) height() float64 {
	lead := st.lead
	if lead == 0 {
		lead = 1.35
	}
	return st.points * pointSize * lead
}

// write prints a text at a place, and returns where it ends. Nothing is printed for an empty text.
func (s *Sheet) write(x, y, width float64, text string, st style) (bottom float64) {
	text, lost := printable(text)
	s.Lost = s.Lost || lost
	if text == "" {
		return y
	}
	st.face = st.face.of(text)
	lines, points := fit(text, width, st)
	st.points = points
	for _, words := range lines {
		wide := st.face.width(words, points) + st.track*float64(utf8.RuneCountInString(words))
		at := x
		switch st.align {
		case center:
			at += (width - wide) / 2
		case right:
			at += width - wide
		}
		height := st.height()
		s.items = append(s.items, item{
			kind: isText, Box: Box{at, y, wide, height}, text: words, face: st.face, points: points, color: st.color,
			track: st.track, baseline: y + height/2 + 0.36*points*pointSize,
		})
		y += height
	}
	return y
}

// fit returns the lines of a text, and their size in points.
func fit(text string, width float64, st style) (lines []string, points float64) {
	const step = 0.5
	points = st.points
	for {
		lines = wrap(text, width, st.face, points, st.track)
		switch {
		case st.most == 0 || len(lines) <= st.most:
			return lines, points
		case points-step >= st.least && st.least > 0:
			points -= step
			continue
		case st.whole:
			return lines, points
		}
		lines = lines[:st.most]
		last := &lines[st.most-1]
		*last = cut(*last, width, st.face, points, st.track)
		return lines, points
	}
}

const ellipsis = "…"

// cut shortens a line by words, or else by characters, so that an ellipsis fits after it.
func cut(words string, width float64, f face, points, track float64) string {
	fits := func(s string) bool {
		return f.width(s+ellipsis, points)+track*float64(utf8.RuneCountInString(s)+1) <= width
	}
	short := words
	for !fits(short) && strings.Contains(short, " ") {
		short = short[:strings.LastIndexByte(short, ' ')]
	}
	for !fits(short) && short != "" {
		_, n := utf8.DecodeLastRuneInString(short)
		short = short[:len(short)-n]
	}
	return strings.TrimRight(short, " .,;:-–") + ellipsis
}

// wrap splits a text into lines. Words that are too long are split after signs, or else anywhere.
func wrap(text string, width float64, f face, points, track float64) (lines []string) {
	measure := func(s string) float64 {
		return f.width(s, points) + track*float64(utf8.RuneCountInString(s))
	}
	current := ""
	for word := range strings.FieldsSeq(text) {
		joined := word
		if current != "" {
			joined = current + " " + word
		}
		if measure(joined) <= width {
			current = joined
			continue
		}
		if current != "" {
			lines = append(lines, current)
		}
		for measure(word) > width {
			n := splitAt(word, width, measure)
			lines, word = append(lines, word[:n]), word[n:]
		}
		current = word
	}
	if current != "" {
		lines = append(lines, current)
	}
	return lines
}

// splitAt returns how many bytes of a word fit in a line: at least one character.
func splitAt(word string, width float64, measure func(string) float64) int {
	ends := []int{}
	for i := range word {
		if i > 0 {
			ends = append(ends, i)
		}
	}
	if len(ends) == 0 {
		return len(word)
	}
	// The first end that is too far.
	at, _ := slices.BinarySearchFunc(ends, width, func(end int, width float64) int {
		if measure(word[:end]) <= width {
			return -1
		}
		return 1
	})
	last := ends[max(0, at-1)]
	if sign := strings.LastIndexAny(word[:last], "-/.@_:"); sign > 0 && sign >= last/3 {
		return sign + 1
	}
	return last
}

// rule draws a line of a thickness.
func (s *Sheet) rule(x, y, width, thick float64, c Color) {
	s.items = append(s.items, item{kind: isRule, Box: Box{x, y, width, thick}, color: c})
}

// dashes draws a dashed line.
func (s *Sheet) dashes(x, y, width float64) {
	s.items = append(s.items, item{kind: isDashes, Box: Box{x, y, width, 0.25}, color: black})
}

// quietZone is the margin of a QR code that readers need, in dots.
const quietZone = 4

// qrCode draws a QR code with its margin, and returns its size. The code is empty if the text is too long for one.
func (s *Sheet) qrCode(x, y, size float64, link string) {
	code, err := qr.Encode(link, qr.M)
	if err != nil {
		if code, err = qr.Encode(link, qr.L); err != nil {
			return
		}
	}
	s.items = append(s.items, item{kind: isCode, Box: Box{x, y, size, size}, code: code, link: link})
}

// dots calls draw with each run of dark dots of a code, in dots from its corner.
func dots(code *qr.Code, draw func(x, y, width int)) {
	for row := range code.Size {
		for at := 0; at < code.Size; at++ {
			first := at
			for at < code.Size && code.Black(at, row) {
				at++
			}
			if at > first {
				draw(first+quietZone, row+quietZone, at-first)
			}
		}
	}
}

// logo draws a picture in a square, if there is one.
func (s *Sheet) logo(p *picture, x, y, size float64) {
	if p == nil {
		return
	}
	scale := math.Min(size/float64(p.width), size/float64(p.height))
	w, h := float64(p.width)*scale, float64(p.height)*scale
	s.items = append(s.items, item{kind: isPicture, Box: Box{x + (size-w)/2, y + (size-h)/2, w, h}, picture: p})
}

// shift moves everything from an item on down.
func (s *Sheet) shift(from int, by float64) {
	for i := from; i < len(s.items); i++ {
		s.items[i].Y += by
		s.items[i].baseline += by
	}
}

// Boxes returns the places of everything that must not overlap.
func (s *Sheet) Boxes() (list []Box) {
	for _, i := range s.items {
		if i.kind != isFrame {
			list = append(list, i.Box)
		}
	}
	return list
}

// Texts returns the lines of text on the sheet.
func (s *Sheet) Texts() (list []string) {
	for _, i := range s.items {
		if i.kind == isText {
			list = append(list, i.text)
		}
	}
	return list
}
