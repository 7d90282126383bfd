//go:build browser

package browser

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

// file sends a form of the page to an address, as its buttons do, and returns the PDF that comes back.
func (b *tab) file(t testing.TB, form, address string, fields ...string) []byte {
	t.Helper()
	var more strings.Builder
	for i := 0; i < len(fields); i += 2 {
		fmt.Fprintf(&more, "data.set(%q, %q);", fields[i], fields[i+1])
	}
	encoded := eval[string](t, b, fmt.Sprintf(`(async () => {
		const data = new URLSearchParams(new FormData(document.querySelector(%q)));
		%s
		const answer = await fetch(%q, {method: "POST", body: data});
		if (!answer.ok) return "";
		return btoa([...new Uint8Array(await answer.arrayBuffer())].map(c => String.fromCharCode(c)).join(""));
	})()`, form, more.String(), address), chromedp.EvalAwaitPromise)
	pdf, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(pdf) == 0 {
		t.Fatalf("no file from %s: %v", address, err)
	}
	return pdf
}

// keepPicture writes the first page of a PDF as a picture for the documentation, if SVC_SCREENSHOTS names a folder.
func keepPicture(t testing.TB, name string, pdf []byte, dpi int) {
	t.Helper()
	folder := os.Getenv("SVC_SCREENSHOTS")
	if folder == "" {
		return
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file+".pdf", pdf, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(testenv.Pdftoppm(t), "-r", fmt.Sprint(dpi), "-png", "-singlefile", file+".pdf", file).CombinedOutput()
	if err != nil {
		t.Fatalf("pdftoppm: %v\n%s", err, out)
	}
	taken, err := os.ReadFile(file + ".png")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := png.Decode(bytes.NewReader(taken))
	if err != nil {
		t.Fatal(err)
	}
	writePicture(t, folder, name, shown)
}

// TestLabelsOnPaper prints labels and reads every QR code from the picture of its place on the sheet: 30 labels from the
// third place on take two A4 sheets of 3 by 8; a label of a roll takes a page of its own.
func TestLabelsOnPaper(t *testing.T) {
	t.Parallel()
	testenv.Pdftoppm(t)
	s := openSite(t)
	shop := s.front(t, "Halden Electronics", "")
	b := s.visitor(t)
	b.signIn(t, shop.email, lab.Password)
	b.switchTo(t, "Halden Electronics")
	references := shop.issuesMany(t, 30)
	for _, c := range []struct {
		size, kind           string
		labels, first, pages int
		paper                string
	}{
		{"a4", "outside", 30, 3, 2, "210x297"},
		{"62x29", "inside", 4, 1, 4, "62x29"},
		{"a4", "inside", 5, 20, 1, "210x297"},
	} {
		what := fmt.Sprintf("%d %s labels, %s", c.labels, c.kind, c.size)
		b.mustOpen(t, "/labels")
		b.fill(t, "#references", strings.Join(references[:c.labels], "\n"), "#size", c.size, "#first", fmt.Sprint(c.first),
			fmt.Sprintf("[name=kind][value=%s]", c.kind), "true")
		if status := b.press(t, "Preview"); status != http.StatusOK {
			t.Fatalf("%s: %d\n%s", what, status, b.describe())
		}
		want := prefixed(s.URL+"/verify/", references[:c.labels])
		if c.kind == "inside" {
			want = prefixed(s.URL+"/take#", eval[[]string](t, b, `[...document.querySelectorAll("[name=code]")].map(e => e.value)`))
		}
		pdf := b.file(t, `form[action="/labels"]`, "/labels.pdf")
		if c.first == 3 {
			keepPicture(t, "labels", pdf, 70)
			b.mustPassAxeAt(t, what, 390, 1440)
			b.mustPreviewAsPrinted(t, what)
		}
		printed := sheets(t, pdf)
		if len(printed) != c.pages {
			t.Fatalf("%s: %d pages, want %d", what, len(printed), c.pages)
		}
		var got []string
		for i := range c.labels {
			at, column, row := i, 0.0, 0.0
			if c.size == "a4" {
				place := i + c.first - 1
				at, column, row = place/24, float64(place%3), float64(place%24/3)
			}
			text, err := readQR(printed[at].cut(column*70, row*37, 36, 37))
			if err != nil {
				t.Errorf("%s: label %d cannot be read: %v", what, i+1, err)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the codes on paper are %q, want %q", what, got, want)
		}
		if size := printed[0].size(); size != c.paper {
			t.Errorf("%s: a page is %s, not %s", what, size, c.paper)
		}
	}
	b.mustBeQuiet(t)
}

func prefixed(prefix string, list []string) (out []string) {
	for _, text := range list {
		out = append(out, prefix+text)
	}
	return out
}

// mustPreviewAsPrinted checks that no style sheet changes the sizes of the texts of a preview.
func (b *tab) mustPreviewAsPrinted(t *testing.T, what string) {
	t.Helper()
	if wrong := eval[[]string](t, b, `[...document.querySelectorAll("svg.paper text")]
		.filter(e => Math.abs(parseFloat(getComputedStyle(e).fontSize) - e.getAttribute("font-size")) > .01)
		.map(e => e.textContent)`); len(wrong) > 0 {
		t.Errorf("%s: texts of another size than on paper: %q", what, wrong)
	}
}

// TestSlipsAndCertificatesOnPaper prints a slip in both sizes and certificates, on one page each, and reads their QR codes.
func TestSlipsAndCertificatesOnPaper(t *testing.T) {
	t.Parallel()
	testenv.Pdftoppm(t)
	s := openSite(t)
	shop := s.front(t, "Halden Electronics", "paper.example")
	id, reference := shop.issues(t, map[string]string{
		"product_name": "Tessel induction hob T64", "serial_number": "T64-900017", "purchase_date": "2026-03-01",
	})
	b := s.visitor(t)
	b.signIn(t, shop.email, lab.Password)
	b.switchTo(t, "Halden Electronics")
	b.mustOpen(t, "/warranties/"+id)
	b.press(t, "New slip")
	b.mustPassAxeAt(t, "the slip", 390, 1440)
	b.mustPreviewAsPrinted(t, "the slip")
	code := eval[string](t, b, `document.querySelector(".onetime").innerText.trim()`)
	for _, size := range []string{"80mm", "a6"} {
		pdf := b.file(t, `form[action$="/slip.pdf"]`, "/warranties/"+id+"/slip.pdf", "size", size)
		slip := sheets(t, pdf)
		if len(slip) != 1 {
			t.Fatalf("%s: %d pages", size, len(slip))
		}
		if got, err := readQR(slip[0]); err != nil || got != s.URL+"/take#"+code {
			t.Errorf("%s: the slip says %q: %v", size, got, err)
		}
		if size == "80mm" {
			keepPicture(t, "slip", pdf, 110)
		}
	}
	b.mustOpen(t, "/warranties/"+id)
	b.press(t, "Guarantee certificate")
	b.mustShow(t, "Print at 100 %.", "Download PDF")
	b.mustPassAxeAt(t, "the certificate", 390, 1440)
	b.mustPreviewAsPrinted(t, "the certificate")
	own := eval[string](t, b, `fetch(document.querySelector(".btn.primary").href).then(r => r.arrayBuffer())
		.then(a => btoa([...new Uint8Array(a)].map(c => String.fromCharCode(c)).join("")))`, chromedp.EvalAwaitPromise)
	pdf, err := base64.StdEncoding.DecodeString(own)
	if err != nil {
		t.Fatal(err)
	}
	keepPicture(t, "certificate", pdf, 90)
	public := s.Want(t, 200, lab.Call{Method: "GET", Path: "/verify/" + reference + "/certificate.pdf"}).Body
	for what, file := range map[string][]byte{"own": pdf, "public": []byte(public)} {
		paper := sheets(t, file)
		if len(paper) != 1 || paper[0].size() != "210x297" {
			t.Fatalf("the %s certificate has %d pages of %s", what, len(paper), paper[0].size())
		}
		if got, err := readQR(paper[0].cut(10, 240, 60, 57)); err != nil || got != s.URL+"/verify/"+reference {
			t.Errorf("the %s certificate says %q: %v", what, got, err)
		}
	}
	b.mustBeQuiet(t)
}
