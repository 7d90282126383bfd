package sheet

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// workbook is an .xlsx file: a ZIP archive of XML parts (ECMA-376). Only what an import needs is read: cell values,
// the values that formulas had when the file was saved, and the number formats that make a number a date or a price.
type workbook struct {
	parts   map[string]*zip.File
	left    *int64 // bytes that may still be unpacked
	sheets  []sheetPart
	strings []string
	formats []format // by the style of a cell
	epoch   warranty.Date
}

// sheetPart is a sheet and the name of its part.
type sheetPart struct {
	name, part string
	hidden     bool
}

// Limits of a workbook. Real ones unpack to 5 to 30 times their size.
const (
	unpackedAlways = 16 << 20
	unpackedRatio  = 64
	unpackedMost   = 512 << 20
	maxXMLText     = 1 << 20 // bytes between two tags, and within one
	maxStringBytes = 96 << 20
	maxCells       = 10_000_000
)

// openWorkbook opens a sheet of the workbook that starts at an offset of a file.
func openWorkbook(file io.ReadSeeker, start int64, o Options) (source, about, error) {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, about{}, err
	}
	at, ok := file.(io.ReaderAt)
	if !ok {
		return nil, about{}, unreadable() // no random access
	}
	b, err := readWorkbook(io.NewSectionReader(at, start, end-start), end-start)
	if err != nil {
		return nil, about{}, asUnreadable(err)
	}
	info := about{}
	for _, s := range b.sheets {
		info.sheets = append(info.sheets, s.name)
	}
	chosen, err := b.choose(o.Sheet)
	if err != nil {
		return nil, info, err
	}
	info.sheet = chosen.name
	rows, err := b.open(chosen)
	if err != nil {
		return nil, info, asUnreadable(err)
	}
	return rows, info, nil
}

// asUnreadable turns an error in the content of a workbook into a Fault.
func asUnreadable(err error) error {
	var fault *Fault
	if errors.As(err, &fault) {
		return fault
	}
	return unreadable()
}

// choose returns the sheet with a name, or else the first one that is not hidden and has column names.
func (b *workbook) choose(name string) (sheetPart, error) {
	if name != "" {
		i := slices.IndexFunc(b.sheets, func(s sheetPart) bool { return strings.EqualFold(s.name, name) })
		if i >= 0 {
			return b.sheets[i], nil
		}
		var names []string
		for _, s := range b.sheets {
			names = append(names, s.name)
		}
		return sheetPart{}, &Fault{
			What: warranty.Textf("The workbook has no sheet \"%s\".", name),
			Fix:  warranty.Textf("Its sheets are %s.", strings.Join(names, ", ")),
		}
	}
	var first sheetPart
	for _, s := range b.sheets {
		if s.hidden {
			continue
		}
		if first.part == "" {
			first = s
		}
		rows, err := b.open(s)
		if err != nil {
			return s, asUnreadable(err)
		}
		head, err := readHead(rows)
		if err != nil {
			return s, asUnreadable(err)
		}
		if findHeader(head) >= 0 {
			return s, nil
		}
	}
	if first.part == "" {
		return first, unreadable()
	}
	return first, nil
}

// The parts of a workbook, as far as they are read.
type (
	xmlRelations struct {
		List []struct {
			ID     string `xml:"Id,attr"`
			Type   string `xml:"Type,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	xmlWorkbook struct {
		Properties struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name  string `xml:"name,attr"`
			State string `xml:"state,attr"`
			ID    string `xml:"id,attr"`
		} `xml:"sheets>sheet"`
	}
	xmlStyles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			Format int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
)

// readWorkbook reads everything but the sheets.
func readWorkbook(r io.ReaderAt, size int64) (*workbook, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	left := min(unpackedAlways+unpackedRatio*size, unpackedMost)
	b := &workbook{parts: map[string]*zip.File{}, left: &left, epoch: epoch1900}
	for _, f := range archive.File {
		b.parts[strings.ToLower(strings.TrimPrefix(f.Name, "/"))] = f
	}
	main, err := b.mainPart()
	if err != nil {
		return nil, err
	}
	var book xmlWorkbook
	if err := b.decode(main, &book); err != nil {
		return nil, err
	}
	if v := strings.ToLower(book.Properties.Date1904); v == "1" || v == "true" {
		b.epoch = epoch1904
	}
	related, err := b.relations(main)
	if err != nil {
		return nil, err
	}
	for _, s := range book.Sheets {
		if part, ok := related.byID[s.ID]; ok && strings.Contains(part.kind, "/worksheet") {
			b.sheets = append(b.sheets, sheetPart{s.Name, part.name, s.State != "" && s.State != "visible"})
		}
	}
	if len(b.sheets) == 0 {
		return nil, unreadable()
	}
	if part := related.ofKind("/sharedStrings"); part != "" {
		if err := b.readStrings(part); err != nil {
			return nil, err
		}
	}
	if part := related.ofKind("/styles"); part != "" {
		return b, b.readStyles(part)
	}
	return b, nil
}

// relation is a part that another one refers to.
type relation struct{ name, kind string }

type relations struct{ byID map[string]relation }

// ofKind returns the name of the part whose kind ends so, or "".
func (r relations) ofKind(suffix string) string {
	for _, part := range r.byID {
		if strings.HasSuffix(part.kind, suffix) {
			return part.name
		}
	}
	return ""
}

// relations reads the parts that a part refers to. The package itself is the part "".
func (b *workbook) relations(part string) (relations, error) {
	found := relations{byID: map[string]relation{}}
	dir, name := path.Split(part)
	var list xmlRelations
	if err := b.decode(dir+"_rels/"+name+".rels", &list); err != nil {
		return found, err
	}
	for _, rel := range list.List {
		target := strings.TrimPrefix(rel.Target, "/")
		if target == rel.Target {
			target = path.Join(dir, target)
		}
		found.byID[rel.ID] = relation{target, rel.Type}
	}
	return found, nil
}

// mainPart returns the name of the part that lists the sheets.
func (b *workbook) mainPart() (string, error) {
	related, err := b.relations("")
	if err != nil {
		return "", err
	}
	if part := related.ofKind("/officeDocument"); part != "" {
		return part, nil
	}
	return "", unreadable()
}

// decode reads a small part.
func (b *workbook) decode(part string, into any) error {
	r, err := b.part(part)
	if err != nil {
		return err
	}
	defer r.Close() // read-only
	return xml.NewDecoder(r).Decode(into)
}

// part opens a part. Reading more than the limits of the workbook allow fails with a *Fault.
func (b *workbook) part(name string) (*bounded, error) {
	f, ok := b.parts[strings.ToLower(name)]
	if !ok {
		return nil, unreadable()
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	return &bounded{ReadCloser: r, left: b.left}, nil
}

// bounded reads XML with a bounded size and bounded texts, so that neither a small file that unpacks to a large one nor
// one endless text fills the memory.
type bounded struct {
	io.ReadCloser
	left *int64
	text int // bytes since the last tag began
}

// Read reads from the part.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if *b.left -= int64(n); *b.left < 0 {
		return 0, tooLarge()
	}
	if i := bytes.LastIndexByte(p[:n], '<'); i >= 0 {
		b.text = n - i
	} else {
		b.text += n
	}
	if b.text > maxXMLText {
		return 0, tooLarge()
	}
	return n, err
}

// readStrings reads the texts that cells share.
func (b *workbook) readStrings(part string) error {
	r, err := b.part(part)
	if err != nil {
		return err
	}
	defer r.Close() // read-only
	d := xml.NewDecoder(r)
	size := 0
	for {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		start, ok := t.(xml.StartElement)
		if !ok || start.Name.Local != "si" {
			continue
		}
		text, err := richText(d, "si")
		if err != nil {
			return err
		}
		if size += len(text) + 16; size > maxStringBytes {
			return tooLarge()
		}
		b.strings = append(b.strings, text)
	}
}

// richText reads a text with formats up to the end of an element. Readings of Japanese texts (rPh) are left out.
func richText(d *xml.Decoder, element string) (string, error) {
	var text strings.Builder
	in, phonetic := false, false
	for {
		t, err := d.RawToken()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			in = in || t.Name.Local == "t"
			phonetic = phonetic || t.Name.Local == "rPh"
		case xml.CharData:
			if in && !phonetic && text.Len() < maxXMLText {
				text.Write(t)
			}
		case xml.EndElement:
			switch t.Name.Local {
			case element:
				return unescapeXML(text.String()), nil
			case "t":
				in = false
			case "rPh":
				phonetic = false
			}
		}
	}
}

func (b *workbook) readStyles(part string) error {
	var styles xmlStyles
	if err := b.decode(part, &styles); err != nil {
		return err
	}
	codes := map[int]string{}
	for _, f := range styles.Formats {
		codes[f.ID] = f.Code
	}
	for _, c := range styles.Cells {
		b.formats = append(b.formats, formatOf(c.Format, codes[c.Format]))
	}
	return nil
}
