package cli

import (
	"os"

	"warranty.example/svc/internal/sheet"
)

// errorsFile is the file of failed rows. It is created with the first one.
type errorsFile struct {
	path   string
	header []string
	file   *os.File
	rows   *sheet.Failures
}

func (e *errorsFile) add(r sheet.Row) error {
	if e.file == nil {
		f, err := os.Create(e.path)
		if err != nil {
			return err
		}
		e.file, e.rows = f, sheet.NewFailures(f, e.header)
	}
	return e.rows.Add(r)
}

func (e *errorsFile) close() error {
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}
