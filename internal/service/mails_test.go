package service_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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

// outbox is a mail server that collects emails. before may refuse one.
type outbox struct {
	mu     sync.Mutex
	sent   []mail.Message
	before func(mail.Message) error
}

func (o *outbox) Send(_ context.Context, m mail.Message) error {
	if o.before != nil {
		if err := o.before(m); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = append(o.sent, m)
	return nil
}

// take empties the outbox and returns a line per email: recipient and subject.
func (o *outbox) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := []string{}
	for _, m := range o.sent {
		list = append(list, m.To+": "+m.Subject)
	}
	o.sent = nil
	slices.Sort(list)
	return list
}

// mailbox delivers pending emails and then replaces the world's mail server.
func (w *world) mailbox() *outbox {
	w.T.Helper()
	w.deliver()
	o := &outbox{}
	w.Service.Mail = o
	return o
}

func (w *world) deliver() {
	w.T.Helper()
	for w.Count(`SELECT count(*) FROM mails WHERE failed_at IS NULL`) > 0 {
		if err := w.Service.SendMail(w.T.Context()); err != nil {
			w.T.Fatal(err)
		}
	}
}

// mailed sends pending emails and returns a line per email since the last call.
func (w *world) mailed(o *outbox) []string {
	w.T.Helper()
	w.deliver()
	return o.take()
}

// TestPeopleAreMailedAboutClaims expects emails to everyone with a role on the warranty
// except the actor, if their address is verified and they have not opted out.
func TestPeopleAreMailedAboutClaims(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		s := w.scenes()(cast{creator: another, seller: third, owner: me})
		o := w.mailbox()
		owner, issuer, seller := s.people[me], s.people[another], s.people[third]
		to := func(subject string, people ...servertest.Person) []string {
			list := []string{}
			for _, p := range people {
				what := subject + ": " + s.record.ProductName
				if p != owner { // who knows what is wrong
					what += ", It broke"
				}
				list = append(list, p.Email+": "+what)
			}
			slices.Sort(list)
			return list
		}
		var claim struct {
			ID          string
			ClaimNumber string `json:"claim_number"`
		}
		w.Must(201, made("POST", "/api/claims", owner.Session, claimOn(s.record.ID))).Into(t, &claim)
		w.deliver()
		for _, m := range o.sent {
			for _, wanted := range []string{claim.ClaimNumber, s.record.ProductName, servertest.PublicURL + "/claims/" + claim.ID, "It broke", "filed a claim", "You get this email because you "} {
				if !strings.Contains(m.Text, wanted) || !strings.Contains(m.HTML, wanted) {
					t.Errorf("the email to %s does not contain %q:\n%s", m.To, wanted, m.Text)
				}
			}
			if m.Code != "" || m.From != "" || m.ReplyTo != "" {
				t.Errorf("the email of a person to %s: %+v", m.To, m)
			}
		}
		equal(t, "filed", o.take(), to("New claim", issuer, seller))
		for _, c := range []struct {
			to      string
			by      servertest.Person
			subject string
			who     []servertest.Person
		}{
			{"under_review", seller, "", nil}, // only progress
			{"info_requested", issuer, "More information needed", []servertest.Person{owner, seller}},
			{"under_review", owner, "Reply", []servertest.Person{issuer, seller}},
			{"rejected", seller, "Claim rejected", []servertest.Person{owner, issuer}},
			{"under_review", owner, "Rejection contested", []servertest.Person{issuer, seller}},
			{"approved", issuer, "Claim approved", []servertest.Person{owner, seller}},
			{"resolved", issuer, "Claim resolved", []servertest.Person{owner, seller}},
		} {
			w.Exec(`DELETE FROM mail_log`) // as if ten minutes had passed
			w.Must(200, moving(claim.ID, c.by.Session, moveTo(c.to)))
			equal(t, c.to, w.mailed(o), to(c.subject, c.who...))
		}
		refused(t, "a final claim", w.Do(moving(claim.ID, owner.Session, moveTo("withdrawn"))), warranty.InvalidTransition)
		refused(t, "no claim", w.Send("POST", "/api/claims", seller.Session, claimOn(s.record.ID)), warranty.RoleNotAllowed)
		equal(t, "emails about refused changes", w.mailed(o), []string{})

		// Opting out, and in again.
		w.Must(200, made("PUT", "/api/account", seller.Session, fields{"mail_claims": false}))
		second := s.claimAt("submitted")
		equal(t, "filed, the seller does not want to know", len(w.mailed(o)), 1)
		w.Must(200, made("PUT", "/api/account", seller.Session, fields{"mail_claims": true, "mail_warranty_end": false, "mail_token_expiry": false}))
		w.Exec(`DELETE FROM mail_log`)
		w.Must(200, moving(second, owner.Session, moveTo("withdrawn")))
		equal(t, "withdrawn, the seller wants to know again", len(w.mailed(o)), 2)

		// Only verified addresses, and people who still have a role.
		recipient := w.Person("Hedi")
		w.Exec(`UPDATE users SET verified_at = created_at WHERE id = ` + w.IDLiteral(recipient.ID))
		w.deliver()
		o.take()
		w.Transfer(s.record.ID, owner, recipient)
		w.Exec(`UPDATE users SET verified_at = NULL WHERE id = ` + w.IDLiteral(recipient.ID))
		w.mailed(o)
		third := w.Claim(recipient.Session, s.record.ID)
		w.Must(200, moving(third, seller.Session, moveTo("under_review")))
		for _, line := range w.mailed(o) {
			if strings.HasPrefix(line, recipient.Email) || strings.HasPrefix(line, owner.Email) {
				t.Errorf("emailed %s", line)
			}
		}
		if err := w.Service.DisableUser(t.Context(), issuer.Email); err != nil {
			t.Fatal(err)
		}
		w.Exec(`DELETE FROM mail_log`)
		w.Exec(`UPDATE users SET verified_at = created_at`) // emails to others need a verified address
		w.Must(200, moving(third, recipient.Session, moveTo("withdrawn")))
		equal(t, "withdrawn, the issuer is shut out", len(w.mailed(o)), 1)
	}, busy)
}

// day returns the date n days after began.
func day(began time.Time, n int) string { return began.AddDate(0, 0, n).Format(time.DateOnly) }

// remindedOf lists the products that a reminder is about, each after a prefix.
func remindedOf(m mail.Message, prefix string) (list []string) {
	if _, rest, found := strings.Cut(m.Text, "Your warranty for "); found {
		what, _, _ := strings.Cut(rest, " (")
		return []string{prefix + what}
	}
	for line := range strings.Lines(m.Text) {
		if what, date, found := strings.Cut(strings.TrimPrefix(line, "    "), ": "); found && strings.HasPrefix(line, "    ") && strings.Contains(date, " 2026 (") {
			list = append(list, prefix+what)
		}
	}
	return list
}

// TestPeopleAreRemindedOnce goes through the days and expects one email 30 and 7 days
// before the end, and none on other days.
func TestPeopleAreRemindedOnce(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		clock.SetTo(t, "2026-03-01T12:00:00Z")
		began := clock.Now()
		owner, recipient, unverified, silent := w.Verified("Olga"), w.Verified("Hedi"), w.Person("Uwe"), w.Verified("Sil")
		record := func(p servertest.Person, ends int, more fields) servertest.Record {
			body := fields{"start_date": "2026-01-01", "end_date": day(began, ends), "product_name": fmt.Sprintf("Ends on %d", ends)}
			maps.Copy(body, more)
			return w.Warranty(p.Session, body)
		}
		set := func(r servertest.Record, p servertest.Person, body fields) {
			w.Must(200, made("PUT", "/api/v1/warranties/"+r.ID, p.Session, body))
		}
		record(owner, 40, fields{"product_name": "usual"})
		record(owner, 20, fields{"product_name": "short"})
		record(owner, 5, fields{"product_name": "very short"})
		record(owner, 0, fields{"product_name": "last day"})
		record(owner, -1, fields{"product_name": "over"})
		record(owner, 35, fields{"product_name": "to come", "start_date": day(began, 33)})
		record(owner, 0, fields{"product_name": "for life", "end_date": "9999-12-31"})
		moved, given, back := record(owner, 36, fields{"product_name": "moved"}), record(owner, 44, fields{"product_name": "given"}), record(owner, 36, fields{"product_name": "back"})
		for _, status := range []string{"void", "cancelled"} {
			set(record(owner, 36, fields{"product_name": status}), owner, fields{"status": status})
		}
		w.Must(204, made("DELETE", "/api/v1/warranties/"+record(owner, 36, nil).ID, owner.Session, nil))
		record(unverified, 36, nil)
		record(silent, 36, nil)
		w.Must(200, made("PUT", "/api/account", silent.Session, fields{"mail_warranty_end": false}))
		token := func(p servertest.Person, name string, days int) (id string) {
			var token struct{ ID string }
			w.Must(201, made("POST", "/api/integration-tokens", p.Session, fields{"name": name, "scopes": []string{"warranties:read"}, "expires_at": began.AddDate(0, 0, days)})).Into(t, &token)
			return token.ID
		}
		token(owner, "till", 40)
		token(owner, "soon", 3)
		token(unverified, "x", 20)
		token(silent, "still told", 20)
		w.Must(204, made("DELETE", "/api/integration-tokens/"+token(owner, "revoked", 20), owner.Session, nil))
		other := w.Verified("Otto")
		token(other, "x", 20)
		w.Must(200, made("PUT", "/api/account", other.Session, fields{"mail_token_expiry": false}))

		o := w.mailbox()
		got := map[int][]string{}
		for today := range 50 {
			clock.Set(began.AddDate(0, 0, today))
			switch today {
			case 8:
				w.signInAgain(&owner)
				set(moved, owner, fields{"end_date": day(began, 46)})
				set(back, owner, fields{"end_date": day(began, 49)})
			case 9:
				w.signInAgain(&owner)
				set(back, owner, fields{"end_date": day(began, 36)})
			case 20:
				w.signInAgain(&owner, &recipient)
				w.Transfer(given.ID, owner, recipient)
				w.mailed(o)
			case 27, 28, 29, 30: // the service is down
				continue
			}
			for range 2 {
				if err := w.Service.Remind(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			w.deliver()
			for _, m := range o.sent {
				who := strings.TrimSuffix(m.To, "@people.example") + " "
				if _, name, found := strings.Cut(m.Text, `Your integration token "`); found {
					what, _, _ := strings.Cut(name, `"`)
					got[today] = append(got[today], who+"token "+what)
				}
				got[today] = append(got[today], remindedOf(m, who)...)
			}
			o.take()
			slices.Sort(got[today])
		}
		equal(t, "reminders by day", got, map[int][]string{
			0:  {"olga last day", "olga token soon", "olga very short"}, // not "short", which was due 10 days ago
			5:  {"olga to come"},
			6:  {"olga back", "olga moved"}, // at 36 days
			10: {"olga usual"},
			13: {"olga short", "sil token still told"},
			14: {"olga given"},
			16: {"olga moved"},                // at 46 days
			20: {"hedi given"},                // the new owner
			31: {"olga back", "olga to come"}, // due while the service was down
			33: {"olga token till", "olga usual"},
			37: {"hedi given"},
			39: {"olga moved"},
		})
	}, busy)
}

// TestPeopleAreMailedOnceByManyWorkers lets four services remind and send concurrently
// on one database.
func TestPeopleAreMailedOnceByManyWorkers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const records, tokens, workers = 60, 15, 4
		owner := w.Verified("Olga")
		record := w.Warranty(owner.Session, nil)
		today := w.Clock.Now().UTC()
		for i := range records {
			w.Warranty(owner.Session, fields{"start_date": "2020-01-01", "end_date": day(today, 2+i%5), "product_name": fmt.Sprintf("Thing %d", i)})
		}
		for i := range tokens {
			w.Must(201, made("POST", "/api/integration-tokens", owner.Session, fields{"name": fmt.Sprintf("token %d", i), "scopes": []string{"claims:read"}, "expires_at": today.AddDate(0, 0, 5)}))
		}
		o := w.mailbox()
		o.before = func(mail.Message) error { time.Sleep(time.Millisecond); return nil }
		var services []*service.Service
		for range workers {
			st := w.Store
			if w.IsPostgres() {
				var err error
				if st, err = store.OpenUnsynced(t.Context(), w.Database); err != nil {
					t.Fatal(err)
				}
				defer st.Close()
			}
			s := service.New(st, slog.New(slog.NewTextHandler(w.Log, nil)))
			s.Mail, s.PublicURL, s.Now = o, servertest.PublicURL, w.Clock.Now
			services = append(services, s)
		}
		// All remind concurrently, then all send concurrently, some emails repeatedly.
		run := func(n int, do func(s *service.Service) error) {
			together(n, func(i int) {
				if err := do(services[i%workers]); err != nil {
					t.Error(err)
				}
			})
		}
		run(workers, func(s *service.Service) error { return s.Remind(context.Background()) })
		const rounds, offers = 4, 12
		for round := range rounds {
			for i := range offers {
				w.offer(record.ID, owner, fmt.Sprintf("r%di%d@people.example", round, i))
			}
			run(2*workers, func(s *service.Service) error {
				for range 3 {
					if err := s.SendMail(context.Background()); err != nil {
						return err
					}
				}
				return nil
			})
		}
		w.deliver()
		texts, products := map[string]int{}, []string{}
		for _, m := range o.sent {
			texts[m.Text]++
			if strings.Contains(m.Subject, "warranties end soon") {
				equal(t, "the subject", m.Subject, fmt.Sprintf("%d warranties end soon", records))
				products = append(products, m.Subject)
			}
		}
		equal(t, "gathered reminders", len(products), 1)
		for text, n := range texts {
			if n != 1 {
				t.Errorf("sent %d times:\n%s", n, text)
			}
		}
		equal(t, "mails", len(texts), 1+tokens+rounds*offers)
		for _, s := range services { // no second reminder on the same day
			if err := errors.Join(s.Remind(t.Context()), s.SendMail(t.Context())); err != nil {
				t.Error(err)
			}
		}
		equal(t, "mails, later that day", len(o.sent), 1+tokens+rounds*offers)
	}, busy)
}

// TestPeopleMailsAreNotLost makes the mail server fail in every way: failed emails are
// sent later, and sent ones are not repeated unless the process died.
func TestPeopleMailsAreNotLost(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner := w.Verified("Olga")
		record := w.Warranty(owner.Session, nil)
		o := w.mailbox()
		offer := func(email string) { t.Helper(); w.Must(201, offering(record.ID, owner.Session, email)) }
		send := func() error { return w.Service.SendMail(t.Context()) }
		const subject = ": You've been offered a warranty"

		// It refuses one of three.
		no := errors.New("mailbox full")
		o.before = func(m mail.Message) error {
			if m.To == "b@people.example" {
				return no
			}
			return nil
		}
		for _, name := range []string{"a", "b", "c"} {
			offer(name + "@people.example")
		}
		if err := send(); !errors.Is(err, no) {
			t.Errorf("the error does not report the failure: %v", err)
		}
		equal(t, "emails that were sent", o.take(), []string{"a@people.example" + subject, "c@people.example" + subject})
		o.before = nil
		for _, wait := range []time.Duration{0, time.Minute, 59 * time.Second} { // it is not retried immediately
			clock.Set(clock.Now().Add(wait))
			ok := send()
			equal(t, "too early", []any{ok, o.take()}, []any{error(nil), []string{}})
		}
		clock.Set(clock.Now().Add(time.Second))
		equal(t, "two minutes later", []any{send(), o.take()}, []any{error(nil), []string{"b@people.example" + subject}})

		// The service stops between sending and recording it: not sent again.
		offer("stop@people.example")
		ctx, stop := context.WithCancel(t.Context())
		o.before = func(mail.Message) error { stop(); return nil }
		if err := w.Service.SendMail(ctx); err != nil {
			t.Error(err)
		}
		equal(t, "sent while the service stops", o.take(), []string{"stop@people.example" + subject})
		equal(t, "pending emails", w.Count(`SELECT count(*) FROM mails`), 0)

		// The process dies at this point: sent again, rather than never.
		offer("crash@people.example")
		o.before = func(mail.Message) error { panic("the process dies") }
		func() {
			defer func() { _ = recover() }()
			_ = send()
		}()
		o.before = nil
		equal(t, "emails of another worker meanwhile", []any{send(), o.take()}, []any{error(nil), []string{}})
		clock.Set(clock.Now().Add(2 * time.Minute))
		equal(t, "after a crash", []any{send(), o.take(), send(), o.take()}, []any{error(nil), []string{"crash@people.example" + subject}, error(nil), []string{}})

		// It is slow: an email that was claimed too long ago is sent by another service.
		for i := range 20 {
			offer(fmt.Sprintf("slow%d@people.example", i))
		}
		o.before = func(mail.Message) error {
			clock.Set(clock.Now().Add(11 * time.Second))
			return errors.Join(w.another(o).SendMail(t.Context()))
		}
		if err := send(); err != nil {
			t.Error(err)
		}
		for range 5 {
			clock.Set(clock.Now().Add(2 * time.Minute))
			if err := w.another(o).SendMail(t.Context()); err != nil {
				t.Error(err)
			}
		}
		sent := o.take()
		equal(t, "mails by a slow server", len(sent), 20)
		equal(t, "mails by a slow server, each once", len(slices.Compact(sent)), 20)

		// It always refuses: the service gives up after 20 attempts and logs it.
		offer("never@people.example")
		o.before = func(mail.Message) error { return no }
		for try := 1; try <= 20; try++ {
			equal(t, fmt.Sprintf("before attempt %d", try), w.Count(`SELECT count(*) FROM mails`), 1)
			_ = send() // which fails
			clock.Set(clock.Now().Add(2 * time.Minute))
		}
		equal(t, "emails kept for the operator", w.Count(`SELECT count(*) FROM mails WHERE failed_at IS NOT NULL`), 1)
		equal(t, "after it gave up", []any{send(), o.take()}, []any{error(nil), []string{}})
		if !strings.Contains(w.Log.String(), "gave up on an email") || strings.Contains(w.Log.String(), "never@people.example") {
			t.Error("the log does not tell, or tells too much")
		}
	}, busy)
}

// another is a second service on the world's database with a fast mail server.
func (w *world) another(o *outbox) *service.Service {
	s := *w.Service
	s.Mail = &quick{o}
	return &s
}

type quick struct{ *outbox }

func (q *quick) Send(_ context.Context, m mail.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sent = append(q.sent, m)
	return nil
}

// TestPeopleMailsCarryNoAdvertising puts URLs into every name that a person can choose, and triggers every kind of email.
// Only what they say about a claim is in emails, to those who have a role on its warranty, and not in subjects.
func TestPeopleMailsCarryNoAdvertising(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		seller := w.Verified("Sami")
		o := w.mailbox()
		for i, name := range []string{"Win at evil.example", "https://evil", "evil@mail.example", "www.evil.example/now", "Evil: call now", "<a href=evil>", strings.Repeat("evil ", 14) + "!"} {
			person := w.named(o, fmt.Sprintf("person%d@people.example", i), name)
			record := w.Warranty(person.Session, fields{"product_name": name, "seller_name": name, "supplier": name, "category": name, "description": name, "serial_number": name,
				"seller_email": seller.Email, "end_date": day(clock.Now(), 5)})
			w.Confirm(seller, record.ID)
			body := claimOn(record.ID)
			body["description"] = name
			var claim struct{ ID string }
			w.Must(201, made("POST", "/api/claims", person.Session, body)).Into(t, &claim)
			w.Must(200, moving(claim.ID, seller.Session, fields{"status": "under_review", "reason": name}))
			w.offer(record.ID, person, "victim@people.example")
			w.Must(202, made("POST", "/api/auth/password-reset", "", fields{"email": person.Email}))
			w.Must(201, made("POST", "/api/integration-tokens", person.Session, fields{"name": name, "scopes": []string{"claims:read"}, "expires_at": clock.Now().AddDate(0, 0, 5)}))
			w.deliver() // while the codes work
			clock.Set(clock.Now().AddDate(0, 0, 1))
			if err := w.Service.Remind(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.signInAgain(&seller)
			w.deliver()
			for _, m := range o.sent {
				said := m.Subject + m.Text
				if strings.Contains(m.Text, "about this claim") {
					said, _, _ = strings.Cut(m.Subject, ", ")                       // without the fault
					said = strings.TrimSuffix(said, strings.Repeat(" evil", 9)+"…") // a long name is shortened
					said = strings.TrimSuffix(said, " evil")
				}
				if strings.Contains(strings.ToLower(said), "evil") {
					t.Errorf("%q is in the email to %s:\n%s\n%s", name, m.To, m.Subject, m.Text)
				}
			}
			// Verification, claim filed and moved, transfer, reset, new token, and both reminders.
			if got := o.take(); len(got) != 8 {
				t.Errorf("got these emails: %q", got)
			}
		}
	}, busy)
}

// named registers and verifies a person with any name.
func (w *world) named(o *outbox, email, name string) servertest.Person {
	w.T.Helper()
	p := servertest.Person{Name: name, Email: email, Password: servertest.Password}
	var session struct {
		AccessToken string `json:"access_token"`
	}
	w.Must(201, made("POST", "/api/auth/register", "", fields{"name": name, "email": p.Email, "password": p.Password})).Into(w.T, &session)
	p.Session = session.AccessToken
	w.deliver()
	w.Must(200, made("POST", "/api/auth/verify-email", p.Session, fields{"code": o.sent[len(o.sent)-1].Code}))
	return p
}
