package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/warranty"
)

// maxDownload is the number of warranties that are exported at once. Longer exports are jobs.
const maxDownload = 1000

// exportOf returns what to export of a list.
func (web *Web) exportOf(r *http.Request, query url.Values) jobs.Export {
	list := sorted(queryOf(query))
	return jobs.Export{Filter: list.WarrantyFilter, Sort: list.Sort, Fields: web.exportedFields(r)}
}

// exportWarranties exports what the list shows: at once, or as a job if it is long.
func (web *Web) exportWarranties(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	return web.export(w, r, who, web.exportOf(r, f.Values))
}

// export sends warranties as CSV, or starts a job that writes them to a file.
func (web *Web) export(w http.ResponseWriter, r *http.Request, who warranty.Principal, in jobs.Export) error {
	filter := in.List()
	filter.Paging = warranty.Paging{Page: 1, Limit: 1}
	first, err := web.Service.ListWarranties(r.Context(), who, filter)
	if err != nil {
		return err
	}
	total := first.Pagination.Total
	if total <= maxDownload {
		return web.sendExport(w, r, who, in)
	}
	job, err := web.Jobs.StartExport(r.Context(), who, in, total)
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
func (web *Web) sendExport(w http.ResponseWriter, r *http.Request, who warranty.Principal, in jobs.Export) error {
	if err := upload.ExtendDeadlines(w); err != nil {
		return err
	}
	// An export may take longer than the deadline of a request. If the client disconnects,
	// writing fails.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), upload.TransferTimeout)
	defer cancel()
	started := false
	_, err := jobs.WriteCSV(ctx, web.Service, who, in, w, func(int) error {
		if !started {
			started = true
			attachCSV(w.Header(), web.exportName())
		}
		return nil
	})
	if err != nil && started {
		if !errors.Is(err, jobs.ErrNotWritten) {
			api.CallerOf(ctx).Fail(err)
			web.Log.WarnContext(ctx, "export failed", "request_id", api.CallerOf(ctx).RequestID, "error", err.Error())
		}
		panic(http.ErrAbortHandler) // so that the client sees that the file is incomplete
	}
	return err
}

func (web *Web) exportName() string {
	return jobs.ExportName(warranty.DateOf(web.Service.Now()))
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
	out := sheet.NewExport(w, web.exportedFields(r))
	out.Head()
	for _, record := range list {
		out.Add(record)
	}
	return out.Flush()
}

// exportFile sends the file of an export to the person who started it.
func (web *Web) exportFile(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	page, err := web.jobOf(r, who)
	if err != nil {
		return err
	}
	if page.Kind != jobs.ExportKind || page.State != warranty.JobDone {
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
