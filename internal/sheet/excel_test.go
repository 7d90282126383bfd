package sheet

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestGermanExcelFile reads what a German Excel writes: a line that declares the separator, German headings, prices with
// commas and signs, and empty rows at the end, which are skipped and counted.
func TestGermanExcelFile(t *testing.T) {
	const text = "sep=;\r\nProdukt;Kaufdatum;Garantieende;Preis;Händler\r\n" +
		"Bohrer;02.01.2026;01.01.2028;1.234,56;Halden\r\nLampe;02.01.2026;01.01.2028;118,09 €;\r\n;;;;\r\n ; ;;;\r\n;;;\r\n"
	r, err := Open(strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Total() != 5 {
		t.Errorf("%d rows", r.Total())
	}
	var got []string
	blank := 0
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || row.Err != nil && row.Input.Price != "1234.56" { // a price needs its currency
			t.Fatalf("line %d: %v, %v", row.Line, err, row.Err)
		}
		if row.Skip == Blank {
			blank++
			continue
		}
		in := row.Input
		got = append(got, strings.Join([]string{in.ProductName, in.StartDate.String(), in.EndDate.String(), in.Price, in.Currency}, " "))
		if len(got) == 1 && row.Line != 3 {
			t.Errorf("the first row is on line %d", row.Line)
		}
	}
	want := "Bohrer 2026-01-02 2028-01-01 1234.56 \nLampe 2026-01-02 2028-01-01 118.09 EUR"
	if strings.Join(got, "\n") != want || blank != 3 {
		t.Errorf("%d blank rows and\n%s\nwant\n%s", blank, strings.Join(got, "\n"), want)
	}
}

// TestImportPrice: what has one meaning is read, and what has two stays as it is.
func TestImportPrice(t *testing.T) {
	for _, c := range []struct{ price, currency, amount, code string }{
		{"", "", "", ""},
		{"12.50", "EUR", "12.50", "EUR"},
		{"118,09", "EUR", "118.09", "EUR"},
		{"1.234,56", "EUR", "1234.56", "EUR"},
		{"1.234.567,8", "", "1234567.8", ""},
		{"1,234.56", "USD", "1234.56", "USD"},
		{"118,09 €", "", "118.09", "EUR"},
		{"€20", "EUR", "20", "EUR"},
		{"20\u00a0€", "", "20", "EUR"},
		{"EUR 20", "", "20", "EUR"},
		{"20,00 CHF", "", "20.00", "CHF"},
		{"19,-", "EUR", "19", "EUR"},
		{"20 €", "USD", "20 €", "USD"}, // they contradict each other
		{"1.234", "EUR", "1.234", "EUR"},
		{"1,234", "EUR", "1,234", "EUR"},
		{"$20", "", "$20", ""}, // many dollars
		{"12,34,56", "", "12,34,56", ""},
		{"gratis", "", "gratis", ""},
	} {
		amount, code := importPrice(c.price, c.currency)
		if amount != c.amount || code != c.code {
			t.Errorf("%q %q: %q %q, want %q %q", c.price, c.currency, amount, code, c.amount, c.code)
		}
	}
}
