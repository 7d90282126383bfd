package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// claimList is the page /claims.
type claimList struct {
	form
	Page    warranty.Page[warranty.Claim]
	Filters []filter
	Shows   []filter // whose turn it is, and who works on them
	Sorts   []filter
	Pager   pager
	First   bool // there are no claims at all
	Empty   emptyList
	Yours   map[warranty.ID]bool // the claims that wait for the account
}

// emptyList is shown in place of claims or documents if there are none. Only the first list of a user
// leads to a warranty to begin with, if there is one.
type emptyList struct {
	First, HasWarranty      bool
	Viewer                  bool // the person cannot add anything
	Title, Help, New, Clear string
	Path                    string
}

func (web *Web) claims(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	query := r.URL.Query()
	in := warranty.ListClaims{Paging: pagingOf(query, listPage), Q: query.Get("q"), Customer: query.Get("customer")}
	if status, err := warranty.ParseEnum[warranty.ClaimStatus](query.Get("status")); err == nil {
		in.Status = status
	}
	if sort, err := warranty.ParseEnum[warranty.ClaimSort](query.Get("sort")); err == nil {
		in.Sort = sort
	}
	read, show := web.Service.ListClaims, query.Get("show")
	switch {
	case show == "waiting":
		read = web.Service.ListWaitingClaims
	case show == "mine" && who.ActsForOrganization():
		read = web.Service.ListAssignedClaims
	default:
		show = ""
	}
	list := claimList{form: form{Values: query}, Filters: []filter{{"", "warranties.all", in.Status == ""}}}
	for _, name := range in.Status.Values() {
		list.Filters = append(list.Filters, filter{name, "claim_status." + name, in.Status.String() == name})
	}
	shows := []string{"", "waiting"}
	if who.ActsForOrganization() {
		shows = append(shows, "mine")
	}
	for _, name := range shows {
		list.Shows = append(list.Shows, filter{name, "claims_show." + cmp.Or(name, "all"), name == show})
	}
	for _, name := range in.Sort.Values() {
		list.Sorts = append(list.Sorts, filter{name, "claims_sort." + name, cmp.Or(in.Sort.String(), "-created_at") == name})
	}
	var err error
	if list.Page, err = read(r.Context(), who, in); err != nil {
		return err
	}
	// Of more than a page of claims that wait for the account, the others show the side that has to act.
	waiting, err := web.Service.ListWaitingClaims(r.Context(), who, warranty.ListClaims{
		Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit},
	})
	if err != nil {
		return err
	}
	list.Yours = map[warranty.ID]bool{}
	for _, c := range waiting.Data {
		list.Yours[c.ID] = true
	}
	list.Pager = newPager(r.URL, list.Page.Pagination)
	list.Empty = emptyList{Title: web.t(r, "claims.none"), Help: web.t(r, "claims.none_help"), Clear: web.t(r, "claims.clear")}
	if list.First = list.Page.Pagination.Total == 0 && in.Status == "" && in.Q == "" && show == ""; list.First {
		list.Empty = emptyList{First: true, Title: web.t(r, "claims.first"), Help: web.t(r, "claims.first_help"), New: web.t(r, "claim.new")}
		if list.Empty.HasWarranty, err = web.hasWarranty(r, who, ofOwner); err != nil {
			return err
		}
	}
	list.Empty.Path, list.Empty.Viewer = r.URL.Path, !who.Account.Role.Includes(warranty.Member)
	v := view.Page{Title: web.t(r, "nav.claims"), Nav: "claims", Who: who, Flash: view.Flash(r), Body: list}
	if isPart(r) {
		return web.part(w, r, "claims", "rows", v)
	}
	return web.show(w, r, http.StatusOK, "claims", v)
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
	return web.show(w, r, f.status, "claim-form", view.Page{Title: web.t(r, "claim.new"), Nav: "claims", Who: who, Body: body})
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
			var c warranty.Checks
			if len(f.Values["documents"]) > warranty.MaxMessageDocuments {
				c.Add("file", "too_many", "%s", web.t(r, "claim.too_many_files", warranty.MaxMessageDocuments))
			}
			return c.Err()
		},
		do: func(ctx context.Context, who warranty.Principal, in warranty.FileClaim) (warranty.Claim, error) {
			in.IdempotencyKey = filesOf(r).once
			return web.Service.FileClaim(ctx, who, in)
		},
		again: web.showClaimForm,
		done: func(f form, filed warranty.Claim) error {
			in := warranty.UploadDocument{
				WarrantyID: warranty.WarrantyKey{ID: filed.WarrantyID}, ClaimID: warranty.ClaimKey{ID: filed.ID}, Type: warranty.ClaimEvidence,
			}
			done := "filed"
			for _, id := range warranty.DocumentIDs(f.Values["documents"]) {
				_, err := web.Service.AttachDraft(r.Context(), who, id, in)
				var refusal *warranty.Error
				switch {
				case errors.As(err, &refusal) && refusal.Code != warranty.Internal:
					done = "filed_without" // the others are attached
				case err != nil:
					return err
				}
			}
			return redirect(w, r, "/claims/"+filed.ID.String()+"?done="+done)
		},
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
