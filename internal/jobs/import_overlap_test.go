package jobs_test

import (
	"fmt"
	"strings"
	"testing"

	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
)

// TestOverlappingImportsAtOnce imports a file twice, and others with some of its products, on several replicas at once: each
// product is created once, also if the files say different things about it.
func TestOverlappingImportsAtOnce(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*world) {
		shop := newShop(worlds[0], "Ann")
		file := func(category string, from, to int) string {
			text := "product_name,serial_number,start_date,end_date,category\n"
			for i := from; i < to; i++ {
				text += fmt.Sprintf("Pan,SN-%d,2026-01-01,2028-01-01,%s\n", i, category)
			}
			return text
		}
		for _, text := range []string{file("Home", 0, 120), file("Home", 0, 120), file("Home", 60, 180), file("Kitchen", 0, 180)} {
			in := jobs.Import{Text: []byte(text)}
			if _, err := worlds[0].Jobs.Start(t.Context(), shop.Principal, jobs.ImportKind, in, int64(strings.Count(text, "\n")-1)); err != nil {
				t.Fatal(err)
			}
		}
		testenv.Together(2*len(worlds), func(i int) {
			if err := worlds[i%len(worlds)].Jobs.RunOpen(t.Context()); err != nil {
				t.Error(err)
			}
		})
		for _, w := range worlds { // those that found nothing to do have ended
			if err := w.Jobs.RunOpen(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "open jobs", worlds[0].Count(`SELECT count(*) FROM jobs WHERE state <> 2`), 0)
		equal(t, "warranties", worlds[0].Count(`SELECT count(*) FROM warranties`), 180)
		equal(t, "serial numbers", worlds[0].Count(`SELECT count(DISTINCT serial_number) FROM warranties`), 180)
	}, servertest.Busy)
}
