package report

import (
	"strings"
	"testing"
	"time"
)

// measured returns a report on two servers and two sizes, with several rounds.
func measured() *Report {
	r := &Report{
		Servers:    []Server{{Ours, "ours"}, {Pocket, "theirs"}},
		Operations: []Operation{{Name: "get", Title: "get one"}, {Name: "big", Title: "big's page"}},
		Records:    1_000_000,
		Smaller:    []int{10_000},
		Peaks:      map[string]int64{Ours: 151 << 20},
		PeakAt:     64,
	}
	add := func(server string, records int, operation string, connections int, cpu ...time.Duration) {
		for _, d := range cpu {
			r.Add(server, records, operation, Cell{Connections: connections, CPU: d, PerSecond: 10, P50: d, P99: 2 * d})
		}
	}
	add(Ours, 1_000_000, "get", 32, 300*time.Microsecond, 100*time.Microsecond, 110*time.Microsecond)
	add(Ours, 10_000, "get", 32, 300*time.Microsecond, 90*time.Microsecond, 100*time.Microsecond)
	add(Pocket, 1_000_000, "get", 32, 1200*time.Microsecond, 400*time.Microsecond, 430*time.Microsecond)
	add(Ours, 1_000_000, "big", 32, 2*time.Millisecond)
	add(Ours, 10_000, "big", 32, time.Millisecond)
	add(Pocket, 1_000_000, "big", 8, 300*time.Millisecond)
	return r
}

func TestTheMedianIsTheMiddleRound(t *testing.T) {
	c, ok := measured().Median(Ours, 1_000_000, "get")
	if !ok || c.CPU != 110*time.Microsecond || c.P99 != 220*time.Microsecond || c.Spread < 1.8 || c.Spread > 1.9 {
		t.Errorf("%+v, %v", c, ok)
	}
	if _, ok := measured().Median(Bare, 1_000_000, "get"); ok {
		t.Error("an operation that was not measured has a median")
	}
}

func TestTheTables(t *testing.T) {
	const comparison = `
| operation  | server | CPU ms | incl. database | ratio | spread | requests/s | p50 ms              | p99 ms |
|------------|--------|--------|----------------|-------|--------|------------|---------------------|--------|
| get one    | ours   | 0.110  |                | 1.00× | 182 %  | 10         | 0.110               | 0.220  |
|            | theirs | 0.430  |                | 4.00× | 186 %  | 10         | 0.430               | 0.860  |
| big's page | ours   | 2.00   |                | 1.00× | 0 %    | 10         | 2.00                | 4.00   |
|            | theirs | 300    |                | 150×  | 0 %    | 10         | 300 (8 connections) | 600    |
`
	const growth = `
| operation  | server | 10 thousand | 1 million | growth |
|------------|--------|-------------|-----------|--------|
| get one    | ours   | 0.100       | 0.110     | 1.10×  |
| big's page | ours   | 1.00        | 2.00      | 2.00×  |
`
	r := measured()
	for want, got := range map[string]string{comparison: r.Comparison(), growth: r.Growth()} {
		if "\n"+got != want {
			t.Errorf("got\n%swant%s", got, want)
		}
	}
}

func TestTargetsAreReachedOrMissed(t *testing.T) {
	text, misses := measured().Targets()
	for _, want := range []string{
		"get: PocketBase to svcd | ≥ 4× | 4.00× | reached", "big's page: PocketBase to svcd | ≥ 100× | 150× | reached",
		"growth of get one, svcd | ≤ 1.3× | 1.10× | reached", "growth of big's page, svcd | ≤ 1.3× | 2.00× | MISSED",
		"memory of svcd at 64 connections | < 150 MiB | 151 MiB | MISSED",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if misses != 2 || strings.Contains(text, "bare") || strings.Contains(text, "postgres") {
		t.Errorf("%d misses, or a target that was not measured, in\n%s", misses, text)
	}
}

func TestLongTransactionsAreCounted(t *testing.T) {
	w, err := ParseWrites([]byte(`# TYPE svc_database_write_duration_seconds histogram
svc_database_write_duration_seconds_bucket{le="0.025"} 5
svc_database_write_duration_seconds_bucket{le="0.05"} 8
svc_database_write_duration_seconds_bucket{le="0.1"} 9
svc_database_write_duration_seconds_bucket{le="+Inf"} 9
svc_database_write_duration_seconds_sum 0.3
`))
	if err != nil || w.all() != 9 || w.longer(maxHold) != 1 || w.longest() != "50.0–100" {
		t.Errorf("%+v, %v, %s", w, err, w.longest())
	}
	if later := w.Minus(w); later.all() != 0 || later.longer(maxHold) != 0 || later.longest() != "< 25.0" {
		t.Errorf("%+v, %s", later, later.longest())
	}
	if _, err := ParseWrites([]byte("go_goroutines 9\n")); err == nil {
		t.Error("metrics without the histogram are accepted")
	}
}

func TestBoundsApplyToAMillionRecords(t *testing.T) {
	r := measured()
	r.Operations = append(r.Operations, Operation{Name: "search-two", Title: "big searches two words"})
	r.Add(Ours, 1_000_000, "search-two", Cell{CPU: 21 * time.Millisecond})
	r.Add(OursPG, 1_000_000, "search-two", Cell{CPU: 11 * time.Millisecond, Database: 10 * time.Millisecond})
	text, misses := r.Targets()
	for _, want := range []string{
		"big searches two words, svcd | ≤ 20.0 ms | 21.0 ms | MISSED",
		"big searches two words, svcd-postgres | ≤ 30.0 ms | 21.0 ms | reached",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if misses != 3 {
		t.Errorf("%d misses in\n%s", misses, text)
	}
}

func TestQuestionsHaveATableOfTheirOwn(t *testing.T) {
	r := measured()
	r.Operations = append(r.Operations,
		Operation{Name: "small-search-two", Question: "two words", Account: "small"},
		Operation{Name: "search-two", Question: "two words", Account: "big"},
		Operation{Name: "overview", Question: "overview", Account: "big"})
	r.Add(Ours, 1_000_000, "small-search-two", Cell{CPU: time.Millisecond})
	r.Add(Ours, 1_000_000, "search-two", Cell{CPU: 6 * time.Millisecond})
	r.Add(Pocket, 1_000_000, "search-two", Cell{CPU: 600 * time.Millisecond})
	r.Add(Ours, 1_000_000, "overview", Cell{CPU: 9 * time.Millisecond, Database: time.Millisecond})
	const want = `
| question  | small, ours | big, ours | big, theirs |
|-----------|-------------|-----------|-------------|
| two words | 1.00        | 6.00      | 600         |
| overview  |             | 10.0      |             |
`
	if got := "\n" + r.Finding(); got != want {
		t.Errorf("got%swant%s", got, want)
	}
	if text := r.Comparison(); strings.Contains(text, "two words") || measured().Finding() != "" {
		t.Errorf("a question is in the wrong table:\n%s", text)
	}
}
