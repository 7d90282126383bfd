package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// warrantyForm is the form that edits a warranty. It has the fields that the person may change.
type warrantyForm struct {
	form
	Record warranty.Warranty
}

// Promise reports whether the form has the fields that only the issuer may change.
func (f warrantyForm) Promise() bool { return f.Record.Roles.May(warranty.ChangePromise) == nil }

// Notes reports whether the form has the fields that only the owner may change.
func (f warrantyForm) Notes() bool { return f.Record.Roles.May(warranty.ChangeNotes) == nil }

// Issuer reports whether the form has the issuer's own fields.
func (f warrantyForm) Issuer() bool { return f.Record.Roles.May(warranty.SetExternalID) == nil }

// showWarrantyForm shows the form of the warranty with the id of the path.
func (web *Web) showWarrantyForm(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "warranty.edit"), Nav: "warranties", Who: who, Body: warrantyForm{form: f, Record: record}}
	return web.show(w, r, f.status, "warranty-form", v)
}

func (web *Web) editWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return err
	}
	f := warrantyForm{Record: record}
	if !f.Promise() && !f.Notes() {
		return record.Roles.May(warranty.ChangePromise)
	}
	bought := ""
	if record.PurchaseDate != nil {
		bought = record.PurchaseDate.String()
	}
	return web.showWarrantyForm(w, r, who, form{Values: url.Values{
		"if_match":      {record.ETag()},
		"product_name":  {record.ProductName},
		"start_date":    {record.StartDate.String()},
		"end_date":      {record.EndDate.String()},
		"supplier":      {view.Deref(record.Supplier)},
		"brand":         {view.Deref(record.Brand)},
		"model":         {view.Deref(record.Model)},
		"gtin":          {view.Deref(record.GTIN)},
		"serial_number": {view.Deref(record.SerialNumber)},
		"seller_name":   {view.Deref(record.SellerName)},
		"seller_email":  {view.Deref(record.SellerEmail)},
		"description":   {view.Deref(record.Description)},
		"category":      {view.Deref(record.Category)},
		"purchase_date": {bought},
		"price":         {view.Deref(record.Price)},
		"currency":      {view.Deref(record.Currency)},
		"external_id":   {view.Deref(record.ExternalID)},
		"customer_name": {view.Deref(record.CustomerName)},
	}})
}

// correctForm leads from the address of the former form of corrections to the form that edits everything.
func (web *Web) correctForm(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	return redirect(w, r, strings.TrimSuffix(r.URL.Path, "correct")+"edit")
}

// updateWarranty handles the form of a warranty, and the buttons that set its status.
func (web *Web) updateWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	if !f.Values.Has("if_match") && f.Value("status") != "" { // a button has no form to show again
		return submit(web, w, r, who, action[warranty.UpdateWarranty, warranty.Warranty]{
			op:   api.UpdateWarranty,
			do:   web.Service.UpdateWarranty,
			next: func(_ form, updated warranty.Warranty) string { return warrantyPage(updated, "updated") },
		})
	}
	done, saved, err := web.saveWarranty(r, who, f)
	if err == nil {
		return redirect(w, r, warrantyPage(saved, done))
	}
	if !web.setErrors(w, r, &f, err) {
		return err
	}
	return web.showWarrantyForm(w, r, who, f)
}

// saveWarranty saves the form of a warranty: corrections, which need a reason, and everything else. Both are checked
// before one of them is saved.
func (web *Web) saveWarranty(
	r *http.Request, who warranty.Principal, f form,
) (done string, saved warranty.Warranty, err error) {
	if saved, err = web.warrantyOf(r, who); err != nil {
		return "", saved, err
	}
	values := form{Values: url.Values{}, resumed: f.resumed}
	for name, given := range f.Values {
		values.Values[name] = given
	}
	var c warranty.Checks
	c.Merge(web.readPrice(web.reader(r), values.Values))
	in, err := input(api.UpdateWarranty, values, r)
	if errors.Is(err, errResumed) {
		return "", saved, err
	}
	c.Merge(err)
	fix, err := input(api.CorrectWarranty, values, r)
	c.Merge(err)
	fix.Brand, fix.Model, fix.GTIN = nil, nil, nil // an update changes them without a reason
	if values.Values.Has("purchase_date") && values.Value("purchase_date") == "" {
		in.PurchaseDate = new(warranty.Date)
	}
	fixes := needsReason(saved, &fix)
	if len(c.Fields) == 0 {
		checked := in
		c.Merge(checked.Check())
		if corrected := fix; fixes {
			c.Merge(corrected.Check())
		}
	}
	if err := c.Err(); err != nil {
		return "", saved, err
	}
	before := in.IfMatch
	done = "updated"
	if fixes {
		if saved, err = web.Service.CorrectWarranty(r.Context(), who, fix); err != nil {
			return "", saved, err
		}
		in.IfMatch, done = saved.ETag(), "corrected"
	}
	if saved, err = web.Service.UpdateWarranty(r.Context(), who, in); err == nil && saved.ETag() == before {
		done = "unchanged"
	}
	return done, saved, err
}

// needsReason reports whether a correction changes a record. It leaves out what stays as it is.
func needsReason(record warranty.Warranty, fix *warranty.CorrectWarranty) bool {
	unix := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	needs := false
	for _, field := range []struct{ is, sent **string }{
		{&record.SerialNumber, &fix.SerialNumber}, {&record.Description, &fix.Description},
		{&record.SellerName, &fix.SellerName}, {&record.SellerEmail, &fix.SellerEmail},
	} {
		if *field.sent != nil && unix(**field.sent) == unix(view.Deref(*field.is)) {
			*field.sent = nil
		}
		needs = needs || *field.sent != nil
	}
	return needs
}

// readPrice rewrites the price of a form, as people write it, to the decimal text of the API: 1,299.00, 1.299,00, 499,00
// and 499.5. A number like 1,299 may mean two things, and is an error.
func (web *Web) readPrice(words view.Reader, values url.Values) error {
	typed := strings.TrimSpace(values.Get("price"))
	if typed == "" {
		return nil
	}
	price, ok := decimalPrice(typed)
	if !ok {
		var c warranty.Checks
		c.Add("price", "invalid_price", "%s", words.Text("warranty.price_wrong"))
		return c.Err()
	}
	values.Set("price", price)
	return nil
}

// decimalPrice returns a price with a point and without separators of thousands.
func decimalPrice(typed string) (string, bool) {
	typed = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "'", "", "’", "").Replace(typed)
	last := strings.LastIndexAny(typed, ".,")
	if last < 0 {
		return typed, true
	}
	whole, decimals, mark := typed[:last], typed[last+1:], typed[last:last+1]
	thousands := map[string]string{".": ",", ",": "."}[mark]
	switch {
	case strings.Contains(whole, mark) && !strings.Contains(whole, thousands): // 1,299,000
		whole, decimals, thousands = typed, "", mark
	case strings.Contains(whole, mark), len(decimals) == 3 && !strings.Contains(whole, thousands) && whole != "0":
		return "", false
	}
	groups := strings.Split(whole, thousands)
	for i, group := range groups {
		if i > 0 && len(group) != 3 || i == 0 && len(groups) > 1 && (group == "" || len(group) > 3) {
			return "", false
		}
	}
	whole = strings.Join(groups, "")
	if decimals == "" {
		return whole, whole != "" && !strings.HasSuffix(typed, mark)
	}
	return whole + "." + decimals, true
}
