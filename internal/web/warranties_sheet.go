package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// The limits of an import in the browser. They are low because the form carries the sheet;
// svc warranties import has none.
const (
	maxSheet     = 2 << 20
	maxSheetRows = 10_000
	// maxSheetForm fits a sheet in base64, the import settings and the fixes.
	maxSheetForm = maxSheet/3*4 + 1<<20
	// maxOverlong is how much more is read of a form that is too large: browsers show the
	// response only after they have sent the whole form.
	maxOverlong = 32 << 20

	shownRows = 10
)

// importPage is a file with its preview.
type importPage struct {
	form
	text   []byte
	header []string
	person bool // the file is imported by a person, who cannot offer warranties to customers

	Name     string // of the file
	Once     string // the id of the job, so that a form that is sent twice starts one
	Columns  []sheet.Column
	Missing  []string         // required fields without a column
	Head     []sheet.HeadLine // the first lines of a file without column names
	Source   string
	Rows     []previewRow // the first rows to create
	Problems sheet.Problems
	Assumed  sheet.Assumed
	Skips    []skipLine
	sheet.Counts
	Emails     int  // customers who get an email
	External   bool // the file has external ids
	References bool // the file has reference numbers, which are not imported
}

// previewRow is a warranty to create.
type previewRow struct {
	warranty.CreateWarranty
	Status warranty.Status
}

// skipLine is a reason why rows are skipped, with the first lines.
type skipLine struct {
	Reason sheet.SkipReason
	Rows   int
	Lines  []int
}

// Kept returns the file in base64, which browsers submit unchanged.
func (p *importPage) Kept() string { return base64.StdEncoding.EncodeToString(p.text) }

// Existing returns the number of rows that are already imported.
func (p *importPage) Existing() int { return p.AlreadyImported + p.LooksImported + p.Differs }

// Products returns the number of rows that stand for a product.
func (p *importPage) Products() int {
	return p.Counts.Rows - p.Reasons[sheet.Blank] - p.Reasons[sheet.Total] - p.Reasons[sheet.Heading]
}

// Shares returns the widths of the bar of a preview, and where they begin.
func (p *importPage) Shares() map[string]int {
	return map[string]int{
		"all": max(1, p.ToCreate+p.Counts.Refused+p.Existing()), "fix": p.ToCreate, "here": p.ToCreate + p.Counts.Refused,
	}
}

// Used returns the number of columns that are imported.
func (p *importPage) Used() (n int) {
	for _, c := range p.Columns {
		if c.Field != "" {
			n++
		}
	}
	return n
}

// FieldNames returns the fields that a column can become.
func (p *importPage) FieldNames() []string {
	names := slices.DeleteFunc(sheet.Fields(), func(f string) bool { return f == "status" || f == "reference_number" })
	if p.Source == "svc" {
		names = sheet.Fields()
	}
	return names
}

// Reading returns how values were read, of some kinds.
func (p *importPage) Reading(kinds ...string) (list []sheet.Reading) {
	for _, r := range p.Assumed.Readings {
		if slices.Contains(kinds, string(r.Kind)) {
			list = append(list, r)
		}
	}
	return list
}

// Wrongs returns the number of rows of a field to fix.
func (p *importPage) Wrongs(field string) (n int) {
	for _, problem := range p.Problems {
		if problem.Field == field && field != "" {
			n += problem.Count
		}
	}
	return n
}

// NeedsLength reports whether rows have neither an end nor a length.
func (p *importPage) NeedsLength() bool {
	return slices.Contains(p.Missing, "end_date") || slices.ContainsFunc(p.Problems, func(q sheet.Problem) bool {
		return q.Key() == "end_date:required"
	})
}

// Encodings returns the encodings to choose from.
func (p *importPage) Encodings() []sheet.Encoding { return sheet.Encodings() }

// Currencies returns the currencies to choose from.
func (p *importPage) Currencies() []string { return []string{"EUR", "CHF", "GBP", "USD"} }

// allowDuplicates reports whether to import rows that look already imported.
func (p *importPage) allowDuplicates() bool { return p.Value("duplicates") == "true" }

// Updates reports whether to change records that have the external ids of rows.
func (p *importPage) Updates() bool { return p.Value("update") == "true" }

// MaxRows returns the maximum number of rows.
func (p *importPage) MaxRows() int { return maxSheetRows }

// MaxSize returns the maximum size of a file in bytes.
func (p *importPage) MaxSize() int64 { return maxSheet }

// readSheet parses the form. The sheet is a file, pasted text, or kept from the preview.
func (web *Web) readSheet(w http.ResponseWriter, r *http.Request) (*importPage, error) {
	p, body := &importPage{}, r.Body
	tooLarge := warranty.Refuse(warranty.BodyTooLarge, "%s", web.t(r, "import.too_large", web.reader(r).Size(maxSheet)))
	r.Body = http.MaxBytesReader(w, body, maxSheetForm)
	if err := r.ParseMultipartForm(maxSheetForm); err != nil { //nolint:gosec // limited above
		var overlong *http.MaxBytesError
		if !errors.As(err, &overlong) {
			return p, errForm
		}
		_, _ = io.CopyN(io.Discard, body, maxOverlong) // the rest is not used
		return p, tooLarge
	}
	p.Values = r.MultipartForm.Value
	p.press()
	var err error
	if p.text, err = base64.StdEncoding.DecodeString(p.Value("kept")); err != nil {
		return p, errForm
	}
	p.Name = p.Value("name")
	if len(p.text) == 0 {
		p.text, p.Name, err = fileOf(r)
	}
	if len(p.text) == 0 {
		p.text, p.Name = []byte(p.Value("sheet")), ""
	}
	if len(p.text) > maxSheet {
		return p, tooLarge
	}
	return p, err
}

// press applies the buttons that change one setting: "set" has its name and value, and "drop" the name of a list and the
// value to remove from it, or none to empty it.
func (p *importPage) press() {
	if name, value, ok := strings.Cut(p.Value("set"), "="); ok && slices.Contains(importSettings, name) {
		p.Values.Set(name, value)
	}
	if name, value, ok := strings.Cut(p.Value("drop"), "="); ok && (name == "empty" || name == "leave") {
		p.Values[name] = slices.DeleteFunc(p.Values[name], func(v string) bool { return value == "" || v == value })
	}
	p.Values.Del("set")
	p.Values.Del("drop")
}

// importSettings are the settings with one value.
var importSettings = []string{"date_order", "unit", "currency", "length", "hidden", "sheet_name", "header_line", "encoding"}

// fileOf returns the content and the name of the uploaded file, if any.
func fileOf(r *http.Request) ([]byte, string, error) {
	file, header, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(file)
	return raw, path.Base(header.Filename), err
}

// options returns the import settings.
func (p *importPage) options() sheet.Options {
	o := sheet.Options{
		Sheet:       p.Value("sheet_name"),
		Hidden:      p.Value("hidden") == "true",
		Currency:    strings.ToUpper(strings.TrimSpace(p.Value("currency"))),
		Length:      strings.TrimSpace(p.Value("length")),
		Unit:        p.Value("unit"),
		NoCustomers: p.person,
		Empty:       slices.Clone(p.Values["empty"]),
		LeaveOut:    slices.Clone(p.Values["leave"]),
		Fixes:       p.fixes(),
	}
	o.HeaderLine, _ = strconv.Atoi(p.Value("header_line")) // an invalid line is found
	if order := sheet.DateOrder(p.Value("date_order")); order == sheet.DayFirst || order == sheet.MonthFirst {
		o.Order = order
	}
	o.Encoding, _ = sheet.ParseEncoding(p.Value("encoding")) // an unknown encoding is detected
	if p.Value("mapped") == p.table(o.Sheet, o.HeaderLine) {
		o.Becomes = p.becomes()
	}
	return o
}

// table identifies the table that columns were chosen for.
func (p *importPage) table(name string, line int) string { return name + "#" + strconv.Itoa(line) }

// Mapped identifies the table that columns are chosen for.
func (p *importPage) Mapped() string {
	o := p.options()
	return p.table(o.Sheet, o.HeaderLine)
}

// becomes returns the fields that were chosen for columns.
func (p *importPage) becomes() map[int]string {
	chosen := map[int]string{}
	for name := range p.Values {
		if number, ok := strings.CutPrefix(name, "to_"); ok {
			if i, err := strconv.Atoi(number); err == nil && i >= 0 {
				chosen[i] = p.Value(name)
			}
		}
	}
	return chosen
}

// fixes returns what was typed for cells, from fields such as fix_23_start_date.
func (p *importPage) fixes() map[int]map[string]string {
	fixes := map[int]map[string]string{}
	for name := range p.Values {
		rest, ok := strings.CutPrefix(name, "fix_")
		number, field, _ := strings.Cut(rest, "_")
		line, err := strconv.Atoi(number)
		if value := strings.TrimSpace(p.Value(name)); ok && err == nil && value != "" {
			if fixes[line] == nil {
				fixes[line] = map[string]string{}
			}
			fixes[line][field] = value
		}
	}
	return fixes
}

// Fixes returns what was typed for cells that are right now, as names and values of hidden fields.
func (p *importPage) Fixes() map[string]string {
	kept := map[string]string{}
	for name := range p.Values {
		if strings.HasPrefix(name, "fix_") && p.Value(name) != "" {
			kept[name] = p.Value(name)
		}
	}
	for _, problem := range p.Problems {
		for _, row := range problem.Rows {
			delete(kept, "fix_"+strconv.Itoa(row.Line)+"_"+problem.Field)
		}
	}
	return kept
}

// Choices returns the import settings of a preview as one string, with the columns as they were read. An import must have
// the settings of its preview.
func (p *importPage) Choices() string {
	kept := maps.Clone(p.Values)
	if kept == nil {
		kept = url.Values{}
	}
	for _, name := range []string{"kept", "shown", "do", "sheet", "name", "account", "mapped", "once"} {
		delete(kept, name)
	}
	for _, c := range p.Columns {
		kept.Set("to_"+strconv.Itoa(c.Index), c.Field)
	}
	for name, values := range kept {
		if values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" }); len(values) == 0 {
			delete(kept, name)
		} else {
			kept[name] = slices.Compact(slices.Sorted(slices.Values(values)))
		}
	}
	return kept.Encode()
}

// preview reads the whole file with the import settings and notes what it would do.
func (web *Web) preview(ctx context.Context, words view.Reader, p *importPage, im sheet.Import) error {
	rows, err := sheet.Open(bytes.NewReader(p.text), p.options())
	if err != nil {
		return err
	}
	p.Source, p.header = rows.Source(), rows.Header()
	p.External = rows.Described()["external_id"] != ""
	p.References = rows.Described()["reference_number"] != ""
	im.Rows, im.AllowDuplicates, im.Update, im.DryRun = rows, p.allowDuplicates(), p.Updates(), true
	do := im.Each
	im.Each = func(row sheet.Row, outcome sheet.Outcome) error {
		if im.Counts.Rows > maxSheetRows {
			return asFault(words.Text("import.too_many", maxSheetRows), words.Text("import.too_many_fix"))
		}
		p.note(row, outcome)
		if do == nil {
			return nil
		}
		return do(row, outcome)
	}
	err = im.Run(ctx)
	p.Counts, p.Assumed, p.Columns = im.Counts, rows.Assumed(), rows.Columns()
	p.Problems.Sort()
	for _, reason := range sheet.SkipReasons() {
		if n := p.Reasons[reason]; n > 0 {
			p.Skips = append(p.Skips, skipLine{reason, n, rows.SkippedLines(reason)})
		}
	}
	if err == nil && im.Counts.Rows == 0 {
		return asFault(words.Text("import.empty"), words.Text("import.empty_fix"))
	}
	return err
}

// note adds a row to the preview or to the problems, up to their limits.
func (p *importPage) note(row sheet.Row, outcome sheet.Outcome) {
	switch outcome {
	case sheet.ToCreate:
		if row.Input.CustomerEmail != "" {
			p.Emails++
		}
		if len(p.Rows) < shownRows {
			p.Rows = append(p.Rows, previewRow{row.Input, row.Status})
		}
	case sheet.Refused:
		p.Problems.Add(row)
	}
}
