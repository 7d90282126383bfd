package cli

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

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
	if !strings.Contains(d.stderr, "Rate limit reached") {
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

func TestMapsThatNameNothing(t *testing.T) {
	for _, wrong := range []string{"colour=Item", "product_name", "product_name=Nothing"} {
		d := newDesk(t, &memory{keys: map[string]int{}})
		d.stdin = "Item,start_date,end_date\n"
		d.want(2, "warranties", "import", "-", "--dry-run", "--map", wrong)
	}
	d := newDesk(t, &memory{keys: map[string]int{}})
	d.stdin = "Item,start_date,end_date\nA,2026-01-01,2027-01-01\n"
	d.want(0, "warranties", "import", "-", "--dry-run", "--map", "product-name=item")
	d.stdin = "Colour,start_date,end_date\n"
	d.want(2, "warranties", "import", "-", "--dry-run")
	if !strings.Contains(d.stderr, "No column was found for product_name.") {
		t.Errorf("%s", d.stderr)
	}
}
