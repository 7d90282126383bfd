package sheet

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bookParts returns the parts of a workbook with one sheet.
func bookParts(rows string) map[string]string {
	const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	return map[string]string{
		"_rels/.rels": `<Relationships><Relationship Id="r" Type="` + office +
			`officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml": `<workbook xmlns:r="r"><sheets><sheet name="A" r:id="s"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="s" Type="` + office +
			`worksheet" Target="sheet.xml"/></Relationships>`,
		"xl/sheet.xml": `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`,
	}
}

func packed(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range parts {
		f, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const bookHeader = `<row><c t="inlineStr"><is><t>Product</t></is></c><c t="inlineStr"><is><t>Start date</t></is></c>` +
	`<c t="inlineStr"><is><t>End date</t></is></c></row>`

// TestBadWorkbooks: a workbook that is broken, or much larger than it looks, is a clear error.
func TestBadWorkbooks(t *testing.T) {
	cell := `<row><c t="inlineStr"><is><t>` + strings.Repeat("x", 1000) + `</t></is></c></row>`
	with := func(name, text string) map[string]string {
		parts := bookParts(bookHeader)
		if parts[name] = text; text == "" {
			delete(parts, name)
		}
		return parts
	}
	const unreadable, large = "We can't read this file.", "The workbook is too large when it is unpacked."
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"not a workbook":    {[]byte("PK\x03\x04rest"), unreadable},
		"an old workbook":   {[]byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1rest"), unreadable},
		"a PDF":             {[]byte("%PDF-1.7\n"), unreadable},
		"a picture":         {[]byte("\x89PNG\r\n\x1a\n"), unreadable},
		"bytes":             {[]byte("name,start\x00\x01\x02,end\n"), unreadable},
		"another archive":   {packed(t, map[string]string{"readme.txt": "x"}), unreadable},
		"no sheet":          {packed(t, with("xl/sheet.xml", "")), unreadable},
		"no relations":      {packed(t, with("xl/_rels/workbook.xml.rels", "")), unreadable},
		"open tags":         {packed(t, bookParts("<row><c><v>1")), unreadable},
		"an unknown text":   {packed(t, bookParts(`<row><c t="s"><v>7</v></c></row>`)), unreadable},
		"a column twice":    {packed(t, bookParts(`<row><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>`)), unreadable},
		"a line twice":      {packed(t, bookParts(`<row r="2"/><row r="2"/>`)), unreadable},
		"a line of its own": {packed(t, bookParts(`<row r="9999999999"/>`)), unreadable},
		"entities":          {packed(t, bookParts(`<!DOCTYPE x [<!ENTITY a "aaaa">]><row><c><v>&a;</v></c></row>`)), unreadable},
		"too wide":          {packed(t, bookParts(`<row><c r="ZZ1"><v>1</v></c></row>`)), "The file has more than 500 columns."},
		"a bomb":            {packed(t, bookParts(bookHeader+strings.Repeat(cell, 20_000))), large},
		"an endless text":   {packed(t, bookParts(bookHeader+`<row><c><v>`+strings.Repeat("1", 2<<20))), large},
		"an endless tag":    {packed(t, bookParts(bookHeader+`<row a="`+strings.Repeat("1", 2<<20))), large},
		"nothing":           {nil, "The file is empty."},
		"an empty sheet":    {packed(t, bookParts("")), "The file is empty."},
	} {
		_, err := Open(bytes.NewReader(test.raw), Options{})
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// TestNumberFormats: a number format makes a number a date or a price, and keeps leading zeros.
func TestNumberFormats(t *testing.T) {
	for _, test := range []struct {
		id                int
		code, value, want string
	}{
		{14, "", "46085", "2026-03-04"},
		{0, "", "46085", "46085"},
		{164, "dd\\.mm\\.yyyy;@", "46085.5", "2026-03-04"},
		{164, `[$-407]d/\ mmm\ yy;@`, "46085", "2026-03-04"},
		{164, `"day "0`, "46085", "46085"},
		{164, "[Red]0.00", "1.5", "1.5"},
		{164, `#,##0.00\ "€"`, "807.77", "807.77 EUR"},
		{164, `#,##0.00\ [$€-407]`, "1299", "1299 EUR"},
		{164, `[$CHF]\ #,##0.00`, "20", "20 CHF"},
		{164, `"$"#,##0.00`, "20", "20"},
		{164, "0000000", "4711", "0004711"},
		{0, "", "4.23E+12", "4230000000000"},
		{0, "", "1.23456789012346E+17", "1.23456789012346E+17"},
		{0, "", "0.30000000000000004", "0.3"},
		{0, "", "-5", "-5"},
		{0, "", "text", "text"},
		{46, "", "0.5", "0.5"},
	} {
		if got := formatOf(test.id, test.code).text(test.value, epoch1900); got != test.want {
			t.Errorf("%d %q %s: %q, want %q", test.id, test.code, test.value, got, test.want)
		}
	}
	if got := formatOf(14, "").text("44623", epoch1904); got != "2026-03-04" {
		t.Errorf("in the 1904 date system: %s", got)
	}
}

// TestRuinedNumbers: what a spreadsheet makes of a long number is no serial number.
func TestRuinedNumbers(t *testing.T) {
	for text, want := range map[string]bool{
		"4,23E+12": true, "4.23E+12": true, "4E+12": true, "4.2e13": true, "4230000000000": true, "2026-04-03": true,
		"03.04.2026": true, "#REF!": true, "########": true, "1.234567890123457E+17": true,
		"": false, "SN-1": false, "4230000123456": false, "12E34": false, "1E5": false, "4E12": false, "100000": false,
		"0004711": false, "3-4": false,
	} {
		if isRuined(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// FuzzFile reads anything without a panic, and with an error that people understand.
func FuzzFile(f *testing.F) {
	names, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add(packed(f, bookParts(bookHeader)))
	f.Fuzz(func(t *testing.T, raw []byte) { openAnything(t, raw) })
}

// FuzzSheet reads any XML of a sheet.
func FuzzSheet(f *testing.F) {
	f.Add(bookHeader + `<row r="3" hidden="1"><c r="A3" t="s"><v>0</v></c><c r="C3" s="1"><f>A1</f><v>46085</v></c></row>`)
	f.Fuzz(func(t *testing.T, rows string) { openAnything(t, packed(t, bookParts(rows))) })
}

func openAnything(t *testing.T, raw []byte) {
	r, err := Open(bytes.NewReader(raw), Options{Length: "2 years", Empty: []string{"serial_number"}})
	for err == nil {
		_, err = r.Next()
	}
	var fault *Fault
	var missing *MissingColumns
	var header *NoHeader
	if !errors.Is(err, io.EOF) && !errors.As(err, &fault) && !errors.As(err, &missing) && !errors.As(err, &header) {
		t.Errorf("%T %v", err, err)
	}
}
