package web

import (
	"net/http"
	"slices"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// secondStepForm is where the second step of a sign-in is sent.
const secondStepForm = "/sign-in/second-step"

// secondStepPage asks for the second step of a sign-in. It carries what the sign-in form carried.
type secondStepPage struct {
	signInPage
	Flow    string // what continues the sign-in in this browser
	Methods []warranty.SecondFactor
}

// Offers reports whether a factor completes this sign-in.
func (p secondStepPage) Offers(factor string) bool {
	return slices.Contains(p.Methods, warranty.SecondFactor(factor))
}

// secondStepOf returns what is missing to complete a sign-in that an error ended, or nil.
func secondStepOf(err error) *warranty.SecondStep {
	if err == nil {
		return nil
	}
	return warranty.AsError(err).SecondStep
}

// continueSignIn shows the page for what is missing to complete a sign-in: the second step, or the decision to restore a
// deleted account, for which there are no methods.
func (web *Web) continueSignIn(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, step *warranty.SecondStep, body signInPage,
) error {
	if step.Methods == nil {
		return web.askToRestore(w, r, who, step, body)
	}
	return web.askSecondStep(w, r, who, step, body)
}

// askSecondStep shows the page that asks for the second step of a sign-in, which only this browser can continue.
func (web *Web) askSecondStep(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, step *warranty.SecondStep, body signInPage,
) error {
	web.setBrowser(w, who)
	body.form = form{Values: body.Values, status: http.StatusForbidden}
	return web.showSecondStep(w, r, who, secondStepPage{signInPage: body, Flow: step.Flow, Methods: step.Methods})
}

func (web *Web) showSecondStep(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, body secondStepPage,
) error {
	if body.Offers(string(warranty.SecondPasskey)) {
		options, err := web.Service.PasskeySecondStep(r.Context(), who, body.Flow)
		if err != nil {
			return err
		}
		body.Passkey = useOf(options, passkeySecondStep)
	}
	v := view.Page{Title: web.t(r, "second_step.title"), Holds: body.Draft != nil, NoIndex: true, Body: body}
	return web.show(w, r, body.status, "second-step", v)
}

// doSecondStep completes a sign-in, or shows its page again.
func (web *Web) doSecondStep(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	who = withDevice(who)
	return submit(web, w, r, who, action[warranty.SignIn, warranty.Session]{
		op: api.SignIn,
		do: web.Service.SignIn,
		again: func(w http.ResponseWriter, r *http.Request, _ warranty.Principal, f form) error {
			if step := secondStepOf(f.err); step != nil {
				return web.continueSignIn(w, r, who, step, sentSignIn(f, false))
			}
			if warranty.AsError(f.err).Code == warranty.InvalidCredential { // it has ended: begin again
				return web.showSignIn(w, r, "", sentSignIn(f, false))
			}
			return web.againSecondStep(w, r, who, f)
		},
		done: func(f form, session warranty.Session) error {
			return web.begin(w, r, who, f, session)
		},
	})
}

// againSecondStep shows the page of the second step again, or the sign-in page if the sign-in has ended.
func (web *Web) againSecondStep(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	var methods []warranty.SecondFactor
	for _, m := range f.Values["methods"] {
		methods = append(methods, warranty.SecondFactor(m))
	}
	body := secondStepPage{signInPage: sentSignIn(f, false), Flow: f.Value("flow"), Methods: methods}
	err := web.showSecondStep(w, r, who, body)
	if err != nil && warranty.AsError(err).Code == warranty.InvalidCredential {
		return web.showSignIn(w, r, "", body.signInPage)
	}
	return err
}
