//go:build browser

package e2e

import (
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"warranty.example/svc/internal/testenv"
)

// mistakenSheet has a row that is good, and rows that are not.
const mistakenSheet = "name,start_date,end_date,colour\nKettle,2024-01-01,2099-12-31,red\nPot,2024-01-01,2023-01-01,\n,03/04/2024,2099-12-31,\n"

// shownRows is how many rows a preview shows.
const shownRows = 10

// pasted shows what a sheet becomes, and presses a button then.
func pasted(sheet, button string) func(t testing.TB, b *tab) int {
	return func(t testing.TB, b *tab) int {
		b.mustOpen(t, "/warranties/import")
		text := sheet
		if button != "" { // what was imported before is not imported again
			text = strings.ReplaceAll(sheet, "Kettle", "Kettle "+rand.Text())
		}
		b.fill(t, "#sheet", text)
		status := b.press(t, "Preview import")
		if button != "" {
			status = b.press(t, button)
		}
		return status
	}
}

// download presses a button that gives a file, and returns what is in it.
func (b *tab) download(t testing.TB, button, name string) string {
	t.Helper()
	folder := t.TempDir()
	info, err := chromedp.Call(b.ctx, target.GetTargetInfo, target.GetTargetInfoParams{})
	if err == nil {
		_, err = chromedp.Call(b.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: folder, BrowserContextID: info.TargetInfo.BrowserContextID})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.Click(fmt.Sprintf(`//*[self::button or self::a][normalize-space()=%q]`, button), chromedp.NodeVisible))
	var text []byte
	// The name is there before the text is, which comes all at once.
	testenv.Wait(t, "the file is there", func() bool {
		files, _ := filepath.Glob(filepath.Join(folder, name))
		if len(files) == 1 {
			text, _ = os.ReadFile(files[0])
		}
		return len(text) > 0
	})
	return string(text)
}

// TestImportAndExport brings a sheet along, as somebody new: payloads in it stay
// text, what is exported is no formula, and somebody else can import that.
func TestImportAndExport(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	ada, olga := s.visitor(t), s.visitor(t)
	ada.signIn(t, s.account(t, "ada"), password)
	olga.signIn(t, s.account(t, "olga"), password)

	ada.mustShow(t, "Get started")
	ada.press(t, "Import a CSV")
	file := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(file, []byte(payloadSheet(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	ada.fill(t, "#file", file)
	ada.press(t, "Preview import")
	ada.mustBeText(t, payloads[:shownRows-1]...)
	ada.mustShow(t, "Nothing is stored yet.", "Line 3", "End date: The last day of cover can not be before its first day.")
	if refused := ada.download(t, "Download these rows", "refused.csv"); !strings.Contains(refused, "'=1+1,,,") || !strings.Contains(refused, "svc_error") {
		t.Errorf("the refused rows are %q", refused)
	}
	ada.press(t, "Import the good rows")
	ada.mustBeText(t)
	ada.mustShow(t, fmt.Sprintf("Created\n%d", len(payloads)+1), "Already imported\n0", "Failed\n1")
	ada.press(t, "Go to the warranties")
	ada.mustBeText(t, payloads[len(payloads)-10:]...)

	// Only what the filters let through is exported, and nothing that a spreadsheet would run.
	ada.fill(t, "#q", "HYPERLINK")
	if rows := rowsOf(t, ada.download(t, "Export CSV", "warranties-*.csv")); len(rows) != 2 || !strings.HasPrefix(rows[1][2], "'=HYPERLINK") {
		t.Errorf("the export of a search is %q", rows)
	}
	ada.mustOpen(t, "/warranties")
	exported := ada.download(t, "Export CSV", "warranties-*.csv")
	for _, cell := range slices.Concat(rowsOf(t, exported)...) {
		if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
			t.Errorf("a spreadsheet would run %q", cell)
		}
	}

	if err := os.WriteFile(file, []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := olga.withoutScript(t)
	plain.mustOpen(t, "/warranties/import")
	plain.fill(t, "#file", file)
	plain.press(t, "Preview import")
	plain.mustShow(t, "This looks like an export of svc.")
	plain.press(t, "Import")
	plain.mustShow(t, fmt.Sprintf("Created\n%d", len(payloads)+1), "Failed\n0")
	plain.mustOpen(t, "/warranties")
	if got, want := ownColumns(t, plain.download(t, "Export CSV", "warranties-*.csv")), ownColumns(t, exported); !slices.Equal(got, want) {
		t.Errorf("%q\nbecame\n%q", want, got)
	}
	ada.mustBeQuiet(t)
	olga.mustBeQuiet(t)
}

// payloadSheet has a row for each payload, with it in every field, one that is a
// formula, and one that can not be stored.
func payloadSheet(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{{"product_name", "category", "serial_number", "description", "start_date", "end_date"},
		{payloads[0], payloads[0], payloads[0], payloads[0], "2024-01-01", "2099-12-31"},
		{"=1+1", "", "", "", "2024-01-01", "2023-01-01"},
		{`=HYPERLINK("http://evil.example")`, "", "-1", "@SUM(A1)", "2024-01-01", "2099-12-31"}}
	for _, payload := range payloads[1:] {
		rows = append(rows, []string{payload, payload, payload, payload, "2024-01-01", "2099-12-31"})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func rowsOf(t testing.TB, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// ownColumns are the columns of an export that are a person's own.
func ownColumns(t testing.TB, text string) []string {
	t.Helper()
	var lines []string
	for _, row := range rowsOf(t, text) {
		lines = append(lines, strings.Join(row[2:11], "|"))
	}
	slices.Sort(lines)
	return lines
}
