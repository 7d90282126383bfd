package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// remind runs the reminders of the day and returns what was sent: person and product.
func (w *world) remind(o *outbox) (got []string) {
	w.T.Helper()
	for range 2 { // the second finds nothing
		if err := w.Service.Remind(w.T.Context()); err != nil {
			w.T.Fatal(err)
		}
	}
	w.deliver()
	for _, m := range o.sent {
		got = append(got, remindedOf(m, strings.TrimSuffix(m.To, "@people.example")+" ")...)
	}
	o.take()
	slices.Sort(got)
	return got
}

// TestRemindersOnOwnDays goes through the days: an account chooses days, changes them, and chooses others or none
// for single warranties. What one account chooses changes nothing for another.
func TestRemindersOnOwnDays(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		clock.SetTo(t, "2026-03-01T12:00:00Z")
		began := clock.Now()
		owner, seller := w.Verified("Olga"), w.Verified("Sami")
		records := map[string]servertest.Record{}
		for name, ends := range map[string]int{"usual": 62, "own": 70, "never": 62, "later": 90} {
			records[name] = w.Warranty(owner.Session, fields{"start_date": "2026-01-01", "end_date": day(began, ends),
				"product_name": name, "seller_email": seller.Email})
			w.Confirm(seller, records[name].ID)
		}
		choose := func(p servertest.Person, body fields) { w.Must(200, made("PUT", "/api/reminders", p.Session, body)) }
		one := func(p servertest.Person, name string, body fields) {
			w.Must(200, made("PUT", "/api/warranties/"+records[name].ID+"/reminders", p.Session, body))
		}
		choose(owner, fields{"days": []int{3, 60, 60, 14}})
		one(owner, "own", fields{"choice": "own", "days": []int{50}})
		one(owner, "never", fields{"choice": "off"})
		choose(seller, fields{"days": []int{60}})                           // owns nothing
		one(seller, "usual", fields{"choice": "own", "days": []int{59, 5}}) // on 3 and 57
		var got struct {
			Days   []int
			Choice string
		}
		w.Must(200, made("GET", "/api/reminders", owner.Session, nil)).Into(t, &got)
		equal(t, "the days", got.Days, []int{60, 14, 3})
		w.Must(200, made("GET", "/api/warranties/"+records["usual"].ID+"/reminders", owner.Session, nil)).Into(t, &got)
		equal(t, "the owner's choice", got.Choice+fmt.Sprint(got.Days), "account[60 14 3]")

		o, days := w.mailbox(), map[int][]string{}
		for today := range 80 {
			clock.Set(began.AddDate(0, 0, today))
			switch today {
			case 21:
				w.signInAgain(&owner, &seller)
				one(seller, "usual", fields{"choice": "account"})
			case 40: // "usual" has 22 days left, "own" 30 and "later" 50
				w.signInAgain(&owner, &seller)
				choose(owner, fields{"days": []int{55, 30, 29, 20}})
				one(owner, "own", fields{"choice": "account"})
				w.mailed(o)
			case 75:
				w.signInAgain(&owner)
				choose(owner, fields{"days": []int{}})
			}
			if got := w.remind(o); got != nil {
				days[today] = got
			}
		}
		equal(t, "reminders by day", days, map[int][]string{
			2:  {"olga usual"},
			3:  {"sami usual"},
			20: {"olga own"},
			30: {"olga later"},
			40: {"olga later", "olga own", "olga usual"}, // 55 is 5 and 29 is 7 days late, and 30 is today
			41: {"olga own"},                             // 29
			42: {"olga usual"},
			50: {"olga own"},
			60: {"olga later"},
			61: {"olga later"},
			70: {"olga later"},
		})
	}, busy)
}

// TestNewDaysSendOneMail turns on early reminders for many warranties: the account gets one email, about those
// whose day has come in the last week, and nothing about the others.
func TestNewDaysSendOneMail(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		const records = 300 // more than a page
		owner := w.person("Olga", true)
		today := warranty.DateOf(w.Clock.Now())
		due := 0
		for i := range records {
			left := []warranty.Date{365, 358, 357, 181, 175, 83, 91, 90, 81}[i%9]
			if left == 365 || left == 358 || left == 175 || left == 83 || left == 90 {
				due++
			}
			if _, err := w.Service.CreateWarranty(ctx, owner.Principal, warranty.CreateWarranty{
				ProductName: fmt.Sprintf("Thing %d", i), StartDate: today, EndDate: today + left}); err != nil {
				t.Fatal(err)
			}
		}
		w.execute(`DELETE FROM mails`)
		run := func() {
			t.Helper()
			w.execute(`DELETE FROM milestones`)
			if err := w.Service.Remind(ctx); err != nil {
				t.Fatal(err)
			}
		}
		run()
		equal(t, "emails before", int(w.number(`SELECT count(*) FROM mails`)), 0)
		if _, err := w.Service.UpdateReminders(ctx, owner.Principal, warranty.UpdateReminders{
			Days: warranty.ReminderDays{365, 180, 90}}); err != nil {
			t.Fatal(err)
		}
		run()
		run()
		subjects := w.strings(`SELECT subject FROM mails`)
		equal(t, "emails after", subjects, []string{fmt.Sprintf("%d warranties end soon", due)})
		text := w.strings(`SELECT body FROM mails`)[0]
		if lines := strings.Count(text, "(WR-"); lines != 50 || !strings.Contains(text, fmt.Sprintf("and %d more\n", due-50)) {
			t.Errorf("%d warranties are listed of %d:\n%s", lines, due, text)
		}
	}, busy)
}

// TestRemindersAreGatheredOnce lets replicas race on PostgreSQL, and stops the work after each commit: the
// reminders of a day are in one email.
func TestRemindersAreGatheredOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		today := warranty.DateOf(w.Clock.Now())
		yes := true
		for i := range 30 {
			if _, err := w.Service.CreateWarranty(ctx, owner.Principal, warranty.CreateWarranty{
				ProductName: fmt.Sprintf("Thing %d", i), StartDate: today - 10, EndDate: today + 3}); err != nil {
				t.Fatal(err)
			}
		}
		weekly := w.person("Wim", true)
		if _, err := w.Service.CreateWarranty(ctx, weekly.Principal, warranty.CreateWarranty{
			ProductName: "Weekly", StartDate: today - 10, EndDate: today + 20}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.UpdateReminders(ctx, weekly.Principal, warranty.UpdateReminders{Weekly: &yes}); err != nil {
			t.Fatal(err)
		}
		w.execute(`DELETE FROM mails`)
		w.execute(`UPDATE reminder_choices SET weekly_sent = 0`)
		work := func(ctx context.Context, s *service.Service) {
			_ = s.Remind(ctx) // a stopped one fails
			_ = s.SendWeekly(ctx)
		}
		// Whatever transaction is the last before the process dies, the next process goes on.
		for commits := range 4 {
			stopped, cancel := context.WithCancel(ctx)
			s := service.New(w.Store, slog.New(slog.DiscardHandler))
			n := 0
			s.PublicURL = servertest.PublicURL
			s.Now = func() time.Time {
				if n++; n > 3*(commits+1) {
					cancel()
				}
				return w.Clock.Now()
			}
			work(stopped, s)
			cancel()
		}
		services := []*service.Service{w.Service}
		if w.IsPostgres() {
			st, err := store.Open(ctx, w.Database)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			s := service.New(st, slog.New(slog.DiscardHandler))
			s.Now, s.PublicURL = w.Clock.Now, servertest.PublicURL
			services = append(services, s)
		}
		together(6, func(i int) { work(ctx, services[i%len(services)]) })
		got := w.strings(`SELECT subject FROM mails ORDER BY subject`)
		equal(t, "emails", got, []string{"30 warranties end soon", "Your warranties this week"})
	}, busy)
}

// TestWeeklyEmail goes through three weeks.
func TestWeeklyEmail(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		clock.SetTo(t, "2026-03-04T12:00:00Z") // a Wednesday
		owner, seller := w.Verified("Olga"), w.Verified("Sami")
		record := func(name string, ends int) servertest.Record {
			return w.Warranty(owner.Session, fields{"start_date": "2020-01-01", "end_date": day(clock.Now(), ends),
				"product_name": name, "seller_email": seller.Email})
		}
		record("soon", 7)
		record("later", 40)
		off := record("off", 8)
		claimed := record("claimed", 300)
		w.Confirm(seller, claimed.ID)
		w.Must(200, made("PUT", "/api/warranties/"+off.ID+"/reminders", owner.Session, fields{"choice": "off"}))
		for _, p := range []servertest.Person{owner, seller} {
			w.Must(200, made("PUT", "/api/reminders", p.Session, fields{"weekly": true}))
		}
		w.Claim(owner.Session, claimed.ID)
		o, got := w.mailbox(), map[string][]string{}
		o.take()
		for hour := range 20 * 8 { // every three hours
			clock.Set(clock.Now().Add(3 * time.Hour))
			for range 2 {
				if err := w.Service.SendWeekly(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if hour%8 == 0 {
				if err := w.Service.Remind(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			w.deliver()
			for _, m := range o.sent {
				said := []string{strings.TrimSuffix(m.To, "@people.example")}
				for _, part := range []string{"wait for you", "claimed", "next four weeks", "ended last week", "soon", "later", "off"} {
					if strings.Contains(m.Text, part) {
						said = append(said, part)
					}
				}
				got[clock.Now().Format("Mon 2 15h")] = append(got[clock.Now().Format("Mon 2 15h")], strings.Join(said, ", "))
			}
			o.take()
		}
		for at := range got {
			slices.Sort(got[at])
		}
		equal(t, "weekly emails", got, map[string][]string{
			"Mon 9 06h":  {"olga, next four weeks, soon", "sami, wait for you, claimed"},
			"Mon 16 06h": {"olga, next four weeks, ended last week, soon, later", "sami, wait for you, claimed"},
			"Mon 23 06h": {"olga, next four weeks, later", "sami, wait for you, claimed"},
		})
	}, busy)
}
