package web

import (
	"bytes"
	"errors"
	"net/http"

	"warranty.example/svc/internal/jobs"
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
	text := samples(warranty.DateOf(web.Service.Now()))
	return web.previewSheet(w, r, who, &importPage{person: !who.ActsForOrganization(), text: text})
}

func (web *Web) importTemplate(w http.ResponseWriter, _ *http.Request, _ warranty.Principal) error {
	attachCSV(w.Header(), "warranties.csv")
	_, _ = w.Write(samples(warranty.DateOf(web.Service.Now()))) // the client may be gone
	return nil
}

// importSheet previews a file, starts its import or sends its invalid rows, depending on the
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
	p.person = !who.ActsForOrganization()
	switch p.Value("do") {
	case "refused":
		return web.sendRefused(w, r, who, p)
	case "import":
		return web.startImport(w, r, who, p)
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
		p.Values.Set("name", p.Name)
		foreign.multipart = true
	}
	return who, err
}

// previewSheet shows the warranties that a sheet would create.
func (web *Web) previewSheet(w http.ResponseWriter, r *http.Request, who warranty.Principal, p *importPage) error {
	im := sheet.Import{Service: jobs.SheetService(web.Service, who)}
	if err := web.preview(r.Context(), web.reader(r), p, im); err != nil {
		return web.refuseSheet(w, r, who, p, err)
	}
	return web.showChecked(w, r, who, http.StatusOK, p)
}

// showChecked shows the page that previews a file.
func (web *Web) showChecked(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p *importPage,
) error {
	p.Once = web.Service.NewID().String()
	v := view.Page{Title: web.t(r, "import.preview"), Nav: "warranties", Who: who, Body: p}
	return web.show(w, r, status, "import-preview", v)
}

// sendRefused sends the invalid rows with the reasons as CSV, to be fixed and imported.
func (web *Web) sendRefused(w http.ResponseWriter, r *http.Request, who warranty.Principal, p *importPage) error {
	var out bytes.Buffer
	var failures *sheet.Failures
	err := web.preview(r.Context(), web.reader(r), p, sheet.Import{Each: func(row sheet.Row, outcome sheet.Outcome) error {
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

// refuseSheet shows what is wrong with the whole file. If its columns or the line with their names can be chosen, the page
// keeps the file.
func (web *Web) refuseSheet(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, p *importPage, err error,
) error {
	var fault *sheet.Fault
	var missing *sheet.MissingColumns
	var header *sheet.NoHeader
	switch {
	case errors.As(err, &fault):
		p.Wrong = faultText(web.reader(r), fault)
		return web.showImport(w, r, who, http.StatusUnprocessableEntity, p)
	case errors.As(err, &header):
		p.Wrong, p.Head = web.reader(r).Message(header.Text()), header.Lines
	case errors.As(err, &missing):
		p.Wrong = missingText(web.reader(r), missing)
		p.Missing, p.Columns = missing.Fields, missing.Table
		p.Assumed = sheet.Assumed{HeaderLine: missing.HeaderLine, Sheet: missing.Sheet, Sheets: missing.Sheets}
	default:
		return err
	}
	return web.showChecked(w, r, who, http.StatusUnprocessableEntity, p)
}
