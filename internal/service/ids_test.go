package service_test

import (
	"log/slog"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// ----------------------------------------------------------------------------

// TestIdsGoByTheDatabasesClock creates records on replicas with wrong clocks: lists are
// in the order of ids. // D3
func TestIdsGoByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	database := servertest.Postgres(t)
	w := newWorld(t, database, busy)
	olga := w.person("Olga", true)
	for _, off := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
		st, err := store.Open(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		st.SetClock(func() time.Time { return time.Now().Add(off) })
		if err := st.SyncClock(t.Context()); err != nil {
			t.Fatal(err)
		}
		now := func() time.Time {
			return time.UnixMicro(w.number(`SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`))
		}
		before := now()
		made, err := service.New(st, slog.New(slog.DiscardHandler)).CreateWarranty(t.Context(), olga.Principal,
			warranty.CreateWarranty{ProductName: "Kettle", StartDate: date("2020-01-01"), EndDate: date("2099-12-31")})
		if err != nil {
			t.Fatal(err)
		}
		// The offset is measured over a network, so a minute is allowed; the error is
		// two hours.
		if at := idTime(made.ID); at.Before(before.Add(-time.Minute)) || at.After(now().Add(time.Minute)) {
			t.Errorf("a clock that is %v off: the id says %v, and it is %v", off, at, before)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// idTime returns when an id was made.
func idTime(id warranty.ID) time.Time {
	ms := int64(0)
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms)
}

// TestIdsAreInOrder makes many ids at one time, and while the clock is set back
// slightly. If it is set back by more, ids follow it.
func TestIdsAreInOrder(t *testing.T) {
	s := service.New(&store.Store{}, slog.New(slog.DiscardHandler))
	now := time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)
	s.Now = func() time.Time { return now }
	last := warranty.ID{}
	next := func() warranty.ID {
		t.Helper()
		id := s.NewID()
		if id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("%s is not a UUID of version 7", id)
		}
		return id
	}
	for i := range 10_000 {
		id := next()
		if string(id[:]) <= string(last[:]) {
			t.Fatalf("%s comes after %s", id, last)
		}
		last = id
		if i%100 == 0 {
			now = now.Add(-time.Millisecond)
		}
	}
	now = now.Add(-2 * time.Hour)
	if id := next(); idTime(id).UnixMilli() != now.UnixMilli() {
		t.Errorf("%s was made at %v, want %v", id, idTime(id).UTC(), now)
	}
}
