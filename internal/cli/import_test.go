package cli

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// memory is a service that stores warranties by idempotency key and looks them up by
// serial number.
type memory struct {
	keys    map[string]int
	serials map[string]bool
	limit   int // every limit-th request returns 429
	n       int // requests that create
	lookups int

	largest, drop int    // items of the largest batch; answers to lose
	existing      string // of the last batch
}

// ServeHTTP creates a warranty or looks warranties up.
func (m *memory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/lookup") {
		m.lookups++
		m.lookup(w, r)
		return
	}
	if r.Method != http.MethodPost {
		answers(200, `{"data":`+record(`"x"`)+`}`).ServeHTTP(w, r)
		return
	}
	m.n++
	if m.limit > 0 && m.n%m.limit == 0 {
		w.Header().Set("Retry-After", "0")
		answers(429, problemText(warranty.RateLimited)).ServeHTTP(w, r)
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/batch") {
		answers(500, problemText(warranty.Internal)).ServeHTTP(w, r)
		return
	}
	m.batch(w, r)
}

// batch creates items once by their idempotency keys. Those with an external id are known, and differ.
func (m *memory) batch(w http.ResponseWriter, r *http.Request) {
	var in warranty.CreateBatch
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		answers(400, problemText(warranty.MalformedRequest)).ServeHTTP(w, r)
		return
	}
	m.largest, m.existing = max(m.largest, len(in.Items)), r.URL.Query().Get("existing")
	if m.drop > 0 { // performed, and the answer is lost
		m.drop--
		w = httptest.NewRecorder()
		defer panic(http.ErrAbortHandler)
	}
	var results []string
	for _, item := range in.Items {
		var fields struct {
			ExternalID     string `json:"external_id"`
			IdempotencyKey string `json:"idempotency_key"`
		}
		_ = json.Unmarshal(item.Text, &fields)
		status, more := "created", ""
		switch {
		case fields.ExternalID != "" && m.existing == "keep":
			status, more = "differs", `,"differs":["end_date","price"]`
		case fields.ExternalID != "":
			status = "updated"
		default:
			if m.keys[fields.IdempotencyKey]++; m.keys[fields.IdempotencyKey] > 1 {
				more = `,"replayed":true`
			}
		}
		results = append(results, `{"status":"`+status+`","id":"`+id+`","problem":null`+more+`}`)
	}
	answers(200, `{"data":{"results":[`+strings.Join(results, ",")+`]}}`).ServeHTTP(w, r)
}

func (m *memory) lookup(w http.ResponseWriter, r *http.Request) {
	var in warranty.LookupWarranties
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		answers(400, problemText(warranty.MalformedRequest)).ServeHTTP(w, r)
		return
	}
	var results []string
	for _, item := range in.Items {
		if m.serials[item.SerialNumber] {
			results = append(results, `{"matched_by":"serial_number","warranty_id":"`+id+`","status":"active"}`)
		} else {
			results = append(results, `{"matched_by":null,"warranty_id":null,"status":null}`)
		}
	}
	answers(200, `{"data":{"results":[`+strings.Join(results, ",")+`]}}`).ServeHTTP(w, r)
}

func TestImportCreatesEachRowOnce(t *testing.T) {
	m := &memory{keys: map[string]int{}, serials: map[string]bool{"K-1": true}, limit: 2}
	d := newHarness(t, m)
	file := filepath.Join(t.TempDir(), "items.csv")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type result struct {
		Rows, Created, Failed int
		Existing              int `json:"already_imported"`
		ToCreate              int `json:"to_create"`
		Repeated              int `json:"repeated_rows"`
		ErrorsFile            *string
	}
	imported := func(exit int, args ...string) (got struct{ Data result }) {
		t.Helper()
		d.want(exit, append([]string{"warranties", "import", file}, args...)...)
		if err := json.Unmarshal([]byte(d.stdout), &got); err != nil || strings.Count(d.stdout, "\n") != 1 {
			t.Fatalf("%v: %s", err, d.stdout)
		}
		return got
	}
	head := "product_name,start_date,end_date,serial_number\n"
	write(head +
		"Kettle,2026-01-01,2027-01-01,\nPot,2026-01-01,2027-01-01,\nKettle,2026-01-01,2027-01-01,\n" +
		"Old,2026-01-01,2027-01-01,K-1\n")
	if got := imported(0, "--dry-run"); got.Data.Rows != 4 || got.Data.ToCreate != 3 || got.Data.Existing != 1 ||
		m.n != 0 || m.lookups != 1 {
		t.Fatalf("%+v after %d requests and %d lookups", got, m.n, m.lookups)
	}
	if got := imported(0); got.Data.Created != 3 || got.Data.Repeated != 1 || got.Data.Existing != 1 || len(m.keys) != 3 {
		t.Errorf("%+v %d", got, len(m.keys))
	}
	if got := imported(0); got.Data.Created != 0 || got.Data.Existing != 4 || len(m.keys) != 3 {
		t.Errorf("second run: %+v %d", got, len(m.keys))
	}
	// Rows and columns in another order, and one more row: one new record.
	write("note,start_date,product_name,end_date\nx,2026-01-01,Pot,2027-01-01\n,2026-01-01,Kettle,2027-01-01\n" +
		",2026-01-01,New,2027-01-01\n,2026-01-01,Kettle,2027-01-01\n")
	if got := imported(0, "--map", "description="); got.Data.Created != 1 || got.Data.Existing != 3 {
		t.Errorf("moved rows: %+v", got)
	}
	if !strings.Contains(d.stderr, "Rate limit reached") {
		t.Errorf("%s", d.stderr)
	}
	// Without a key, a dry run checks only the file and says so.
	d.env["SVC_API_KEY"] = ""
	m.lookups = 0
	d.want(0, "warranties", "import", file, "--dry-run", "-o", "table")
	if m.lookups != 0 || !strings.Contains(d.stdout, "existing records were not checked") ||
		!strings.Contains(d.stdout, "Encoding: utf-8.") {
		t.Errorf("%d lookups: %s", m.lookups, d.stdout)
	}
}

// TestHeadersThatAreNotUTF8AreExplained // C9: the error was {}.
func TestHeadersThatAreNotUTF8AreExplained(t *testing.T) {
	d := newHarness(t, &memory{keys: map[string]int{}})
	d.stdin = "K\xfchler,start_date,end_date\n"
	d.want(2, "warranties", "import", "-", "--encoding", "utf-8")
	if !strings.Contains(d.stderr, "not valid UTF-8") || !strings.Contains(d.stderr, `"code":"usage"`) {
		t.Errorf("%s", d.stderr)
	}
	// With the detected encoding, the header is text and the error names its column.
	d.want(2, "warranties", "import", "-")
	if !strings.Contains(d.stderr, "Kühler") || !strings.Contains(d.stderr, "product_name") {
		t.Errorf("%s", d.stderr)
	}
	// Invalid UTF-8 is printed with replacement characters, never as {}.
	d.want(2, "warranties", "import", "no\xffwhere.csv")
	if !strings.Contains(d.stderr, "where.csv") {
		t.Errorf("%s", d.stderr)
	}
	d.want(2, "warranties", "import", "-", "--encoding", "ebcdic")
}

func TestFailuresAreKeptWithTheirReasons(t *testing.T) {
	d := newHarness(t, &memory{keys: map[string]int{}})
	file := filepath.Join(t.TempDir(), "items.csv")
	items := "Product,Start date,End date\nGood,2026-01-01,2027-01-01\n'=Bad,2026-01-01,2025-01-01\nShort\n"
	if err := os.WriteFile(file, []byte(items), 0o600); err != nil {
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
	if len(rows) != 3 || strings.Join(rows[0], ",") != "Product,Start date,End date,svc_line,svc_error" ||
		rows[1][0] != "'=Bad" || rows[1][3] != "3" || !strings.HasPrefix(rows[1][4], "end_date: Must be on or after") ||
		rows[2][3] != "4" {
		t.Fatalf("%q", rows)
	}
	// The errors file can be imported. Rows that fail again go to another file.
	d.want(2, "warranties", "import", failures)
	again := read(strings.TrimSuffix(failures, ".csv") + ".errors.csv")
	if !slices.Equal(again[0], rows[0]) || len(again) != 3 {
		t.Errorf("%q", again)
	}
	// Importing the first file again does not overwrite corrections.
	if err := os.WriteFile(failures, []byte("corrected"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.want(2, "warranties", "import", file)
	if kept, err := os.ReadFile(failures); err != nil || string(kept) != "corrected" {
		t.Errorf("%s, %v", kept, err)
	}
	if other := read(strings.TrimSuffix(file, ".csv") + ".errors-2.csv"); len(other) != 3 {
		t.Errorf("%q", other)
	}
	d.want(2, "warranties", "import", filepath.Dir(file))
	d.want(2, "warranties", "import", file, "--errors", file)
	if len(read(file)) == 0 {
		t.Error("the file was overwritten")
	}
}

func TestImportEndsWhenNoRowCanGoOn(t *testing.T) {
	for code, exit := range map[warranty.Code]int{warranty.InsufficientScope: 4, warranty.TokenRevoked: 4,
		warranty.Internal: 1, warranty.RateLimited: 5} {
		n := 0
		d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n++
			w.Header().Set("Retry-After", "500")
			answers(code.Info().Status, problemText(code)).ServeHTTP(w, r)
		}))
		d.stdin = "product_name,start_date,end_date\nA,2026-01-01,2027-01-01\nB,2026-01-01,2027-01-01\n"
		d.want(exit, "warranties", "import", "-", "--errors", filepath.Join(t.TempDir(), "e.csv"))
		if n != 1 || d.stdout != "" || !strings.Contains(d.stderr, "Import stopped: 0 created") {
			t.Errorf("%s: %d requests, %q %q", code, n, d.stdout, d.stderr)
		}
	}
}

func TestFilesThatAreNoCSV(t *testing.T) {
	for name, text := range map[string]string{
		"empty":      "",
		"UTF-16":     "\xff\xfen\x00",
		"old xls":    "\xd0\xcf\x11\xe0rest",
		"xlsx":       "PK\x03\x04rest",
		"no columns": "hello\n",
		"open quote": "product_name,start_date,end_date\n\"A,2026-01-01,2027-01-01\n",
	} {
		d := newHarness(t, &memory{keys: map[string]int{}})
		d.stdin = text
		if code := d.svc("warranties", "import", "-", "--errors", filepath.Join(t.TempDir(), "e.csv")); code != 2 ||
			d.stdout != "" {
			t.Errorf("%s: %d %s %s", name, code, d.stdout, d.stderr)
		}
	}
}

func TestMapsThatNameNothing(t *testing.T) {
	for _, wrong := range []string{"colour=Item", "product_name", "product_name=Nothing"} {
		d := newHarness(t, &memory{keys: map[string]int{}})
		d.stdin = "Item,start_date,end_date\n"
		d.want(2, "warranties", "import", "-", "--dry-run", "--map", wrong)
	}
	d := newHarness(t, &memory{keys: map[string]int{}})
	d.stdin = "Item,start_date,end_date\nA,2026-01-01,2027-01-01\n"
	d.want(0, "warranties", "import", "-", "--dry-run", "--map", "product-name=item")
	d.stdin = "Colour,start_date,end_date\n"
	d.want(2, "warranties", "import", "-", "--dry-run")
	if !strings.Contains(d.stderr, "No column was found for product_name.") {
		t.Errorf("%s", d.stderr)
	}
}

// rowsOf returns a sheet of n rows, with external ids if prefix is not empty.
func rowsOf(n int, prefix string) string {
	var b strings.Builder
	b.WriteString("product_name,start_date,end_date,external_id\n")
	for i := range n {
		external := ""
		if prefix != "" {
			external = prefix + strconv.Itoa(i)
		}
		b.WriteString("Kettle " + strconv.Itoa(i) + ",2026-01-01,2027-01-01," + external + "\n")
	}
	return b.String()
}

// TestImportSendsBatches: rows are created in batches that count as one request each, and a batch whose answer was lost
// is sent again without doubling a record.
func TestImportSendsBatches(t *testing.T) {
	m := &memory{keys: map[string]int{}, drop: 2}
	d := newHarness(t, m)
	d.stdin = rowsOf(420, "")
	d.want(0, "warranties", "import", "-")
	if m.largest != warranty.BatchPerRequest || m.n > 14 || m.lookups != 3 || len(m.keys) != 420 {
		t.Errorf("%d requests, %d lookups, batches of %d, %d records: %s", m.n, m.lookups, m.largest, len(m.keys), d.stdout)
	}
}

// TestImportSaysWhatItLeavesOut: rows with a known external id that differ are named, counted and in the exit code;
// with --update the records are changed.
func TestImportSaysWhatItLeavesOut(t *testing.T) {
	m := &memory{keys: map[string]int{}}
	d := newHarness(t, m)
	d.stdin = rowsOf(3, "E-")
	d.want(2, "warranties", "import", "-")
	if m.existing != "keep" || !strings.Contains(d.stdout, `"already_imported_with_other_values":3`) ||
		!strings.Contains(d.stderr, "Line 2: already imported, with another end_date, price.") {
		t.Errorf("existing=%s: %s%s", m.existing, d.stdout, d.stderr)
	}
	d.want(2, "warranties", "import", "-", "-o", "table")
	if !strings.Contains(d.stdout, "3 already imported rows differ from their records and were left out.") {
		t.Error(d.stdout)
	}
	d.want(0, "warranties", "import", "-", "--update")
	if m.existing != "update" || !strings.Contains(d.stdout, `"updated":3`) {
		t.Errorf("existing=%s: %s", m.existing, d.stdout)
	}
}

// TestBatchCommand sends a JSON array or lines in groups, and its exit code tells what was left out.
func TestBatchCommand(t *testing.T) {
	m := &memory{keys: map[string]int{}}
	d := newHarness(t, m)
	item := func(i int) string { return `{"external_id":"E-` + strconv.Itoa(i) + `","product_name":"Pan"}` }
	var list []string
	for i := range 120 {
		list = append(list, item(i))
	}
	for name, text := range map[string]string{
		"an array": "\ufeff [" + strings.Join(list, ",\n") + "]\n", "lines": strings.Join(list, "\n") + "\n",
	} {
		m.n = 0
		d.stdin = text
		d.want(0, "warranties", "batch", "-")
		if m.n != 3 || m.existing != "update" || !strings.Contains(d.stdout, `"items":120,"counts":{"updated":120}`) {
			t.Errorf("%s: %d requests, existing=%s, %.200s", name, m.n, m.existing, d.stdout)
		}
	}
	d.stdin = item(1)
	d.want(2, "warranties", "batch", "-", "--keep-existing", "-o", "table")
	if !strings.Contains(d.stdout, "Item 1 differs from its record: end_date, price.") ||
		!strings.Contains(d.stdout, "1 item: 0 created, 0 unchanged, 0 updated, 1 differs, 0 failed.") {
		t.Error(d.stdout)
	}
	for _, text := range []string{"", " [] ", "[{}", "[{},", "{", `{"a":1} x`} {
		m.n, d.stdin = 0, text
		d.want(2, "warranties", "batch", "-")
		if m.n != 0 {
			t.Errorf("%q was sent", text)
		}
	}
}
