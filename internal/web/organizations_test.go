package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"warranty.example/svc/internal/servertest"
)

// found creates an organization and returns its id. The browser acts for it.
func found(b *browser, name string) string {
	b.T.Helper()
	b.Post("/settings/organizations", "name", name).Leads(b.T, "creating "+name, "/?done=organization_created")
	_, id, ok := strings.Cut(b.Account, "=")
	if !ok {
		b.T.Fatal("the browser does not act for the organization")
	}
	return id
}

// join makes a person a member of the organization that admin acts for, by an invitation.
func join(w *world, admin *browser, id string, p servertest.Person, role string) *browser {
	w.T.Helper()
	admin.Post("/settings/members/invite", "account", id, "email", p.Email, "role", role).
		Leads(w.T, "inviting", "/settings/members?done=invited")
	code := w.MailedCode(p.Email)
	b := w.SignedIn(w.T, p)
	b.Post("/invitations/accept", "account", p.ID, "code", code).Leads(w.T, "joining", "/?done=joined")
	return b
}

// sendAgain sends the only form in the main part of a page, with its hidden fields.
func sendAgain(b *browser, p page) page {
	b.T.Helper()
	for n := range p.Node.Descendants() {
		if n.Data != "form" || !within(n, "main") {
			continue
		}
		values := url.Values{}
		for input := range n.Descendants() {
			if input.Type == html.ElementNode && input.Data == "input" {
				values.Add(attr(input, "name"), attr(input, "value"))
			}
		}
		if attr(n, "enctype") == "" {
			return b.Send("POST", attr(n, "action"), values, "Sec-Fetch-Site", "same-origin")
		}
		var pairs []string
		for name, list := range values {
			for _, value := range list {
				pairs = append(pairs, name, value)
			}
		}
		return uploadSheet(b, pairs...)
	}
	b.T.Fatalf("the page has no form: %s", p.Main())
	return page{}
}

const kettle = "product_name,start_date,end_date\nKettle,2026-01-02,2028-01-01\n"

// TestWebSwitch acts for an organization and back: every page shows the records of the account in the
// switcher, and signing out forgets the account.
func TestWebSwitch(t *testing.T) {
	w := webWorld(t)
	nora, eve := w.Verified("Nora"), w.Verified("Eve")
	w.Warranty(nora.Session, fields{"product_name": "Nora's kettle"})
	b := w.SignedIn(t, nora)
	halden := found(b, "Halden Electronics")
	for _, path := range []string{"/", "/warranties", "/settings/api", "/settings/profile", "/settings/organizations"} {
		p := b.Get(path)
		p.Says(t, path, 200, "<b dir=\"auto\">Halden Electronics</b>", "Admin", `popovertarget="accounts"`, "Create organization")
		p.Hides(t, path, "kettle")
		current := 0
		for n := range p.Node.Descendants() {
			if n.Data == "button" && attr(n, "aria-current") == "true" {
				equal(t, path+": the current account", attr(n, "value"), halden)
				current++
			}
		}
		equal(t, path+": current accounts", current, 1)
	}
	b.Post("/warranties", "account", halden, "product_name", "Till", "start_date", "2026-01-02", "end_date", "2028-01-01").
		Says(t, "a record of the organization", http.StatusSeeOther)
	b.Get("/warranties").Says(t, "its records", 200, "Till")

	b.Post("/switch", "account", nora.ID).Leads(t, "switching to the own account", "/")
	equal(t, "the cookie", b.Account, "")
	own := b.Get("/warranties")
	own.Says(t, "the own records", 200, "kettle")
	own.Hides(t, "the own records", "Till")
	for _, next := range []string{"//evil.example", "https://evil.example", `/\evil.example`, "evil.example", "javascript:alert(1)"} {
		b.Post("/switch", "account", halden, "next", next).Leads(t, "switching with a wrong next page", "/")
		out := w.SignedIn(t, eve)
		out.Post("/sign-out", "next", next).Leads(t, "signing out with a wrong next page", "/sign-in")
	}
	// Another site cannot switch.
	b.Post("/switch", "account", nora.ID)
	b.Send("POST", "/switch", url.Values{"account": {halden}}, "Sec-Fetch-Site", "cross-site").Says(t, "another site", http.StatusForbidden)
	b.Send("POST", "/warranties", url.Values{"account": {halden}, "switch": {"true"}, "product_name": {"Forged"}}, "Sec-Fetch-Site", "cross-site").
		Says(t, "another site", http.StatusForbidden)
	equal(t, "the cookie after another site's forms", b.Account, "")

	// A part of a page is for the account of the page, whatever another tab switched to.
	b.Post("/switch", "account", nora.ID)
	rows := b.Get("/warranties", "HX-Request", "true", "X-Account", halden)
	rows.Says(t, "a part", 200, "Till")
	rows.Hides(t, "a part", "kettle")
	b.Get("/warranties", "HX-Request", "true", "X-Account", eve.ID).Says(t, "a part of a stranger", http.StatusForbidden)

	b.Post("/switch", "account", eve.ID).Says(t, "a stranger's account", http.StatusForbidden, "You can&#39;t act for this account")
	b.Post("/switch", "account", "nonsense").Says(t, "no account", http.StatusForbidden)
	b.Post("/switch", "account", halden)
	b.Post("/sign-out").Leads(t, "signing out", "/sign-in")
	equal(t, "the cookie after signing out", b.Account, "")
}

// TestWebFormBelongsToItsAccount sends forms that were opened for another account of the same person: none
// is performed, and "Switch back and save" performs the whole form for the account that it was opened for.
func TestWebFormBelongsToItsAccount(t *testing.T) {
	w := webWorld(t)
	nora := w.Verified("Nora")
	record := w.Warranty(nora.Session, nil).ID
	b := w.SignedIn(t, nora)
	halden := found(b, "Halden Electronics")
	text := []string{"You switched to Halden Electronics. This form belongs to Nora.", "Nothing was saved.", "Discard"}
	sent := []string{"product_name", `Kettle "<b>"`, "start_date", "2026-01-02", "end_date", "2028-01-01", "description", "two\r\nlines"}

	var other page
	for what, account := range map[string][]string{"a form": {"account", nora.ID}, "a form without its account": nil} {
		w.Unchanged(t, what, func() { other = b.Post("/warranties", append(account, sent...)...) })
		other.Says(t, what, http.StatusPreconditionFailed, append(text, "Switch back and save")...)
	}
	other = b.Post("/warranties", append(sent, "account", nora.ID)...)
	saved := sendAgain(b, other)
	saved.Says(t, "switching back", http.StatusSeeOther)
	equal(t, "the account", b.Account, "")
	b.Get(saved.Location).Says(t, "the record", 200, "Kettle &#34;&lt;b&gt;&#34;", "two", "lines")

	// The other way round, with an import.
	var refusedSheet page
	w.Unchanged(t, "an import", func() {
		refusedSheet = uploadSheet(b, "sheet", kettle, "do", "check", "account", halden)
		refusedSheet.Says(t, "an import", http.StatusPreconditionFailed, "You switched to Nora. This form belongs to Halden Electronics.")
	})
	sendAgain(b, refusedSheet).Says(t, "the import", 200, "Kettle", "<b dir=\"auto\">Halden Electronics</b>")

	// Buttons, too.
	for _, path := range []string{"/warranties/" + record + "/delete", "/settings/calendar", "/settings/members/" + nora.ID + "/remove"} {
		w.Unchanged(t, path, func() {
			b.Post(path, "account", nora.ID).Says(t, path, http.StatusPreconditionFailed, append(text, "Switch back and continue")...)
			b.Post(path).Says(t, path, http.StatusPreconditionFailed, text...)
		})
	}
	// The person's own forms are performed whichever account is current.
	b.Post("/settings/profile", "account", nora.ID, "name", "Nora L").Leads(t, "the profile", "/settings/profile?done=saved")
	b.Post("/settings/profile", "account", halden, "name", "Nora M").Says(t, "the profile for an organization", http.StatusPreconditionFailed)
}

// TestWebFormOfAnOrganizationOutlivesItsSession sends a form of an organization after the session ended.
func TestWebFormOfAnOrganizationOutlivesItsSession(t *testing.T) {
	w := webWorld(t)
	nora, eve := w.Verified("Nora"), w.Verified("Eve")
	b := w.SignedIn(t, nora)
	halden := found(b, "Halden Electronics")
	sent := []string{"account", halden, "product_name", "Surprise", "start_date", "2026-01-02", "end_date", "2028-01-01"}
	endSession(b)
	asked := b.Post("/warranties", sent...)
	again := signInFrom(b, asked, nora.Email, nora.Password)
	again.Says(t, "after sign-in", 200, "Check the form and send it again.", "<b dir=\"auto\">Halden Electronics</b>")
	if !holds(again, "account", halden) || !holds(again, "product_name", "Surprise") || b.Account == "" {
		t.Errorf("the form is not that of the organization: %s", again.Main())
	}
	endSession(b)
	asked = b.Post("/warranties", sent...)
	got := signInFrom(b, asked, eve.Email, eve.Password)
	got.Leads(t, "another person", "/warranties")
	b.Get("/warranties").Hides(t, "another person", "Surprise", "Halden")
}

// TestWebMembers invites, changes and removes members, and leaves.
func TestWebMembers(t *testing.T) {
	w := webWorld(t, busy)
	mara, ivo, eve := w.Verified("Mara"), w.Verified("Ivo"), w.Verified("Eve")
	admin := w.SignedIn(t, mara)
	halden := found(admin, "Halden Electronics")
	const only = "You are the only admin. Make someone else admin first."
	admin.Get("/settings/members").Says(t, "the only admin", 200, only, "disabled")
	admin.Get("/settings/organization").Says(t, "the only admin", 200, only)

	wrong := admin.Post("/settings/members/invite", "account", halden, "email", "nobody", "role", "member")
	wrong.Says(t, "a wrong address", 422)
	equal(t, "the address typed", wrong.Value("email"), "nobody")
	stranger := w.Browser(t)
	admin.Post("/settings/members/invite", "account", halden, "email", ivo.Email, "role", "member").Says(t, "inviting", 303)
	admin.Get("/settings/members").Says(t, "the invitation", 200, ivo.Email, "Invited by Mara", "Cancel invitation")
	code := w.MailedCode(ivo.Email)
	stranger.Get("/invitations/accept").Leads(t, "without a session", "/sign-in?next=%2Finvitations%2Faccept")
	stranger.Get("/sign-in?next=%2Finvitations%2Faccept").Says(t, "the way to register", 200,
		`href="/register?next=%2finvitations%2faccept"`, "To accept the invitation, sign in or create an account")
	w.SignedIn(t, eve).Post("/sign-out", "next", "/invitations/accept").Leads(t, "another address", "/sign-in?next=%2Finvitations%2Faccept")
	other := w.SignedIn(t, eve).Post("/invitations/accept", "account", eve.ID, "code", code)
	other.Says(t, "another address", 422, "This invitation is for another email address", eve.Email)
	equal(t, "the code typed", other.Value("code"), code)
	clerk := w.SignedIn(t, ivo)
	clerk.Post("/invitations/accept", "account", ivo.ID, "code", code).Leads(t, "joining", "/?done=joined")
	clerk.Get("/").Says(t, "the member", 200, "<b dir=\"auto\">Halden Electronics</b>", "Member")

	// A member sees the settings and cannot change them.
	for _, path := range []string{"/settings/organization", "/settings/members", "/settings/addresses", "/settings/api", "/settings/calendar"} {
		p := clerk.Get(path)
		p.Says(t, path, 200, "Only an admin of Halden Electronics can make changes here. Your role: Member.")
		p.Hides(t, path, "Invite member", "Generate token", "Create address", "Delete organization", "Email a code")
	}
	clerk.Get("/settings/members/invite").Says(t, "the form of an admin", http.StatusForbidden)
	clerk.Post("/settings/members/"+mara.ID+"/remove", "account", halden).Says(t, "removing an admin", 422, "Only an admin")
	clerk.Post("/settings/email/choices", "account", halden, "mail_claims", "true").Leads(t, "the emails", "/settings/email?done=saved")
	equal(t, "the emails", strings.Join(clerk.Get("/settings/email").Checked("mail_claims"), ""), "true")
	clerk.Get("/settings/email").Says(t, "the reminders", 200, "Days before the end: 30, 7.", "Only an admin can change this.")
	clerk.Post("/settings/email", "account", halden, "days", "5").Says(t, "the reminders of an admin", 422, "Only an admin")

	member := "/settings/members/" + ivo.ID
	admin.Post(member, "account", halden, "role", "admin").Leads(t, "the role", "/settings/members?done=role_changed")
	clerk.Post("/settings/api/tokens", "account", halden, "name", "erp", "scopes", "claims:read", "expires_in_days", "30",
		"rate_limit_per_minute", "77").Says(t, "a token", 200)
	clerk.Get("/settings/api").Says(t, "who made it", 200, "by Ivo")
	admin.Get(member).Says(t, "his page", 200, "Revoke the token Ivo made", "Remove member")
	clerk.Post("/warranties", "account", halden, "product_name", "Till", "start_date", "2026-01-02", "end_date", "2028-01-01")
	admin.Get("/").Says(t, "the history", 200, "<b><bdi>Ivo</bdi></b> (<bdi>Halden Electronics</bdi>)")
	admin.Post(member+"/remove", "account", halden, "revoke_tokens", "true").Leads(t, "removing", "/settings/members?done=member_removed")
	equal(t, "active tokens", w.Count(`SELECT count(*) FROM tokens WHERE revoked_at IS NULL`), 0)

	// His open form is not performed for his own account.
	w.Unchanged(t, "a form of a removed member", func() {
		clerk.Post("/warranties", "account", halden, "product_name", "Till", "start_date", "2026-01-02", "end_date", "2028-01-01").
			Says(t, "a form of a removed member", http.StatusPreconditionFailed, "This form belongs to another account", ivo.Email,
				"This is what you typed.", "<dt>Product name</dt>", `<dd class="lines">Till</dd>`)
	})
	equal(t, "his account", clerk.Account, "")
	// A page of another tab, which has the old cookie.
	clerk.Account = "__Host-svc_account=" + halden
	clerk.Get("/warranties").Leads(t, "a page of a removed member", "/?done=account_lost")
	equal(t, "his account", clerk.Account, "")
	clerk.Get("/?done=account_lost").Says(t, "a page of a removed member", 200, "You can no longer act for the organization.", "<b dir=\"auto\">Ivo</b>")
	clerk.Get("/warranties").Hides(t, "his records", "Till")

	clerk = join(w, admin, halden, ivo, "viewer")
	clerk.Post("/settings/members/"+ivo.ID+"/remove", "account", halden).Leads(t, "leaving", "/settings/organizations?done=left")
	equal(t, "the account after leaving", clerk.Account, "")
	admin.Post("/settings/members/"+mara.ID+"/remove", "account", halden).Says(t, "the last admin", 422, "this is the only one")
	admin.Get("/settings/members/"+unknownID).Says(t, "no member", http.StatusNotFound)
}

// TestWebViewer sees everything of an organization, and no button that would be refused.
func TestWebViewer(t *testing.T) {
	w := webWorld(t, busy)
	mara, vera := w.Verified("Mara"), w.Verified("Vera")
	admin := w.SignedIn(t, mara)
	halden := found(admin, "Halden Electronics")
	viewer := join(w, admin, halden, vera, "viewer")
	for path, none := range map[string]string{"/": "Viewers can&#39;t add warranties.", "/warranties": "Viewers can&#39;t add", "/claims": "", "/documents": ""} {
		p := viewer.Get(path)
		p.Says(t, path, 200, none)
		p.Hides(t, path, `href="/warranties/new"`, `href="/warranties/import"`, `href="/claims/new"`, `href="/documents/new"`)
	}
	created := admin.Post("/warranties", "account", halden, "product_name", "Till", "start_date", "2026-01-02", "end_date", "2028-01-01")
	record, _, _ := strings.Cut(created.Location, "?")
	id := strings.TrimPrefix(record, "/warranties/")
	claim := admin.Post("/claims", "account", halden, "warranty_id", id, "type", "repair", "description", "Broken", "incident_date", "2026-01-02")
	claimPage, _, _ := strings.Cut(claim.Location, "?")
	viewer.Get("/warranties").Hides(t, "what viewers can do with a selection", `name="action" value="delete"`, `name="action" value="void"`)
	viewer.Post("/warranties/bulk", "account", halden, "action", "delete", "id", id).Says(t, "a selection", 403)
	admin.SendBody("POST", "/documents?account="+halden, `multipart/form-data; boundary="`+boundary+`"`,
		strings.NewReader(form(document(id, "a.pdf", pdf)...)), "Sec-Fetch-Site", "same-origin").Says(t, "a document", 303)
	for _, path := range []string{"/", "/warranties", record, "/claims", claimPage, "/documents", "/settings/api", "/settings/calendar"} {
		for n := range viewer.Get(path).Node.Descendants() {
			// Viewers choose columns and their emails, and export and print what they select.
			harmless := attr(n, "action") == "/warranties/columns" || attr(n, "action") == "/warranties/bulk" ||
				attr(n, "action") == claimPage+"/muted"
			if n.Data == "form" && attr(n, "method") == "post" && within(n, "main") && !harmless {
				t.Errorf("%s has the form %s", path, attr(n, "action"))
			}
			if href := attr(n, "href"); strings.HasSuffix(href, "/new") && within(n, "main") || strings.Contains(href, "/new?") || strings.HasSuffix(href, "/edit") {
				t.Errorf("%s has the link %s", path, href)
			}
		}
	}
	for _, path := range []string{"/warranties/new", "/warranties/import", record + "/edit", "/claims/new", "/documents/new"} {
		viewer.Get(path).Says(t, path, http.StatusForbidden, "Viewers of Halden Electronics cannot change anything.")
	}
	again := viewer.Post("/warranties", "account", halden, "product_name", "Mine", "start_date", "2026-01-02", "end_date", "2028-01-01")
	again.Says(t, "a form", 422, "Viewers of Halden Electronics cannot change anything.")
	equal(t, "the name typed", again.Value("product_name"), "Mine")
	// A link to a record of another account leads to a switch.
	viewer.Post("/switch", "account", vera.ID)
	viewer.Get(record).Says(t, "a link", http.StatusNotFound, "Open in Halden Electronics", `value="`+record+`"`)
	viewer.Post("/switch", "account", halden, "next", record).Leads(t, "opening it", record)
}

// TestWebOrganization edits the profile, verifies an address, deletes and restores an organization.
func TestWebOrganization(t *testing.T) {
	w := webWorld(t, busy)
	mara := w.Verified("Mara")
	b := w.SignedIn(t, mara)
	for _, path := range []string{"/settings/organization", "/settings/members", "/settings/addresses"} {
		b.Get(path).Leads(t, path+" of a person", "/settings/organizations")
	}
	b.Post("/settings/organizations", "name", "").Says(t, "no name", 422)
	halden := found(b, "Halden Electronics")
	wrong := b.Post("/settings/organization", "account", halden, "name", "Halden", "website", "not a site")
	wrong.Says(t, "a wrong website", 422)
	equal(t, "the website typed", wrong.Value("website"), "not a site")
	b.Post("/settings/organization", "account", halden, "name", "Halden", "website", "halden.example").Leads(t, "the profile", "/settings/organization?done=saved")
	b.Get("/settings/organization").Says(t, "the profile", 200, `value="https://halden.example"`, "<b dir=\"auto\">Halden</b>",
		"created the organization", "updated the organization", "Website:")

	b.Post("/settings/addresses", "account", halden, "email", "info@halden.example").Leads(t, "an address", "/settings/addresses?code&done=code_sent")
	b.Get("/settings/addresses?code&done=code_sent").Says(t, "the code's form", 200, "We emailed a code.", `name="code"`)
	bad := b.Post("/settings/addresses/verify", "account", halden, "code", "AAAA-BBBB")
	bad.Says(t, "a wrong code", 422)
	equal(t, "the code typed", bad.Value("code"), "AAAA-BBBB")
	b.Post("/settings/addresses/verify", "account", halden, "code", w.MailedCode("info@halden.example")).
		Leads(t, "the code", "/settings/addresses?done=address_verified")
	verified := b.Get("/settings/addresses")
	verified.Says(t, "the address", 200, "info@halden.example", "Verified")
	remove := ""
	for n := range verified.Node.Descendants() {
		if action := attr(n, "action"); strings.HasSuffix(action, "/remove") {
			remove = action
		}
	}
	b.Post(remove, "account", halden).Leads(t, "removing", "/settings/addresses?done=address_removed")

	b.Post("/settings/organization/delete", "account", halden, "typed_name", "Halde").Says(t, "a wrong name", 422, "Type Halden to confirm")
	b.Post("/settings/organization/delete", "account", halden, "typed_name", "Halden").Leads(t, "deleting", "/settings/organizations?done=organization_deleted")
	b.Get("/settings/organizations").Says(t, "the deleted one", 200, "Deleted organizations", "Halden", "Restore")
	b.Post("/switch", "account", halden).Says(t, "a deleted one", http.StatusForbidden)
	b.Post("/settings/organizations/"+halden+"/restore").Leads(t, "restoring", "/settings/organizations?done=organization_restored")
	b.Post("/switch", "account", halden).Leads(t, "a restored one", "/")
}

// TestWebConvert turns an account into an organization: the browser stays signed in as its admin.
func TestWebConvert(t *testing.T) {
	w := webWorld(t, busy)
	shop := w.Verified("Shop")
	w.Warranty(shop.Session, fields{"product_name": "Till"})
	b := w.SignedIn(t, shop)
	b.Get("/settings/convert").Says(t, "the page", 200, shop.Email, "This can&#39;t be undone.")
	same := b.Post("/settings/convert", "organization_name", "The Shop", "name", "Nora", "email", shop.Email)
	same.Says(t, "the same address", 422)
	equal(t, "the name typed", same.Value("name"), "Nora")
	names := []string{"organization_name", "The Shop", "name", "Nora", "email", "nora@people.example"}
	b.Post("/settings/convert", names...).Says(t, "no password", 422, "Enter your password.")
	wrong := b.Post("/settings/convert", append(names, "password", "not the password")...)
	wrong.Says(t, "a wrong password", 422, "The password is wrong.")
	wrong.Hides(t, "a wrong password", "not the password")
	equal(t, "the name typed", wrong.Value("name"), "Nora")
	b.Post("/settings/convert", append(names, "password", shop.Password)...).Leads(t, "the names", "/settings/convert?code&done=code_sent")
	stop := "/stop-conversion/" + w.MailedCode(shop.Email)
	anyone := w.Browser(t)
	anyone.Get(stop).Says(t, "the link", 200, "Stop turning your account into an organization?")
	anyone.Post(stop).Says(t, "stopping", 200, "Stopped.", "/reset-password")
	anyone.Post(stop).Says(t, "stopping again", 422, "already used or expired")
	b.Post("/settings/convert/confirm", "code", w.MailedCode("nora@people.example")).Says(t, "a stopped conversion", 422)
	b.Post("/settings/convert", append(names, "password", shop.Password)...).
		Leads(t, "the names", "/settings/convert?code&done=code_sent")
	b.Get("/settings/convert?code&done=code_sent").Says(t, "the code's form", 200, "We emailed a code.", `name="code"`)
	b.Post("/settings/convert/confirm", "code", "AAAA-BBBB").Says(t, "a wrong code", 422, `value="AAAA-BBBB"`)
	b.Post("/settings/convert/confirm", "code", w.MailedCode("nora@people.example")).Leads(t, "the code", "/settings/members?done=converted")
	b.Get("/settings/members").Says(t, "the members", 200, "Nora", "<b dir=\"auto\">The Shop</b>", "Admin")
	b.Get("/warranties").Says(t, "the records", 200, "Till")
	b.Get("/settings/addresses").Says(t, "the address", 200, shop.Email)
	b.Get("/settings/profile").Says(t, "the person", 200, "nora@people.example")
}

// TestWebIssuer shows the profile of an organization to its customers, and what waits for it to its members.
func TestWebIssuer(t *testing.T) {
	w := webWorld(t, busy)
	mara, kim := w.Verified("Mara"), w.Verified("Kim")
	shop, customer := w.SignedIn(t, mara), w.SignedIn(t, kim)
	const name = `Halden <script>alert(1)</script>`
	halden := found(shop, name)
	profile := []string{"account", halden, "name", name, "contact_email", "service@halden.example", "contact_phone", "<b>+49 30"}
	for _, site := range []string{"data:text/html,x", "https://mara:secret@halden.example", "//"} {
		shop.Post("/settings/organization", append(profile, "website", site)...).Says(t, site, 422)
	}
	shop.Post("/settings/organization", append(profile, "website", "halden.example/?q=\"><img src=x>")...).
		Leads(t, "the profile", "/settings/organization?done=saved")
	created := shop.Post("/warranties", "account", halden, "product_name", "Till", "start_date", "2026-01-02", "end_date", "2099-01-01")
	record, _, _ := strings.Cut(created.Location, "?")
	id := strings.TrimPrefix(record, "/warranties/")
	var offer struct{ Code string }
	w.Must(201, servertest.NewRequest("POST", "/api/v1/warranties/"+id+"/handover", mara.Session, fields{}, "X-Account", halden)).Into(t, &offer)
	w.Must(200, servertest.NewRequest("POST", "/api/handovers/take", kim.Session, fields{"code": offer.Code}))

	seen := customer.Get(record)
	seen.Says(t, "the issuer", 200, "Issued by", "Halden &lt;script&gt;", `href="https://halden.example/?q=%22%3e%3cimg%20src=x%3e"`,
		`href="mailto:service@halden.example"`, "&lt;b&gt;&#43;49 30", `rel="noopener noreferrer nofollow"`)
	shop.Get(record).Hides(t, "the issuer to itself", `id="h-issuer"`)
	reference := ""
	for n := range seen.Node.Descendants() {
		if href := attr(n, "href"); strings.HasPrefix(href, "/verify/") {
			reference = href
		}
	}
	public := w.Browser(t).Get(reference)
	public.Says(t, "the public page", 200, "Halden &lt;script&gt;")
	public.Hides(t, "the public page", "service@halden.example", "halden.example", "+49 30", "43;49 30")

	shop.Get("/").Hides(t, "nothing waits", "1 waiting", `<span class="sr"> waiting for you`)
	customer.Post("/claims", "account", kim.ID, "warranty_id", id, "type", "repair", "description", "Broken", "incident_date", "2026-01-02")
	shop.Get("/").Says(t, "a claim", 200, "Admin · 1 waiting", `1<span class="sr"> waiting for you</span>`)
	shop.Post("/switch", "account", mara.ID)
	own := shop.Get("/")
	own.Says(t, "from the own account", 200, "Admin · 1 waiting")
	own.Hides(t, "from the own account", "waiting for you")
	customer.Get("/").Hides(t, "the customer", "waiting")
}

// TestWebAccountAfterSignIn: another person who signs in does not start in the organization of the last one,
// and the same person does.
func TestWebAccountAfterSignIn(t *testing.T) {
	w := webWorld(t, busy)
	mara, eve := w.Verified("Mara"), w.Verified("Eve")
	b := w.SignedIn(t, mara)
	found(b, "Halden Electronics")
	account := b.Account
	expire := func() {
		endSession(b)
		b.Account = account // a session that ends by itself leaves it
	}
	expire()
	b.Post("/sign-in", "email", mara.Email, "password", mara.Password).Leads(t, "the same person", "/")
	b.Get("/").Says(t, "the same person", 200, "<title>Overview · Halden Electronics")
	expire()
	b.Post("/sign-in", "email", eve.Email, "password", eve.Password).Leads(t, "another person", "/")
	equal(t, "the account", b.Account, "")
	b.Get("/").Hides(t, "another person", "Halden", "no longer")
}
