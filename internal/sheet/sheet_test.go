package sheet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

func TestImportedDays(t *testing.T) {
	for text, want := range map[string]string{
		"2026-03-04": "2026-03-04", " 2026-03-04 ": "2026-03-04", "2026-3-4": "2026-03-04", "2026/03/04": "2026-03-04", "20260304": "2026-03-04",
		"2026-03-04T23:59:59Z": "2026-03-04", "2026-03-04 00:00:00": "2026-03-04", "2026-03-04T10:00:00.123+02:00": "2026-03-04",
		"4.3.2026": "2026-03-04", "04.03.2026": "2026-03-04", "31/12/2026": "2026-12-31", "12/31/2026": "2026-12-31", "05/05/2026": "2026-05-05", "31-12-2026": "2026-12-31",
		"10/13/2021": "2021-10-13", "12/31/2026 11:30 PM": "2026-12-31",
		"4 Mar 2026": "2026-03-04", "Mar 4, 2026": "2026-03-04", "March 4 2026": "2026-03-04", "04-Mar-2026": "2026-03-04", "Wed Mar 04, 2026": "2026-03-04", "Wednesday, 4 March 2026": "2026-03-04",
		"9999-12-31": "9999-12-31",
		"03/04/2026": "ambiguous", "3-4-2026": "ambiguous", "03/04/26": "two", "2026-02-30": "no", "31/13/2026": "no", "13/13/2026": "no", "soon": "no", "2026": "no", "4.13.2026": "no", "1 2 3": "no", "00000101": "no",
	} {
		got, err := importDate(text, UnknownOrder)
		switch want {
		case "ambiguous":
			if err != errAmbiguous {
				t.Errorf("%q is %v, %v", text, got, err)
			}
		case "two":
			if err != errTwoDigits {
				t.Errorf("%q is %v, %v", text, got, err)
			}
		case "no":
			if err != errDay {
				t.Errorf("%q is %v, %v", text, got, err)
			}
		default:
			if err != nil || got.String() != want {
				t.Errorf("%q is %v, %v", text, got, err)
			}
		}
	}
	for order, want := range map[DateOrder]string{DayFirst: "2026-04-03", MonthFirst: "2026-03-04"} {
		if got, err := importDate("03/04/2026", order); err != nil || got.String() != want {
			t.Errorf("%s: %v %v", order, got, err)
		}
	}
	if got, err := importDate("12/31/2026", DayFirst); err != nil || got.String() != "2026-12-31" {
		t.Errorf("what can only be the month's day: %v %v", got, err)
	}
}

func FuzzImportDate(f *testing.F) {
	f.Add("03/04/2026")
	f.Add("Wed Mar 04, 2026")
	f.Fuzz(func(t *testing.T, text string) {
		for _, order := range []DateOrder{UnknownOrder, DayFirst, MonthFirst} {
			if d, err := importDate(text, order); err == nil && d.IsZero() {
				t.Errorf("%q is no day and no error", text)
			}
		}
	})
}

func TestImportedLengths(t *testing.T) {
	for text, want := range map[string]length{
		"": {}, "24": {0, 24, 0}, "24 months": {0, 24, 0}, "2 years": {2, 0, 0}, "1 year 6 months": {1, 6, 0}, "1 Year, 6 Months and 3 Days": {1, 6, 3}, "2y": {2, 0, 0}, "36 mo.": {0, 36, 0}, "90 days": {0, 0, 90}, "2 weeks": {0, 0, 14}, "2 Jahre": {2, 0, 0},
	} {
		if got, err := importLength(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"two years", "2 parsecs", "-1", "1e9", "99999999999999999999 months", "2 years?", "n/a"} {
		if got, err := importLength(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	for _, test := range []struct {
		start string
		l     length
		end   string
	}{
		{"2026-03-01", length{2, 0, 0}, "2028-02-29"}, {"2026-01-15", length{0, 24, 0}, "2028-01-14"}, {"2026-01-31", length{0, 1, 0}, "2026-02-28"}, {"2024-02-29", length{1, 0, 0}, "2025-02-28"},
		{"2024-02-29", length{4, 0, 0}, "2028-02-28"}, {"2026-01-01", length{0, 0, 1}, "2026-01-01"}, {"2026-01-01", length{1, 6, 15}, "2027-07-15"}, {"2026-12-31", length{0, 2, 0}, "2027-02-28"}, {"2026-08-31", length{0, 1, 0}, "2026-09-30"},
	} {
		start, _ := warranty.ParseDate(test.start)
		if got := test.l.lastDay(start).String(); got != test.end {
			t.Errorf("%v from %s ends %s, want %s", test.l, test.start, got, test.end)
		}
	}
}

// TestGuessesCoverTheFields keeps a new field of a warranty from being forgotten.
func TestGuessesCoverTheFields(t *testing.T) {
	for _, p := range api.CreateWarranty.Params {
		if p.In == api.Body && !slices.Contains(Fields(), p.Name) {
			t.Errorf("an import can not fill %s", p.Name)
		}
	}
	seen := map[string]string{}
	for _, g := range guesses {
		for name := range strings.FieldsSeq(g.names) {
			if seen[name] != "" || bare(name) != name {
				t.Errorf("%q of %s is also of %s, or is not bare", name, g.field, seen[name])
			}
			seen[name] = g.field
		}
	}
}

// readAll reads a sheet as an import does.
func readAll(t *testing.T, text string, o Options) (*Reader, []Row) {
	t.Helper()
	r, err := Open(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r, rows
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
}

func TestExportsOfOtherProgramsAreUnderstood(t *testing.T) {
	for name, test := range map[string]struct{ source, text, want string }{
		"Warracker": {"Warracker", "ProductName,PurchaseDate,IsLifetime,WarrantyDurationYears,WarrantyDurationMonths,WarrantyDurationDays,ExpirationDate,Status,PurchasePrice,SerialNumber,ProductURL,Tags,Vendor\n" +
			"Drill,2026-03-01,FALSE,2,0,0,,Active,99.00,SN1 SN2,https://x,tools,Makro\nPan,2026-03-01,TRUE,,,,,Active,,,,,\nFan,2026-03-01,FALSE,1,6,0,2027-09-01,Active,,,,,\n",
			"Drill 2026-03-01 2028-02-29 SN1 SN2 | | |Makro| ; Pan 2026-03-01 9999-12-31  | | || ; Fan 2026-03-01 2027-09-01  | | ||"},
		"Homebox": {"Homebox", "HB.import_ref,HB.location,HB.labels,HB.name,HB.description,HB.notes,HB.purchase_from,HB.purchase_time,HB.serial_number,HB.lifetime_warranty,HB.warranty_expires,HB.warranty_details\n" +
			",Garage,IOT;Home,Relay,A relay,My notes,Amazon,10/13/2021,S-9,false,2026-10-12,Keep the box\n,Garage,,Lamp,,,IKEA,2026-01-02,,true,0001-01-01,\n",
			"Relay 2021-10-13 2026-10-12 S-9 | | |Amazon|A relay\n\nKeep the box\n\nMy notes ; Lamp 2026-01-02 9999-12-31  | | |IKEA|"},
		"Snipe-IT": {"Snipe-IT", "\xEF\xBB\xBFCompany,Asset Name,Asset Tag,Model,Model No.,Category,Manufacturer,Serial,Purchased,Warranty,Warranty Expires,Supplier,Notes\n" +
			"ACME,,1001,MacBook Air,A2337,Laptops,Apple,C02X,2026-01-15,36,2029-01-15,Dustin,Note\nACME,Ada's,1002,XPS,9310,Laptops,Dell,D1,2026-01-15,36 months,,Dustin,\n",
			"MacBook Air 2026-01-15 2029-01-15 C02X |Laptops|Dustin||Note ; Ada's 2026-01-15 2029-01-14 D1 |Laptops|Dustin||"},
		"svc": {"svc", "id,reference_number,product_name,description,serial_number,category,supplier,seller_name,seller_email,start_date,end_date,status,days_remaining,roles,verify_url,created_at,updated_at\n" +
			"x,WR-1,'=Kettle,,'-7,Kitchen,,,,2026-01-01,2027-12-31,active,411,owner,http://x,2026-01-01T00:00:00Z,2026-01-01T00:00:00Z\n",
			"=Kettle 2026-01-01 2027-12-31 -7 |Kitchen| ||"},
		"German Excel": {"", "Bezeichnung;Kaufdatum;Garantie;Seriennummer\nKessel;01.03.2026;2 Jahre;\"A;1\"\n", "Kessel 2026-03-01 2028-02-29 A;1 | | ||"},
	} {
		t.Run(name, func(t *testing.T) {
			r, rows := readAll(t, test.text, Options{})
			var got []string
			for _, row := range rows {
				if row.Err != nil {
					t.Fatal(row.Err)
				}
				in := row.Input
				got = append(got, fmt.Sprintf("%s %s %s %s |%s|%s|%s|%s", in.ProductName, in.StartDate, in.EndDate, in.SerialNumber, in.Category, in.Supplier, in.SellerName, in.Description))
			}
			squeeze := func(s string) string { return strings.ReplaceAll(s, "| ", "|") }
			if all := strings.Join(got, " ; "); squeeze(all) != squeeze(test.want) || r.Source() != test.source {
				t.Errorf("%q from %q, want %q", all, r.Source(), test.want)
			}
		})
	}
}

func TestWrongRowsSayEverythingThatIsWrong(t *testing.T) {
	_, rows := readAll(t, "name,start_date,end_date,seller_email\n,03/04/2026,2020-01-01,nobody\nX,2026-01-01,2025-01-01,\nY,2026-01-01,,\nZ\n\xff,2026-01-01,2027-01-01,\n", Options{})
	for i, want := range []string{
		"start_date product_name seller_email", "end_date", "end_date", "", "product_name",
	} {
		e, ok := rows[i].Err.(*warranty.Error)
		if !ok {
			t.Errorf("row %d is taken", i)
			continue
		}
		var fields []string
		for _, f := range e.Fields {
			fields = append(fields, f.Field)
		}
		if got := strings.Join(fields, " "); got != want {
			t.Errorf("row %d: %q, want %q: %v", i, got, want, e)
		}
	}
}

// FuzzImportedRows reads any file: each row is a warranty or says what is wrong.
func FuzzImportedRows(f *testing.F) {
	f.Add("X,2026-01-01,2 years\n\"Y\"\"\",03/04/2026,\n")
	f.Add(";;\n\r\"")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Open(strings.NewReader("name,start_date,warranty\n"+text), Options{})
		if err != nil {
			return
		}
		for range 1000 {
			row, err := r.Next()
			if err != nil {
				return
			}
			if (row.Err == nil) != (row.Input.Check() == nil) || (row.Err == nil) != (row.Input.IdempotencyKey != nil) {
				t.Fatalf("%q: %+v, %v", row.cells, row.Input, row.Err)
			}
		}
	})
}

func TestChosenColumns(t *testing.T) {
	_, rows := readAll(t, "Item,Bought,Until,Name\nKettle,2026-01-01,2027-01-01,Ada\n",
		Options{Columns: map[string]string{"product_name": "Item", "start_date": "bought", "end_date": "Until", "description": "Name"}})
	if in := rows[0].Input; in.ProductName != "Kettle" || in.Description != "Ada" {
		t.Errorf("%+v", in)
	}
	var fault *Fault
	if _, err := mapColumns([]string{"Item", "start_date", "end_date"}, map[string]string{"product_name": "Nothing"}); !errors.As(err, &fault) || !strings.Contains(fault.Fix, "Item, start_date") {
		t.Errorf("a column that is not there: %v", err)
	}
	var missing *MissingColumns
	if _, err := mapColumns([]string{"Item"}, nil); !errors.As(err, &missing) || strings.Join(missing.Fields, " ") != "start_date end_date" || len(missing.Header) != 1 {
		t.Errorf("a file without dates: %v", err)
	}
	r, _ := readAll(t, "name,category,start_date,end_date\n", Options{Columns: map[string]string{"category": ""}})
	if r.Described()["category"] != "" || !slices.Contains(r.Unused(), "category") {
		t.Errorf("%v %v", r.Described(), r.Unused())
	}
}

// TestKeysAreOfTheContent gives the same record the same key wherever it stands,
// and the second of two equal rows another.
func TestKeysAreOfTheContent(t *testing.T) {
	_, rows := readAll(t, "name,start_date,end_date\nA,2026-01-01,2027-01-01\nB,2026-01-01,2027-01-01\nA,2026-01-01,2027-01-01\n", Options{})
	_, moved := readAll(t, "end_date;start_date;x;name\n2027-01-01;1.1.2026;?;A\n", Options{})
	first, again, elsewhere := *rows[0].Input.IdempotencyKey, *rows[2].Input.IdempotencyKey, *moved[0].Input.IdempotencyKey
	if first != elsewhere || first == again || rows[0].Repeat || !rows[2].Repeat || first == *rows[1].Input.IdempotencyKey {
		t.Errorf("%s %s %s", first, again, elsewhere)
	}
}
