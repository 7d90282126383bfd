package service_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// TestNobodyTakesTheFirstAccount registers before the service is set up: over the API and the web page it says so, and
// there is no account. The set-up link makes an administrator, once, and then anyone can register.
func TestNobodyTakesTheFirstAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unset()
		register := made("POST", "/api/auth/register", "", fields{"name": "Eve", "email": "eve@people.example", "password": passwordCanary})
		refused(t, "registering", w.Do(register), warranty.RoleNotAllowed)
		if a := w.Do(register); !strings.Contains(a.Body, "being set up") {
			t.Errorf("registering says %s", a.Body)
		}
		b := w.Browser(t)
		for _, path := range []string{"/", "/sign-in", "/register", "/verify", "/take"} {
			b.Get(path).Says(t, path, 503, "This service is being set up")
		}
		b.Post("/register", "name", "Eve", "email", "eve@people.example", "password", passwordCanary).
			Says(t, "the form", 503, "This service is being set up")
		equal(t, "the accounts", w.Count(`SELECT count(*) FROM users`), 0)

		code := setupCode(t, w)
		b.Get("/setup").Says(t, "the page", 200, "Set up your service", servertest.PublicURL)
		wrong := b.Post("/setup", "code", strings.Replace(code, code[:4], "0000", 1), "name", "Mara", "email", "mara@shop.example", "password", passwordCanary)
		wrong.Says(t, "a wrong code", 422, "already used or has expired")
		equal(t, "the name typed", wrong.Value("name"), "Mara")
		b.Post("/setup", "code", code, "name", "Mara", "email", "mara@shop.example", "password", "short").Says(t, "a short password", 422, "12 characters")
		b.Post("/setup", "code", code, "name", "Mara", "email", "mara@shop.example", "password", passwordCanary, "signup", "open").Leads(t, "set-up", "/admin?done=set_up")
		b.Get("/admin?done=set_up").Says(t, "the admin page", 200, "You are its administrator")

		other := w.Browser(t)
		other.Post("/setup", "code", code, "name", "Eve", "email", "eve@people.example", "password", passwordCanary).
			Says(t, "the code again", 422, "already used or has expired")
		other.Get("/setup").Leads(t, "the page afterwards", "/")
		equal(t, "the codes left", w.Count(`SELECT count(*) FROM setup_codes`), 0)
		w.Must(201, register)
		if _, _, err := w.Service.SetupLink(context.Background()); !errors.Is(err, service.ErrSetUp) {
			t.Errorf("another link: %v", err)
		}
	})
}

// setupCode returns the code of a new set-up link.
func setupCode(t testing.TB, w *world) string {
	t.Helper()
	link, _, err := w.Service.SetupLink(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	code, ok := strings.CutPrefix(link, servertest.PublicURL+"/setup#")
	if !ok {
		t.Fatalf("the link is %s", link)
	}
	return code
}

// TestOneFirstAdministrator uses the links of several replicas at once: one of them makes the administrator.
func TestOneFirstAdministrator(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		worlds[0].Unset()
		const tries = 9
		codes := make([]string, tries)
		for i := range codes {
			codes[i] = setupCode(t, worlds[i%len(worlds)])
		}
		failures := make([]error, tries)
		var all sync.WaitGroup
		for i, code := range codes {
			all.Go(func() {
				in := warranty.Register{Name: "Mara", Email: fmt.Sprintf("mara%d@shop.example", i), Password: passwordCanary}
				_, failures[i] = worlds[i%len(worlds)].Service.SetUp(context.Background(), warranty.Principal{Door: warranty.DoorWeb}, service.SetUp{Code: code, Register: in})
			})
		}
		all.Wait()
		made := 0
		for _, err := range failures {
			var refusal *warranty.Error
			switch {
			case err == nil:
				made++
			case !errors.As(err, &refusal) || refusal.Code != warranty.ValidationFailed:
				t.Errorf("a second set-up fails with %v", err)
			}
		}
		equal(t, "the set-ups", made, 1)
		equal(t, "the accounts", worlds[0].Count(`SELECT count(*) FROM users`), 1)
		equal(t, "the administrators", worlds[0].Count(`SELECT count(*) FROM users WHERE admin_since IS NOT NULL`), 1)
	})
}

// TestSetupLinksEnd lets a link expire, and ends one by an account that the operator adds.
func TestSetupLinksEnd(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unset()
		use := func(what, code string) {
			t.Helper()
			in := warranty.Register{Name: "Eve", Email: "eve@people.example", Password: passwordCanary}
			if _, err := w.Service.SetUp(context.Background(), warranty.Principal{}, service.SetUp{Code: code, Register: in}); err == nil {
				t.Errorf("%s works", what)
			}
		}
		old := setupCode(t, w)
		w.Clock.Advance(24*time.Hour + time.Second)
		use("an expired link", old)
		code := setupCode(t, w)
		if _, err := w.Service.AddUser(context.Background(), warranty.Register{Name: "Nora", Email: "nora@people.example", Password: passwordCanary}); err != nil {
			t.Fatal(err)
		}
		use("a link after the first account", code)
		w.Must(201, made("POST", "/api/auth/register", "", fields{"name": "Kim", "email": "kim@people.example", "password": passwordCanary}))
	})
}

// TestSignupIsChosenAtTheSetUp: it is closed unless chosen, on all replicas; the operator's setting goes first, and
// customers of a business register what it issued.
func TestSignupIsChosenAtTheSetUp(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w, other := worlds[0], worlds[len(worlds)-1]
		w.Unset()
		b := w.Browser(t)
		b.Get("/setup").Says(t, "the page", 200, `value="closed" checked`, "Only people you add")
		b.Post("/setup", "code", setupCode(t, w), "name", "Mara", "email", "mara@shop.example", "password", passwordCanary).
			Leads(t, "set-up", "/admin?done=set_up")
		register := func(name string) servertest.Answer {
			return other.Do(made("POST", "/api/auth/register", "", fields{"name": name, "email": name + "@people.example", "password": passwordCanary}))
		}
		refused(t, "registering", register("kim"), warranty.RoleNotAllowed)
		w.Service.SignupSet = true // only administrators found organizations otherwise
		shop, lia := w.issuer("Ann"), w.person("Lia", true)
		w.Service.SignupSet = false
		shop.sells(warranty.CreateWarranty{CustomerEmail: "kim@people.example"})
		taken, err := other.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: w.mailedCode("kim@people.example")})
		if err != nil || taken.User.Email != "kim@people.example" {
			t.Errorf("a customer: %+v, %v", taken.User, err)
		}
		if _, err := w.Service.OfferTransfer(ctx, lia.Principal, warranty.OfferTransfer{
			ID: warranty.WarrantyKey{ID: w.record(lia, "").ID}, Email: "noa@people.example"}); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Service.RegisterHandover(ctx, warranty.Principal{},
			warranty.RegisterHandover{Code: w.mailedCode("noa@people.example")}); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("who was given a warranty by a person: %v", err)
		}
		other.Service.SignupSet = true
		if a := register("noa"); a.Status != 201 {
			t.Errorf("with --signup open: %d %s", a.Status, a.Body)
		}
	})
}

// refusing is a mail server that takes nothing.
type refusing struct{}

func (refusing) Send(context.Context, mail.Message) error {
	return errors.New("535 Authentication failed")
}

// TestSetupTestsEmail: the page sends an email to whoever has the link, and shows what the mail server said.
func TestSetupTestsEmail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unset()
		w.Service.RequireVerified = true
		code, b, o := setupCode(t, w), w.Browser(t), &outbox{}
		test := func(pairs ...string) servertest.Page {
			return b.Post("/setup/test", append(pairs, "name", "Mara", "password", passwordCanary)...)
		}
		w.Service.Mail = o
		test("code", "wrong", "email", "mara@shop.example").Says(t, "without the link", 422, "already used or has expired")
		test("code", code, "email", "mara").Says(t, "a wrong address", 422, `id="email-error"`)
		equal(t, "emails", len(o.sent), 0)
		test("code", code, "email", "mara@shop.example", "service_name", "evil.example").Says(t, "a domain as name", 422, `id="service_name-error"`)
		equal(t, "emails", len(o.sent), 0)
		sent := test("code", code, "email", "mara@shop.example", "service_name", "Halden Garantie")
		equal(t, "the sender", o.sent[0].Service, "Halden Garantie")
		sent.Says(t, "the test", 200, "The mail server took an email to mara@shop.example", `value="Mara"`)
		sent.Hides(t, "the test", passwordCanary)
		equal(t, "sent", o.take(), []string{"mara@shop.example: Your warranty service can send emails"})
		w.Service.Mail = refusing{}
		test("code", code, "email", "mara@shop.example").Says(t, "refused", 200, "535 Authentication failed")
		equal(t, "the accounts", w.Count(`SELECT count(*) FROM users`), 0)
	})
}

// TestTheNameOfTheService: the name that was chosen at the set-up is on pages and emails of all servers. Administrators
// change it and who can sign up; of two who have seen the same settings, one does.
func TestTheNameOfTheService(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w, other := worlds[0], worlds[len(worlds)-1]
		w.Unset()
		o := &outbox{}
		w.Service.Mail = o
		b := w.Browser(t)
		b.Get("/setup").Says(t, "before", 200, "<title>Set up your service · Warranty Records</title>")
		set := func(name string) servertest.Page {
			return b.Post("/setup", "code", setupCode(t, w), "name", "Mara", "email", "mara@shop.example", "password", passwordCanary, "service_name", name)
		}
		for _, name := range []string{"evil.example", "a@b.example", "Verified warranties", "Halden\u202e", strings.Repeat("x", 41), "Hаlden"} {
			set(name).Says(t, name, 422, `id="service_name-error"`)
		}
		equal(t, "the accounts", w.Count(`SELECT count(*) FROM users`), 0)
		set("Halden Garantie").Leads(t, "set-up", "/admin?done=set_up")
		b.Get("/admin?done=set_up").Says(t, "the admin page", 200, "Admin · Halden Garantie</title>", "Create organization")
		eventually(t, "the name on another server", func() bool { return other.Service.Name(ctx) == "Halden Garantie" })
		other.Browser(t).Get("/sign-in").Says(t, "another server", 200, "Halden Garantie</title>")
		if err := w.Service.SendAllMail(ctx); err != nil {
			t.Fatal(err)
		}
		equal(t, "the emails", len(o.sent), 1)
		equal(t, "the service in the email", o.sent[0].Service, "Halden Garantie")
		if !strings.Contains(o.sent[0].HTML, ">Halden Garantie</p>") {
			t.Error("the email has another name")
		}

		settings := func(shownName, shownSignup, name, signup string) servertest.Page {
			return b.Post("/admin/settings", "shown_name", shownName, "shown_signup", shownSignup, "service_name", name, "signup", signup)
		}
		b.Post("/admin/settings").Leads(t, "without fields", "/admin/settings?done=settings_saved")
		equal(t, "what nobody sent", w.Count(`SELECT count(*) FROM service_settings WHERE name = 'Halden Garantie' AND signup = 'closed'`), 1)
		settings("Halden Garantie", "closed", "Halden Garantie", "open").Leads(t, "open", "/admin/settings?done=settings_saved")
		equal(t, "registering", other.Do(made("POST", "/api/auth/register", "", fields{"name": "kim", "email": "kim@people.example", "password": passwordCanary})).Status, 201)
		late := settings("Halden Garantie", "closed", "Other", "closed")
		late.Says(t, "who saw earlier settings", 422, "Someone else changed the settings meanwhile")
		equal(t, "what is typed", late.Value("service_name"), "Other")
		equal(t, "what is stored", late.Value("shown_signup"), "open")
		settings("Halden Garantie", "open", "www.evil.example", "open").Says(t, "a domain", 422, `id="service_name-error"`)
		settings("Halden Garantie", "open", "", "open").Leads(t, "no name", "/admin/settings?done=settings_saved")
		b.Get("/admin/history").Says(t, "the history", 200, "changed the settings of the service", "Everyone")
		b.Get("/admin").Says(t, "without a name", 200, "Admin · Warranty Records</title>")

		// At once, one of all is saved.
		var all sync.WaitGroup
		failures := make([]error, 9)
		olga := w.person("Olga", true)
		if err := w.Service.SetAdmin(ctx, olga.User.Email, true); err != nil {
			t.Fatal(err)
		}
		p := olga.Principal
		p.Admin, p.SignedInAt = true, w.Service.Now()
		for n := range failures {
			all.Go(func() {
				failures[n] = worlds[n%len(worlds)].Service.AdminChangeSettings(ctx, p, service.ServiceSettings{}, service.ServiceSettings{Name: fmt.Sprint("Service ", n)})
			})
		}
		all.Wait()
		saved := 0
		for _, err := range failures {
			if err == nil {
				saved++
			} else if codeOf(err) != warranty.PreconditionFailed {
				t.Errorf("another change: %v", err)
			}
		}
		equal(t, "changes that were made", saved, 1)
	})
}

// eventually waits until something is so on a server that reads it every few seconds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: never", what)
		}
	}
}

// TestNobodyIsCalledLikeTheService: an organization whose name could be taken for that of the service is not in front of its
// address, and cannot choose such a name.
func TestNobodyIsCalledLikeTheService(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		i := newImpersonation(t, w, clock)
		w.write(func(tx *store.Tx) error {
			return tx.ChooseServiceSettings(service.ServiceSettings{Name: i.halden.Name})
		})
		eventually(t, "the name", func() bool { return w.Service.Name(ctx) == i.halden.Name })
		i.halden.sells(warranty.CreateWarranty{CustomerEmail: "c@people.example"})
		equal(t, "emails in its name", w.Count(`SELECT count(*) FROM mails WHERE sender = $1`, i.halden.Name), 0)
		equal(t, "emails", w.Count(`SELECT count(*) FROM mails WHERE address = 'c@people.example'`), 1)
		if _, err := i.brands(i.halden, warranty.UpdateBrand{SenderName: new(i.halden.Name + " Support")}); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("a sender like the service: %v", err)
		}
	}, busy)
}
