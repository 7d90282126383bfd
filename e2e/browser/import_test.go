//go:build browser

package browser

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

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// mistakenSheet has one valid and two invalid rows.
const mistakenSheet = "name,start_date,end_date,colour\nKettle,2024-01-01,2099-12-31,red\nPot,2024-01-01,2023-01-01,\n,03/04/2024,2099-12-31,\n"

// shownRows is the number of rows in a preview.
const shownRows = 10

// pasted previews a pasted sheet and then imports it, if asked.
func pasted(sheet string, imports bool) func(t testing.TB, b *tab) int {
	return func(t testing.TB, b *tab) int {
		b.mustOpen(t, "/warranties/import")
		text := sheet
		if imports { // a new name, so that the row is not a duplicate
			text = strings.ReplaceAll(sheet, "Kettle", "Kettle "+rand.Text())
		}
		b.fill(t, "#sheet", text)
		status := b.press(t, "Preview import")
		if imports {
			status = b.importAll(t)
		}
		return status
	}
}

// importAll presses the button that imports, and waits for the result.
func (b *tab) importAll(t testing.TB) int {
	t.Helper()
	status := b.click(t, `.commit .btn.primary`)
	b.until(t, `!!document.querySelector("#job") && document.querySelector("#job").getAttribute("aria-busy") === null`)
	return status
}

// download presses a button and returns the content of the downloaded file.
func (b *tab) download(t testing.TB, button, name string) string {
	t.Helper()
	folder := t.TempDir()
	info, err := chromedp.Call(b.ctx, target.GetTargetInfo, target.GetTargetInfoParams{})
	if err == nil {
		_, err = chromedp.Call(b.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: "allow", DownloadPath: folder, BrowserContextID: info.TargetInfo.BrowserContextID})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.Click(buttonNamed(button), chromedp.NodeVisible))
	var text []byte
	// The file is empty at first; its content is written at once.
	testenv.Wait(t, "the file is downloaded", func() bool {
		files, _ := filepath.Glob(filepath.Join(folder, name))
		if len(files) == 1 {
			text, _ = os.ReadFile(files[0])
		}
		return len(text) > 0
	})
	return string(text)
}

// TestImportAndExport imports a sheet of payloads, exports it and imports the export into another
// account. Payloads stay text, and the export contains no formulas.
func TestImportAndExport(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	ada, olga := s.visitor(t), s.visitor(t)
	ada.signIn(t, s.account(t, "ada"), lab.Password)
	olga.signIn(t, s.account(t, "olga"), lab.Password)

	ada.mustShow(t, "Get started")
	ada.press(t, "Import a spreadsheet")
	file := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(file, []byte(payloadSheet(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	ada.fill(t, "#file", file)
	ada.press(t, "Preview import")
	eval[chromedp.Void](t, ada, `document.querySelectorAll("details").forEach(d => d.open = true)`)
	ada.mustBeText(t, payloads[:shownRows-1]...)
	ada.mustShow(t, "Nothing is saved yet.", "1 row", "Line 3", "Ends: Must be on or after the start date.")
	refused := ada.download(t, "Download rows to fix", "refused.csv")
	if !strings.Contains(refused, "'=1+1,,,") || !strings.Contains(refused, "svc_error") {
		t.Errorf("the refused rows are %q", refused)
	}
	ada.importAll(t)
	ada.mustBeText(t)
	ada.mustShow(t, fmt.Sprintf("%d created", len(payloads)+1), "1 not imported")
	ada.press(t, "View warranties")
	ada.mustBeText(t, payloads[len(payloads)-10:]...)

	// The export has only the rows that match the filters, and no cell that a spreadsheet would run.
	ada.fill(t, "#q", "HYPERLINK")
	rows := rowsOf(t, ada.download(t, "Export CSV", "warranties-*.csv"))
	if len(rows) != 2 || !strings.HasPrefix(rows[1][2], "'=HYPERLINK") {
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
	plain.mustShow(t, "This looks like an export from svc.")
	plain.importAll(t)
	plain.mustShow(t, fmt.Sprintf("%d created", len(payloads)+1))
	plain.mustOpen(t, "/warranties")
	got, want := ownColumns(t, plain.download(t, "Export CSV", "warranties-*.csv")), ownColumns(t, exported)
	if !slices.Equal(got, want) {
		t.Errorf("%q\nbecame\n%q", want, got)
	}
	ada.mustBeQuiet(t)
	olga.mustBeQuiet(t)
}

// payloadSheet returns a sheet with a row for each payload in every field, a row with formulas and
// an invalid row.
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

// ownColumns returns the columns of an export that an import keeps, as sorted lines.
func ownColumns(t testing.TB, text string) []string {
	t.Helper()
	var lines []string
	for _, row := range rowsOf(t, text) {
		lines = append(lines, strings.Join(row[2:11], "|"))
	}
	slices.Sort(lines)
	return lines
}
