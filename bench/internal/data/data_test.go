package data

import (
	"bytes"
	"testing"

	"warranty.example/svc/warranty"
)

func TestTheAudienceIsWhatTheBenchmarkSays(t *testing.T) {
	set := Of(50_000)
	a := set.Audience(warranty.NewDate(2026, 11, 15))
	if set.Users != 1_000 || a.All != 10_000 {
		t.Errorf("%d users, the big seller has %d", set.Users, a.All)
	}
	if a.Rare < 2 || a.Rare > 25 || a.Common < 1_500 || a.Active < 2_500 || a.Active > 7_500 {
		t.Errorf("implausible totals: %+v", [...]int{a.Rare, a.Common, a.Active})
	}
	if len(a.Readers) < 150 || len(a.Writers) < 150 || len(a.Extendable) < 500 {
		t.Errorf("%d readers, %d writers, %d records to extend", len(a.Readers), len(a.Writers), len(a.Extendable))
	}
}

func TestRecordsAreSortedUniqueAndWellFormed(t *testing.T) {
	set := Of(10_000)
	var last warranty.ID
	seen := map[string]bool{}
	for i := range set.Records {
		r := set.Record(i)
		id, ref := r.ID(), Reference(i)
		if bytes.Compare(last[:], id[:]) >= 0 {
			t.Fatalf("record %d: id %s is not greater than %s", i, id, last)
		}
		if _, err := warranty.ParseReference(ref); err != nil || seen[ref] {
			t.Fatalf("record %d: reference %s: %v, or seen before", i, ref, err)
		}
		if r.End < r.Start || r.Owner == Big || r.Owner >= set.Users || r.Seller >= set.Users {
			t.Fatalf("record %d is invalid: %+v", i, r)
		}
		last, seen[ref] = id, true
	}
}

func TestASecretIsOne(t *testing.T) {
	one, again, other := Secret(7), Secret(7), Secret(8)
	if kind, ok := warranty.ParseSecret(one); kind != warranty.TokenSecret || !ok || one != again || one == other {
		t.Errorf("%s, %s, %s", one, again, other)
	}
}

func TestSearchesFindWhatTheyShould(t *testing.T) {
	a := Of(50_000).Audience(warranty.NewDate(2026, 11, 15))
	for i, want := range []struct{ least, most int }{{2, 3}, {10_000, 40_000}, {500, 5_000}, {10, 100}} {
		found := a.Found[i].Giant
		if found.Words < want.least || found.Words > want.most || found.Pieces > found.Words || found.Pieces < found.Words*9/10 {
			t.Errorf("%s: %+v", Searches[i].Name, found)
		}
		if big := a.Found[i].Big; big.Words > found.Words/2 || i == 1 && big.Words == 0 {
			t.Errorf("%s: big finds %+v of %+v", Searches[i].Name, big, found)
		}
	}
	fields := Texts{Product: "Elbe wall oven 471", Serial: "AB0047110", Reference: "WR-A1B2-C3D4"}.fields()
	for word, want := range map[string]Found{
		"wal": {1, 1}, "all": {0, 1}, "4711": {1, 1}, "2c3d": {1, 0}, "b2-c": {0, 1}, "47110": {1, 1}, "oven4": {},
	} {
		if got := (Search{Words: []string{word}}).in(fields); got != want {
			t.Errorf("%q: %+v, want %+v", word, got, want)
		}
	}
}
