package web

import (
	"errors"
	"net/http"
	"net/url"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// A warranty is taken over with the code of a slip or an email, whether a shop hands it over or its owner transfers it.
// The code is only in the fragment of an address and in the bodies of forms, so that it is in no log or Referer.

// The forms of /take.
const (
	takeForm    = "/take"
	takeConfirm = "/take/confirm"
)

// takePage is a step of taking over a warranty.
type takePage struct {
	form
	Offer warranty.HandoverPreview
	// Takers are the accounts of the signed-in person that can take it: those with the address of a mailed offer. The one
	// that the browser acts for is the first.
	Takers []warranty.Acting
}

// take shows the form for the code.
func (web *Web) take(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showTake(w, r, who, "take", takePage{})
}

func (web *Web) showTake(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, name string, p takePage,
) error {
	title := "take.title"
	if p.Offer.Transfer {
		title = "take.transfer_title"
	}
	v := view.Page{Title: web.t(r, title), Who: who, NoIndex: true, Body: p}
	return web.show(w, r, p.status, name, v)
}

// previewTake shows what a code takes, and asks who takes it.
func (web *Web) previewTake(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	return web.showPreview(w, r, who, f)
}

// showPreview shows what the code of a form takes, or the form for the code if it takes nothing.
func (web *Web) showPreview(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	if errors.Is(f.err, errResumed) {
		f.Wrong = "" // the person was not signed out
	}
	in := warranty.PreviewHandover{Code: f.Value("code")}
	offer, err := web.Service.PreviewHandover(r.Context(), who, in)
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showTake(w, r, who, "take", takePage{form: f})
	}
	p := takePage{form: f, Offer: offer}
	if who.Credential == warranty.BySession {
		if p.Takers, err = web.takers(r, who, offer.Email); err != nil {
			return err
		}
	}
	return web.showTake(w, r, who, "take-offer", p)
}

// maxTakers is the number of accounts that the page of an offer shows.
const maxTakers = 6

// takers returns the accounts of a person that can take an offer, which may be for an address.
func (web *Web) takers(r *http.Request, who warranty.Principal, email *string) (list []warranty.Acting, err error) {
	choices, err := web.Service.Accounts(r.Context(), who)
	if err != nil {
		return nil, err
	}
	all := []warranty.Acting{actingOf(r, who)}
	for _, c := range choices {
		if c.ID != all[0].ID {
			all = append(all, c.Acting)
		}
	}
	for _, account := range all {
		own := email == nil
		if !own {
			as := who
			as.Account = account
			if own, err = web.Service.IsOwnAddress(r.Context(), as, *email); err != nil {
				return nil, err
			}
		}
		if own && len(list) < maxTakers {
			list = append(list, account)
		}
	}
	return list, nil
}

// emailTake emails a code to the address that registers the warranty.
func (web *Web) emailTake(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.EmailHandover, warranty.EmailedCode]{
		op: api.EmailHandover,
		do: web.Service.EmailHandover,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showPreview(w, r, who, f)
		},
		done: func(f form, asked warranty.EmailedCode) error {
			f.Values.Del("mail_code")
			f.Values.Set("flow", asked.Flow)
			return web.showTake(w, r, who, "take-mailed", takePage{form: f})
		},
	})
}

// registerTake takes the warranty of an emailed code and signs in.
func (web *Web) registerTake(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	// The code of an email takes the warranty by itself. A slip needs the six digits that were emailed to the person, and
	// the page that asked for them.
	offered := !f.Values.Has("flow")
	in := warranty.RegisterHandover{Code: f.Value("mail_code"), Flow: f.Value("flow")}
	if offered {
		in.Code = f.Value("code")
	}
	who = withDevice(who)
	taken, err := web.Service.RegisterHandover(r.Context(), who, in)
	if step := secondStepOf(err); step != nil {
		return web.continueSignIn(w, r, who, step, toTake("", f.Value("code")))
	}
	switch {
	case errors.Is(err, service.ErrHasAccount):
		return web.signInToTake(w, r, who)
	case errors.Is(err, service.ErrOrganizationAddress): // a member signs in with another address
		return web.signInWith(w, r, "", f.Value("code"))
	case err != nil && !web.setErrors(w, r, &f, err):
		return err
	case err != nil && offered:
		return web.showPreview(w, r, who, f)
	case err != nil:
		if text := f.Errors["code"]; text != "" {
			f.Errors = map[string]string{"mail_code": text}
		}
		return web.showTake(w, r, who, "take-mailed", takePage{form: f})
	}
	web.startSession(w, r, who, taken.Session)
	web.clearAccount(w)
	return redirect(w, r, "/take/done/"+taken.Warranty.ID.String())
}

// signInToTake shows the sign-in form, which carries the code and leads back to the offer.
func (web *Web) signInToTake(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	if who.Credential == warranty.BySession {
		return web.showPreview(w, r, who, f)
	}
	return web.signInWith(w, r, f.Value("email"), f.Value("code"))
}

// signInWith shows the sign-in form for an address, which carries the code.
func (web *Web) signInWith(w http.ResponseWriter, r *http.Request, email, code string) error {
	return web.showSignIn(w, r, "", toTake(email, code))
}

// toTake is a sign-in that carries the code of an offer and leads back to it.
func toTake(email, code string) signInPage {
	return signInPage{
		form:  form{Values: url.Values{"email": {email}}},
		Next:  takeForm,
		Draft: &draft{Action: takeConfirm, Values: url.Values{"code": {code}}},
	}
}

// confirmTake takes the warranty for the account that the signed-in person acts for.
func (web *Web) confirmTake(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.TakeHandover, warranty.Warranty]{
		op:    api.TakeHandover,
		do:    web.Service.Take,
		again: web.showPreview,
		next:  func(_ form, taken warranty.Warranty) string { return "/take/done/" + taken.ID.String() },
	})
}

// verifyTake verifies the address of a signed-in person with the code from the email, and takes the warranty.
func (web *Web) verifyTake(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	if !who.User.EmailVerified {
		user, err := web.Service.VerifyEmail(r.Context(), who, warranty.VerifyEmail{Code: f.Value("mail_code")})
		if err != nil {
			if !web.setErrors(w, r, &f, err) {
				return err
			}
			f.Errors = map[string]string{"mail_code": f.Errors["code"]}
			return web.showPreview(w, r, who, f)
		}
		who.User = user
	}
	taken, err := web.Service.Take(r.Context(), who, warranty.TakeHandover{Code: f.Value("code")})
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showPreview(w, r, who, f)
	}
	web.clearAccount(w)
	return redirect(w, r, "/take/done/"+taken.ID.String())
}

// resendTake emails another code that verifies the address of a signed-in person.
func (web *Web) resendTake(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	f.Values.Del("mail_code")
	_, err = web.Service.SendVerification(r.Context(), who, warranty.SendVerification{})
	if err != nil && !web.setErrors(w, r, &f, err) {
		return err
	}
	return web.showPreview(w, r, who, f)
}

// signOutToTake signs out and shows the offer again, to someone who has its address.
func (web *Web) signOutToTake(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	_, err := web.Service.SignOut(r.Context(), who, warranty.SignOut{})
	web.clearCookie(w)
	web.clearAccount(w)
	if err != nil {
		return err
	}
	return web.previewTake(w, r, warranty.Principal{Address: who.Address, Door: who.Door})
}

// takenPage is the page after a warranty was registered.
type takenPage struct {
	warranty.Warranty
	Issuer *warranty.Party
}

// taken shows a warranty that was just registered, and asks for the receipt.
func (web *Web) taken(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	found, err := web.Service.GetWarranty(r.Context(), who, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}})
	if err != nil {
		return err
	}
	in := warranty.VerifyWarranty{Reference: string(found.ReferenceNumber)}
	by, err := web.Service.VerifyWarranty(r.Context(), who, in)
	if err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "take.done_title"), Nav: "warranties", Who: who, Flash: "done.taken",
		Body: takenPage{found, by.Issuer}}
	return web.show(w, r, http.StatusOK, "take-done", v)
}
