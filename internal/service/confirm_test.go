package service_test

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// gated is what a stolen, unconfirmed session must not do: an operation, or a method of the pages of operators.
type gated struct {
	do func(s *service.Service, p, other person, organization, id warranty.ID) error
	// onWeb means that only the pages ask. Programs need a session and nothing more.
	onWeb bool
}

var gates = map[string]gated{
	"account.convert": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.ConvertAccount(ctx, p.Principal, warranty.ConvertAccount{OrganizationName: "Shop", Name: "Nora",
			Email: "nora@people.example", Password: servertest.Password})
		return err
	}},
	"account.change_email": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.ChangeEmail(ctx, p.Principal, warranty.ChangeEmail{Email: "nora@people.example"})
		return err
	}},
	"account.delete": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.DeleteAccount(ctx, p.Principal, warranty.DeleteAccount{Email: p.User.Email})
		if warranty.AsError(err).Code == warranty.LastAdmin { // it was looked at
			err = nil
		}
		return err
	}},
	"organizations.delete": {do: func(s *service.Service, p, _ person, o, _ warranty.ID) error {
		_, err := s.DeleteOrganization(ctx, p.Principal, warranty.DeleteOrganization{ID: o})
		return err
	}},
	"members.update": {do: func(s *service.Service, p, other person, o, _ warranty.ID) error {
		_, err := s.UpdateMember(ctx, p.Principal, warranty.UpdateMember{ID: o, UserID: other.User.ID, Role: warranty.Admin})
		return err
	}},
	"invitations.create": {do: func(s *service.Service, p, _ person, o, _ warranty.ID) error {
		_, err := s.CreateInvitation(ctx, p.Principal,
			warranty.CreateInvitation{ID: o, Email: "ivo@halden.example", Role: warranty.Admin})
		return err
	}},
	"domains.add": {do: func(s *service.Service, p, _ person, o, _ warranty.ID) error {
		_, err := s.AddDomain(ctx, p.Principal, warranty.AddDomain{ID: o, Domain: "second.example"})
		return err
	}},
	"domains.check": {do: func(s *service.Service, p, _ person, o, id warranty.ID) error {
		_, err := s.CheckDomain(ctx, p.Principal, warranty.CheckDomain{ID: o, DomainID: id})
		return err
	}},
	"domains.remove": {do: func(s *service.Service, p, _ person, o, id warranty.ID) error {
		_, err := s.RemoveDomain(ctx, p.Principal, warranty.RemoveDomain{ID: o, DomainID: id})
		return err
	}},
	"tokens.create": {onWeb: true, do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		in := warranty.CreateToken{Name: "till", Scopes: []string{"claims:read"}, ExpiresAt: new(s.Now().Add(24 * time.Hour)),
			RateLimitPerMinute: new(60)}
		_, err := s.CreateToken(ctx, p.Principal, in)
		return err
	}},
	"tokens.rotate": {onWeb: true, do: func(s *service.Service, p, _ person, _, id warranty.ID) error {
		_, err := s.RotateToken(ctx, p.Principal, warranty.RotateToken{ID: id})
		return err
	}},
	"AdminDisable": {do: func(s *service.Service, p, other person, _, _ warranty.ID) error {
		return s.AdminDisable(ctx, p.Principal, other.User.ID)
	}},
	"AdminEnable": {do: func(s *service.Service, p, other person, _, _ warranty.ID) error {
		return s.AdminEnable(ctx, p.Principal, other.User.ID)
	}},
	"AdminRetryMail": {do: func(s *service.Service, p, _ person, _, id warranty.ID) error {
		return s.AdminRetryMail(ctx, p.Principal, id)
	}},
	"AdminGiveUpMail": {do: func(s *service.Service, p, _ person, _, id warranty.ID) error {
		return s.AdminGiveUpMail(ctx, p.Principal, id)
	}},
	"AdminChangeSettings": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		shown, err := s.AdminSettings(ctx, p.Principal)
		if err != nil {
			return err
		}
		return s.AdminChangeSettings(ctx, p.Principal, shown, service.ServiceSettings{Name: "Warranties"})
	}},
	"sessions.end": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.EndSession(ctx, p.Principal, warranty.EndSession{ID: s.NewID()})
		if warranty.AsError(err).Code == warranty.NotFound { // it was looked for
			err = nil
		}
		return err
	}},
	"sessions.end_others": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.EndOtherSessions(ctx, p.Principal, warranty.EndOtherSessions{Others: true})
		return err
	}},
	"passkeys.remove": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.RemovePasskey(ctx, p.Principal, warranty.RemovePasskey{ID: s.NewID()})
		if warranty.AsError(err).Code == warranty.NotFound { // it was looked for
			err = nil
		}
		return err
	}},
	"security.update": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.UpdateSecurity(ctx, p.Principal, warranty.UpdateSecurity{TwoStep: new(false)})
		return err
	}},
	"totp.add": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.AddTOTP(ctx, p.Principal, warranty.AddTOTP{})
		return err
	}},
	"totp.confirm": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.ConfirmTOTP(ctx, p.Principal, warranty.ConfirmTOTP{Code: "123456"})
		return err
	}},
	"totp.remove": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.RemoveTOTP(ctx, p.Principal, warranty.RemoveTOTP{})
		return err
	}},
	"recovery_codes.create": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.CreateRecoveryCodes(ctx, p.Principal, warranty.CreateRecoveryCodes{})
		return err
	}},
	"AdminRetryMails": {do: func(s *service.Service, p, _ person, _, _ warranty.ID) error {
		_, err := s.AdminRetryMails(ctx, p.Principal)
		return err
	}},
}

// TestEveryGateIsListed fails if an operation that refuses unconfirmed sessions, a change of a domain or a method of the
// pages of operators is not among the gates below, so that a new one is tested too.
func TestEveryGateIsListed(t *testing.T) {
	t.Parallel()
	var want []string
	for _, op := range api.Operations() {
		domain := strings.HasPrefix(op.Name, "domains.") && op.Method != http.MethodGet
		if domain || slices.Contains(op.Errors, warranty.ConfirmationRequired) {
			want = append(want, op.Name)
		}
	}
	for method := range reflect.TypeFor[*service.Service]().Methods() {
		reads := []string{"AdminUsers", "AdminUser", "AdminMails", "AdminErrors", "AdminHistory", "AdminHealth", "AdminSettings"}
		if strings.HasPrefix(method.Name, "Admin") && !slices.Contains(reads, method.Name) {
			want = append(want, method.Name)
		}
	}
	var got []string
	for name, gate := range gates {
		if !gate.onWeb {
			got = append(got, name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	equal(t, "gates", got, want)
}

// old makes the session of a person 15 minutes older than its confirmation lasts.
func (w *world) old(p person) person {
	w.T.Helper()
	w.execute(`UPDATE sessions SET confirmed_at = confirmed_at - 900000000 WHERE id = ` + w.literal(p.CredentialID))
	return w.reload(p)
}

// TestAnUnconfirmedSessionIsRefused tries everything that needs a confirmed session, with one that was confirmed 15
// minutes ago, by doors that need it and by others; and again after the session was confirmed.
func TestAnUnconfirmedSessionIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		newZone(t, w)
		shop, zoe := w.issuer("Ann"), w.person("Zoe", true)
		if err := w.Service.SetAdmin(ctx, shop.admin.User.Email, true); err != nil {
			t.Fatal(err)
		}
		ann := w.reload(shop.admin)
		w.write(func(tx *store.Tx) error {
			return tx.InsertMember(shop.ID, zoe.User.ID, warranty.Viewer, warranty.MailChoices{}, w.Clock.Now())
		})
		d, err := w.Service.AddDomain(ctx, ann.Principal, warranty.AddDomain{ID: shop.ID, Domain: "first.example"})
		if err != nil {
			t.Fatal(err)
		}
		stolen := w.old(ann)
		for name, gate := range gates {
			if stolen.Door = warranty.DoorAPI; gate.onWeb {
				if err := gate.do(w.Service, stolen, zoe, shop.ID, d.ID); codeOf(err) == warranty.ConfirmationRequired {
					t.Errorf("%s by a program: %v", name, err)
				}
				stolen.Door = warranty.DoorWeb
			}
			w.Unchanged(t, name, func() {
				if err := gate.do(w.Service, stolen, zoe, shop.ID, d.ID); codeOf(err) != warranty.ConfirmationRequired {
					t.Errorf("%s with an unconfirmed session: %v", name, err)
				}
			})
		}
		for name, gate := range gates {
			if name == "organizations.delete" {
				continue
			}
			confirmed := stolen
			confirmed.ConfirmedAt, confirmed.Door = w.Clock.Now(), warranty.DoorWeb
			if err := gate.do(w.Service, confirmed, zoe, shop.ID, d.ID); codeOf(err) == warranty.ConfirmationRequired {
				t.Errorf("%s with a confirmed session: %v", name, err)
			}
		}
	})
}

func confirming(session string, body fields) request {
	return made("POST", "/api/auth/confirm", session, body)
}

// TestConfirmationReplacesTheSecret confirms a session: the old secret ends at once, also for a write that was
// authenticated with it, and the new one is confirmed until the session would have ended anyway.
func TestConfirmationReplacesTheSecret(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, zoe := w.person("Olga", true), w.person("Zoe", true)
		before := w.old(olga)
		key, _ := w.token(olga.User, warranty.AllScopes, time.Hour, false)
		refused(t, "a token", w.Do(confirming(key, fields{"password": servertest.Password})), warranty.SessionRequired)
		refused(t, "nothing", w.Do(confirming(olga.session, fields{})), warranty.ValidationFailed)
		refused(t, "a wrong password", w.Do(confirming(olga.session, fields{"password": passwordCanary})), warranty.InvalidCredential)
		w.Alive(t, "after wrong tries", olga.session, true)
		var session warranty.Session
		w.Must(200, confirming(olga.session, fields{"password": servertest.Password})).Into(t, &session)
		w.Alive(t, "the old secret", olga.session, false)
		w.Alive(t, "the new secret", session.AccessToken, true)
		w.Alive(t, "someone else's session", zoe.session, true)
		equal(t, "expires", session.ExpiresAt, before.ExpiresAt)
		if _, err := w.Service.CreateWarranty(ctx, before.Principal, pan); codeOf(err) != warranty.SessionExpired {
			t.Errorf("a write with the old secret returns %v", err)
		}
		if _, err := w.Service.ConfirmSession(ctx, before.Principal, warranty.ConfirmSession{Password: servertest.Password}); codeOf(err) != warranty.SessionExpired {
			t.Errorf("confirming with the old secret returns %v", err)
		}
		after, err := w.Service.Authenticate(ctx, session.AccessToken, false)
		if err != nil || after.CredentialID != before.CredentialID || !after.ConfirmedAt.After(before.ConfirmedAt) {
			t.Errorf("%+v, %v", after, err)
		}
	})
}

// TestConfirmationByCode confirms the session of a person without a password, with a code of their own, once.
func TestConfirmationByCode(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, zoe := w.person("Olga", true), w.person("Zoe", true)
		w.execute(`UPDATE users SET password_hash = '' WHERE id = ` + w.literal(olga.User.ID))
		hers, code := w.code(zoe.User, store.ForSignIn), w.code(olga.User, store.ForSignIn)
		refused(t, "the code of someone else", w.Do(confirming(olga.session, fields{"code": hers})), warranty.ValidationFailed)
		refused(t, "a reset code", w.Do(confirming(olga.session, fields{"code": w.code(olga.User, store.ForReset)})), warranty.ValidationFailed)
		refused(t, "a password", w.Do(confirming(olga.session, fields{"password": servertest.Password})), warranty.ValidationFailed)
		var session warranty.Session
		w.Must(200, confirming(olga.session, fields{"code": code})).Into(t, &session)
		refused(t, "the code again", w.Do(confirming(session.AccessToken, fields{"code": code})), warranty.ValidationFailed)
		w.Alive(t, "the session", session.AccessToken, true)
	})
}

// TestConfirmationNeedsTheSecondStep confirms the session of a person with two-step sign-in.
func TestConfirmationNeedsTheSecondStep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, zoe := w.person("Olga", true), w.person("Zoe", true)
		codes, hers := w.twoStep(olga.User), w.twoStep(zoe.User)
		refused(t, "the password alone", w.Do(confirming(olga.session, fields{"password": servertest.Password})), warranty.ValidationFailed)
		refused(t, "a recovery code of someone else", w.Do(confirming(olga.session,
			fields{"password": servertest.Password, "recovery_code": hers[0]})), warranty.InvalidCode)
		refused(t, "a wrong password", w.Do(confirming(olga.session,
			fields{"password": passwordCanary, "recovery_code": codes[0]})), warranty.InvalidCredential)
		var session warranty.Session
		w.Must(200, confirming(olga.session, fields{"password": servertest.Password, "recovery_code": codes[0]})).Into(t, &session)
		refused(t, "a used recovery code", w.Do(confirming(session.AccessToken,
			fields{"password": servertest.Password, "recovery_code": codes[0]})), warranty.InvalidCode)
	})
}

// TestConfirmationsAtOnce confirms a session 32 times at once: one has the new secret.
func TestConfirmationsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.old(w.person("Olga", true))
		var mu sync.Mutex
		var made []string
		together(32, func(int) {
			got, err := w.Service.ConfirmSession(context.Background(), olga.Principal, warranty.ConfirmSession{Password: servertest.Password})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made = append(made, got.AccessToken)
			case codeOf(err) != warranty.SessionExpired && codeOf(err) != warranty.RateLimited && codeOf(err) != warranty.Unavailable:
				t.Errorf("another one returns %v", err)
			}
		})
		equal(t, "confirmations", len(made), 1)
		w.Alive(t, "the new secret", made[0], true)
		equal(t, "sessions", w.sessionsOf(olga.User), int64(1))
	})
}

// TestWrongPasswordsAreCountedOverDoors guesses the password with a session by turns when changing it, when converting
// the account and when confirming: they count together.
func TestWrongPasswordsAreCountedOverDoors(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, _ *stoppedClock) {
		olga := w.person("Olga", true)
		w.Service.SignInRate = 9
		guess := []request{
			confirming(olga.session, fields{"password": passwordCanary}),
			made("POST", "/api/auth/password", olga.session, fields{"current_password": passwordCanary, "new_password": passwordCanary + "!"}),
			made("POST", "/api/account/organization", olga.session, fields{"organization_name": "Shop", "name": "Nora",
				"email": "nora@people.example", "password": passwordCanary}),
		}
		counts := map[warranty.Code]int{}
		for i := range 30 {
			var p warranty.Problem
			if err := json.Unmarshal([]byte(w.Do(guess[i%len(guess)]).Body), &p); err != nil {
				t.Fatal(err)
			}
			counts[p.Code]++
		}
		equal(t, "guesses", counts[warranty.InvalidCredential], 9)
		refused(t, "the right password", w.Do(confirming(olga.session, fields{"password": servertest.Password})), warranty.RateLimited)
	})
}
