package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"warranty.example/svc/api"
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
	status int               // the HTTP status when the form is shown again
	// resumed marks a form that was sent after the session ended. It is shown again
	// and not performed.
	resumed bool
}

// Value returns the value of a field.
func (f form) Value(name string) string { return f.Values.Get(name) }

// Error returns the error of a field, if any.
func (f form) Error(name string) string { return f.Errors[name] }

// Has reports whether value is among the values of a field.
func (f form) Has(name, value string) bool {
	return slices.Contains(f.Values[name], value)
}

// readForm parses a URL-encoded form.
func readForm(w http.ResponseWriter, r *http.Request) (form, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return form{}, errForm
	}
	return form{Values: r.PostForm, resumed: r.Context().Value(resumedKey{}) != nil}, nil
}

// checkAccount refuses a form that was opened by another account, because the browser
// has switched accounts since.
func (f form) checkAccount(who warranty.Principal) error {
	if opened := f.Value("account"); opened != "" && opened != who.User.ID.String() {
		return errOtherAccount
	}
	return nil
}

var errOtherAccount = warranty.Refuse(warranty.PreconditionFailed, "The form was opened by another account.")

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

// input decodes an operation's input from a form and the path parameters. It ignores
// fields that are not parameters of the operation.
func input[In, Out any](op api.Op[In, Out], f form, path map[string]string) (In, error) {
	if f.resumed {
		var none In
		return none, errResumed
	}
	values := url.Values{}
	for _, p := range op.Params {
		if given, ok := f.Values[p.Name]; ok {
			values[p.Name] = given
		}
		if given, ok := path[p.Name]; ok {
			values[p.Name] = []string{given}
		}
	}
	in, err := op.DecodeForm(values)
	if err != nil {
		var none In
		return none, err
	}
	return *in.(*In), nil
}

// setErrors sets the errors of a form from err. It reports whether the form can be shown
// again; if not, err needs an error page.
func (web *Web) setErrors(w http.ResponseWriter, r *http.Request, f *form, err error) bool {
	if errors.Is(err, errResumed) {
		f.status, f.Errors, f.Wrong = http.StatusOK, nil, web.t("form.resumed")
		return true
	}
	if api.ClientGone(r.Context(), err) {
		return false
	}
	refusal := warranty.AsError(err)
	f.status = http.StatusUnprocessableEntity
	switch refusal.Code {
	case warranty.Internal, warranty.NotFound, warranty.SessionExpired:
		return false
	case warranty.Unavailable, warranty.RateLimited, warranty.IPThrottled, warranty.EmailNotVerified:
		// The form itself is valid: keep the status of the error.
		refusal = web.publicError(w, r, err)
		f.status = refusal.Code.Info().Status
	}
	f.Errors = map[string]string{}
	for _, e := range refusal.Fields {
		if f.Errors[e.Field] == "" {
			f.Errors[e.Field] = e.Message
		}
	}
	if len(f.Errors) == 0 {
		f.Wrong = refusal.Message
	}
	return true
}

// addition is the form that adds a claim or a document to a warranty.
type addition struct {
	form
	Warranties []warranty.Warranty
	More       bool // there are older warranties than these
	Types      []string
}

// additionOf returns the form with the newest warranties that match in. The warranty of
// the form's warranty_id comes first, even if it is not among the newest.
func (web *Web) additionOf(
	r *http.Request, who warranty.Principal, f form, in warranty.ListWarranties, types []string,
) (addition, error) {
	in.Paging = warranty.Paging{Page: 1, Limit: warranty.MaxLimit}
	list, err := web.Service.ListWarranties(r.Context(), who, in)
	a := addition{form: f, Warranties: list.Data, More: list.Pagination.TotalPages > 1, Types: types}
	id, none := warranty.ParseID(f.Value("warranty_id"))
	if err != nil || none != nil {
		return a, err
	}
	chosen, err := web.Service.GetWarranty(r.Context(), who, warranty.GetWarranty{ID: id})
	others := slices.DeleteFunc(list.Data, func(w warranty.Warranty) bool { return w.ID == id })
	a.Warranties = append([]warranty.Warranty{chosen}, others...)
	return a, err
}
