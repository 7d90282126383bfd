package sheet

import (
	"bytes"
	"errors"
	"io"

	"warranty.example/svc/warranty"
)

// source reads the rows of a file one after the other: of a CSV file, or of a sheet of a workbook.
type source interface {
	// next returns io.EOF after the last row. The error of an unreadable file is a *Fault.
	next() (record, error)
}

// record is a row of a file.
type record struct {
	line   int
	cells  []string
	hidden bool
	err    error // the row cannot be read; the file can
	// fixed has values by field that take the place of the cells.
	fixed map[string]string
}

// isBlank reports whether all cells are empty.
func (r record) isBlank() bool {
	for i := range r.cells {
		if cell(r.cells, i) != "" {
			return false
		}
	}
	return true
}

// maxColumns bounds the cells of a row.
const maxColumns = 500

// unreadable is the error of a file that is neither a workbook nor CSV.
func unreadable() *Fault {
	return &Fault{
		What: warranty.Textf("We can't read this file."),
		Fix:  warranty.Textf("Save it as .xlsx or CSV."),
	}
}

// tooLarge is the error of a workbook that exceeds its limits.
func tooLarge() *Fault {
	return &Fault{
		What: warranty.Textf("The workbook is too large when it is unpacked."),
		Fix:  warranty.Textf("Save the sheet as CSV, or split it into several files."),
	}
}

// tooWide is the error of a file with too many columns.
func tooWide() *Fault {
	return &Fault{
		What: warranty.Textf("The file has more than %d columns.", maxColumns),
		Fix:  warranty.Textf("Delete the columns that you don't need."),
	}
}

// The first bytes of files that are not CSV.
var (
	zipMagic = []byte("PK\x03\x04")
	others   = [][]byte{
		[]byte("\xD0\xCF\x11\xE0"), // .xls, and workbooks with a password
		[]byte("%PDF"), []byte("\x89PNG"), []byte("\xFF\xD8\xFF"), []byte("GIF8"), []byte("{\\rtf"), []byte("PK\x05\x06"),
		[]byte("<html"), []byte("<!DOCTYPE"), []byte("<?xml"), []byte("\x1F\x8B"),
	}
)

// openSource opens the rows of a file from its current offset. lazy accepts quotation marks inside cells without them.
func openSource(file io.ReadSeeker, o Options, lazy bool) (src source, about about, err error) {
	head := make([]byte, 16)
	start, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, about, err
	}
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, about, err
	}
	if _, err := file.Seek(start, io.SeekStart); err != nil {
		return nil, about, err
	}
	head = head[:n]
	if bytes.HasPrefix(head, zipMagic) {
		return openWorkbook(file, start, o)
	}
	for _, magic := range others {
		if bytes.HasPrefix(head, magic) {
			return nil, about, unreadable()
		}
	}
	return openCSV(file, o, lazy)
}

// about describes a file.
type about struct {
	encoding  Encoding // of a CSV file
	separator rune     // of a CSV file
	sheet     string   // the sheet of a workbook that is read
	sheets    []string // the sheets of a workbook
}
