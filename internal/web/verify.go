package web

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"warranty.example/svc/warranty"
)

// verdict is what the page says first.
type verdict struct {
	warranty.Verification
	Asked  string // the reference as it was typed
	Serial string // the serial number that was asked about
	Found  bool
	Tone   string
	Key    string // of the sentence that is the verdict
	Line   template.HTML
	Left   *int
}

// verifyForm asks for a reference, and goes to its page however it was typed.
func (web *Web) verifyForm(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	asked := strings.TrimSpace(r.URL.Query().Get("reference"))
	if asked == "" {
		web.showBare(w, r, http.StatusOK, "verify-form", view{Title: web.t("verify.title"), Body: verdict{}})
		return nil
	}
	reference, err := warranty.ParseReference(pastedReference(asked))
	if err != nil {
		web.showMistyped(w, r, http.StatusUnprocessableEntity, asked)
		return nil //nolint:nilerr // it was shown on the form
	}
	target := "/verify/" + string(reference)
	if serial := strings.TrimSpace(r.URL.Query().Get("serial")); serial != "" {
		target += "?" + url.Values{"serial": {serial}}.Encode()
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
	return nil
}

// pastedReference is the reference in what was typed, which may be the address
// of a verification page.
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

// showMistyped shows the form with what was typed. It says nothing of any record:
// the check character alone tells a typing error.
func (web *Web) showMistyped(w http.ResponseWriter, r *http.Request, status int, asked string) {
	web.showBare(w, r, status, "verify-form", view{Title: web.t("verify.title"), NoIndex: true,
		Body: verdict{Asked: asked, Key: "verify.mistyped"}})
}

// verify shows what anyone who has the reference may know, the verdict first.
// Unknown and deleted look the same.
func (web *Web) verify(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	w.Header().Set("X-Robots-Tag", "noindex")
	in := warranty.VerifyWarranty{Reference: r.PathValue("reference"), Serial: r.URL.Query().Get("serial")}
	if _, err := warranty.ParseReference(in.Reference); err != nil {
		web.showMistyped(w, r, http.StatusNotFound, in.Reference)
		return nil //nolint:nilerr // it was shown on the form
	}
	v, err := web.Service.VerifyPublicly(r.Context(), warranty.Principal{Address: who.Address, Door: warranty.DoorWeb}, in)
	if errors.Is(err, warranty.ErrUnknownReference) {
		web.showBare(w, r, http.StatusNotFound, "verify", view{Title: web.t("verify.unknown"), NoIndex: true, Body: verdict{Key: "verify.unknown", Tone: "quiet"}})
		return nil
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
	page.Line = coverageLine(v.StartDate, v.EndDate, today, page.Tone)
	web.showBare(w, r, http.StatusOK, "verify", view{Title: web.t(page.Key), NoIndex: true, Body: page})
	return nil
}
