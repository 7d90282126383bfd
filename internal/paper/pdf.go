package paper

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// File is what a PDF has besides its pages.
type File struct {
	Title, Language string
	Made            time.Time
	Attachment      *Attachment
}

// Attachment is a file in a PDF.
type Attachment struct {
	Name    string
	Content []byte
}

// PDF writes sheets as a PDF. The same input gives the same bytes.
func PDF(sheets []Sheet, file File) ([]byte, error) {
	f := fpdf.New("P", "mm", "A4", "")
	for family, raw := range map[face][]byte{sans: sansFont, bold: boldFont, mono: monoFont} {
		f.AddUTF8FontFromBytes(families[family], "", raw)
	}
	f.SetCatalogSort(true)
	f.SetCreationDate(file.Made)
	f.SetModificationDate(file.Made)
	f.SetTitle(file.Title, true)
	f.SetLang(file.Language)
	f.SetAutoPageBreak(false, 0)
	f.SetMargins(0, 0, 0)
	if a := file.Attachment; a != nil {
		f.SetAttachments([]fpdf.Attachment{{Content: a.Content, Filename: a.Name}})
	}
	for i := range sheets {
		s := &sheets[i]
		// Without an orientation of its own, a page that is wider than high is turned.
		f.AddPageFormat("P", fpdf.SizeType{Wd: s.Width, Ht: s.Height})
		for _, it := range s.items {
			drawPDF(f, s, it)
		}
	}
	var out bytes.Buffer
	err := f.Output(&out)
	return out.Bytes(), err
}

var families = map[face]string{sans: "sans", bold: "bold", mono: "mono"}

// perMM is the number of points in a millimeter.
const perMM = 1 / pointSize

func drawPDF(f *fpdf.Fpdf, s *Sheet, it item) {
	r, g, b := int(it.color.R), int(it.color.G), int(it.color.B)
	switch it.kind {
	case isText:
		f.SetFont(families[it.face], "", it.points)
		f.SetTextColor(r, g, b)
		if it.track > 0 {
			f.RawWriteStr(fmt.Sprintf("%.3f Tc\n", it.track*perMM))
		}
		f.Text(it.X, it.baseline, it.text)
		if it.track > 0 {
			f.RawWriteStr("0 Tc\n")
		}
	case isRule:
		f.SetFillColor(r, g, b)
		f.Rect(it.X, it.Y, it.Width, it.Height, "F")
	case isDashes:
		f.SetDrawColor(r, g, b)
		f.SetLineWidth(it.Height)
		f.SetDashPattern([]float64{1, 0.8}, 0)
		f.Line(it.X, it.Y+it.Height/2, it.X+it.Width, it.Y+it.Height/2)
		f.SetDashPattern(nil, 0)
	case isFrame:
		f.SetDrawColor(r, g, b)
		f.SetLineWidth(frameWidth)
		f.RoundedRect(it.X, it.Y, it.Width, it.Height, frameCorner, "1234", "D")
	case isPicture:
		const name = "logo" // a file has one
		f.RegisterImageOptionsReader(name, fpdf.ImageOptions{ImageType: "PNG"}, bytes.NewReader(it.picture.png))
		f.ImageOptions(name, it.X, it.Y, it.Width, it.Height, false, fpdf.ImageOptions{ImageType: "PNG"}, 0, "")
	case isCode:
		pdfCode(f, s, it)
	case isSeal:
		pdfSeal(f, it)
	}
}

// pdfCode draws a QR code as one shape, so that no gaps show between its dots.
func pdfCode(f *fpdf.Fpdf, s *Sheet, it item) {
	dot := it.Width / float64(it.code.Size+2*quietZone)
	var b strings.Builder
	b.WriteString("0 g\n")
	dots(it.code, func(x, y, width int) {
		top := s.Height - it.Y - float64(y)*dot
		fmt.Fprintf(&b, "%.3f %.3f %.3f %.3f re\n", (it.X+float64(x)*dot)*perMM, (top-dot)*perMM,
			float64(width)*dot*perMM, 1.02*dot*perMM)
	})
	b.WriteString("f\n")
	f.RawWriteStr(b.String())
	f.LinkString(it.X, it.Y, it.Width, it.Height, it.link)
}

// pdfSeal draws the curves of a seal.
func pdfSeal(f *fpdf.Fpdf, it item) {
	scale := it.Width / sealSize
	f.SetDrawColor(int(it.color.R), int(it.color.G), int(it.color.B))
	f.SetLineWidth(sealLine * scale)
	for _, path := range it.curves {
		eachCurve(path, func(x, y float64) {
			f.MoveTo(it.X+x*scale, it.Y+y*scale)
		}, func(cx, cy, x, y float64) {
			f.CurveTo(it.X+cx*scale, it.Y+cy*scale, it.X+x*scale, it.Y+y*scale)
		})
		f.DrawPath("D")
	}
}
