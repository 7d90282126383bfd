package sheet

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestLengthsAreExact (A4): "2.5 years" ended five years later, "1.5" was six months,
// and a bare 2 in the column Warranty was silently read as two months.
func TestLengthsAreExact(t *testing.T) {
	for text, want := range map[string]length{
		"": {}, "0": {}, "24 months": {24, 0}, "2 years": {24, 0}, "1 year 6 months": {18, 0},
		"1 Year, 6 Months and 3 Days": {18, 3}, "2y": {24, 0}, "1y6m": {18, 0},
		"36 mo.": {36, 0}, "18 mo": {18, 0}, "18 months": {18, 0}, "90 days": {0, 90}, "2 weeks": {0, 14},
		"2-year": {24, 0}, "24-month": {24, 0},
		"2 Jahre": {24, 0}, "1 Jahr und 6 Monate": {18, 0}, "1 an": {12, 0}, "1 año y 6 meses": {18, 0}, "2 anni": {24, 0},
		"2 jaar":    {24, 0},
		"2.5 years": {30, 0}, "1,5 Jahre": {18, 0}, "0.5 years": {6, 0}, "0,25 Jahre": {3, 0}, "2.0 years": {24, 0},
		"24.0 months": {24, 0}, "1.75 y": {21, 0},
	} {
		if got, err := importLength(text, noUnit); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]error{
		"2": errBare, "24": errBare, "1.5": errBare, "1,5": errBare,
		"1.3 years": errUneven, "1.5 months": errUneven, "0.5 weeks": errUneven, "1.5 weeks": errUneven,
		"2.5 days":   errUneven,
		"1,500 days": errGroups, "1.500 Tage": errGroups, "2.125 years": errGroups,
		"2 years 3 years": errTwice, "1 year 6": errLength, "2 j": errLength, "1.5.2026": errLength, "1/2 year": errLength,
		"1-2 years": errLength, "2–3 years": errLength,
		"two years": errLength, "2 parsecs": errLength, "-1": errLength, "-1 years": errLength, "1e9": errLength,
		"99999999999999999999 months": errLength, "2 years?": errLength,
		"n/a": errLength, "40000 days": errLength, "2 years and": errLength, "1 000 days": errLength, "½ year": errLength,
	} {
		if got, err := importLength(text, noUnit); !errors.Is(err, want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, test := range []struct {
		text string
		unit unit
		want length
		err  error
	}{
		{"2", years, length{24, 0}, nil}, {"2.5", years, length{30, 0}, nil}, {"1,5", years, length{18, 0}, nil},
		{"18", months, length{18, 0}, nil}, {"90", days, length{0, 90}, nil},
		{"1.3", years, length{}, errUneven}, {"1.5", months, length{}, errUneven}, {"24 months", years, length{24, 0}, nil},
	} {
		if got, err := importLength(test.text, test.unit); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%q of %d is %v, %v", test.text, test.unit, got, err)
		}
	}
}

func TestEndsOfLengths(t *testing.T) {
	for _, test := range []struct {
		start string
		l     length
		end   string
	}{
		{"2026-03-01", length{24, 0}, "2028-02-29"}, {"2026-01-15", length{24, 0}, "2028-01-14"},
		{"2026-01-31", length{1, 0}, "2026-02-28"}, {"2024-02-29", length{12, 0}, "2025-02-28"},
		{"2024-02-29", length{48, 0}, "2028-02-28"}, {"2026-01-01", length{0, 1}, "2026-01-01"},
		{"2026-01-01", length{18, 15}, "2027-07-15"}, {"2026-12-31", length{2, 0}, "2027-02-28"},
		{"2026-08-31", length{1, 0}, "2026-09-30"}, {"2026-03-01", length{30, 0}, "2028-08-31"},
	} {
		start, _ := warranty.ParseDate(test.start)
		if got := test.l.lastDay(start).String(); got != test.end {
			t.Errorf("%v from %s ends %s, want %s", test.l, test.start, got, test.end)
		}
	}
}

// exactly computes a length with rational numbers.
func exactly(number string, u unit) (length, bool) {
	n, ok := new(big.Rat).SetString(strings.ReplaceAll(number, ",", "."))
	if !ok {
		return length{}, false
	}
	switch u {
	case years:
		n.Mul(n, big.NewRat(12, 1))
	case weeks:
		if !n.IsInt() {
			return length{}, false
		}
		n.Mul(n, big.NewRat(7, 1))
	}
	if !n.IsInt() {
		return length{}, false
	}
	if u == weeks || u == days {
		return length{days: int(n.Num().Int64())}, true
	}
	return length{months: int(n.Num().Int64())}, true
}

// TestNoLengthIsReadAsAnother (A4): every accepted length equals the result of exact
// arithmetic; all others are rejected.
func TestNoLengthIsReadAsAnother(t *testing.T) {
	var wordList [days + 1][]string
	for word, u := range unitWords {
		wordList[u] = append(wordList[u], word)
	}
	testenv.Property(t, func(t *rapid.T) {
		number := fmt.Sprint(rapid.IntRange(0, 999).Draw(t, "whole"))
		if rapid.Bool().Draw(t, "decimal") {
			number += rapid.SampledFrom([]string{".", ","}).Draw(t, "point") +
				rapid.StringMatching(`[0-9]{1,4}`).Draw(t, "decimals")
		}
		u := unit(rapid.IntRange(int(years), int(days)).Draw(t, "unit"))
		text := number + rapid.SampledFrom([]string{"", " ", "-", "  "}).Draw(t, "space") +
			rapid.SampledFrom(wordList[u]).Draw(t, "word")
		got, err := importLength(text, noUnit)
		want, whole := exactly(number, u)
		switch {
		case err == nil && (!whole || got != want):
			t.Fatalf("%q is read as %v", text, got)
		case err != nil && whole && !errors.Is(err, errGroups):
			t.Fatalf("%q was rejected: %v", text, err)
		}
		// A number without a unit is rejected, or has the unit of its column.
		if l, err := importLength(number, noUnit); err == nil && !l.isZero() {
			t.Fatalf("%q alone is %v", number, l)
		}
		if l, err := importLength(number, u); err == nil && l != want {
			t.Fatalf("%q of a column is %v, want %v", number, l, want)
		}
	})
}

func FuzzImportLength(f *testing.F) {
	for _, text := range []string{"2.5 years", "1 year 6 months", "1,500 days", "2", "1y6m"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := importLength(text, noUnit)
		if err != nil && !l.isZero() || l.months < 0 || l.days < 0 {
			t.Errorf("%q is %v, %v", text, l, err)
		}
		if err == nil && !l.isZero() && strings.Trim(text, "0123456789.,-+ \t\n") == "" {
			t.Errorf("%q has no unit and is %v", text, l)
		}
	})
}

func TestColumnsNameTheirUnit(t *testing.T) {
	for name, want := range map[string]unit{
		"Warranty (years)": years, "Warranty (months)": months, "Warranty months": months, "Years of warranty": years,
		"warranty_period_days": days, "WarrantyYears": years,
		"Garantie (Jahre)": years, "Garantie in Monaten": months, "Garantiezeit (Monate)": months,
		"Garantie (mois)": months, "warranty_mo": months,
		"Warranty": noUnit, "Warranty m": noUnit, "Days remaining": noUnit, "Months until service": noUnit, "Year": noUnit,
		"Warranty years or months": noUnit,
	} {
		if got := unitOf(name); got != want {
			t.Errorf("%q is of %d, want %d", name, got, want)
		}
	}
}

// TestLengthsOfColumns (A4): a number has the unit in the name of its column. Without
// one, the row is rejected, and the error names the column.
func TestLengthsOfColumns(t *testing.T) {
	for _, test := range []struct{ header, cells, want string }{
		{"Warranty (years)", "2.5", "2028-08-31"}, {"Garantie (Jahre)", "\"1,5\"", "2027-08-31"},
		{"Warranty months", "18", "2027-08-31"}, {"Jahre", "2", "2028-02-29"}, {"months", "6", "2026-08-31"},
		{"Warranty", "2 years", "2028-02-29"}, {"Warranty", "lifetime", "9999-12-31"},
		{"Warranty,Warranty months", "2 years,24", "2028-02-29"}, {"Warranty years,Warranty months", "1,6", "2027-08-31"},
		{"Warranty", "2",
			"end_date (column Warranty): The warranty length is invalid: the number has no unit; write 24 months, or map " +
				"the column to years or months."},
		{"Warranty (years)", "1.3",
			"end_date (column Warranty (years)): The warranty length is invalid: the decimal is not a whole number of " +
				"months or days; write 15 months, for example."},
		{"Warranty,Warranty months", "2 years,12",
			"end_date (column Warranty, Warranty months): The warranty length is invalid: two columns have different " +
				"lengths; correct one, or leave a column out."},
		{"Warranty years,Warranty months", "2,24",
			"end_date (column Warranty years, Warranty months): The warranty length is invalid: both the years and the " +
				"months column have a year or more; leave one out."},
		{"Warranty years,Jahre", "2,3",
			"end_date (column Jahre, Warranty years): The warranty length is invalid: two columns have different lengths; " +
				"correct one, or leave a column out."},
	} {
		_, rows := readAll(t, "Product,Start date,"+test.header+"\nKettle,2026-03-01,"+test.cells+"\n", Options{})
		got := rows[0].Reason()
		if rows[0].Err == nil {
			got = rows[0].Input.EndDate.String()
		}
		if got != test.want {
			t.Errorf("%s %s:\n%s, want\n%s", test.header, test.cells, got, test.want)
		}
	}
}
