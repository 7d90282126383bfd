package paper

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
)

// mustDecode prints sheets at a resolution, and reads the code of every place with one from a picture of that place, as
// a phone sees it. It fails unless they are those of want, in order.
func mustDecode(t *testing.T, sheets []Sheet, dpi int, want []string) {
	t.Helper()
	toPictures, reader := testenv.Pdftoppm(t), testenv.Zbarimg(t)
	pdf, err := PDF(sheets, File{Title: "Print", Language: "en", Made: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "printed.pdf")
	if err := os.WriteFile(file, pdf, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(toPictures, "-r", fmt.Sprint(dpi), "-gray", file, filepath.Join(dir, "page")).CombinedOutput()
	if err != nil {
		t.Fatalf("pdftoppm: %v\n%s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "page-*.pgm")) // in order: the numbers have leading zeros
	if err != nil || len(pages) != len(sheets) {
		t.Fatalf("%d pages for %d sheets: %v", len(pages), len(sheets), err)
	}
	args := []string{"--quiet", "--raw", "-Sdisable", "-Sqrcode.enable"}
	for i, s := range sheets {
		picture := readGray(t, pages[i])
		for _, it := range s.items {
			if it.kind != isCode {
				continue
			}
			pixels := func(mm float64) int { return int(math.Round(mm / 25.4 * float64(dpi))) }
			cut := picture.SubImage(image.Rect(pixels(it.X), pixels(it.Y), pixels(it.X+it.Width), pixels(it.Y+it.Height)))
			name := filepath.Join(dir, fmt.Sprintf("code-%04d.png", len(args)))
			var b bytes.Buffer
			if err := png.Encode(&b, cut); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, name)
		}
	}
	read, err := exec.Command(reader, args...).Output()
	codes := strings.Fields(string(read))
	if err != nil || !slices.Equal(codes, want) {
		missed := slices.DeleteFunc(slices.Clone(want), func(code string) bool { return slices.Contains(codes, code) })
		t.Errorf("%d of %d codes are read at %d dpi (%v); missed: %q", len(codes), len(want), dpi, err, missed)
	}
}

// readGray reads a binary PGM file.
func readGray(t *testing.T, name string) *image.Gray {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var width, height, most int
	if n, err := fmt.Sscanf(string(raw[:min(len(raw), 40)]), "P5\n%d %d\n%d", &width, &height, &most); n != 3 || most != 255 {
		t.Fatalf("%s is no PGM file: %v", name, err)
	}
	return &image.Gray{Pix: raw[len(raw)-width*height:], Stride: width, Rect: image.Rect(0, 0, width, height)}
}

// sampleLabels returns labels with short and long names.
func sampleLabels(n int, service string) (list []Label, links []string) {
	for i := range n {
		l := Label{
			Product: "Brandt dishwasher DWJ148DS", Serial: fmt.Sprint("SN ", 10400+i), Help: "Check the warranty or file a claim",
			Number: fmt.Sprintf("WR-BM5D-K1KW-RCCX-%04d", i), Link: fmt.Sprintf("%s/verify/WR-BM5D-K1KW-RCCX-%04d", service, i),
		}
		if i%2 == 1 {
			l.From, l.Name = "halden-electronics.example", "Halden Electronics"
		}
		if i%3 == 1 {
			l.Product = strings.Repeat("heat-pump dryer with drain kit ", 6)
		}
		list, links = append(list, l), append(links, l.Link)
	}
	return list, links
}

// TestEveryLabelDecodes prints 100 labels on 5 sheets, and labels on every roll, and reads every code.
func TestEveryLabelDecodes(t *testing.T) {
	t.Parallel()
	for name, g := range grids(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, first := 100, 1
			if g.PerPage() == 1 {
				n = 12
				if testenv.Long() {
					n = 100
				}
			}
			list, links := sampleLabels(n, "https://warranty.example.com")
			mustDecode(t, Labels(list, g, first, ""), 300, links)
			if testenv.Long() { // addresses of services differ in length, and printers in resolution
				list, links = sampleLabels(n, "https://warranty.customers.of.a-large-organization.example.org")
				mustDecode(t, Labels(list, g, g.PerPage(), ""), 203, links)
			}
		})
	}
}

// TestSlipsAndCertificatesDecode reads the codes of slips and certificates at the resolution of a receipt printer.
func TestSlipsAndCertificatesDecode(t *testing.T) {
	t.Parallel()
	const code = "NCTF-CYJE-DWP9-HW60-0YHC"
	for _, product := range []string{"Lamp", strings.Repeat("Tessel induction hob ", 9), strings.Repeat("洗", 200)} {
		slip := Slip{
			Issuer: Issuer{Name: strings.Repeat("Nordhaus Elektro ", 6), Logo: testLogo(40, 40)}, Product: product, Code: code, Host: "warranty.example/take",
			Facts: []Fact{{"Serial number", strings.Repeat("7", 120), true}}, Link: "https://warranty.example/take#" + code, LostNote: Lost + ": see the page",
		}
		for _, size := range SlipSizes() {
			mustDecode(t, []Sheet{slip.Sheet(size)}, 203, []string{slip.Link})
		}
		c := Certificate{Issuer: slip.Issuer, Seal: seal, Product: product, Link: "https://warranty.example/verify/WR-7TQ4-H2MC-9KXD-V3NB"}
		mustDecode(t, []Sheet{c.Sheet()}, 150, []string{c.Link})
	}
}
