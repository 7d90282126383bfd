package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fileTest says what must be read from a file of testdata. All data in these files is invented.
type fileTest struct {
	file    string
	options Options
	fault   string // the error of the whole file
	header  int
	sheet   string
	good    int
	skipped string // reasons and numbers of rows
	wrong   string // problems and numbers of rows
	read    string // readings and numbers of rows
	columns string // fields and their columns
	first   string // the first good row
}

var fileTests = []fileTest{
	{
		file: "garantieliste-302.xlsx", header: 4, sheet: "Verkauf", good: 287,
		skipped: "blank 4, double 6, total 1",
		wrong:   "customer_email:invalid_email 3, product_name:required 3, serial_number:cut_off 2, start_date:invalid 1",
		read: "bare duration 92, day_number start_date 13, none customer_email 80, none price 12, order start_date 13, " +
			"price price 236, short duration 30",
		columns: "customer_email=E-Mail customer_name=Kunde description=Bemerkung duration=Garantie price=Preis " +
			"product_name=Artikel serial_number=Serien-Nr. start_date=Kaufdatum",
		first: "5 LG OLED55C4 Fernseher|2024-01-02|2026-01-01|FD9910 00000|49.00 EUR|Müller, Andrea",
	},
	{
		file: "garantieliste-302.xlsx", header: 4, sheet: "Verkauf", good: 294,
		options: Options{
			Empty:    []string{"serial_number", "customer_email"},
			LeaveOut: []string{"product_name:required"},
			Fixes:    map[int]map[string]string{23: {"start_date": "2026-02-28"}, 26: {"product_name": "Toaster"}},
		},
		skipped: "blank 4, double 6, left_out 2, total 1",
		read: "bare duration 92, day_number start_date 13, emptied customer_email 3, emptied serial_number 2, " +
			"none customer_email 80, none price 12, order start_date 13, price price 236, short duration 30",
		columns: "customer_email=E-Mail customer_name=Kunde description=Bemerkung duration=Garantie price=Preis " +
			"product_name=Artikel serial_number=Serien-Nr. start_date=Kaufdatum",
		first: "5 LG OLED55C4 Fernseher|2024-01-02|2026-01-01|FD9910 00000|49.00 EUR|Müller, Andrea",
	},
	{
		file: "jtl-wawi.csv", header: 1, good: 18, skipped: "no_cover 6", read: "price price 18",
		columns: "currency=Währung customer_email=E-Mail customer_name=Kunde months=Garantie (Monate) price=VK Brutto " +
			"product_name=Artikelname serial_number=Seriennummer start_date=Rechnungsdatum",
		first: "2 LG OLED55C4 Fernseher|2024-01-02|2026-01-01|JT880000|99.00 EUR|Andrea Müller",
	},
	{file: "shopify-orders.csv", fault: "No column was found for end_date."},
	{
		file: "shopify-orders.csv", options: Options{Length: "24 months"}, header: 1, good: 11,
		read: "above currency 2, above customer_email 2, above customer_name 2, above start_date 2, length end_date 11",
		columns: "brand=Vendor currency=Currency customer_email=Email customer_name=Billing Name description=Notes " +
			"price=Lineitem price product_name=Lineitem name start_date=Paid at, Created at",
		first: "2 Espresso machine Linea|2026-02-03|2028-02-02||129.90 EUR|Andrea Müller",
	},
	{
		file: "kassenjournal.txt", header: 4, skipped: "heading 2, no_cover 3, total 6", wrong: "currency:no_currency 12",
		read:    "short duration 3",
		columns: "duration=Garantie price=Einzelpreis product_name=Artikel serial_number=Serien-Nr. start_date=Datum",
	},
	{
		file: "kassenjournal.txt", options: Options{Currency: "EUR"}, header: 4, good: 12,
		skipped: "heading 2, no_cover 3, total 6", read: "price price 12, short duration 3",
		columns: "duration=Garantie price=Einzelpreis product_name=Artikel serial_number=Serien-Nr. start_date=Datum",
		first:   "5 Samsung Galaxy S24|2026-03-01|2028-02-29|K10-770|19.90 EUR|",
	},
	{
		file: "lexware.xlsx", header: 1, sheet: "Rechnungspositionen", good: 12, skipped: "total 1",
		columns: "customer_name=Kunde description=Bemerkung end_date=Garantieende gtin=EAN price=Einzelpreis " +
			"product_name=Artikelbezeichnung serial_number=Serien-Nr. start_date=Belegdatum",
		first: "2 LG OLED55C4 Fernseher|2024-01-02|2026-01-02|0000120034|99.5 EUR|Müller, Andrea",
	},
	{
		file: "lexware.xlsx", options: Options{Sheet: "parameter"}, header: 1, sheet: "Parameter", good: 1,
		read: "bare duration 1", columns: "duration=Garantie product_name=Artikel start_date=Datum",
		first: "2 geheim|2026-01-01|2027-12-31|||",
	},
	{file: "lexware.xlsx", options: Options{Sheet: "Tabelle9"}, fault: `The workbook has no sheet "Tabelle9".`},
	{file: "lexware.xlsx", options: Options{Sheet: "Deckblatt"}, fault: "Which line holds the column names?"},
	{
		file: "mac-1904.xlsx", header: 1, sheet: "Tabelle1", good: 3,
		columns: "product_name=Product serial_number=Serial no start_date=Purchase date years=Warranty (years)",
		first:   "2 LG OLED55C4 Fernseher|2026-03-04|2028-03-03|M0-77||",
	},
	{
		file: "us-store.csv", options: Options{Currency: "USD"}, header: 1, good: 14,
		read: "none customer_email 7, order start_date 5, price price 14",
		columns: "customer_email=Email customer_name=Customer description=Notes duration=Warranty price=Price " +
			"product_name=Item serial_number=Serial # start_date=Date sold",
		first: "2 LG OLED55C4 Fernseher|2024-01-02|2026-01-01|US-0000|1000.00 USD|Andrea Müller",
	},
	{file: "no-header.csv", fault: "Which line holds the column names?"},
	{
		file: "sevdesk.csv", header: 1, good: 7, skipped: "no_cover 3", read: "price price 7",
		columns: "customer_name=Kunde duration=Garantie price=Preis (EUR) product_name=Position " +
			"serial_number=Seriennummer start_date=Rechnungsdatum",
		first: `2 27" Monitor|2024-01-02|2026-01-01|SD-0000|100.00 EUR|Müller, Andrea`,
	},
	{
		file: "gefiltert.xlsx", header: 1, sheet: "Bestand", good: 4, skipped: "hidden 2",
		wrong: "external_id:duplicate 1, serial_number:cut_off 3", read: "none price 1",
		columns: "currency=Währung end_date=Garantie bis external_id=Externe ID price=Preis product_name=Gerät " +
			"serial_number=Seriennummer start_date=Gekauft am",
		first: "5 Bosch Serie 6 Geschirrspüler|2026-01-08|2028-12-31|OK-3|199 EUR|",
	},
	{
		file: "ambiguous.csv", header: 1,
		wrong:   "currency:no_currency 5, end_date:no_unit 5, start_date:ambiguous 5",
		columns: "duration=warranty price=price product_name=product start_date=purchased",
	},
	{
		file: "ambiguous.csv", header: 1, good: 5,
		options: Options{Order: MonthFirst, Unit: "years", Empty: []string{"currency"}},
		read:    "bare duration 5, emptied currency 5, order start_date 5",
		columns: "duration=warranty price=price product_name=product start_date=purchased",
		first:   "2 LG OLED55C4 Fernseher|2026-01-02|2028-01-01|||",
	},
	{
		file: "inline.xlsx", header: 1, sheet: "Export", good: 2, read: "day_number start_date 1",
		columns: "description=Notiz end_date=Garantieende product_name=Produktname start_date=Kaufdatum",
		first:   "2 R&B <b>|2026-03-03|2028-03-02|||",
	},
}

// TestFilesOfShops reads files as shops have them.
func TestFilesOfShops(t *testing.T) {
	for _, test := range fileTests {
		t.Run(test.file, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			r, err := Open(bytes.NewReader(raw), test.options)
			if err != nil || test.fault != "" {
				if err == nil || err.Error() != test.fault {
					t.Fatalf("the error is %v, want %s", err, test.fault)
				}
				return
			}
			got := readFile(t, r)
			got.file, got.options = test.file, test.options
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", test) {
				t.Errorf("got\n%+v\nwant\n%+v", got, test)
			}
		})
	}
}

// readFile reads all rows.
func readFile(t *testing.T, r *Reader) (got fileTest) {
	t.Helper()
	skipped, wrong, read := map[string]int{}, map[string]int{}, map[string]int{}
	var problems Problems
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case err != nil:
			t.Fatal(err)
		case row.Skip != "":
			skipped[string(row.Skip)]++
		case row.Err != nil:
			problems.Add(row)
		default:
			if got.good++; got.good == 1 {
				in := row.Input
				got.first = fmt.Sprintf("%d %s", row.Line, strings.Join([]string{in.ProductName, in.StartDate.String(),
					in.EndDate.String(), in.SerialNumber, strings.TrimSpace(in.Price + " " + in.Currency), in.CustomerName}, "|"))
			}
		}
	}
	for _, p := range problems {
		wrong[p.Key()] += p.Count
	}
	for _, a := range r.Assumed().Readings {
		read[string(a.Kind)+" "+a.Field] = a.Rows
	}
	got.header, got.sheet = r.Assumed().HeaderLine, r.Assumed().Sheet
	got.skipped, got.wrong, got.read = counted(skipped), counted(wrong), counted(read)
	var columns []string
	for _, field := range slices.Sorted(maps.Keys(r.Described())) {
		columns = append(columns, field+"="+r.Described()[field])
	}
	got.columns = strings.Join(columns, " ")
	return got
}

func counted(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprint(name, " ", counts[name]))
	}
	return strings.Join(parts, ", ")
}
