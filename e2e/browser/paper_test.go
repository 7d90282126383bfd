//go:build browser

package browser

import (
	"fmt"
	"image"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"golang.org/x/image/draw"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// readQR reads the QR code of a picture with a decoder that is not ours. The decoder misses a few codes at some
// resolutions, so it sees the picture from several distances and with two ways to tell black from white, as a phone does.
func readQR(picture image.Image) (text string, err error) {
	for _, percent := range []int{100, 75, 60, 45, 90, 82, 67, 52, 38, 30} {
		seen := picture
		if percent < 100 {
			smaller := image.NewGray(image.Rect(0, 0, picture.Bounds().Dx()*percent/100, picture.Bounds().Dy()*percent/100))
			draw.CatmullRom.Scale(smaller, smaller.Rect, picture, picture.Bounds(), draw.Src, nil)
			seen = smaller
		}
		source := gozxing.NewLuminanceSourceFromImage(seen)
		for _, binarizer := range []gozxing.Binarizer{gozxing.NewHybridBinarizer(source), gozxing.NewGlobalHistgramBinarizer(source)} {
			if text, err = decodeQR(binarizer); err == nil {
				return text, nil
			}
		}
	}
	return "", err
}

func decodeQR(binarizer gozxing.Binarizer) (string, error) {
	bitmap, err := gozxing.NewBinaryBitmap(binarizer)
	if err != nil {
		return "", err
	}
	hints := map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_TRY_HARDER: true}
	result, err := qrcode.NewQRCodeReader().Decode(bitmap, hints)
	if err != nil {
		return "", err
	}
	return result.GetText(), nil
}

// sheet is a printed page.
type sheet struct {
	*image.Gray
	dpi float64
}

// cut returns the part of a page at a place, in millimetres.
func (s sheet) cut(x, y, width, height float64) image.Image {
	pixels := func(mm float64) int { return int(math.Round(mm / 25.4 * s.dpi)) }
	return s.SubImage(image.Rect(pixels(x), pixels(y), pixels(x+width), pixels(y+height)))
}

// size returns the size of a page in millimetres, as 210x297.
func (s sheet) size() string {
	mm := func(pixels int) int { return int(math.Round(float64(pixels) * 25.4 / s.dpi)) }
	return fmt.Sprintf("%dx%d", mm(s.Rect.Dx()), mm(s.Rect.Dy()))
}

// sheets returns the pages of a PDF as a printer of 300 dpi prints them.
func sheets(t testing.TB, pdf []byte) (list []sheet) {
	t.Helper()
	const dpi = 300
	dir := t.TempDir()
	file := filepath.Join(dir, "printed.pdf")
	if err := os.WriteFile(file, pdf, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(testenv.Pdftoppm(t), "-r", fmt.Sprint(dpi), "-gray", file, filepath.Join(dir, "page")).CombinedOutput()
	if err != nil {
		t.Fatalf("pdftoppm: %v\n%s", err, out)
	}
	names, err := filepath.Glob(filepath.Join(dir, "page-*.pgm")) // in order: the numbers have leading zeros
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		width, height := 0, 0
		if _, err := fmt.Sscanf(string(file[:min(30, len(file))]), "P5\n%d %d\n255\n", &width, &height); err != nil || len(file) < width*height {
			t.Fatalf("%s is not a gray picture: %v", name, err)
		}
		pixels := file[len(file)-width*height:]
		list = append(list, sheet{&image.Gray{Pix: pixels, Stride: width, Rect: image.Rect(0, 0, width, height)}, dpi})
	}
	return list
}

// print prints the page of a tab.
func (b *tab) print(t testing.TB) []sheet {
	t.Helper()
	printed, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	return sheets(t, printed.Data)
}

// TestLabelsOnPaper prints labels and reads every QR code from the picture of its place on the sheet: 100 labels take
// five A4 sheets, of 3 by 8; a small label takes a page of its own. Long names change nothing.
func TestLabelsOnPaper(t *testing.T) {
	t.Parallel()
	testenv.Pdftoppm(t)
	s := openSite(t)
	shop := s.front(t, "Halden Electronics", "")
	b := s.visitor(t)
	b.signIn(t, shop.email, lab.Password)
	b.switchTo(t, "Halden Electronics")
	references := shop.issuesMany(t, 100)
	for _, c := range []struct {
		size, kind    string
		labels, pages int
		paper         string
	}{
		{"sheet", "outside", 100, 5, "210x297"},
		{"sheet", "inside", 24, 1, "210x297"},
		{"small", "inside", 5, 5, "62x29"},
	} {
		what := fmt.Sprintf("%d %s labels, %s", c.labels, c.kind, c.size)
		b.mustOpen(t, "/labels")
		b.fill(t, "#references", strings.Join(references[:c.labels], "\n"), fmt.Sprintf("[name=size][value=%s]", c.size), "true",
			fmt.Sprintf("[name=kind][value=%s]", c.kind), "true")
		if status := b.press(t, "Show labels"); status != http.StatusOK {
			t.Fatalf("%s: %d\n%s", what, status, b.describe())
		}
		path := map[string]string{"outside": "/verify/", "inside": "/take#"}[c.kind]
		var want []string
		for _, text := range eval[[]string](t, b, `[...document.querySelectorAll(".print-code")].map(e => e.innerText.trim())`) {
			want = append(want, s.URL+path+text)
		}
		if c.kind == "outside" && !slices.Equal(want, prefixed(s.URL+path, references[:c.labels])) {
			t.Errorf("%s: in another order", what)
		}
		printed := b.print(t)
		if len(printed) != c.pages {
			t.Errorf("%s: %d pages, want %d", what, len(printed), c.pages)
		}
		var got []string
		for i, sheet := range printed {
			if sheet.size() != c.paper {
				t.Errorf("%s: page %d is %s, not %s", what, i+1, sheet.size(), c.paper)
			}
			got = append(got, sheet.labels(t, what, c.size, min(c.labels-len(got), 24))...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the codes on paper are %q, want %q", what, got, want)
		}
	}
	b.mustBeQuiet(t)
}

// labels reads the QR codes of the labels of a page, row by row.
func (s sheet) labels(t testing.TB, what, size string, n int) (read []string) {
	t.Helper()
	const codeWidth = 30 // the text is beside the code
	columns, width, height := 3, 70.0, 37.0
	if size == "small" {
		columns, width, height, n = 1, 62, 29, 1
	}
	for i := range n {
		text, err := readQR(s.cut(float64(i%columns)*width, float64(i/columns)*height, codeWidth, height))
		if err != nil {
			t.Errorf("%s: label %d of a page cannot be read: %v", what, i+1, err)
		}
		read = append(read, text)
	}
	return read
}

func prefixed(prefix string, list []string) (out []string) {
	for _, text := range list {
		out = append(out, prefix+text)
	}
	return out
}

// TestSlipsAndCertificatesOnPaper prints a slip and a certificate on one page each and reads their QR codes.
func TestSlipsAndCertificatesOnPaper(t *testing.T) {
	t.Parallel()
	testenv.Pdftoppm(t)
	s := openSite(t)
	shop := s.front(t, "Halden Electronics", "paper.example")
	id, reference := shop.issues(t, map[string]string{"product_name": strings.Repeat("Tessel induction hob ", 9)})
	b := s.visitor(t)
	b.signIn(t, shop.email, lab.Password)
	b.switchTo(t, "Halden Electronics")
	b.mustOpen(t, "/warranties/"+id)
	b.press(t, "New slip")
	code := eval[string](t, b, `document.querySelector(".slip .onetime").innerText.trim()`)
	certificate := s.Want(t, 200, lab.Call{Method: "GET", Path: "/verify/" + reference + "/certificate.pdf"}).Body
	slip, paper := b.print(t), sheets(t, []byte(certificate))
	if len(slip) != 1 || len(paper) != 1 || paper[0].size() != "210x297" {
		t.Fatalf("the slip has %d pages and the certificate %d", len(slip), len(paper))
	}
	if got, err := readQR(slip[0]); err != nil || got != s.URL+"/take#"+code {
		t.Errorf("the slip says %q: %v", got, err)
	}
	if got, err := readQR(paper[0].cut(146, 30, 46, 170)); err != nil || got != s.URL+"/verify/"+reference {
		t.Errorf("the certificate says %q: %v", got, err)
	}
	// Signed again in the same second or not, the head is the same.
	signed := s.Want(t, 200, lab.Call{Method: "GET", Path: "/verify/" + reference + "/certificate"}).Body
	head, _, _ := strings.Cut(signed, ".")
	if got, err := readQR(paper[0].cut(18, 203, 70, 70)); err != nil || !strings.HasPrefix(got, head+".") {
		t.Errorf("the certificate is signed as %q, not %q: %v", got, signed, err)
	}
	b.mustBeQuiet(t)
}
