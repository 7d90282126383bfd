package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

// showTable writes a result as a table or a list of fields.
func (r *run) showTable(op *api.Spec, out any, fields []string) error {
	text := r.tableOf
	if fields != nil {
		text = func(op *api.Spec, out any) string { return r.plainTable(op, out, fields) }
	}
	if err := r.write([]byte(text(op, out))); err != nil {
		return err
	}
	page, ok := out.(interface {
		Paged() warranty.Pagination
		Changes() *warranty.Feed
	})
	switch {
	case !ok:
	case page.Changes() != nil:
		return r.feedFooter(page.Changes())
	default:
		r.footer(page.Paged())
	}
	return nil
}

// feedFooter says how to continue a list of changes.
func (r *run) feedFooter(f *warranty.Feed) error {
	if f.Next == nil {
		r.note("No more changes. Synced to %s", f.SyncedTo.Format(time.RFC3339Nano))
		return nil
	}
	next, err := f.Next.MarshalText()
	if err == nil {
		r.note("There are more changes. Next: --after %s", next)
	}
	return err
}

func (r *run) tableOf(op *api.Spec, out any) string {
	s := r.outStyle()
	switch v := out.(type) {
	case *warranty.Page[warranty.Warranty]:
		return r.table(warrantyColumns(v.Data, r.today(), s))
	case *warranty.Page[warranty.Claim]:
		return r.table(claimColumns(v.Data, s))
	case *warranty.Page[warranty.Document]:
		return r.table(documentColumns(v.Data))
	case *warranty.Warranty:
		return r.warrantyText(v)
	case *warranty.IssuedWarranty:
		offer := slices.DeleteFunc(pairsOf(*v), func(p pair) bool { return strings.HasPrefix(p.name, "warranty ") })
		return r.warrantyText(&v.Warranty, offer...)
	case *warranty.Verification:
		return r.verdict(v)
	case *warranty.Summary:
		r.note("%s", summaryNote(v))
		return r.table(anyColumns(listOf(v), nil))
	case *warranty.AuthStatus:
		return listing(append([]pair{{"server", r.address()}, {"key from", r.key.From}}, pairsOf(*v)...), s)
	}
	return r.plainTable(op, out, nil)
}

// summaryNote says how many warranties a summary counts, and what its limit left out.
func summaryNote(s *warranty.Summary) string {
	text := count(s.Total, "1 warranty.", "%d warranties.")
	if s.Other.Groups > 0 {
		text += " " + count(s.Other.Groups, "1 more group", "%d more groups") +
			" with " + count(s.Other.Count, "1 of them.", "%d of them.")
	}
	return text
}

// plainTable formats records by their fields, selected or all: a page as a table, a
// single record with one line for each field.
func (r *run) plainTable(op *api.Spec, out any, fields []string) string {
	list := listOf(out)
	if op.Paged() {
		return r.table(anyColumns(list, fields))
	}
	names := sheet.Columns(list.Type().Elem())
	shown := selected(names, names, fields)
	hidden := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(shown, name) })
	return listing(pairsOf(list.Index(0).Interface(), hidden...), r.outStyle())
}

func (r *run) today() warranty.Date { return warranty.DateOf(r.Now()) }

func (r *run) table(columns []*column) string {
	if len(columns[0].cells) == 0 {
		return ""
	}
	return layout(columns, r.columns(), r.outStyle())
}

// columns returns the maximum width of the output, or 0 if it is unlimited.
func (r *run) columns() int {
	if !r.StdoutTerminal {
		return 0
	}
	if w := r.Width(); w > 0 {
		return w
	}
	return 80
}

func (r *run) footer(p warranty.Pagination) {
	switch {
	case p.Total == 0:
		r.note("No results.")
	case int64(p.Page) > p.TotalPages:
		r.note("Page %d does not exist. There %s (%d total).",
			p.Page, count(p.TotalPages, "is 1 page", "are %d pages"), p.Total)
	case p.TotalPages == 1:
		r.note("%d total.", p.Total)
	case int64(p.Page) < p.TotalPages:
		r.note("Page %d of %d (%d total). Next: --page %d", p.Page, p.TotalPages, p.Total, p.Page+1)
	default:
		r.note("Page %d of %d (%d total).", p.Page, p.TotalPages, p.Total)
	}
}

const barColumns = 12

func warrantyColumns(list []warranty.Warranty, today warranty.Date, s style) []*column {
	covers := make([]coverage, len(list))
	paint := func(row int, text string) string { return s.status(covers[row].statusWord(), text) }
	product := &column{title: "PRODUCT", flex: true}
	reference := &column{title: "REFERENCE"}
	status := &column{title: "STATUS", paint: paint}
	bar := &column{title: "COVERAGE", paint: paint, drop: 2}
	ends := &column{title: "ENDS"}
	left := &column{title: "DAYS", right: true, drop: 3}
	id := &column{title: "ID", drop: 4}
	for i, w := range list {
		covers[i] = coverage{w.StartDate, w.EndDate, w.Status, w.DaysRemaining}
		product.add(w.ProductName)
		reference.add(string(w.ReferenceNumber))
		status.add(w.Status.String())
		bar.add(covers[i].bar(barColumns, today))
		ends.add(covers[i].ends())
		days := ""
		if w.DaysRemaining != nil {
			days = strconv.Itoa(*w.DaysRemaining)
		}
		left.add(days)
		id.add(w.ID.String())
	}
	return []*column{product, reference, status, bar, ends, left, id}
}

func claimColumns(list []warranty.Claim, s style) []*column {
	paint := func(row int, text string) string { return s.status(list[row].Status.String(), text) }
	product := &column{title: "PRODUCT", flex: true}
	status := &column{title: "STATUS", paint: paint}
	kind := &column{title: "TYPE", drop: 2}
	incident := &column{title: "INCIDENT", drop: 1}
	number := &column{title: "CLAIM", drop: 3}
	id := &column{title: "ID"}
	for _, c := range list {
		product.add(c.Warranty.ProductName)
		status.add(c.Status.String())
		kind.add(c.Type.String())
		incident.add(c.IncidentDate.String())
		number.add(string(c.ClaimNumber))
		id.add(c.ID.String())
	}
	return []*column{product, status, kind, incident, number, id}
}

func documentColumns(list []warranty.Document) []*column {
	file := &column{title: "FILE", flex: true}
	kind := &column{title: "TYPE"}
	size := &column{title: "SIZE", right: true, drop: 2}
	product := &column{title: "PRODUCT", drop: 3}
	added := &column{title: "ADDED", drop: 1}
	id := &column{title: "ID"}
	for _, d := range list {
		name := safeLine(d.Warranty.ProductName)
		file.add(d.FileName)
		kind.add(d.Type.String())
		size.add(bytesText(d.SizeBytes))
		product.add(fit(name, min(28, width(name))))
		added.add(warranty.DateOf(d.CreatedAt).String())
		id.add(d.ID.String())
	}
	return []*column{file, kind, size, product, added, id}
}

// anyColumns returns the columns of any type of record. Selected columns are never left
// out.
func anyColumns(list reflect.Value, fields []string) []*column {
	names := sheet.Columns(list.Type().Elem())
	var columns []*column
	for i, name := range selected(names, names, fields) {
		c := &column{title: strings.ToUpper(name)}
		if fields == nil {
			c.flex, c.drop = i == 1, i
		}
		columns = append(columns, c)
	}
	for i := range list.Len() {
		for k, value := range selected(names, sheet.Values(list.Index(i)), fields) {
			columns[k].add(value)
		}
	}
	return columns
}

func (c *column) add(cell string) { c.cells = append(c.cells, safeLine(cell)) }

func bytesText(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// pairsOf lists the fields of a record, except those in omit.
func pairsOf(record any, omit ...string) []pair {
	v := reflect.ValueOf(record)
	values := sheet.Values(v)
	var pairs []pair
	for i, name := range sheet.Columns(v.Type()) {
		label := strings.NewReplacer("_", " ", ".", " ").Replace(name) // the same for warranty_id and warranty.id
		if !slices.Contains(omit, name) && !slices.ContainsFunc(pairs, func(p pair) bool { return p.name == label }) {
			pairs = append(pairs, pair{label, values[i]})
		}
	}
	return pairs
}

// warrantyText formats a warranty, with more fields at its end.
func (r *run) warrantyText(w *warranty.Warranty, more ...pair) string {
	c := coverage{w.StartDate, w.EndDate, w.Status, w.DaysRemaining}
	pairs := append(pairsOf(*w, "product_name", "days_remaining", "status"), pair{"etag", w.ETag()})
	return r.recordText(w.ProductName, c, append(pairs, more...))
}

// recordText formats a record with its name and coverage bar.
func (r *run) recordText(title string, c coverage, pairs []pair) string {
	s := r.outStyle()
	bar := s.status(c.statusWord(), c.bar(2*barColumns, r.today()))
	return s.strong(safeLine(title)) + "\n" + bar + "  " + c.words() + "\n\n" + listing(pairs, s)
}

// verdict formats a verification. The first line says whether the warranty is in force.
func (r *run) verdict(v *warranty.Verification) string {
	s := r.outStyle()
	c := coverage{v.StartDate, v.EndDate, v.Status, nil}
	if v.Status == warranty.Active && v.EndDate != warranty.Lifetime {
		days := int(v.EndDate - r.today())
		c.days = &days
	}
	verdict := s.status("active", "✓ In force")
	switch {
	case v.SerialMatches != nil && !*v.SerialMatches:
		verdict = s.bad("✗ The serial number does not match")
	case v.Status != warranty.Active:
		verdict = s.bad("✗ Not in force: " + v.Status.String())
	}
	return verdict + "\n\n" + r.recordText(v.ProductName, c, pairsOf(*v, "product_name", "status"))
}
