package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// segmentOf returns a segment of a JPEG.
func segmentOf(marker byte, payload ...byte) []byte {
	head := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(payload)+2))
	return append(head, payload...)
}

// frameOf returns a frame header with three components, one block of each per unit.
func frameOf(marker byte, width, height uint16) []byte {
	payload := binary.BigEndian.AppendUint16([]byte{8}, height)
	payload = binary.BigEndian.AppendUint16(payload, width)
	return segmentOf(marker, append(payload, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0)...)
}

// scanOf returns a scan of some components with a little data.
func scanOf(from, to, bits byte, components ...byte) []byte {
	payload := []byte{byte(len(components))}
	for _, c := range components {
		payload = append(payload, c, 0)
	}
	return append(segmentOf(markerScan, append(payload, from, to, bits)...), 0x12, 0xff, 0, 0x34)
}

// jpegOf returns a JPEG of segments.
func jpegOf(segments ...[]byte) []byte {
	content := append([]byte{0xff, markerStart}, bytes.Join(segments, nil)...)
	return append(content, 0xff, markerEnd)
}

// TestNoFileTakesMoreThanABoundedAmountOfWork has files that are small and would take seconds or minutes to decode:
// nothing of them is decoded.
func TestNoFileTakesMoreThanABoundedAmountOfWork(t *testing.T) {
	repeat := func(n int, segment []byte) []byte { return bytes.Repeat(segment, n) }
	large, medium := frameOf(markerBaseline, 5000, 5000), frameOf(markerProgressive, 2500, 2500)
	all := scanOf(0, 63, 0, 1, 2, 3)
	hidden := segmentOf(markerHuffman, repeat(200, scanOf(0, 63, 0, 1, 2, 3))...)
	idle := make([]byte, 3<<20)
	for name, c := range map[string]struct {
		content   []byte
		mediaType string
	}{
		"baseline with its scan twice":         {jpegOf(large, all, all), "image/jpeg"},
		"baseline with its scan 56 times":      {jpegOf(large, repeat(56, all)), "image/jpeg"},
		"baseline with a component twice":      {jpegOf(large, scanOf(0, 63, 0, 1), scanOf(0, 63, 0, 2, 1)), "image/jpeg"},
		"progressive with many scans":          {jpegOf(medium, repeat(99, scanOf(1, 63, 0, 1))), "image/jpeg"},
		"small progressive with 101 scans":     {jpegOf(frameOf(markerProgressive, 8, 8), repeat(101, all)), "image/jpeg"},
		"scans in a table":                     {jpegOf(large, hidden, all), "image/jpeg"},
		"second frame":                         {jpegOf(large, all, large, all), "image/jpeg"},
		"frame that is too large":              {jpegOf(frameOf(markerBaseline, 65535, 65535), all), "image/jpeg"},
		"progressive frame that is too large":  {jpegOf(frameOf(markerProgressive, 3000, 3000), all), "image/jpeg"},
		"one pixel with megabytes of data":     {pngOf(t, 1, 1, idle), "image/png"},
		"PNG of 30000 pixels squared":          {pngBomb(t, 30000, 30000), "image/png"},
		"PNG in ten thousand pieces":           {pieces(t, maxParts), "image/png"},
		"PNG of 20 million rows":               {pngOf(t, 1, 20_000_000, nil), "image/png"},
		"WebP with megabytes of data":          {webpOf("VP8 ", append(unbase64(t, tinyWebP)[20:], make([]byte, 16<<20)...)), "image/webp"},
		"animated WebP":                        {webpOf("VP8X", make([]byte, 10), "ANIM", make([]byte, 6)), "image/webp"},
		"WebP with an animation and a picture": {webpOf("ANMF", make([]byte, 16), "VP8 ", unbase64(t, tinyWebP)[20:]), "image/webp"},
	} {
		if f, err := check(c.content, c.mediaType); !errors.Is(err, ErrNone) {
			t.Errorf("%s: work %d, memory %d, %v", name, f.work, f.memory, err)
		}
	}
	// What cameras and programs make is decoded.
	script := [][]byte{
		scanOf(0, 0, 1, 1, 2, 3), scanOf(1, 5, 2, 1), scanOf(1, 63, 1, 3), scanOf(1, 63, 1, 2), scanOf(6, 63, 2, 1),
		scanOf(1, 63, 0x21, 1), scanOf(0, 0, 0x10, 1, 2, 3), scanOf(1, 63, 0x10, 3), scanOf(1, 63, 0x10, 2), scanOf(1, 63, 0x10, 1),
	}
	for name, content := range map[string][]byte{
		"progressive as libjpeg makes it": jpegOf(medium, bytes.Join(script, nil)),
		"a scan per component":            jpegOf(large, scanOf(0, 63, 0, 1), scanOf(0, 63, 0, 2), scanOf(0, 63, 0, 3)),
		"scans after the end":             append(jpegOf(large, all), repeat(1000, all)...),
		"scans in a comment":              jpegOf(large, segmentOf(markerComment, repeat(1000, all)...), all),
	} {
		if f, err := check(content, "image/jpeg"); err != nil {
			t.Errorf("%s: work %d, memory %d, %v", name, f.work, f.memory, err)
		}
	}
}

// TestTheDecoderGetsOnlyCheckedScans shuffles and repeats the segments of JPEGs: whatever is accepted, the scans that
// anything reading the decoder's input could find are within the budget.
func TestTheDecoderGetsOnlyCheckedScans(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 5000 {
		kind, side := byte(markerBaseline), uint16(100+random.IntN(6000))
		if random.IntN(2) == 0 {
			kind = markerProgressive
		}
		choices := [][]byte{
			scanOf(0, 63, 0, 1, 2, 3), scanOf(1, 5, 0, 1), scanOf(1, 63, 0, 2), scanOf(1, 63, 0, 3), {0xff, markerReset, 0xff},
			segmentOf(markerComment, scanOf(0, 63, 0, 1)...), segmentOf(markerQuantize, scanOf(0, 63, 0, 1)...),
			segmentOf(markerApp0, scanOf(0, 63, 0, 1, 2)...), segmentOf(markerRestart, 0, 1), segmentOf(markerAdobe, 1, 2),
		}
		var segments [][]byte
		for range 1 + random.IntN(30) {
			segments = append(segments, choices[random.IntN(len(choices))])
		}
		segments = slices.Insert(segments, random.IntN(min(3, len(segments))), frameOf(kind, side, side))
		f, err := check(jpegOf(segments...), "image/jpeg")
		if err != nil {
			continue
		}
		accepted++
		input, units := bytes.Join(f.parts, nil), int64(side+7)/8*int64(side+7)/8
		found := int64(0)
		for at := 0; ; at++ {
			next := bytes.Index(input[at:], []byte{0xff, markerScan})
			if next < 0 {
				break
			}
			at += next
			found += 64 * units * int64(input[at+4])
		}
		if found > maxWork || f.memory > maxMemory {
			t.Fatalf("%d samples in %x", found, input)
		}
	}
	if accepted < 100 {
		t.Errorf("only %d were accepted", accepted)
	}
}

// countdown is a context that ends after some looks at it.
type countdown struct {
	context.Context
	looks *int
}

func (c countdown) Err() error {
	if *c.looks--; *c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestDecodingStopsWhenTheRequestEnds: the decoder reads a few kilobytes at once and nothing after the end.
func TestDecodingStopsWhenTheRequestEnds(t *testing.T) {
	noise := image.NewRGBA(image.Rect(0, 0, 600, 600))
	random := rand.NewChaCha8([32]byte{})
	if _, err := io.ReadFull(random, noise.Pix); err != nil {
		t.Fatal(err)
	}
	for mediaType, content := range map[string][]byte{"image/jpeg": encodeJPEG(t, noise), "image/png": encodePNG(t, noise)} {
		looks := 10
		ctx := countdown{t.Context(), &looks}
		if _, err := Small(ctx, content, mediaType); !errors.Is(err, context.Canceled) || errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", mediaType, err)
		}
		if looks < -3 { // the decoder's, and one for the result
			t.Errorf("%s: %d more reads after the end", mediaType, -looks)
		}
		f, err := check(content, mediaType)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := (&source{ctx: t.Context(), parts: f.parts}).Read(make([]byte, 1<<20)); n > chunk || err != nil {
			t.Errorf("%s: %d bytes at once, %v", mediaType, n, err)
		}
	}
}

// TestTheDecoderSeesThePicture: leaving metadata out changes no pixel, and a JPEG without its end is complete.
func TestTheDecoderSeesThePicture(t *testing.T) {
	photo := encodeJPEG(t, quarters(300, 200))
	want, err := jpeg.Decode(bytes.NewReader(photo))
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{withExif(photo, 6), photo[:len(photo)-2], append(bytes.Clone(photo), "trailer"...)} {
		f, err := check(content, "image/jpeg")
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.decode(&source{ctx: t.Context(), parts: f.parts})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("another picture: %v", err)
		}
	}
}
