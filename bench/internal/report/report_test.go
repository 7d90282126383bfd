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
