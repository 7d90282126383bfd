package service_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// postbox counts emails by address and subject, and rejects some.
type postbox struct {
	mu      sync.Mutex
	random  *rand.Rand
	refuses float64
	got     map[string]int
	tries   int

	reminded map[string]int // by product
}

var kettles = regexp.MustCompile(`Kettle \d+\.`)

func (p *postbox) Send(_ context.Context, m mail.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries++
	if p.random.Float64() < p.refuses {
		return errors.New("the mail server is busy")
	}
	p.got[m.To+" "+m.Subject]++
	// A day on which every attempt failed is in one email with the next.
	for _, kettle := range kettles.FindAllString(m.Text, -1) {
		p.reminded[kettle]++
	}
	return nil
}

func (p *postbox) sent(about string) (n int) {
	for what, times := range p.got {
		if strings.Contains(what, about) {
			n += times
		}
	}
	return n
}

// replicas are services on the database of a world whose commits fail at random: either
// nothing is committed, or everything is but the caller gets an error.
func replicas(t *testing.T, w *world, random *rand.Rand, box *postbox, n int) []*service.Service {
	t.Helper()
	var list []*service.Service
	var mu sync.Mutex
	for range n {
		st, err := store.OpenUnsynced(t.Context(), w.Database)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() }) // the test is over
		st.InjectFaults(func() engine.Fault {
			mu.Lock()
			defer mu.Unlock()
			return []engine.Fault{engine.NoFault, engine.NoFault, engine.CommitFails, engine.AnswerLost}[random.IntN(4)]
		})
		s := service.New(st, slog.New(slog.DiscardHandler))
		s.Now, s.PublicURL, s.Mail = w.Clock.Now, w.Service.PublicURL, box
		list = append(list, s)
	}
	return list
}

// TestEveryMailOnceWhateverFails // A2, A3: half of all commits fail, in either way,
// and so does every third delivery. Two replicas take turns. In the end every email and
// every reminder was sent exactly once, and every use was counted once.
func TestEveryMailOnceWhateverFails(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); everyMailOnce(t, servertest.SQLite(t), 10_000) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); everyMailOnce(t, servertest.Postgres(t), 1_500) })
}

func everyMailOnce(t *testing.T, database string, runs int) {
	w := newWorld(t, database, busy)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	box := &postbox{random: random, refuses: 0.3, got: map[string]int{}, reminded: map[string]int{}}
	both := replicas(t, w, random, box, 2)

	owner := w.session(w.person("Owner", true).User, 365*24*time.Hour)
	w.execute(`UPDATE sessions SET seen_at = 9000000000000000`)
	mails, reminders, uses := 0, 0, int64(0)
	token := w.tokenOf(owner)
	passed := time.Duration(0) // since both replicas had removed what they sent
	removeSent := func() {
		for both[0].SentMails()+both[1].SentMails() > 0 {
			_, _ = both[0].SendMail(t.Context()), both[1].SendMail(t.Context()) // some of it fails
		}
		passed = 0
	}
	turn := func(s *service.Service) {
		// Errors are expected: a later run must do the failed work.
		switch n := random.IntN(8); {
		case n == 0:
			_ = s.Remind(t.Context())
		case n == 1:
			_ = s.FlushUsage(t.Context())
		default:
			_ = s.SendMail(t.Context())
		}
		// A replica that cannot remove a sent email before its claim expires counts as
		// dead, and the other one sends the email again. That is not tested here, so
		// each replica removes what it has sent before the clock gets that far.
		step := time.Duration(random.IntN(8000)) * time.Millisecond
		if passed += step; passed > service.MailClaim/2 {
			removeSent()
		}
		w.Clock.Advance(step)
	}
	for run := range runs {
		s := both[random.IntN(2)]
		switch random.IntN(16) {
		case 0:
			mails++
			w.write(func(tx *store.Tx) error {
				return tx.InsertMail(
					store.Mail{ID: w.Service.NewID(), To: "a@people.example", Subject: fmt.Sprint("mail ", mails)})
			})
		case 1:
			s.Used(token)
			uses++
		}
		if run%(runs/20) == 0 { // a new day with a warranty that ends soon
			reminders++
			removeSent()
			w.Clock.Advance(24 * time.Hour)
			today := warranty.DateOf(w.Clock.Now())
			_, err := w.Service.CreateWarranty(t.Context(), owner.Principal, warranty.CreateWarranty{
				ProductName: fmt.Sprintf("Kettle %d.", reminders), StartDate: today - 10, EndDate: today + 3})
			if err != nil {
				t.Fatal(err)
			}
		}
		turn(s)
	}
	// Then the database works, and the remaining work is done.
	box.refuses = 0
	for left := 0; left < 400; left++ {
		turn(both[left%2])
		for _, s := range both {
			_ = s.FlushUsage(t.Context())
		}
	}
	if n := w.number(`SELECT count(*) FROM mails`); n != 0 {
		t.Errorf("%d mails are left", n)
	}
	for what, times := range box.got {
		if times != 1 && strings.Contains(what, "mail ") {
			t.Errorf("%q was sent %d times", what, times)
		}
	}
	for what, times := range box.reminded {
		if times != 1 {
			t.Errorf("%q is in %d emails", what, times)
		}
	}
	if n := box.sent("mail "); n != mails {
		t.Errorf("%d of %d mails were sent", n, mails)
	}
	if n := len(box.reminded); n != reminders {
		t.Errorf("%d of %d reminders were sent", n, reminders)
	}
	if n := w.number(`SELECT sum(requests) FROM token_usage`); n != uses {
		t.Errorf("%d uses were counted, of %d", n, uses)
	}
	t.Logf("%d mails, %d reminders, %d attempts to send, %d uses", mails, reminders, box.tries, uses)
}

// TestAFailedClaimSendsNothing // A2: a claim that was not committed sends nothing, and
// the next one does.
func TestAFailedClaimSendsNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		box := &postbox{random: rand.New(rand.NewPCG(1, 1)), got: map[string]int{}}
		w.Service.Mail = box
		w.write(func(tx *store.Tx) error {
			return tx.InsertMail(store.Mail{ID: w.Service.NewID(), To: "a@people.example", Subject: "hello"})
		})
		fault := engine.CommitFails
		w.Store.InjectFaults(func() engine.Fault { return fault })
		for range 3 {
			if err := w.Service.SendMail(t.Context()); codeOf(err) != warranty.Unavailable || box.tries != 0 {
				t.Fatalf("%d mails were sent after %v", box.tries, err)
			}
		}
		fault = engine.AnswerLost // the claim is committed, and its attempt counts
		if err := w.Service.SendMail(t.Context()); codeOf(err) != warranty.Unavailable || box.tries != 0 {
			t.Fatalf("%d mails were sent after %v", box.tries, err)
		}
		if n := w.number(`SELECT attempts FROM mails`); n != 1 {
			t.Errorf("%d attempts were counted", n)
		}
		fault = engine.NoFault
		w.Clock.Advance(3 * time.Minute)
		if err := w.Service.SendMail(t.Context()); err != nil || box.tries != 1 {
			t.Errorf("%d mails were sent, and then %v", box.tries, err)
		}
	}, busy)
}

// TestRemindersOfAFailedRunAreMadeUpFor // A3: whichever commit of the day's first run
// fails, the next run sends the reminders.
func TestRemindersOfAFailedRunAreMadeUpFor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.session(w.person("Owner", true).User, 365*24*time.Hour)
		commits, fails := 0, -1
		w.Store.InjectFaults(func() engine.Fault {
			if commits++; commits == fails {
				return engine.CommitFails
			}
			return engine.NoFault
		})
		for day := 1; day <= 3; day++ {
			w.Clock.Advance(24 * time.Hour)
			today := warranty.DateOf(w.Clock.Now())
			_, err := w.Service.CreateWarranty(t.Context(), owner.Principal, warranty.CreateWarranty{
				ProductName: "Kettle", StartDate: today - 10, EndDate: today + 3})
			if err != nil {
				t.Fatal(err)
			}
			commits, fails = 0, day
			err = w.Service.Remind(t.Context())
			if commits >= fails && codeOf(err) != warranty.Unavailable {
				t.Fatalf("a run whose commit %d fails says %v", fails, err)
			}
			fails = -1
			for range 2 {
				if err := w.Service.Remind(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := w.number(`SELECT count(*) FROM mails`); n != int64(day) {
					t.Fatalf("commit %d failed: %d reminders were written in all, want %d", day, n, day)
				}
			}
		}
	}, busy)
}

// TestASlowMailServerCostsNoAttempts: emails that were claimed but not tried are
// released without counting an attempt.
func TestASlowMailServerCostsNoAttempts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Service.Mail = slowPost{w.Clock}
		w.write(func(tx *store.Tx) error {
			for range 10 {
				if err := tx.InsertMail(store.Mail{ID: w.Service.NewID(), To: "a@people.example"}); err != nil {
					return err
				}
			}
			return nil
		})
		if err := w.Service.SendMail(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, counted := w.number(`SELECT count(*) FROM mails`), w.number(`SELECT sum(attempts) FROM mails`)
		if left == 0 || left == 10 || counted != 0 {
			t.Errorf("%d of 10 mails are left, with %d attempts", left, counted)
		}
	}, busy)
}

// slowPost takes 25 seconds per email.
type slowPost struct{ clock *servertest.Clock }

func (s slowPost) Send(context.Context, mail.Message) error {
	s.clock.Advance(25 * time.Second)
	return nil
}
