package paper

// Issuer is the organization that a paper is by.
type Issuer struct {
	Name string
	// Lines are printed below the name: its address, and whether it is verified.
	Lines []string
	// Logo is a PNG file, or nil.
	Logo []byte
	// Color is that of the organization. Without one, it is the green of the service. The seal is always green.
	Color Color
}

// Fact is a value with its name. Numbers that people type are printed in a monospaced font.
type Fact struct {
	Name, Value string
	Number      bool
}

// Cover is a row of what a guarantee covers. Get may be empty in all rows.
type Cover struct{ What, Get, From, Until string }

// Section is a text with a heading.
type Section struct{ Heading, Text string }

// Certificate has the texts of a guarantee certificate. Empty ones are left out.
type Certificate struct {
	Issuer Issuer
	// Seal has the curves of the seal, on a square of 1000 by 1000. There is none unless the issuer is verified.
	Seal     []string
	Kind     string // "Guarantee certificate"
	Product  string
	Given    string // to whom it was given
	Notice   string // why the guarantee is not valid
	Facts    []Fact // up to four
	Heads    Cover  // the heads of the table
	Covers   []Cover
	Sections []Section
	Law      Section // on the rights that a guarantee does not change
	Check    Section // how to check the certificate
	Checks   string  // what counts
	Signed   []string
	Link     string // the address of the public page
	LostNote string // what Lost stands for
}

// Measures of a certificate, in millimeters.
const (
	a4Width, a4Height = 210, 297
	margin            = 15
	inner             = a4Width - 2*margin
	codeSize          = 32
	logoSize          = 20
	sealWide          = 30
	sealGap           = 4
)

// Sheet lays out the certificate on one page. Long texts are printed smaller, and those of the sections are cut if they
// are too many.
func (c Certificate) Sheet() Sheet {
	logo := newPicture(c.Issuer.Logo, false)
	for _, lay := range []certificateLayout{
		{scale: 1}, {scale: .92}, {scale: .85}, {scale: .85, most: 16}, {scale: .78, most: 12}, {scale: .7, most: 8},
		{scale: .62, most: 4}, {scale: .55, most: 2},
	} {
		lay.Certificate, lay.picture = c, logo
		if lay.draw() {
			return lay.sheet
		}
	}
	last := certificateLayout{Certificate: c, picture: logo, scale: .45, most: 1}
	last.draw()
	return last.sheet
}

// certificateLayout lays out a certificate at a scale. most is the number of lines of a section; 0 means any.
type certificateLayout struct {
	Certificate
	picture *picture
	scale   float64
	most    int
	sheet   Sheet
}

func (l *certificateLayout) text(face face, points float64, c Color) style {
	return style{face: face, points: points * l.scale, color: c}
}

// gap returns a distance at the scale.
func (l *certificateLayout) gap(mm float64) float64 { return mm * l.scale }

// draw reports whether everything fits on the page.
func (l *certificateLayout) draw() bool {
	l.sheet = Sheet{Width: a4Width, Height: a4Height}
	y := l.head(margin)
	y = l.title(y)
	y = l.facts(y)
	y = l.table(y)
	y = l.sections(y)
	y = l.law(y)
	from := len(l.sheet.items)
	height := l.proof(0)
	top := a4Height - margin - height
	l.sheet.shift(from, top)
	return y+l.gap(3) <= top
}

func (l *certificateLayout) accent() Color {
	if l.Issuer.Color == black {
		return green
	}
	return l.Issuer.Color
}

// head draws who issued the certificate.
func (l *certificateLayout) head(y float64) float64 {
	s, x, width := &l.sheet, float64(margin), float64(inner)
	middle := y + sealWide/2
	if len(l.Seal) > 0 {
		s.items = append(s.items, item{
			kind: isSeal, Box: Box{a4Width - margin - sealWide, y, sealWide, sealWide}, curves: l.Seal, color: sealTone,
		})
		width -= sealWide + sealGap
	}
	if l.picture != nil {
		s.logo(l.picture, x, middle-logoSize/2, logoSize)
		x, width = x+logoSize+5, width-logoSize-5
	}
	from := len(s.items)
	end := s.write(x, 0, width, l.Issuer.Name, l.text(bold, 13, ink))
	end += l.gap(.6)
	for _, text := range l.Issuer.Lines {
		end = s.write(x, end, width, text, l.text(sans, 9.25, quiet))
	}
	height := end
	top := y + max(0, (sealWide-height)/2)
	if l.picture == nil && len(l.Seal) == 0 {
		top = y
	}
	s.shift(from, top)
	y = top + height
	if l.picture != nil || len(l.Seal) > 0 {
		y = max(y, middle+sealWide/2)
	}
	y += l.gap(3)
	s.rule(margin, y, inner, .3, line)
	return y + .3
}

// title draws the product.
func (l *certificateLayout) title(y float64) float64 {
	s := &l.sheet
	kind := l.text(bold, 10, l.accent())
	kind.track = .35
	y = s.write(margin, y+l.gap(6), inner, l.Kind, kind)
	product := l.text(bold, 24, ink)
	product.lead, product.most, product.least, product.whole = 1.18, 3, 10*l.scale, true
	y = s.write(margin, y+l.gap(1.2), inner, l.Product, product)
	if l.Given != "" {
		y = s.write(margin, y+l.gap(1), inner, l.Given, l.text(sans, 9.5, quiet))
	}
	if l.Notice != "" {
		y = s.write(margin, y+l.gap(2), inner, l.Notice, l.text(bold, 12, red))
	}
	y += l.gap(5.5)
	s.rule(margin, y, inner, .3, line)
	return y + .3
}

// factWidths are the widths of the columns of facts.
var factWidths = map[int][]float64{1: {180}, 2: {90, 90}, 3: {58, 52, 70}, 4: {40, 30, 46, 64}}

// facts draws numbers and dates side by side.
func (l *certificateLayout) facts(y float64) float64 {
	s, bottom := &l.sheet, y
	list := l.Facts[:min(4, len(l.Facts))]
	x := float64(margin)
	for i, f := range list {
		wide := factWidths[len(list)][i]
		end := s.write(x, y+l.gap(5), wide-4, f.Name, l.text(sans, 8, quiet))
		value := l.text(bold, 10, ink)
		if f.Number {
			value = l.text(mono, 9, ink)
		}
		bottom = max(bottom, s.write(x, end+l.gap(.3), wide-4, f.Value, value))
		x += wide
	}
	return bottom
}

// table draws what is covered.
func (l *certificateLayout) table(y float64) float64 {
	if len(l.Covers) == 0 {
		return y
	}
	s, y := &l.sheet, y+l.gap(7)
	columns := []struct{ x, wide float64 }{{0, 60}, {62, 55}, {119, 29}, {150, 30}}
	get := false
	for _, c := range l.Covers {
		get = get || c.Get != ""
	}
	if !get {
		columns[0].wide = 115
	}
	row := func(c Cover, styles [4]style) {
		top, bottom := y+l.gap(2), y
		for i, text := range []string{c.What, c.Get, c.From, c.Until} {
			if i == 1 && !get {
				continue
			}
			bottom = max(bottom, s.write(margin+columns[i].x, top, columns[i].wide, text, styles[i]))
		}
		y = bottom + l.gap(2)
		s.rule(margin, y, inner, .2, line)
		y += .2
	}
	head, plain, heavy := l.text(sans, 9.5, quiet), l.text(sans, 9.5, ink), l.text(bold, 9.5, ink)
	row(l.Heads, [4]style{head, head, head, head})
	for _, c := range l.Covers {
		row(c, [4]style{heavy, plain, plain, heavy})
	}
	return y
}

// sections draws the texts in two columns: each goes to the shorter one.
func (l *certificateLayout) sections(y float64) float64 {
	const gutter, columns = 9.0, 2
	wide := (inner - gutter) / columns
	top := y + l.gap(6)
	ends := [columns]float64{top, top}
	for _, section := range l.Sections {
		at := 0
		if ends[1] < ends[0] {
			at = 1
		}
		x := margin + float64(at)*(wide+gutter)
		end := l.sheet.write(x, ends[at], wide, section.Heading, l.text(bold, 9.25, ink))
		text := l.text(sans, 9, quiet)
		text.most = l.most
		ends[at] = l.sheet.write(x, end+l.gap(.4), wide, section.Text, text) + l.gap(3)
	}
	return max(ends[0], ends[1])
}

// law draws the box with the rights that stay.
func (l *certificateLayout) law(y float64) float64 {
	const pad = 4
	s, from := &l.sheet, len(l.sheet.items)
	top := y + l.gap(2)
	end := s.write(margin+pad, top+l.gap(2.6), inner-2*pad, l.Law.Heading, l.text(bold, 9.25, ink))
	end = s.write(margin+pad, end, inner-2*pad, l.Law.Text, l.text(sans, 9, ink)) + l.gap(2.6)
	if len(s.items) > from {
		s.items = append(s.items, item{kind: isFrame, Box: Box{margin, top, inner, end - top}, color: l.accent()})
	}
	if l.sheet.Lost && l.LostNote != "" {
		end = s.write(margin, end+l.gap(2), inner, l.LostNote, l.text(sans, 8, quiet))
	}
	return end
}

// proof draws the QR code, how to check the certificate and who signed it, and returns where it ends.
func (l *certificateLayout) proof(y float64) float64 {
	const signWide, gutter = 50.0, 6.0
	s := &l.sheet
	s.rule(margin, y, inner, .3, line)
	top := y + 5
	s.qrCode(margin-2.5, top, codeSize, l.Link)
	x := float64(margin + codeSize + 2)
	wide := inner - codeSize - 2 - signWide - gutter
	small := style{points: 8 * max(l.scale, .8), color: quiet}
	from := len(s.items)
	heading := small
	heading.face, heading.color = bold, ink
	end := s.write(x, 0, wide, l.Check.Heading, heading) + .8
	end = s.write(x, end, wide, l.Check.Text, small) + .8
	end = s.write(x, end, wide, l.Checks, small)
	s.shift(from, top+max(0, codeSize-2.5-end))
	bottom := top + max(codeSize, end)

	from = len(s.items)
	end = 0
	for _, text := range l.Signed {
		end = s.write(a4Width-margin-signWide, end, signWide, text, small) + .6
	}
	if len(l.Signed) > 0 {
		at := top + max(2, codeSize-2.5-end)
		s.shift(from, at)
		s.rule(a4Width-margin-signWide, at-1.5, signWide, .25, strong)
		bottom = max(bottom, at+end)
	}
	return bottom
}
