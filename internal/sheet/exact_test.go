package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// telling are texts that mean something else in the files of other programs: none, a total, a column name, a formula, a
// number that a spreadsheet changed, or the end of a cell.
var telling = []string{
	"-", "--", "–", "—", "_", "/", ".", "n/a", "N/A", "na", "nil", "null", "none", "unknown", "keine", "keiner", "kein",
	"keine Angabe", "k.A.", "ohne", "nicht vorhanden", "unbekannt", "entfällt", "#N/A", "#NV", "#REF!", "#DIV/0!", "#NAME?",
	"#", "##", "####", "##########", "0", "1", "x", "xx", "?", "*", "tbd", "yes", "true", "false",
	"Total", "total:", "Total Care", "Summe", "Gesamt", "Anzahl 3", "Subtotal",
	"Product", "product_name", "Serial number", "id", "sep=;", "lifetime", "lebenslang", "2 years", "24",
	"4,23E+12", "4.23E+12", "1234567000000", "2026-01-01", "01.02.2026", "45987", "807,77 €", "1.234,56", "$ 5",
	"0001-01-01", "'", "''", "'=1", "=1", "+1", "-1", "@x", "＝1", "a=b", `"`, `""`, `27" monitor`, ",", ";", ";;;;", "|",
	"a;b;c", "a b", "<b>", "&amp;", "ÄÖÜ", "é", "e\u0301", "日本", "😀", "PK", "%PDF",
}

// exported writes records as our own export.
func exported(t *testing.T, records ...warranty.Warranty) string {
	t.Helper()
	var b bytes.Buffer
	e := NewExport(&b, nil)
	e.Head()
	for _, w := range records {
		e.Add(w)
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// imported reads a file and fails for rows that are skipped or invalid.
func imported(t *testing.T, text string) (rows []Row) {
	t.Helper()
	r, err := Open(strings.NewReader(text), Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || row.Err != nil || row.Skip != "" {
			t.Fatalf("line %d: %v %v skipped %q\n%s", row.Line, err, row.Err, row.Skip, text)
		}
		rows = append(rows, row)
	}
	if n := len(r.Readings()); n > 0 {
		t.Errorf("an export is read as something else: %+v", r.Readings())
	}
	return rows
}

// TestOurOwnExportComesBackEqual writes each telling text into each text of a record, alone and in all of them at once:
// none is dropped, refused or read as something else.
func TestOurOwnExportComesBackEqual(t *testing.T) {
	texts := map[string]func(*warranty.Warranty, *warranty.CreateWarranty) (stored **string, read *string){
		"serial number": func(w *warranty.Warranty, in *warranty.CreateWarranty) (**string, *string) {
			return &w.SerialNumber, &in.SerialNumber
		},
		"description": func(w *warranty.Warranty, in *warranty.CreateWarranty) (**string, *string) {
			return &w.Description, &in.Description
		},
		"external id": func(w *warranty.Warranty, in *warranty.CreateWarranty) (**string, *string) {
			return &w.ExternalID, &in.ExternalID
		},
		"category": func(w *warranty.Warranty, in *warranty.CreateWarranty) (**string, *string) {
			return &w.Category, &in.Category
		},
		"supplier": func(w *warranty.Warranty, in *warranty.CreateWarranty) (**string, *string) {
			return &w.Supplier, &in.Supplier
		},
		"seller": func(w *warranty.Warranty, in *warranty.CreateWarranty) (**string, *string) {
			return &w.SellerName, &in.SellerName
		},
		"brand": func(w *warranty.Warranty, in *warranty.CreateWarranty) (**string, *string) {
			return &w.Brand, &in.Brand
		},
		"model": func(w *warranty.Warranty, in *warranty.CreateWarranty) (**string, *string) {
			return &w.Model, &in.Model
		},
		"customer": func(w *warranty.Warranty, in *warranty.CreateWarranty) (**string, *string) {
			return &w.CustomerName, &in.CustomerName
		},
	}
	record := func() warranty.Warranty {
		return warranty.Warranty{ProductName: "Kettle", StartDate: warranty.NewDate(2026, 1, 1), EndDate: warranty.NewDate(2027, 12, 31),
			Status: warranty.Active}
	}
	is := func(name, value, got string) {
		if got != strings.TrimSpace(value) {
			t.Errorf("the %s %q came back as %q", name, value, got)
		}
	}
	for _, text := range telling {
		all := record()
		all.ProductName = text
		records, names := []warranty.Warranty{}, slices.Sorted(maps.Keys(texts))
		for _, name := range names {
			w := record()
			stored, _ := texts[name](&w, &warranty.CreateWarranty{})
			*stored = &text
			records = append(records, w)
			if name != "external id" { // no two records have the same
				stored, _ = texts[name](&all, &warranty.CreateWarranty{})
				*stored = &text
			}
		}
		rows := imported(t, exported(t, append(records, all)...))
		if len(rows) != len(names)+1 {
			t.Fatalf("%q: %d rows", text, len(rows))
		}
		is("product", text, rows[len(names)].Input.ProductName)
		for i, name := range names {
			_, read := texts[name](&all, &rows[i].Input)
			is(name, text, *read)
			if name != "external id" {
				_, read = texts[name](&all, &rows[len(names)].Input)
				is(name, text, *read)
			}
		}
	}
}

// TestSeparatorsInsideCellsDoNotSplitAnExport: many semicolons in every record are no reason to take them for separators.
func TestSeparatorsInsideCellsDoNotSplitAnExport(t *testing.T) {
	for _, text := range []string{strings.Repeat(";", 60), strings.Repeat("|", 60), strings.Repeat("a;|", 20)} {
		var records []warranty.Warranty
		for i := range 5 {
			records = append(records, warranty.Warranty{ProductName: fmt.Sprint(text, i), Supplier: &text, StartDate: warranty.NewDate(2026, 1, 1),
				EndDate: warranty.NewDate(2027, 12, 31), Status: warranty.Active})
		}
		if rows := imported(t, exported(t, records...)); len(rows) != 5 || rows[0].Input.Supplier != text {
			t.Errorf("%q: %d rows", text, len(rows))
		}
	}
}

// TestHashesOfANarrowColumn: a text copied from a spreadsheet with a narrow column has hashes in place of a number. They
// are refused by name where a number is expected and are a text like any other elsewhere.
func TestHashesOfANarrowColumn(t *testing.T) {
	const head = "Artikel;Kaufdatum;Garantie;Seriennummer;Preis;Verkäufer\n"
	read := func(line string) Row {
		r, err := Open(strings.NewReader(head+line+"\n"), Options{Currency: "EUR"})
		if err != nil {
			t.Fatal(err)
		}
		row, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	good := read("##;01.03.2026;2 Jahre;##;12,00;##")
	if good.Err != nil || good.Input.ProductName != "##" || good.Input.SerialNumber != "##" || good.Input.SellerName != "##" {
		t.Errorf("short names became %+v, %v", good.Input, good.Err)
	}
	if long := read("Kettle;01.03.2026;2 Jahre;;12,00;########"); long.Err != nil || long.Input.SellerName != "########" {
		t.Errorf("a seller became %+v, %v", long.Input, long.Err)
	}
	for field, line := range map[string]string{
		"serial_number": "Kettle;01.03.2026;2 Jahre;########;12,00;x",
		"start_date":    "Kettle;########;2 Jahre;S-1;12,00;x",
		"price":         "Kettle;01.03.2026;2 Jahre;S-1;######;x",
		"end_date":      "Kettle;01.03.2026;#####;S-1;12,00;x",
	} {
		faults := read(line).Faults()
		if len(faults) == 0 || faults[0].Field != field {
			t.Errorf("%s: %+v", line, faults)
		}
	}
}
