package sheet

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
)

// utf16Text encodes a text in UTF-16, with or without a byte order mark.
func utf16Text(text string, big, mark bool) string {
	if mark {
		text = "\uFEFF" + text
	}
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		if high, low := byte(u>>8), byte(u); big {
			b.Write([]byte{high, low})
		} else {
			b.Write([]byte{low, high})
		}
	}
	return b.String()
}

// TestEncodings reads the same sheet in every encoding that Excel writes.
func TestEncodings(t *testing.T) {
	const text = "Bezeichnung;Kaufdatum;Garantie;Händler\nKühlschrank – groß;01.03.2026;2 Jahre;Müller\n"
	windows := strings.NewReplacer("ü", "\xfc", "ß", "\xdf", "ä", "\xe4", "–", "\x96").Replace(text)
	for name, test := range map[string]struct {
		bytes  string
		chosen Encoding
		want   Encoding
	}{
		"UTF-8": {text, Detect, UTF8}, "UTF-8 with BOM": {"\xEF\xBB\xBF" + text, Detect, UTF8},
		"UTF-8 chosen":              {"\xEF\xBB\xBF" + text, UTF8, UTF8},
		"UTF-16 LE":                 {utf16Text(text, false, true), Detect, UTF16LE},
		"UTF-16 BE":                 {utf16Text(text, true, true), Detect, UTF16BE},
		"UTF-16 LE without BOM":     {utf16Text(text, false, false), Detect, UTF16LE},
		"UTF-16 BE without BOM":     {utf16Text(text, true, false), Detect, UTF16BE},
		"UTF-16 chosen":             {utf16Text(text, true, true), UTF16LE, UTF16BE},
		"UTF-16 chosen without BOM": {utf16Text(text, true, false), UTF16BE, UTF16BE},
		"Windows-1252":              {windows, Detect, Windows1252},
		"Windows-1252 chosen":       {windows, Windows1252, Windows1252},
	} {
		r, err := Open(strings.NewReader(test.bytes), Options{Encoding: test.chosen})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		row, err := r.Next()
		if err != nil || row.Err != nil || row.Input.ProductName != "Kühlschrank – groß" ||
			row.Input.SellerName != "Müller" || r.Assumed().Encoding != test.want || r.Assumed().Separator != ";" {
			t.Errorf("%s: %+v %v %v, %+v", name, row.Input, row.Err, err, r.Assumed())
		}
	}
}

// TestOtherEncodingsAreFoundBehindTheHead: a letter far into the file shows that it is
// not UTF-8.
func TestOtherEncodingsAreFoundBehindTheHead(t *testing.T) {
	text := "name,start_date,end_date\n" + strings.Repeat("Kettle,2026-01-01,2027-01-01\n", 5000) +
		"K\xfchler,2026-01-01,2027-01-01\n"
	r, rows := readAll(t, text, Options{})
	if last := rows[len(rows)-1]; last.Input.ProductName != "Kühler" || r.Assumed().Encoding != Windows1252 {
		t.Errorf("%+v %+v", last, r.Assumed())
	}
	// With UTF-8 chosen, the row fails, and the error says how to fix it.
	_, rows = readAll(t, text, Options{Encoding: UTF8})
	if last := rows[len(rows)-1]; last.Err == nil || !strings.Contains(last.Reason(), "windows-1252") {
		t.Errorf("%s", last.Reason())
	}
	if !validAcrossReads(strings.Repeat("ü", 100_000)) || validAcrossReads("x"+strings.Repeat("ü", 100_000)+"\xfc") {
		t.Error("characters split across reads are not joined")
	}
}

func validAcrossReads(text string) bool { return readsAsUTF8(strings.NewReader(text)) }

// TestHeadersThatAreNotText // C9: the error for a header that is not UTF-8 was {}.
func TestHeadersThatAreNotText(t *testing.T) {
	for name, test := range map[string]struct {
		text   string
		chosen Encoding
	}{
		"not UTF-8": {"K\xfchler,start_date,end_date\n", UTF8}, "workbook": {"PK\x03\x04rest", Detect},
		"old workbook": {"\xD0\xCF\x11\xE0rest", Detect}, "empty": {"", Detect},
	} {
		var fault *Fault
		if _, err := Open(strings.NewReader(test.text), Options{Encoding: test.chosen}); !errors.As(err, &fault) ||
			fault.Fix.String() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, rows := readAll(t, utf16Text("name,start_date,end_date\nA,2026-01-01,2027-01-01\n", false, true)+"\x00\xd8x\x00",
		Options{})
	if rows[len(rows)-1].Err == nil {
		t.Error("half of a surrogate pair was accepted")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add("name,start_date,end_date\nA,2026-01-01,2027-01-01\n", "")
	f.Add(utf16Text("name,start_date,end_date\nA,2026-01-01,2027-01-01\n", true, true), "utf-16be")
	f.Fuzz(func(t *testing.T, text, chosen string) {
		e, _ := ParseEncoding(chosen)
		r, err := Open(strings.NewReader(text), Options{Encoding: e})
		if err != nil {
			return
		}
		for range 1000 {
			if _, err := r.Next(); err != nil {
				return
			}
		}
	})
}
