package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		got, err := importDate(text, unknownOrder)
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
	for order, want := range map[dateOrder]string{dayFirst: "2026-04-03", monthFirst: "2026-03-04"} {
		if got, err := importDate("03/04/2026", order); err != nil || got.String() != want {
			t.Errorf("%s: %v %v", order, got, err)
		}
	}
	if got, err := importDate("12/31/2026", dayFirst); err != nil || got.String() != "2026-12-31" {
		t.Errorf("what can only be the month's day: %v %v", got, err)
	}
}

func FuzzImportDate(f *testing.F) {
	f.Add("03/04/2026")
	f.Add("Wed Mar 04, 2026")
	f.Fuzz(func(t *testing.T, text string) {
		for _, order := range []dateOrder{unknownOrder, dayFirst, monthFirst} {
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
	for _, field := range bodyFields() {
		if !slices.Contains(importFields(), field) {
			t.Errorf("an import can not fill %s", field)
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

// inputs reads a CSV text as an import does.
func inputs(t *testing.T, text string, maps ...string) (mapping, []*warranty.CreateWarranty, []error) {
	t.Helper()
	table, err := openTable(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := mapColumns(table.header, maps)
	if err != nil {
		t.Fatal(err)
	}
	rr := rowReader{mapping: m, seen: map[[8]byte]uint32{}}
	var made []*warranty.CreateWarranty
	var errs []error
	for {
		r, err := table.next()
		if err == io.EOF {
			return m, made, errs
		}
		if err != nil {
			t.Fatal(err)
		}
		in, err := rr.warranty(r)
		made, errs = append(made, in), append(errs, err)
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
			m, made, errs := inputs(t, test.text)
			var got []string
			for i, in := range made {
				if errs[i] != nil {
					t.Fatal(errs[i])
				}
				got = append(got, fmt.Sprintf("%s %s %s %s |%s|%s|%s|%s", in.ProductName, in.StartDate, in.EndDate, in.SerialNumber, in.Category, in.Supplier, in.SellerName, in.Description))
			}
			squeeze := func(s string) string { return strings.ReplaceAll(s, "| ", "|") }
			if all := strings.Join(got, " ; "); squeeze(all) != squeeze(test.want) || m.source != test.source {
				t.Errorf("%q from %q, want %q", all, m.source, test.want)
			}
		})
	}
}

func TestWrongRowsSayEverythingThatIsWrong(t *testing.T) {
	_, _, errs := inputs(t, "name,start_date,end_date,seller_email\n,03/04/2026,2020-01-01,nobody\nX,2026-01-01,2025-01-01,\nY,2026-01-01,,\nZ\n\xff,2026-01-01,2027-01-01,\n")
	for i, want := range []string{
		"start_date product_name seller_email", "end_date", "end_date", "", "product_name",
	} {
		e, ok := errs[i].(*warranty.Error)
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
		table, err := openTable(strings.NewReader("name,start_date,warranty\n" + text))
		if err != nil {
			return
		}
		m, err := mapColumns(table.header, nil)
		if err != nil {
			t.Fatal(err)
		}
		rr := rowReader{mapping: m, seen: map[[8]byte]uint32{}}
		for range 1000 {
			r, err := table.next()
			if err != nil {
				return
			}
			in, err := rr.warranty(r)
			if (err == nil) != (in != nil && in.Check() == nil) {
				t.Fatalf("%q: %+v, %v", r.cells, in, err)
			}
		}
	})
}

func TestMapping(t *testing.T) {
	text := "Item,Bought,Until,Name\nKettle,2026-01-01,2027-01-01,Ada\n"
	_, made, _ := inputs(t, text, "product_name=Item", "start-date=bought", "end_date=Until", "description=Name")
	if made[0].ProductName != "Kettle" || made[0].Description != "Ada" {
		t.Errorf("%+v", made[0])
	}
	for _, wrong := range []string{"colour=Item", "product_name", "product_name=Nothing"} {
		if _, err := mapColumns([]string{"Item", "start_date", "end_date"}, []string{wrong}); err == nil {
			t.Errorf("--map %s is taken", wrong)
		}
	}
	if _, err := mapColumns([]string{"Item"}, nil); err == nil || !strings.Contains(err.Error(), "start_date, end_date") {
		t.Errorf("a file without dates: %v", err)
	}
	m, _, _ := inputs(t, "name,category,start_date,end_date\n", "category=")
	if m.described()["category"] != "" || !slices.Contains(m.unused(), "category") {
		t.Errorf("%v %v", m.described(), m.unused())
	}
}

// memory is a service that keeps warranties by their idempotency key.
type memory struct {
	keys  map[string]int
	limit int // answers 429 at every so many requests
	n     int
}

// ServeHTTP creates a warranty.
func (m *memory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.n++
	if m.limit > 0 && m.n%m.limit == 0 {
		w.Header().Set("Retry-After", "0")
		answers(429, problemText(warranty.RateLimited)).ServeHTTP(w, r)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if m.keys[key]++; m.keys[key] > 1 {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	answers(201, `{"data":`+record(`"x"`)+`}`).ServeHTTP(w, r)
}

func TestImportCreatesEachRowOnce(t *testing.T) {
	m := &memory{keys: map[string]int{}, limit: 4}
	d := newDesk(t, m)
	file := filepath.Join(t.TempDir(), "items.csv")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type result struct {
		Rows, Created, Existing, Failed int
		Repeated                        int `json:"repeated_rows"`
		ErrorsFile                      *string
	}
	imported := func(exit int, args ...string) (got struct{ Data result }) {
		t.Helper()
		d.want(exit, append([]string{"warranties", "import", file}, args...)...)
		if err := json.Unmarshal([]byte(d.stdout), &got); err != nil || strings.Count(d.stdout, "\n") != 1 {
			t.Fatalf("%v: %s", err, d.stdout)
		}
		return got
	}
	head := "product_name,start_date,end_date\n"
	write(head + "Kettle,2026-01-01,2027-01-01\nPot,2026-01-01,2027-01-01\nKettle,2026-01-01,2027-01-01\n")
	if got := imported(0, "--dry-run"); got.Data.Rows != 3 || m.n != 0 {
		t.Fatalf("%+v after %d requests", got, m.n)
	}
	if got := imported(0); got.Data.Created != 3 || got.Data.Repeated != 1 || len(m.keys) != 3 {
		t.Errorf("%+v %d", got, len(m.keys))
	}
	if got := imported(0); got.Data.Created != 0 || got.Data.Existing != 3 || len(m.keys) != 3 {
		t.Errorf("second run: %+v %d", got, len(m.keys))
	}
	// The rows in another order, other columns and one more: one new record.
	write("note,start_date,product_name,end_date\nx,2026-01-01,Pot,2027-01-01\n,2026-01-01,Kettle,2027-01-01\n,2026-01-01,New,2027-01-01\n,2026-01-01,Kettle,2027-01-01\n")
	if got := imported(0, "--map", "description="); got.Data.Created != 1 || got.Data.Existing != 3 {
		t.Errorf("moved rows: %+v", got)
	}
	if !strings.Contains(d.stderr, "The rate limit is reached") {
		t.Errorf("%s", d.stderr)
	}
}

func TestFailuresAreKeptWithTheirReasons(t *testing.T) {
	d := newDesk(t, &memory{keys: map[string]int{}})
	file := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(file, []byte("Product,Start date,End date\nGood,2026-01-01,2027-01-01\n'=Bad,2026-01-01,2025-01-01\nShort\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.want(2, "warranties", "import", file)
	failures := strings.TrimSuffix(file, ".csv") + ".errors.csv"
	read := func(name string) [][]string {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		reader := csv.NewReader(f)
		reader.FieldsPerRecord = -1
		rows, err := reader.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := read(failures)
	if len(rows) != 3 || strings.Join(rows[0], ",") != "Product,Start date,End date,svc_line,svc_error" || rows[1][0] != "'=Bad" || rows[1][3] != "3" || !strings.HasPrefix(rows[1][4], "end_date: The last day") || rows[2][3] != "4" {
		t.Fatalf("%q", rows)
	}
	// The file can be imported itself; what fails again goes to one of its own.
	d.want(2, "warranties", "import", failures)
	if again := read(strings.TrimSuffix(failures, ".csv") + ".errors.csv"); strings.Join(again[0], ",") != strings.Join(rows[0], ",") || len(again) != 3 {
		t.Errorf("%q", again)
	}
	d.want(2, "warranties", "import", file, "--errors", file)
	if len(read(file)) == 0 {
		t.Error("the file was overwritten")
	}
}

func TestImportEndsWhenNoRowCanGoOn(t *testing.T) {
	for code, exit := range map[warranty.Code]int{warranty.InsufficientScope: 4, warranty.TokenRevoked: 4, warranty.Internal: 1, warranty.RateLimited: 5} {
		n := 0
		d := newDesk(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n++
			w.Header().Set("Retry-After", "500")
			answers(code.Info().Status, problemText(code)).ServeHTTP(w, r)
		}))
		d.stdin = "product_name,start_date,end_date\nA,2026-01-01,2027-01-01\nB,2026-01-01,2027-01-01\n"
		d.want(exit, "warranties", "import", "-", "--errors", filepath.Join(t.TempDir(), "e.csv"))
		if n != 1 || d.stdout != "" || !strings.Contains(d.stderr, "It ended early: 0 created") {
			t.Errorf("%s: %d requests, %q %q", code, n, d.stdout, d.stderr)
		}
	}
}

func TestFilesThatAreNoCSV(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "UTF-16": "\xff\xfen\x00", "xlsx": "PK\x03\x04rest", "no columns": "hello\n", "open quote": "product_name,start_date,end_date\n\"A,2026-01-01,2027-01-01\n"} {
		d := newDesk(t, &memory{keys: map[string]int{}})
		d.stdin = text
		if code := d.svc("warranties", "import", "-", "--errors", filepath.Join(t.TempDir(), "e.csv")); code != 2 || d.stdout != "" {
			t.Errorf("%s: %d %s %s", name, code, d.stdout, d.stderr)
		}
	}
}
