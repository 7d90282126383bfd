package find

import (
	"fmt"
	"slices"
	"testing"
)

// TestBestFirst: whole numbers come before whole names, these before whole words of names, and fragments last. Of those
// that fit equally well, the record that changed last comes first.
func TestBestFirst(t *testing.T) {
	record := func(name, customer, email, code string, updated int64) Record {
		r := Record{Name: name, Customer: CustomerOf(customer, email), Codes: Code(code), Updated: updated}
		r.Text = name + "\n" + customer + "\n" + email + "\n" + code
		return r
	}
	all := map[string]Record{
		"named by the number": record("Filter for SN-4711", "", "", "X-1", 9),
		"has the number":      record("Kettle", "", "", "SN-4711", 1),
		"longer number":       record("Kettle", "", "", "SN-47110", 8),
		"müller":              record("Toaster", "Müller", "", "X-2", 1),
		"anton":               record("Toaster", "Anton Müller", "anton@post.example", "X-3", 2),
		"andrea":              record("Toaster", "Andrea Müller", "a.m@post.example", "X-4", 3),
		"cem":                 record("Toaster", "Cem Müllerin", "", "X-5", 4),
		"bosch":               record("Bosch", "", "", "X-6", 1),
		"bosch dishwasher":    record("Bosch dishwasher", "", "", "X-7", 2),
		"boschmann":           record("Boschmann drill", "", "", "X-8", 3),
		"about bosch":         {Name: "Cleaner", Text: "Cleaner\nFor Bosch", Codes: "x9", Updated: 4},
		"reference":           record("Lamp", "", "", "WR-7K2M-Q4XT-9CDE", 1),
	}
	for _, try := range []struct {
		q    string
		want []string
	}{
		{"sn 4711", []string{"has the number", "named by the number", "longer number"}},
		{"SN-4711", []string{"has the number", "named by the number", "longer number"}},
		{"4711", []string{"named by the number", "longer number", "has the number"}},
		{"müller", []string{"müller", "andrea", "anton", "cem"}},
		{"Anton  MULLER", []string{"anton"}},
		{"anton@post.example", []string{"anton"}},
		{"bosch", []string{"bosch", "bosch dishwasher", "about bosch", "boschmann"}},
		{"bosch dishw", []string{"bosch dishwasher"}},
		{"wr7k2mq4xt9cde", []string{"reference"}},
		{"??", nil},
	} {
		t.Run(try.q, func(t *testing.T) {
			q := &Question{}
			q.BestFirst(try.q)
			var found []Record
			names := map[string]string{}
			for name, r := range all {
				names[fmt.Sprint(r.Codes, r.Updated)] = name
				if q.Matches(&r) {
					r.Rank = q.Rank(&r)
					found = append(found, r)
				}
			}
			slices.SortFunc(found, func(a, b Record) int { return q.Compare(&a, &b) })
			var got []string
			for _, r := range found {
				got = append(got, names[fmt.Sprint(r.Codes, r.Updated)])
			}
			if !slices.Equal(got, try.want) {
				t.Errorf("found %q, want %q", got, try.want)
			}
		})
	}
}
