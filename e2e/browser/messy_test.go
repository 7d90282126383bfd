//go:build browser

package browser

import (
	"path/filepath"
	"testing"
)

// TestImportOfAMessyFile imports 302 rows of a shop as a person does: choose the file, fix what is wrong in place, import. It
// takes one try and five clicks, and no page has an axe violation or scrolls sideways.
func TestImportOfAMessyFile(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	b := s.shopkeeper(t, "petra")
	file, err := filepath.Abs("../../internal/sheet/testdata/garantieliste-302.xlsx")
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string) {
		t.Helper()
		b.mustPassAxeIn(t, what, looks...)
		for _, width := range []int64{320, 390, 768, 1024, 1440} {
			b.look(t, "light", width)
			b.mustNotScrollSideways(t, width)
		}
		b.look(t, "light", 1280)
	}
	b.mustOpen(t, "/warranties/import")
	b.fill(t, "#file", file)
	b.press(t, "Preview import")
	b.mustShow(t, "Check your file", "garantieliste-302.xlsx", "302 rows", "9 rows to fix", "Column names in line 4",
		"287 warranties will be created.", "4,23E+12")
	check("preview")
	b.fill(t, "#fix_23_start_date", "2026-02-28", "#fix_26_product_name", "Toaster",
		"#fix_120_serial_number", "4230117733951")
	b.press(t, "Leave these 2 rows out")
	b.mustShow(t, "4 rows to fix", "2 rows left out by you")
	b.press(t, "Leave all 3 empty")
	b.press(t, "Leave it empty") // the other serial number
	b.mustShow(t, "294 warranties will be created.")
	b.importAll(t)
	b.mustShow(t, "294 warranties imported", "garantieliste-302.xlsx", "2 not imported", "Undo this import")
	check("result")
	b.mustBeQuiet(t)
}
