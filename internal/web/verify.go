package web

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"warranty.example/svc/warranty"
)

// verdict is the page of a verification.
type verdict struct {
	warranty.Verification
	Asked  string // the reference as typed
	Serial string // the serial number to compare
	Found  bool
	Tone   string
	Key    string        // the key of the verdict
	Line   template.HTML // the coverage line
	Left   *int          // days left
}

// Assured reports whether a verified business stands behind the record.
func (v verdict) Assured() bool { return v.Assurance != warranty.Unverified }

// verifyForm shows the form for a reference and redirects to the page of the reference.
func (web *Web) verifyForm(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	asked := strings.TrimSpace(r.URL.Query().Get("reference"))
	if asked == "" {
		return web.showBare(w, r, http.StatusOK, "verify-form", view{Title: web.t("verify.title"), Body: verdict{}})
	}
	reference, err := warranty.ParseReference(pastedReference(asked))
	if err != nil {
		return web.showMistyped(w, r, http.StatusUnprocessableEntity, asked)
	}
	target := "/verify/" + string(reference)
	if serial := strings.TrimSpace(r.URL.Query().Get("serial")); serial != "" {
		target += "?" + url.Values{"serial": {serial}}.Encode()
	}
	return redirect(w, r, target)
}

// pastedReference returns the reference in asked, which may be the address of a
// verification page.
func pastedReference(asked string) string {
	_, reference, found := strings.Cut(asked, "/verify/")
	if !found {
		return asked
	}
	if end := strings.IndexAny(reference, "/?#"); end >= 0 {
		reference = reference[:end]
	}
	if unescaped, err := url.PathUnescape(reference); err == nil {
		reference = unescaped
	}
	return reference
}

// showMistyped shows the form with an error. The check character alone reveals a typing
// error, so the response reveals nothing about records.
func (web *Web) showMistyped(w http.ResponseWriter, r *http.Request, status int, asked string) error {
	return web.showBare(w, r, status, "verify-form", view{Title: web.t("verify.title"), NoIndex: true,
		Body: verdict{Asked: asked, Key: "verify.mistyped"}})
}

// verify shows the public verification of a reference. Unknown and deleted records look
// the same.
func (web *Web) verify(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	w.Header().Set("X-Robots-Tag", "noindex")
	in := warranty.VerifyWarranty{Reference: r.PathValue("reference"), Serial: r.URL.Query().Get("serial")}
	if _, err := warranty.ParseReference(in.Reference); err != nil {
		return web.showMistyped(w, r, http.StatusNotFound, in.Reference)
	}
	v, err := web.Service.VerifyPublicly(r.Context(), warranty.Principal{Address: who.Address, Door: warranty.DoorWeb}, in)
	if errors.Is(err, warranty.ErrUnknownReference) {
		return web.showBare(w, r, http.StatusNotFound, "verify", view{Title: web.t("verify.unknown"), NoIndex: true,
			Body: verdict{Key: "verify.unknown", Tone: "quiet"}})
	}
	if err != nil {
		return err
	}
	page := verdict{Verification: v, Found: true, Serial: in.Serial, Key: "verify." + v.Status.String()}
	today := warranty.DateOf(v.CheckedAt)
	if v.Status == warranty.Active && v.EndDate != warranty.Lifetime {
		days := int(v.EndDate - today)
		page.Left = &days
	}
	page.Tone = tone(v.Status, page.Left)
	if !page.Assured() && (page.Tone == "active" || page.Tone == "expiring") {
		page.Tone = "quiet" // green is for what a verified business says
	}
	page.Line = coverageLine(v.StartDate, v.EndDate, today, page.Tone)
	return web.showBare(w, r, http.StatusOK, "verify", view{Title: web.t(page.Key), NoIndex: true, Body: page})
}
