package paper

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
)

// seal is a curve like those of the web pages.
var seal = []string{"M500 100Q900 100 900 500Q900 900 500 900Q100 900 100 500Q100 100 500 100"}

func testLogo(width, height int) []byte {
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		picture.Set(x, height/2, color.NRGBA{0, 0, 160, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// words draws texts as people and attackers write them.
func words(most int) *rapid.Generator[string] {
	parts := rapid.SampledFrom([]string{
		"Lamp", "Wäschetrockner", "Серия", "Ωμέγα", "đặc biệt", "洗衣機", "שלום", "👩‍👩‍👧", "e\u0301", "\u202e", "\u200b", "\u00ad", "W", "MMMMMMMM",
		strings.Repeat("i", 60), strings.Repeat("W", 200), "-", "/", "…", "<b>&\"", "(x", "\\)", "\t", "  ", "1234-5678-", "ﬁ", "\x00", "€ 5", "z\u030c",
	})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "parts") {
			b.WriteString(parts.Draw(t, "part"))
			if rapid.Bool().Draw(t, "space") {
				b.WriteByte(' ')
			}
		}
		runes := []rune(b.String())
		return string(runes[:min(len(runes), most)])
	})
}

// mustBeTidy fails if something is not on the sheet or overlaps something else.
func mustBeTidy(t interface{ Fatalf(string, ...any) }, what string, s Sheet) {
	const hair = 0.05 // millimeters, for rounding
	boxes := s.Boxes()
	for i, a := range boxes {
		if a.X < -hair || a.Y < -hair || a.X+a.Width > s.Width+hair || a.Y+a.Height > s.Height+hair ||
			math.IsNaN(a.X+a.Y+a.Width+a.Height) {
			t.Fatalf("%s: %v leaves the sheet of %.1f by %.1f: %+v", what, a, s.Width, s.Height, s.items[i].text)
		}
		for _, b := range boxes[:i] {
			if a.X+hair < b.X+b.Width && b.X+hair < a.X+a.Width && a.Y+hair < b.Y+b.Height && b.Y+hair < a.Y+a.Height {
				t.Fatalf("%s: %v and %v overlap: %q", what, a, b, s.Texts())
			}
		}
	}
}

// long returns how many times a property is checked.
func long(times int) int {
	if testenv.Long() {
		return 50 * times
	}
	return times
}

func drawIssuer(t *rapid.T) Issuer {
	i := Issuer{Name: words(120).Draw(t, "issuer"), Lines: []string{words(300).Draw(t, "address"), words(280).Draw(t, "standing")}}
	if rapid.Bool().Draw(t, "logo") {
		i.Logo = testLogo(rapid.IntRange(1, 300).Draw(t, "width"), rapid.IntRange(1, 300).Draw(t, "height"))
	}
	return i
}

// TestCertificatesAreOnePage lays out certificates with any texts: nothing leaves the page or overlaps, and what counts
// is never cut.
func TestCertificatesAreOnePage(t *testing.T) {
	t.Parallel()
	testenv.Check(t, long(80), func(t *rapid.T) {
		c := Certificate{
			Issuer: drawIssuer(t), Kind: words(40).Draw(t, "kind"), Product: words(200).Draw(t, "product"),
			Given: words(220).Draw(t, "given"), Notice: words(100).Draw(t, "notice"), Heads: Cover{"Covered", "You get", "From", "Until"},
			Law: Section{words(40).Draw(t, "law"), words(300).Draw(t, "law")}, Check: Section{words(40).Draw(t, "check"), words(300).Draw(t, "check")},
			Checks: words(100).Draw(t, "checks"), Signed: []string{words(120).Draw(t, "signed"), words(60).Draw(t, "signed")},
			Link: "https://warranty.example/verify/WR-7TQ4-H2MC-9KXD-V3NB", LostNote: words(120).Draw(t, "note"),
		}
		if rapid.Bool().Draw(t, "seal") {
			c.Seal = seal
		}
		for range rapid.IntRange(0, 4).Draw(t, "facts") {
			c.Facts = append(c.Facts, Fact{words(30).Draw(t, "fact"), words(200).Draw(t, "value"), rapid.Bool().Draw(t, "number")})
		}
		for range rapid.IntRange(0, 8).Draw(t, "covers") {
			c.Covers = append(c.Covers, Cover{words(60).Draw(t, "what"), words(60).Draw(t, "get"), words(14).Draw(t, "from"), words(14).Draw(t, "until")})
		}
		for range rapid.IntRange(0, 5).Draw(t, "sections") {
			c.Sections = append(c.Sections, Section{words(40).Draw(t, "heading"), words(5000).Draw(t, "text")})
		}
		s := c.Sheet()
		mustBeTidy(t, "certificate", s)
		all := strings.Join(strings.Fields(strings.Join(s.Texts(), "")), "")
		for _, whole := range []string{c.Product, c.Issuer.Name, c.Given, c.Notice} {
			text, _ := printable(whole)
			if !strings.Contains(all, strings.Join(strings.Fields(text), "")) {
				t.Fatalf("%q is cut: %q", text, s.Texts())
			}
		}
	})
}

// TestSlipsFit lays out slips with any texts on both sizes.
func TestSlipsFit(t *testing.T) {
	t.Parallel()
	testenv.Check(t, long(80), func(t *rapid.T) {
		slip := Slip{
			Issuer: drawIssuer(t), Product: words(200).Draw(t, "product"), Lead: Section{"Register it in one minute", words(60).Draw(t, "scan")},
			Facts: []Fact{{"Covered until", "16 Nov 2028", false}, {words(30).Draw(t, "name"), words(120).Draw(t, "serial"), true}, {"Bought", "17 Nov 2026", false}},
			Or:    "or open", Host: words(80).Draw(t, "host"), Enter: "and enter", Code: "NCTF-CYJE-DWP9-HW60-0YHC",
			Link: "https://warranty.example/take#NCTF-CYJE-DWP9-HW60-0YHC", Keep: words(80).Draw(t, "keep"), Number: "WR-BM5D-K1KW-RCCX-DTTS",
			Law: "Your rights by law stay.", Contact: words(100).Draw(t, "contact"), LostNote: words(100).Draw(t, "note"),
		}
		for _, size := range SlipSizes() {
			s := slip.Sheet(size)
			mustBeTidy(t, string(size), s)
			for _, it := range s.items {
				if it.kind == isText && (it.points < smallestSlip || it.color != black) {
					t.Fatalf("%s: %q is %v in %v points", size, it.text, it.color, it.points)
				}
			}
		}
	})
}

// grids are those that the service offers.
func grids(t testing.TB) map[string]Grid {
	t.Helper()
	list := map[string]Grid{"50x25": Roll(50, 25), "62x29": Roll(62, 29), "89x36": Roll(89, 36), "100x50": Roll(100, 50)}
	for name, m := range map[string][4]float64{"A4, 70x37": {.5, 0, 0, 0}, "A4, 63.5x33.9": {12.9, 7.25, 2.5, 0}} {
		g, err := A4Sheet(m[0], m[1], m[2], m[3])
		if err != nil {
			t.Fatal(err)
		}
		list[name] = g
	}
	return list
}

// TestLabelsStayInPlace lays out labels with any texts on every grid from any position: each stays in its place.
func TestLabelsStayInPlace(t *testing.T) {
	t.Parallel()
	all := grids(t)
	testenv.Check(t, long(80), func(t *rapid.T) {
		g := all[rapid.SampledFrom(slices.Sorted(func(yield func(string) bool) {
			for name := range all {
				if !yield(name) {
					return
				}
			}
		})).Draw(t, "grid")]
		first, n := rapid.IntRange(1, g.PerPage()).Draw(t, "first"), rapid.IntRange(1, 30).Draw(t, "labels")
		list := make([]Label, n)
		for i := range list {
			list[i] = Label{
				words(200).Draw(t, "product"), words(130).Draw(t, "serial"), words(60).Draw(t, "help"), "WR-BM5D-K1KW-RCCX-DTTS",
				"https://warranty.example/verify/WR-BM5D-K1KW-RCCX-DTTS",
				rapid.SampledFrom([]string{"", "halden.example", strings.Repeat("a-long-name.", 9) + "example"}).Draw(t, "domain"),
				words(60).Draw(t, "issuer"),
			}
		}
		sheets := Labels(list, g, first, "[…]: scan the code")
		if want := (n + first - 2) / g.PerPage(); len(sheets) != want+1 {
			t.Fatalf("%d sheets for %d labels from %d on", len(sheets), n, first)
		}
		codes := 0
		for _, s := range sheets {
			mustBeTidy(t, "labels", s)
			for _, it := range s.items {
				inside := slices.ContainsFunc(slices.Collect(func(yield func(Box) bool) {
					for i := range g.PerPage() {
						if !yield(g.Place(i)) {
							return
						}
					}
				}), func(b Box) bool {
					return it.X >= b.X && it.Y >= b.Y && it.X+it.Width <= b.X+b.Width && it.Y+it.Height <= b.Y+b.Height
				})
				if !inside {
					t.Fatalf("%q at %v is in no label", it.text, it.Box)
				}
				if it.kind == isCode {
					codes++
				}
			}
		}
		if codes != n {
			t.Fatalf("%d codes, want %d", codes, n)
		}
	})
}

// TestLostCharacters: what the fonts lack is marked, and what is invisible is left out.
func TestLostCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Wäschetrockner – Ω Серия №5 Țară đặc": "Wäschetrockner – Ω Серия №5 Țară đặc",
		"洗衣機 Pro":          "[…] Pro",
		"e\u0301\u200bx":   "éx",
		"👩‍👩‍👧👍":           "[…]",
		"a\u202eb\u00adc":  "abc",
		"\u202e \u200b":    "",
		" a \n\t b\u00a0c": "a b c",
	} {
		if got, lost := printable(text); got != want || lost != strings.Contains(want, Lost) {
			t.Errorf("%q is %q (%v), want %q", text, got, lost, want)
		}
	}
}

// TestFiles writes every paper as PDF and reads its texts and attachment with other programs.
func TestFiles(t *testing.T) {
	t.Parallel()
	long := Certificate{
		Issuer: Issuer{Name: "Halden", Logo: testLogo(40, 20), Lines: []string{"halden.example"}}, Seal: seal, Kind: "Guarantee certificate",
		Product: strings.Repeat("Ein langer Name, Ω Серия ", 8), Facts: []Fact{{"Serial number", "HK7-0001", true}}, Link: "https://x.example/verify/WR",
		Covers: []Cover{{"Whole product", "", "1 Jan 2026", "31 Dec 2027"}},
	}.Sheet()
	file := File{Title: "Zertifikat", Language: "de", Made: time.Unix(1_794_884_400, 0), Attachment: &Attachment{"WR-1.jwt", []byte("eyJ.x.y")}}
	pdf, err := PDF([]Sheet{long}, file)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := PDF([]Sheet{long}, file); err != nil || !bytes.Equal(pdf, again) {
		t.Errorf("not the same twice: %v", err)
	}
	if len(pdf) > 60_000 {
		t.Errorf("%d bytes", len(pdf))
	}
	reader, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("no pdftotext")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "c.pdf")
	if err := os.WriteFile(path, pdf, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := exec.Command(reader, "-raw", path, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(read)), " ")
	for _, want := range []string{"Ein langer Name, Ω Серия", "HK7-0001", "31 Dec 2027", "Whole product"} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in %s", want, flat)
		}
	}
	if out, err := exec.Command("pdfdetach", "-saveall", "-o", dir, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if attached, err := os.ReadFile(filepath.Join(dir, "WR-1.jwt")); err != nil || string(attached) != "eyJ.x.y" {
		t.Errorf("the attachment is %q: %v", attached, err)
	}
}

// TestManyLabels bounds the work of the largest request.
func TestManyLabels(t *testing.T) {
	t.Parallel()
	list := make([]Label, 1000)
	for i := range list {
		list[i] = Label{
			"Brandt heat-pump dryer TH892E with drain kit", fmt.Sprint("SN ", i), "Check the warranty or file a claim", "WR-BM5D-K1KW-RCCX-DTTS",
			fmt.Sprint("https://warranty.example/verify/WR-BM5D-K1KW-RCCX-", i), "halden.example", "Halden Electronics",
		}
	}
	g := grids(t)["A4, 70x37"]
	start := time.Now()
	pdf, err := PDF(Labels(list, g, 1, ""), File{Title: "Labels", Language: "en", Made: time.Unix(0, 0)})
	if err != nil || len(pdf) > 3_000_000 {
		t.Errorf("%d bytes: %v", len(pdf), err)
	}
	t.Logf("%d bytes in %v", len(pdf), time.Since(start))
}

// TestLogosThatCannotBePrinted are left out.
func TestLogosThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	for name, file := range map[string][]byte{"none": nil, "not a picture": []byte("x"), "too wide": testLogo(maxSide+1, 1), "cut": testLogo(50, 50)[:60]} {
		if newPicture(file, false) != nil || newPicture(file, true) != nil {
			t.Error(name)
		}
	}
	if p := newPicture(testLogo(50, 20), true); p == nil || p.width != 50 || p.height != 20 {
		t.Errorf("%+v", p)
	}
}
