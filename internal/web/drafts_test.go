package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// endSession signs out and keeps the cookie, as if another tab had signed out.
func endSession(b *browser) {
	b.T.Helper()
	cookie := b.Cookie
	b.Post("/sign-out").Leads(b.T, "sign-out", "/sign-in")
	b.Cookie = cookie
}

// signInFrom sends the sign-in form of a page, with its hidden fields.
func signInFrom(b *browser, p page, email, password string) page {
	b.T.Helper()
	return sendSignIn(b, p, "/sign-in", email, password)
}

func sendSignIn(b *browser, p page, path, email, password string) page {
	b.T.Helper()
	values := url.Values{"email": {email}, "password": {password}}
	for n := range p.Node.Descendants() {
		if n.Data == "input" && attr(n, "type") == "hidden" {
			values.Add(attr(n, "name"), attr(n, "value"))
		}
	}
	return b.Send("POST", path, values, "Sec-Fetch-Site", "same-origin")
}

// TestWebFormOutlivesItsSession sends each resumable form after the session ended: nothing is changed,
// and the filled form is shown again after sign-in. Finding A6.
func TestWebFormOutlivesItsSession(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	record := w.Warranty(olga.Session, nil)
	claim := w.Claim(olga.Session, record.ID)
	odd := `Kettle "<b>" & Söhne`
	for path, sent := range map[string][]string{
		"/warranties":                  {"product_name", odd, "start_date", "2026-01-02", "end_date", "2028-01-01", "category", "Kitchen", "description", "two\r\nlines"},
		"/warranties/" + record.ID:     {"product_name", odd, "start_date", "2026-01-02", "end_date", "2028-01-01"},
		"/claims":                      {"warranty_id", record.ID, "type", "refund", "description", odd, "incident_date", "2026-01-02"},
		"/claims/" + claim + "/status": {"status", "withdrawn", "reason", odd},
		"/settings/profile":            {"name", odd},
		"/settings/email":              {"days", "60, x", "weekly", "true"},
		"/settings/api/tokens":         {"name", odd, "scopes", "claims:read", "expires_in_days", "30", "rate_limit_per_minute", "77"},
	} {
		sent = append(sent, "account", olga.ID)
		b := w.SignedIn(t, olga)
		endSession(b)
		var asked, wrong page
		w.Unchanged(t, path, func() { asked = b.Post(path, sent...) })
		asked.Says(t, path, http.StatusUnauthorized, "You were signed out.", `action="/sign-in"`)
		wrong = signInFrom(b, asked, olga.Email, "not the password at all")
		wrong.Says(t, path+" with a wrong password", 422, `action="/sign-in"`, `target="_blank">Forgot your password?`)
		wrong.Hides(t, path+": what would lose the form", `action="/language"`, `href="/"`)
		byCode := sendSignIn(b, wrong, "/sign-in/codes", olga.Email, "")
		byCode.Says(t, path+" by code", 200, `formaction="/sign-in/password"`)
		wrong = sendSignIn(b, byCode, "/sign-in/password", olga.Email, "typed before")
		wrong.Says(t, path+" by password again", 200, `action="/sign-in"`)
		wrong.Hides(t, path+" by password again", "typed before", `action="/language"`)
		again := signInFrom(b, wrong, olga.Email, olga.Password)
		again.Says(t, path+" after sign-in", 200, "You were signed out. Check the form and send it again.")
		for i := 0; i < len(sent); i += 2 { // also the account, in case the session ends again
			if !holds(again, sent[i], sent[i+1]) {
				t.Errorf("%s: the field %s was lost: %s", path, sent[i], again.Main())
			}
		}
		if b.Cookie == "" || strings.Contains(again.Body, "draft_action") {
			t.Errorf("%s: not signed in, or the kept form is still there", path)
		}
	}
	equal(t, "the claim", w.ClaimStatus(claim, olga.Session), "submitted")
}

// TestWebFormWithFilesOutlivesItsSession sends forms with files after the session ended: what was typed is there after
// sign-in, and the page asks for the files.
func TestWebFormWithFilesOutlivesItsSession(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	record := w.Warranty(olga.Session, nil)
	claim := w.Claim(olga.Session, record.ID)
	photo := pdf + strings.Repeat("\n", 11<<20)
	for path, sent := range map[string]part{
		"/claims":                        field("description", "It flickers."),
		"/claims/" + claim + "/messages": field("body", "It flickers."),
		"/warranties":                    field("product_name", "It flickers."),
	} {
		for name, files := range map[string][]part{"no file": nil, "files": {file("a.pdf", photo), file("b.pdf", photo)}} {
			b := w.SignedIn(t, olga)
			endSession(b)
			body := form(append([]part{field("account", olga.ID), sent}, files...)...)
			asked := b.SendBody("POST", path, `multipart/form-data; boundary="`+boundary+`"`, strings.NewReader(body), "Sec-Fetch-Site", "same-origin")
			asked.Says(t, path+", "+name, http.StatusUnauthorized, "You were signed out.")
			again := signInFrom(b, asked, olga.Email, olga.Password)
			again.Says(t, path+", "+name, 200, "It flickers.", "You were signed out. Check the form and send it again.")
			if strings.Contains(again.Body, "Choose the files again.") != (files != nil) {
				t.Errorf("%s, %s: %s", path, name, again.Main())
			}
		}
	}
	equal(t, "files", len(w.Stored()), 0)
}

// TestWebFormIsShownToItsAuthorAlone signs in as another user after a form was sent: that user does
// not see the form.
func TestWebFormIsShownToItsAuthorAlone(t *testing.T) {
	w := webWorld(t)
	olga, mallory := w.Verified("Olga"), w.Verified("Mallory")
	sent := []string{"product_name", "Surprise", "start_date", "2026-01-02", "end_date", "2028-01-01"}
	if form := w.SignedIn(t, olga).Get("/warranties/new"); !holds(form, "account", olga.ID) {
		t.Fatalf("the form has no account: %s", form.Main())
	}
	for _, account := range [][]string{{"account", olga.ID}, {"account", ""}, nil} {
		b := w.SignedIn(t, olga)
		endSession(b)
		asked := b.Post("/warranties", append(account, sent...)...)
		got := signInFrom(b, asked, mallory.Email, mallory.Password)
		got.Says(t, "Mallory", http.StatusSeeOther)
		if got.Location != "/warranties" || strings.Contains(got.Body, "Surprise") {
			t.Errorf("%v: Mallory sees %v %s", account, got.Header, got.Body)
		}
	}
}

// TestWebFormOfAnotherAccountIsRefused switches accounts while a form is open in another tab: the form
// must not change the new account.
func TestWebFormOfAnotherAccountIsRefused(t *testing.T) {
	w := webWorld(t)
	olga, ben := w.Verified("Olga"), w.Verified("Ben")
	b := w.SignedIn(t, ben)
	for path, sent := range map[string][]string{
		"/warranties":          {"product_name", "Kettle", "start_date", "2026-01-02", "end_date", "2028-01-01"},
		"/settings/profile":    {"name", "Olga's new name"},
		"/settings/api/tokens": {"name", "hers", "scopes", "claims:read", "expires_in_days", "30", "rate_limit_per_minute", "77"},
	} {
		w.Unchanged(t, path, func() {
			b.Post(path, append(sent, "account", olga.ID)...).Says(t, path, http.StatusPreconditionFailed, "This form belongs to another account", ben.Email)
		})
	}
	sheet := "product_name,start_date,end_date\nKettle,2026-01-02,2028-01-01\n"
	w.Unchanged(t, "an import", func() {
		uploadSheet(b, "sheet", sheet, "do", "import", "account", olga.ID).Says(t, "an import", http.StatusPreconditionFailed, "another account")
	})
	b.Post("/settings/profile", "name", "Ben again", "account", ben.ID).Says(t, "his own form", http.StatusSeeOther)
}

// holds reports whether a field of any type has a value.
func holds(p page, name, value string) bool {
	value = strings.ReplaceAll(value, "\r\n", "\n")
	for n := range p.Node.Descendants() {
		if attr(n, "name") != name {
			continue
		}
		switch {
		case attr(n, "type") == "checkbox" || attr(n, "type") == "radio":
			for _, a := range n.Attr {
				if a.Key == "checked" && attr(n, "value") == value {
					return true
				}
			}
		case n.Data == "select":
			for option := range n.Descendants() {
				for _, a := range option.Attr {
					if a.Key == "selected" && attr(option, "value") == value {
						return true
					}
				}
			}
		case n.Data == "textarea" && strings.ReplaceAll(textOf(n), "\r\n", "\n") == value, n.Data != "textarea" && attr(n, "value") == value:
			return true
		}
	}
	return false
}

// TestWebButtonOutlivesItsSession presses buttons after the session ended: sign-in leads back to their
// page, and nothing is changed.
func TestWebButtonOutlivesItsSession(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	record := w.Warranty(olga.Session, nil)
	_, token := w.Token(olga)
	for path, page := range map[string]string{
		"/warranties/" + record.ID + "/delete":          "/warranties/" + record.ID,
		"/warranties/" + record.ID + "/transfer":        "/warranties/" + record.ID,
		"/warranties/" + record.ID + "/transfer/cancel": "/warranties/" + record.ID,
		"/settings/api/tokens/" + token + "/revoke":     "/settings/api/tokens/" + token,
		"/settings/security/password":                   "/settings/security",
		"/settings/calendar/delete":                     "/settings/calendar",
		"/warranties/bulk":                              "/warranties",
		"/warranties/views":                             "/warranties",
		"/sign-out":                                     "/",
	} {
		b := w.SignedIn(t, olga)
		endSession(b)
		w.Unchanged(t, path, func() {
			got := b.Post(path, "email", "x@people.example", "current_password", "secret words here", "password", "more secret words")
			got.Leads(t, path, "/sign-in?"+url.Values{"next": {page}, "done": {"signed_out"}}.Encode())
			if strings.Contains(got.Body, "secret words") {
				t.Errorf("%s: the response contains a password", path)
			}
		})
		b.Get("/sign-in?done=signed_out").Says(t, path, 200, "You were signed out, and nothing was changed.")
	}
}

// TestWebKeptFormIsNoWayIn signs in with kept forms of an attacker: none is performed, and none
// redirects to another site.
func TestWebKeptFormIsNoWayIn(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	record := w.Warranty(olga.Session, nil)
	for _, action := range []string{
		"/warranties/" + record.ID + "/delete", "/warranties/" + record.ID, "/warranties", "/settings/security/password", "/sign-in", "/sign-out",
		"//evil.example/warranties", "https://evil.example/warranties", `/\evil.example`, "/nowhere", "", "/warranties/../documents", "/warranties/../settings/api/tokens",
	} {
		b := w.Browser(t)
		got := b.Post("/sign-in", "email", olga.Email, "password", olga.Password, "draft_action", action,
			"draft.status", "void", "draft.password", "a new password here", "next", "/claims")
		if got.Status != 200 && (got.Status != 303 || !strings.HasPrefix(got.Location, "/") || strings.HasPrefix(got.Location, "//") || strings.Contains(got.Location, "\\")) {
			t.Errorf("%q: got %d to %q", action, got.Status, got.Location)
		}
		equal(t, action, w.Get("/api/v1/warranties/"+record.ID, olga.Session).Status, 200)
	}
	var after struct {
		Status string `json:"status"`
	}
	w.Get("/api/v1/warranties/"+record.ID, olga.Session).Into(t, &after)
	if after.Status == "void" {
		t.Error("a kept form was performed")
	}
	w.SignedIn(t, olga)
}

// TestWebClaimShowsAllItsDocuments opens a claim whose warranty has more newer documents and events than
// a page of a list. Finding C4.
func TestWebClaimShowsAllItsDocuments(t *testing.T) {
	w := webWorld(t, busy)
	olga := w.Verified("Olga")
	record := w.Warranty(olga.Session, nil)
	claim := w.Claim(olga.Session, record.ID)
	w.Upload(olga.Session, append(document(record.ID, "evidence-first.pdf", pdf), field("claim_id", claim))...)
	for i := range 101 {
		w.Upload(olga.Session, document(record.ID, fmt.Sprintf("other-%d.pdf", i), pdf)...)
	}
	w.SignedIn(t, olga).Get("/claims/"+claim).Says(t, "the claim", 200, "evidence-first.pdf", "filed the claim")
}

// TestWebFilesOutliveTheirSession sends every form with files after its session expired, as browsers without scripts do:
// after sign-in, the form has what was typed and its files, and sending it again performs it with them. Nothing is kept
// for a session that was ended, or for long.
func TestWebFilesOutliveTheirSession(t *testing.T) {
	w := webWorld(t)
	olga, mallory := w.Verified("Olga"), w.Verified("Mallory")
	record := w.Warranty(olga.Session, nil)
	claim := w.Claim(olga.Session, record.ID)
	replaced := w.Upload(olga.Session, document(record.ID, "old.pdf", pdf)...).ID
	send := func(b *browser, path string, parts ...part) page {
		return b.SendBody("POST", path, `multipart/form-data; boundary="`+boundary+`"`, strings.NewReader(form(parts...)),
			"Sec-Fetch-Site", "same-origin")
	}
	for _, c := range []struct {
		path string
		sent []part
		says []string
	}{
		{"/claims", []part{field("account", olga.ID), field("warranty_id", record.ID), field("type", "repair"),
			field("incident_date", "2025-01-02"), field("description", "It flickers.")}, []string{"It flickers."}},
		{"/claims/" + claim + "/messages?account=" + olga.ID, []part{field("account", olga.ID), field("action", "reply"), field("body", "It flickers.")}, []string{"It flickers."}},
		{"/warranties", []part{field("account", olga.ID), field("product_name", "It flickers."), field("start_date", "2025-01-02"),
			field("length", "24")}, []string{"It flickers."}},
		{"/documents?account=" + olga.ID, []part{field("warranty_id", record.ID), field("type", "invoice")}, []string{`value="invoice" selected`}},
		{"/documents/" + replaced + "/replace", []part{field("account", olga.ID)}, nil},
	} {
		b := w.SignedIn(t, olga)
		w.Clock.Advance(warranty.WebSessionLifetime + time.Minute)
		stored := len(w.Stored())
		files := []part{file("evidence.pdf", pdf+c.path)}
		asked := send(b, c.path, append(c.sent, files...)...)
		asked.Says(t, c.path, http.StatusUnauthorized, "You were signed out.")
		equal(t, c.path+": files", len(w.Stored()), stored+1)
		again := signInFrom(b, asked, olga.Email, olga.Password)
		again.Says(t, c.path+" after sign-in", 200, append(c.says, "evidence.pdf is kept. You don&#39;t need to choose it again.")...)
		again.Hides(t, c.path+" after sign-in", "Choose the file")
		documents := w.Count(`SELECT count(*) FROM documents`)
		var kept []part
		for n := range again.Node.Descendants() {
			if name := attr(n, "name"); n.Data == "input" && attr(n, "type") == "hidden" && name == "documents" {
				kept = append(kept, field(name, attr(n, "value")))
			}
		}
		done := send(b, c.path, append(c.sent, kept...)...)
		if done.Status != http.StatusSeeOther {
			t.Errorf("%s: sent again: %d %s", c.path, done.Status, done.Main())
		}
		if !strings.Contains(c.path, "replace") {
			documents++
		}
		equal(t, c.path+": documents", w.Count(`SELECT count(*) FROM documents`), documents)

		// Another person does not get the file.
		b = w.SignedIn(t, olga)
		w.Clock.Advance(warranty.WebSessionLifetime + time.Minute)
		asked = send(b, c.path, append(c.sent, files...)...)
		signInFrom(b, asked, mallory.Email, mallory.Password).Hides(t, c.path+" as another person", "evidence.pdf", "flickers")

		// Nobody is known any more.
		for what, end := range map[string]func(b *browser){
			"signed out":      endSession,
			"a day too late":  func(*browser) { w.Clock.Advance(warranty.WebSessionLifetime + 24*time.Hour) },
			"an unknown one":  func(b *browser) { b.Cookie = "svc_session=nonsense" },
			"disabled people": nil,
		} {
			b := w.SignedIn(t, olga)
			if end == nil {
				w.Clock.Advance(warranty.WebSessionLifetime + time.Minute)
				disable(w, olga.Email, true)
			} else {
				end(b)
			}
			stored := len(w.Stored())
			send(b, c.path, append(c.sent, files...)...).Says(t, c.path+", "+what, http.StatusUnauthorized)
			equal(t, c.path+", "+what+": files", len(w.Stored()), stored)
			disable(w, olga.Email, false)
		}
	}
}

// TestWebClaimStaysWhenItsSessionEnds: the page of a claim asks for new messages by itself. When the session has ended, that
// does not lead to the sign-in page, which would lose a message that is being written.
func TestWebClaimStaysWhenItsSessionEnds(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	claim := w.Claim(olga.Session, w.Warranty(olga.Session, nil).ID)
	b := w.SignedIn(t, olga)
	endSession(b)
	news := b.Get("/claims/"+claim+"/news", "HX-Request", "true")
	equal(t, "status", news.Status, http.StatusNoContent)
	equal(t, "redirect", news.Header.Get("HX-Redirect"), "")
}

// disable disables or enables an account as an operator does.
func disable(w *world, email string, off bool) {
	w.T.Helper()
	set := w.Service.EnableUser
	if off {
		set = w.Service.DisableUser
	}
	if err := set(w.T.Context(), email); err != nil {
		w.T.Fatal(err)
	}
}
