package web

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// brandPage is the page /settings/brand with its form.
type brandPage struct {
	warranty.Brand
	form
	Changed []warranty.Change // by others, since the form was opened
}

// brandValues are the fields of the form. The logo is not one: a file cannot be shown again.
func brandValues(b warranty.Brand) url.Values {
	return url.Values{
		"sender_name": {view.Deref(b.SenderName)}, "postal_address": {view.Deref(b.PostalAddress)},
		"color": {view.Deref((*string)(b.Color))},
	}
}

// Look returns the shades of the brand, and the path of the logo.
func (p brandPage) Look() (look warranty.PartyBrand) {
	if p.Color != nil {
		look.Color = *p.Color
	}
	if p.LogoURL != nil && p.Shown {
		look.Logo = strings.TrimSuffix((*p.LogoURL)[strings.LastIndexByte(*p.LogoURL, '/')+1:], ".png")
	}
	return look
}

// Adjusted reports whether pages have other shades of the color.
func (p brandPage) Adjusted() bool {
	return p.Color != nil && (*p.Color != *p.ColorOnLight || *p.Color != *p.ColorOnDark)
}

// Light is the shade on light pages.
func (p brandPage) Light() string { return string(*p.ColorOnLight) }

// Dark is the shade on dark pages.
func (p brandPage) Dark() string { return string(*p.ColorOnDark) }

func (web *Web) brand(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showBrand(w, r, who, form{})
}

func (web *Web) showBrand(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	b, err := web.Service.GetBrand(r.Context(), who, warranty.GetBrand{ID: who.Account.ID})
	if err != nil {
		return err
	}
	if f.Values == nil {
		f.Values = editedValues(brandValues(b), b.ETag())
	}
	body := brandPage{Brand: b, form: f}
	if f.err != nil && warranty.AsError(f.err).Code == warranty.PreconditionFailed {
		body.Changed = mergeChanged(&body.form, brandValues(b), b.ETag())
		body.Wrong = web.t(r, "brand.changed_meanwhile")
	}
	v := view.Page{Title: web.t(r, "brand.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, f.status, "brand", v)
}

// maxBrandForm leaves room for the texts beside a logo, and for saying that the logo is too large.
const maxBrandForm = 4 << 20

// updateBrand handles the form of the brand, with a logo or without.
func (web *Web) updateBrand(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxBrandForm)
	if err := r.ParseMultipartForm(maxBrandForm); err != nil { //nolint:gosec // limited above
		if tooLarge := new(http.MaxBytesError); !errors.As(err, &tooLarge) {
			return errForm
		}
		return warranty.Refuse(warranty.BodyTooLarge, "The image is too large. The limit is %d KiB.", warranty.MaxLogo>>10)
	}
	f := form{Values: r.MultipartForm.Value}
	who, err := web.checkAccount(w, r, who, f.Values)
	if err != nil {
		return err
	}
	in := warranty.UpdateBrand{ID: who.Account.ID, IfMatch: f.Value("if_match")}
	for name, field := range map[string]**string{
		"color": &in.Color, "sender_name": &in.SenderName, "postal_address": &in.PostalAddress,
	} {
		if f.Values.Has(name) {
			*field = new(f.Value(name))
		}
	}
	logo, _, err := fileOf(r)
	if err != nil {
		return err
	}
	switch {
	case len(logo) > 0:
		in.Logo = new(base64.StdEncoding.EncodeToString(logo))
	case f.Value("remove_logo") == "true":
		in.Logo = new("")
	}
	if _, err := web.Service.UpdateBrand(r.Context(), who, in); err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showBrand(w, r, who, f)
	}
	return redirect(w, r, "/settings/brand?done=brand_saved")
}

// logo serves the logo of an organization with a verified domain. Its address has the checksum of the file, so that it
// never changes; shared caches do not keep it, because it ends with the verification.
func (web *Web) logo(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "no-store")
	sum, ok := strings.CutSuffix(r.PathValue("file"), ".png")
	if !ok || len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
		http.Error(w, "Not found.", http.StatusNotFound)
		return
	}
	logo, err := web.Service.Logo(r.Context(), sum)
	switch {
	case errors.Is(err, warranty.ErrNotFound):
		http.Error(w, "Not found.", http.StatusNotFound)
		return
	case err != nil:
		web.Service.Log.Error("cannot read a logo", "error", err.Error())
		h.Set("Retry-After", "60")
		http.Error(w, "Files are unavailable right now. Try again later.", http.StatusServiceUnavailable)
		return
	}
	h.Set("Content-Type", "image/png")
	h.Set("Content-Length", strconv.Itoa(len(logo)))
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_, _ = w.Write(logo) // fails only when the client has disconnected
}
