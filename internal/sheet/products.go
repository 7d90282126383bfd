package sheet

import (
	"errors"
	"io"
	"strings"

	"warranty.example/svc/warranty"
)

// ProductRow is a row of a sheet of products: a product to create, or an error.
type ProductRow struct {
	Row
	Product warranty.CreateProduct
}

// productColumns are the names of the columns of each field, normalized, the best first.
var productColumns = map[string][]string{
	"name":     {"name", "product", "productname", "title", "item"},
	"brand":    {"brand", "manufacturer", "make"},
	"model":    {"model", "modelnumber", "modelname"},
	"gtin":     {"gtin", "ean", "upc", "barcode"},
	"category": {"category", "type", "group"},
	"length":   {"lengthmonths", "length", "duration", "warranty", "warrantylength", "warrantyduration"},
	"terms":    {"terms", "description", "conditions"},
}

// ReadProducts reads a sheet of at most limit products. The error for an unreadable sheet is a *Fault.
func ReadProducts(file io.ReadSeeker, limit int) (rows []ProductRow, err error) {
	start, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	rows, err = readProducts(file, limit, false)
	if errors.Is(err, errBareQuote) {
		if _, err := file.Seek(start, io.SeekStart); err != nil {
			return nil, err
		}
		rows, err = readProducts(file, limit, true)
	}
	if missing := new(NoHeader); errors.As(err, &missing) {
		return nil, missingProductColumns()
	}
	return rows, err
}

// missingProductColumns is the error of a sheet without the names or the lengths of products.
func missingProductColumns() *Fault {
	return &Fault{
		What: warranty.Textf("The columns name and length are required."),
		Fix:  warranty.Textf("Name them in the first line. A length is a number of months, 2 years, or lifetime."),
	}
}

func readProducts(file io.ReadSeeker, limit int, lazy bool) (rows []ProductRow, err error) {
	t, err := openTable(file, Options{}, lazy)
	if err != nil {
		return nil, err
	}
	m := mapping{header: t.header, columns: map[string][]int{}}
	for field, names := range productColumns {
		for _, name := range names {
			if i := columnOf(t.header, name); i >= 0 && len(m.columns[field]) == 0 {
				m.columns[field] = []int{i}
			}
		}
	}
	unit := months
	for i, name := range t.header {
		if u := unitOf(name); u != noUnit && len(m.columns["length"]) == 0 {
			m.columns["length"], unit = []int{i}, u
		}
	}
	if len(m.columns["name"]) == 0 || len(m.columns["length"]) == 0 {
		return nil, missingProductColumns()
	}
	for {
		row, err := t.next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if len(rows) == limit {
			return nil, &Fault{
				What: warranty.Textf("The file has more than %d products.", limit),
				Fix:  warranty.Textf("Split it into several files."),
			}
		}
		total := row.Skip == Total
		if row.Skip != "" && !total {
			continue
		}
		row.Skip, row.from = "", &m
		p := ProductRow{Row: row}
		if p.Err == nil {
			p.Err = m.product(row.record, unit, &p.Product)
		}
		if total && p.Err != nil {
			continue // a product named "Total Care" is valid, and a total is not
		}
		rows = append(rows, p)
	}
}

// product reads and checks the product of a row.
func (m mapping) product(cells record, named unit, in *warranty.CreateProduct) error {
	*in = warranty.CreateProduct{
		Name:     m.value(cells, "name"),
		Brand:    m.value(cells, "brand"),
		Model:    m.value(cells, "model"),
		GTIN:     strings.ReplaceAll(m.value(cells, "gtin"), " ", ""),
		Category: m.value(cells, "category"),
		Terms:    m.value(cells, "terms"),
	}
	text := m.value(cells, "length")
	if isLifetimeWord(text) {
		yes := true
		in.Lifetime = &yes
		return in.Check()
	}
	l, err := importLength(text, named)
	if err == nil && l.days != 0 {
		err = errors.New("use whole months or years")
	}
	if err == nil {
		in.LengthMonths = &l.months
		return in.Check()
	}
	var c warranty.Checks
	c.Add("length", "invalid", "%s", warranty.Sentence(err))
	return c.Err()
}
