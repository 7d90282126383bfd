package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestAllPages lists 250 records while some are added and removed between the pages: each record that
// is there all the time is listed once.
func TestAllPages(t *testing.T) {
	records := make([]int, 250) // newest first
	for i := range records {
		records[i] = 1000 - i
	}
	requests := 0
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests++; requests {
		case 2:
			records = append([]int{1002, 1001}, records...) // shift others to later pages
		case 3:
			records = append(records[:10:10], records[150:]...) // shift others to earlier pages
		}
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		var list []string
		for i := (page - 1) * limit; i < min(page*limit, len(records)); i++ {
			kettle := record(fmt.Sprintf(`"Kettle %d"`, records[i]))
			list = append(list, strings.Replace(kettle, id, idOf(records[i]), 1))
		}
		answers(200, fmt.Sprintf(`{"data":[%s],"pagination":{"page":%d,"limit":%d,"total":%d,"total_pages":%d}}`,
			strings.Join(list, ","), page, limit, len(records), (len(records)+limit-1)/limit)).ServeHTTP(w, r)
	}))
	d.want(0, "warranties", "list", "--all", "--sort", "end_date")
	var all struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
		Pagination struct{ Total int }
	}
	if err := json.Unmarshal([]byte(d.stdout), &all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, r := range all.Data {
		seen[r.ID]++
	}
	for _, n := range records {
		if n <= 1000 && seen[idOf(n)] != 1 {
			t.Errorf("%d is listed %d times", n, seen[idOf(n)])
		}
	}
	if all.Pagination.Total != len(all.Data) {
		t.Errorf("total %d of %d records", all.Pagination.Total, len(all.Data))
	}
	d.want(2, "warranties", "list", "--all", "--limit", "5")
	if !strings.Contains(d.stderr, "Remove --page and --limit") {
		t.Error(d.stderr)
	}
}

// TestAllKeepsEqualRecords lists all pages with fields that do not tell records apart.
func TestAllKeepsEqualRecords(t *testing.T) {
	var selected string
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		selected = r.URL.Query().Get("fields")
		var list []string
		for n := range 3 {
			list = append(list, fmt.Sprintf(`{"id":%q,"product_name":"Kettle"}`, idOf(n)))
		}
		answers(200, `{"data":[`+strings.Join(list, ",")+
			`],"pagination":{"page":1,"limit":100,"total":3,"total_pages":1}}`).ServeHTTP(w, r)
	}))
	d.want(0, "warranties", "list", "--all", "--fields", "product_name", "--jq", ".data")
	if want := strings.Repeat(`,{"product_name":"Kettle"}`, 3)[1:]; d.stdout != "["+want+"]\n" || selected != "product_name,id" {
		t.Errorf("fields=%s prints %s, want %s", selected, d.stdout, want)
	}
}

// TestAllOfAFeed follows a feed to its end.
func TestAllOfAFeed(t *testing.T) {
	const next = "AAZgaCM-C7AABmBnmjJWAAGNmRWRQHMMqvaGKYYtEQk"
	for _, args := range [][]string{
		{"warranties", "deleted", "--since", "2026-11-01T00:00:00Z"},
		{"warranties", "list", "--updated-since", "2026-11-01T00:00:00Z"},
	} {
		d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			more := `"` + next + `"`
			if r.URL.Query().Get("after") == next {
				more = "null"
			}
			answers(200, fmt.Sprintf(`{"data":[{"id":%q}],"next":%s,"synced_to":"2026-11-16T16:52:25.152Z"}`,
				id, more)).ServeHTTP(w, r)
		}))
		d.want(0, append(args, "--all", "--jq", "[(.data|length), .next, .synced_to]")...)
		if want := `[2,null,"2026-11-16T16:52:25.152Z"]` + "\n"; d.stdout != want {
			t.Errorf("%v prints %s, want %s", args, d.stdout, want)
		}
	}
}

func idOf(n int) string { return fmt.Sprintf("01935b2e-7c4a-7def-8123-%012d", n) }

// TestExportKeepsItsOrder checks that an export does not take an order, which would make it skip
// records.
func TestExportKeepsItsOrder(t *testing.T) {
	d := newHarness(t, answers(200, page()))
	for _, flag := range []string{"--sort=end_date", "--fields=id", "--updated-since=2026-01-01T00:00:00Z"} {
		d.want(2, "warranties", "export", flag)
	}
}

// TestJQ prints parts of a response.
func TestJQ(t *testing.T) {
	d := newHarness(t, answers(200, page(record(`"Kettle \u001b[31m"`), record(`"Pot"`))))
	for expression, want := range map[string]string{
		".data[].product_name":       "Kettle \x1b[31m\nPot\n",
		".pagination.total":          "2\n",
		".data | map(.roles)":        `[["owner","issuer"],["owner","issuer"]]` + "\n",
		".data[] | select(.x == 1)":  "",
		`.data[0].status, "a" + "b"`: "active\nab\n",
		`"a", halt, "b"`:             "a\n",
	} {
		d.want(0, "warranties", "list", "--jq", expression)
		if d.stdout != want {
			t.Errorf("%s prints %q, want %q", expression, d.stdout, want)
		}
		d.want(0, "api", "GET", "/warranties", "--jq", expression)
		if d.stdout != want {
			t.Errorf("api: %s prints %q, want %q", expression, d.stdout, want)
		}
	}
	for _, args := range [][]string{
		{"--jq", ".data[", "--all"}, {"--jq", ".data.x"}, {"--jq", ".", "-o", "csv"}, {"--jq", ".", "--pretty"},
	} {
		d.want(2, append([]string{"warranties", "list"}, args...)...)
	}
	d.want(2, "warranties", "list", "--jq", ".data | error")
	if len(d.stderr) > 500 {
		t.Errorf("the error repeats the response: %s", d.stderr)
	}
	d.terminal = true
	d.want(0, "warranties", "list", "--jq", ".data[0].product_name")
	if want := "Kettle \\x1b[31m\n"; d.stdout != want {
		t.Errorf("a terminal gets %q, want %q", d.stdout, want)
	}
}

// TestSummaryIsATable prints the groups of a summary as rows.
func TestSummaryIsATable(t *testing.T) {
	d := newHarness(t, answers(200, `{"data":{"today":"2026-11-15","group_by":"category","total":9,"groups":[`+
		`{"value":"Kitchen","count":5},{"value":null,"count":2}],"other":{"groups":1,"count":2}}}`))
	d.want(0, "warranties", "summarize", "--group-by", "category", "-o", "csv")
	if want := "value,count\nKitchen,5\n,2\n"; d.stdout != want {
		t.Errorf("CSV is %q, want %q", d.stdout, want)
	}
	d.terminal = true
	d.want(0, "warranties", "summary")
	if !strings.Contains(d.stdout, "Kitchen") || strings.Contains(d.stdout, "0x") {
		t.Errorf("the table is %q", d.stdout)
	}
	if want := "9 warranties. 1 more group with 2 of them."; !strings.Contains(d.stderr, want) {
		t.Errorf("the note is %q, want %q", d.stderr, want)
	}
}
