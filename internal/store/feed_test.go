package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// feedOwner is a user whose records change.
type feedOwner struct {
	*Store
	t    testing.TB
	user warranty.ID
}

func newOwner(t testing.TB, s *Store) *feedOwner {
	t.Helper()
	u := warranty.User{ID: newID(), Email: fmt.Sprintf("feed%d@people.example", ids.Add(1)), CreatedAt: time.Now()}
	o := &feedOwner{Store: s, t: t, user: u.ID}
	o.must(func(tx *Tx) error { return tx.InsertUser(u, "x") })
	return o
}

func (o *feedOwner) must(fn func(*Tx) error) {
	o.t.Helper()
	if err := o.Write(context.Background(), fn); err != nil {
		o.t.Fatal(err)
	}
}

func newRecord() warranty.Warranty {
	reference, err := warranty.NewReference(warranty.WarrantyPrefix, strings.NewReader(fmt.Sprintf("%015d", ids.Add(1))))
	if err != nil {
		panic(err)
	}
	return warranty.Warranty{
		ID:              warranty.ID(uuid.Must(uuid.NewV7())),
		ReferenceNumber: reference,
		ProductName:     "x",
		Standing:        warranty.Active,
		StartDate:       1,
		EndDate:         2,
		Version:         1,
	}
}

func (o *feedOwner) create() warranty.Warranty {
	o.t.Helper()
	w := newRecord()
	o.must(func(tx *Tx) error { return tx.InsertWarranty(w, o.user) })
	return w
}

// updateIn updates a record with its event, as the service does.
func updateIn(tx *Tx, user, id warranty.ID) error {
	w, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: id})
	if err != nil {
		return err
	}
	changed := w
	changed.ProductName, changed.Version = w.ProductName+"x", w.Version+1
	if err := tx.UpdateWarranty(w, changed); err != nil {
		return err
	}
	return tx.InsertEvent(id, warranty.Event{
		ID:        warranty.ID(uuid.Must(uuid.NewV7())),
		Door:      warranty.DoorAPI,
		Action:    warranty.WarrantyUpdated,
		SubjectID: id,
		ActorID:   user,
	})
}

func deleteIn(tx *Tx, user, id warranty.ID) error {
	w, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: id})
	if err != nil {
		return err
	}
	return tx.DeleteWarranty(w, time.Now())
}

// transferIn makes a user the only owner of a record.
func transferIn(tx *Tx, from, to, id warranty.ID) error {
	var code warranty.Hash
	copy(code[:], id[:])
	if _, err := tx.LockWarranty(from, warranty.WarrantyKey{ID: id}); err != nil {
		return err
	}
	now := time.Now()
	offer := OfferCode{Hash: code, Warranty: id, Giver: from, By: from, Transfer: true, Expires: now.Add(time.Hour)}
	if err := errors.Join(tx.EndOffers(id), tx.InsertOfferCode(offer)); err != nil {
		return err
	}
	taking, err := tx.UseOfferCode(code, now)
	if err != nil {
		return err
	}
	return errors.Join(tx.Take(taking, to, now), tx.later(`DELETE FROM offer_codes WHERE code_hash = $1`, code))
}

// since returns the position of a time.
func since(at time.Time) warranty.FeedPosition {
	in := warranty.ListWarranties{UpdatedSince: &at}
	return in.From()
}

// copyOf is a copy of a user's records that is kept up to date with the feed.
type copyOf struct {
	user             warranty.ID
	versions         map[warranty.ID]int64
	roles            map[warranty.ID]int64
	changes, losses  time.Time // where the next walks begin
	repeated, walked int
}

func newCopy(user warranty.ID) *copyOf {
	return &copyOf{user: user, versions: map[warranty.ID]int64{}, roles: map[warranty.ID]int64{}}
}

// poll reads all changes since the last poll.
func (c *copyOf) poll(t testing.TB, s *Store, limit int) (changed, lost []warranty.ID) {
	t.Helper()
	for from := since(c.losses); ; {
		list, feed, err := s.DeletedWarranties(context.Background(), c.user, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			lost = append(lost, d.ID)
			delete(c.versions, d.ID)
			delete(c.roles, d.ID)
		}
		c.losses = feed.SyncedTo
		if feed.Next == nil {
			break
		}
		from = *feed.Next
	}
	for from := since(c.changes); ; {
		list, feed, err := s.ChangedWarranties(context.Background(), c.user, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range list {
			changed = append(changed, w.ID)
			if c.walked++; c.versions[w.ID] == w.Version && c.roles[w.ID] == w.Roles.Mask() {
				c.repeated++
			}
			c.versions[w.ID], c.roles[w.ID] = w.Version, w.Roles.Mask()
		}
		c.changes = feed.SyncedTo
		if feed.Next == nil {
			return changed, lost
		}
		from = *feed.Next
	}
}

// missed compares the copy with the database and returns the number of records that differ and of
// those in the database.
func (c *copyOf) missed(t testing.TB, s *Store) (missed, records int) {
	t.Helper()
	rest := map[warranty.ID]bool{}
	for id := range c.versions {
		rest[id] = true
	}
	err := s.db.Query(context.Background(), `SELECT w.id, w.version, a.roles FROM access a
		JOIN warranties w ON w.id = a.item_id WHERE a.user_id = $1 AND a.kind = 1`, func(r *engine.Row) error {
		id, version, roles := r.ID(), r.Int(), r.Int()
		delete(rest, id)
		records++
		if c.versions[id] != version || c.roles[id] != roles {
			missed++
		}
		return nil
	}, c.user)
	if err != nil {
		t.Fatal(err)
	}
	return missed + len(rest), records
}

func TestFeed(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ada, bob := newOwner(t, s), newOwner(t, s)
		mine, theirs := newCopy(ada.user), newCopy(bob.user)
		expect := func(what string, c *copyOf, changed, lost []warranty.ID) {
			t.Helper()
			gotChanged, gotLost := c.poll(t, s, 100)
			if !slices.Equal(gotChanged, changed) || !slices.Equal(gotLost, lost) {
				t.Errorf("%s: changed %v, lost %v; want %v and %v", what, gotChanged, gotLost, changed, lost)
			}
			if missed, _ := c.missed(t, s); missed != 0 {
				t.Errorf("%s: the copy differs", what)
			}
		}
		tick := func() { time.Sleep(2 * time.Millisecond) } // SQLite's clock has milliseconds
		first, second := ada.create(), ada.create()
		tick()
		expect("created", mine, []warranty.ID{first.ID, second.ID}, nil)
		expect("nothing changed", mine, nil, nil)
		expect("someone else's", theirs, nil, nil)

		ada.must(func(tx *Tx) error { return updateIn(tx, ada.user, first.ID) })
		tick()
		expect("updated", mine, []warranty.ID{first.ID}, nil)

		ada.must(func(tx *Tx) error { return tx.MoveOwner(second.ID, ada.user, bob.user) })
		tick()
		expect("the former owner is still the issuer", mine, []warranty.ID{second.ID}, nil)
		expect("the new owner", theirs, []warranty.ID{second.ID}, nil)

		ada.must(func(tx *Tx) error { return updateIn(tx, ada.user, second.ID) })
		tick()
		expect("updated for the issuer", mine, []warranty.ID{second.ID}, nil)
		expect("updated for the owner", theirs, []warranty.ID{second.ID}, nil)

		ada.must(func(tx *Tx) error { return transferIn(tx, bob.user, ada.user, second.ID) })
		tick()
		expect("back", mine, []warranty.ID{second.ID}, nil)
		expect("lost", theirs, nil, []warranty.ID{second.ID})

		ada.must(func(tx *Tx) error { return deleteIn(tx, ada.user, first.ID) })
		tick()
		expect("deleted", mine, nil, []warranty.ID{first.ID})

		before := theirs.losses
		ada.must(func(tx *Tx) error { return transferIn(tx, ada.user, bob.user, second.ID) })
		ada.must(func(tx *Tx) error { return transferIn(tx, bob.user, ada.user, second.ID) })
		ada.must(func(tx *Tx) error { return transferIn(tx, ada.user, bob.user, second.ID) })
		tick()
		expect("lost and granted again", theirs, []warranty.ID{second.ID}, nil)
		if list, _, err := s.DeletedWarranties(t.Context(), bob.user, since(before), 100); err != nil || len(list) > 0 {
			t.Errorf("a record that came back is listed as deleted: %v %v", list, err)
		}
	})
}

// TestFeedPages: a walk in small pages lists every record once, wherever the reader stops it can
// begin again, and a record that changes during the walk is listed again.
func TestFeedPages(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ada := newOwner(t, s)
		var all []warranty.ID
		for range 25 {
			all = append(all, ada.create().ID)
		}
		time.Sleep(2 * time.Millisecond) // SQLite's clock has milliseconds
		var got []warranty.ID
		from := since(time.Time{})
		var synced time.Time
		for page := 1; ; page++ {
			list, feed, err := s.ChangedWarranties(t.Context(), ada.user, from, 4)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range list {
				got = append(got, w.ID)
			}
			if rest, _, err := s.ChangedWarranties(t.Context(), ada.user, since(feed.SyncedTo), 100); err != nil ||
				len(rest) < 25-len(got) {
				t.Fatalf("from synced_to of page %d: %d records, want at least %d: %v", page, len(rest), 25-len(got), err)
			}
			synced = feed.SyncedTo
			if feed.Next == nil {
				break
			}
			from = *feed.Next
			if page == 2 {
				ada.must(func(tx *Tx) error { return updateIn(tx, ada.user, all[0]) })
			}
		}
		if want := append(slices.Clone(all), all[0]); !slices.Equal(got, want) {
			t.Errorf("walked %v, want %v", got, want)
		}
		// The walk began before the change, so the next one may repeat it, and must not miss it.
		list, _, err := s.ChangedWarranties(t.Context(), ada.user, since(synced), 100)
		if err != nil || len(list) > 1 {
			t.Errorf("%d records after the walk, want at most the changed one: %v", len(list), err)
		}
	})
}

// TestALateCommitIsInTheFeed: a transaction stamps its changes and commits after a reader has seen
// later ones. The reader's next read lists it.
func TestALateCommitIsInTheFeed(t *testing.T) {
	t.Parallel()
	database := newPostgres(t)
	writer, s, other := open(t, database), open(t, database), open(t, database)
	ada, bob := newOwner(t, s), newOwner(t, s)
	changed, deleted, moved := ada.create(), ada.create(), ada.create()
	c := newCopy(ada.user)
	c.poll(t, s, 100)
	late := newRecord()
	stamped, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- writer.Write(context.Background(), func(tx *Tx) error {
			for _, change := range []error{
				tx.InsertWarranty(late, ada.user),
				updateIn(tx, ada.user, changed.ID),
				deleteIn(tx, ada.user, deleted.ID),
				transferIn(tx, ada.user, bob.user, moved.ID),
			} {
				if change != nil {
					return change
				}
			}
			if _, err := tx.exec(`SELECT 1`); err != nil { // sends the statements
				return err
			}
			close(stamped)
			<-release
			return nil
		})
	}()
	<-stamped
	ada.create()
	newest := time.Time{}
	for _, reader := range []*Store{s, other, s, other} {
		c.poll(t, reader, 100)
		newest = time.UnixMicro(number(t, s, `SELECT max(changed_at) FROM access WHERE user_id = $1`, ada.user))
		ada.create()
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := number(t, s, `SELECT count(*) FROM access WHERE user_id = $1 AND item_id = $2 AND changed_at < $3`,
		ada.user, late.ID, newest); n != 1 {
		t.Fatal("the late change has no earlier stamp than those that were read, so this tests nothing")
	}
	c.poll(t, other, 100)
	if missed, records := c.missed(t, s); missed != 0 {
		t.Errorf("%d of %d records were missed", missed, records)
	}
}

// TestFeedWhenTheClockIsSetBack: settled was handed out an hour in the future of the clock.
func TestFeedWhenTheClockIsSetBack(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ada := newOwner(t, s)
		gone := ada.create()
		ada.must(func(tx *Tx) error {
			return tx.later(`UPDATE feed_marks SET floor = $1, settled = $1`, time.Now().Add(time.Hour))
		})
		c := newCopy(ada.user)
		c.poll(t, s, 100)
		kept := ada.create()
		ada.must(func(tx *Tx) error { return updateIn(tx, ada.user, kept.ID) })
		ada.must(func(tx *Tx) error { return deleteIn(tx, ada.user, gone.ID) })
		if c.changes.Before(time.Now().Add(50 * time.Minute)) {
			t.Fatalf("synced to %s, so this tests nothing", c.changes)
		}
		c.poll(t, s, 100)
		if missed, _ := c.missed(t, s); missed != 0 {
			t.Errorf("%d records were missed", missed)
		}
	})
}

// TestFeedReadsARange: the plan of a page reads a range of an index and sorts nothing but the page.
func TestFeedReadsARange(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ada := newOwner(t, s)
		ada.must(func(tx *Tx) error {
			for range 3000 {
				if err := tx.InsertWarranty(newRecord(), ada.user); err != nil {
					return err
				}
				if err := tx.later(`INSERT INTO gone (user_id, at, item_id) VALUES ($1, $2, $3)`,
					ada.user, time.Now(), newID()); err != nil {
					return err
				}
			}
			return tx.later(`ANALYZE`)
		})
		explain, losses := `EXPLAIN `, "gone_pkey"
		if !s.db.Concurrent() {
			explain, losses = `EXPLAIN QUERY PLAN `, "g USING PRIMARY KEY"
		}
		for page, index := range map[string]string{changesPage: "access_by_change", lossesPage: losses} {
			var plan []string
			if err := s.db.Query(t.Context(), explain+page, func(r *engine.Row) error {
				if !s.db.Concurrent() {
					r.Int()
					r.Int()
					r.Int()
				}
				plan = append(plan, r.Text())
				return nil
			}, ada.user, time.Now(), newID(), 101); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(plan, "\n")
			if !strings.Contains(text, index) || strings.Contains(text, "Sort") || strings.Contains(text, "Seq Scan") ||
				strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN") {
				t.Errorf("%s:\n%s", page, text)
			}
		}
	})
}
