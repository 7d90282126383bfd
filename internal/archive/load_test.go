package archive_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// rounds is the number of backups under load: SVC_TEST_BACKUPS, or a few.
func rounds() int {
	n := 3
	_, _ = fmt.Sscan(os.Getenv("SVC_TEST_BACKUPS"), &n) // stays as it is
	return n
}

// writers change everything as fast as they can, and remember what was acknowledged.
type writers struct {
	w       *servertest.World
	people  []person
	stop    atomic.Bool
	running sync.WaitGroup
	pause   sync.RWMutex // held while a backup is restored, when writes would only take time

	mu      sync.Mutex
	records map[warranty.ID]bool // acknowledged, and not deleted
	files   map[warranty.ID]bool
	writes  int
}

func startWriters(t *testing.T, w *servertest.World) *writers {
	t.Helper()
	l := &writers{w: w, records: map[warranty.ID]bool{}, files: map[warranty.ID]bool{}}
	for i := range 4 {
		l.people = append(l.people, signUp(t, w, fmt.Sprintf("Writer%d", i)))
	}
	for i, p := range l.people {
		l.running.Go(func() { l.write(t, p, l.people[(i+1)%len(l.people)]) })
	}
	return l
}

// write is one writer. It keeps its list short, so that all rounds take the same time.
func (l *writers) write(t *testing.T, p, seller person) {
	var mine []warranty.ID
	for n := 0; !l.stop.Load(); n++ {
		l.pause.RLock()
		l.pause.RUnlock() //nolint:staticcheck // waits for the end of a pause
		made, err := p.record(l.w, fmt.Sprintf("Kettle %d", n), seller.User.Email)
		if err != nil {
			t.Error(err)
			return
		}
		d, err := p.upload(l.w, made.ID, fmt.Sprintf("Receipt %d", n))
		if err != nil {
			t.Error(err)
			return
		}
		l.note(func() { l.records[made.ID], l.files[d.ID] = true, true })
		if n%3 == 0 {
			if _, err := l.w.Service.DeleteDocument(ctx, p.Principal, warranty.DeleteDocument{ID: d.ID}); err != nil {
				t.Error(err)
			}
			l.note(func() { delete(l.files, d.ID) })
		}
		if mine = append(mine, made.ID); len(mine) > 20 {
			old := mine[0]
			mine = mine[1:]
			l.note(func() { delete(l.records, old) }) // from here on, either outcome is right
			if _, err := l.w.Service.DeleteWarranty(ctx, p.Principal,
				warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: old}}); err != nil {
				t.Error(err)
			}
		}
		if n%5 == 0 {
			l.credentials(t, p, made.ID, n)
		}
	}
}

// credentials makes a token and a transfer.
func (l *writers) credentials(t *testing.T, p person, record warranty.ID, n int) {
	token, err := l.w.Service.CreateToken(ctx, p.Principal,
		warranty.CreateToken{Name: fmt.Sprint("Token ", n), Scopes: []string{"warranties:read"}})
	if err == nil && n%10 == 0 {
		_, err = l.w.Service.RevokeToken(ctx, p.Principal, warranty.RevokeToken{ID: token.ID})
	}
	if err == nil {
		_, err = l.w.Service.OfferTransfer(ctx, p.Principal,
			warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: record}, Email: "next@people.example"})
	}
	if refusal := warranty.AsError(err); err != nil && refusal.Code != warranty.TokenLimitReached {
		t.Error(err)
	}
}

func (l *writers) note(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	change()
}

// TestBackupsUnderLoad makes backups while others write, and restores each. `make backups` runs 200
// rounds.
func TestBackupsUnderLoad(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		l := startWriters(t, w)
		defer func() {
			l.stop.Store(true)
			l.running.Wait()
			t.Logf("%d writes", l.writes)
		}()
		for round := range rounds() {
			t.Run(fmt.Sprint(round), func(t *testing.T) { l.round(t, round) })
		}
	})
}

func (l *writers) round(t *testing.T, round int) {
	var out bytes.Buffer
	l.mu.Lock()
	var before []warranty.ID
	for id := range l.records {
		before = append(before, id)
	}
	l.mu.Unlock()
	done, err := archive.Backup(ctx, l.w.Store, l.w.Service.Files, &out, "test", time.Now(), quiet)
	if err != nil || len(done.Missing)+len(done.Damaged) > 0 {
		t.Fatalf("%+v, %v", done.Manifest, err)
	}
	l.pause.Lock()
	defer l.pause.Unlock()
	l.mu.Lock()
	before = slices.DeleteFunc(before, func(id warranty.ID) bool { return !l.records[id] }) // deleted meanwhile
	l.mu.Unlock()

	// Into the same kind of database, and now and then into the other.
	kind := "sqlite"
	if l.w.IsPostgres() != (round%3 == 2) {
		kind = "postgres"
	}
	r := restore(t, kind, out.Bytes(), false)
	r.check(t)
	after := sums(t, r.Store)
	for _, name := range credentialTables {
		if after[name].Rows != 0 {
			t.Errorf("%d rows of %s were revived", after[name].Rows, name)
		}
	}
	seen := map[warranty.ID]bool{}
	users, err := r.Store.Users(ctx, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range users {
		total, listed := int64(0), int64(0)
		for page := 1; page == 1 || listed < total; page++ {
			list, n, err := r.Store.Warranties(ctx, u.ID,
				warranty.ListWarranties{Paging: warranty.Paging{Page: page, Limit: 100}}, warranty.DateOf(time.Now()))
			if err != nil || len(list) == 0 && n > listed {
				t.Fatalf("page %d has %d of %d records, %v", page, len(list), n, err)
			}
			total, listed = n, listed+int64(len(list))
			for _, record := range list {
				seen[record.ID] = true
			}
		}
		if total != u.Records || listed != total {
			t.Errorf("%s has %d records, a total of %d, and lists %d", u.Email, u.Records, total, listed)
		}
	}
	for _, id := range before {
		if !seen[id] {
			t.Errorf("the record %s was acknowledged before the backup and is missing", id)
		}
	}
	if err := r.Store.Close(); err != nil {
		t.Error(err)
	}
}
