package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// shifting is a service whose list changes between pages. Records are numbers; the
// highest is the newest.
type shifting struct {
	records []int // newest first
	change  func(request int, s *shifting)
	n       int
}

func numbered(n int) string { return fmt.Sprintf("01935b2e-7c4a-7def-8123-%012d", n) }

// ServeHTTP lists a page, then changes the list.
func (s *shifting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from := min((page-1)*limit, len(s.records))
	var list []string
	for _, n := range s.records[from:min(from+limit, len(s.records))] {
		list = append(list, strings.ReplaceAll(record(fmt.Sprintf(`"product %d"`, n)), id, numbered(n)))
	}
	text := fmt.Sprintf(`{"data":[%s],"pagination":{"page":%d,"limit":%d,"total":%d,"total_pages":%d}}`,
		strings.Join(list, ","), page, limit, len(s.records), (len(s.records)+limit-1)/limit)
	answers(200, text).ServeHTTP(w, r)
	s.n++
	if s.change != nil {
		s.change(s.n, s)
	}
}

func sequence(from, to int) (list []int) {
	for n := to; n >= from; n-- {
		list = append(list, n)
	}
	return list
}

// TestExportMissesNothing changes the list during the export. Records that exist the
// whole time are written exactly once.
func TestExportMissesNothing(t *testing.T) {
	testenv.Property(t, func(rt *rapid.T) {
		total := rapid.IntRange(0, 450).Draw(rt, "records")
		s := &shifting{records: sequence(1, total)}
		stays := map[int]bool{}
		for _, n := range s.records {
			stays[n] = true
		}
		next := total
		s.change = func(request int, s *shifting) {
			if request > 6 {
				return
			}
			for range rapid.IntRange(0, 150).Draw(rt, "gone") {
				if len(s.records) > 0 {
					i := rapid.IntRange(0, len(s.records)-1).Draw(rt, "which")
					delete(stays, s.records[i])
					s.records = slices.Delete(slices.Clone(s.records), i, i+1)
				}
			}
			for range rapid.IntRange(0, 150).Draw(rt, "new") {
				next++
				s.records = slices.Insert(slices.Clone(s.records), 0, next)
			}
		}
		d := newHarness(t, s)
		if code := d.svc("warranties", "export", "-o", "ndjson"); code != 0 {
			rt.Fatalf("exit code %d: %s", code, d.stderr)
		}
		seen := map[string]int{}
		for line := range strings.Lines(d.stdout) {
			var r struct{ ID string }
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				rt.Fatalf("%v: %s", err, line)
			}
			if seen[r.ID]++; seen[r.ID] > 1 {
				rt.Fatalf("%s was exported twice", r.ID)
			}
		}
		for n := range stays {
			if seen[numbered(n)] != 1 {
				rt.Fatalf("record %d of %d is missing", n, total)
			}
		}
	})
}

func TestExportForms(t *testing.T) {
	d := newHarness(t, &shifting{records: sequence(1, 250)})
	d.want(0, "warranties", "export")
	rows, err := csv.NewReader(strings.NewReader(d.stdout)).ReadAll()
	if err != nil || len(rows) != 251 || rows[0][2] != "product_name" || rows[1][2] != "product 250" ||
		rows[250][2] != "product 1" {
		t.Errorf("csv: %d rows, %v", len(rows), err)
	}
	for _, args := range [][]string{{"-o", "json"}, {"--pretty"}} {
		d.want(0, append([]string{"warranties", "export"}, args...)...)
		var list struct{ Data []json.RawMessage }
		if err := json.Unmarshal([]byte(d.stdout), &list); err != nil || len(list.Data) != 250 {
			t.Errorf("%v: %d records, %v", args, len(list.Data), err)
		}
		if lines := strings.Count(d.stdout, "\n"); (lines == 1) != (args[0] == "-o") {
			t.Errorf("%v: %d lines", args, lines)
		}
	}
	d.handler = &shifting{}
	d.want(0, "warranties", "export", "-o", "json")
	if d.stdout != "{\"data\":[]}\n" {
		t.Errorf("%q", d.stdout)
	}
	d.want(0, "warranties", "export")
	if !strings.HasPrefix(d.stdout, "id,reference_number,") || strings.Count(d.stdout, "\n") != 1 {
		t.Errorf("%q", d.stdout)
	}
	d.want(2, "warranties", "export", "--status", "broken")
	d.want(2, "warranties", "export", "--page", "2")
}

// TestCustomersAreExported writes every customer of the list once, in the order of names, and takes no other.
func TestCustomersAreExported(t *testing.T) {
	var orders []string
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		orders = append(orders, r.URL.Path+" "+q.Get("q")+" "+q.Get("sort"))
		page, _ := strconv.Atoi(q.Get("page"))
		limit, _ := strconv.Atoi(q.Get("limit"))
		var list []warranty.CustomerRecord
		for i := (page - 1) * limit; i < min(page*limit, 250); i++ {
			id, _ := warranty.ParseID(numbered(i + 1))
			list = append(list, warranty.CustomerRecord{ID: id, Name: new(fmt.Sprintf("=Kim %d", i)), WaitingClaims: 1})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(warranty.PageOf(list, warranty.Paging{Page: page, Limit: limit}, 250))
	}))
	d.want(0, "customers", "export", "--q", "kim")
	rows, err := csv.NewReader(strings.NewReader(d.stdout)).ReadAll()
	if err != nil || len(rows) != 251 || rows[0][1] != "name" || rows[1][1] != "'=Kim 0" || rows[250][1] != "'=Kim 249" {
		t.Errorf("csv: %d rows, %v, %v", len(rows), rows[0], err)
	}
	for _, order := range orders {
		if order != "/api/v1/customers kim name" {
			t.Errorf("asked for %s", order)
		}
	}
	d.want(0, "customers", "export", "-o", "ndjson")
	if strings.Count(d.stdout, "\n") != 250 || !strings.Contains(d.stderr, "Exported 250 customers.") {
		t.Errorf("ndjson: %d lines, %q", strings.Count(d.stdout, "\n"), d.stderr)
	}
	d.want(2, "customers", "export", "--sort", "name")
	d.want(2, "customers", "export", "-o", "table")
}
