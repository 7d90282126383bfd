package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/image/webp"
)

// place is a text in all metadata of the test images. No stripped image may have it.
const place = "52.5163 N 13.3777 E"

// exifWithPlace returns Exif data with an orientation and a directory that says where the camera was.
func exifWithPlace(orientation byte) []byte {
	tiff := []byte{'I', 'I', 42, 0, 8, 0, 0, 0, 2, 0,
		0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, // orientation
		0x25, 0x88, 4, 0, 1, 0, 0, 0, 38, 0, 0, 0, // the directory with the place is at byte 38
		0, 0, 0, 0,
		1, 0, 2, 0, 2, 0, byte(len(place)), 0, 0, 0, 56, 0, 0, 0, 0, 0, 0, 0}
	return append(tiff, place...)
}

// photoWithPlace returns a JPEG whose every kind of metadata has the place, its pixels as another JPEG, and its profile.
func photoWithPlace(t *testing.T, orientation byte) (content, plain, profile []byte) {
	t.Helper()
	plain = encodeJPEG(t, quarters(120, 80))
	profile = segmentOf(markerProfile, []byte(colourProfile+"\x01\x01 a profile")...)
	content = bytes.Join([][]byte{
		plain[:2],
		segmentOf(markerApp0, []byte("JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x00\x00")...),
		segmentOf(markerExif, append([]byte(exifPrefix), exifWithPlace(orientation)...)...),
		segmentOf(markerExif, append([]byte("http://ns.adobe.com/xap/1.0/\x00<x:xmpmeta>"), place...)...),
		segmentOf(markerExif, append([]byte("http://ns.adobe.com/xmp/extension/\x00"), place...)...),
		segmentOf(markerApp0+13, append([]byte("Photoshop 3.0\x008BIM\x04\x04"), place...)...),
		segmentOf(markerProfile, append([]byte("MPF\x00"), place...)...),
		segmentOf(markerApp0+11, append([]byte("JP\x00\x01 content credentials "), place...)...),
		segmentOf(markerComment, []byte(place)...),
		{0xff},
		profile,
		plain[2 : len(plain)-2],
		segmentOf(markerComment, []byte(place)...),
		plain[len(plain)-2:],
		withExif(plain, 1), []byte("ftypmp4 \xa9xyz" + place),
	}, nil)
	return content, plain, profile
}

// pngWithPlace returns a PNG whose every kind of metadata has the place, and one without metadata.
func pngWithPlace(t *testing.T, orientation byte) (content, plain []byte) {
	t.Helper()
	plain = encodePNG(t, quarters(120, 80))
	header, rest := plain[:33], plain[33:]
	end := chunkOf("IEND")
	pixels := bytes.TrimSuffix(rest, end)
	content = bytes.Join([][]byte{
		header,
		chunkOf("tEXt", []byte("Comment\x00"+place)...),
		chunkOf("iTXt", []byte("XML:com.adobe.xmp\x00\x00\x00\x00\x00"+place)...),
		chunkOf("zTXt", []byte("Raw profile type exif\x00\x00"+place)...),
		chunkOf("eXIf", exifWithPlace(orientation)...),
		chunkOf("caBX", []byte(place)...),
		chunkOf("pHYs", 0, 0, 0, 1, 0, 0, 0, 1, 0),
		pixels,
		chunkOf("tIME", 7, 234, 1, 2, 3, 4, 5),
		end,
		[]byte(place),
	}, nil)
	return content, append(append(append(bytes.Clone(header), chunkOf("pHYs", 0, 0, 0, 1, 0, 0, 0, 1, 0)...), pixels...), end...)
}

// webpWithPlace returns a WebP whose every kind of metadata has the place.
func webpWithPlace(t *testing.T, orientation byte) []byte {
	t.Helper()
	const profile, exif, xmp = 1 << 5, 1 << 3, 1 << 2
	pixels := unbase64(t, tinyWebP)[20:]
	content := webpOf("VP8X", []byte{profile | exif | xmp, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "ICCP", []byte("a profile"), "VP8 ", pixels,
		"EXIF", exifWithPlace(orientation), "XMP ", []byte(place), "abcd", []byte(place))
	return append(content, place...)
}

func stripped(t *testing.T, content []byte, mediaType string) []byte {
	t.Helper()
	got, err := io.ReadAll(Strip(bytes.NewReader(content), mediaType))
	if err != nil {
		t.Fatalf("%s: %v", mediaType, err)
	}
	slow, err := io.ReadAll(Strip(iotest.OneByteReader(bytes.NewReader(content)), mediaType))
	if err != nil || !bytes.Equal(slow, got) {
		t.Errorf("%s: read byte by byte it differs: %v", mediaType, err)
	}
	if bytes.Contains(got, []byte(place)) || bytes.Contains(got, []byte("xmp")) {
		t.Errorf("%s: the place is still there: %q", mediaType, got)
	}
	return got
}

// TestPhotosLoseTheirPlaceAndNothingElse: all metadata goes, except for the orientation and the colours.
func TestPhotosLoseTheirPlaceAndNothingElse(t *testing.T) {
	for _, orientation := range []byte{1, 6} {
		content, plain, profile := photoWithPlace(t, orientation)
		got := stripped(t, content, "image/jpeg")
		turn := []byte{}
		if orientation > 1 {
			turn = segmentOf(markerExif, append([]byte(exifPrefix), orientationOnly(int(orientation))...)...)
		}
		want := bytes.Join([][]byte{
			plain[:2], segmentOf(markerApp0, []byte("JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x00\x00")...), turn, profile, plain[2:],
		}, nil)
		if !bytes.Equal(got, want) {
			t.Errorf("JPEG, orientation %d:\n%q\nwant\n%q", orientation, got, want)
		}
		if _, err := jpeg.Decode(bytes.NewReader(got)); err != nil {
			t.Error(err)
		}
		if f, err := check(got, "image/jpeg"); err != nil || f.orientation != int(orientation) {
			t.Errorf("JPEG: orientation %d, want %d, %v", f.orientation, orientation, err)
		}

		content, plain = pngWithPlace(t, orientation)
		got = stripped(t, content, "image/png")
		turn = []byte{}
		if orientation > 1 {
			turn = chunkOf("eXIf", orientationOnly(int(orientation))...)
		}
		if want := bytes.Join([][]byte{plain[:33], turn, plain[33:]}, nil); !bytes.Equal(got, want) {
			t.Errorf("PNG, orientation %d:\n%q\nwant\n%q", orientation, got, want)
		}
		if _, err := png.Decode(bytes.NewReader(got)); err != nil {
			t.Error(err)
		}

		content = webpWithPlace(t, orientation)
		got = stripped(t, content, "image/webp")
		if len(got) != len(content)-len(place) || !bytes.Contains(got, []byte("a profile")) ||
			!bytes.Contains(got, unbase64(t, tinyWebP)[20:]) {
			t.Errorf("WebP: %q", got)
		}
		at := bytes.Index(got, []byte("EXIF")) + 8
		if o := exifOrientation(got[at:]); o != int(orientation) || got[20]&webpXMP != 0 {
			t.Errorf("WebP: orientation %d, flags %x", o, got[20])
		}
		if _, err := webp.Decode(bytes.NewReader(got)); err != nil {
			t.Error(err)
		}
		if again := stripped(t, plain, "image/png"); !bytes.Equal(again, plain) {
			t.Error("a PNG without metadata is changed")
		}
	}
}

// TestBrokenPicturesAreRefused: what has no structure could hide its metadata. A picture that ends early is stored.
func TestBrokenPicturesAreRefused(t *testing.T) {
	photo, _, _ := photoWithPlace(t, 6)
	drawing, _ := pngWithPlace(t, 6)
	small := webpWithPlace(t, 6)
	for name, c := range map[string]struct{ content, mediaType string }{
		"JPEG with loose bytes":     {"\xff\xd8\xff\xdb\x00\x03aloose", "image/jpeg"},
		"JPEG with an empty length": {"\xff\xd8\xff\xe1\x00\x00", "image/jpeg"},
		"JPEG in a JPEG":            {"\xff\xd8\xff\xd8\xff\xd9", "image/jpeg"},
		"PNG with a wrong name":     {pngSignature + "\x00\x00\x00\x01I1AT", "image/png"},
		"PNG with a large chunk":    {pngSignature + "\xff\x00\x00\x01IDAT", "image/png"},
		"WebP with a large chunk":   {"RIFF\x20\x00\x00\x00WEBPVP8 \xff\x00\x00\x00", "image/webp"},
		"WebP without chunks":       {"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"},
	} {
		if got, err := io.ReadAll(Strip(strings.NewReader(c.content), c.mediaType)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for mediaType, content := range map[string][]byte{"image/jpeg": photo, "image/png": drawing, "image/webp": small} {
		for end := range content {
			if end < webpHead {
				continue
			}
			got, err := io.ReadAll(Strip(bytes.NewReader(content[:end]), mediaType))
			if err != nil || bytes.Contains(got, []byte(place)) {
				t.Fatalf("%s of %d bytes: %q, %v", mediaType, end, got, err)
			}
		}
	}
	broken := errors.New("the line broke")
	for mediaType, content := range map[string][]byte{"image/jpeg": photo, "image/png": drawing, "image/webp": small} {
		for end := range content {
			from := io.MultiReader(bytes.NewReader(content[:end]), iotest.ErrReader(broken))
			if _, err := io.ReadAll(Strip(from, mediaType)); !errors.Is(err, broken) {
				t.Fatalf("%s: an upload that breaks after %d bytes: %v", mediaType, end, err)
			}
		}
	}
}

// TestStripHoldsNoWholeFile strips files of 20 MB of metadata in a few hundred kilobytes.
func TestStripHoldsNoWholeFile(t *testing.T) {
	zeros := func(n int64) io.Reader { return io.LimitReader(zeros{}, n) }
	const size = 20 << 20
	long := binary.BigEndian.AppendUint32([]byte(pngSignature), size)
	exif := binary.BigEndian.AppendUint32([]byte(pngSignature), size)
	riff := binary.LittleEndian.AppendUint32([]byte("RIFF"), size+12)
	chunk := binary.LittleEndian.AppendUint32([]byte("WEBPEXIF"), size)
	for mediaType, from := range map[string]func() io.Reader{
		"image/png":  func() io.Reader { return io.MultiReader(bytes.NewReader(append(long, "tEXt"...)), zeros(size)) },
		"image/jpeg": func() io.Reader { return io.MultiReader(strings.NewReader("\xff\xd8\xff\xda\x00\x02"), zeros(size)) },
		"image/webp": func() io.Reader { return io.MultiReader(bytes.NewReader(append(riff, chunk...)), zeros(size)) },
		"a PNG":      func() io.Reader { return io.MultiReader(bytes.NewReader(append(exif, "eXIf"...)), zeros(size)) },
	} {
		kind := strings.Replace(mediaType, "a PNG", "image/png", 1)
		took := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := io.Copy(io.Discard, struct{ io.Reader }{Strip(from(), kind)}); err != nil {
					b.Fatal(err)
				}
			}
		})
		if got := took.AllocedBytesPerOp(); got > 1<<20 {
			t.Errorf("%s: %d KiB", mediaType, got>>10)
		}
	}
}

func FuzzStrip(f *testing.F) {
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x08Exif\x00\x00\xff\xda\x00\x02a\xff\x00\xff\xd9"), 0)
	f.Add([]byte(pngSignature+"\x00\x00\x00\x00eXIf"), 1)
	f.Add([]byte("RIFF\x20\x00\x00\x00WEBPEXIF\x04\x00\x00\x00abcd"), 2)
	f.Fuzz(func(t *testing.T, content []byte, kind int) {
		mediaType := []string{"image/jpeg", "image/png", "image/webp"}[uint(kind)%3]
		once, err := io.ReadAll(Strip(bytes.NewReader(content), mediaType))
		if errors.Is(err, ErrDamaged) {
			return
		}
		if err != nil || len(once) > len(content)+64 {
			t.Fatalf("%d bytes of %d, %v", len(once), len(content), err)
		}
		twice, err := io.ReadAll(Strip(bytes.NewReader(once), mediaType))
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("stripped twice: %v\n%x\n%x", err, once, twice)
		}
	})
}

// TestStripKeepsEveryPixel strips scans with any bytes, split anywhere.
func TestStripKeepsEveryPixel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		data := []byte{0xff, markerStart, 0xff, markerScan, 0, 2}
		for range random.IntN(2000) {
			if b := byte(random.IntN(256)); random.IntN(4) == 0 {
				data = append(data, 0xff, []byte{0, 0, markerReset, markerReset + 7}[random.IntN(4)])
			} else if b != 0xff {
				data = append(data, b)
			}
		}
		data = append(data, 0xff, markerEnd)
		for _, from := range []io.Reader{bytes.NewReader(data), iotest.HalfReader(bytes.NewReader(data)), iotest.OneByteReader(bytes.NewReader(data))} {
			got, err := io.ReadAll(Strip(from, "image/jpeg"))
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%v: %x, want %x", err, got, data)
			}
		}
	}
}

// TestPicturesInMillionsOfPiecesAreRefused: the cost of a piece does not depend on its size.
func TestPicturesInMillionsOfPiecesAreRefused(t *testing.T) {
	photo, drawing, web := encodeJPEG(t, quarters(8, 8)), encodePNG(t, quarters(8, 8)), unbase64(t, tinyWebP)
	for name, c := range map[string]struct {
		content   []byte
		at        int // where the pieces are
		piece     []byte
		mediaType string
	}{
		"fill bytes":      {photo, 2, []byte{0xff}, "image/jpeg"},
		"restart markers": {photo, 2, []byte{0xff, markerReset}, "image/jpeg"},
		"comments":        {photo, 2, segmentOf(markerComment), "image/jpeg"},
		"scans":           {photo, 2, segmentOf(markerScan), "image/jpeg"},
		"texts":           {drawing, 33, chunkOf("tEXt"), "image/png"},
		"unknown chunks":  {web, webpHead, []byte("abcd\x00\x00\x00\x00"), "image/webp"},
	} {
		for pieces, want := range map[int]error{maxPieces / 2: nil, 2 * maxPieces: ErrDamaged} {
			content := slices.Concat(c.content[:c.at], bytes.Repeat(c.piece, pieces), c.content[c.at:])
			if c.mediaType == "image/webp" {
				binary.LittleEndian.PutUint32(content[4:], uint32(len(content)-8))
			}
			if _, err := io.Copy(io.Discard, Strip(bytes.NewReader(content), c.mediaType)); !errors.Is(err, want) {
				t.Errorf("%d %s: %v", pieces, name, err)
			}
		}
	}
}
