package sheet

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func defusedAndBack(t interface{ Fatalf(string, ...any) }, cell string) {
	safe := defuse(cell)
	if safe != "" && strings.IndexAny(safe, triggers) == 0 {
		t.Fatalf("%q is written as %q, which a spreadsheet runs", cell, safe)
	}
	if back := fuse(safe); back != cell {
		t.Fatalf("%q is written as %q and read as %q", cell, safe, back)
	}
}

// TestCellsAreDefusedAndComeBackEqual is the promise of the export: no cell begins
// with a character that makes it a formula, and an import reads what was there.
func TestCellsAreDefusedAndComeBackEqual(t *testing.T) {
	for _, cell := range []string{"", "plain", "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "\x00", "'", "''", "'x", "'=1", "''=1", "＝1", "'＋1", "=HYPERLINK(\"http://evil\")", "a=b", " =1"} {
		defusedAndBack(t, cell)
	}
	rapid.Check(t, func(t *rapid.T) {
		defusedAndBack(t, rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("'=+-@\t\r\n\x00＝ab")), rapid.Rune())).Draw(t, "cell"))
	})
}

func FuzzDefuse(f *testing.F) {
	f.Add("'=1+1")
	f.Fuzz(func(t *testing.T, cell string) { defusedAndBack(t, cell) })
}

// TestWrittenRowsAreReadAgain sends cells through the file and back.
func TestWrittenRowsAreReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("'=+-@,;\"\n ab｜＝ü"))), 2, 5).Draw(t, "cells")
		var b bytes.Buffer
		w := NewWriter(&b)
		w.Write(want)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(&b).Read()
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if fuse(got[i]) != want[i] {
				t.Fatalf("%q came back as %q", want, got)
			}
		}
	})
}
