package find

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestOddQueriesReadNoMore asks an index odd queries: none reads a part twice, or more parts than the
// list has, and all agree with the records.
func TestOddQueriesReadNoMore(t *testing.T) {
	var changes []Change
	for i := range 3000 {
		r := &Record{
			ID:       warranty.ID{15: byte(i), 14: byte(i >> 8)},
			Standing: warranty.Active,
			Name:     fmt.Sprint("Kettle ", i),
			Text:     fmt.Sprintf("Kettle %d O'Neil \"quoted\" NEAR AND OR NOT 東芝洗濯機 שלום e\u0301 a b c d\nSN-%05d", i, i),
			Codes:    fmt.Sprintf("sn%05d", i),
		}
		changes = append(changes, Change{ID: r.ID, Record: r})
	}
	made, err := Apply(nil, changes, 1000)
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	for _, m := range made {
		parts += len(m.Parts)
	}
	for _, q := range testenv.OddQueries() {
		query := NewQuery(q)
		question := &Question{Query: &query}
		read := 0
		list := &List{}
		of := map[*Segment]Parts{}
		for _, m := range made {
			s := NewSegment(m.First, m.Size)
			list.Segments, of[s] = append(list.Segments, s), m.Parts
		}
		list.Load = func(wants []Want) error {
			for _, w := range wants {
				var data [][]byte
				for _, key := range slices.Sorted(maps.Keys(of[w.Segment])) {
					if key >= w.Range.From && key < w.Range.To {
						data = append(data, of[w.Segment][key])
					}
				}
				read += len(data)
				if err := w.Segment.Load(w.Range, data); err != nil {
					return err
				}
			}
			return nil
		}
		answer, err := list.Ask(question, 0, 50)
		if err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		want := int64(0)
		for _, c := range changes {
			if question.Matches(c.Record) {
				want++
			}
		}
		if answer.Total != want {
			t.Errorf("%q finds %d in the index, %d among the records", q, answer.Total, want)
		}
		if read > parts {
			t.Errorf("%q reads %d parts of an index with %d", q, read, parts)
		}
	}
}

// TestOddQueriesHaveFewWords: what a query costs for each record depends on its words, of which it has
// at most one for every two characters, or for each character in scripts without spaces.
func TestOddQueriesHaveFewWords(t *testing.T) {
	for _, q := range testenv.OddQueries() {
		n, longest := 0, 0
		for _, words := range NewQuery(q).readings {
			n += len(words)
			for _, word := range words {
				longest = max(longest, len(word))
			}
		}
		if characters := len([]rune(q)); n > characters+1 || longest > 4*len(q)+16 {
			t.Errorf("%q of %d characters has %d words, the longest of %d bytes", q, characters, n, longest)
		}
	}
}
