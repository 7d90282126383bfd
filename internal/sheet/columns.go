package sheet

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"warranty.example/svc/warranty"
)

// guess lists the column names that other programs use for a field, normalized.
// The first column that exists and has a value wins. HB names are from Homebox,
// Asset names from Snipe-IT, WarrantyDuration names from Warracker.
type guess struct {
	field string
	names string
}

// A warranty has no fields for lengths. The end date is computed from a length.
var guesses = []guess{
	{"product_name", "productname product hbname itemname assetname item name title lineitemname bezeichnung produkt " +
		"produktname produktbezeichnung artikel artikelbezeichnung artikelname artikeltext gerät geraet ware position"},
	{"start_date", "startdate coverstart warrantystart warrantystartdate purchasedate hbpurchasedate hbpurchasetime " +
		"purchased datepurchased dateofpurchase boughton bought orderdate invoicedate saledate solddate datesold paidat " +
		"kaufdatum gekauftam verkaufsdatum verkauftam rechnungsdatum belegdatum auftragsdatum bestelldatum lieferdatum " +
		"garantiebeginn garantiestart garantieab startdatum createdat datum date"},
	{"end_date", "enddate coverend warrantyend warrantyenddate warrantyexpires hbwarrantyexpires warrantyexpiration " +
		"warrantyexpirationdate warrantyexpiry warrantyexpirydate expirationdate expirydate expires expireson " +
		"warrantyuntil validuntil garantiebis garantieende garantieablauf garantieläuftab garantieläuftbis gültigbis " +
		"gewährleistungbis gewährleistungsende ablaufdatum enddatum"},
	{"serial_number", "serialnumber hbserialnumber serial serialno serialnumbers sn seriennummer seriennr snr imei " +
		"gerätenummer gerätenr fabriknummer"},
	{"external_id", "externalid externeid externenummer"},
	{"category", "category categoryname kategorie warengruppe artikelgruppe"},
	{"supplier", "supplier suppliername distributor lieferant"},
	{"seller_name", "sellername seller vendor hbpurchasefrom purchasefrom purchasedfrom boughtfrom boughtat retailer " +
		"store shop dealer haendler händler verkäufer verkaeufer geschäft gekauftbei"},
	{"seller_email", "selleremail vendoremail dealeremail"},
	{"description", "description hbdescription warrantydetails hbwarrantydetails notes hbnotes note comments remarks " +
		"beschreibung notizen bemerkung bemerkungen notiz kommentar anmerkung hinweis"},
	{"brand", "brand manufacturer hbmanufacturer make marke hersteller"},
	{"model", "model modelname assetmodel hbmodelnumber modelnumber modelno modell modellnummer"},
	{"gtin", "gtin ean upc eancode gtinean"},
	{"price", "price preis kaufpreis verkaufspreis einzelpreis bruttopreis vk vkpreis vkbrutto lineitemprice itemprice " +
		"unitprice itemcost"},
	{"currency", "currency währung waehrung ordercurrency"},
	{"purchase_date", ""}, // only from svc exports: other programs' dates of purchase are when cover starts
	{"customer_email", "customeremail buyeremail kundenemail kundenmail emailkunde email emailadresse emailbilling " +
		"billingemail mail"},
	{"customer_name", "customername buyername customer buyer kunde kundenname käufer kaeufer billingname"},
	{"lifetime", "islifetime lifetime lifetimewarranty hblifetimewarranty"},
	{"years", "warrantydurationyears garantiejahre years jahre"},
	{"months", "warrantydurationmonths garantiemonate months monate"},
	{"days", "warrantydurationdays garantietage"},
	{"duration", "warranty warrantyduration warrantyperiod warrantylength guarantee duration garantie garantiezeit " +
		"garantiedauer garantiezeitraum gewährleistung laufzeit garanzia garantía"},
	{"status", ""},           // only from svc exports; other programs have other statuses
	{"reference_number", ""}, // likewise
}

// anyEmail are the names of columns whose addresses are those of customers in the files of a shop.
var anyEmail = []string{"email", "emailadresse", "emailbilling", "billingemail", "mail"}

// unitFields maps a unit to the field of a length in that unit.
var unitFields = map[unit]string{years: "years", months: "months", days: "days"}

// mapping lists the columns that each field is read from, in order of preference.
type mapping struct {
	header  []string
	columns map[string][]int
	source  string // the detected program, or empty
}

// The programs whose exports are detected by their columns.
const (
	homebox   = "Homebox"
	warracker = "Warracker"
	shopify   = "Shopify"
	snipeIT   = "Snipe-IT"
	ours      = "svc"
)

// mapColumns guesses the columns of each field. What o chooses overrides guesses.
func mapColumns(header []string, o Options) (mapping, error) {
	m := mapping{header: header, columns: map[string][]int{}, source: sourceOf(header)}
	if len(o.Becomes) > 0 {
		for i := range header {
			if field := o.Becomes[i]; slices.Contains(Fields(), field) {
				m.columns[field] = append(m.columns[field], i)
			}
		}
		return m, m.check(o)
	}
	taken, err := m.choose(o.Columns)
	if err != nil {
		return m, err
	}
	for _, g := range guesses {
		if _, given := m.columns[g.field]; given {
			continue
		}
		for name := range strings.FieldsSeq(m.names(g)) {
			if o.NoCustomers && slices.Contains(anyEmail, name) {
				continue
			}
			i := slices.IndexFunc(header, func(h string) bool { return withoutCurrency(normalize(h)) == name })
			if i >= 0 && !taken[i] {
				m.columns[g.field] = append(m.columns[g.field], i)
				taken[i] = true
			}
		}
	}
	for i, name := range header {
		field := unitFields[unitOf(name)]
		if _, given := o.Columns[field]; field != "" && !given && !taken[i] {
			m.columns[field] = append(m.columns[field], i)
		}
	}
	return m, m.check(o)
}

// choose sets the columns that were chosen by name, and returns them.
func (m *mapping) choose(chosen map[string]string) (taken map[int]bool, err error) {
	taken = map[int]bool{}
	for _, g := range guesses {
		name, given := chosen[g.field]
		if !given {
			continue
		}
		m.columns[g.field] = []int{}
		if name = strings.TrimSpace(name); name == "" {
			continue // leave the field out
		}
		i := columnOf(m.header, name)
		if i < 0 {
			return taken, &Fault{
				What: warranty.Textf("The file has no column \"%s\".", name),
				Fix:  warranty.Textf("Its columns are %s.", strings.Join(m.header, ", ")),
			}
		}
		m.columns[g.field] = []int{i}
		taken[i] = true
	}
	return taken, nil
}

// names returns the column names to look for.
func (m mapping) names(g guess) string {
	switch {
	case g.names == "" && m.source == ours:
		return normalize(g.field)
	case m.source == shopify && g.field == "product_name":
		return "lineitemname" // Name is the number of the order
	case m.source == shopify && g.field == "seller_name":
		return "" // Vendor is the maker
	case m.source == shopify && g.field == "brand":
		return "vendor"
	}
	return g.names
}

var words = regexp.MustCompile(`\p{Lu}?\p{Ll}+|\p{Lu}+`)

// unitOf returns the unit in the name of a length column, such as
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

// isInventory reports whether the program also exports items without a warranty.
func (m mapping) isInventory() bool { return m.source == homebox || m.source == snipeIT }

// columnOf finds a column by its exact name, or else by its normalized name.
func columnOf(header []string, name string) int {
	if i := slices.Index(header, name); i >= 0 {
		return i
	}
	return slices.IndexFunc(header, func(h string) bool { return normalize(h) == normalize(name) })
}

// check reports the columns that are required to create a warranty but missing.
func (m mapping) check(o Options) error {
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
	if o.Length == "" && none(append(slices.Clone(lengthFields), "end_date", "lifetime")...) {
		missing = append(missing, "end_date")
	}
	if len(missing) > 0 {
		return &MissingColumns{Fields: missing, Header: m.header, Found: m.Described()}
	}
	return nil
}

// lengthFields lists the fields that hold a length.
var lengthFields = []string{"duration", "years", "months", "days"}

// Fields lists the fields that a column can be mapped to.
func Fields() []string {
	var fields []string
	for _, g := range guesses {
		fields = append(fields, g.field)
	}
	return fields
}

// Described maps each field to the names of its columns.
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

// Unused lists the columns that no field is read from.
func (m mapping) Unused() []string {
	left := []string{}
	for i, name := range m.header {
		if m.fieldOf(i) == "" && name != "" {
			left = append(left, name)
		}
	}
	return left
}

// fieldOf returns the field that is read from a column, or "".
func (m mapping) fieldOf(column int) string {
	for _, g := range guesses {
		if slices.Contains(m.columns[g.field], column) {
			return g.field
		}
	}
	return ""
}

func sourceOf(header []string) string {
	has := func(names ...string) bool {
		for _, name := range names {
			if !slices.ContainsFunc(header, func(h string) bool { return normalize(h) == name }) {
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
	case has("lineitemname", "lineitemprice", "paidat"):
		return shopify
	case has("assettag"):
		return snipeIT
	case has("referencenumber", "productname", "verifyurl"):
		return ours
	}
	return ""
}

// normalize returns a column name in lower case, without spaces and punctuation.
func normalize(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}
