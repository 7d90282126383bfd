package sheet

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

func TestImportedDays(t *testing.T) {
	for want, texts := range map[string][]string{
		"2026-03-04": {
			"2026-03-04", " 2026-03-04 ", "2026-3-4", "2026/03/04", "20260304", "2026-03-04T23:59:59Z",
			"2026-03-04 00:00:00", "2026-03-04T10:00:00.123+02:00", "4.3.2026", "04.03.2026", "4 Mar 2026",
			"Mar 4, 2026", "March 4 2026", "04-Mar-2026", "Wed Mar 04, 2026", "Wednesday, 4 March 2026", "4-Mar-26",
			"4 March 26", "46085", "46085.5", "46085,25",
		},
		"2026-12-31": {
			"31/12/2026", "12/31/2026", "31-12-2026", "12/31/2026 11:30 PM", "31/12/26", "12/31/26", "31.12.26",
			"31/12/26 10:30",
		},
		"2026-05-05": {"05/05/2026"},
		"2021-10-13": {"10/13/2021"},
		"9999-12-31": {"9999-12-31", "2958465"},
		"2079-02-01": {"01.02.79"},
		"1980-02-01": {"01.02.80"},
		"1954-10-03": {"20000"},
		"2119-01-11": {"80000"},
		"no": {
			"19999", "80001", "460850", "3000000", "1/2/026", "2026-02-30", "31/13/2026", "13/13/2026", "soon", "2026",
			"4.13.2026", "1 2 3", "00000101",
		},
		"ambiguous": {"03/04/2026", "3-4-2026", "03/04/26", "26-03-04", "31-12-26"},
	} {
		for _, text := range texts {
			checkDate(t, text, want)
		}
	}
	for order, want := range map[DateOrder]string{DayFirst: "2026-04-03", MonthFirst: "2026-03-04"} {
		if got, err := importDate("03/04/2026", order); err != nil || got.String() != want {
			t.Errorf("%s: %v %v", order, got, err)
		}
	}
	if got, err := importDate("12/31/2026", DayFirst); err != nil || got.String() != "2026-12-31" {
		t.Errorf("a number above 12: %v %v", got, err)
	}
}

// checkDate parses text without a date order. want is a date, "ambiguous" or "no".
func checkDate(t *testing.T, text, want string) {
	t.Helper()
	got, err := importDate(text, UnknownOrder)
	switch {
	case want == "ambiguous" && err == errAmbiguous, want == "no" && err == errDay:
	case err == nil && got.String() == want:
	default:
		t.Errorf("%q is %v, %v; want %s", text, got, err, want)
	}
}

func FuzzImportDate(f *testing.F) {
	f.Add("03/04/2026")
	f.Add("Wed Mar 04, 2026")
	f.Fuzz(func(t *testing.T, text string) {
		for _, order := range []DateOrder{UnknownOrder, DayFirst, MonthFirst} {
			if d, err := importDate(text, order); err == nil && d.IsZero() {
				t.Errorf("%q has no date and no error", text)
			}
		}
	})
}

// TestGuessesCoverTheFields checks that an import can set every field.
func TestGuessesCoverTheFields(t *testing.T) {
	for _, p := range api.CreateWarranty.Params {
		if p.In == api.Body && !slices.Contains(Fields(), p.Name) {
			t.Errorf("add %s to guesses: an import cannot set it", p.Name)
		}
	}
	seen := map[string]string{}
	for _, g := range guesses {
		for name := range strings.FieldsSeq(g.names) {
			if seen[name] != "" || normalize(name) != name {
				t.Errorf("%q of %s is also a name of %s, or is not normalized", name, g.field, seen[name])
			}
			seen[name] = g.field
		}
	}
}

// readAll reads all rows of a sheet.
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

// TestExportsOfOtherProgramsAreUnderstood reads files with the columns of current
// versions of these programs.
func TestExportsOfOtherProgramsAreUnderstood(t *testing.T) {
	for _, test := range []struct{ file, source, want string }{
		{"homebox.csv", homebox, `
			skip no_cover
			Lawn mower|2025-03-01|2027-02-28|MX-20771|||Green Garden Shop|Battery mower//Battery one year//=keep the box
			Cast iron pan|2024-11-20|9999-12-31||||Iron Corner|
			skip no_cover
			error end_date: HB.warranty_expires`},
		{"warracker.csv", warracker, `
			Cordless drill|2026-03-01|2028-02-29|SN1 SN2|||Tool Market|
			Steel pan|2026-03-01|9999-12-31||||Iron Corner|
			Ceiling fan|2026-03-01|2027-08-31|||||
			Desk lamp|2026-03-01|2026-05-29|||||`},
		{"snipe-it.csv", snipeIT, `
			Apple MacBook Air|2026-01-15|2029-01-15|C02X|Laptops|Office Supply||Model: A2337//On loan
			Ada's laptop|2026-01-15|2029-01-14|D1|Laptops|Office Supply||Model: 9310
			Projector|2025-06-30|2027-06-29|EP-3|Projectors|Office Supply||
			skip no_cover`},
	} {
		t.Run(test.source, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			r, rows := readAll(t, string(text), Options{})
			var got []string
			for _, row := range rows {
				got = append(got, describe(row))
			}
			want := strings.Split(strings.ReplaceAll(strings.TrimSpace(test.want), "\t", ""), "\n")
			if !slices.Equal(got, want) || r.Source() != test.source {
				t.Errorf("from %q:\n%s\nwant:\n%s", r.Source(), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// describe formats a row in one line.
func describe(row Row) string {
	switch faults := row.Faults(); {
	case row.Skip != "":
		return "skip " + string(row.Skip)
	case len(faults) > 0:
		return "error " + faults[0].Field + ": " + faults[0].Column
	}
	in := row.Input
	return strings.ReplaceAll(strings.Join([]string{in.ProductName, in.StartDate.String(), in.EndDate.String(),
		in.SerialNumber, in.Category,
		in.Supplier, in.SellerName, in.Description}, "|"), "\n", "/")
}

func TestOwnExportsAndForeignSpreadsheets(t *testing.T) {
	for name, test := range map[string]struct{ source, text, want string }{
		"svc": {ours,
			"id,reference_number,product_name,description,serial_number,category,supplier,seller_name,seller_email," +
				"start_date,end_date,status,days_remaining,roles,verify_url,web_url,created_at,updated_at\n" +
				"x,WR-1,'=Kettle,,'-7,Kitchen,,,,2026-01-01,2027-12-31,active,411,owner,http://x,http://y," +
				"2026-01-01T00:00:00Z,2026-01-01T00:00:00Z\n",
			"=Kettle|2026-01-01|2027-12-31|-7|Kitchen|||"},
		"German Excel": {"",
			"Bezeichnung;Kaufdatum;Garantie;Seriennummer\nKessel;01.03.2026;1,5 Jahre;\"A;1\"\n",
			"Kessel|2026-03-01|2027-08-31|A;1||||"},
		"Status of another program": {"", "Item,Start date,End date,Status\nKettle,2026-01-01,2027-12-31,In use\n",
			"Kettle|2026-01-01|2027-12-31|||||"},
	} {
		r, rows := readAll(t, test.text, Options{})
		if got := describe(rows[0]); got != test.want || r.Source() != test.source {
			t.Errorf("%s: %q from %q, want %q", name, got, r.Source(), test.want)
		}
	}
}

func TestWrongRowsSayEverythingThatIsWrong(t *testing.T) {
	_, rows := readAll(t,
		"name,start_date,end_date,seller_email\n,03/04/2026,2020-01-01,invalid\nX,2026-01-01,2025-01-01,\n"+
			"Y,2026-01-01,,\nZ\n\xff,2026-01-01,2027-01-01,\n", Options{Encoding: UTF8})
	for i, want := range []string{
		"start_date product_name seller_email", "end_date", "end_date", "", "",
	} {
		e, ok := rows[i].Err.(*warranty.Error)
		if !ok {
			t.Errorf("row %d was accepted", i)
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

// FuzzImportedRows: each row of any file is a valid warranty or an error.
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
			if row.Err == nil && row.Input.Check() != nil || (row.Err == nil) != (row.Input.IdempotencyKey != nil) {
				t.Fatalf("%q: %+v, %v", row.cells, row.Input, row.Err)
			}
		}
	})
}

func TestChosenColumns(t *testing.T) {
	_, rows := readAll(t, "Item,Bought,Until,Name\nKettle,2026-01-01,2027-01-01,Ada\n",
		Options{Columns: map[string]string{"product_name": "Item", "start_date": "bought", "end_date": "Until",
			"description": "Name"}})
	if in := rows[0].Input; in.ProductName != "Kettle" || in.Description != "Ada" {
		t.Errorf("%+v", in)
	}
	var fault *Fault
	if _, err := mapColumns([]string{"Item", "start_date", "end_date"},
		Options{Columns: map[string]string{"product_name": "Nothing"}}); !errors.As(err, &fault) ||
		!strings.Contains(fault.Fix.String(), "Item, start_date") {
		t.Errorf("missing column: %v", err)
	}
	var missing *MissingColumns
	if _, err := mapColumns([]string{"Item"}, Options{}); !errors.As(err, &missing) ||
		strings.Join(missing.Fields, " ") != "start_date end_date" || len(missing.Header) != 1 {
		t.Errorf("a file without dates: %v", err)
	}
	r, _ := readAll(t, "name,category,start_date,end_date\n", Options{Columns: map[string]string{"category": ""}})
	if r.Described()["category"] != "" || !slices.Contains(r.Unused(), "category") {
		t.Errorf("%v %v", r.Described(), r.Unused())
	}
}

// TestKeysAreOfTheContent: the same record has the same key in any position, and two
// equal rows have different keys.
func TestKeysAreOfTheContent(t *testing.T) {
	_, rows := readAll(t,
		"name,start_date,end_date\nA,2026-01-01,2027-01-01\nB,2026-01-01,2027-01-01\nA,2026-01-01,2027-01-01\n", Options{})
	_, moved := readAll(t, "end_date;start_date;x;name\n2027-01-01;1.1.2026;?;A\n", Options{})
	first, again, elsewhere := *rows[0].Input.IdempotencyKey, *rows[2].Input.IdempotencyKey, *moved[0].Input.IdempotencyKey
	if first != elsewhere || first == again || rows[0].Repeat || !rows[2].Repeat ||
		first == *rows[1].Input.IdempotencyKey {
		t.Errorf("%s %s %s", first, again, elsewhere)
	}
}
