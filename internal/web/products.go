package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// productList is the page /products.
type productList struct {
	form
	Page  warranty.Page[warranty.Product]
	Pager pager
}

func (web *Web) products(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	query := r.URL.Query()
	in := warranty.ListProducts{Q: query.Get("q"), Paging: pagingOf(query, listPage)}
	list, err := web.Service.ListProducts(r.Context(), who, in)
	if err != nil {
		return err
	}
	body := productList{form: form{Values: query}, Page: list, Pager: newPager(r.URL, list.Pagination)}
	v := view.Page{Title: web.t(r, "products.title"), Nav: "issue", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "products", v)
}

// productForm is the form that adds or changes a product.
type productForm struct {
	form
	ID      string // empty for a new product
	Lengths []length
}

// The units of the length in the form.
const (
	inMonths = "months"
	inYears  = "years"
)

func (web *Web) newProduct(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	values := url.Values{"once": {web.Service.NewID().String()}, "length": {"2"}, "unit": {inYears}}
	return web.showProductForm(w, r, who, form{Values: values})
}

func (web *Web) editProduct(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	p, err := web.productOf(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return err
	}
	values := url.Values{"name": {p.Name}, "unit": {lifetime}}
	for name, value := range map[string]*string{
		"brand": p.Brand, "model": p.Model, "gtin": p.GTIN, "category": p.Category, "terms": p.Terms,
	} {
		values.Set(name, view.Deref(value))
	}
	if p.LengthMonths != nil {
		n, unit := *p.LengthMonths, inMonths
		if n%12 == 0 {
			n, unit = n/12, inYears
		}
		values.Set("length", strconv.Itoa(n))
		values.Set("unit", unit)
	}
	return web.showProductForm(w, r, who, form{Values: values})
}

func (web *Web) showProductForm(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	body, title := productForm{form: f, ID: r.PathValue("id")}, web.t(r, "product.new")
	if body.ID != "" {
		title = web.t(r, "product.edit")
	}
	if message := f.Error("length_months"); message != "" {
		f.Errors["length"] = message
	}
	for _, unit := range []string{inMonths, inYears, lifetime} {
		body.Lengths = append(body.Lengths, length{unit, web.t(r, "product."+unit)})
	}
	return web.show(w, r, f.status, "product-form", view.Page{Title: title, Nav: "issue", Who: who, Body: body})
}

// setLength sets the fields of the API from the length and the unit of a form.
func setLength(f form) error {
	n, err := strconv.Atoi(f.Value("length"))
	switch unit := f.Value("unit"); {
	case unit == lifetime:
		f.Values.Set("lifetime", "true")
		return nil
	case err != nil || n < 0 || n > warranty.MaxLength:
		n = 0 // out of range
	case unit == inYears:
		n *= 12
	}
	f.Values.Set("length_months", strconv.Itoa(n))
	return nil
}

func (web *Web) createProduct(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	var key *string
	return submit(web, w, r, who, action[warranty.CreateProduct, warranty.Product]{
		op:      api.CreateProduct,
		prepare: func(f form) error { key = f.once(); return setLength(f) },
		do: func(ctx context.Context, who warranty.Principal, in warranty.CreateProduct) (warranty.Product, error) {
			in.IdempotencyKey = key
			return web.Service.CreateProduct(ctx, who, in)
		},
		again: web.showProductForm,
		next:  func(form, warranty.Product) string { return "/products?done=product_added" },
	})
}

func (web *Web) updateProduct(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.UpdateProduct, warranty.Product]{
		op:      api.UpdateProduct,
		prepare: setLength,
		do:      web.Service.UpdateProduct,
		again:   web.showProductForm,
		next:    func(form, warranty.Product) string { return "/products?done=saved" },
	})
}

func (web *Web) deleteProduct(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/products?done=product_deleted", warranty.ParseID, func(id warranty.ID) error {
		_, err := web.Service.DeleteProduct(r.Context(), who, warranty.DeleteProduct{ID: id})
		return err
	})
}
