package web

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/paper"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// issued is a warranty that was offered to a customer. Offer has the code to print if it was just made.
type issued struct {
	form
	Warranty warranty.Warranty
	Offer    warranty.HandoverOffer
	// Again means that the form was sent before, so that its code is not shown again.
	Again bool
	// NotEmailed means that the offer was to be emailed, but a limit was reached. It is printed instead.
	NotEmailed bool
	// Size is that of the slip, and Previews are the slip in each size, if there is a code.
	Size     paper.SlipSize
	Previews []template.HTML
}

// Code returns the code to print, or "".
func (i issued) Code() string { return view.Deref(i.Offer.Code) }

// Mailed reports whether the offer was emailed.
func (i issued) Mailed() bool {
	h := i.Warranty.Handover
	return h != nil && h.Status == warranty.HandoverOffered && h.Email != nil
}

// showIssued shows a warranty that was issued. The code is in no URL, and a reload makes no new one.
func (web *Web) showIssued(w http.ResponseWriter, r *http.Request, who warranty.Principal, body issued) error {
	if body.Values == nil {
		body.Values = url.Values{}
	}
	body.Values.Set("once", web.Service.NewID().String())
	if code := body.Code(); code != "" {
		slip, err := web.slipTexts(r.Context(), web.paperReader(r), who, body.Warranty, code)
		if err != nil {
			return err
		}
		body.Size = web.slipSize(r)
		for _, size := range paper.SlipSizes() {
			sheet := slip.Sheet(size)
			body.Previews = append(body.Previews, sheet.SVG(web.t(r, "slip.label")))
		}
	}
	v := view.Page{Title: web.t(r, "issued.title"), Nav: "issue", Who: who, Body: body}
	return web.show(w, r, body.status, "issued", v)
}

// takeHost returns the address where customers enter a code, as it is printed.
func (web *Web) takeHost() string { return web.host() + "/take" }

// handover shows the hand-over of a warranty, without a code.
func (web *Web) handover(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showHandover(w, r, who, form{})
}

func (web *Web) showHandover(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return err
	}
	if record.Handover == nil || !who.ActsForOrganization() {
		return warranty.ErrNotFound
	}
	return web.showIssued(w, r, who, issued{form: f, Warranty: record})
}

// offerHandover makes a new slip, or emails the offer. Older slips stop working.
func (web *Web) offerHandover(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	var key *string
	return submit(web, w, r, who, action[warranty.OfferHandover, warranty.HandoverOffer]{
		op: api.OfferHandover,
		prepare: func(f form) error {
			key = f.once()
			if f.Has("by", "email") && strings.TrimSpace(f.Value("customer_email")) == "" {
				var c warranty.Checks
				c.Add("customer_email", "required", "%s", web.t(r, "issue.email_missing"))
				return c.Err()
			}
			return nil
		},
		do: func(
			ctx context.Context, who warranty.Principal, in warranty.OfferHandover,
		) (warranty.HandoverOffer, error) {
			in.IdempotencyKey = key
			return web.Service.OfferHandover(ctx, who, in)
		},
		again: web.showHandover,
		done: func(_ form, offer warranty.HandoverOffer) error {
			record, err := web.warrantyOf(r, who)
			if err != nil {
				return err
			}
			return web.showIssued(w, r, who, issued{Warranty: record, Offer: offer, Again: offer.Replay})
		},
	})
}

func (web *Web) cancelHandover(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	next := "/warranties/%s?done=offer_cancelled"
	return press(w, r, next, warranty.ParseWarrantyKey, func(key warranty.WarrantyKey) error {
		_, err := web.Service.CancelHandover(r.Context(), who, warranty.CancelHandover{ID: key})
		return err
	})
}
