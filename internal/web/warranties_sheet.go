package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
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
	// maxSheetForm fits a sheet in base64 and the import settings.
	maxSheetForm = maxSheet/3*4 + 64<<10
	// maxOverlong is how much more is read of a form that is too large: browsers show the
	// response only after they have sent the whole form.
	maxOverlong = 32 << 20

	shownRows = 10
)

// importPage is a sheet with its preview or its result.
type importPage struct {
	form
	text   []byte
	header []string

	Columns []string // the column names of the sheet
	Fields  []importField
	Source  string
	Unused  []string
	Rows    []previewRow // the first rows to create
	Faults  sheet.FaultGroups
	Assumed sheet.Assumed
	sheet.Counts
	References bool // the sheet has reference numbers, which are not imported
	Incomplete bool // the import stopped early
}

// previewRow is a warranty to create.
type previewRow struct {
	warranty.CreateWarranty
	Status warranty.Status
}

// importField is a field and the column that was found and chosen for it.
type importField struct{ Name, Found, Chosen string }

// Kept returns the sheet in base64, which browsers submit unchanged.
func (p *importPage) Kept() string { return base64.StdEncoding.EncodeToString(p.text) }

// Existing returns the number of rows that are already imported.
func (p *importPage) Existing() int { return p.AlreadyImported + p.LooksImported + p.Differs }

// Encodings returns the encodings to choose from.
func (p *importPage) Encodings() []sheet.Encoding { return sheet.Encodings() }

// allowDuplicates reports whether to import rows that look already imported.
func (p *importPage) allowDuplicates() bool { return p.Value("duplicates") == "true" }

// Updates reports whether to change records that have the external ids of rows.
func (p *importPage) Updates() bool { return p.Value("update") == "true" }

// MaxRows returns the maximum number of rows.
func (p *importPage) MaxRows() int { return maxSheetRows }

// MaxSize returns the maximum size of a sheet in bytes.
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
	var err error
	if p.text, err = base64.StdEncoding.DecodeString(p.Value("kept")); err != nil {
		return p, errForm
	}
	if len(p.text) == 0 {
		p.text, err = fileOf(r)
	}
	if len(p.text) == 0 {
		p.text = []byte(p.Value("sheet"))
	}
	if len(p.text) > maxSheet {
		return p, tooLarge
	}
	return p, err
}

// fileOf returns the content of the uploaded file, if any.
func fileOf(r *http.Request) ([]byte, error) {
	file, _, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// options returns the import settings. A chosen column has the value "=name", and "="
// means that the field is not imported; an empty value means to detect the column.
func (p *importPage) options() sheet.Options {
	o := sheet.Options{Columns: map[string]string{}}
	for _, field := range sheet.Fields() {
		if name, chosen := strings.CutPrefix(p.Value("column_"+field), "="); chosen {
			o.Columns[field] = name
		}
	}
	if order := sheet.DateOrder(p.Value("date_order")); order == sheet.DayFirst || order == sheet.MonthFirst {
		o.Order = order
	}
	o.Encoding, _ = sheet.ParseEncoding(p.Value("encoding")) // an unknown encoding is detected
	return o
}

// Choices returns the import settings as one string. An import must have the settings of
// its preview.
func (p *importPage) Choices() string {
	o := p.options()
	values := url.Values{
		"date_order": {string(o.Order)},
		"encoding":   {string(o.Encoding)},
		"duplicates": {strconv.FormatBool(p.allowDuplicates())},
	}
	if p.Updates() {
		values.Set("update", "true")
	}
	for field, name := range o.Columns {
		values.Set(field, name)
	}
	return values.Encode()
}

// run runs im on the sheet with the import settings and stores the result in p.
func (web *Web) run(ctx context.Context, words view.Reader, p *importPage, im sheet.Import) error {
	rows, err := sheet.Open(bytes.NewReader(p.text), p.options())
	if err != nil {
		return err
	}
	p.Source, p.Unused = rows.Source(), rows.Unused()
	p.describe(rows.Header(), rows.Described())
	p.References = rows.Described()["reference_number"] != ""
	im.Rows, im.AllowDuplicates, im.Update = rows, p.allowDuplicates(), p.Updates()
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
	p.Counts, p.Assumed = im.Counts, rows.Assumed()
	if err == nil && im.Counts.Rows == 0 {
		return asFault(words.Text("import.empty"), words.Text("import.empty_fix"))
	}
	return err
}

// describe sets the fields with the columns that were found and chosen for them.
func (p *importPage) describe(header []string, found map[string]string) {
	p.header, p.Fields = header, nil
	p.Columns = slices.Compact(slices.Sorted(slices.Values(header)))
	for _, name := range sheet.Fields() {
		p.Fields = append(p.Fields, importField{Name: name, Found: found[name], Chosen: p.Value("column_" + name)})
	}
}

// note adds a row to the preview or to the errors, up to their limits.
func (p *importPage) note(row sheet.Row, outcome sheet.Outcome) {
	switch outcome {
	case sheet.ToCreate:
		if len(p.Rows) < shownRows {
			p.Rows = append(p.Rows, previewRow{row.Input, row.Status})
		}
	case sheet.Refused:
		p.Faults.Add(row)
	}
}

// samples returns a sheet of sample warranties, which is also the template.
func samples(today warranty.Date) []byte {
	var b bytes.Buffer
	w := sheet.NewWriter(&b)
	for _, row := range [][]string{
		{
			"product_name", "start_date", "end_date", "category", "serial_number",
			"supplier", "seller_name", "seller_email", "description",
		},
		{
			"Sample: espresso machine", (today - 690).String(), (today + 40).String(), "Kitchen", "EM-2041-77",
			"Brunner Supply", "Corner Coffee", "", "Two years from the maker; the receipt is in the drawer.",
		},
		{
			"Sample: cordless drill", (today - 100).String(), (today + 994).String(), "Tools", "CD18-00391",
			"", "Tool Market", "", "Three years, battery one year.",
		},
		{
			"Sample: cast iron pan", (today - 400).String(), warranty.Lifetime.String(), "Kitchen", "",
			"", "Iron & Sons", "", "Lifetime warranty.",
		},
		{
			"Sample: headphones", (today - 900).String(), (today - 170).String(), "Audio", "HP-88120",
			"", "Sound Store", "", "",
		},
	} {
		w.Write(row)
	}
	_ = w.Flush() // writing to a buffer does not fail
	return b.Bytes()
}
