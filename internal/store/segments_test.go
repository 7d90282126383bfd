package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestSegmentsAgreeWithScanning runs random scripts in two processes that index short lists in tiny
// segments, and whose background tasks sometimes fail. After each step it compares a random question
// with a scan of all records.
func TestSegmentsAgreeWithScanning(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		processes := []*Store{open(t, database), open(t, database)}
		var fault atomic.Uint32
		for _, p := range processes {
			p.SegmentLists(6, 4, 2)
			p.InjectFaults(func() engine.Fault { return engine.Fault(fault.Load()) })
		}
		processes[0].segments.maxMemory = 20_000
		indexed, asked := 0, 0
		rapid.Check(t, func(t *rapid.T) {
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			first := ids.Add(1_000_000)
			s := &segmentScript{script: &script{random: random, base: first, last: first}}
			if random.IntN(2) == 0 {
				s.made = func() time.Time { return time.UnixMilli(1_000_000_000 + random.Int64N(1000)) } // in any order
			}
			steps := []func() (any, error){
				s.change, s.rename, s.rename, s.remove, s.handOver, s.handOver, s.handOver, s.handOver, s.fileClaim, s.moveClaim, s.moveClaim,
				s.link, s.restore, s.addUser, s.addWarranty, s.addWarranty, s.addWarranty,
			}
			for i := range rapid.IntRange(30, 60).Draw(t, "steps") {
				s.Store = processes[random.IntN(2)]
				switch {
				case i < 3:
					s.told(s.addUser())
				case i < 20:
					s.told(s.addWarranty())
				default:
					s.told(steps[random.IntN(len(steps))]())
				}
				if random.IntN(3) == 0 {
					fault.Store(uint32(max(0, random.IntN(6)-3)))
					s.maintain(t)
					fault.Store(0)
				}
				s.Store = processes[random.IntN(2)]
				user := s.users[random.IntN(len(s.users))].ID
				if s.compare(t, user, i) {
					indexed++
				}
				asked++
			}
		})
		if indexed*8 < asked {
			t.Errorf("only %d of %d questions were answered by an index", indexed, asked)
		}
	})
}

// segmentScript adds steps that change what a search sees.
type segmentScript struct {
	*script
	handed []warranty.ID // records that were transferred
}

// maintain runs the background task for the users of this script. Its errors are those that were
// injected.
func (s *segmentScript) maintain(t *rapid.T) {
	for _, u := range s.users {
		s.segments.noteLength(u.ID, 1<<20)
	}
	var refusal *warranty.Error
	if err := s.MaintainSegments(context.Background()); err != nil && !errors.As(err, &refusal) {
		t.Fatal(err)
	}
}

// rename changes fields that lists do not filter on.
func (s *segmentScript) rename() (any, error) {
	user, id := s.user(), s.warranty()
	return nil, s.write(func(tx *Tx) error {
		w, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: id})
		if err != nil {
			return err
		}
		changed := w
		changed.ProductName, changed.Supplier = s.word(), s.optional()
		changed.UpdatedAt, changed.Version = s.now(), w.Version+1
		if s.random.IntN(2) == 0 {
			external := fmt.Sprint("ext-", s.last)
			changed.ExternalID = &external
		}
		return tx.UpdateWarranty(w, changed)
	})
}

// handOver transfers a record to a user, often one that was transferred before: its owner loses access.
func (s *segmentScript) handOver() (any, error) {
	id, user, code := s.warranty(), s.user(), s.hash(int(s.last))
	if len(s.handed) > 1 && s.random.IntN(3) > 0 {
		id = s.handed[s.random.IntN(len(s.handed))]
	}
	s.handed = append(s.handed, id)
	return nil, s.write(func(tx *Tx) error {
		if err := tx.OfferTransfer(id, code, s.now().Add(time.Hour)); err != nil {
			return err
		}
		_, err := tx.AcceptTransfer(code, user, s.now())
		return err
	})
}

// link makes a user the seller of the records that name one of the addresses.
func (s *segmentScript) link() (any, error) {
	user, address := s.user(), s.address()
	return nil, s.write(func(tx *Tx) error {
		_, _, err := tx.LinkSeller(user, address, warranty.ID{}, 1000)
		return err
	})
}

// restore moves everything of one user to another.
func (s *segmentScript) restore() (any, error) {
	from, to := s.user(), s.user()
	if from == to || s.random.IntN(3) > 0 {
		return nil, nil
	}
	return nil, s.write(func(tx *Tx) error {
		if err := tx.SetAside(from, to, s.now()); err != nil {
			return err
		}
		_, err := tx.RestoreSetAside(to)
		return err
	})
}

// anyQuestion returns a random question with every filter and order.
func (s *segmentScript) anyQuestion() warranty.ListWarranties {
	in := s.question()
	if s.random.IntN(2) == 0 {
		in.WarrantyFilter = warranty.WarrantyFilter{Q: in.Q}
	}
	sometimes := func(do func()) {
		if s.random.IntN(8) == 0 {
			do()
		}
	}
	sometimes(func() { in.Q = fmt.Sprint("ext ", s.random.IntN(10)) })
	sometimes(func() { in.Q = string(oneOf(s.script, s.references, "WR-0000")) })
	sometimes(func() { in.Supplier = s.word() })
	sometimes(func() { in.Seller = s.word() })
	sometimes(func() { in.EndsFrom = s.today() + warranty.Date(s.random.IntN(40)) })
	sometimes(func() { in.EndsTo = s.today() + warranty.Date(s.random.IntN(40)) })
	sometimes(func() { in.CoveredOn = s.today() + warranty.Date(s.random.IntN(40)-20) })
	if s.random.IntN(4) == 0 {
		open := s.random.IntN(2) == 0
		in.HasOpenClaim = &open
	}
	sorts := in.Sort.Values()
	in.Sort = warranty.WarrantySort(sorts[s.random.IntN(len(sorts))])
	return in
}

// compare asks a random question and compares the answer with a scan of all records. It reports
// whether an index answered.
func (s *segmentScript) compare(t fataler, user warranty.ID, step int) (indexed bool) {
	ctx, in := context.Background(), s.anyQuestion()
	question := find.QuestionOf(in.WarrantyFilter, in.Sort, s.today())
	groups := warranty.SummaryGroup("").Values()
	summarize := warranty.SummarizeWarranties{WarrantyFilter: in.WarrantyFilter, Limit: 3,
		GroupBy: warranty.SummaryGroup(groups[s.random.IntN(len(groups))])}
	var records []find.Record
	counts := find.NewCounts(summarize.GroupBy)
	err := s.db.Read(ctx, func(q engine.Querier) error {
		index, err := s.segmentsOf(ctx, q, user)
		indexed = index != nil
		if err != nil {
			return err
		}
		return s.eachRecord(ctx, q, user, "", question, func(r find.Record) {
			records = append(records, r)
			counts.Add(&r, s.today())
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(records, func(a, b find.Record) int { return question.Compare(&a, &b) })
	var want, got []warranty.ID
	for _, r := range pageOf(records, in.Paging) {
		want = append(want, r.ID)
	}
	list, total, err := s.Warranties(ctx, user, in, s.today())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		got = append(got, w.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || total != int64(len(records)) {
		t.Fatalf("after step %d, total %d instead of %d for %+v; scan (-) and index (+):\n%s",
			step, total, len(records), in, diff)
	}
	summary, err := s.Summary(ctx, user, summarize, s.today())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(counts.Summary(s.today(), 3), summary); diff != "" {
		t.Fatalf("after step %d, by %s, for %+v; scan (-) and index (+):\n%s", step, summarize.GroupBy, in, diff)
	}
	s.compareEnding(t, user)
	return indexed
}

// compareEnding compares the warranties that end soon with a scan of all records.
func (s *segmentScript) compareEnding(t fataler, user warranty.ID) {
	ctx, last := context.Background(), s.today()+warranty.Date(s.random.IntN(40))
	question := &find.Question{Today: s.today(), ExpiringBy: &last, Sort: warranty.ByEndDate}
	var records []find.Record
	want, days := []warranty.ID{}, map[warranty.Date]int64{}
	err := s.eachRecord(ctx, s.db, user, "", question, func(r find.Record) {
		records = append(records, r)
		days[r.End]++
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(records, func(a, b find.Record) int { return question.Compare(&a, &b) })
	for _, r := range records[:min(3, len(records))] {
		want = append(want, r.ID)
	}
	list, err := s.Ending(ctx, user, s.today(), last, 3)
	if err != nil {
		t.Fatal(err)
	}
	got := []warranty.ID{}
	for _, w := range list {
		got = append(got, w.ID)
	}
	counts, err := s.EndDates(ctx, user, s.today(), last)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got) + cmp.Diff(days, counts); diff != "" {
		t.Fatalf("ending by %v; scan (-) and index (+):\n%s", last, diff)
	}
}

// sameSnapshot compares the answer of an index with a scan in one snapshot, while others write. It
// reports whether there was an index.
func (s *Store) sameSnapshot(user warranty.ID, in warranty.ListWarranties, today warranty.Date) (bool, error) {
	ctx, question := context.Background(), find.QuestionOf(in.WarrantyFilter, in.Sort, today)
	indexed := false
	err := s.db.Read(ctx, func(q engine.Querier) error {
		index, err := s.segmentsOf(ctx, q, user)
		indexed = index != nil
		if err != nil || !indexed {
			return err
		}
		var records []find.Record
		err = s.eachRecord(ctx, q, user, "", question, func(r find.Record) { records = append(records, r) })
		if err != nil {
			return err
		}
		slices.SortFunc(records, func(a, b find.Record) int { return question.Compare(&a, &b) })
		want := make([]warranty.ID, 0, len(records))
		for _, r := range records {
			want = append(want, r.ID)
		}
		answer, err := index.Ask(question, 0, 1000)
		if err != nil {
			return err
		}
		if !slices.Equal(want, answer.IDs) {
			return fmt.Errorf("%+v: scan (-) and index (+):\n%s", in, cmp.Diff(want, answer.IDs))
		}
		return nil
	})
	return indexed, err
}

// TestSegmentsAgreeWhileOthersWrite compares answers with scans in the same snapshot, while two
// processes write and merge.
func TestSegmentsAgreeWhileOthersWrite(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		processes := []*Store{open(t, database), open(t, database)}
		scripts := make([]*segmentScript, 4)
		base := ids.Add(1_000_000)
		first := &segmentScript{script: &script{Store: processes[0], random: rand.New(rand.NewPCG(1, 1)), base: base, last: base, sure: true}}
		for _, p := range processes {
			p.SegmentLists(6, 5, 0)
		}
		for range 2 {
			first.must(t, first.addUser)
		}
		for range 12 {
			first.must(t, first.addWarranty)
		}
		for i := range scripts {
			c := *first.script
			c.Store, c.random, c.last = processes[i%2], rand.New(rand.NewPCG(uint64(i), 2)), base+uint64(i+1)*10_000
			scripts[i] = &segmentScript{script: &c}
		}
		var writing atomic.Int32
		writing.Store(int32(len(scripts)))
		var asked atomic.Int32
		testenv.Together(len(scripts)+4, func(i int) {
			p := processes[i%2]
			switch {
			case i < len(scripts):
				defer writing.Add(-1)
				s := scripts[i]
				steps := []func() (any, error){s.rename, s.rename, s.rename, s.rename, s.fileClaim, s.moveClaim, s.addWarranty, s.remove}
				for range 150 {
					s.told(steps[s.random.IntN(len(steps))]())
				}
			case i < len(scripts)+2:
				for writing.Load() > 0 {
					for _, u := range first.users {
						p.segments.noteLength(u.ID, 1<<20)
					}
					if err := p.MaintainSegments(context.Background()); err != nil {
						t.Error(err)
					}
				}
			default:
				random := &segmentScript{script: &script{random: rand.New(rand.NewPCG(uint64(i), 3)), references: first.references}}
				for writing.Load() > 0 {
					in := random.anyQuestion()
					indexed, err := p.sameSnapshot(first.users[i%2].ID, in, first.today())
					if err != nil {
						t.Error(err)
						return
					}
					if indexed {
						asked.Add(1)
					}
				}
			}
		})
		if asked.Load() == 0 {
			t.Error("no question was answered by an index")
		}
		for _, u := range first.users {
			for range 20 {
				scripts[0].compare(t, u.ID, 0)
			}
		}
	})
}

// TestALateCommitIsIndexed // D2: a transaction changes a record of a list that is not indexed yet, and
// is delayed while another process makes the index.
func TestALateCommitIsIndexed(t *testing.T) {
	database := testenv.Postgres(t)
	writer, other := open(t, database), open(t, database)
	base := ids.Add(1_000_000)
	s := &segmentScript{script: &script{Store: writer, random: rand.New(rand.NewPCG(1, 1)), base: base, last: base, sure: true}}
	s.must(t, s.addUser)
	for range 12 {
		s.must(t, s.addWarranty)
	}
	user := s.users[0].ID
	for i, late := range []func(*Tx) error{
		func(tx *Tx) error { // changes no access row
			w, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: s.warranties[0]})
			if err != nil {
				return err
			}
			changed := w
			changed.ProductName, changed.Version = "late", w.Version+1
			return tx.UpdateWarranty(w, changed)
		},
		func(tx *Tx) error {
			w, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: s.warranties[1]})
			if err != nil {
				return err
			}
			return tx.DeleteWarranty(w, s.now())
		},
	} {
		other.SegmentLists(6, 5, 0)
		if err := writer.Write(t.Context(), func(tx *Tx) error { return tx.later(`DELETE FROM find_lists`) }); err != nil {
			t.Fatal(err)
		}
		held, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- writer.Write(context.Background(), func(tx *Tx) error {
				if err := late(tx); err != nil {
					return err
				}
				if _, err := tx.exec(`UPDATE mails SET attempts = 0`); err != nil { // flushes the queue
					return err
				}
				close(held)
				<-release
				return nil
			})
		}()
		testenv.Receive(t, "the transaction to start", held)
		for range 3 {
			if err := other.MaintainSegments(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		close(release)
		if err := testenv.Receive(t, "the late commit", done); err != nil {
			t.Fatal(err)
		}
		s.Store = other
		testenv.Wait(t, "the index", func() bool {
			if err := other.MaintainSegments(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s.compare(t, user, i)
		})
		for range 30 {
			s.compare(t, user, i)
		}
		s.Store = writer
	}
}

// TestACorruptIndexIsReplaced damages parts of an index.
func TestACorruptIndexIsReplaced(t *testing.T) {
	each(t, func(t *testing.T, st *Store) {
		st.SegmentLists(6, 5, 0)
		base := ids.Add(1_000_000)
		s := &segmentScript{script: &script{Store: st, random: rand.New(rand.NewPCG(1, 1)), base: base, last: base, sure: true}}
		s.must(t, s.addUser)
		for range 12 {
			s.must(t, s.addWarranty)
		}
		user := s.users[0].ID
		for _, damage := range []string{
			`DELETE FROM find_parts`,
			`UPDATE find_parts SET data = part`,
			`UPDATE find_segments SET size = size + 300`,
		} {
			for range 2 {
				if err := st.MaintainSegments(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if !s.compare(t, user, 0) {
				t.Fatal("there is no index")
			}
			if err := s.write(func(tx *Tx) error {
				if err := tx.later(damage); err != nil {
					return err
				}
				return tx.later(`UPDATE find_segments SET version = version / 2`) // or the cache would answer
			}); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				s.compare(t, user, 1)
			}
			s.must(t, s.addWarranty)
			s.compare(t, user, 2)
		}
	})
}

// TestAnIndexFarBehindIsNotUsed changes more records at once than an index may leave pending.
func TestAnIndexFarBehindIsNotUsed(t *testing.T) {
	each(t, func(t *testing.T, st *Store) {
		st.SegmentLists(6, 5, 0)
		st.segments.maxPending = 3
		base := ids.Add(1_000_000)
		s := &segmentScript{script: &script{Store: st, random: rand.New(rand.NewPCG(1, 1)), base: base, last: base, sure: true}}
		s.must(t, s.addUser)
		for range 12 {
			s.must(t, s.addWarranty)
		}
		user := s.users[0].ID
		for range 2 {
			if err := st.MaintainSegments(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			found, err := st.withIndex(t.Context(), user, func(engine.Querier, *segmentList) error { return nil })
			if want := i <= 3; err != nil || found != want {
				t.Errorf("with %d pending records an index is used: %v, want %v; %v", i, found, want, err)
			}
			s.compare(t, user, i)
			s.must(t, s.addWarranty)
		}
	})
}

// TestChangesOfAnOlderReleaseAreFound changes a record without noting it, as the previous release does.
func TestChangesOfAnOlderReleaseAreFound(t *testing.T) {
	each(t, func(t *testing.T, st *Store) {
		st.SegmentLists(6, 5, 0)
		base := ids.Add(1_000_000)
		s := &segmentScript{script: &script{Store: st, random: rand.New(rand.NewPCG(1, 1)), base: base, last: base, sure: true}}
		s.must(t, s.addUser)
		for range 12 {
			s.must(t, s.addWarranty)
		}
		user := s.users[0].ID
		maintain := func() {
			t.Helper()
			if err := st.MaintainSegments(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		maintain()
		if !s.compare(t, user, 0) {
			t.Fatal("there is no index")
		}
		if err := s.write(func(tx *Tx) error {
			if err := tx.later(`UPDATE warranties SET product_name = 'older' WHERE id = $1`, s.warranties[3]); err != nil {
				return err
			}
			return tx.later(`INSERT INTO history (thread_id, id, at, actor_id, actor, door, action, subject_id, changes)
				VALUES ($1, $2, $3, $4, 'x', 1, 1, $1, '[]')`, s.warranties[3], newID(), s.now(), user)
		}); err != nil {
			t.Fatal(err)
		}
		find := func() int64 {
			in := warranty.ListWarranties{Paging: s.paging(), WarrantyFilter: warranty.WarrantyFilter{Q: "older"}}
			_, total, err := st.Warranties(t.Context(), user, in, s.today())
			if err != nil {
				t.Fatal(err)
			}
			return total
		}
		if s.compare(t, user, 1) || find() != 1 {
			t.Error("an index answered that lacks a change")
		}
		maintain()
		if !s.compare(t, user, 2) || find() != 1 {
			t.Error("the change was not noted")
		}
		st.SetClock(func() time.Time { return s.now().Add(48 * time.Hour) })
		maintain()
		if !s.compare(t, user, 3) || number(t, st, `SELECT count(*) FROM find_older`) != 0 {
			t.Error("the event was not forgotten")
		}
	})
}

type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}
