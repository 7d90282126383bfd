package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/pages"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/warranty"
)

// maxDownload is the number of warranties that are exported at once. Longer exports are jobs.
const maxDownload = 1000

// exportInput is what to export: the filters and the order of the list, and the fields, or all.
type exportInput struct {
	Query  url.Values `json:"query"`
	Fields []string   `json:"fields"`
}

// exportResult is the result of an export.
type exportResult struct {
	service.ExportFile
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// exportOf returns what to export of a list.
func (web *Web) exportOf(r *http.Request, query url.Values) exportInput {
	return exportInput{Query: queryOf(query), Fields: web.exportedFields(r)}
}

// filter returns the filter and the order of an export.
func (in exportInput) filter() warranty.ListWarranties { return sorted(in.Query) }

// exportWarranties exports what the list shows: at once, or as a job if it is long.
func (web *Web) exportWarranties(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	return web.export(w, r, who, web.exportOf(r, f.Values))
}

// export sends warranties as CSV, or starts a job that writes them to a file.
func (web *Web) export(w http.ResponseWriter, r *http.Request, who warranty.Principal, in exportInput) error {
	filter := in.filter()
	filter.Paging = warranty.Paging{Page: 1, Limit: 1}
	first, err := web.Service.ListWarranties(r.Context(), who, filter)
	if err != nil {
		return err
	}
	total := first.Pagination.Total
	if total <= maxDownload {
		return web.sendExport(w, r, who, in)
	}
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	job, err := web.Service.StartExport(r.Context(), who, string(input), total)
	if err != nil {
		return err
	}
	return redirect(w, r, "/jobs/"+job.ID.String())
}

// downloadWarranties sends the warranties that match the filters of the query as CSV, in the format of
// svc warranties export.
func (web *Web) downloadWarranties(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.sendExport(w, r, who, web.exportOf(r, r.URL.Query()))
}

// sendExport sends warranties as CSV.
func (web *Web) sendExport(w http.ResponseWriter, r *http.Request, who warranty.Principal, in exportInput) error {
	if err := upload.ExtendDeadlines(w); err != nil {
		return err
	}
	// An export may take longer than the deadline of a request. If the client disconnects,
	// writing fails.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), upload.TransferTimeout)
	defer cancel()
	started := false
	_, err := web.writeExport(ctx, who, in, w, func(int) error {
		if !started {
			started = true
			attachCSV(w.Header(), web.exportName())
		}
		return nil
	})
	if err != nil && started {
		if !errors.Is(err, errClientGone) {
			api.CallerOf(ctx).Fail(err)
			web.Log.WarnContext(ctx, "export failed", "request_id", api.CallerOf(ctx).RequestID, "error", err.Error())
		}
		panic(http.ErrAbortHandler) // so that the client sees that the file is incomplete
	}
	return err
}

func (web *Web) exportName() string {
	return "warranties-" + warranty.DateOf(web.Service.Now()).String() + ".csv"
}

// errClientGone means that the client disconnected during the export.
var errClientGone = errors.New("the client disconnected")

// writeExport writes warranties as CSV. Each page is written as soon as it is read, so that memory use does not depend
// on their number. before is called before a page is written, with the number of rows that were written.
func (web *Web) writeExport(
	ctx context.Context, who warranty.Principal, in exportInput, w io.Writer, before func(done int) error,
) (done int, err error) {
	out, first := newExportWriter(w, in.Fields), true
	err = pages.Each(ctx, acting(who, web.Service.ListWarranties), in.filter(),
		func(page warranty.Page[warranty.Warranty], fresh []int) error {
			if err := before(done); err != nil {
				return err
			}
			if first {
				first = false
				out.head()
			}
			for _, i := range fresh {
				out.add(page.Data[i])
			}
			done += len(fresh)
			if err := out.csv.Flush(); err != nil {
				return errors.Join(errClientGone, err)
			}
			return nil
		})
	return done, err
}

// exportWriter writes some or all fields of warranties as CSV.
type exportWriter struct {
	csv     *sheet.Writer
	columns []string
	chosen  []int // indexes of columns; nil means all
}

func newExportWriter(w io.Writer, fields []string) exportWriter {
	e := exportWriter{csv: sheet.NewWriter(w), columns: sheet.Columns(reflect.TypeFor[warranty.Warranty]())}
	for _, name := range fields {
		if i := slices.Index(e.columns, name); i >= 0 {
			e.chosen = append(e.chosen, i)
		}
	}
	return e
}

func (e exportWriter) head()                   { e.write(e.columns) }
func (e exportWriter) add(w warranty.Warranty) { e.write(sheet.Values(reflect.ValueOf(w))) }

func (e exportWriter) write(cells []string) {
	if e.chosen == nil {
		e.csv.Write(cells)
		return
	}
	some := make([]string, 0, len(e.chosen))
	for _, i := range e.chosen {
		some = append(some, cells[i])
	}
	e.csv.Write(some)
}

// exportSelected sends warranties by their ids as CSV.
func (web *Web) exportSelected(w http.ResponseWriter, r *http.Request, who warranty.Principal, ids []warranty.ID) error {
	var list []warranty.Warranty
	if err := web.records(r.Context(), who, ids, func(record warranty.Warranty) error {
		list = append(list, record)
		return nil
	}); err != nil {
		return err
	}
	attachCSV(w.Header(), web.exportName())
	out := newExportWriter(w, web.exportedFields(r))
	out.head()
	for _, record := range list {
		out.add(record)
	}
	return out.csv.Flush()
}

// runExport performs the job of an export. After an interruption it begins again with another file.
func (web *Web) runExport(ctx context.Context, who warranty.Principal, j *warranty.Job, save func() error) error {
	var in exportInput
	if err := json.Unmarshal([]byte(j.Input), &in); err != nil {
		return err
	}
	result := exportResult{Name: web.exportName()}
	file, err := web.Service.WriteExport(ctx, who, func(w io.Writer) error {
		rows, err := web.writeExport(ctx, who, in, w, func(done int) error {
			if err := web.Service.CheckJob(ctx, who); err != nil {
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

// exportFile sends the file of an export to the person who started it.
func (web *Web) exportFile(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	page, err := web.jobOf(r, who)
	if err != nil {
		return err
	}
	if page.Kind != service.ExportJob || page.State != warranty.JobDone {
		return warranty.ErrNotFound
	}
	content, err := web.Service.OpenExport(r.Context(), page.Export.ExportFile)
	if err != nil {
		return err
	}
	defer content.Close()
	if err := upload.ExtendDeadlines(w); err != nil {
		return err
	}
	attachCSV(w.Header(), page.Export.Name)
	http.ServeContent(w, r, "", *page.EndedAt, content)
	return nil
}

// attachCSV sets the headers of a CSV download.
func attachCSV(h http.Header, name string) {
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
}
