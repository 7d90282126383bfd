package web

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/pages"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/warranty"
)

// exportWarranties sends the warranties that match the filters of the query as CSV, in the
// format of svc warranties export.
func (web *Web) exportWarranties(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if err := upload.ExtendDeadlines(w); err != nil {
		return err
	}
	// An export may take longer than the deadline of a request. If the client disconnects,
	// writing fails.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), upload.TransferTimeout)
	defer cancel()
	out := sheet.NewWriter(w)
	started := false
	// Each page is written as soon as it is read, so that memory use does not depend on the number of
	// records.
	err := pages.Each(ctx, acting(who, web.Service.ListWarranties), filterOf(r.URL.Query()),
		func(page warranty.Page[warranty.Warranty], fresh []int) error {
			if !started {
				started = true
				attachCSV(w.Header(), "warranties-"+warranty.DateOf(web.Service.Now()).String()+".csv")
				out.Write(sheet.Columns(reflect.TypeFor[warranty.Warranty]()))
			}
			for _, i := range fresh {
				out.Write(sheet.Values(reflect.ValueOf(page.Data[i])))
			}
			if err := out.Flush(); err != nil {
				return errors.Join(errClientGone, err)
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

// errClientGone means that the client disconnected during the export.
var errClientGone = errors.New("the client disconnected")

// attachCSV sets the headers of a CSV download.
func attachCSV(h http.Header, name string) {
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
}
