package web

import (
	"net/http"
	"slices"

	"warranty.example/svc/warranty"
)

// claimCheck is a fact that helps to decide a claim. It never prevents a decision.
type claimCheck struct {
	Tone        string // "" if fine, "look" or "bad"
	Title, Hint string
	Href, Link  string
}

// Fine counts the checks that need no look.
func (d claimDetail) Fine() (n int) {
	for _, c := range d.Checks {
		if c.Tone == "" {
			n++
		}
	}
	return n
}

// claimChecks looks at the warranty of a claim for those who decide it.
func (web *Web) claimChecks(r *http.Request, who warranty.Principal, d claimDetail) ([]claimCheck, error) {
	key := warranty.WarrantyKey{ID: d.WarrantyID}
	earlier, err := web.Service.ListClaims(r.Context(), who, warranty.ListClaims{
		Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit}, WarrantyID: key, Selection: warranty.Selection{Fields: "id"},
	})
	if err != nil {
		return nil, err
	}
	files, err := web.Service.ListDocuments(r.Context(), who, warranty.ListDocuments{
		Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit}, WarrantyID: key,
	})
	if err != nil {
		return nil, err
	}
	before := slices.DeleteFunc(earlier.Data, func(c warranty.Claim) bool { return !c.CreatedAt.Before(d.CreatedAt) })
	checks := []claimCheck{web.coverCheck(r, d), web.serialCheck(r, d), web.earlierCheck(r, before), web.partCheck(r, d)}
	return append(checks, web.receiptCheck(r, files.Data)), nil
}

func (web *Web) coverCheck(r *http.Request, d claimDetail) claimCheck {
	words, w := web.reader(r), d.Record
	check := claimCheck{Href: "/warranties/" + w.ID.String(), Link: words.Text("check.warranty")}
	switch {
	case w.Standing != warranty.Active:
		check.Tone, check.Title = "bad", words.Text("check.ended", words.Text("status."+w.Standing.String()))
	case d.Covered:
		check.Title = words.Text("check.covered", words.Date(d.IncidentDate))
		check.Hint = words.Text("check.covered_hint", words.Date(w.StartDate), words.Date(w.EndDate), int(d.IncidentDate-w.StartDate)+1)
	default:
		check.Tone, check.Title = "bad", words.Text("check.not_covered", words.Date(d.IncidentDate))
		check.Hint = words.Text("check.not_covered_hint", words.Date(w.StartDate), words.Date(w.EndDate))
	}
	return check
}

func (web *Web) serialCheck(r *http.Request, d claimDetail) claimCheck {
	words := web.reader(r)
	if serial := d.Record.SerialNumber; serial != nil {
		return claimCheck{Title: words.Text("check.serial"), Hint: *serial}
	}
	return claimCheck{Tone: "look", Title: words.Text("check.serial_none"), Hint: words.Text("check.serial_none_hint")}
}

func (web *Web) earlierCheck(r *http.Request, before []warranty.Claim) claimCheck {
	words := web.reader(r)
	if len(before) == 0 {
		return claimCheck{Title: words.Text("check.earlier_none")}
	}
	last := before[0] // newest first
	return claimCheck{
		Tone: "look", Title: words.Text("check.earlier", len(before)),
		Hint: last.Fault + " · " + words.Text("claim_status."+last.Status.String()),
		Href: "/claims/" + last.ID.String(), Link: words.Text("check.view"),
	}
}

func (web *Web) partCheck(r *http.Request, d claimDetail) claimCheck {
	words, w := web.reader(r), d.Record
	if w.Roles.Has(warranty.Seller) && !w.Roles.Has(warranty.Issuer) {
		return claimCheck{Title: words.Text("check.seller")}
	}
	return claimCheck{
		Title: words.Text("check.issued"),
		Hint:  words.Text("check.issued_hint", words.Date(warranty.DateOf(w.CreatedAt)), string(w.ReferenceNumber)),
	}
}

func (web *Web) receiptCheck(r *http.Request, files []warranty.Document) claimCheck {
	words := web.reader(r)
	for _, file := range files {
		if file.Type == warranty.Receipt {
			return claimCheck{
				Title: words.Text("check.receipt"), Hint: file.FileName,
				Href: "/documents/" + file.ID.String(), Link: words.Text("check.open"),
			}
		}
	}
	return claimCheck{Tone: "look", Title: words.Text("check.receipt_none"), Hint: words.Text("check.receipt_none_hint")}
}
