package cli

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// table is a CSV file that is read row by row.
type table struct {
	reader *csv.Reader
	read   *counter
	header []string
}

// counter counts what was read.
type counter struct {
	r io.Reader
	n int64
}

// Read reads on.
func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// openTable reads the head of a CSV file. Excel writes a byte order mark, and in
// some countries semicolons.
func openTable(r io.Reader) (*table, error) {
	t := &table{read: &counter{r: r}}
	buffered := bufio.NewReaderSize(t.read, 64<<10)
	start, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte("\xEF\xBB\xBF")):
		_, _ = buffered.Discard(3) // it was just seen
	case bytes.HasPrefix(start, []byte("\xFF\xFE")), bytes.HasPrefix(start, []byte("\xFE\xFF")), bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return nil, usage("The file is not CSV in UTF-8.", "Save it from the spreadsheet as \"CSV UTF-8\".")
	}
	head, err := buffered.Peek(buffered.Buffered())
	if err != nil {
		return nil, err
	}
	t.reader = csv.NewReader(buffered)
	t.reader.Comma = separator(head)
	t.reader.FieldsPerRecord = -1
	t.reader.TrimLeadingSpace = false
	header, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, usage("The file is empty.", "Its first line must name the columns.")
	}
	if err != nil {
		return nil, usage("The first line can not be read: "+err.Error()+".", "It must name the columns, with commas or semicolons between.")
	}
	for _, name := range header {
		t.header = append(t.header, strings.TrimSpace(fuse(name)))
	}
	t.reader.ReuseRecord = true
	return t, nil
}

// separator is the character that stands most often in the first line outside quotes.
func separator(head []byte) rune {
	counts, quoted := map[rune]int{}, false
	for _, r := range string(head) {
		if r == '\n' && !quoted {
			break
		}
		if r == '"' {
			quoted = !quoted
		}
		if !quoted {
			counts[r]++
		}
	}
	best := ','
	for _, r := range ";\t" {
		if counts[r] > counts[best] {
			best = r
		}
	}
	return best
}

// row is one line of the table.
type row struct {
	line  int
	cells []string
	wrong string // what is wrong with the line as such
}

// next reads a row; io.EOF ends the table.
func (t *table) next() (row, error) {
	cells, err := t.reader.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return row{}, usage(fmt.Sprintf("Line %d is not CSV: %s.", parse.Line, parse.Err), "A cell that holds quotation marks must stand between them, with each written twice.")
	}
	if err != nil {
		return row{}, err
	}
	at, _ := t.reader.FieldPos(0)
	w := row{line: at, cells: cells}
	if len(cells) != len(t.header) {
		w.wrong = fmt.Sprintf("The row has %d cells and the head has %d.", len(cells), len(t.header))
	}
	return w, nil
}

// rowReader turns rows into warranties.
type rowReader struct {
	mapping
	order dateOrder
	seen  map[[8]byte]uint32 // how often each row was met, by a part of its hash
}

// value is the first cell of a field that is not empty.
func (m mapping) value(r row, field string) string {
	for _, i := range m.columns[field] {
		if v := m.cell(r, i); v != "" {
			return v
		}
	}
	return ""
}

// cell is a cell as its writer meant it. Homebox writes 0001-01-01 for no day.
func (m mapping) cell(r row, i int) string {
	v := strings.TrimSpace(fuse(r.cells[i]))
	if strings.HasPrefix(v, "0001-01-01") {
		return ""
	}
	return v
}

// warranty makes the input of a row. Every field that is wrong is in the error.
func (rr *rowReader) warranty(r row) (*warranty.CreateWarranty, error) {
	if r.wrong != "" {
		return nil, warranty.Refuse(warranty.ValidationFailed, r.wrong)
	}
	var c warranty.Checks
	in := &warranty.CreateWarranty{
		ProductName: rr.value(r, "product_name"), SerialNumber: rr.value(r, "serial_number"), Category: rr.value(r, "category"),
		Supplier: rr.value(r, "supplier"), SellerName: rr.value(r, "seller_name"), SellerEmail: rr.value(r, "seller_email"),
		Description: rr.joined(r, "description"),
	}
	in.StartDate = rr.date(&c, r, "start_date")
	in.EndDate = rr.end(&c, r, in.StartDate)
	c.Merge(in.Check())
	return in, c.Err()
}

// joined is the cells of a field that may come from several columns, one below the other.
func (m mapping) joined(r row, field string) string {
	var parts []string
	for _, i := range m.columns[field] {
		if v := m.cell(r, i); v != "" {
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, "\n\n")
}

func (rr *rowReader) date(c *warranty.Checks, r row, field string) warranty.Date {
	v := rr.value(r, field)
	if v == "" {
		return 0
	}
	d, err := importDate(v, rr.order)
	if err != nil {
		c.Add(field, "invalid", sentence(err.Error()))
	}
	return d
}

// end is the last day of cover: for life, as it is given, or after a length from
// the start.
func (rr *rowReader) end(c *warranty.Checks, r row, start warranty.Date) warranty.Date {
	if truthy(rr.value(r, "lifetime")) {
		return warranty.Lifetime
	}
	if rr.value(r, "end_date") != "" {
		return rr.date(c, r, "end_date")
	}
	l, err := importLength(rr.value(r, "duration"))
	if truthyLifetime(rr.value(r, "duration")) {
		return warranty.Lifetime
	}
	parts := []struct {
		field string
		into  *int
	}{{"years", &l.years}, {"months", &l.months}, {"days", &l.days}}
	for _, p := range parts {
		n, wrong := importNumber(rr.value(r, p.field))
		err = errors.Join(err, wrong)
		*p.into += n
	}
	switch {
	case err != nil:
		c.Add("end_date", "invalid", "The length of the warranty can not be read: "+line(err.Error())+".")
	case l.isZero():
		c.Add("end_date", "required", "This field is required; there is neither a last day nor a length.")
	case start.IsZero():
		c.Add("end_date", "required", "The last day can not be worked out without a first day.")
	default:
		if end := l.lastDay(start); end < warranty.Lifetime {
			return end
		}
		return warranty.Lifetime
	}
	return 0
}

func truthy(s string) bool {
	switch strings.ToLower(s) {
	case "true", "yes", "y", "1", "x", "ja", "oui":
		return true
	}
	return false
}

func truthyLifetime(s string) bool {
	switch strings.ToLower(s) {
	case "lifetime", "for life", "life":
		return true
	}
	return false
}

// key is an idempotency key made of the row's content, so that a second run makes
// no second record. A row that stands in the file twice is two things, so the
// second has another key.
func (rr *rowReader) key(in *warranty.CreateWarranty) (key string, repeat bool, err error) {
	in.IdempotencyKey = nil
	content, err := api.AppendJSON(nil, in)
	if err != nil {
		return "", false, err
	}
	sum := sha256.Sum256(content)
	short := [8]byte(sum[:8])
	rr.seen[short]++
	if n := rr.seen[short]; n > 1 {
		sum = sha256.Sum256(fmt.Appendf(content, "\n%d", n))
		repeat = true
	}
	return "svc-import-" + hex.EncodeToString(sum[:]), repeat, nil
}
