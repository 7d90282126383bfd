package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"warranty.example/svc/internal/pages"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Export is what to export: the filters and the order of the list, and the fields, or all.
type Export struct {
	Filter warranty.WarrantyFilter `json:"filter"`
	Sort   warranty.WarrantySort   `json:"sort"`
	Fields []string                `json:"fields"`
}

// List returns the list that is exported.
func (in Export) List() warranty.ListWarranties {
	return warranty.ListWarranties{WarrantyFilter: in.Filter, Sort: in.Sort}
}

// ExportResult is the result of an export.
type ExportResult struct {
	service.ExportFile
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// StartExport adds an export of the principal's account. Viewers can export too: they can read everything.
func (js *Jobs) StartExport(ctx context.Context, p warranty.Principal, in Export, total int64) (warranty.Job, error) {
	return js.start(ctx, p, warranty.Viewer, js.Service.NewID(), ExportKind, in, total, func(tx *store.Tx, account store.Account) error {
		n, err := tx.CountJobsSince(account.ID, ExportKind, js.now().Add(-service.ExportLifetime))
		if err == nil && n >= warranty.MaxExports {
			err = warranty.Refuse(warranty.InUse,
				"%d long exports were started in the last 24 hours. Download one of them, or wait.", n)
		}
		return err
	})
}

// ExportName returns the name of a file with warranties of a day.
func ExportName(day warranty.Date) string { return "warranties-" + day.String() + ".csv" }

// ErrNotWritten means that the file or the client did not accept an export.
var ErrNotWritten = errors.New("the export could not be written")

// WriteCSV writes warranties as CSV. Each page is written as soon as it is read, so that memory use does not depend on
// their number. before is called before a page is written, with the number of rows that were written.
func WriteCSV(
	ctx context.Context, s *service.Service, p warranty.Principal, in Export, w io.Writer, before func(done int) error,
) (done int, err error) {
	out, first := sheet.NewExport(w, in.Fields), true
	err = pages.Each(ctx, acting(p, s.ListWarranties), in.List(),
		func(page warranty.Page[warranty.Warranty], fresh []int) error {
			if err := before(done); err != nil {
				return err
			}
			if first {
				first = false
				out.Head()
			}
			for _, i := range fresh {
				out.Add(page.Data[i])
			}
			done += len(fresh)
			if err := out.Flush(); err != nil {
				return errors.Join(ErrNotWritten, err)
			}
			return nil
		})
	return done, err
}

// runExport performs the job of an export. After an interruption it begins again with another file.
func (js *Jobs) runExport(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error {
	var in Export
	if err := json.Unmarshal([]byte(j.Input), &in); err != nil {
		return err
	}
	result := ExportResult{Name: ExportName(warranty.DateOf(js.Service.Now()))}
	file, err := js.Service.WriteExport(ctx, p, func(w io.Writer) error {
		rows, err := WriteCSV(ctx, js.Service, p, in, w, func(done int) error {
			if err := js.checkSession(ctx, p); err != nil {
				return err
			}
			j.Done = int64(done)
			return save() // every page, because it also renews the lease
		})
		result.Rows = int64(rows)
		return err
	})
	if err != nil {
		return err
	}
	result.ExportFile, j.Done = file, result.Rows
	text, err := json.Marshal(result)
	j.Result = string(text)
	return err
}
