package web_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWebImportOfAMessyFile imports the 302 rows of a shop: the preview says what was read as what, problems are fixed in
// place, the counts follow, and the rest can be downloaded and undone for a day.
func TestWebImportOfAMessyFile(t *testing.T) {
	w, b, _ := newTill(t)
	raw, err := os.ReadFile("../sheet/testdata/garantieliste-302.xlsx")
	if err != nil {
		t.Fatal(err)
	}
	first := uploadSheet(b.browser, "file", string(raw), "account", b.account)
	first.Says(t, "the preview", 200, "items.csv", "Verkauf", "302 rows", "Column names in line 4", "Garantieliste 2026",
		"6 rows left out: earlier ones", "1 total left out", "4 empty rows left out", "Serial number changed by the spreadsheet",
		"Starts: the date does not exist", "Product is missing", "4,23E&#43;12", `name="fix_23_start_date"`, "Month first",
		"Leave these 2 rows out", "9 in the file, 8 used", "customers get an email")
	equal(t, "figures", stats(first), map[string]string{"Ready": "287", "To fix": "9", "Already here": "0", "Left out": "11"})
	form := []string{"kept", first.Value("kept"), "name", "Garantien.xlsx", "account", b.account}
	choices := []string{"fix_23_start_date", "2026-02-28", "fix_26_product_name", "Toaster", "empty", "customer_email",
		"leave", "product_name:required:alone"}
	second := uploadSheet(b.browser, append(slices.Clone(form), choices...)...)
	second.Says(t, "the second preview", 200, "2 rows to fix", `name="fix_23_start_date" value="2026-02-28"`, "Left empty, as you chose")
	equal(t, "figures", stats(second), map[string]string{"Ready": "292", "To fix": "2", "Already here": "0", "Left out": "13"})
	back := uploadSheet(b.browser, append(append(slices.Clone(form), choices...), "drop", "leave=")...)
	equal(t, "figures", stats(back), map[string]string{"Ready": "292", "To fix": "4", "Already here": "0", "Left out": "11"})
	started := uploadSheet(b.browser, append(append(slices.Clone(form), choices...), "shown", second.Value("shown"), "do", "import")...)
	if err := w.Jobs.RunOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := b.Get(started.Location)
	done.Says(t, "the result", 200, "292 warranties imported", "Garantien.xlsx", "4 not imported", "Undo this import", "Until ")
	left := cells(t, b.Get(started.Location+"/not-imported.csv").Body)
	equal(t, "left out", len(left), 5)
	equal(t, "records", w.Records(), 292)
	equal(t, "ruined numbers", w.Count(`SELECT count(*) FROM warranties WHERE serial_number LIKE '%E+12'`), 0)
	w.Clock.Advance(25 * time.Hour)
	b.Get(started.Location).Hides(t, "a day later", "Undo this import")
	b.Post(started.Location+"/undo", "account", b.account).Says(t, "a day later", http.StatusConflict, "It is too late to undo this.")
}

// TestShortRowsArePreviewed previews and imports a file in which rows have fewer or more cells than the line with the names of the
// columns, or nothing but one cell. The page failed with an internal error.
func TestShortRowsArePreviewed(t *testing.T) {
	w, b, _ := newTill(t)
	for _, names := range []string{"product_name,start_date,end_date", "serial_number,start_date,end_date,product_name"} {
		full := strings.NewReplacer("product_name", "Lamp", "start_date", "2026-01-01", "end_date", "2028-01-01",
			"serial_number", "L-1").Replace(names)
		text := names + "\nA\nB,2026-01-01\n" + full + "\n" + full + ",x,y\n"
		first := uploadSheet(b.browser, "sheet", text, "account", b.account)
		first.Says(t, "the preview of "+names, 200, "4 rows", "3 rows to fix", "1 warranty will be created.")
		refused := uploadSheet(b.browser, "kept", first.Value("kept"), "name", "a.csv", "account", b.account, "do", "refused")
		equal(t, "refused rows of "+names, len(cells(t, refused.Body)), 4)
	}
	first := uploadSheet(b.browser, "sheet", "product_name,start_date,end_date\nA\nLamp,2026-01-01,2028-01-01\n", "account", b.account)
	started := uploadSheet(b.browser, "kept", first.Value("kept"), "name", "a.csv", "shown", first.Value("shown"), "account", b.account, "do", "import")
	if err := w.Jobs.RunOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Get(started.Location).Says(t, "the result", 200, "1 warranty imported", "1 not imported")
}

// TestAnImportSentTwiceIsOneJob sends the form of an import twice, also with rows that are imported although they are there: both
// lead to one job, which another organization cannot reach by its id. Each file was imported twice.
func TestAnImportSentTwiceIsOneJob(t *testing.T) {
	w, b, _ := newTill(t)
	first := uploadSheet(b.browser, "sheet", "product_name,start_date,end_date\nLamp,2026-01-01,2028-01-01\n", "account", b.account, "duplicates", "true")
	form := []string{"kept", first.Value("kept"), "name", "a.csv", "shown", first.Value("shown"), "once", first.Value("once"),
		"duplicates", "true", "do", "import"}
	mine := append(slices.Clone(form), "account", b.account)
	started := uploadSheet(b.browser, mine...)
	equal(t, "sent twice", uploadSheet(b.browser, mine...).Location, started.Location)
	if err := w.Jobs.RunOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "sent after it ended", uploadSheet(b.browser, mine...).Location, started.Location)
	equal(t, "records", w.Records(), 1)
	eve := w.SignedIn(t, w.Verified("Eve"))
	if p := uploadSheet(eve, form...); p.Status == http.StatusSeeOther {
		t.Errorf("the id of another account's job leads to %s", p.Location)
	}
	again := uploadSheet(b.browser, "sheet", "product_name,start_date,end_date\nLamp,2026-01-01,2028-01-01\n", "account", b.account, "duplicates", "true")
	if again.Value("once") == first.Value("once") {
		t.Error("two previews have one id")
	}
}
