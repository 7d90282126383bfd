package sheet

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
)

func roundTrip(t interface{ Fatalf(string, ...any) }, cell string) {
	safe := escapeFormula(cell)
	if safe != "" && strings.IndexAny(safe, triggers) == 0 {
		t.Fatalf("%q is written as %q, which a spreadsheet runs", cell, safe)
	}
	if back := unescapeFormula(safe); back != cell {
		t.Fatalf("%q is written as %q and read as %q", cell, safe, back)
	}
}

// TestCellsAreDefusedAndComeBackEqual: no exported cell is a formula, and an import
// restores the original text.
func TestCellsAreDefusedAndComeBackEqual(t *testing.T) {
	for _, cell := range []string{"", "plain", "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "\x00", "'", "''",
		"'x", "'=1", "''=1", "＝1", "'＋1", "=HYPERLINK(\"http://evil\")", "a=b", " =1"} {
		roundTrip(t, cell)
	}
	testenv.Property(t, func(t *rapid.T) {
		roundTrip(t, rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("'=+-@\t\r\n\x00＝ab")), rapid.Rune())).Draw(t,
			"cell"))
	})
}

func FuzzDefuse(f *testing.F) {
	f.Add("'=1+1")
	f.Fuzz(func(t *testing.T, cell string) { roundTrip(t, cell) })
}

// TestWrittenRowsAreReadAgain writes cells to CSV and reads them back.
func TestWrittenRowsAreReadAgain(t *testing.T) {
	testenv.Property(t, func(t *rapid.T) {
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
			if unescapeFormula(got[i]) != want[i] {
				t.Fatalf("%q came back as %q", want, got)
			}
		}
	})
}
