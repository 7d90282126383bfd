package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// forAccount adds the header X-Account to a request.
func forAccount(r request, id warranty.ID) request {
	headers := map[string]string{"X-Account": id.String()}
	for name, value := range r.Header {
		headers[name] = value
	}
	r.Header = headers
	return r
}

// remove removes a member.
func (w *world) remove(admin person, o warranty.Organization, who person, keep bool) {
	w.T.Helper()
	in := warranty.RemoveMember{ID: o.ID, UserID: who.User.ID, KeepTokens: &keep}
	if _, err := w.Service.RemoveMember(ctx, admin.Principal, in); err != nil {
		w.T.Fatal(err)
	}
}

// TestNothingIsWrittenForAnEndedMembership ends a membership during requests that are authenticated but whose body
// has not arrived: a create, an update, a claim, a long upload and an MCP call.
func TestNothingIsWrittenForAnEndedMembership(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		viewer := warranty.Viewer
		for name, c := range map[string]struct {
			end  func(admin, clerk person, o warranty.Organization) error
			code warranty.Code
		}{
			"removed": {func(admin, clerk person, o warranty.Organization) error {
				_, err := w.Service.RemoveMember(ctx, admin.Principal, warranty.RemoveMember{ID: o.ID, UserID: clerk.User.ID})
				return err
			}, warranty.AccountNotAllowed},
			"left": {func(_, clerk person, o warranty.Organization) error {
				_, err := w.Service.RemoveMember(ctx, clerk.Principal, warranty.RemoveMember{ID: o.ID, UserID: clerk.User.ID})
				return err
			}, warranty.AccountNotAllowed},
			"made a viewer": {func(admin, clerk person, o warranty.Organization) error {
				_, err := w.Service.UpdateMember(ctx, admin.Principal, warranty.UpdateMember{ID: o.ID, UserID: clerk.User.ID, Role: viewer})
				return err
			}, warranty.AccountNotAllowed},
			"organization deleted": {func(admin, _ person, o warranty.Organization) error {
				_, err := w.Service.DeleteOrganization(ctx, admin.Principal, warranty.DeleteOrganization{ID: o.ID})
				return err
			}, warranty.AccountNotAllowed},
			"organization disabled": {func(_, _ person, o warranty.Organization) error {
				return w.Service.DisableUser(ctx, o.ID.String())
			}, warranty.AccountNotAllowed},
			"person disabled": {func(_, clerk person, _ warranty.Organization) error {
				return w.Service.DisableUser(ctx, clerk.User.Email)
			}, warranty.SessionExpired},
		} {
			admin, clerk := w.person("Ann", true), w.person("Ivo", true)
			o := w.shop(admin)
			w.join(admin, o, clerk, warranty.Member)
			record := w.record(person{Principal: w.acting(clerk, o)}, "")
			body := fields{"product_name": "late", "start_date": "2026-01-01", "end_date": "2026-01-01"}
			path := "/api/v1/warranties/" + record.ID.String()
			call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_warranty","arguments":` +
				`{"product_name":"late","start_date":"2026-01-01","end_date":"2026-01-01"}}}`
			requests := map[string]request{
				"create": made("POST", "/api/v1/warranties", clerk.session, body),
				"update": made("PUT", path, clerk.session, fields{"status": "void"}),
				"delete": made("DELETE", path, clerk.session, nil),
				"claim": made("POST", "/api/claims", clerk.session, fields{"warranty_id": record.ID.String(), "type": "repair",
					"description": "late", "incident_date": "2024-05-17"}),
				"upload": servertest.UploadRequest(clerk.session,
					servertest.DocumentForm(record.ID.String(), "late.txt", strings.Repeat("A long receipt. ", 10_000))...),
				"MCP call": made("POST", "/api/mcp", clerk.session, call),
			}
			held := map[string]func() servertest.Answer{}
			for what, r := range requests {
				if what != "delete" { // it has no body to wait for
					held[what] = w.Hold(forAccount(r, o.ID))
				}
			}
			// What the member did before, as a principal that a long import got at its start.
			importing := w.acting(clerk, o)
			if _, err := w.Service.CreateWarranty(ctx, importing, pan); err != nil {
				t.Fatal(err)
			}
			if err := c.end(admin, clerk, o); err != nil {
				t.Fatal(name, err)
			}
			w.Unchanged(t, name, func() {
				for what, release := range held {
					if a := release(); what == "MCP call" && !strings.Contains(a.Body, string(c.code)) {
						t.Errorf("%s: %s: %d %s", name, what, a.Status, a.Body)
					} else if what != "MCP call" {
						refused(t, name+": "+what, a, c.code)
					}
				}
				if _, err := w.Service.CreateWarranty(ctx, importing, pan); codeOf(err) != c.code {
					t.Errorf("%s: the next row of an import: %v", name, err)
				}
			})
			for what, r := range requests {
				if a := w.Do(forAccount(r, o.ID)); a.Status < 400 && !strings.Contains(a.Body, "role_not_allowed") {
					t.Errorf("%s: a later %s: %d %s", name, what, a.Status, a.Body)
				}
			}
		}
	}, busy)
}

// TestRemovedMembersKeepNothing: tokens, the calendar feed, invitations and transfer offers of a removed member end.
// The admin can keep the tokens.
func TestRemovedMembersKeepNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, keep := range []bool{false, true} {
			admin, clerk, friend := w.person("Ann", true), w.person("Ivo", true), w.person("Eve", true)
			o := w.shop(admin)
			w.join(admin, o, clerk, warranty.Admin)
			by := w.acting(clerk, o)
			token, err := w.Service.CreateToken(ctx, by, warranty.CreateToken{Name: "till", Scopes: []string{"warranties:write"}})
			if err != nil {
				t.Fatal(err)
			}
			colleagues, err := w.Service.CreateToken(ctx, w.acting(admin, o), warranty.CreateToken{Name: "erp", Scopes: []string{"warranties:read"}})
			if err != nil {
				t.Fatal(err)
			}
			feed, err := w.Service.NewCalendar(ctx, by)
			if err != nil {
				t.Fatal(err)
			}
			offered := func(p warranty.Principal) string {
				record := w.record(person{Principal: p}, "")
				offer, err := w.Service.OfferTransfer(ctx, p, warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: record.ID}, Email: friend.User.Email})
				if err != nil {
					t.Fatal(err)
				}
				return offer.Code
			}
			his, hers := offered(by), offered(w.acting(admin, o))
			in := warranty.CreateInvitation{ID: o.ID, Email: friend.User.Email, Role: warranty.Admin}
			if _, err := w.Service.CreateInvitation(ctx, clerk.Principal, in); err != nil {
				t.Fatal(err)
			}
			invitation := w.mailedCode(friend.User.Email)

			w.remove(admin, o, clerk, keep)
			works := func(what string, want bool, err error) {
				t.Helper()
				if (err == nil) != want {
					t.Errorf("keep %v: %s: %v", keep, what, err)
				}
			}
			_, err = w.Service.Authenticate(ctx, token.Secret, true)
			works("the token", keep, err)
			_, err = w.Service.Authenticate(ctx, colleagues.Secret, true)
			works("the token of a colleague", true, err)
			_, err = w.Service.Calendar(ctx, feed)
			works("the feed", false, err)
			_, err = w.Service.AcceptInvitation(ctx, friend.Principal, warranty.AcceptInvitation{Code: invitation})
			works("the invitation", false, err)
			_, err = w.Service.Take(ctx, friend.Principal, warranty.TakeHandover{Code: his})
			works("the transfer offer", false, err)
			_, err = w.Service.Take(ctx, friend.Principal, warranty.TakeHandover{Code: hers})
			works("the transfer offer of a colleague", true, err)
		}
	}, busy)
}

// TestTheCapOfTokensHoldsForOrganizations: at most 20 active tokens, however many admins make them at once.
func TestTheCapOfTokensHoldsForOrganizations(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		ann, ivo := w.person("Ann", true), w.person("Ivo", true)
		o := w.shop(ann)
		w.join(ann, o, ivo, warranty.Admin)
		by := []warranty.Principal{w.acting(ann, o), w.acting(ivo, o), ann.Principal}
		const asked = 96
		var made [3]atomic.Int64
		together(asked, func(i int) {
			in := warranty.CreateToken{Name: fmt.Sprint(i), Scopes: []string{"claims:read"}}
			_, err := worlds[i%len(worlds)].Service.CreateToken(ctx, by[i%3], in)
			switch codeOf(err) {
			case "":
				made[i%3].Add(1)
			case warranty.TokenLimitReached:
			default:
				t.Error(err)
			}
		})
		if n := made[0].Load() + made[1].Load(); n != warranty.MaxActiveTokens || made[2].Load() != warranty.MaxActiveTokens {
			t.Errorf("the organization has %d tokens, the person %d", n, made[2].Load())
		}
	}, busy)
}

// TestOperatorManagesOrganizations covers svcd organization, and people who are the only admin.
func TestOperatorManagesOrganizations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, ivo, mia := w.person("Ann", true), w.person("Ivo", true), w.person("Mia", true)
		o := w.shop(ann)
		w.join(ann, o, ivo, warranty.Viewer)
		led := func(who person) (list []warranty.ID) {
			found, err := w.Service.LedOnlyBy(ctx, who.User.Email)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range found {
				list = append(list, o.ID)
			}
			return list
		}
		leaderless := func() bool {
			list, err := w.Service.Store.Leaderless(ctx, 10)
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(list, func(l warranty.Acting) bool { return l.ID == o.ID && l.Name == o.Name })
		}
		if got := led(ann); len(got) != 1 || got[0] != o.ID || leaderless() || led(ivo) != nil {
			t.Errorf("led by Ann: %v, by Ivo: %v", got, led(ivo))
		}
		for what, remove := range map[string]func() error{
			"later": func() error { _, err := w.Service.DeleteUser(ctx, ann.User.Email); return err },
			"now":   func() error { return w.Service.EraseUser(ctx, ann.User.Email) },
		} {
			w.Unchanged(t, what, func() {
				if err := remove(); codeOf(err) != warranty.LastAdmin || !strings.Contains(err.Error(), o.ID.String()) {
					t.Errorf("deleting the only admin %s: %v", what, err)
				}
			})
		}
		if err := w.Service.DisableUser(ctx, ann.User.Email); err != nil || !leaderless() {
			t.Errorf("after disabling the only admin: %v, %v", leaderless(), err)
		}
		if err := w.Service.MakeAdmin(ctx, o.ID, ann.User.Email); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("a disabled admin: %v", err)
		}
		if err := w.Service.MakeAdmin(ctx, o.ID, "nobody@people.example"); codeOf(err) != warranty.NotFound {
			t.Errorf("an unknown admin: %v", err)
		}
		if err := w.Service.MakeAdmin(ctx, w.Service.NewID(), mia.User.Email); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("an unknown organization: %v", err)
		}
		for _, who := range []person{ivo, mia, mia} {
			if err := w.Service.MakeAdmin(ctx, o.ID, who.User.Email); err != nil || w.acting(who, o).Account.Role != warranty.Admin {
				t.Errorf("%s as admin: %v", who.User.Name, err)
			}
		}
		if leaderless() {
			t.Error("no active admin, with two")
		}
		// Of two who are the last active admins, one can leave: the disabled one does not count.
		_, first := w.Service.RemoveMember(ctx, ivo.Principal, warranty.RemoveMember{ID: o.ID, UserID: ivo.User.ID})
		_, second := w.Service.RemoveMember(ctx, mia.Principal, warranty.RemoveMember{ID: o.ID, UserID: mia.User.ID})
		if first != nil || codeOf(second) != warranty.LastAdmin {
			t.Errorf("the last active admins leave: %v, %v", first, second)
		}
		list, err := w.Service.Store.AllOrganizations(ctx, warranty.ID{}, 100)
		if err != nil || len(list) != 1 || list[0].Members != 2 || !slices.Equal(list[0].Admins, []string{mia.User.Email}) {
			t.Errorf("%+v, %v", list, err)
		}
		if _, err := w.Service.DeleteUser(ctx, ann.User.Email); err != nil {
			t.Errorf("deleting a disabled admin while there is another: %v", err)
		}

		// Deleted and disabled by the operator: its admins cannot take it back.
		for what, by := range map[string]func() error{
			"disabled": func() error { return w.Service.DisableUser(ctx, o.ID.String()) },
			"deleted":  func() error { _, err := w.Service.DeleteUser(ctx, o.ID.String()); return err },
			"deleted by an admin, then disabled": func() error {
				_, err := w.Service.DeleteOrganization(ctx, mia.Principal, warranty.DeleteOrganization{ID: o.ID})
				return errors.Join(err, w.Service.DisableUser(ctx, o.ID.String()))
			},
			"deleted by an admin, then deleted": func() error {
				_, err := w.Service.DeleteOrganization(ctx, mia.Principal, warranty.DeleteOrganization{ID: o.ID})
				_, again := w.Service.DeleteUser(ctx, o.ID.String())
				return errors.Join(err, again)
			},
		} {
			if err := by(); err != nil {
				t.Fatal(what, err)
			}
			if _, err := w.Service.RestoreOrganization(ctx, mia.Principal, warranty.RestoreOrganization{ID: o.ID}); !errors.Is(err, warranty.ErrNotFound) {
				t.Errorf("%s, and restored by an admin: %v", what, err)
			}
			if _, err := w.Service.ActFor(ctx, mia.Principal, o.ID); codeOf(err) != warranty.AccountNotAllowed {
				t.Errorf("%s, and acted for: %v", what, err)
			}
			if err := w.Service.EnableUser(ctx, o.ID.String()); err != nil {
				t.Fatal(what, err)
			}
			w.acting(mia, o)
		}
	}, busy)
}

// TestAdminsAreDeletedAtOnce: of two admins whom operators delete at once, one is refused.
func TestAdminsAreDeletedAtOnce(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		for range 10 {
			people := []person{w.person("Ann", true), w.person("Ivo", true)}
			o := w.shop(people[0])
			w.join(people[0], o, people[1], warranty.Admin)
			var errs [2]error
			together(2, func(i int) {
				_, errs[i] = worlds[i%len(worlds)].Service.DeleteUser(context.Background(), people[i].User.Email)
			})
			if codeOf(errs[0]) != warranty.LastAdmin && codeOf(errs[1]) != warranty.LastAdmin || (errs[0] == nil) == (errs[1] == nil) {
				t.Errorf("%v, %v", errs[0], errs[1])
			}
		}
	}, busy)
}

// TestResetsTellAdmins: after a password reset, the admins of an organization get a list of the tokens that the person
// made there, which keep working.
func TestResetsTellAdmins(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Service.Silent = false
		ann, ivo := w.person("Ann", true), w.person("Ivo", true)
		o := w.shop(ann)
		w.join(ann, o, ivo, warranty.Admin)
		token, err := w.Service.CreateToken(ctx, w.acting(ivo, o), warranty.CreateToken{Name: "front till", Scopes: []string{"claims:read"}})
		if err != nil {
			t.Fatal(err)
		}
		for what, reset := range map[string]func() error{
			"by a code": func() error {
				in := warranty.ResetPassword{Code: w.code(ivo.User, store.ForReset), Password: passwordCanary}
				_, err := w.Service.ResetPassword(ctx, warranty.Principal{Address: "192.0.2.1"}, in)
				return err
			},
			"by an operator": func() error { return w.Service.SetPassword(ctx, ivo.User.Email, passwordCanary+" 2", false) },
		} {
			w.execute(`DELETE FROM mails`)
			if err := reset(); err != nil {
				t.Fatal(what, err)
			}
			texts := w.strings(`SELECT body FROM mails WHERE address = '` + ann.User.Email + `'`)
			if len(texts) != 1 || !strings.Contains(texts[0], "front till") || !strings.Contains(texts[0], "Ivo") {
				t.Errorf("%s: the admin is told %q", what, texts)
			}
			if _, err := w.Service.Authenticate(ctx, token.Secret, true); err != nil {
				t.Errorf("%s: the organization's token: %v", what, err)
			}
		}
	}, busy)
}

// TestOrganizationReminders: reminders about records and tokens of an organization go to the members who chose them,
// and otherwise to its verified contact address.
func TestOrganizationReminders(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Service.Silent = false
		ann, ivo := w.person("Ann", true), w.person("Ivo", true)
		o := w.shop(ann)
		w.join(ann, o, ivo, warranty.Member)
		const contact = "service@halden.example"
		w.write(func(tx *store.Tx) error {
			return tx.InsertAddress(o.ID, warranty.Address{ID: w.Service.NewID(), Email: contact, VerifiedAt: w.Clock.Now()})
		})
		address := contact
		set := func(who person, in warranty.UpdateOrganization) {
			t.Helper()
			in.ID = o.ID
			if _, err := w.Service.UpdateOrganization(ctx, who.Principal, in); err != nil {
				t.Fatal(err)
			}
		}
		set(ann, warranty.UpdateOrganization{ContactEmail: &address})
		yes, no := true, false
		for what, c := range map[string]struct {
			choose func()
			want   string
		}{
			"1 the first admin": {func() {}, ann.User.Email + " " + ann.User.Email},
			"2 both": {func() { set(ivo, warranty.UpdateOrganization{MailWarrantyEnd: &yes}) },
				ann.User.Email + " " + ann.User.Email + " " + ivo.User.Email},
			"3 tokens to the contact": {func() {
				set(ivo, warranty.UpdateOrganization{MailWarrantyEnd: &yes, MailTokenExpiry: &no})
				set(ann, warranty.UpdateOrganization{MailWarrantyEnd: &no, MailTokenExpiry: &no})
			}, ivo.User.Email + " " + contact},
			"4 nobody": {func() {
				set(ivo, warranty.UpdateOrganization{MailWarrantyEnd: &no, MailTokenExpiry: &no})
				set(ann, warranty.UpdateOrganization{MailWarrantyEnd: &no, MailTokenExpiry: &no})
			}, contact + " " + contact},
		} {
			c.choose()
			w.execute(`DELETE FROM mails`)
			in := pan
			in.ProductName, in.EndDate = what, warranty.DateOf(w.Clock.Now())+5
			in.StartDate = in.EndDate - 100
			if _, err := w.Service.CreateWarranty(ctx, w.acting(ann, o), in); err != nil {
				t.Fatal(err)
			}
			expires := w.Clock.Now().Add(3 * 24 * time.Hour)
			token := warranty.CreateToken{Name: what, Scopes: []string{"claims:read"}, ExpiresAt: &expires}
			if _, err := w.Service.CreateToken(ctx, w.acting(ann, o), token); err != nil {
				t.Fatal(err)
			}
			w.execute(`DELETE FROM mails`)
			w.execute(`DELETE FROM milestones`)
			if err := w.Service.Remind(ctx); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(w.strings(`SELECT address FROM mails ORDER BY address`), " "); got != c.want {
				t.Errorf("%s: %s, want %s", what, got, c.want)
			}
			set(ann, warranty.UpdateOrganization{MailWarrantyEnd: &yes, MailTokenExpiry: &yes})
			set(ivo, warranty.UpdateOrganization{MailWarrantyEnd: &no, MailTokenExpiry: &no})
		}
	}, busy)
}

// TestKeysBelongToTheAccount: idempotency keys of claims and documents are those of the account and the operation.
func TestKeysBelongToTheAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, ivo := w.person("Ann", true), w.person("Ivo", true)
		o := w.shop(ann)
		w.join(ann, o, ivo, warranty.Member)
		record := w.record(person{Principal: w.acting(ann, o)}, "")
		own := w.record(ann, "")
		claim := func(who person, id warranty.ID, text string) request {
			return servertest.NewRequest("POST", "/api/claims", who.session, fields{"warranty_id": id.String(), "type": "repair",
				"description": text, "incident_date": "2024-05-17"}, "Idempotency-Key", "k1")
		}
		file := func(who person, id warranty.ID, text string) request {
			r := servertest.UploadRequest(who.session, servertest.DocumentForm(id.String(), "receipt.txt", text)...)
			r.Header["Idempotency-Key"] = "k1"
			return r
		}
		for what, send := range map[string]func(person, warranty.ID, string) request{"claim": claim, "document": file} {
			first := w.Must(201, forAccount(send(ann, record.ID, "It broke."), o.ID))
			files := len(w.Stored())
			for who, r := range map[string]request{
				"the same person": forAccount(send(ann, record.ID, "It broke."), o.ID),
				"a colleague":     forAccount(send(ivo, record.ID, "It broke."), o.ID),
			} {
				again := w.Must(201, r)
				if again.Body != first.Body || again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("Idempotent-Replayed") != "" ||
					again.Header.Get("Location") != first.Header.Get("Location") {
					t.Errorf("%s, by %s: %s %v, first %s", what, who, again.Body, again.Header, first.Body)
				}
			}
			refused(t, what+" with another text", w.Do(forAccount(send(ann, record.ID, "It is lost."), o.ID)), warranty.IdempotencyKeyReused)
			equal(t, what+": files after replays", len(w.Stored()), files)
			other := w.Must(201, send(ann, own.ID, "It broke."))
			if other.Header.Get("Idempotent-Replayed") != "" {
				t.Errorf("%s: the person's own account shares the key", what)
			}
			made := make([]string, 16)
			together(len(made), func(i int) {
				r := send(ann, own.ID, "Again.")
				r.Header["Idempotency-Key"] = "k2"
				a, err := w.Try(r)
				if err != nil || a.Status != 201 {
					t.Errorf("%s: %d %s %v", what, a.Status, a.Body, err)
				}
				made[i] = a.Body
			})
			if slices.Sort(made); made[0] != made[len(made)-1] {
				t.Errorf("%s: one key made several", what)
			}
			bad := send(ann, own.ID, "It broke.")
			bad.Header["Idempotency-Key"] = strings.Repeat("k", 256)
			refused(t, what+" with a long key", w.Do(bad), warranty.ValidationFailed)
		}
	}, busy)
}
