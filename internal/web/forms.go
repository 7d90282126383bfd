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

// maxForm is the most that a form without a file may have.
const maxForm = 256 << 10

// form is what a person filled in, and what is wrong with it: pages show both
// again, so that nothing typed is lost.
type form struct {
	Values url.Values
	Errors map[string]string // by field
	Wrong  string            // what is wrong with the whole
	status int               // of the answer that shows it again
	// resumed is a form that was sent after the session ended: it is shown again and
	// not carried out.
	resumed bool
}

// Value is what was typed into a field.
func (f form) Value(name string) string { return f.Values.Get(name) }

// Error is what is wrong with a field, if anything.
func (f form) Error(name string) string { return f.Errors[name] }

// Has tells whether a box of a group is ticked.
func (f form) Has(name, value string) bool {
	for _, v := range f.Values[name] {
		if v == value {
			return true
		}
	}
	return false
}

// readForm reads a form that was sent.
func readForm(w http.ResponseWriter, r *http.Request) (form, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return form{}, errForm
	}
	return form{Values: r.PostForm, resumed: r.Context().Value(resumedKey{}) != nil}, nil
}

// checkAccount refuses a form that another account opened: the browser has changed
// accounts since.
func (f form) checkAccount(who warranty.Principal) error {
	if opened := f.Value("account"); opened != "" && opened != who.User.ID.String() {
		return errOtherAccount
	}
	return nil
}

var errOtherAccount = warranty.Refuse(warranty.PreconditionFailed, "The form was opened by another account.")

// errResumed keeps a form from being carried out that is only shown again.
var errResumed = errors.New("the form was sent after the session ended")

var errForm = warranty.Refuse(warranty.MalformedRequest, "The form could not be read.")

// once is a key by which a form that is sent twice, with the same in it, does what
// it does once; nil when the page gave it no number. Somebody who goes back and
// changes something means another one.
func (f form) once() *string {
	if f.Value("once") == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(f.Values.Encode()))
	key := "web-" + hex.EncodeToString(sum[:])
	return &key
}

// input makes an operation's input of a form, with the path's parameters. Fields
// that the operation does not take are the page's own and are left alone.
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

// mend puts a refusal beside the fields of a form. It tells whether the form can
// be shown again with it; other errors deserve a page of their own.
func (web *Web) mend(w http.ResponseWriter, r *http.Request, f *form, err error) bool {
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
		// Nothing is wrong with the form, so the answer does not say so.
		refusal = web.excuse(w, r, err)
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

// addition is the form of what is added to a warranty: a claim, or a document.
type addition struct {
	form
	Warranties []warranty.Warranty
	More       bool // there are older ones
	Types      []string
}

// additionOf offers the newest of the warranties that are asked for, the one that
// the person came from first, though it may be older.
func (web *Web) additionOf(r *http.Request, who warranty.Principal, f form, in warranty.ListWarranties, types []string) (addition, error) {
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
