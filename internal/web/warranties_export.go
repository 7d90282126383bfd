package web

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/warranty"
)

// exportWarranties sends the list that the filters in the address let through,
// as svc exports it.
func (web *Web) exportWarranties(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if err := upload.ExtendDeadlines(w); err != nil {
		return err
	}
	// It may take longer than other requests. When the reader has gone away, writing fails.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), upload.TransferTimeout)
	defer cancel()
	pages := sheet.Pager{Filter: filterOf(r.URL.Query()), List: func(ctx context.Context, in warranty.ListWarranties) (warranty.Page[warranty.Warranty], error) {
		return web.Service.ListWarranties(ctx, who, in)
	}}
	first, err := pages.Next(ctx)
	if err != nil {
		return err
	}
	attachCSV(w.Header(), "warranties-"+warranty.DateOf(web.Service.Now()).String()+".csv")
	if err := writePages(ctx, w, &pages, first); err != nil {
		if !errors.Is(err, errReaderGone) {
			web.Log.WarnContext(ctx, "an export was cut off", "request_id", api.CallerOf(ctx).RequestID, "error", err.Error())
		}
		panic(http.ErrAbortHandler) // half a list must not look like the whole
	}
	return nil
}

// errReaderGone is an answer that nobody reads to its end.
var errReaderGone = errors.New("the reader has gone away")

// writePages writes every page as it comes, so that the number of records does
// not matter to the memory it takes.
func writePages(ctx context.Context, w http.ResponseWriter, pages *sheet.Pager, page *warranty.Page[warranty.Warranty]) error {
	out := sheet.NewWriter(w)
	out.Write(sheet.Columns(reflect.TypeFor[warranty.Warranty]()))
	for page != nil {
		for _, record := range page.Data {
			if pages.Fresh(record.ID) {
				out.Write(sheet.Values(reflect.ValueOf(record)))
			}
		}
		if err := out.Flush(); err != nil {
			return errors.Join(errReaderGone, err)
		}
		var err error
		if page, err = pages.Next(ctx); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return errors.Join(errReaderGone, err)
	}
	return nil
}

// attachCSV makes an answer a file to be saved and never shown.
func attachCSV(h http.Header, name string) {
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
}
