package warranty_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

func TestParseDate(t *testing.T) {
	for _, tc := range []struct {
		text string
		want warranty.Date
	}{
		{"0001-01-01", 1},
		{"0001-12-31", 365},
		{"1969-12-31", 719162},
		{"1970-01-01", 719163},
		{"1900-02-28", warranty.NewDate(1900, time.February, 28)},
		{"2000-02-29", warranty.NewDate(2000, time.February, 29)},
		{"2024-02-29", warranty.NewDate(2024, time.February, 29)},
		{"2026-12-31", warranty.NewDate(2026, time.December, 31)},
		{"9999-12-31", warranty.Lifetime},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := warranty.ParseDate(tc.text)
			if err != nil || got != tc.want {
				t.Fatalf("ParseDate = %d, %v; want %d", got, err, tc.want)
			}
			if got.String() != tc.text {
				t.Errorf("formatted again it is %q", got)
			}
		})
	}
}

func TestParseDateRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                    "",
		"year zero":                  "0000-12-31",
		"no such leap day":           "2026-02-29",
		"century without a leap day": "1900-02-29",
		"30 February":                "2026-02-30",
		"31 April":                   "2026-04-31",
		"day zero":                   "2026-01-00",
		"month zero":                 "2026-00-10",
		"month 13":                   "2026-13-01",
		"one digit":                  "2026-2-3",
		"one digit, filled up":       "2026-2-003",
		"two-digit year":             "26-02-03",
		"five-digit year":            "12026-02-03",
		"negative year":              "-026-02-03",
		"signed year":                "+026-02-03",
		"no hyphens":                 "20260203",
		"slashes":                    "2026/02/03",
		"other hyphens":              "2026‐02‐03",
		"day first":                  "03-02-2026",
		"space before":               " 2026-02-03",
		"space behind":               "2026-02-03 ",
		"space for a zero":           "2026- 2- 3",
		"newline behind":             "2026-02-03\n",
		"NUL behind":                 "2026-02-03\x00",
		"with a time":                "2026-02-03T00:00:00Z",
		"full-width digits":          "２０２６-02-03",
		"arabic digits":              "٢٠٢٦-٠٢-٠٣",
		"arabic digits in 10 bytes":  "٢٠26-2-3",
		"invalid UTF-8":              "2026-02-0\xff",
		"a word":                     "yesterday!",
	} {
		t.Run(name, func(t *testing.T) {
			if d, err := warranty.ParseDate(text); err == nil {
				t.Errorf("ParseDate(%q) = %s", text, d)
			}
		})
	}
}

func anyDate() *rapid.Generator[warranty.Date] {
	return rapid.Custom(func(t *rapid.T) warranty.Date {
		return warranty.Date(rapid.Int32Range(1, int32(warranty.Lifetime)).Draw(t, "date"))
	})
}

func TestDateRoundTrip(t *testing.T) {
	testenv.Property(t, func(t *rapid.T) {
		d := anyDate().Draw(t, "d")
		if got, err := warranty.ParseDate(d.String()); err != nil || got != d {
			t.Errorf("%d is encoded as %s and read as %d, %v", d, d, got, err)
		}
		var unmarshalled warranty.Date
		if err := unmarshalled.UnmarshalText(must(d.MarshalText())); err != nil || unmarshalled != d {
			t.Errorf("%s is parsed as %s, %v", d, unmarshalled, err)
		}
		if got := warranty.FromEpochDay(d.EpochDay()); got != d {
			t.Errorf("%s is stored as %d and read as %s", d, d.EpochDay(), got)
		}
	})
}

// TestDateAgainstTime compares every possible day with package time.
func TestDateAgainstTime(t *testing.T) {
	want := time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)
	for d := warranty.Date(1); d <= warranty.Lifetime; d++ {
		if !d.Time().Equal(want) || d.EpochDay() != want.Unix()/86400 {
			t.Fatalf("Date %d is %s, epoch day %d; want %s", d, d.Time(), d.EpochDay(), want)
		}
		want = want.AddDate(0, 0, 1)
	}
	if want.Year() != 10000 {
		t.Errorf("the day after the last one is %s", want)
	}
}

func TestDateOf(t *testing.T) {
	auckland := time.FixedZone("NZDT", 13*60*60)
	for name, tc := range map[string]struct {
		at   time.Time
		want string
	}{
		"first instant":           {time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "2026-03-01"},
		"last nanosecond":         {time.Date(2026, 3, 1, 23, 59, 59, 999999999, time.UTC), "2026-03-01"},
		"the day is the UTC day":  {time.Date(2026, 3, 1, 12, 0, 0, 0, auckland), "2026-02-28"},
		"just before 1970":        {time.Unix(-1, 0), "1969-12-31"},
		"first second of 1969":    {time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), "1969-12-31"},
		"long before 1970, noon":  {time.Date(1, 1, 1, 12, 0, 0, 0, time.UTC), "0001-01-01"},
		"last second of any time": {time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), "9999-12-31"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := warranty.DateOf(tc.at).String(); got != tc.want {
				t.Errorf("DateOf = %s, want %s", got, tc.want)
			}
		})
	}
}

func TestDateAddYears(t *testing.T) {
	for name, tc := range map[string][2]string{
		"plain":               {"2026-03-01", "2028-03-01"},
		"leap day to none":    {"2024-02-29", "2026-03-01"},
		"end of year":         {"2026-12-31", "2028-12-31"},
		"day before leap day": {"2026-02-28", "2028-02-28"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := must(warranty.ParseDate(tc[0])).AddYears(2).String(); got != tc[1] {
				t.Errorf("two years after %s is %s, want %s", tc[0], got, tc[1])
			}
		})
	}
}

func TestZeroDateIsEmpty(t *testing.T) {
	var d warranty.Date
	if !d.IsZero() || d.String() != "" || len(must(d.MarshalText())) != 0 {
		t.Errorf("the zero date is encoded as %q", d)
	}
	d = warranty.Lifetime
	if err := d.UnmarshalText(nil); err != nil || !d.IsZero() {
		t.Errorf("an empty string is parsed as %s, %v", d, err)
	}
}

func FuzzParseDate(f *testing.F) {
	for _, seed := range []string{"2026-02-03", "0001-01-01", "9999-12-31", "2024-02-29", "2026-2-3", "", "２０２６-02-03"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := warranty.ParseDate(text)
		std, stdErr := time.Parse(time.DateOnly, text)
		if err != nil {
			if stdErr == nil && std.Year() > 0 {
				t.Errorf("the valid day %q is rejected", text)
			}
			return
		}
		if d.String() != text || d < 1 || d > warranty.Lifetime {
			t.Errorf("%q is parsed as %d, %s", text, d, d)
		}
	})
}
