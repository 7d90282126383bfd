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
	"warranty.example/svc/warranty"
)

// The bounds of an import in a browser, which the page tells. The sheet travels in
// the form, there and back, so they are for the browser's sake too; svc takes more.
const (
	maxSheet     = 1 << 20
	maxSheetRows = 5000
	// maxSheetForm has room for a sheet in base64 and for what is chosen beside it.
	maxSheetForm = maxSheet/3*4 + 64<<10
	// maxOverlong is how much more is read of what is too large: a browser shows no
	// answer before it has sent everything.
	maxOverlong = 32 << 20

	shownRows, shownFaults = 10, 100
)

// importPage is a sheet that a user sent, what it says, and what became of it.
type importPage struct {
	form
	text   []byte
	header []string

	Columns []string // the names of the columns, to choose from
	Fields  []importField
	Source  string
	Unused  []string
	Rows    []previewRow  // the first that will be created
	Faults  []importFault // the first that are refused
	faulty  int           // rows among them
	Assumed sheet.Assumed
	sheet.Counts
	References bool // the sheet has reference numbers, which will be new ones
	Incomplete bool // the import ended early
}

// previewRow is a warranty as it will be created.
type previewRow struct {
	warranty.CreateWarranty
	Status warranty.Status
}

// importField is a field of a warranty and the column that it is read from.
type importField struct{ Name, Found, Chosen string }

// importFault is what is wrong with a row.
type importFault struct {
	Line                   int
	Column, Field, Message string
}

// Kept is the sheet as a text that no form changes, not even an end of line.
func (p *importPage) Kept() string { return base64.StdEncoding.EncodeToString(p.text) }

// More is how many rows are refused that the page does not show.
func (p *importPage) More() int { return p.Refused - p.faulty }

// Existing is how many rows are imported already.
func (p *importPage) Existing() int { return p.AlreadyImported + p.LooksImported }

// Encodings are the encodings to choose from.
func (p *importPage) Encodings() []sheet.Encoding { return sheet.Encodings() }

// allowDuplicates tells whether rows that look imported are created all the same.
func (p *importPage) allowDuplicates() bool { return p.Value("duplicates") == "true" }

// MaxRows is the most rows that a sheet may have.
func (p *importPage) MaxRows() int { return maxSheetRows }

// MaxSize is the most that a sheet may have.
func (p *importPage) MaxSize() string { return fileSize(maxSheet) }

// readSheet reads the form and the sheet in it: a file, pasted, or kept from the
// page before.
func (web *Web) readSheet(w http.ResponseWriter, r *http.Request) (*importPage, error) {
	p, body := &importPage{}, r.Body
	tooLarge := warranty.Refuse(warranty.BodyTooLarge, web.t("import.too_large", fileSize(maxSheet)))
	r.Body = http.MaxBytesReader(w, body, maxSheetForm)
	if err := r.ParseMultipartForm(maxSheetForm); err != nil {
		var overlong *http.MaxBytesError
		if !errors.As(err, &overlong) {
			return p, errForm
		}
		_, _ = io.CopyN(io.Discard, body, maxOverlong) // what is left of it says nothing
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

// fileOf is the file of a form; none is empty.
func fileOf(r *http.Request) ([]byte, error) {
	file, _, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	return io.ReadAll(file)
}

// options say how to read the sheet, as it was chosen. A column is chosen as =name,
// so that none, "=", is something else than no choice.
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
	o.Encoding, _ = sheet.ParseEncoding(p.Value("encoding")) // nonsense is detected
	return o
}

// Choices are the options as one text: what is stored must be what was shown.
func (p *importPage) Choices() string {
	o := p.options()
	values := url.Values{"date_order": {string(o.Order)}, "encoding": {string(o.Encoding)}, "duplicates": {strconv.FormatBool(p.allowDuplicates())}}
	for field, name := range o.Columns {
		values.Set(field, name)
	}
	return values.Encode()
}

// run imports a sheet as the page says, or only looks at it.
func (web *Web) run(ctx context.Context, p *importPage, im sheet.Import) error {
	rows, err := sheet.Open(bytes.NewReader(p.text), p.options())
	if err != nil {
		return err
	}
	p.Source, p.Unused = rows.Source(), rows.Unused()
	p.describe(rows.Header(), rows.Described())
	p.References = rows.Described()["reference_number"] != ""
	im.Rows, im.AllowDuplicates = rows, p.allowDuplicates()
	do := im.Each
	im.Each = func(row sheet.Row, outcome sheet.Outcome) error {
		if im.Counts.Rows > maxSheetRows {
			return &sheet.Fault{What: web.t("import.too_many", maxSheetRows), Fix: web.t("import.too_many_fix")}
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
		return &sheet.Fault{What: web.t("import.empty"), Fix: web.t("import.empty_fix")}
	}
	return err
}

// importer is the service in this process, acting for a user.
func (web *Web) importer(who warranty.Principal) sheet.Service {
	return sheet.Service{Lookup: acting(who, web.Service.LookupWarranties), Create: acting(who, web.Service.CreateWarranty),
		Get: acting(who, web.Service.GetWarranty), Update: acting(who, web.Service.UpdateWarranty)}
}

func acting[In, Out any](who warranty.Principal, do func(context.Context, warranty.Principal, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) { return do(ctx, who, in) }
}

// describe says which column each field is read from, and what was chosen.
func (p *importPage) describe(header []string, found map[string]string) {
	p.header, p.Fields = header, nil
	p.Columns = slices.Compact(slices.Sorted(slices.Values(header)))
	for _, name := range sheet.Fields() {
		p.Fields = append(p.Fields, importField{Name: name, Found: found[name], Chosen: p.Value("column_" + name)})
	}
}

// note keeps the first rows of each kind for the page.
func (p *importPage) note(row sheet.Row, outcome sheet.Outcome) {
	switch outcome {
	case sheet.ToCreate:
		if len(p.Rows) < shownRows {
			p.Rows = append(p.Rows, previewRow{row.Input, row.Status})
		}
	case sheet.Refused:
		if p.faulty >= shownFaults {
			return
		}
		p.faulty++
		for _, f := range row.Faults() {
			p.Faults = append(p.Faults, importFault{row.Line, f.Column, f.Field, f.Message})
		}
	}
}

// samples are a few warranties as a sheet: a template to fill in, and something to
// try the pages with.
func samples(today warranty.Date) []byte {
	var b bytes.Buffer
	w := sheet.NewWriter(&b)
	w.Write([]string{"product_name", "start_date", "end_date", "category", "serial_number", "supplier", "seller_name", "seller_email", "description"})
	w.Write([]string{"Sample: espresso machine", (today - 690).String(), (today + 40).String(), "Kitchen", "EM-2041-77", "Brunner Supply", "Corner Coffee", "", "Two years from the maker; the receipt is in the drawer."})
	w.Write([]string{"Sample: cordless drill", (today - 100).String(), (today + 994).String(), "Tools", "CD18-00391", "", "Tool Market", "", "Three years, battery one year."})
	w.Write([]string{"Sample: cast iron pan", (today - 400).String(), warranty.Lifetime.String(), "Kitchen", "", "", "Iron & Sons", "", "For life."})
	w.Write([]string{"Sample: headphones", (today - 900).String(), (today - 170).String(), "Audio", "HP-88120", "", "Sound Store", "", ""})
	_ = w.Flush() // a buffer takes everything
	return b.Bytes()
}
