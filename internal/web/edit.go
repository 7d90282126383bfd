package web

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// warrantyForm is the form that edits a warranty. It has the fields that the person may change.
type warrantyForm struct {
	form
	Record  warranty.Warranty
	Changed []warranty.Change // by others, since the form was opened
}

// Promise reports whether the form has the fields that only the issuer may change.
func (f warrantyForm) Promise() bool { return f.Record.Roles.May(warranty.ChangePromise) == nil }

// Notes reports whether the form has the fields that only the owner may change.
func (f warrantyForm) Notes() bool { return f.Record.Roles.May(warranty.ChangeNotes) == nil }

// Issuer reports whether the form has the issuer's own fields.
func (f warrantyForm) Issuer() bool { return f.Record.Roles.May(warranty.SetExternalID) == nil }

// Reason reports whether a change of the serial number, the seller or the notes needs a reason.
func (f warrantyForm) Reason() bool { return f.Record.NeedsReason() }

// showWarrantyForm shows the form of the warranty with the id of the path.
func (web *Web) showWarrantyForm(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return err
	}
	body := warrantyForm{form: f, Record: record}
	if f.err != nil && warranty.AsError(f.err).Code == warranty.PreconditionFailed {
		now := editValues(record)
		now.Set("status", record.Standing.String())
		body.Changed = mergeChanged(&body.form, now, record.ETag())
		body.Wrong = web.t(r, "warranty.changed_meanwhile")
	}
	if record.Handover == nil || !who.ActsForOrganization() {
		body.Record.Handover = &warranty.Handover{}
	}
	v := view.Page{Title: web.t(r, "warranty.edit"), Nav: "warranties", Who: who, Body: body}
	return web.show(w, r, f.status, "warranty-form", v)
}

// editValues returns what a record says, by the fields of the form.
func editValues(record warranty.Warranty) url.Values {
	values := url.Values{}
	for name, value := range map[string]*string{
		"supplier": record.Supplier, "brand": record.Brand, "model": record.Model, "gtin": record.GTIN,
		"serial_number": record.SerialNumber, "seller_name": record.SellerName, "seller_email": record.SellerEmail,
		"description": record.Description, "category": record.Category, "price": record.Price, "currency": record.Currency,
		"external_id": record.ExternalID, "customer_name": record.CustomerName,
	} {
		values.Set(name, view.Deref(value))
	}
	values.Set("product_name", record.ProductName)
	values.Set("start_date", record.StartDate.String())
	values.Set("end_date", record.EndDate.String())
	values.Set("lifetime", "")
	if record.EndDate == warranty.Lifetime {
		values.Set("end_date", "")
		values.Set("lifetime", "true")
	}
	values.Set("purchase_date", "")
	if record.PurchaseDate != nil {
		values.Set("purchase_date", record.PurchaseDate.String())
	}
	if _, decimals, _ := strings.Cut(values.Get("price"), "."); len(decimals) == 3 {
		values.Set("price", values.Get("price")+"0") // 12.125 could be twelve thousand
	}
	return values
}

// wasPrefix is that of the hidden fields with what a record said when its form was opened.
const wasPrefix = "was."

// editedValues returns the values of a form that edits a record, and what the record says.
func editedValues(values url.Values, etag string) url.Values {
	for name, value := range maps.Clone(values) {
		values[wasPrefix+name] = value
	}
	values.Set("if_match", etag)
	return values
}

// mergeChanged returns what changed in a record since its form was opened. Untouched fields follow the record; typed ones
// stay.
func mergeChanged(f *form, now url.Values, etag string) (changed []warranty.Change) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		was, known := f.Values[wasPrefix+name]
		is := now.Get(name)
		f.Values.Set(wasPrefix+name, is)
		if !known || unixText(was[0]) == unixText(is) {
			continue
		}
		if unixText(f.Value(name)) == unixText(was[0]) {
			f.Values.Set(name, is)
		}
		if name == "end_date" {
			was[0], is = cmp.Or(was[0], warranty.Lifetime.String()), cmp.Or(is, warranty.Lifetime.String())
		}
		if name != "lifetime" {
			changed = append(changed, warranty.Change{Field: name, From: warranty.Optional(was[0]), To: warranty.Optional(is)})
		}
	}
	f.Values.Set("if_match", etag)
	return changed
}

// unixText returns a text as it was before a browser sent it.
func unixText(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }

func (web *Web) editWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return err
	}
	f := warrantyForm{Record: record}
	if !f.Promise() && !f.Notes() {
		return record.Roles.May(warranty.ChangePromise)
	}
	values := editedValues(editValues(record), record.ETag())
	values.Set(wasPrefix+"status", record.Standing.String())
	return web.showWarrantyForm(w, r, who, form{Values: values})
}

// Was returns the hidden fields with what the record said when the form was opened.
func (f form) Was() (list []view.Field) {
	for _, name := range slices.Sorted(maps.Keys(f.Values)) {
		if strings.HasPrefix(name, wasPrefix) {
			list = append(list, view.Field{Name: name, Value: f.Value(name)})
		}
	}
	return list
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

// saveWarranty saves the form of a warranty: corrections, which may need a reason, and everything else. Both are checked
// before one of them is saved.
func (web *Web) saveWarranty(
	r *http.Request, who warranty.Principal, f form,
) (done string, saved warranty.Warranty, err error) {
	if saved, err = web.warrantyOf(r, who); err != nil {
		return "", saved, err
	}
	if f.resumed {
		return "", saved, errResumed
	}
	in, fix, err := web.editInput(r, f)
	var c warranty.Checks
	c.Merge(err)
	fixes := corrects(saved, &fix)
	if !saved.NeedsReason() {
		fix = fix.WithoutReason()
	}
	checked := in
	c.Merge(checked.Check())
	if corrected := fix; fixes {
		c.Merge(corrected.Check())
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

// editInput decodes the form of a warranty as an update and a correction.
func (web *Web) editInput(
	r *http.Request, f form,
) (in warranty.UpdateWarranty, fix warranty.CorrectWarranty, err error) {
	values := form{Values: maps.Clone(f.Values)}
	values.Values.Del("status")
	var c warranty.Checks
	c.Merge(web.readPrice(web.reader(r), values.Values))
	c.Merge(web.readLifetime(web.reader(r), values.Values))
	in, err = input(api.UpdateWarranty, values, r)
	c.Merge(err)
	fix, err = input(api.CorrectWarranty, values, r)
	c.Merge(err)
	fix.Brand, fix.Model, fix.GTIN = nil, nil, nil // an update changes them without a reason
	if values.Values.Has("purchase_date") && values.Value("purchase_date") == "" {
		in.PurchaseDate = new(warranty.Date)
	}
	return in, fix, c.Err()
}

// corrects reports whether a correction changes a record. It leaves out what stays as it is.
func corrects(record warranty.Warranty, fix *warranty.CorrectWarranty) bool {
	changes := false
	for _, field := range []struct{ is, sent **string }{
		{&record.SerialNumber, &fix.SerialNumber}, {&record.Description, &fix.Description},
		{&record.SellerName, &fix.SellerName}, {&record.SellerEmail, &fix.SellerEmail},
	} {
		if *field.sent != nil && unixText(**field.sent) == unixText(view.Deref(*field.is)) {
			*field.sent = nil
		}
		changes = changes || *field.sent != nil
	}
	return changes
}

// readLifetime sets the end date of a form whose box "Lifetime" is checked.
func (web *Web) readLifetime(words view.Reader, values url.Values) error {
	switch {
	case values.Get("lifetime") == "true":
		values.Set("end_date", warranty.Lifetime.String())
	case values.Has("end_date") && strings.TrimSpace(values.Get("end_date")) == "":
		var c warranty.Checks
		c.Add("end_date", "required", "%s", words.Text("warranty.end_missing"))
		values.Del("end_date") // the other fields are checked too
		return c.Err()
	}
	return nil
}

// readPrice rewrites the price of a form, as people write it, to the decimal text of the API: 1,299.00, 1.299,00, 499,00
// and 499.5. A number like 1,299 may mean two things, and is an error. A price and its currency need each other.
func (web *Web) readPrice(words view.Reader, values url.Values) error {
	typed, currency := strings.TrimSpace(values.Get("price")), strings.TrimSpace(values.Get("currency"))
	price, ok := decimalPrice(typed)
	var c warranty.Checks
	switch {
	case typed == "" && currency != "", typed != "" && !ok:
		c.Add("price", "invalid_price", "%s", words.Text("warranty.price_wrong"))
	case typed != "":
		values.Set("price", price)
	}
	if typed != "" && currency == "" {
		c.Add("currency", "required", "%s", words.Text("warranty.currency_missing"))
	}
	return c.Err()
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
