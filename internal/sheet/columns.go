package sheet

import (
	"slices"
	"strings"
	"unicode"
)

// guess says under which names other programs keep a field. The names have no
// case, spaces or punctuation; the first that is found and not empty is taken.
// HB is Homebox; Asset names are Snipe-IT's; WarrantyDuration is Warracker's.
type guess struct {
	field string
	names string
}

// The lengths are no fields of a warranty: its end is worked out from them.
var guesses = []guess{
	{"product_name", "productname product hbname itemname assetname item name title bezeichnung produkt model modelname assetmodel"},
	{"start_date", "startdate coverstart warrantystart warrantystartdate purchasedate hbpurchasedate hbpurchasetime purchased datepurchased dateofpurchase boughton bought orderdate invoicedate kaufdatum"},
	{"end_date", "enddate coverend warrantyend warrantyenddate warrantyexpires hbwarrantyexpires warrantyexpiration warrantyexpirationdate warrantyexpiry warrantyexpirydate expirationdate expirydate expires expireson warrantyuntil validuntil garantiebis"},
	{"serial_number", "serialnumber hbserialnumber serial serialno serialnumbers sn seriennummer"},
	{"category", "category categoryname kategorie"},
	{"supplier", "supplier suppliername distributor lieferant"},
	{"seller_name", "sellername seller vendor hbpurchasefrom purchasefrom purchasedfrom boughtfrom boughtat retailer store shop dealer haendler händler"},
	{"seller_email", "selleremail vendoremail dealeremail"},
	{"description", "description hbdescription warrantydetails hbwarrantydetails notes hbnotes note comments remarks beschreibung notizen"},
	{"lifetime", "islifetime lifetime lifetimewarranty hblifetimewarranty"},
	{"years", "warrantydurationyears warrantyyears durationyears"},
	{"months", "warrantydurationmonths warrantymonths durationmonths"},
	{"days", "warrantydurationdays warrantydays durationdays"},
	{"duration", "warranty warrantyduration warrantyperiod warrantylength duration garantie garantiezeit"},
}

// mapping says which columns, in this order, a field is read from.
type mapping struct {
	header  []string
	columns map[string][]int
	source  string // the program whose export it seems to be
}

// mapColumns guesses which column is what; what was chosen goes before.
func mapColumns(header []string, chosen map[string]string) (mapping, error) {
	m := mapping{header: header, columns: map[string][]int{}, source: sourceOf(header)}
	taken := map[int]bool{}
	for _, g := range guesses {
		name, given := chosen[g.field]
		if !given {
			continue
		}
		m.columns[g.field] = []int{}
		if name = strings.TrimSpace(name); name == "" {
			continue // the field is to be left out
		}
		i := columnOf(header, name)
		if i < 0 {
			return m, &Fault{"The file has no column \"" + name + "\".", "Its columns are " + strings.Join(header, ", ") + "."}
		}
		m.columns[g.field] = []int{i}
		taken[i] = true
	}
	for _, g := range guesses {
		if _, given := m.columns[g.field]; given {
			continue
		}
		for name := range strings.FieldsSeq(g.names) {
			i := slices.IndexFunc(header, func(h string) bool { return bare(h) == name })
			if i >= 0 && !taken[i] {
				m.columns[g.field] = append(m.columns[g.field], i)
				taken[i] = true
			}
		}
	}
	return m, m.check()
}

// columnOf finds a column by its name as it is written, else as it is meant.
func columnOf(header []string, name string) int {
	if i := slices.Index(header, name); i >= 0 {
		return i
	}
	return slices.IndexFunc(header, func(h string) bool { return bare(h) == bare(name) })
}

// check refuses a file from which no warranty can be made.
func (m mapping) check() error {
	var missing []string
	for _, field := range []string{"product_name", "start_date"} {
		if len(m.columns[field]) == 0 {
			missing = append(missing, field)
		}
	}
	if len(m.columns["end_date"])+len(m.columns["lifetime"])+len(m.columns["years"])+len(m.columns["months"])+len(m.columns["days"])+len(m.columns["duration"]) == 0 {
		missing = append(missing, "end_date")
	}
	if len(missing) > 0 {
		return &MissingColumns{Fields: missing, Header: m.header, Found: m.Described()}
	}
	return nil
}

// Fields are the names of what a column can hold.
func Fields() []string {
	var fields []string
	for _, g := range guesses {
		fields = append(fields, g.field)
	}
	return fields
}

// Described says which columns each field comes from.
func (m mapping) Described() map[string]string {
	found := map[string]string{}
	for field, columns := range m.columns {
		var names []string
		for _, i := range columns {
			names = append(names, m.header[i])
		}
		if len(names) > 0 {
			found[field] = strings.Join(names, ", ")
		}
	}
	return found
}

// Unused are the columns that no field is read from.
func (m mapping) Unused() []string {
	left := []string{}
	for i, name := range m.header {
		used := false
		for _, columns := range m.columns {
			used = used || slices.Contains(columns, i)
		}
		if !used {
			left = append(left, name)
		}
	}
	return left
}

func sourceOf(header []string) string {
	has := func(names ...string) bool {
		for _, name := range names {
			if !slices.ContainsFunc(header, func(h string) bool { return bare(h) == name }) {
				return false
			}
		}
		return true
	}
	switch {
	case has("hbname"):
		return "Homebox"
	case has("warrantydurationyears", "islifetime"):
		return "Warracker"
	case has("assettag"):
		return "Snipe-IT"
	case has("referencenumber", "productname", "verifyurl"):
		return "svc"
	}
	return ""
}

// bare is a column's name without case, spaces and punctuation.
func bare(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}
