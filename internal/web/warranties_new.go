package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// newForm is the form that creates a warranty.
type newForm struct {
	form
	Lengths               []length
	Categories, Suppliers []string // that the account already uses
	Files                 []service.Draft
}

// pickedDate is the value of the field "length" if the end date is typed.
const pickedDate = "date"

// newLengths are the choices of the length of a new warranty, in months.
var newLengths = []int{12, 24, 36, 60}

// moreFields are the fields under "More".
var moreFields = []string{
	"serial_number", "category", "supplier", "seller_name", "seller_email", "purchase_date", "price", "currency",
	"external_id", "description",
}

// Open reports whether the fields under "More" have values or errors to show.
func (f newForm) Open() bool {
	return slices.ContainsFunc(moreFields, func(name string) bool { return f.Value(name) != "" || f.Error(name) != "" })
}

// Focus returns "true" if the form was just opened: the first field then has the focus.
func (f newForm) Focus() string {
	if len(f.Errors) > 0 || f.Wrong != "" {
		return "false"
	}
	return "true"
}

func (web *Web) newWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	values := r.URL.Query()
	values.Set("once", web.Service.NewID().String())
	if !values.Has("start_date") {
		values.Set("start_date", warranty.DateOf(web.Service.Now()).String())
	}
	if !values.Has("end_date") {
		values.Set("length", "24")
	}
	return web.showNewWarranty(w, r, who, form{Values: values})
}

func (web *Web) showNewWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	if !f.Values.Has("length") {
		f.Values.Set("length", pickedDate)
	}
	body := newForm{form: f, Lengths: web.lengthChoices(web.reader(r), newLengths)}
	body.Lengths = append(body.Lengths, length{pickedDate, web.t(r, "warranty.pick_date")})
	var err error
	if body.Files, err = web.draftsOf(r, who, &body.form); err != nil {
		return err
	}
	if body.Categories, err = web.suggestions(r.Context(), who, warranty.GroupByCategory); err != nil {
		return err
	}
	if body.Suppliers, err = web.suggestions(r.Context(), who, warranty.GroupBySupplier); err != nil {
		return err
	}
	return web.show(w, r, f.status, "warranty-new", view.Page{Title: web.t(r, "warranty.new"), Nav: "warranties", Who: who, Body: body})
}

// suggestions returns the values of a field that the account uses most.
func (web *Web) suggestions(ctx context.Context, who warranty.Principal, by warranty.SummaryGroup) (list []string, err error) {
	summary, err := web.Service.SummarizeWarranties(ctx, who, warranty.SummarizeWarranties{GroupBy: by, Limit: 30})
	for _, g := range summary.Groups {
		if g.Value != nil {
			list = append(list, *g.Value)
		}
	}
	return list, err
}

// setEnd sets the end date of a form from the start date and the chosen length.
func (web *Web) setEnd(words view.Reader, values url.Values) error {
	chosen := values.Get("length")
	if chosen == "" || chosen == pickedDate {
		return nil
	}
	start, err := warranty.ParseDate(values.Get("start_date"))
	if err != nil {
		return nil //nolint:nilerr // decoding the form reports it
	}
	p, err := web.productLength(words, chosen)
	if err != nil {
		return err
	}
	values.Set("end_date", p.EndDate(start).String())
	return nil
}

func (web *Web) createWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	var sent form
	return submit(web, w, r, who, action[warranty.CreateWarranty, warranty.Warranty]{
		op: api.CreateWarranty,
		prepare: func(f form) error {
			sent = form{Values: url.Values{}}
			for name, values := range f.Values {
				sent.Values[name] = values
			}
			var c warranty.Checks
			c.Merge(web.readPrice(web.reader(r), f.Values))
			c.Merge(web.setEnd(web.reader(r), f.Values))
			return c.Err()
		},
		do: func(
			ctx context.Context, who warranty.Principal, in warranty.CreateWarranty,
		) (warranty.Warranty, error) {
			in.IdempotencyKey = filesOf(r).once
			created, err := web.Service.CreateWarranty(ctx, who, in)
			if err != nil || !created.Replay {
				return created, err
			}
			_, err = web.Service.GetWarranty(ctx, who, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: created.ID}})
			if !errors.Is(err, warranty.ErrNotFound) {
				return created, nil
			}
			return created, warranty.Refuse(warranty.AlreadyExists, "%s", web.t(r, "warranty.sent_before"))
		},
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			if f.err != nil && warranty.AsError(f.err).Code == warranty.AlreadyExists {
				f.Values.Set("once", web.Service.NewID().String())
			}
			web.setFileError(r, &f)
			return web.showNewWarranty(w, r, who, f)
		},
		done: func(_ form, created warranty.Warranty) error {
			return web.attachReceipt(w, r, who, created, sent)
		},
	})
}

func orEmpty(errs map[string]string) map[string]string {
	if errs == nil {
		return map[string]string{}
	}
	return errs
}

// attachReceipt adds the file of the form to the warranty that it created. If that fails, the warranty is saved
// nevertheless, and the page asks for another file.
func (web *Web) attachReceipt(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, created warranty.Warranty, sent form,
) error {
	next := warrantyPage(created, "created")
	in := warranty.UploadDocument{WarrantyID: warranty.WarrantyKey{ID: created.ID}, Type: warranty.Receipt}
	err := filesOf(r).err
	if ids := warranty.DocumentIDs(sent.Values["documents"]); err == nil && len(ids) > 0 {
		if _, err = web.Service.AttachDraft(r.Context(), who, ids[0], in); errors.Is(err, warranty.ErrNotFound) {
			err = web.fileAgain(r)
		}
	}
	if err == nil {
		return redirect(w, r, next)
	}
	f := form{Values: url.Values{"warranty_id": {created.ID.String()}, "type": {warranty.Receipt.String()}}}
	if !web.setErrors(w, r, &f, err) {
		return err
	}
	if f.Wrong != "" {
		f.Errors = map[string]string{"file": f.Wrong}
	}
	f.Wrong = web.t(r, "warranty.saved_without")
	return web.showDocumentForm(w, r, who, f)
}
