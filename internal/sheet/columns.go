package sheet

import (
	"regexp"
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

// The lengths, the brand and the model are not fields of a warranty: its end is
// worked out from the first, and its name and description keep the others.
var guesses = []guess{
	{"product_name", "productname product hbname itemname assetname item name title bezeichnung produkt"},
	{"start_date", "startdate coverstart warrantystart warrantystartdate purchasedate hbpurchasedate hbpurchasetime purchased datepurchased dateofpurchase boughton bought orderdate invoicedate kaufdatum"},
	{"end_date", "enddate coverend warrantyend warrantyenddate warrantyexpires hbwarrantyexpires warrantyexpiration warrantyexpirationdate warrantyexpiry warrantyexpirydate expirationdate expirydate expires expireson warrantyuntil validuntil garantiebis"},
	{"serial_number", "serialnumber hbserialnumber serial serialno serialnumbers sn seriennummer"},
	{"external_id", "externalid"},
	{"category", "category categoryname kategorie"},
	{"supplier", "supplier suppliername distributor lieferant"},
	{"seller_name", "sellername seller vendor hbpurchasefrom purchasefrom purchasedfrom boughtfrom boughtat retailer store shop dealer haendler händler"},
	{"seller_email", "selleremail vendoremail dealeremail"},
	{"description", "description hbdescription warrantydetails hbwarrantydetails notes hbnotes note comments remarks beschreibung notizen"},
	{"brand", "brand manufacturer hbmanufacturer make marke hersteller"},
	{"model", "model modelname assetmodel hbmodelnumber modelnumber modelno modell"},
	{"lifetime", "islifetime lifetime lifetimewarranty hblifetimewarranty"},
	{"years", "warrantydurationyears garantiejahre years jahre"},
	{"months", "warrantydurationmonths garantiemonate months monate"},
	{"days", "warrantydurationdays garantietage"},
	{"duration", "warranty warrantyduration warrantyperiod warrantylength guarantee duration garantie garantiezeit garantiedauer garanzia garantía"},
	{"status", ""},           // only of this service's own export: elsewhere it is the status of something else
	{"reference_number", ""}, // the same
}

// unitFields are the fields of lengths whose unit a column's name tells.
var unitFields = map[unit]string{years: "years", months: "months", days: "days"}

// mapping says which columns, in this order, a field is read from.
type mapping struct {
	header  []string
	columns map[string][]int
	source  string // the program whose export it seems to be
}

// The programs whose exports are known by their columns.
const (
	homebox   = "Homebox"
	warracker = "Warracker"
	snipeIT   = "Snipe-IT"
	ours      = "svc"
)

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
		for name := range strings.FieldsSeq(m.names(g)) {
			i := slices.IndexFunc(header, func(h string) bool { return bare(h) == name })
			if i >= 0 && !taken[i] {
				m.columns[g.field] = append(m.columns[g.field], i)
				taken[i] = true
			}
		}
	}
	for i, name := range header {
		field := unitFields[unitOf(name)]
		if _, given := chosen[field]; field != "" && !given && !taken[i] {
			m.columns[field] = append(m.columns[field], i)
		}
	}
	return m, m.check()
}

// names are those of a guess in this file.
func (m mapping) names(g guess) string {
	if g.names == "" && m.source == ours {
		return bare(g.field)
	}
	return g.names
}

var words = regexp.MustCompile(`\p{Lu}?\p{Ll}+|\p{Lu}+`)

// unitOf is the unit that the name of a column of lengths tells, as in
// "Warranty (years)", "Years of warranty" or "Garantie in Monaten".
func unitOf(name string) unit {
	found, rest := noUnit, ""
	for _, word := range words.FindAllString(name, -1) {
		word = strings.ToLower(word)
		u := unitWords[word]
		switch {
		case len(word) > 1 && u != noUnit && found == noUnit:
			found = u
		case word == "in" || word == "of" || word == "de" || word == "the":
		default:
			rest += word
		}
	}
	lengths := guesses[slices.IndexFunc(guesses, func(g guess) bool { return g.field == "duration" })].names
	if !slices.Contains(strings.Fields(lengths), rest) {
		return noUnit
	}
	return found
}

// lengthUnit is what a number alone in a column of lengths counts. Snipe-IT keeps
// months; elsewhere nobody knows.
func (m mapping) lengthUnit() unit {
	if m.source == snipeIT {
		return months
	}
	return noUnit
}

// isInventory tells programs that also list what has no warranty.
func (m mapping) isInventory() bool { return m.source == homebox || m.source == snipeIT }

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
	none := func(fields ...string) bool {
		return !slices.ContainsFunc(fields, func(field string) bool { return len(m.columns[field]) > 0 })
	}
	if none("product_name", "model") {
		missing = append(missing, "product_name")
	}
	if none("start_date") {
		missing = append(missing, "start_date")
	}
	if none(append(lengthFields, "end_date", "lifetime")...) {
		missing = append(missing, "end_date")
	}
	if len(missing) > 0 {
		return &MissingColumns{Fields: missing, Header: m.header, Found: m.Described()}
	}
	return nil
}

// lengthFields are the fields that hold a length.
var lengthFields = []string{"duration", "years", "months", "days"}

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
		return homebox
	case has("warrantydurationyears", "islifetime"):
		return warracker
	case has("assettag"):
		return snipeIT
	case has("referencenumber", "productname", "verifyurl"):
		return ours
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
