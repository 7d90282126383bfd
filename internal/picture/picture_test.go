package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"runtime"
	"testing"
)

// quarters returns an image with a different colour in each quarter.
func quarters(width, height int) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, quarterColors[2*(2*y/height)+2*x/width])
		}
	}
	return m
}

var quarterColors = []color.RGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 0, 255}}

func encodeJPEG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodePNG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withExif adds an Exif segment with an orientation and a text that must not stay.
func withExif(content []byte, orientation byte) []byte {
	tiff := []byte{'I', 'I', 42, 0, 8, 0, 0, 0, 2, 0,
		0x0f, 0x01, 2, 0, 4, 0, 0, 0, 'G', 'P', 'S', 0,
		0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0}
	segment := append([]byte("Exif\x00\x00"), tiff...)
	head := binary.BigEndian.AppendUint16([]byte{0xff, markerExif}, uint16(len(segment)+2))
	return append(append(append([]byte{0xff, 0xd8}, head...), segment...), content[2:]...)
}

func decoded(t *testing.T, small []byte) image.Image {
	t.Helper()
	m, err := jpeg.Decode(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// near reports which of the colours of quarters a pixel has.
func near(m image.Image, x, y int) int {
	r, g, b, _ := m.At(x, y).RGBA()
	for i, c := range quarterColors {
		if (r>>8 > 128) == (c.R > 128) && (g>>8 > 128) == (c.G > 128) && (b>>8 > 128) == (c.B > 128) {
			return i
		}
	}
	return -1
}

func TestSmallPicturesFitAndStandUpright(t *testing.T) {
	// The quarter in each corner, clockwise from the top left.
	want := map[byte][4]int{
		1: {0, 1, 3, 2}, 2: {1, 0, 2, 3}, 3: {3, 2, 0, 1}, 4: {2, 3, 1, 0},
		5: {0, 2, 3, 1}, 6: {2, 0, 1, 3}, 7: {3, 1, 0, 2}, 8: {1, 3, 2, 0},
	}
	photo := encodeJPEG(t, quarters(800, 400))
	for orientation, corners := range want {
		small, err := Small(t.Context(), withExif(photo, orientation), "image/jpeg")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(small, []byte("Exif")) || bytes.Contains(small, []byte("GPS")) {
			t.Errorf("orientation %d: the metadata stayed", orientation)
		}
		m := decoded(t, small)
		w, h := m.Bounds().Dx(), m.Bounds().Dy()
		if wantW, wantH := 240, 120; orientation < 5 && (w != wantW || h != wantH) || orientation >= 5 && (w != wantH || h != wantW) {
			t.Errorf("orientation %d: %d×%d", orientation, w, h)
		}
		got := [4]int{near(m, w/4, h/4), near(m, 3*w/4, h/4), near(m, 3*w/4, 3*h/4), near(m, w/4, 3*h/4)}
		if got != corners {
			t.Errorf("orientation %d: corners %v, want %v", orientation, got, corners)
		}
	}
}

func TestImagesOfAllKinds(t *testing.T) {
	clear := image.NewNRGBA(image.Rect(0, 0, 10, 4000)) // transparent
	paletted := image.NewPaletted(image.Rect(0, 0, 300, 300), color.Palette{color.Black, color.White})
	for name, c := range map[string]struct {
		content   []byte
		mediaType string
	}{
		"gray JPEG":    {encodeJPEG(t, image.NewGray(image.Rect(0, 0, 9, 300))), "image/jpeg"},
		"one pixel":    {encodePNG(t, image.NewGray(image.Rect(0, 0, 1, 1))), "image/png"},
		"clear PNG":    {encodePNG(t, clear), "image/png"},
		"paletted PNG": {encodePNG(t, paletted), "image/png"},
		"16 bit PNG":   {encodePNG(t, image.NewNRGBA64(image.Rect(0, 0, 30, 30))), "image/png"},
		"lossy WebP":   {unbase64(t, tinyWebP), "image/webp"},
	} {
		small, err := Small(t.Context(), c.content, c.mediaType)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b := decoded(t, small).Bounds(); b.Dx() > Size || b.Dy() > Size || b.Empty() {
			t.Errorf("%s: %v", name, b)
		}
	}
	small, err := Small(t.Context(), encodePNG(t, clear), "image/png")
	if err != nil {
		t.Fatal(err)
	}
	if r, _, _, _ := decoded(t, small).At(0, 0).RGBA(); r < 0xf000 {
		t.Error("a transparent image is not on white")
	}
}

// tinyWebP is a lossy WebP of one pixel.
const tinyWebP = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"

func unbase64(t *testing.T, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pngBomb returns a PNG of about 100 KB with black pixels in one bit each.
func pngBomb(t *testing.T, width, height uint32) []byte {
	t.Helper()
	var rows bytes.Buffer
	z := zlib.NewWriter(&rows)
	if _, err := io.CopyN(z, zeros{}, int64(height)*int64((width+7)/8+1)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return pngOf(t, width, height, rows.Bytes())
}

// pngOf returns a PNG with pixels in one bit each.
func pngOf(t *testing.T, width, height uint32, data ...[]byte) []byte {
	t.Helper()
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	out := append([]byte(pngSignature), chunkOf("IHDR", append(header, 1, 0, 0, 0, 0)...)...)
	for _, part := range data {
		out = append(out, chunkOf("IDAT", part...)...)
	}
	return append(out, chunkOf("IEND")...)
}

// chunkOf returns a chunk of a PNG.
func chunkOf(kind string, data ...byte) []byte {
	body := append([]byte(kind), data...)
	out := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
}

// pieces returns a PNG with many chunks of pixels that do not follow each other.
func pieces(t *testing.T, n int) []byte {
	t.Helper()
	out := bytes.TrimSuffix(pngOf(t, 1000, 1000), chunkOf("IEND"))
	for range n {
		out = append(append(out, chunkOf("IDAT", 1)...), chunkOf("tEXt", 'a')...)
	}
	return append(out, chunkOf("IEND")...)
}

// webpOf returns a WebP of chunks: names and their content.
func webpOf(chunks ...any) []byte {
	body := []byte("WEBP")
	for i := 0; i < len(chunks); i += 2 {
		content := chunks[i+1].([]byte)
		body = binary.LittleEndian.AppendUint32(append(body, chunks[i].(string)...), uint32(len(content)))
		body = append(append(body, content...), make([]byte, len(content)%2)...)
	}
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// resized returns a JPEG whose header has another size than its data.
func resized(t *testing.T, content []byte, width, height uint16) []byte {
	t.Helper()
	content = bytes.Clone(content)
	at := bytes.Index(content, []byte{0xff, markerBaseline})
	binary.BigEndian.PutUint16(content[at+5:], height)
	binary.BigEndian.PutUint16(content[at+7:], width)
	return content
}

// TestBombs has images that take much memory or time, or that are damaged: none of them is decoded.
func TestBombs(t *testing.T) {
	photo := encodeJPEG(t, quarters(64, 64))
	frame := bytes.Index(photo, []byte{0xff, markerBaseline})
	progressive := bytes.Clone(photo)
	progressive[frame+1] = markerProgressive
	for range maxScans {
		progressive = append(progressive[:len(progressive)-2], 0xff, markerScan, 0, 8, 1, 1, 0, 0, 63, 0, 0xff, markerEnd)
	}
	end := bytes.Index(photo, []byte{0xff, markerScan})
	twice := append(append(bytes.Clone(photo[:end]), resized(t, photo, 60000, 60000)[frame:end]...), photo[end:]...)
	loose := append(append(bytes.Clone(photo[:frame]), 'x'), photo[frame:]...)
	lossless := append([]byte("RIFF\x20\x00\x00\x00WEBPVP8L\x14\x00\x00\x00"), make([]byte, 20)...)
	bomb := pngBomb(t, 30000, 30000)
	if len(bomb) > 150_000 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	for name, c := range map[string]struct {
		content   []byte
		mediaType string
	}{
		"large PNG":              {bomb, "image/png"},
		"JPEG that claims more":  {resized(t, photo, 65500, 65500), "image/jpeg"},
		"JPEG without size":      {resized(t, photo, 0, 64), "image/jpeg"},
		"JPEG with two frames":   {twice, "image/jpeg"},
		"JPEG with many scans":   {progressive, "image/jpeg"},
		"JPEG with loose bytes":  {loose, "image/jpeg"},
		"JPEG cut in its header": {photo[:frame+6], "image/jpeg"},
		"empty JPEG":             {nil, "image/jpeg"},
		"PNG as JPEG":            {encodePNG(t, quarters(8, 8)), "image/jpeg"},
		"HTML as JPEG":           {[]byte("<html><script>alert(1)</script>"), "image/jpeg"},
		"HTML after a header":    {append(bytes.Clone(photo[:2]), "<script>alert(1)</script>"...), "image/jpeg"},
		"cut PNG":                {encodePNG(t, quarters(64, 64))[:60], "image/png"},
		"lossless WebP":          {lossless, "image/webp"},
		"empty WebP":             {[]byte("RIFF"), "image/webp"},
		"PDF":                    {[]byte("%PDF-1.7"), "application/pdf"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Small(t.Context(), c.content, c.mediaType)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
			t.Errorf("%s: took %d MiB", name, took>>20)
		}
	}
	// These are refused before anything is decoded.
	for name, c := range map[string]struct {
		content   []byte
		mediaType string
	}{
		"large PNG":             {bomb, "image/png"},
		"JPEG that claims more": {resized(t, photo, 65500, 65500), "image/jpeg"},
		"JPEG with two frames":  {twice, "image/jpeg"},
		"JPEG with many scans":  {progressive, "image/jpeg"},
		"JPEG with loose bytes": {loose, "image/jpeg"},
		"lossless WebP":         {lossless, "image/webp"},
	} {
		if _, err := check(c.content, c.mediaType); !errors.Is(err, ErrNone) {
			t.Errorf("%s is decoded: %v", name, err)
		}
	}
	// A header that claims less than there is: the rest is ignored.
	if _, err := Small(t.Context(), resized(t, photo, 16, 16), "image/jpeg"); err != nil {
		t.Errorf("a JPEG that claims less: %v", err)
	}
}

func FuzzSmall(f *testing.F) {
	f.Add([]byte{0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0}, 0)
	f.Add([]byte("RIFF\x20\x00\x00\x00WEBPVP8 \x14\x00\x00\x00"), 2)
	f.Fuzz(func(t *testing.T, content []byte, kind int) {
		types := []string{"image/jpeg", "image/png", "image/webp"}
		if _, err := Small(t.Context(), content, types[uint(kind)%3]); err != nil && !errors.Is(err, ErrNone) {
			t.Error(err)
		}
	})
}
