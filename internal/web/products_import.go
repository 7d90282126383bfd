package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// maxProductRows is the number of products that one file adds.
const maxProductRows = 1000

// productsImport is the page of an import of products: the form, and its result once it was sent.
type productsImport struct {
	*importPage
	Done   bool
	Known  int // names that the organization has
	Result jobs.ImportResult
}

// MaxRows returns the maximum number of rows.
func (p productsImport) MaxRows() int { return maxProductRows }

func (web *Web) productsForm(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showProductsImport(w, r, who, productsImport{importPage: &importPage{}})
}

func (web *Web) showProductsImport(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, p productsImport,
) error {
	v := view.Page{Title: web.t(r, "products.import"), Nav: "issue", Who: who, Body: p}
	return web.show(w, r, p.status, "products-import", v)
}

// importProducts adds the products of a sheet. Names that the organization has are skipped, so a file can be
// fixed and sent again.
func (web *Web) importProducts(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if err := upload.ExtendDeadlines(w); err != nil {
		return err
	}
	p, err := web.readSheet(w, r)
	if refusal := warranty.AsError(err); err != nil && refusal.Code == warranty.BodyTooLarge {
		p.Wrong, p.status = web.reader(r).Message(refusal.Text()), http.StatusRequestEntityTooLarge
		return web.showProductsImport(w, r, who, productsImport{importPage: p})
	}
	if err != nil {
		return err
	}
	if who, err = web.checkSheet(w, r, who, p); err != nil {
		return err
	}
	if err := who.Account.Require(warranty.Member); err != nil {
		return err
	}
	page := productsImport{importPage: p}
	rows, err := sheet.ReadProducts(bytes.NewReader(p.text), maxProductRows)
	var fault *sheet.Fault
	if errors.As(err, &fault) {
		p.Wrong, p.status = faultText(web.reader(r), fault), http.StatusUnprocessableEntity
		return web.showProductsImport(w, r, who, page)
	}
	if err != nil {
		return err
	}
	// An import continues even if the client disconnects.
	ctx, cancel := context.WithTimeout(service.AsOneForm(context.WithoutCancel(r.Context())), upload.TransferTimeout)
	defer cancel()
	if err := page.add(ctx, web.Service, who, rows); err != nil {
		return err
	}
	page.Done = true
	return web.showProductsImport(w, r, who, page)
}

// add adds the valid products and counts the rows.
func (p *productsImport) add(
	ctx context.Context, s *service.Service, who warranty.Principal, rows []sheet.ProductRow,
) error {
	for _, row := range rows {
		if row.Err == nil {
			_, row.Err = s.CreateProduct(ctx, who, row.Product)
		}
		refusal := warranty.AsError(row.Err)
		switch {
		case row.Err == nil:
			p.Result.Created++
		case refusal.Code == warranty.AlreadyExists:
			p.Known++
		case refusal.Code.Info().Status >= http.StatusInternalServerError, refusal.Code == warranty.RoleNotAllowed:
			return row.Err
		default:
			p.Result.Refused++
			p.Result.Groups.Add(row.Row)
		}
	}
	return nil
}
