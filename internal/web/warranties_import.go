package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// An import in the browser takes two requests: one previews the sheet, the other imports it.
// The server stores nothing in between: the form carries the sheet.

func (web *Web) importForm(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showImport(w, r, who, http.StatusOK, &importPage{})
}

// showImport shows the import form.
func (web *Web) showImport(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p *importPage,
) error {
	return web.show(w, r, status, "import", view.Page{Title: web.t(r, "import.title"), Nav: "warranties", Who: who, Body: p})
}

// importSamples previews a sheet of sample warranties.
func (web *Web) importSamples(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.previewSheet(w, r, who, &importPage{text: samples(warranty.DateOf(web.Service.Now()))})
}

func (web *Web) importTemplate(w http.ResponseWriter, _ *http.Request, _ warranty.Principal) error {
	attachCSV(w.Header(), "warranties.csv")
	_, _ = w.Write(samples(warranty.DateOf(web.Service.Now()))) // the client may be gone
	return nil
}

// importSheet previews a sheet, imports it or sends its invalid rows, depending on the
// button that was pressed.
func (web *Web) importSheet(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if err := upload.ExtendDeadlines(w); err != nil {
		return err
	}
	p, err := web.readSheet(w, r)
	if refusal := warranty.AsError(err); err != nil && refusal.Code == warranty.BodyTooLarge {
		p.Wrong = web.reader(r).Message(refusal.Text())
		return web.showImport(w, r, who, http.StatusRequestEntityTooLarge, p)
	}
	if err != nil {
		return err
	}
	if who, err = web.checkSheet(w, r, who, p); err != nil {
		return err
	}
	switch p.Value("do") {
	case "refused":
		return web.sendRefused(w, r, who, p)
	case "import":
		if p.Value("shown") == p.Choices() {
			return web.storeSheet(w, r, who, p)
		}
		p.Wrong = web.t(r, "import.changed")
	}
	return web.previewSheet(w, r, who, p)
}

// checkSheet is checkAccount for a form with a sheet, which the page about another account carries too.
func (web *Web) checkSheet(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, p *importPage,
) (warranty.Principal, error) {
	who, err := web.checkAccount(w, r, who, p.Values)
	if foreign := new(foreignForm); errors.As(err, &foreign) {
		p.Values.Del("sheet")
		p.Values.Set("kept", p.Kept())
		foreign.multipart = true
	}
	return who, err
}

// previewSheet shows the warranties that a sheet would create.
func (web *Web) previewSheet(w http.ResponseWriter, r *http.Request, who warranty.Principal, p *importPage) error {
	if err := web.run(r.Context(), web.reader(r), p, sheet.Import{Service: jobs.SheetService(web.Service, who), DryRun: true}); err != nil {
		return web.refuseSheet(w, r, who, p, err)
	}
	v := view.Page{Title: web.t(r, "import.preview"), Nav: "warranties", Who: who, Body: p}
	return web.show(w, r, http.StatusOK, "import-preview", v)
}

// maxDirectImport is the number of rows that are imported at once for a person. Longer imports, and those of
// organizations, are jobs.
const maxDirectImport = 500

// storeSheet creates a warranty for each valid row that is not imported yet.
func (web *Web) storeSheet(w http.ResponseWriter, r *http.Request, who warranty.Principal, p *importPage) error {
	whole := *p
	if err := web.run(r.Context(), web.reader(r), &whole, sheet.Import{DryRun: true}); err != nil {
		return web.refuseSheet(w, r, who, p, err)
	}
	if who.ActsForOrganization() || whole.Counts.Rows > maxDirectImport {
		return web.startImport(w, r, who, p, whole.Counts.Rows)
	}
	// An import continues even if the client disconnects.
	ctx, cancel := context.WithTimeout(service.AsOneForm(context.WithoutCancel(r.Context())), upload.TransferTimeout)
	defer cancel()
	status := http.StatusOK
	if err := web.run(ctx, web.reader(r), p, sheet.Import{Service: jobs.SheetService(web.Service, who)}); err != nil {
		if status = warranty.AsError(err).Code.Info().Status; p.Created == 0 || status == http.StatusUnauthorized {
			return err
		}
		web.Log.ErrorContext(ctx, "import stopped early", "request_id", api.CallerOf(ctx).RequestID, "error", err.Error())
		p.Incomplete = true
	}
	v := view.Page{Title: web.t(r, "import.result"), Nav: "warranties", Who: who, Body: p}
	return web.show(w, r, status, "import-result", v)
}

// sendRefused sends the invalid rows with the reasons as CSV, to be fixed and imported.
func (web *Web) sendRefused(w http.ResponseWriter, r *http.Request, who warranty.Principal, p *importPage) error {
	var out bytes.Buffer
	var failures *sheet.Failures
	err := web.run(r.Context(), web.reader(r), p, sheet.Import{DryRun: true, Each: func(row sheet.Row, outcome sheet.Outcome) error {
		if failures == nil {
			failures = sheet.NewFailures(&out, p.header)
		}
		if outcome != sheet.Refused {
			return nil
		}
		return failures.Add(row)
	}})
	if err != nil {
		return web.refuseSheet(w, r, who, p, err)
	}
	attachCSV(w.Header(), "refused.csv")
	_, _ = w.Write(out.Bytes()) // the client may be gone
	return nil
}

// refuseSheet shows the import form with the error of the whole sheet. The form keeps the
// sheet, so that missing columns can be chosen and pasted rows fixed.
func (web *Web) refuseSheet(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, p *importPage, err error,
) error {
	var fault *sheet.Fault
	var missing *sheet.MissingColumns
	switch {
	case errors.As(err, &fault):
		p.Wrong, p.Fields = faultText(web.reader(r), fault), nil
	case errors.As(err, &missing):
		p.Wrong = missingText(web.reader(r), missing) + " " + web.t(r, "import.missing_fix")
		p.describe(missing.Header, missing.Found)
	default:
		return err
	}
	return web.showImport(w, r, who, http.StatusUnprocessableEntity, p)
}
