package service_test

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// endingScene is a person with everything that can end, in their own account and in an organization of which they are
// an admin. tries holds whether each of them works, by its name in the table; they run in the order of the table.
type endingScene struct {
	*world
	ann, ivo, eve, kim person // another admin, the person, and two others
	// converting and stopping are people who asked to make their accounts organizations; codes has their codes.
	converting, stopping person
	codes                map[warranty.ID]string
	shop                 warranty.Organization
	browser              *servertest.Browser
	records              []endingRecord
	starts               []func() // start the jobs, after everything else was made
	tries                map[string]func(w *world) bool
}

// endingRecord is a record with a code, and who may change it.
type endingRecord struct {
	by warranty.Principal
	id warranty.ID
}

// probeJob is the kind of a job that creates a record.
const probeJob = "probe"

// probe performs such a job.
func probe(w *world) jobs.Work {
	return func(ctx context.Context, p warranty.Principal, _ *warranty.Job, _ func() error) error {
		_, err := w.Service.CreateWarranty(ctx, p, pan)
		return err
	}
}

// newEndingScene makes everything. Alone, the person is a member of no organization.
func (w *world) newEndingScene(t *testing.T, alone bool) *endingScene {
	t.Helper()
	s := &endingScene{world: w, tries: map[string]func(*world) bool{}, codes: map[warranty.ID]string{}}
	s.ann, s.ivo, s.eve, s.kim = w.person("Ann", true), w.person("Ivo", true), w.person("Eve", true), w.person("Kim", true)
	s.browser = w.SignedIn(t, servertest.Person{Email: s.ivo.User.Email, Password: servertest.Password})
	s.shop = w.shop(s.ann)
	w.Jobs.Kinds[probeJob] = probe(w)
	if !alone {
		w.join(s.ann, s.shop, s.ivo, warranty.Admin)
	}
	s.sessions(t)
	s.made(t, s.ivo.Principal, "integration token", "calendar feed", "connected app: access and refresh token",
		"transfer offer", "import or export in progress", "file of an export")
	s.codesOf(t)
	if !alone {
		s.made(t, w.acting(s.ivo, s.shop), "token made in an organization", "calendar feed made in an organization",
			"app connected to an organization", "transfer offer of an organization's record",
			"import or export in progress in an organization", "file of an export of an organization")
		s.handovers(t, w.acting(s.ivo, s.shop))
		s.mutes(t, "link that mutes a claim of an organization", w.acting(s.ivo, s.shop))
		s.invitations(t)
	}
	for _, start := range s.starts {
		start()
	}
	return s
}

// fresh returns a new session of a person.
func fresh(w *world, u warranty.User) string { return w.session(u, time.Hour).session }

// must returns a value, or fails the test.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// posted reports whether a request succeeds.
func posted(w *world, path, session string, body fields) bool {
	return w.Send("POST", path, session, body).Status < 300
}

func (s *endingScene) sessions(t *testing.T) {
	_, secret, _ := strings.Cut(s.browser.Cookie, "=")
	alive := func(secret string) func(*world) bool {
		return func(w *world) bool { return w.Get("/api/v1/auth/status", secret).Status == 200 }
	}
	s.tries["session"], s.tries["another session"] = alive(secret), alive(s.ivo.session)
	invited := must[warranty.Organization](t)(s.Service.CreateOrganization(ctx, s.ann.Principal, warranty.CreateOrganization{Name: "Berg"}))
	must[warranty.Invitation](t)(s.Service.CreateInvitation(ctx, s.ann.Principal,
		warranty.CreateInvitation{ID: invited.ID, Email: s.ivo.User.Email, Role: warranty.Viewer}))
	received := s.mailedCode(s.ivo.User.Email)
	s.tries["invitation received"] = func(w *world) bool {
		return posted(w, "/api/invitations/accept", fresh(w, s.ivo.User), fields{"code": received})
	}
}

// made makes what a principal can make in any account.
func (s *endingScene) made(t *testing.T, p warranty.Principal, token, feed, app, transfer, job, export string) {
	t.Helper()
	made := must[warranty.NewToken](t)(s.Service.CreateToken(ctx, p, warranty.CreateToken{Name: token, Scopes: []string{"warranties:read"}}))
	s.tries[token] = func(w *world) bool { return w.Get("/api/v1/auth/status", made.Secret).Status == 200 }
	secret := must[string](t)(s.Service.NewCalendar(ctx, p))
	s.tries[feed] = func(w *world) bool { return w.Browser(t).Get("/calendar/"+secret+".ics").Status == 200 }
	s.connect(t, p, app)
	record := s.record(person{Principal: p}, "")
	offer := must[warranty.TransferOffer](t)(s.Service.OfferTransfer(ctx, p,
		warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: record.ID}, Email: s.eve.User.Email}))
	s.records = append(s.records, endingRecord{p, record.ID})
	s.tries[transfer] = func(w *world) bool {
		return posted(w, "/api/transfers/accept", fresh(w, s.eve.User), fields{"code": offer.Code})
	}
	_, session, _ := strings.Cut(s.browser.Cookie, "=")
	inBrowser := must[warranty.Principal](t)(s.Service.Authenticate(ctx, session, false))
	inBrowser = must[warranty.Principal](t)(s.Service.ActFor(ctx, inBrowser, p.Account.ID))
	done := must[warranty.Job](t)(s.Jobs.StartExport(ctx, inBrowser, jobs.Export{}, 1))
	if err := s.Jobs.RunOpen(ctx); err != nil {
		t.Fatal(err)
	}
	if written := must[warranty.Job](t)(s.Jobs.Job(ctx, inBrowser, done.ID)); written.State != warranty.JobDone {
		t.Fatalf("the export is %s: %s", written.State, written.Error)
	}
	s.tries[export] = func(w *world) bool {
		who, err := w.Service.Authenticate(ctx, fresh(w, s.ivo.User), false)
		if err == nil {
			who, err = w.Service.ActFor(ctx, who, p.Account.ID)
		}
		if err == nil {
			_, err = w.Jobs.Job(ctx, who, done.ID)
		}
		return err == nil
	}
	s.starts = append(s.starts, func() { s.start(t, inBrowser, job) })
}

// start starts a job, which the worker has not taken yet.
func (s *endingScene) start(t *testing.T, p warranty.Principal, job string) {
	t.Helper()
	started := must[warranty.Job](t)(s.Jobs.Start(ctx, p, probeJob, struct{}{}, 1))
	s.tries[job] = func(w *world) bool {
		w.Jobs.Kinds[probeJob] = probe(w)
		if err := w.Jobs.RunOpen(ctx); err != nil {
			t.Fatal(err)
		}
		state := w.strings(`SELECT state FROM jobs WHERE id = ` + w.literal(started.ID))
		return len(state) == 1 && state[0] == "2"
	}
}

// connect connects an app, and allows another one that has not exchanged its code yet.
func (s *endingScene) connect(t *testing.T, p warranty.Principal, name string) {
	t.Helper()
	const verifier, redirect = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "https://app.example/callback"
	client := must[warranty.OAuthClient](t)(s.Service.RegisterClient(ctx, p, "App", []string{redirect}))
	allow := func() string {
		id := must[string](t)(s.Service.StartAuthorization(ctx, p, warranty.Authorization{Client: client, Redirect: redirect,
			Scopes: warranty.AllScopes, Challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}))
		return must[string](t)(s.Service.ApproveAuthorization(ctx, p, id, warranty.AllScopes))
	}
	tokens := must[service.AppTokens](t)(s.Service.ExchangeCode(ctx, client.ID, allow(), redirect, verifier))
	s.tries[name] = func(w *world) bool {
		list := w.Do(request{Method: "POST", Path: "/api/mcp", Secret: tokens.Access,
			Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`})
		_, err := w.Service.RefreshTokens(ctx, client.ID, tokens.Refresh)
		if access := list.Status == http.StatusOK; access != (err == nil) {
			t.Errorf("%s: the access token works: %v, the refresh token: %v", name, access, err)
		}
		return err == nil
	}
	if p.ActsForOrganization() {
		return
	}
	waiting := allow()
	s.tries["code of an app that is being connected"] = func(w *world) bool {
		_, err := w.Service.ExchangeCode(ctx, client.ID, waiting, redirect, verifier)
		return err == nil
	}
}

// handovers offers records of the organization.
func (s *endingScene) handovers(t *testing.T, p warranty.Principal) {
	t.Helper()
	offer := func(email string) string {
		record := s.record(person{Principal: p}, "")
		s.records = append(s.records, endingRecord{p, record.ID})
		made := must[warranty.HandoverOffer](t)(s.Service.OfferHandover(ctx, p,
			warranty.OfferHandover{ID: warranty.WarrantyKey{ID: record.ID}, CustomerEmail: email}))
		if email != "" {
			return s.mailedCode(email)
		}
		return *made.Code
	}
	take := func(code string) func(*world) bool {
		return func(w *world) bool {
			return posted(w, "/api/handovers/take", fresh(w, s.kim.User), fields{"code": code})
		}
	}
	s.tries["hand-over offered by email"] = take(offer(s.kim.User.Email))
	s.tries["printed hand-over code"] = take(offer(""))
	customer := "lia." + s.ivo.User.Email
	must[warranty.EmailedCode](t)(s.Service.EmailHandover(ctx, s.kim.Principal, warranty.EmailHandover{Code: offer(""), Email: customer}))
	link := s.mailedCode(customer)
	s.tries["link that a customer asked for with a printed code"] = func(w *world) bool {
		return posted(w, "/api/handovers/register", "", fields{"code": link})
	}
	customer = "mia." + s.ivo.User.Email
	asked := must[warranty.EmailedCode](t)(s.Service.EmailHandover(ctx, s.kim.Principal,
		warranty.EmailHandover{Code: offer(""), Email: customer}))
	digits := s.mailedDigits(customer)
	s.tries["six digits that a customer asked for with a printed code"] = func(w *world) bool {
		return posted(w, "/api/handovers/register", "", fields{"code": digits, "flow": asked.Flow})
	}
}

// mutes files a claim of an account and makes the link that mutes it for the person.
func (s *endingScene) mutes(t *testing.T, what string, p warranty.Principal) {
	t.Helper()
	claim := s.claim(person{Principal: p}, s.record(person{Principal: p}, "").ID)
	u := store.Unsubscribe{Kind: store.MutedClaim, Account: p.Account.ID, User: p.User.ID, Claim: claim.ID}
	link := must[string](t)(s.Service.UnsubscribeLink(ctx, u, s.ivo.User.Email))
	s.tries[what] = func(w *world) bool { return w.Browser(t).Get(link).Status == 200 }
}

// invitations invites someone and adds an address.
func (s *endingScene) invitations(t *testing.T) {
	t.Helper()
	must[warranty.Invitation](t)(s.Service.CreateInvitation(ctx, s.ivo.Principal,
		warranty.CreateInvitation{ID: s.shop.ID, Email: s.eve.User.Email, Role: warranty.Admin}))
	sent := s.mailedCode(s.eve.User.Email)
	s.tries["invitation sent"] = func(w *world) bool {
		return posted(w, "/api/invitations/accept", fresh(w, s.eve.User), fields{"code": sent})
	}
	address := "info." + s.ivo.User.Email
	must[warranty.None](t)(s.Service.AddAddress(ctx, s.ivo.Principal, warranty.AddAddress{ID: s.shop.ID, Email: address}))
	code := s.mailedCode(address)
	s.tries["code for an address of an organization"] = func(w *world) bool {
		return posted(w, "/api/addresses/verify", fresh(w, s.ann.User), fields{"code": code})
	}
}

// codesOf emails codes to the person, and to people who want to make their account an organization.
func (s *endingScene) codesOf(t *testing.T) {
	t.Helper()
	signIn, verify, reset := s.code(s.ivo.User, store.ForSignIn), s.code(s.ivo.User, store.ForVerification), s.code(s.ivo.User, store.ForReset)
	s.tries["emailed sign-in code"] = func(w *world) bool {
		return posted(w, "/api/auth/sessions", "", fields{"email": s.ivo.User.Email, "code": signIn})
	}
	recovery := s.twoStep(s.ivo.User)[0]
	flow := needsSecondStep(t, "a sign-in", s.Do(made("POST", "/api/auth/sessions", "", fields{"email": s.ivo.User.Email, "password": servertest.Password})))
	s.execute(`UPDATE users SET two_step_since = NULL`)
	s.tries["sign-in that waits for its second step"] = func(w *world) bool {
		return posted(w, "/api/auth/sessions", "", fields{"flow": flow, "recovery_code": recovery})
	}
	s.issuer("Bea").sells(warranty.CreateWarranty{CustomerEmail: s.ivo.User.Email})
	offered := s.mailedCode(s.ivo.User.Email)
	s.tries["sign-in with the email of an offer"] = func(w *world) bool {
		return posted(w, "/api/handovers/register", "", fields{"code": offered})
	}
	s.tries["emailed verification code"] = func(w *world) bool {
		return posted(w, "/api/auth/verify-email", fresh(w, s.ivo.User), fields{"code": verify})
	}
	s.tries["emailed reset code"] = func(w *world) bool {
		return posted(w, "/api/auth/password-reset/confirm", "", fields{"code": reset, "password": passwordCanary})
	}
	must[warranty.None](t)(s.Service.ChangeEmail(ctx, s.ivo.Principal, warranty.ChangeEmail{Email: "new." + s.ivo.User.Email}))
	notice := s.MailedNotMe(s.ivo.User.Email)
	s.tries["code of a notice"] = func(w *world) bool {
		return posted(w, "/api/auth/not-me", "", fields{"code": notice})
	}
	ask := func(name string) person {
		who := s.person(name, true)
		in := warranty.ConvertAccount{OrganizationName: "Shop", Name: name, Email: "own." + who.User.Email, Password: servertest.Password}
		must[warranty.None](t)(s.Service.ConvertAccount(ctx, who.Principal, in))
		s.codes[who.User.ID] = s.mailedCode(in.Email)
		return who
	}
	s.converting, s.stopping = ask("Nora"), ask("Olga")
	s.tries["code that makes the account an organization"] = func(w *world) bool {
		return posted(w, "/api/account/organization/confirm", fresh(w, s.converting.User), fields{"code": s.codes[s.converting.User.ID]})
	}
	stop := s.mailedCode(s.stopping.User.Email)
	s.tries["code that stops this"] = func(w *world) bool {
		return posted(w, "/api/account/organization/cancel", "", fields{"code": stop})
	}
	u := store.Unsubscribe{Kind: store.MailKind(1), Account: s.ivo.User.ID, User: s.ivo.User.ID}
	link := must[string](t)(s.Service.UnsubscribeLink(ctx, u, s.ivo.User.Email))
	s.tries["link that unsubscribes"] = func(w *world) bool { return w.Browser(t).Get(link).Status == 200 }
	s.mutes(t, "link that mutes a claim", s.ivo.Principal)
}

// people are those whom the events of a person happen to.
func (s *endingScene) people() []person { return []person{s.ivo, s.converting, s.stopping} }

// each does something to each of the people, and lets jobs notice it.
func (s *endingScene) each(t *testing.T, do func(person) error) {
	t.Helper()
	for _, who := range s.people() {
		if err := do(who); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Jobs.RunOpen(ctx); err != nil {
		t.Fatal(err)
	}
}

// endingEvent causes an event and returns the world to try things in, or nil if it is the same.
type endingEvent func(t *testing.T, s *endingScene) *world

// then causes several events.
func then(events ...endingEvent) endingEvent {
	return func(t *testing.T, s *endingScene) (in *world) {
		t.Helper()
		for _, e := range events {
			in = e(t, s)
		}
		return in
	}
}

// personEvents are the events of a person.
func personEvents() map[string]endingEvent {
	each := func(do func(s *endingScene, who person) error) endingEvent {
		return func(t *testing.T, s *endingScene) *world {
			t.Helper()
			s.each(t, func(who person) error { return do(s, who) })
			return nil
		}
	}
	changed := func(revoke bool) endingEvent {
		return each(func(s *endingScene, who person) error {
			_, err := s.Service.ChangePassword(ctx, who.Principal,
				warranty.ChangePassword{CurrentPassword: servertest.Password, NewPassword: passwordCanary, RevokeTokens: &revoke})
			return err
		})
	}
	disabled := each(func(s *endingScene, who person) error { return s.Service.DisableUser(ctx, who.User.Email) })
	enabled := each(func(s *endingScene, who person) error { return s.Service.EnableUser(ctx, who.User.Email) })
	deleted := each(func(s *endingScene, who person) error {
		_, err := s.Service.DeleteUser(ctx, who.User.Email)
		return err
	})
	// withBrowser does something with the session of the browser.
	withBrowser := func(do func(s *endingScene, who person) error) endingEvent {
		return func(t *testing.T, s *endingScene) *world {
			t.Helper()
			_, secret, _ := strings.Cut(s.browser.Cookie, "=")
			who := must[warranty.Principal](t)(s.Service.Authenticate(ctx, secret, false))
			for _, p := range []person{{Principal: who}, s.converting, s.stopping} {
				if err := do(s, p); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Jobs.RunOpen(ctx); err != nil {
				t.Fatal(err)
			}
			return nil
		}
	}
	added := func(endOthers bool) endingEvent {
		return withBrowser(func(s *endingScene, who person) error {
			begun, err := s.Service.AddTOTP(ctx, who.Principal, warranty.AddTOTP{})
			if err == nil {
				in := warranty.ConfirmTOTP{Code: servertest.TOTP(s.T, begun.Secret, s.Service.Now()), EndOthers: &endOthers}
				_, err = s.Service.ConfirmTOTP(ctx, who.Principal, in)
			}
			return err
		})
	}
	deletedByPerson := each(func(s *endingScene, who person) error {
		_, err := s.Service.DeleteAccount(ctx, who.Principal, warranty.DeleteAccount{Email: who.User.Email})
		return err
	})
	restored := each(func(s *endingScene, who person) error {
		_, err := s.Service.SignIn(ctx, warranty.Principal{}, warranty.SignIn{Email: who.User.Email, Password: servertest.Password})
		_, err = s.Service.RestoreAccount(ctx, warranty.Principal{},
			warranty.RestoreAccount{Flow: warranty.AsError(err).SecondStep.Flow})
		return err
	})
	return map[string]endingEvent{
		"authenticator app added":                       added(false),
		"authenticator app added, other sessions ended": added(true),
		"authenticator app removed": then(added(false), withBrowser(func(s *endingScene, who person) error {
			_, err := s.Service.RemoveTOTP(ctx, who.Principal, warranty.RemoveTOTP{})
			return err
		})),
		"two-step sign-in turned on": then(added(false), withBrowser(func(s *endingScene, who person) error {
			_, err := s.Service.UpdateSecurity(ctx, who.Principal, warranty.UpdateSecurity{TwoStep: new(true)})
			return err
		})),
		"second factors reset by the operator": each(func(s *endingScene, who person) error {
			return s.Service.ResetSecondFactors(ctx, who.User.Email)
		}),
		"sign-out": func(t *testing.T, s *endingScene) *world {
			s.browser.Post("/sign-out").Leads(t, "signing out", "/sign-in")
			return nil
		},
		"sign-out everywhere": func(t *testing.T, s *endingScene) *world {
			s.browser.Post("/settings/security/sign-out-everywhere").Leads(t, "signing out", "/sign-in")
			return nil
		},
		"other sessions ended": func(t *testing.T, s *endingScene) *world {
			_, secret, _ := strings.Cut(s.browser.Cookie, "=")
			who, err := s.Service.Authenticate(ctx, secret, false)
			if err == nil {
				_, err = s.Service.EndOtherSessions(ctx, who, warranty.EndOtherSessions{Others: true})
			}
			if err != nil {
				t.Fatal(err)
			}
			return nil
		},
		"new sign-in in the same browser": func(t *testing.T, s *endingScene) *world {
			s.browser.Post("/sign-in", "email", s.ivo.User.Email, "password", servertest.Password).Leads(t, "signing in", "/")
			return nil
		},
		"password changed":                 changed(false),
		"password changed, tokens revoked": changed(true),
		"password reset": each(func(s *endingScene, who person) error {
			in := warranty.ResetPassword{Code: s.code(who.User, store.ForReset), Password: passwordCanary}
			_, err := s.Service.ResetPassword(ctx, warranty.Principal{Address: "192.0.2.1"}, in)
			return err
		}),
		"password set by the operator, tokens kept": each(func(s *endingScene, who person) error {
			return s.Service.SetPassword(ctx, who.User.Email, passwordCanary, true)
		}),
		"disabled":                 disabled,
		"enabled again":            then(disabled, enabled),
		"deleted":                  deleted,
		"enabled again after that": then(deleted, enabled),
		"becomes an organization": func(t *testing.T, s *endingScene) *world {
			_, secret, _ := strings.Cut(s.browser.Cookie, "=")
			who := must[warranty.Principal](t)(s.Service.Authenticate(ctx, secret, false))
			in := warranty.ConvertAccount{OrganizationName: "Shop", Name: "Ivo", Email: "own." + who.User.Email, Password: servertest.Password}
			must[warranty.None](t)(s.Service.ConvertAccount(ctx, who, in))
			s.codes[who.User.ID] = s.mailedCode(in.Email)
			for _, p := range []warranty.Principal{who, s.converting.Principal, s.stopping.Principal} {
				must[warranty.Organization](t)(s.Service.ConfirmConversion(ctx, p, warranty.ConfirmConversion{Code: s.codes[p.User.ID]}))
			}
			return nil
		},
		"backup restored": restoreBackup,

		"passkey added, others signed out": each(func(s *endingScene, who person) error {
			in := s.makePasskey(s.browsing(who), newPhone())
			in.EndOthers = true
			return s.Service.AddPasskey(ctx, inBrowser(s.browsing(who)), in)
		}),
		"address changed": each(func(s *endingScene, who person) error {
			email := "next." + who.User.Email
			_, err := s.Service.ChangeEmail(ctx, who.Principal, warranty.ChangeEmail{Email: email})
			if err == nil {
				_, err = s.Service.ConfirmEmail(ctx, who.Principal, warranty.ConfirmEmail{Code: s.mailedCode(email)})
			}
			return err
		}),
		"this was not me": each(func(s *endingScene, who person) error {
			_, err := s.Service.ChangeEmail(ctx, who.Principal, warranty.ChangeEmail{Email: "next." + who.User.Email})
			if err == nil {
				_, err = s.Service.NotMe(ctx, warranty.Principal{Address: "192.0.2.1"},
					warranty.NotMe{Code: s.MailedNotMe(who.User.Email)})
			}
			return err
		}),
		"deleted by its person":  deletedByPerson,
		"restored by its person": then(deletedByPerson, restored),
		"passkey removed": each(func(s *endingScene, who person) error {
			_, err := s.Service.RemovePasskey(ctx, s.browsing(who).Principal, warranty.RemovePasskey{ID: s.passkeyOf(who)})
			return err
		}),
	}
}

// browsing returns a person with the session of the browser, if it is theirs.
func (s *endingScene) browsing(who person) person {
	_, secret, _ := strings.Cut(s.browser.Cookie, "=")
	if in, err := s.Service.Authenticate(ctx, secret, false); err == nil && in.User.ID == who.User.ID {
		who.Principal = in
	}
	return who
}

// restoreBackup restores a backup of everything in another place.
func restoreBackup(t *testing.T, s *endingScene) *world {
	t.Helper()
	var backup bytes.Buffer
	if _, err := archive.Backup(ctx, s.Store, s.Service.Files, &backup, "test", s.Clock.Now(), func(string, int64) {}); err != nil {
		t.Fatal(err)
	}
	dir := must[*files.Dir](t)(files.Open(filepath.Join(t.TempDir(), "files")))
	t.Cleanup(func() { _ = dir.Close() })
	to := archive.Target{Database: filepath.Join(t.TempDir(), "new.db"), Files: dir, ID: s.Service.NewID(), NewID: s.Service.NewID,
		SigningKey: s.Service.SigningKey.Public().ID, Now: s.Clock.Now(), BeforeCommit: func() error { return nil }}
	if s.postgres {
		to.Database = testenv.Postgres(t)
	}
	if _, err := archive.Restore(ctx, &backup, to, func(string, int64) {}); err != nil {
		t.Fatal(err)
	}
	return newWorld(t, to.Database)
}

// organizationEvents are the events in an organization.
func organizationEvents() map[string]endingEvent {
	in := func(do func(s *endingScene) error) endingEvent {
		return func(t *testing.T, s *endingScene) *world {
			t.Helper()
			if err := do(s); err != nil {
				t.Fatal(err)
			}
			if err := s.Jobs.RunOpen(ctx); err != nil {
				t.Fatal(err)
			}
			return nil
		}
	}
	removed := func(keep, end bool) endingEvent {
		return in(func(s *endingScene) error {
			_, err := s.Service.RemoveMember(ctx, s.ann.Principal,
				warranty.RemoveMember{ID: s.shop.ID, UserID: s.ivo.User.ID, KeepTokens: &keep, EndPrintedCodes: &end})
			return err
		})
	}
	demoted := func(role warranty.MemberRole, keep bool) endingEvent {
		return in(func(s *endingScene) error {
			_, err := s.Service.UpdateMember(ctx, s.ann.Principal,
				warranty.UpdateMember{ID: s.shop.ID, UserID: s.ivo.User.ID, Role: role, KeepTokens: &keep})
			return err
		})
	}
	disabled := in(func(s *endingScene) error { return s.Service.DisableUser(ctx, s.shop.ID.String()) })
	deleted := in(func(s *endingScene) error {
		_, err := s.Service.DeleteOrganization(ctx, s.ann.Principal, warranty.DeleteOrganization{ID: s.shop.ID})
		return err
	})
	return map[string]endingEvent{
		"removed":                      removed(false, false),
		"removed, tokens kept":         removed(true, false),
		"removed, printed codes ended": removed(false, true),
		"left": in(func(s *endingScene) error {
			_, err := s.Service.RemoveMember(ctx, s.ivo.Principal, warranty.RemoveMember{ID: s.shop.ID, UserID: s.ivo.User.ID})
			return err
		}),
		"demoted to member":              demoted(warranty.Member, false),
		"demoted to viewer":              demoted(warranty.Viewer, false),
		"demoted to member, tokens kept": demoted(warranty.Member, true),
		"organization disabled":          disabled,
		"enabled again":                  then(disabled, in(func(s *endingScene) error { return s.Service.EnableUser(ctx, s.shop.ID.String()) })),
		"organization deleted":           deleted,
		"restored": then(deleted, in(func(s *endingScene) error {
			_, err := s.Service.RestoreOrganization(ctx, s.ann.Principal, warranty.RestoreOrganization{ID: s.shop.ID})
			return err
		})),
	}
}

// recordEvents are the events of the warranties that codes give.
func recordEvents() map[string]endingEvent {
	each := func(do func(s *endingScene, r endingRecord) error) endingEvent {
		return func(t *testing.T, s *endingScene) *world {
			t.Helper()
			for _, r := range s.records {
				if err := do(s, r); err != nil {
					t.Fatal(err)
				}
			}
			return nil
		}
	}
	set := func(status warranty.Status) endingEvent {
		return each(func(s *endingScene, r endingRecord) error {
			_, err := s.Service.UpdateWarranty(ctx, r.by, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: r.id}, Status: &status})
			return err
		})
	}
	deleted := each(func(s *endingScene, r endingRecord) error {
		_, err := s.Service.DeleteWarranty(ctx, r.by, warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: r.id}})
		return err
	})
	return map[string]endingEvent{
		"deleted": deleted,
		"restored": then(deleted, each(func(s *endingScene, r endingRecord) error {
			_, err := s.Service.RestoreWarranty(ctx, r.by, warranty.RestoreWarranty{ID: warranty.WarrantyKey{ID: r.id}})
			return err
		})),
		"voided":     set(warranty.Void),
		"reinstated": then(set(warranty.Void), set(warranty.Active)),
		"cancelled":  set(warranty.Cancelled),
	}
}

// TestEndings walks the tables of SECURITY.md: it makes every credential and code, causes every event, and tries each.
// So a person who is disabled, removed or demoted, or whose password is reset, keeps only what the tables say, and what
// ended stays ended when the person or the organization comes back.
func TestEndings(t *testing.T) {
	events := []map[string]endingEvent{personEvents(), organizationEvents(), recordEvents()}
	for i, table := range servertest.Endings() {
		for column, event := range table.Events {
			cause := events[i][event]
			if cause == nil {
				t.Fatalf("%s: no event %q", table.Name, event)
			}
			t.Run(table.Name+"/"+event, func(t *testing.T) {
				each(t, func(t *testing.T, w *world) {
					s := w.newEndingScene(t, event == "becomes an organization")
					in := cause(t, s)
					if in == nil {
						in = w
					}
					tryEndings(t, table, column, s, in)
				}, busy)
			})
		}
		if len(events[i]) != len(table.Events) {
			t.Errorf("%s: %d of %d events are in the table", table.Name, len(table.Events), len(events[i]))
		}
	}
}

// tryEndings tries everything after an event. The reset code and that of a notice end other things, so they are tried last.
func tryEndings(t *testing.T, table servertest.EndingTable, column int, s *endingScene, w *world) {
	t.Helper()
	rows := slices.Clone(table.Rows)
	slices.SortStableFunc(rows, func(a, b servertest.EndingRow) int {
		last := func(r servertest.EndingRow) int {
			return slices.Index([]string{"emailed reset code", "code of a notice"}, r.What)
		}
		return last(a) - last(b)
	})
	for _, row := range rows {
		want, try := row.Cells[column], s.tries[row.What]
		switch {
		case want == servertest.Absent && try == nil:
			continue
		case want == servertest.Absent || try == nil:
			t.Errorf("%s: the table says %q, and it was made: %v", row.What, want, try != nil)
			continue
		case want == servertest.Waits && row.Cells[column+1] != servertest.Works:
			t.Errorf("%s waits, but does not work when the event is undone", row.What)
		}
		if works := try(w); works != (want == servertest.Works) {
			t.Errorf("%s: the table says %q, and it works: %v", row.What, want, works)
		}
	}
}
