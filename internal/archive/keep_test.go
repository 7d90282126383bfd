package archive_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestNamesOfBackups: names are unique per database, sort by time and are read back.
func TestNamesOfBackups(t *testing.T) {
	t.Parallel()
	database := warranty.ID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xab, 0xcd, 0xef, 1, 2, 3}
	at := time.Date(2026, 11, 1, 3, 4, 12, 0, time.UTC)
	const plain, encrypted = "svcd-20261101T030412Z-abcdef010203.tar", "svcd-20261101T030412Z-abcdef010203.tar.age"
	if got := archive.Name(at.In(time.FixedZone("", 3600)), database, false); got != plain {
		t.Error(got)
	}
	if got := archive.Name(at, database, true); got != encrypted {
		t.Error(got)
	}
	for _, name := range []string{plain, encrypted} {
		if got, ok := archive.ParseName(name, database); !ok || !got.Equal(at) {
			t.Error(name, got, ok)
		}
		if _, ok := archive.ParseName(name, warranty.ID{9}); ok {
			t.Errorf("%s is a backup of another database", name)
		}
	}
	for _, name := range []string{"monday.tar", plain + ".gz", "x" + plain, plain + ".123.partial", "svcd-20261301T030412Z-abcdef010203.tar",
		"svcd-20261101T030412Z.tar", "", "svcd-20261101T030412Z-ABCDEF010203.tar"} {
		if at, ok := archive.ParseName(name, database); ok {
			t.Errorf("%s is taken for a backup of %v", name, at)
		}
	}
}

// TestPoliciesAreParsed refuses everything that is not a list of known rules.
func TestPoliciesAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]archive.Policy{
		"daily=7,weekly=4,monthly=12": {Daily: 7, Weekly: 4, Monthly: 12},
		"last=1":                      {Last: 1},
		"monthly=10000,daily=1":       {Monthly: 10000, Daily: 1},
	} {
		if got, err := archive.ParsePolicy(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "14", "daily", "daily=", "daily=0", "daily=-1", "daily=7,", "daily=7,daily=8", "hourly=3",
		"daily=7 weekly=4", "daily=10001", "daily=99999999999999999999", "Daily=7", "daily=7;weekly=4"} {
		if got, err := archive.ParsePolicy(text); err == nil || !strings.Contains(err.Error(), "daily=7,weekly=4,monthly=12") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestWhatPoliciesDelete is a table of policies and days.
func TestWhatPoliciesDelete(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, policy, times, deleted string }{
		{"fewer than kept", "daily=7", "11-01 11-02 11-03", ""},
		{"the oldest days", "daily=2", "11-01 11-02 11-03", "11-01"},
		{"days without a backup do not count", "daily=2", "01-01 06-01 11-03", "01-01"},
		{"the newest of a day", "daily=2", "11-01T03 11-01T09 11-02T03", "11-01T03"},
		{"in any order", "daily=2", "11-03 11-01 11-02", "11-01"},
		{"the newest of a week", "weekly=2", "11-01 11-02 11-08 11-09", "11-01 11-02"}, // 2 Nov 2026 is a Monday
		{"the newest of a month", "monthly=2", "09-30 10-01 10-31 11-01", "09-30 10-01"},
		{"rules add up", "daily=1,weekly=2,monthly=3", "09-15 10-15 10-31 11-01 11-02 11-03", "10-15 11-02"},
		{"the last ones", "last=2", "11-01T03 11-01T09 11-01T10", "11-01T03"},
		{"one", "last=1", "11-01", ""},
		{"none", "daily=1", "", ""},
	} {
		policy, err := archive.ParsePolicy(test.policy)
		if err != nil {
			t.Fatal(err)
		}
		var times []time.Time
		names := strings.Fields(test.times)
		for _, name := range names {
			layout := "2006-01-02T15"
			if !strings.Contains(name, "T") {
				layout = "2006-01-02"
			}
			at, err := time.Parse(layout, "2026-"+name)
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, at)
		}
		var deleted []string
		for _, i := range policy.Surplus(times) {
			deleted = append(deleted, names[i])
		}
		if got := strings.Join(deleted, " "); got != test.deleted {
			t.Errorf("%s: %s of %s deletes %q, want %q", test.name, test.policy, test.times, got, test.deleted)
		}
	}
}

// TestPoliciesKeepWhatTheyPromise with any policy and any times: the newest stays, and so do enough days, weeks,
// months and newest backups. Deleting again deletes nothing.
func TestPoliciesKeepWhatTheyPromise(t *testing.T) {
	t.Parallel()
	testenv.Property(t, func(t *rapid.T) {
		number := rapid.IntRange(0, 12)
		policy := archive.Policy{Last: number.Draw(t, "last"), Daily: number.Draw(t, "daily"),
			Weekly: number.Draw(t, "weekly"), Monthly: number.Draw(t, "monthly")}
		start := time.Date(2025, 12, 20, 0, 0, 0, 0, time.UTC)
		var times []time.Time
		for _, hours := range rapid.SliceOfN(rapid.IntRange(0, 500*24), 1, 60).Draw(t, "hours") {
			times = append(times, start.Add(time.Duration(hours)*time.Hour))
		}
		surplus := policy.Surplus(times)
		var kept []time.Time
		for i, at := range times {
			if !slices.Contains(surplus, i) {
				kept = append(kept, at)
			}
		}
		newest := slices.MaxFunc(times, time.Time.Compare)
		if !slices.Contains(kept, newest) {
			t.Fatalf("%+v deletes the newest of %v", policy, times)
		}
		for _, promise := range []struct {
			count  int
			period func(time.Time) string
		}{
			{policy.Daily, func(at time.Time) string { return at.Format(time.DateOnly) }},
			{policy.Weekly, func(at time.Time) string { // the Monday
				return at.AddDate(0, 0, -(int(at.Weekday())+6)%7).Format(time.DateOnly)
			}},
			{policy.Monthly, func(at time.Time) string { return at.Format("2006-01") }},
		} {
			for _, period := range newestPeriods(times, promise.period, promise.count) {
				last := newestIn(times, promise.period, period)
				if !slices.Contains(kept, last) {
					t.Fatalf("%+v deletes %v, the newest of %s, of %v", policy, last, period, times)
				}
			}
		}
		if len(kept) < min(policy.Last, len(distinct(times))) {
			t.Fatalf("%+v keeps %d of %d", policy, len(kept), len(times))
		}
		if len(kept) > 1+policy.Last+policy.Daily+policy.Weekly+policy.Monthly {
			t.Fatalf("%+v keeps %d of %d", policy, len(kept), len(times))
		}
		if again := policy.Surplus(kept); len(again) > 0 {
			t.Fatalf("%+v deletes %v of what it kept, %v", policy, again, kept)
		}
	})
}

func distinct(times []time.Time) []time.Time {
	list := slices.SortedFunc(slices.Values(times), time.Time.Compare)
	return slices.CompactFunc(list, time.Time.Equal)
}

// newestPeriods returns the latest periods that have a time.
func newestPeriods(times []time.Time, period func(time.Time) string, count int) []string {
	var list []string
	for _, at := range times {
		list = append(list, period(at))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[max(0, len(list)-count):]
}

func newestIn(times []time.Time, period func(time.Time) string, name string) (newest time.Time) {
	for _, at := range times {
		if period(at) == name && at.After(newest) {
			newest = at
		}
	}
	return newest
}
