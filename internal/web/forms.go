package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// maxForm is the maximum size of a form without a file.
const maxForm = 256 << 10

// form holds the values of a form and its errors, so that a refused form is shown again
// with everything typed.
type form struct {
	Values url.Values
	Errors map[string]string // by field
	Wrong  string            // the error of the whole form
	err    error             // the error that Errors and Wrong show
	status int               // the HTTP status when the form is shown again
	// resumed marks a form that was sent after the session ended. It is shown again
	// and not performed.
	resumed bool
}

// Value returns the value of a field.
func (f form) Value(name string) string { return f.Values.Get(name) }

// Error returns the error of a field, if any.
func (f form) Error(name string) string { return f.Errors[name] }

// fixOrder is the order of the fields in the forms of warranties and customers.
var fixOrder = []string{
	"product_name", "start_date", "length", "end_date", "brand", "model", "gtin", "supplier", "serial_number", "category",
	"seller_name", "seller_email", "customer_email", "customer_name", "purchase_date", "price", "currency", "external_id",
	"description", "reason", "name", "email", "phone", "note",
}

// Fixes returns the fields with errors in the order of the page.
func (f form) Fixes() []view.Field {
	var list []view.Field
	for _, name := range fixOrder {
		if wrong := f.Error(name); wrong != "" {
			list = append(list, view.Field{Name: name, Error: wrong})
		}
	}
	return list
}

// Has reports whether value is among the values of a field.
func (f form) Has(name, value string) bool {
	return slices.Contains(f.Values[name], value)
}

// removePasswords removes the passwords, which are never sent back.
func (f form) removePasswords() {
	for _, name := range []string{"password", "current_password", "new_password", "totp", "recovery_code"} {
		f.Values.Del(name)
	}
}

// readForm parses a URL-encoded form.
func readForm(w http.ResponseWriter, r *http.Request) (form, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return form{}, errForm
	}
	return form{Values: r.PostForm, resumed: r.Context().Value(resumedKey{}) != nil}, nil
}

// errResumed stops a resumed form from being performed.
var errResumed = errors.New("the form was sent after the session ended")

var errForm = warranty.Refuse(warranty.MalformedRequest, "The form could not be read.")

// once returns an idempotency key derived from all values of the form, or nil if the form
// has no "once" field. A form that is sent twice is performed once; a form that was
// changed in between is a new one.
func (f form) once() *string {
	if f.Value("once") == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(f.Values.Encode()))
	key := "web-" + hex.EncodeToString(sum[:])
	return &key
}

// onceWith is once for a form whose files have no id yet: a file gets another one each time that it is sent.
func (f form) onceWith(files []upload.File) *string {
	sent := form{Values: maps.Clone(f.Values)}
	for _, file := range files {
		sent.Values.Add("file", file.SHA256+" "+file.Name)
	}
	return sent.once()
}

// input decodes an operation's input from a form and the path of the request. It ignores
// fields that are not parameters of the operation.
func input[In, Out any](op api.Op[In, Out], f form, r *http.Request) (In, error) {
	var none In
	if f.resumed {
		return none, errResumed
	}
	values := url.Values{}
	for _, p := range op.Params {
		if p.In == api.Path {
			values.Set(p.Name, r.PathValue(p.Name))
		} else if given, ok := f.Values[p.Name]; ok {
			values[p.Name] = given
		}
	}
	in, err := op.DecodeForm(values)
	if err != nil {
		return none, err
	}
	return *in.(*In), nil
}

// showForm shows a form with its values and errors.
type showForm func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error

// empty returns a page with an empty form.
func empty(show showForm) page {
	return func(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
		return show(w, r, who, form{})
	}
}

// action describes a form: the operation that it performs, and the pages to show.
type action[In, Out any] struct {
	op api.Op[In, Out]
	// prepare, if set, checks or changes the values before the input is decoded.
	prepare func(f form) error
	do      func(ctx context.Context, who warranty.Principal, in In) (Out, error)
	// again shows the form with its errors. If it is nil, errors get an error page.
	again showForm
	// next returns the page to redirect to.
	next func(f form, out Out) string
	// done, if set, responds instead of a redirect to next.
	done func(f form, out Out) error
}

// submit handles a form that was sent: it reads the form, decodes the input, performs the
// operation and leads to the next page, or shows the form again.
func submit[In, Out any](
	web *Web, w http.ResponseWriter, r *http.Request, who warranty.Principal, a action[In, Out],
) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	if a.prepare != nil {
		err = a.prepare(f)
	}
	in, invalid := input(a.op, f, r)
	err = allFaults(err, invalid, &in)
	var out Out
	if err == nil {
		out, err = a.do(r.Context(), who, in)
	}
	switch {
	case err != nil && (a.again == nil || !web.setErrors(w, r, &f, err)):
		return err
	case err != nil:
		return a.again(w, r, who, f)
	case a.done != nil:
		return a.done(f, out)
	}
	return redirect(w, r, a.next(f, out))
}

// allFaults returns the errors of all fields of a form at once: those of preparing it, of decoding the input, and of its
// check. Other errors come alone.
func allFaults(prepared, decoded error, in any) error {
	switch {
	case prepared == nil, errors.Is(decoded, errResumed) && warranty.AsError(prepared).Code == warranty.ValidationFailed:
		return decoded
	case warranty.AsError(prepared).Code != warranty.ValidationFailed:
		return prepared
	}
	checked, ok := in.(interface{ Check() error })
	if decoded == nil && ok {
		decoded = checked.Check()
	}
	if decoded != nil && warranty.AsError(decoded).Code != warranty.ValidationFailed {
		return prepared
	}
	// A form with several files has several errors of one field.
	c := warranty.Checks{Fields: slices.Clone(warranty.AsError(prepared).Fields)}
	c.Merge(decoded)
	return c.Err()
}

// press handles a button: it performs an operation on the record of the path and redirects to
// next, where %s is the record's key.
func press[K fmt.Stringer](
	w http.ResponseWriter, r *http.Request, next string, parse func(string) (K, error), do func(key K) error,
) error {
	key, err := parse(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	if err := do(key); err != nil {
		return err
	}
	return redirect(w, r, strings.ReplaceAll(next, "%s", key.String()))
}

// setErrors sets the errors of a form from err and removes its passwords. It reports whether
// the form can be shown again; if not, err needs an error page.
func (web *Web) setErrors(w http.ResponseWriter, r *http.Request, f *form, err error) bool {
	f.err = err
	f.removePasswords()
	if errors.Is(err, errResumed) {
		f.status, f.Errors, f.Wrong = http.StatusOK, nil, web.t(r, "form.resumed")
		if f.Values.Has(filesAgain) {
			f.Values.Del(filesAgain)
			f.Errors = map[string]string{"file": web.t(r, "claim.again")}
		}
		return true
	}
	if errors.Is(err, errListStored) {
		f.status = http.StatusOK
		return true
	}
	if api.ClientGone(r.Context(), err) {
		return false
	}
	refusal := warranty.AsError(err)
	f.status = http.StatusUnprocessableEntity
	switch refusal.Code {
	case warranty.Internal, warranty.NotFound, warranty.SessionExpired, warranty.ConfirmationRequired:
		return false
	case warranty.Unavailable, warranty.RateLimited, warranty.IPThrottled, warranty.EmailNotVerified:
		// The form itself is valid: keep the status of the error.
		refusal = web.publicError(w, r, err)
		f.status = refusal.Code.Info().Status
	}
	f.Errors = map[string]string{}
	for _, e := range refusal.Fields {
		switch text := web.reader(r).Message(e.Text()); {
		case f.Errors[e.Field] == "":
			f.Errors[e.Field] = text
		case e.Field == "file": // a form may have several files: name each that was refused
			f.Errors[e.Field] += "\n" + text
		}
	}
	if len(f.Errors) == 0 {
		f.Wrong = web.reader(r).Message(refusal.Text())
	}
	return true
}

// addition is the form that adds a claim or a document to a warranty.
type addition struct {
	form
	Warranties []warranty.Warranty
	More       bool // there are older warranties than these
	Types      []string
	Files      []service.Draft
	Stored     []warranty.Document // of the warranty, which can be sent too
}

// additionOf returns the form with the newest warranties that match in. The warranty of
// the form's warranty_id comes first, even if it is not among the newest.
func (web *Web) additionOf(
	r *http.Request, who warranty.Principal, f form, in warranty.ListWarranties, types []string,
) (addition, error) {
	in.Paging = warranty.Paging{Page: 1, Limit: warranty.MaxLimit}
	list, err := web.Service.ListWarranties(r.Context(), who, in)
	a := addition{form: f, Warranties: list.Data, More: list.Pagination.TotalPages > 1, Types: types}
	key, none := warranty.ParseWarrantyKey(f.Value("warranty_id"))
	if err != nil || none != nil {
		return a, err
	}
	chosen, err := web.Service.GetWarranty(r.Context(), who, warranty.GetWarranty{ID: key})
	others := slices.DeleteFunc(list.Data, func(w warranty.Warranty) bool { return w.ID == chosen.ID })
	a.Warranties = append([]warranty.Warranty{chosen}, others...)
	a.Values.Set("warranty_id", chosen.ID.String())
	return a, err
}
