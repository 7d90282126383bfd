package store

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// feedWriters is the number of concurrent writers. They do not share records.
const feedWriters = 16

// TestNothingIsMissed lets many writers create, change, delete and transfer records while readers
// keep copies with the feed, and compares the copies with the database. SVC_TEST_FEED is the number
// of changes; "make feed" makes 100,000.
func TestNothingIsMissed(t *testing.T) {
	changes, err := strconv.ParseInt(os.Getenv("SVC_TEST_FEED"), 10, 64)
	if err != nil {
		changes = 2000
	}
	eachKind(t, func(t *testing.T, fresh func(testing.TB) string) {
		database := fresh(t)
		replicas := []*Store{open(t, database)}
		if engine.IsPostgres(database) {
			replicas = append(replicas, open(t, database), open(t, database))
		}
		newRace(t, replicas).run(changes)
	})
}

// race is writers and readers of two accounts.
type race struct {
	t        *testing.T
	replicas []*Store
	accounts [2]warranty.ID
	made     atomic.Int64 // changes that were committed
}

func newRace(t *testing.T, replicas []*Store) *race {
	t.Helper()
	r := &race{t: t, replicas: replicas}
	for i := range r.accounts {
		r.accounts[i] = newOwner(t, replicas[0]).user
	}
	return r
}

func (r *race) run(changes int64) {
	stop, done := make(chan struct{}), make(chan struct{})
	copies := [2]*copyOf{newCopy(r.accounts[0]), newCopy(r.accounts[1])}
	naive := &naiveCopy{user: r.accounts[0], versions: map[warranty.ID]int64{}}
	polls := 0
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			polls++
			for _, c := range copies {
				c.poll(r.t, r.replicas[polls%len(r.replicas)], 100)
			}
			naive.poll(r.t, r.replicas[0])
		}
	}()
	start := time.Now()
	var writers sync.WaitGroup // without a time limit
	for i := range feedWriters {
		writers.Go(func() { r.write(i, changes/feedWriters) })
	}
	writers.Wait()
	took := time.Since(start)
	close(stop)
	<-done
	missed, records := 0, 0
	for _, c := range copies {
		c.poll(r.t, r.replicas[polls%len(r.replicas)], 100)
		m, n := c.missed(r.t, r.replicas[0])
		missed, records = missed+m, records+n
	}
	naive.poll(r.t, r.replicas[0])
	r.t.Logf("%d changes in %s, %d polls: missed %d of %d records; by the newest stamp seen, %d; "+
		"%d of %d entries repeated", r.made.Load(), took.Round(time.Millisecond), polls, missed, records,
		naive.missed(r.t, r.replicas[0]), copies[0].repeated, copies[0].walked)
	if missed != 0 {
		r.t.Errorf("%d records were missed", missed)
	}
}

// write makes changes to the records of one writer. Most records change only once or twice, so that
// few missed changes are hidden by later ones.
func (r *race) write(writer int, changes int64) {
	random := rand.New(rand.NewPCG(uint64(writer), 7))
	store := r.replicas[writer%len(r.replicas)]
	var mine []warranty.ID
	owners := map[warranty.ID]int{}
	for range changes {
		n, w := random.IntN(10), newRecord()
		held := random.IntN(8) == 0 && store.db.Concurrent() // otherwise everybody would wait
		wait := time.Duration(random.IntN(30)) * time.Millisecond
		i := 0
		if len(mine) > 0 {
			i = random.IntN(len(mine))
		}
		err := store.Write(context.Background(), func(tx *Tx) error {
			if err := r.change(tx, n, w, mine, i, owners); err != nil || !held {
				return err
			}
			if _, err := tx.exec(`SELECT 1`); err != nil { // sends the statements
				return err
			}
			time.Sleep(wait)
			return nil
		})
		if err != nil {
			r.t.Errorf("writer %d: %v", writer, err)
			return
		}
		r.made.Add(1)
		switch {
		case n < 6 || len(mine) == 0:
			mine = append(mine, w.ID)
		case n == 8:
			delete(owners, mine[i])
			mine = append(mine[:i], mine[i+1:]...)
		case n == 9:
			owners[mine[i]] = 1 - owners[mine[i]]
		}
	}
}

// change creates, updates, deletes or transfers a record.
func (r *race) change(tx *Tx, n int, w warranty.Warranty, mine []warranty.ID, i int, owners map[warranty.ID]int) error {
	if n < 6 || len(mine) == 0 {
		return tx.InsertWarranty(w, r.accounts[0])
	}
	id := mine[i]
	owner := owners[id]
	switch n {
	case 6, 7:
		return updateIn(tx, r.accounts[owner], id)
	case 8:
		return deleteIn(tx, r.accounts[owner], id)
	}
	return transferIn(tx, r.accounts[owner], r.accounts[1-owner], id)
}

// naiveCopy follows the newest stamp that it has seen. On PostgreSQL it misses changes that commit
// late, which shows that the writers of this test make such changes.
type naiveCopy struct {
	user     warranty.ID
	seen     int64
	versions map[warranty.ID]int64
}

func (c *naiveCopy) poll(t testing.TB, s *Store) {
	t.Helper()
	if err := s.db.Query(context.Background(), `SELECT a.changed_at, w.id, w.version FROM access a
		JOIN warranties w ON w.id = a.item_id WHERE a.user_id = $1 AND a.kind = 1 AND a.changed_at > $2
		ORDER BY a.changed_at`, func(r *engine.Row) error {
		c.seen = r.Int()
		c.versions[r.ID()] = r.Int()
		return nil
	}, c.user, c.seen); err != nil {
		t.Error(err)
	}
}

func (c *naiveCopy) missed(t testing.TB, s *Store) (missed int) {
	t.Helper()
	if err := s.db.Query(context.Background(), `SELECT w.id, w.version FROM access a
		JOIN warranties w ON w.id = a.item_id WHERE a.user_id = $1 AND a.kind = 1`, func(r *engine.Row) error {
		if c.versions[r.ID()] != r.Int() {
			missed++
		}
		return nil
	}, c.user); err != nil {
		t.Error(err)
	}
	return missed
}
