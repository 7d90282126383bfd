package service_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// securitySecret finds the secret on the page that adds an app.
var securitySecret = regexp.MustCompile(`<code id="secret">([A-Z2-7 ]+)</code>`)

// TestRequiredTwoStep requires two-step sign-in of operators, then of everyone: who lacks it can turn it on, and with
// a session do nothing else at any door.
func TestRequiredTwoStep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root, olga := w.operator("Root"), w.person("Olga", true)
		key, _ := w.token(root.User, warranty.AllScopes, time.Hour, false)
		record := w.record(root, "")
		list := func(secret string) request { return made("GET", "/api/v1/warranties", secret, nil) }
		w.Service.RequireTwoStep = service.TwoStepOfOperators
		w.Must(200, list(olga.session))
		w.Must(200, request{Method: "GET", Path: "/api/v1/warranties", Header: map[string]string{"X-Api-Key": key}})
		for _, r := range []request{
			list(root.session), made("GET", "/api/account", root.session, nil), made("POST", "/api/documents", root.session, nil),
			made("GET", "/api/documents/"+record.ID.String()+"/file", root.session, nil),
			made("DELETE", "/api/v1/warranties/"+record.ID.String(), root.session, nil),
		} {
			w.Unchanged(t, r.Path, func() { refused(t, r.Method+" "+r.Path, w.Do(r), warranty.TwoStepRequired) })
		}
		var open []string
		for _, op := range api.Operations() {
			if op.LacksTwoStep {
				open = append(open, op.Name)
			}
		}
		slices.Sort(open)
		equal(t, "operations of who lacks it", open, strings.Fields(`auth.confirm auth.send_verification auth.sign_out
			auth.verify_email passkeys.list passkeys.remove passkeys.rename recovery_codes.create security.get security.update sessions.end sessions.end_others sessions.list
			totp.add totp.confirm totp.remove`))

		b := w.Browser(t)
		b.Cookie = "__Host-svc_session=" + root.session
		const asks = "/settings/security?done=two_step_required"
		for _, page := range []string{"/", "/warranties", "/settings/profile", "/settings/security/address", "/admin", "/documents", "/claims/new", "/oauth/authorize?client_id=x",
			"/warranties/" + record.ID.String()} {
			b.Get(page).Leads(t, page, asks)
		}
		for _, form := range []string{"/warranties", "/settings/profile", "/oauth/authorize", "/switch", "/warranties/" + record.ID.String() + "/delete"} {
			w.Unchanged(t, form, func() { b.Post(form, "name", "x").Leads(t, form, asks) })
		}
		b.Get("/verify").Says(t, "a public page", 200)
		b.Get(asks).Says(t, "the page", 200, "This service requires two-step sign-in", "Add an authenticator app")
		page := b.Post("/settings/security/totp")
		found := securitySecret.FindStringSubmatch(page.Body)
		if found == nil {
			t.Fatalf("the page has no secret: %d %s", page.Status, page.Main())
		}
		a := &app{t: t, secret: strings.ReplaceAll(found[1], " ", ""), shows: w.Service.Now()}
		b.Post("/settings/security/totp/confirm", "code", a.at(a.shows)).Says(t, "the codes", 200, "Recovery codes")
		b.Get("/warranties").Says(t, "afterwards", 200)
		w.Must(200, list(root.session))
		refused(t, "turning it off", w.Do(made("PUT", accountSecurity, root.session, fields{"two_step": false})), warranty.TwoStepRequired)
		b.Post("/settings/security/two-step/off").Says(t, "turning it off on the page", 403)

		w.Service.RequireTwoStep = service.TwoStepOfAll
		refused(t, "everyone", w.Do(list(olga.session)), warranty.TwoStepRequired)
		w.secured(olga)
		w.Must(200, list(olga.session))
	})
}

// TestOperatorsResetFactors removes the second factors of a person who lost them: nothing of them is left.
func TestOperatorsResetFactors(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, zoe := w.person("Olga", true), w.person("Zoe", true)
		a, codes := w.secured(olga)
		_, hers := w.secured(zoe)
		w.passkey(olga.User)
		key, _ := w.token(olga.User, warranty.AllScopes, time.Hour, false)
		flow := w.begin(olga)
		if err := w.Service.ResetSecondFactors(ctx, olga.User.Email); err != nil {
			t.Fatal(err)
		}
		w.Alive(t, "a session", olga.session, false)
		w.Alive(t, "the session of someone else", zoe.session, true)
		refused(t, "a sign-in that was begun", w.Do(byTOTP(flow, a.next())), warranty.InvalidCredential)
		refused(t, "a recovery code", w.Do(second(flow, codes[0])), warranty.InvalidCredential)
		w.Must(200, request{Method: "GET", Path: "/api/v1/warranties", Header: map[string]string{"X-Api-Key": key}})
		session := w.SignIn(olga.User.Email, servertest.Password)
		var sec warranty.Security
		w.Must(200, made("GET", accountSecurity, session, nil)).Into(t, &sec)
		equal(t, "what is left", sec, warranty.Security{TOTPAvailable: true})
		w.Must(201, second(w.begin(zoe), hers[0]))
		if err := w.Service.ResetSecondFactors(ctx, "nobody@people.example"); codeOf(err) != warranty.NotFound {
			t.Errorf("an unknown address returns %v", err)
		}
	})
}
