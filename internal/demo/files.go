package demo

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"path"
	"strings"

	"warranty.example/svc/warranty"
)

// sample returns a small file of the type given by the extension of name.
func sample(name string, seed int, w warranty.Warranty) ([]byte, error) {
	lines := []string{
		w.ProductName,
		"Reference " + string(w.ReferenceNumber),
		"Warranty from " + w.StartDate.String() + " to " + w.EndDate.String(),
	}
	switch path.Ext(name) {
	case ".pdf":
		return pdf(lines), nil
	case ".png":
		var b bytes.Buffer
		err := png.Encode(&b, picture(seed))
		return b.Bytes(), err
	case ".jpg":
		var b bytes.Buffer
		err := jpeg.Encode(&b, picture(seed), nil)
		return b.Bytes(), err
	}
	return []byte(strings.Join(lines, "\n") + "\n\nParts and labour are covered. Wear is not.\n"), nil
}

// pdf returns an A5 page with a few lines of text.
func pdf(lines []string) []byte {
	var text strings.Builder
	text.WriteString("BT /F1 12 Tf 40 540 Td 18 TL\n")
	for _, line := range lines {
		fmt.Fprintf(&text, "(%s) Tj T*\n", strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(latin(line)))
	}
	text.WriteString("ET")
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 420 595] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", text.Len(), text.String()),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	offsets := make([]int, len(objects))
	for i, object := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table)
	return b.Bytes()
}

// latin replaces characters that the PDF's font cannot show.
func latin(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// picture returns a striped image that depends on seed.
func picture(seed int) image.Image {
	const width, height = 160, 120
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			shade := uint8(120 + (x*3+y*seed)%90)
			m.Set(x, y, color.RGBA{R: shade, G: 200 - shade/2, B: uint8(90 + seed%60), A: 255})
		}
	}
	return m
}
