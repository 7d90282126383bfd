package service_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestNothingIsWrittenAfterRevocation: once the end of a credential is acknowledged, no
// write made with it commits on any replica, including writes in progress. (D11)
func TestNothingIsWrittenAfterRevocation(t *testing.T) {
	const writers = 12
	test := func(t *testing.T, worlds []*world) {
		for _, e := range endings {
			s := newStorm(t, worlds, e, writers)
			s.wait(t)
			s.end(t)
			if n := s.late(t); n > 0 {
				t.Errorf("%s: %d records were written after it was acknowledged", e.name, n)
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, []*world{newWorld(t, servertest.SQLite(t), busy)}) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, newReplicas(t, 3)) })
}

// TestRevocationIsNotStarved ends a credential while a write holds it. From then on no
// other write may acquire it on any replica, or a busy credential could delay its own
// end forever. The end waits for the first write. SQLite has a single writer, so
// nothing could join. (D11)
func TestRevocationIsNotStarved(t *testing.T) {
	t.Parallel()
	worlds := newReplicas(t, 3)
	for _, e := range endings {
		s := newStorm(t, worlds, e, 0)
		finish := s.underWay(t, worlds[1])
		done := make(chan error, 1)
		go func() { done <- e.end(worlds[0], s) }()
		var refused error
		joined := 0
		for deadline := time.Now().Add(testenv.Patience); refused == nil && time.Now().Before(deadline); joined++ {
			_, refused = worlds[2].Service.CreateWarranty(ctx, s.by, pan)
		}
		switch codeOf(refused) {
		case warranty.TokenRevoked, warranty.SessionExpired, warranty.AccountNotAllowed:
		case "":
			t.Errorf("%s: %d writes joined the one that was under way, and none was refused", e.name, joined)
		default:
			t.Errorf("%s: a write: %v", e.name, refused)
		}
		s.stillWaits(t, done)
		finish()
		if err := testenv.Receive(t, e.name, done); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
	}
}

// TestRevokingAgainWaits: a revocation whose process died before the writes in progress
// had ended is completed when it is repeated. (D11)
func TestRevokingAgainWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servertest.Postgres(t), busy)
	for _, e := range endings {
		if e.name == "rotate" || !e.token { // every rotation differs, and an ended session cannot call again
			continue
		}
		s := newStorm(t, []*world{w}, e, 0)
		finish := s.underWay(t, w)
		w.execute(`UPDATE tokens SET revoked_at = 1 WHERE id = $1`, w.key(s.by.CredentialID))
		done := make(chan error, 1)
		go func() { done <- e.end(w, s) }()
		testenv.Wait(t, e.name+" to wait for the write", func() bool {
			return w.number(`SELECT count(*) FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
				WHERE l.relation = 'tokens'::regclass AND l.granted AND a.wait_event_type = 'Lock' AND a.query LIKE '% FOR UPDATE'`) > 0
		})
		s.stillWaits(t, done)
		finish()
		if err := testenv.Receive(t, e.name, done); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
	}
}

// underWay starts a write with the credential, which holds it until finish is called.
func (s *storm) underWay(t *testing.T, w *world) (finish func()) {
	t.Helper()
	held, release, done := make(chan error, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- w.Store.Write(ctx, func(tx *store.Tx) error {
			err := tx.HoldCredential(s.by, warranty.Member, w.Clock.Now())
			if err == nil {
				_, _, err = tx.VerifiedAccount("") // a query makes the store send its deferred statements
			}
			held <- err
			<-release
			return err
		})
	}()
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	if err := testenv.Receive(t, s.ending.name+": the credential to be held", held); err != nil {
		t.Fatalf("%s: a write: %v", s.ending.name, err)
	}
	return func() {
		t.Helper()
		let()
		if err := testenv.Receive(t, s.ending.name+": the write that was under way", done); err != nil {
			t.Errorf("%s: the write that was under way: %v", s.ending.name, err)
		}
	}
}

// stillWaits fails the test if the end was acknowledged too early.
func (s *storm) stillWaits(t *testing.T, done chan error) {
	t.Helper()
	select {
	case err := <-done:
		t.Errorf("%s: it was acknowledged while a write was under way: %v", s.ending.name, err)
		done <- err
	default:
	}
}

// newReplicas returns worlds that share a PostgreSQL database.
func newReplicas(t testing.TB, n int) []*world {
	t.Helper()
	database := servertest.Postgres(t)
	worlds := make([]*world, n)
	for i := range worlds {
		worlds[i] = newWorld(t, database, busy)
	}
	return worlds
}

// pan is the record that the writers create.
var pan = warranty.CreateWarranty{ProductName: "Pan", StartDate: date("2024-01-01"), EndDate: date("2025-01-01")}

// ending is a way to end a credential.
type ending struct {
	name string
	// token means that the writers use an integration token instead of a session.
	token bool
	end   func(w *world, s *storm) error
}

// endings are the ways that are acknowledged to a user. A new password ends sessions
// like signing out everywhere.
var endings = []ending{
	{"revoke", true, func(w *world, s *storm) error {
		_, err := w.Service.RevokeToken(ctx, s.owner.Principal, warranty.RevokeToken{ID: s.by.CredentialID})
		return err
	}},
	{"rotate", true, func(w *world, s *storm) error {
		_, err := w.Service.RotateToken(ctx, s.owner.Principal, warranty.RotateToken{ID: s.by.CredentialID})
		return err
	}},
	{"disable token", true, func(w *world, s *storm) error { return w.Service.DisableUser(ctx, s.owner.User.Email) }},
	{
		"disable session", false,
		func(w *world, s *storm) error { return w.Service.DisableUser(ctx, s.owner.User.Email) },
	},
	{"sign out", false, func(w *world, s *storm) error {
		_, err := w.Service.SignOut(ctx, s.by, warranty.SignOut{})
		return err
	}},
	{
		"sign out everywhere", false,
		func(w *world, s *storm) error { return w.Service.SignOutEverywhere(ctx, s.owner.Principal) },
	},
	{removesMember, false, func(w *world, s *storm) error {
		in := warranty.RemoveMember{ID: s.by.Account.ID, UserID: s.by.User.ID}
		_, err := w.Service.RemoveMember(ctx, s.owner.Principal, in)
		return err
	}},
	{makesViewer, false, func(w *world, s *storm) error {
		in := warranty.UpdateMember{ID: s.by.Account.ID, UserID: s.by.User.ID, Role: warranty.Viewer}
		_, err := w.Service.UpdateMember(ctx, s.owner.Principal, in)
		return err
	}},
	{"delete organization", false, func(w *world, s *storm) error {
		_, err := w.Service.DeleteOrganization(ctx, s.owner.Principal, warranty.DeleteOrganization{ID: s.by.Account.ID})
		return err
	}},
}

// The endings of a membership, whose session goes on.
const (
	removesMember = "remove member"
	makesViewer   = "make a member viewer"
)

// asMember lets the storm act for an organization of the owner as a member.
func (s *storm) asMember(w *world) {
	w.T.Helper()
	o, err := w.Service.CreateOrganization(ctx, s.owner.Principal, warranty.CreateOrganization{Name: "Shop"})
	if err != nil {
		w.T.Fatal(err)
	}
	clerk := w.person("Ivo", true)
	w.write(func(tx *store.Tx) error {
		return tx.InsertMember(o.ID, clerk.User.ID, warranty.Member, warranty.MailChoices{}, w.Clock.Now())
	})
	if s.by, err = w.Service.ActFor(ctx, clerk.Principal, o.ID); err != nil {
		w.T.Fatal(err)
	}
}

// storm is a set of writers that use one credential continuously until it is rejected.
type storm struct {
	worlds  []*world
	ending  ending
	owner   person
	by      warranty.Principal
	began   chan struct{} // each writer sends once, after its first record
	writers int
	written atomic.Int64
	all     sync.WaitGroup
	over    chan struct{} // closed when every writer has been rejected
	failed  atomic.Pointer[error]
}

// newStorm starts writers for a new user on all replicas. They stop at the end of the
// test at the latest.
func newStorm(t testing.TB, worlds []*world, e ending, writers int) *storm {
	t.Helper()
	owner := worlds[0].person("Olga", true)
	s := &storm{worlds: worlds, ending: e, owner: owner, by: worlds[0].session(owner.User, time.Hour).Principal,
		writers: writers, began: make(chan struct{}, writers), over: make(chan struct{})}
	switch e.name {
	case removesMember, makesViewer, "delete organization":
		s.asMember(worlds[0])
	}
	if e.token {
		s.by = worlds[0].tokenOf(owner)
	}
	for i := range writers {
		service := worlds[i%len(worlds)].Service
		s.all.Go(func() {
			for n := 0; ; n++ {
				if _, err := service.CreateWarranty(t.Context(), s.by, pan); err != nil {
					switch codeOf(err) {
					case warranty.TokenRevoked, warranty.SessionExpired, warranty.AccountNotAllowed:
					default:
						s.failed.Store(&err)
					}
					return
				}
				if s.written.Add(1); n == 0 {
					s.began <- struct{}{}
				}
			}
		})
	}
	go func() { s.all.Wait(); close(s.over) }()
	return s
}

// wait waits until every writer has written.
func (s *storm) wait(t testing.TB) {
	t.Helper()
	for range s.writers {
		testenv.Receive(t, "the first record of each writer", s.began)
	}
}

// end ends the credential.
func (s *storm) end(t testing.TB) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.ending.end(s.worlds[0], s) }()
	if err := testenv.Receive(t, s.ending.name, done); err != nil {
		t.Errorf("%s: %v", s.ending.name, err)
	}
}

// records counts the owner's records.
func (s *storm) records() int64 {
	w := s.worlds[0]
	return w.number(`SELECT count(*) FROM access WHERE user_id = $1 AND kind = 1`, w.key(s.by.Account.ID))
}

// late counts the records committed after the end was acknowledged, until every writer
// has been rejected.
func (s *storm) late(t testing.TB) int64 {
	t.Helper()
	acknowledged := s.records()
	testenv.Receive(t, "every writer to be refused", s.over)
	if err := s.err(); err != nil {
		t.Errorf("a writer stopped for another reason: %v", err)
	}
	if n := s.records(); n != s.written.Load() {
		t.Errorf("%d records were acknowledged, and %d are there", s.written.Load(), n)
	}
	return s.records() - acknowledged
}

func (s *storm) err() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}
