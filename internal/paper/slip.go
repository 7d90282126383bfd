package paper

// Slip has the texts of a slip with the code that registers a warranty. Empty ones are left out.
type Slip struct {
	Issuer  Issuer
	Product string
	Facts   []Fact
	Lead    Section // "Register it in one minute", and how
	Or      string  // before Host
	Host    string  // the address to type
	Enter   string  // before Code
	Code    string
	Link    string // the address in the QR code
	Keep    string
	Number  string // the reference number
	Law     string
	Contact string
	// LostNote says what Lost stands for.
	LostNote string
}

// SlipSize is the paper of a slip.
type SlipSize string

// The sizes of slips.
const (
	Roll80 SlipSize = "80mm" // a roll of 80 mm, cut below the slip
	A6     SlipSize = "a6"
)

// SlipSizes lists the sizes of slips.
func SlipSizes() []SlipSize { return []SlipSize{Roll80, A6} }

// smallestSlip is the size of the smallest text of a slip, in points.
const smallestSlip = 8

// Sheet lays out a slip in black. What does not fit on an A6 sheet is printed closer, and then long texts are cut.
func (s Slip) Sheet(size SlipSize) Sheet {
	logo := newPicture(s.Issuer.Logo, true)
	if size != A6 {
		const width, side = 80, 5
		l := slipLayout{
			Slip: s, picture: logo, side: side, space: 1, code: 44, most: 8, sheet: Sheet{Width: width, Height: 1000},
		}
		l.sheet.Height = l.draw(4) + 5
		return l.sheet
	}
	const width, height, side = 105, 148, 8
	var l slipLayout
	for _, try := range []slipLayout{
		{space: 1, code: 40, most: 8}, {space: .6, code: 36, most: 6}, {space: .45, code: 34, most: 4},
		{space: .3, code: 32, most: 2, brief: true}, {space: .2, code: 30, most: 1, brief: true},
	} {
		l = try
		l.Slip, l.picture, l.side, l.sheet = s, logo, side, Sheet{Width: width, Height: height}
		if l.draw(7) <= height-6 {
			break
		}
	}
	return l.sheet
}

type slipLayout struct {
	Slip
	picture *picture
	side    float64 // margin
	space   float64 // scale of the distances
	code    float64 // size of the QR code
	most    int     // lines of a text
	brief   bool    // leaves out what the customer can do without
	sheet   Sheet
}

func (l *slipLayout) gap(mm float64) float64 { return mm * l.space }

// centered prints lines in the middle.
func (l *slipLayout) centered(y float64, text string, st style) float64 {
	st.align, st.most = center, l.most
	return l.sheet.write(l.side, y, l.wide(), text, st)
}

func (l *slipLayout) wide() float64 { return l.sheet.Width - 2*l.side }

// rule draws a dashed line with space around it.
func (l *slipLayout) rule(y float64) float64 {
	y += l.gap(3)
	l.sheet.dashes(l.side, y, l.wide())
	return y + .25 + l.gap(3)
}

// draw lays out the slip from y on, and returns where it ends.
func (l *slipLayout) draw(y float64) float64 {
	const logoSide = 15
	plain, heavy := style{face: sans, points: 9}, style{face: bold, points: 9}
	small := style{face: sans, points: smallestSlip}
	s := &l.sheet
	if l.picture != nil && !l.brief {
		s.logo(l.picture, (s.Width-logoSide)/2, y, logoSide)
		y += logoSide + l.gap(2.5)
	}
	y = l.centered(y, l.Issuer.Name, heavy)
	for _, text := range l.Issuer.Lines {
		y = l.centered(y, text, small)
	}
	y = l.rule(y)
	product := style{face: bold, points: 13, lead: 1.2, least: 9}
	y = l.centered(y, l.Product, product) + l.gap(2)
	for _, f := range l.Facts {
		y = l.fact(y, f)
	}
	y = l.rule(y)
	y = l.centered(y, l.Lead.Heading, heavy)
	y = l.centered(y, l.Lead.Text, plain) + l.gap(1)
	s.qrCode((s.Width-l.code)/2, y, l.code, l.Link)
	y += l.code + l.gap(1)
	y = l.centered(y, l.Or, plain)
	y = l.centered(y, l.Host, heavy)
	y = l.centered(y, l.Enter, plain) + l.gap(1.2)
	for _, part := range groups(l.Code) {
		y = s.write(l.side, y, l.wide(), part, style{face: mono, points: 13, lead: 1.3, align: center})
	}
	y = l.centered(y+l.gap(1.5), l.Keep, small)
	y = l.rule(y)
	y = l.centered(y, l.Number, style{face: mono, points: smallestSlip}) + l.gap(1)
	if !l.brief {
		y = l.centered(y, l.Law, small)
	}
	y = l.centered(y, l.Contact, small)
	if s.Lost {
		y = l.centered(y+l.gap(1), l.LostNote, small)
	}
	return y
}

// fact prints a name on the left and its value on the right, or below it if both are too long for a line.
func (l *slipLayout) fact(y float64, f Fact) float64 {
	name, value := style{face: sans, points: 9, most: 2}, style{face: bold, points: 9, align: right, most: l.most}
	if f.Number {
		value.face = mono
	}
	text, _ := printable(f.Value)
	label, _ := printable(f.Name)
	if text == "" {
		return y
	}
	wide := name.face.width(label, name.points)
	if wide+4+value.face.of(text).width(text, value.points) <= l.wide() {
		l.sheet.write(l.side, y, wide+1, f.Name, name)
		return l.sheet.write(l.side+wide+4, y, l.wide()-wide-4, f.Value, value) + l.gap(.5)
	}
	y = l.sheet.write(l.side, y, l.wide(), f.Name, name)
	return l.sheet.write(l.side, y, l.wide(), f.Value, value) + l.gap(.5)
}

// groups splits a code into lines of at most three groups, so that it is easy to type.
func groups(code string) (lines []string) {
	const perLine = 3
	n := 0
	start := 0
	for i, r := range code {
		if r != '-' {
			continue
		}
		if n++; n%perLine == 0 {
			lines, start = append(lines, code[start:i]), i+1
		}
	}
	if start < len(code) {
		lines = append(lines, code[start:])
	}
	return lines
}
