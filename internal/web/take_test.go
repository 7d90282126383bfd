package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// shop is an organization that issues warranties, with its admin.
type shop struct {
	w     *world
	admin servertest.Person
	id    string
}

// newShop creates an organization. A domain, if given, is verified.
func newShop(w *world, name, domain string) shop {
	w.T.Helper()
	s := shop{w: w, admin: w.Verified(fmt.Sprint("Admin", w.Count(`SELECT count(*) FROM users`)))}
	var made struct{ ID string }
	w.Must(201, servertest.NewRequest("POST", "/api/organizations", s.admin.Session, fields{"name": name})).Into(w.T, &made)
	s.id = made.ID
	if domain != "" {
		id, err := warranty.ParseID(s.id)
		if err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.Service.VerifyDomain(context.Background(), id, domain); err != nil {
			w.T.Fatal(err)
		}
	}
	return s
}

func (s shop) send(status int, method, path string, body fields, into any) {
	s.w.T.Helper()
	a := s.w.Must(status, servertest.NewRequest(method, path, s.admin.Session, body, "X-Account", s.id))
	if into != nil {
		a.Into(s.w.T, into)
	}
}

// issues creates a warranty. Fields override the default ones.
func (s shop) issues(over fields) (record servertest.Record) {
	s.w.T.Helper()
	body := fields{"product_name": "Tessel induction hob T64", "start_date": "2020-01-01", "end_date": "2099-12-31"}
	for name, value := range over {
		body[name] = value
	}
	s.send(201, "POST", "/api/v1/warranties", body, &record)
	return record
}

// prints returns the code of a slip.
func (s shop) prints(id string) string {
	s.w.T.Helper()
	var offer struct{ Code string }
	s.send(201, "POST", "/api/v1/warranties/"+id+"/handover", fields{}, &offer)
	return offer.Code
}

// isCalled gives the organization a name that is refused today.
func (s shop) isCalled(name string) {
	s.w.T.Helper()
	if _, err := s.w.DB.Exec(`UPDATE users SET name = $1 WHERE id = (SELECT id FROM users WHERE kind = 2 ORDER BY created_at DESC, id DESC LIMIT 1)`, name); err != nil {
		s.w.T.Fatal(err)
	}
}

// confirms confirms a record as its seller.
func (s shop) confirms(id string) {
	s.w.T.Helper()
	var list []warranty.Confirmation
	s.send(200, "GET", "/api/v1/confirmations", nil, &list)
	at := slices.IndexFunc(list, func(c warranty.Confirmation) bool { return c.WarrantyID.String() == id })
	if at < 0 {
		s.w.T.Fatalf("%s does not wait for confirmation", id)
	}
	s.w.Must(200, servertest.NewRequest("POST", "/api/v1/confirmations/"+id, s.admin.Session, fields{"decision": "confirm"},
		"X-Account", s.id, "If-Match", list[at].ETag))
}

// ownerIs fails unless the account with a session owns the record.
func ownerIs(t *testing.T, w *world, session, id string) {
	t.Helper()
	var got struct{ Roles []string }
	w.Must(200, servertest.NewRequest("GET", "/api/v1/warranties/"+id, session, nil)).Into(t, &got)
	equal(t, "the roles", strings.Join(got.Roles, " "), "owner")
}

// TestWebTake registers a printed warranty for someone without an account: the code, what it is and from
// whom, the address, the mailed code. No password, and the account can get one later.
func TestWebTake(t *testing.T) {
	w := webWorld(t)
	halden := newShop(w, "Halden Electronics", "halden.example")
	made := halden.issues(nil)
	slip := halden.prints(made.ID)

	b := w.Browser(t)
	first := b.Get("/take")
	first.Says(t, "the form", 200, "Register your warranty", `action="/take"`, "/take.js")
	b.Post("/take", "code", "").Says(t, "no code", 422, `aria-invalid="true"`)
	b.Post("/take", "code", made.ReferenceNumber).Says(t, "the reference", 422, "We don&#39;t know this code. Check it against your slip")
	what := b.Post("/take", "code", strings.ToLower(slip))
	what.Says(t, "the offer", 200, "Your warranty is ready", "Tessel induction hob T64", "31 Dec 2099", "Halden Electronics", "halden.example",
		`class="fact good"`, `class="seal"`, "You get", "Advertising", "Your email", "Have an account?")
	b.Post("/take/email", "code", slip, "email", "nonsense").Says(t, "a wrong address", 422, "Tessel", `id="email-error"`)
	mailed := b.Post("/take/email", "code", slip, "email", "sam@people.example")
	mailed.Says(t, "the mailed code", 200, "Check your email", "sam@people.example", "Works for 10 minutes, on this page.", "Send a new code", "Change email")
	code, link := w.MailedDigits("sam@people.example"), w.MailedCode("sam@people.example")
	sent := []string{"code", slip, "email", "sam@people.example", "flow", flowOf(mailed), "mail_code"}
	for wrong, says := range map[string]string{
		"": "Enter all six digits.", "40 71": "Enter all six digits.", slip: "Enter all six digits.",
		other(code): "This code is wrong. Check the latest email.",
	} {
		b.Post("/take/register", append(sent, wrong)...).
			Says(t, "a wrong mailed code", 422, says, `value="`+slip+`"`, `value="`+flowOf(mailed)+`"`)
	}
	if b.Cookie != "" {
		t.Fatal("a wrong code signed in")
	}
	done := b.Post("/take/register", append(sent, code[:3]+" "+code[3:])...)
	done.Leads(t, "registering", "/take/done/"+made.ID)
	if b.Cookie == "" {
		t.Fatal("not signed in")
	}
	b.Get("/take/done/"+made.ID).Says(t, "the end", 200, "Registered. The warranty is yours.", "Add the receipt", `capture="environment"`,
		"Not now, show my warranty", "halden.example", `href="/warranties/`+made.ID+`"`)
	_, session, _ := strings.Cut(b.Cookie, "=")
	ownerIs(t, w, session, made.ID)

	// The receipt.
	paper := form(document(made.ID, "receipt.txt", "Paid.")...)
	uploaded := b.SendBody("POST", "/documents?account=", `multipart/form-data; boundary="`+boundary+`"`,
		strings.NewReader(paper), "Sec-Fetch-Site", "same-origin")
	uploaded.Leads(t, "the receipt", "/warranties/"+made.ID+"?done=uploaded")

	// Without a password: a mailed code signs in, and settings set one.
	b.Get("/settings/security").Says(t, "the profile", 200, "You have no password", `action="/reset-password"`)
	b.Post("/sign-out").Leads(t, "signing out", "/sign-in")
	b.Post("/sign-in/codes", "email", "sam@people.example").Says(t, "a code to sign in", 200)
	b.Post("/sign-in/code", "email", "sam@people.example", "code", w.MailedCode("sam@people.example")).Leads(t, "signing in", "/")
	b.Post("/reset-password", "email", "sam@people.example").Leads(t, "setting a password", "/reset-password/confirm?done=mailed")
	b.Post("/reset-password/confirm", "code", w.MailedCode("sam@people.example"), "password", "a new "+servertest.Password).
		Leads(t, "setting a password", "/sign-in?done=password")
	b.Post("/sign-in", "email", "sam@people.example", "password", "a new "+servertest.Password).Leads(t, "with the password", "/")
	b.Get("/settings/security").Says(t, "the profile", 200, "Current password")

	// Who comes later.
	late := w.Browser(t)
	for _, used := range []string{slip, link} {
		late.Post("/take", "code", used).
			Says(t, "a used code", 422, "This warranty is already registered. If that wasn&#39;t you, contact halden.example.")
	}
	late.Post("/take/register", append(sent, code)...).Says(t, "a used code", 422, "already registered")
}

// flowOf returns what binds the six digits to the page that asked for them.
func flowOf(p page) string {
	for n := range p.Node.Descendants() {
		if n.Data == "input" && attr(n, "name") == "flow" {
			return attr(n, "value")
		}
	}
	return ""
}

// other returns six other digits.
func other(digits string) string {
	return string('0'+(digits[0]-'0'+1)%10) + digits[1:]
}

// TestWebTakeUnverified shows an issuer without a verified domain neutrally, with a warning if its name mixes
// alphabets.
func TestWebTakeUnverified(t *testing.T) {
	w := webWorld(t)
	fake := newShop(w, "Halden Electronics", "")
	fake.isCalled("Hаlden Electronics") // a Cyrillic а
	made := fake.issues(nil)
	slip := fake.prints(made.ID)
	b := w.Browser(t)
	what := b.Post("/take", "code", slip)
	what.Says(t, "the offer", 200, "<bdi>“Hаlden Electronics”</bdi>", "has not verified its website. Anyone can use this name.", "mixes alphabets", `class="noseal"`)
	what.Hides(t, "the offer", "fact good", `class="seal"`, "A verified business")
	fake.send(204, "DELETE", "/api/v1/warranties/"+made.ID+"/handover", nil, nil)
	b.Post("/take", "code", slip).Says(t, "a cancelled code", 422, "This code was cancelled or replaced by a newer one.")
	slip = fake.prints(made.ID)
	w.Clock.Advance(2*365*24*time.Hour + time.Minute)
	late := b.Post("/take", "code", slip)
	late.Says(t, "an expired code", 422, "This code has expired. Ask the shop for a new one.")
	late.Hides(t, "an expired code", "Electronics")
}

// TestWebTakeMailed registers a mailed offer with one click. Only its address can.
func TestWebTakeMailed(t *testing.T) {
	w := webWorld(t)
	halden := newShop(w, "Halden Electronics", "halden.example")
	made := halden.issues(fields{"customer_email": "new@people.example"})
	code := w.MailedCode("new@people.example")
	eve := w.Verified("Eve")
	other := w.SignedIn(t, eve)
	other.Post("/take", "code", code).Says(t, "another person", 200, "This warranty was offered to new@people.example. Sign out")
	other.Post("/take/confirm", "account", eve.ID, "code", code).Says(t, "another person takes it", 422, "offered to another address")
	b := w.Browser(t)
	b.Post("/take", "code", code).Says(t, "the offer", 200, "Offered to new@people.example.", `action="/take/register"`)
	b.Post("/take/email", "code", code, "email", "eve@people.example").Says(t, "another address", 422, "Offered to new@people.example.")
	b.Post("/take/register", "code", code).Leads(t, "registering", "/take/done/"+made.ID)

	// Who has an account is signed in to it, unless the email is too old.
	kim := w.Verified("Kim")
	made = halden.issues(fields{"customer_email": kim.Email})
	b = w.Browser(t)
	b.Post("/take/register", "code", w.MailedCode(kim.Email)).Leads(t, "registering with an account", "/take/done/"+made.ID)
	b.Get("/warranties/"+made.ID).Says(t, "signed in", 200, "Kim")
	made = halden.issues(fields{"customer_email": kim.Email})
	code = w.MailedCode(kim.Email)
	w.Exec(`UPDATE offer_codes SET signs_in_until = 1`)
	b = w.Browser(t)
	asked := b.Post("/take/register", "code", code, "email", kim.Email)
	asked.Says(t, "an account", 200, "Sign in to register the warranty. Your code is kept.", kim.Email)
	if b.Cookie != "" {
		t.Error("the code of an old email signed in")
	}
	back := signInFrom(b, asked, kim.Email, kim.Password)
	back.Says(t, "after sign-in", 200, "Register to Kim", "Tessel induction hob T64")
	back.Hides(t, "after sign-in", "Nothing you typed is lost", "Your email")
	sendAgainAs(b, back, kim.ID).Leads(t, "registering", "/take/done/"+made.ID)
	ownerIs(t, w, kim.Session, made.ID)
}

// sendAgainAs presses the button of an account on the page of an offer.
func sendAgainAs(b *browser, p page, account string) page {
	b.T.Helper()
	values := url.Values{"account": {account}}
	for n := range p.Node.Descendants() {
		if n.Data == "input" && attr(n, "type") == "hidden" && within(n, "main") {
			values.Set(attr(n, "name"), attr(n, "value"))
		}
	}
	return b.Send("POST", "/take/confirm", values, "Sec-Fetch-Site", "same-origin")
}

// TestWebTakeSignedIn registers to the account in the switcher, or to another one of the person.
func TestWebTakeSignedIn(t *testing.T) {
	w := webWorld(t)
	halden := newShop(w, "Halden Electronics", "halden.example")
	nora := w.Verified("Nora")
	b := w.SignedIn(t, nora)
	one, two, three := halden.issues(nil), halden.issues(nil), halden.issues(nil)
	slip := halden.prints(one.ID)
	b.Get("/take").Says(t, "the form", 200, "Enter the code from your slip")
	what := b.Post("/take", "code", slip)
	what.Says(t, "the offer", 200, "Register to Nora", "halden.example")
	what.Hides(t, "the offer", "Your email", "Have an account?")
	b.Post("/take/confirm", "account", nora.ID, "code", slip).Leads(t, "registering", "/take/done/"+one.ID)
	ownerIs(t, w, nora.Session, one.ID)

	// For the organization in the switcher, and back to the own account with the button of that account.
	cafe := found(b, "Café Lind")
	slip = halden.prints(two.ID)
	what = b.Post("/take", "code", slip)
	what.Says(t, "for an organization", 200, "Register to Café Lind", "Register to another account", "Register to Nora")
	sendAgainAs(b, what, cafe).Leads(t, "registering", "/take/done/"+two.ID)
	b.Get("/take/done/"+two.ID).Says(t, "the end", 200, "<b dir=\"auto\">Café Lind</b>", "account="+cafe)
	slip = halden.prints(three.ID)
	sendAgainAs(b, b.Post("/take", "code", slip), nora.ID).Leads(t, "for the own account", "/take/done/"+three.ID)
	equal(t, "the account of the browser", b.Account, "")
	ownerIs(t, w, nora.Session, three.ID)

	// The session ends meanwhile: the code is kept.
	four := halden.issues(nil)
	slip = halden.prints(four.ID)
	endSession(b)
	asked := b.Post("/take/confirm", "account", nora.ID, "code", slip)
	asked.Says(t, "the session ended", http.StatusUnauthorized, `action="/sign-in"`)
	back := signInFrom(b, asked, nora.Email, nora.Password)
	back.Says(t, "after sign-in", 200, "Register to Nora")
	sendAgainAs(b, back, nora.ID).Leads(t, "registering", "/take/done/"+four.ID)

	// The issuer's own account, a stranger's account, and a person without a verified address.
	slip = halden.prints(halden.issues(nil).ID)
	own := w.SignedIn(t, halden.admin)
	own.Post("/take/confirm", "account", halden.id, "switch", "true", "code", slip).
		Says(t, "the issuer", 422, "Your account already owns this warranty")
	b.Post("/take/confirm", "account", halden.id, "switch", "true", "code", slip).Says(t, "a stranger's account", 412)
}

// TestWebTakeKeepsTheCode: whoever has to verify an address, or to sign in with another one, does not enter the
// code of the slip again. It is in no address.
func TestWebTakeKeepsTheCode(t *testing.T) {
	w := webWorld(t)
	halden := newShop(w, "Halden Electronics", "halden.example")
	made := halden.issues(nil)
	slip := halden.prints(made.ID)
	una := w.Person("Una")
	b := w.SignedIn(t, una)
	b.Post("/take", "code", slip).Says(t, "no verified address", 200, "Verify your email address first.", una.Email,
		`action="/take/verify"`, `name="code" value="`+slip)
	b.Post("/take/verify", "code", slip, "mail_code", "").Says(t, "nothing typed", 422, `id="mail_code-error"`, slip)
	b.Post("/take/verify", "code", slip, "mail_code", "0000-0000-0000-0000-0000").Says(t, "a wrong code", 422, `id="mail_code-error"`, slip, "to <b>"+una.Email)
	b.Post("/take/resend", "code", slip).Says(t, "another code", 200, `name="code" value="`+slip)
	b.Post("/take/verify", "code", slip, "mail_code", w.MailedCode(una.Email)).Leads(t, "the code", "/take/done/"+made.ID)
	ownerIs(t, w, una.Session, made.ID)
	b.Post("/take/verify", "code", slip, "mail_code", "").Says(t, "taken", 422, "already registered")

	kim := w.Verified("Kim")
	offered := halden.issues(fields{"customer_email": kim.Email})
	code := w.MailedCode(kim.Email)
	b.Post("/take", "code", code).Says(t, "for another", 200, "This warranty was offered to "+kim.Email, `action="/take/sign-out"`)
	b.Post("/take/sign-out", "code", code, "email", kim.Email).
		Says(t, "signed out", 200, `action="/take/register"`, `action="/take/sign-in"`, "Offered to "+kim.Email, code)
	asked := b.Post("/take/sign-in", "code", code, "email", kim.Email)
	asked.Says(t, "signing in", 200, `action="/sign-in"`, "Your code is kept.", kim.Email)
	back := signInFrom(b, asked, kim.Email, kim.Password)
	back.Says(t, "after sign-in", 200, "Register to Kim")
	sendAgainAs(b, back, kim.ID).Leads(t, "registering", "/take/done/"+offered.ID)
}

// TestWebTakeByAccountOwner: the code that someone asked for signs in to the account of the address, and an
// account that never verified the address gets nothing (ADR 16).
func TestWebTakeByAccountOwner(t *testing.T) {
	w := webWorld(t)
	halden := newShop(w, "Halden Electronics", "halden.example")
	kim := w.Verified("Kim")
	made := halden.issues(nil)
	slip := halden.prints(made.ID)
	b := w.Browser(t)
	asked := b.Post("/take/email", "code", slip, "email", kim.Email)
	asked.Says(t, "asking", 200, "Check your email")
	b.Post("/take/register", "code", slip, "email", kim.Email, "flow", flowOf(asked), "mail_code", w.MailedDigits(kim.Email)).
		Leads(t, "registering", "/take/done/"+made.ID)
	ownerIs(t, w, kim.Session, made.ID)
	b.Get("/settings/security").Says(t, "the profile", 200, "Kim", "Current password")

	squatter := w.Person("Vic") // registered the address without proving it
	made = halden.issues(nil)
	slip = halden.prints(made.ID)
	b = w.Browser(t)
	b.Post("/take/email", "code", slip, "email", squatter.Email).Says(t, "asking", 200)
	// The link of the email, on another device.
	b = w.Browser(t)
	b.Post("/take", "code", w.MailedCode(squatter.Email)).Says(t, "the link", 200, "Offered to "+squatter.Email, `action="/take/register"`)
	b.Post("/take/register", "code", w.MailedCode(squatter.Email), "email", squatter.Email).
		Leads(t, "registering", "/take/done/"+made.ID)
	w.Alive(t, "the squatter's session", squatter.Session, false)
	_, session, _ := strings.Cut(b.Cookie, "=")
	ownerIs(t, w, session, made.ID)
	// Their password no longer works either.
	thief := w.Browser(t)
	thief.Post("/sign-in", "email", squatter.Email, "password", squatter.Password).Says(t, "the squatter", 422)
}

// TestWebTakeKeepsItsCode: the code is in no address, header, log or event, and another site cannot send the
// forms.
func TestWebTakeKeepsItsCode(t *testing.T) {
	w := webWorld(t)
	halden := newShop(w, "Halden Electronics", "halden.example")
	made := halden.issues(nil)
	slip := halden.prints(made.ID)
	b := w.Browser(t)
	var pages []page
	post := func(path string, pairs ...string) page {
		p := b.Post(path, pairs...)
		pages = append(pages, p)
		return p
	}
	post("/take", "code", slip)
	post("/take/sign-in", "code", slip)
	asked := post("/take/email", "code", slip, "email", "sam@people.example")
	code, link, digits := flowOf(asked), w.MailedCode("sam@people.example"), w.MailedDigits("sam@people.example")
	log := w.Log.String() // the mail itself is in the log of tests
	post("/take/register", "code", slip, "email", "sam@people.example", "flow", code, "mail_code", digits)
	post("/take", "code", slip)
	for _, p := range pages {
		for name, values := range p.Header {
			for _, secret := range []string{slip, code, link} {
				if strings.Contains(strings.Join(values, " "), secret) {
					t.Errorf("the header %s has the code", name)
				}
			}
		}
		equal(t, "Referrer-Policy", p.Header.Get("Referrer-Policy"), "no-referrer")
		equal(t, "Cache-Control", p.Header.Get("Cache-Control"), "no-store")
		if p.Node == nil {
			continue // a redirect
		}
		for n := range p.Node.Descendants() {
			for _, name := range []string{"href", "src", "action", "formaction"} {
				if strings.Contains(attr(n, name), slip) || strings.Contains(attr(n, name), code) {
					t.Errorf("<%s %s> has the code", n.Data, name)
				}
			}
		}
	}
	if strings.Contains(w.Log.String(), slip) || strings.Contains(strings.Replace(w.Log.String(), log, "", 1), code) {
		t.Error("the log has the code")
	}
	for table, rows := range w.Contents() {
		if table == "mails" {
			continue // the email to its recipient
		}
		if strings.Contains(rows, slip) || strings.Contains(rows, code) || strings.Contains(rows, link) {
			t.Errorf("the table %s has the code", table)
		}
	}
	for _, path := range []string{"/take", "/take/email", "/take/register", "/take/sign-in", "/take/confirm", "/take/verify", "/take/resend", "/take/sign-out"} {
		values := url.Values{"code": {slip}, "mail_code": {code}, "email": {"sam@people.example"}}
		b.Send("POST", path, values, "Sec-Fetch-Site", "cross-site").Says(t, "another site sends "+path, http.StatusForbidden)
	}
	// A code in the address is not read.
	b.Get("/take?code="+url.QueryEscape(slip)).Hides(t, "a code in the address", slip)
}

// TestWebTakeIsLimited: guesses are throttled, and a session that was chosen for someone is not used.
func TestWebTakeIsLimited(t *testing.T) {
	w := webWorld(t, func(s *server.Server) { s.Service.VerifyRate = 3 })
	halden := newShop(w, "Halden Electronics", "")
	made := halden.issues(nil)
	slip := halden.prints(made.ID)
	b := w.Browser(t)
	for range 3 {
		b.Post("/take", "code", "ABCD-EFGH-JKMN-PQRS-TVWX").Says(t, "a guess", 422)
	}
	p := b.Post("/take", "code", slip)
	p.Says(t, "one guess too many", http.StatusTooManyRequests, "Enter the code from your slip")
	if !regexp.MustCompile(`^\d+$`).MatchString(p.Header.Get("Retry-After")) {
		t.Errorf("Retry-After is %q", p.Header.Get("Retry-After"))
	}
}

// TestWebTakeStartsItsOwnSession: a session cookie that someone planted is replaced.
func TestWebTakeStartsItsOwnSession(t *testing.T) {
	w := webWorld(t)
	halden := newShop(w, "Halden Electronics", "")
	eve := w.Verified("Eve")
	b := w.SignedIn(t, eve) // Eve planted her session
	planted := b.Cookie
	made := halden.issues(fields{"customer_email": "new@people.example"})
	b.Post("/take/register", "code", w.MailedCode("new@people.example")).Leads(t, "registering", "/take/done/"+made.ID)
	if b.Cookie == planted || b.Cookie == "" {
		t.Error("the planted session is still used")
	}
	servertest.Refused(t, "Eve reads it", w.Do(servertest.NewRequest("GET", "/api/v1/warranties/"+made.ID, eve.Session, nil)), warranty.NotFound)
}

// TestWebTakeOnlyWhatIsValid: the slip of a void, cancelled or deleted warranty registers nothing and names who can
// help; an expired one says so first. A slip works again after an undo.
func TestWebTakeOnlyWhatIsValid(t *testing.T) {
	w := webWorld(t)
	halden, nord := newShop(w, "Halden Electronics", "halden.example"), newShop(w, "Nordhaus Elektro", "")
	kim := w.Verified("Kim")
	for _, c := range []struct {
		shop           shop
		language, says string
		method         string
		body           fields
	}{
		{halden, "en", "This warranty is not valid. Ask halden.example.", "PUT", fields{"status": "void"}},
		{nord, "en", "This warranty is not valid. Ask “Nordhaus Elektro”.", "PUT", fields{"status": "cancelled"}},
		{nord, "de", "Diese Garantie ist nicht gültig. Fragen Sie „Nordhaus Elektro“.", "PUT", fields{"status": "void"}},
		{halden, "en", "This warranty was withdrawn. Ask halden.example.", "DELETE", nil},
		{halden, "de", "Diese Garantie wurde zurückgezogen. Fragen Sie halden.example.", "DELETE", nil},
	} {
		made := c.shop.issues(nil)
		slip := c.shop.prints(made.ID)
		stranger, known := w.Browser(t), w.SignedIn(t, kim)
		status := map[string]int{"PUT": 200, "DELETE": 204}[c.method]
		c.shop.send(status, c.method, "/api/v1/warranties/"+made.ID, c.body, nil)
		send := func(b *browser, path string, pairs ...string) page {
			values := url.Values{}
			for i := 0; i < len(pairs); i += 2 {
				values.Set(pairs[i], pairs[i+1])
			}
			return b.Send("POST", path, values, "Sec-Fetch-Site", "same-origin", "Accept-Language", c.language)
		}
		for what, p := range map[string]page{
			"the slip":           send(stranger, "/take", "code", slip),
			"to be emailed":      send(stranger, "/take/email", "code", slip, "email", "new@people.example"),
			"who has an account": send(known, "/take/confirm", "account", kim.ID, "code", slip),
		} {
			p.Says(t, what, 422, c.says)
			p.Hides(t, what, made.ProductName)
		}
	}
	made := halden.issues(fields{"start_date": "2020-01-01", "end_date": "2021-01-01"})
	slip := halden.prints(made.ID)
	b := w.SignedIn(t, kim)
	b.Post("/take", "code", slip).Says(t, "an expired warranty", 200, "This warranty ended on 1 Jan 2021. You can still register it, for your records.")

	desk := w.SignedIn(t, halden.admin)
	desk.Post("/switch", "account", halden.id)
	desk.Post("/warranties/"+made.ID+"/delete", "account", halden.id)
	b.Post("/take", "code", slip).Says(t, "deleted", 422, "This warranty was withdrawn.")
	desk.Post("/trash/"+made.ID+"/restore", "account", halden.id)
	b.Post("/take/confirm", "account", kim.ID, "code", slip).Leads(t, "after the undo", "/take/done/"+made.ID)
}

// TestWebTakeForAnOrganization: an offer to the address of an organization is for a member, in whatever account they are.
func TestWebTakeForAnOrganization(t *testing.T) {
	w := webWorld(t)
	halden := newShop(w, "Halden Electronics", "halden.example")
	buyer := newShop(w, "Nordhaus", "nordhaus.example")
	w.Exec(`INSERT INTO addresses (id, account_id, email, verified_at) VALUES (` + w.IDLiteral(w.Service.NewID().String()) +
		`, ` + w.IDLiteral(buyer.id) + `, 'info@nordhaus.example', 1)`)
	made := halden.issues(fields{"customer_email": "info@nordhaus.example"})
	code := w.MailedCode("info@nordhaus.example")
	b := w.Browser(t)
	asked := b.Post("/take/register", "code", code, "email", "info@nordhaus.example")
	asked.Says(t, "signing in", 200, "Sign in to register the warranty. Your code is kept.")
	asked.Hides(t, "signing in", `value="info@nordhaus.example"`)
	back := signInFrom(b, asked, buyer.admin.Email, buyer.admin.Password)
	back.Says(t, "the member's own account", 200, "Register to Nordhaus")
	back.Hides(t, "the member's own account", "Sign out, then", "Register to "+buyer.admin.Name)
	sendAgainAs(b, back, buyer.id).Leads(t, "registering", "/take/done/"+made.ID)

	// Someone else, who has no account with the address, can still register with it.
	halden.issues(fields{"customer_email": "work@people.example"})
	code = w.MailedCode("work@people.example")
	other := w.SignedIn(t, w.Verified("Vic"))
	other.Post("/take", "code", code).Says(t, "another address", 200, "Sign out, then register it with that address")
	other.Post("/take/sign-out", "code", code).Says(t, "signed out", 200, "Offered to work@people.example.", `action="/take/register"`)
}
