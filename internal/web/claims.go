package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// emptyList is shown in place of claims or documents if there are none. Only the first list of a user
// leads to a warranty to begin with, if there is one.
type emptyList struct {
	First, HasWarranty      bool
	Viewer                  bool // the person cannot add anything
	Title, Help, New, Clear string
	Path                    string
}

// ofOwner lists the warranties that the user owns: only an owner may file a claim.
var ofOwner = warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Role: warranty.Owner}}

// hasWarranty reports whether any warranty matches in.
func (web *Web) hasWarranty(r *http.Request, who warranty.Principal, in warranty.ListWarranties) (bool, error) {
	in.Paging = warranty.Paging{Page: 1, Limit: 1}
	page, err := web.Service.ListWarranties(r.Context(), who, in)
	return page.Pagination.Total > 0, err
}

// newClaim shows the form of a claim, filled in with what its link says. Nothing is filed.
func (web *Web) newClaim(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f := form{Values: url.Values{"type": {warranty.Repair.String()}, "once": {web.Service.NewID().String()}}}
	given := r.URL.Query()
	for _, name := range []string{"warranty_id", "type", "description", "incident_date"} {
		if given.Get(name) != "" {
			f.Values.Set(name, given.Get(name))
		}
	}
	web.checkPrefilled(w, r, &f, given)
	return web.showClaimForm(w, r, who, f)
}

// checkPrefilled sets the errors of the values that a link fills in. What it leaves out is not an error.
func (web *Web) checkPrefilled(w http.ResponseWriter, r *http.Request, f *form, given url.Values) {
	in, err := input(api.FileClaim, *f, r)
	if err == nil {
		err = in.Check()
	}
	if err == nil || !web.setErrors(w, r, f, err) {
		return
	}
	f.status = http.StatusOK
	for name := range f.Errors {
		if given.Get(name) == "" {
			delete(f.Errors, name)
		}
	}
}

func (web *Web) showClaimForm(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	body, err := web.additionOf(r, who, f, ofOwner, warranty.ClaimType("").Values())
	if err != nil {
		return err
	}
	if body.Files, err = web.draftsOf(r, who, &body.form); err != nil {
		return err
	}
	if key, none := warranty.ParseWarrantyKey(body.Value("warranty_id")); none == nil {
		if body.Stored, err = web.storedDocuments(r, who, key, nil); err != nil {
			return err
		}
	}
	return web.show(w, r, f.status, "claim-form", view.Page{Title: web.t(r, "claim.new"), Nav: "claims", Who: who, Body: body})
}

// listStored is the button that shows the documents of the chosen warranty.
const listStored = "stored"

// errListStored shows a form again with the stored documents of its warranty, and performs nothing.
var errListStored = errors.New("the form asks for stored documents")

// storedDocuments lists the newest documents of a warranty that its owner can send with a claim, without some.
func (web *Web) storedDocuments(
	r *http.Request, who warranty.Principal, key warranty.WarrantyKey, without []warranty.Document,
) ([]warranty.Document, error) {
	page, err := web.Service.ListDocuments(r.Context(), who, warranty.ListDocuments{
		Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit}, WarrantyID: key,
	})
	return slices.DeleteFunc(page.Data, func(d warranty.Document) bool {
		return d.ClaimID != nil || slices.ContainsFunc(without, func(o warranty.Document) bool { return o.ID == d.ID })
	}), err
}

func (web *Web) fileClaim(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.FileClaim, warranty.Claim]{
		op: api.FileClaim,
		// A claim is not filed without a file that was chosen for it.
		prepare: func(f form) error {
			if f.resumed {
				return errResumed
			}
			if err := filesOf(r).err; err != nil {
				return err
			}
			if f.Value("do") == listStored {
				return errListStored
			}
			var c warranty.Checks
			if len(f.Values["documents"]) > warranty.MaxMessageDocuments {
				c.Add("file", "too_many", "%s", web.t(r, "claim.too_many_files", warranty.MaxMessageDocuments))
			}
			return c.Err()
		},
		do: func(ctx context.Context, who warranty.Principal, in warranty.FileClaim) (warranty.Claim, error) {
			in.IdempotencyKey = filesOf(r).once
			drafts := r.PostForm["documents"]
			c, err := web.Service.FileClaimWith(ctx, who, in, warranty.DocumentIDs(drafts))
			return c, web.filesGone(r, who, &form{Values: r.PostForm}, err)
		},
		again: web.showClaimForm,
		next:  func(_ form, filed warranty.Claim) string { return "/claims/" + filed.ID.String() + "?done=filed" },
	})
}

func (web *Web) moveClaim(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.MoveClaim, warranty.Claim]{
		op: api.MoveClaim,
		prepare: func(f form) error {
			if f.Value("status") != "resolved" {
				for _, name := range []string{"resolution", "resolution_note", "replacement_serial_number"} {
					f.Values.Del(name) // the form has these fields for "resolved" only
				}
			}
			return nil
		},
		do:    web.Service.MoveClaim,
		again: web.showClaim,
		next:  func(_ form, c warranty.Claim) string { return "/claims/" + c.ID.String() + "?done=moved" },
	})
}
