package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
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
			p.SegmentLists(3, 4, 2)
			p.InjectFaults(func() engine.Fault { return engine.Fault(fault.Load()) })
		}
		processes[0].lists.Limits.Memory = 20_000
		indexed, asked := map[lists.Kind]int{}, 0
		testenv.Check(t, checks(database, 30, 10), func(t *rapid.T) { // each asks for three kinds of records
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			first := ids.Add(1_000_000)
			s := &segmentScript{script: &script{Store: processes[0], random: random, base: first, last: first}}
			for _, table := range []string{"users", "domains", "access", "index_lists"} { // those of the script before
				if err := s.write(func(tx *Tx) error { return tx.later(`DELETE FROM ` + table) }); err != nil {
					t.Fatal(err)
				}
			}
			if random.IntN(2) == 0 {
				s.made = func() time.Time { return time.UnixMilli(1_000_000_000 + random.Int64N(1000)) } // in any order
			}
			steps := []func() (any, error){
				s.change, s.rename, s.rename, s.remove, s.handOver, s.handOver, s.handOver, s.handOver, s.fileClaim, s.moveClaim, s.moveClaim,
				s.link, s.link, s.restore, s.addUser, s.addWarranty, s.addWarranty, s.addWarranty, s.fileClaim, s.upload, s.upload, s.removeDocument,
				s.verify, s.verify, s.offer, s.offer, s.confirm, s.assign, s.assign, s.assign, s.unassign,
			}
			for i := range rapid.IntRange(35, 60).Draw(t, "steps") {
				s.Store = processes[random.IntN(2)]
				switch {
				case i < 3:
					s.told(s.addUser())
				case i < 12:
					s.told(s.addWarranty())
				case i < 24:
					s.addChildren()
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
				for k := range s.compare(t, user, i) {
					indexed[k]++
				}
				asked++
			}
		})
		for _, k := range []lists.Kind{lists.Warranties, lists.Claims, lists.Documents} {
			if indexed[k]*8 < asked {
				t.Errorf("only %d of %d questions about kind %d were answered by an index", indexed[k], asked, k)
			}
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
		s.lists.NoteLength(u.ID, 1<<20)
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
		changed.ProductName, changed.Supplier, changed.CustomerName = s.word(), s.optional(), s.optional()
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
	id, user := s.warranty(), s.user()
	if len(s.handed) > 1 && s.random.IntN(3) > 0 {
		id = s.handed[s.random.IntN(len(s.handed))]
	}
	s.handed = append(s.handed, id)
	return nil, s.write(func(tx *Tx) error {
		from, roles, err := tx.ownerOf(id)
		if err != nil || from == user {
			return err
		}
		if roles.SelfRecorded() {
			return tx.passOn(id, from, user)
		}
		return tx.MoveOwner(id, from, user)
	})
}

// link makes a user the seller of the records that name one of the addresses.
func (s *segmentScript) link() (any, error) {
	user, address := s.user(), s.address()
	return nil, s.write(func(tx *Tx) error {
		return linkSeller(tx, user, address, s.now())
	})
}

// verify makes a user an organization with a verified domain, or ends that.
func (s *segmentScript) verify() (any, error) {
	user, id := s.user(), s.id()
	return nil, s.write(func(tx *Tx) error {
		if s.random.IntN(4) == 0 {
			return tx.later(`DELETE FROM domains WHERE account_id = $1`, user)
		}
		if err := tx.later(`UPDATE users SET kind = 2 WHERE id = $1`, user); err != nil {
			return err
		}
		d := warranty.Domain{ID: id, Domain: id.String() + ".example", CreatedAt: s.now()}
		if err := tx.InsertDomain(user, d, "token"); err != nil {
			return err
		}
		return tx.VerifyDomain(id, true, s.now())
	})
}

// offer offers a record to a customer, or ends an offer. Some offers have expired.
func (s *segmentScript) offer() (any, error) {
	user, id, code := s.user(), s.warranty(), s.hash(int(s.last))
	return nil, s.write(func(tx *Tx) error {
		w, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: id})
		if err != nil {
			return err
		}
		if s.random.IntN(3) == 0 {
			return tx.CancelHandover(id, s.now())
		}
		now := s.now()
		expires := s.Now().Add(time.Duration(s.random.IntN(2)*48-24) * time.Hour)
		w.Offer, w.CustomerName = warranty.Offer{OfferedAt: &now, ExpiresAt: &expires}, s.optional()
		if s.random.IntN(2) == 0 {
			address := s.address()
			w.Offer.Email = &address
		}
		return tx.OfferHandover(w, OfferCode{
			Hash: code, Warranty: id, Giver: user, By: user, Email: w.Offer.Email, Expires: expires,
		}, now)
	})
}

// confirm makes a user the confirmed seller of a record, or ends that.
func (s *segmentScript) confirm() (any, error) {
	user, id := s.user(), s.warranty()
	return nil, s.write(func(tx *Tx) error {
		if s.random.IntN(4) == 0 {
			return tx.RemoveSeller(user, id, s.now())
		}
		_, err := tx.AddSeller(user, id, s.now())
		return err
	})
}

// assign makes a user the one who works on a claim for another, or no one.
func (s *segmentScript) assign() (any, error) {
	organization, claim, user := s.user(), oneOf(s.script, s.claims, warranty.ID{3}), s.user()
	return nil, s.write(func(tx *Tx) error {
		if s.random.IntN(4) == 0 {
			return tx.AssignClaim(organization, claim, nil)
		}
		return tx.AssignClaim(organization, claim, &user)
	})
}

// unassign ends the work of a user for another.
func (s *segmentScript) unassign() (any, error) {
	organization, user := s.user(), s.user()
	return nil, s.write(func(tx *Tx) error { return tx.Unassign(organization, user) })
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

// addChildren adds a claim and a document to a warranty, for whoever can see it.
func (s *segmentScript) addChildren() {
	sure := s.sure
	s.sure = true
	for _, add := range []func() (any, error){s.fileClaim, s.upload} {
		for range 6 {
			if _, err := add(); err == nil {
				break
			}
		}
	}
	s.sure = sure
}

// removeDocument deletes a document.
func (s *segmentScript) removeDocument() (any, error) {
	user, id := s.user(), oneOf(s.script, s.documents, warranty.ID{4})
	return nil, s.write(func(tx *Tx) error {
		f, err := tx.LockFile(user, id)
		if err != nil {
			return err
		}
		return tx.DeleteDocument(f.Document, s.now())
	})
}

// sameSnapshot compares the answer of an index with a scan in one snapshot, while others write. It
// reports whether there was an index.
func (s *Store) sameSnapshot(l *lists.List, question *find.Question) (indexed bool, err error) {
	ctx := context.Background()
	err = s.db.Read(ctx, func(q engine.Querier) error {
		index, err := s.lists.Open(ctx, q, l.Key)
		indexed = index != nil
		if err != nil || !indexed {
			return err
		}
		var records []find.Record
		err = s.lists.Each(ctx, q, l, question, func(r find.Record) { records = append(records, r) })
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
			return fmt.Errorf("kind %d, %+v %+v: scan (-) and index (+):\n%s",
				l.Kind, question, question.Query, cmp.Diff(want, answer.IDs))
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
		for range 10 {
			first.must(t, first.fileClaim)
			first.must(t, first.upload)
		}
		for i := range scripts {
			c := *first.script
			c.Store, c.random, c.last = processes[i%2], rand.New(rand.NewPCG(uint64(i), 2)), base+uint64(i+1)*10_000
			scripts[i] = &segmentScript{script: &c}
		}
		var writing atomic.Int32
		writing.Store(int32(len(scripts)))
		var asked [4]atomic.Int32 // by kind
		testenv.Together(len(scripts)+4, func(i int) {
			p := processes[i%2]
			switch {
			case i < len(scripts):
				defer writing.Add(-1)
				s := scripts[i]
				steps := []func() (any, error){s.rename, s.rename, s.rename, s.rename, s.fileClaim, s.moveClaim, s.addWarranty, s.remove,
					s.upload, s.upload, s.removeDocument}
				for range 150 {
					s.told(steps[s.random.IntN(len(steps))]())
				}
			case i < len(scripts)+2:
				for writing.Load() > 0 {
					for _, u := range first.users {
						p.lists.NoteLength(u.ID, 1<<20)
					}
					if err := p.MaintainSegments(context.Background()); err != nil {
						t.Error(err)
					}
				}
			default:
				random := &segmentScript{script: &script{random: rand.New(rand.NewPCG(uint64(i), 3)), references: first.references}}
				for writing.Load() > 0 {
					in := random.anyQuestion()
					for k, question := range map[lists.Kind]*find.Question{
						lists.Warranties: find.QuestionOf(in.WarrantyFilter, in.Sort, first.today()),
						lists.Claims:     childQuestion(random.anyWords(), warranty.EnumOf[warranty.ClaimStatus](random.random.Int64N(4))),
						lists.Documents:  childQuestion(random.anyWords(), ""),
					} {
						indexed, err := p.sameSnapshot(lists.Of(first.users[i%2].ID, k), question)
						if err != nil {
							t.Error(err)
							return
						}
						if indexed {
							asked[k].Add(1)
						}
					}
				}
			}
		})
		for _, k := range []lists.Kind{lists.Warranties, lists.Claims, lists.Documents} {
			if asked[k].Load() == 0 {
				t.Errorf("no question about kind %d was answered by an index", k)
			}
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
	t.Parallel()
	database := newPostgres(t)
	writer, other := open(t, database), open(t, database)
	base := ids.Add(1_000_000)
	s := &segmentScript{script: &script{Store: writer, random: rand.New(rand.NewPCG(1, 1)), base: base, last: base, sure: true}}
	s.must(t, s.addUser)
	for range 12 {
		s.must(t, s.addWarranty)
	}
	for range 8 {
		s.must(t, s.fileClaim)
		s.must(t, s.upload)
	}
	user := s.users[0].ID
	everything := map[lists.Kind]bool{lists.Warranties: true, lists.Claims: true, lists.Documents: true}
	for i, late := range []func(*Tx) error{
		func(tx *Tx) error {
			c, _, err := tx.LockClaim(user, warranty.ClaimKey{ID: s.claims[0]})
			if err != nil {
				return err
			}
			c.Status = warranty.Rejected
			return tx.UpdateClaim(c, warranty.Submitted)
		},
		func(tx *Tx) error {
			f, err := tx.LockFile(user, s.documents[0])
			if err != nil {
				return err
			}
			return tx.DeleteDocument(f.Document, s.now())
		},
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
		if err := writer.Write(t.Context(), func(tx *Tx) error { return tx.later(`DELETE FROM index_lists`) }); err != nil {
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
			return maps.Equal(s.compare(t, user, i), everything)
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
			`DELETE FROM index_parts`,
			`DELETE FROM index_parts WHERE part IN (/*pg: '\x6362', '\x6369' */ /*sqlite: x'6362', x'6369' */)`,
			`UPDATE index_parts SET data = part`,
			`UPDATE index_segments SET size = size + 300`,
		} {
			for range 2 {
				if err := st.MaintainSegments(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if !s.compare(t, user, 0)[lists.Warranties] {
				t.Fatal("there is no index")
			}
			if err := s.write(func(tx *Tx) error {
				if err := tx.later(damage); err != nil {
					return err
				}
				return tx.later(`UPDATE index_segments SET version = version / 2`) // or the cache would answer
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
		st.lists.Limits.Pending = 3
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
			found, err := st.lists.With(t.Context(), lists.Key{User: user, Kind: lists.Warranties}, func(engine.Querier, *lists.Snapshot) error { return nil })
			if want := i <= 3; err != nil || found != want {
				t.Errorf("with %d pending records an index is used: %v, want %v; %v", i, found, want, err)
			}
			s.compare(t, user, i)
			s.must(t, s.addWarranty)
		}
	})
}

// TestKnownPagesFollowOtherProcesses: a process that answers from the snapshot that it knows notices what another one
// changed since, in pages, searches and counts.
func TestKnownPagesFollowOtherProcesses(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		here, there := open(t, database), open(t, database)
		here.SegmentLists(3, 4, 2)
		there.SegmentLists(3, 4, 2)
		base := ids.Add(1_000_000)
		s := &segmentScript{script: &script{Store: there, random: rand.New(rand.NewPCG(1, 1)), base: base, last: base, sure: true}}
		s.must(t, s.addUser)
		for range 12 {
			s.must(t, s.addWarranty)
		}
		user, today := s.users[0].ID, s.today()
		maintain := func() {
			there.lists.NoteLength(user, 1<<20)
			for range 2 {
				if err := there.MaintainSegments(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		in := warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 100}}
		sorted := in
		sorted.Sort = warranty.ByProductName
		maintain()
		for what, total := range map[string]func() (int64, error){
			"page": func() (n int64, err error) { _, n, err = here.Warranties(t.Context(), user, in, today); return n, err },
			"search": func() (n int64, err error) {
				_, n, err = here.Warranties(t.Context(), user, sorted, today)
				return n, err
			},
			"count": func() (int64, error) {
				n, err := here.Summary(t.Context(), user, warranty.SummarizeWarranties{GroupBy: warranty.GroupByStatus, Limit: 10}, today)
				return n.Total, err
			},
		} {
			for i, step := range []func(){
				func() {}, func() { s.must(t, s.addWarranty) }, func() { s.must(t, s.delete) }, maintain,
				func() { s.must(t, s.addWarranty); maintain() },
			} {
				for range 3 { // the third answer is that of a known snapshot
					if _, err := total(); err != nil {
						t.Fatal(err)
					}
				}
				step()
				want := number(t, there, `SELECT count(*) FROM access WHERE user_id = $1 AND kind = 1`, user)
				if got, err := total(); got != want || err != nil {
					t.Errorf("step %d: the total of the %s is %d, want %d: %v", i, what, got, want, err)
				}
			}
		}
	})
}
