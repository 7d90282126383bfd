package find

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// model is a list in two forms: as plain records, and as segments with changes that are not merged
// yet.
type model struct {
	*rand.Rand
	t        testing.TB
	maxSize  int
	records  map[warranty.ID]*Record
	segments []Made
	pending  map[warranty.ID]bool
	last     uint64
}

var vocabulary = []string{
	"Bosch", "BOSCH", "Serie", "washing", "machine", "Kühlschrank", "kuhl", "Straße", "a", "ab", "abc", "日本語", "日", "本語", "語", "x日本", "語x",
	"Ünïcødé", "e\u0301", "4711", "x-9", "🧰", "O'Neil", "fridge", "fr", "f",
}

func (m *model) pick(list []string) string { return list[m.IntN(len(list))] }

func (m *model) phrase(n int) string {
	words := make([]string, m.IntN(n+1))
	for i := range words {
		words[i] = m.pick(vocabulary)
	}
	return strings.Join(words, " ")
}

func (m *model) code() string {
	return fmt.Sprintf("%s-%04d", m.pick([]string{"WR", "Sn", "ab", "Ü"}), m.IntN(300))
}

func (m *model) record(id warranty.ID) *Record {
	start := warranty.Date(1000 + m.IntN(40))
	r := &Record{
		ID:          id,
		Roles:       warranty.RolesOf(1 + m.Int64N(7)),
		Standing:    warranty.EnumOf[warranty.Status](1 + m.Int64N(3)),
		Start:       start,
		End:         start + warranty.Date(m.IntN(60)),
		Category:    m.pick([]string{"", "TV", "tv", "Küche", "KÜCHE", "kuche"}),
		Supplier:    m.phrase(1),
		Seller:      m.phrase(1),
		SellerEmail: m.pick([]string{"", "a@b.example", "bosch"}),
		Name:        m.phrase(3),
		Updated:     m.Int64N(500) * 1_000_000,
		OpenClaim:   m.IntN(4) == 0,
		Brand:       m.pick(vocabulary),
		Issuer:      account(m.IntN(4)),
		ConfirmedBy: account(m.IntN(4)),
		StandsUntil: []int64{0, 100, 200, math.MaxInt64}[m.IntN(4)],
		Customer:    CustomerOf(m.phrase(2), m.pick([]string{"", "Eva.Bosch@b.example", "eva@c.example"})),
	}
	if m.IntN(2) == 0 {
		r.Purchased = warranty.Date(1000 + m.IntN(40))
	}
	if m.IntN(10) == 0 {
		r.End = warranty.Lifetime
	}
	one, two := m.code(), m.code()
	r.Codes = Code(one) + "\n" + Code(two)
	r.Text = strings.Join([]string{r.Name, m.phrase(4), r.Category, r.Supplier, r.Seller, one, two}, "\n")
	return r
}

// id returns a new id, usually the largest so far.
func (m *model) id() (id warranty.ID) {
	m.last += 1000
	n := m.last
	if m.IntN(8) == 0 {
		n = m.Uint64N(m.last) // among the others
	}
	for i := range 8 {
		id[15-i] = byte(n >> (8 * i))
	}
	return id
}

func (m *model) change() {
	known := slices.SortedFunc(maps.Keys(m.records), compareIDs)
	id := m.id()
	switch n := m.IntN(10); {
	case n < 2 && len(known) > 0:
		id = known[m.IntN(len(known))]
		delete(m.records, id)
	case n < 5 && len(known) > 0:
		id = known[m.IntN(len(known))]
		m.records[id] = m.record(id)
	default:
		m.records[id] = m.record(id)
	}
	m.pending[id] = true
}

func (m *model) changes(ids []warranty.ID) []Change {
	slices.SortFunc(ids, compareIDs)
	list := make([]Change, 0, len(ids))
	for _, id := range ids {
		list = append(list, Change{id, m.records[id]})
	}
	return list
}

// list returns the segments with the changes that are not merged.
func (m *model) list() *List {
	l := &List{Pending: m.changes(slices.Collect(maps.Keys(m.pending)))}
	parts := map[*Segment]Parts{}
	for _, made := range m.segments {
		s := NewSegment(made.First, made.Size)
		parts[s] = made.Parts
		l.Segments = append(l.Segments, s)
	}
	l.Load = func(wants []Want) error {
		for _, w := range wants {
			var found [][]byte
			for _, key := range slices.Sorted(maps.Keys(parts[w.Segment])) {
				if key >= w.Range.From && key < w.Range.To {
					found = append(found, parts[w.Segment][key])
				}
			}
			if err := w.Segment.Load(w.Range, found); err != nil {
				return err
			}
		}
		return nil
	}
	return l
}

// merge merges the changes of one segment.
func (m *model) merge() {
	l := m.list()
	if len(l.Pending) == 0 {
		return
	}
	n := l.SegmentOf(l.Pending[m.IntN(len(l.Pending))].ID)
	var own []warranty.ID
	for _, p := range l.Pending {
		if l.SegmentOf(p.ID) == n && m.IntN(5) > 0 {
			own = append(own, p.ID)
			delete(m.pending, p.ID)
		}
	}
	var old Parts
	if len(m.segments) > 0 {
		old = m.segments[n].Parts
	} else {
		m.segments = []Made{{}}
	}
	made, err := Apply(old, m.changes(own), m.maxSize)
	if err != nil {
		m.t.Fatal(err)
	}
	m.segments = slices.Replace(m.segments, n, n+1, made...)
	for _, s := range m.segments {
		if s.Size == 0 || s.Size > m.maxSize {
			m.t.Fatalf("a segment of %d", s.Size)
		}
	}
}

func (m *model) question() *Question {
	f := warranty.WarrantyFilter{}
	sometimes := func(n int, do func()) {
		if m.IntN(n) == 0 {
			do()
		}
	}
	sometimes(2, func() {
		f.Q = m.pick([]string{m.phrase(2), m.pick(vocabulary), m.code(), m.code()[1:5], m.pick(vocabulary) + " " + m.phrase(1), "eva.bosch@b.example", "?", "-", "W", "00", "000"})
	})
	sometimes(4, func() { f.Status = warranty.EnumOf[warranty.Status](1 + m.Int64N(5)) })
	sometimes(6, func() { f.Role = warranty.EnumOf[warranty.Role](1 + m.Int64N(3)) })
	sometimes(6, func() { f.Category = m.pick([]string{"TV", "küche", "kuche", "none"}) })
	sometimes(6, func() { f.Supplier = m.pick(vocabulary) })
	sometimes(6, func() { f.Seller = m.pick(append(slices.Clone(vocabulary), "A@B.example")) })
	sometimes(6, func() { f.EndsFrom = warranty.Date(1000 + m.IntN(100)) })
	sometimes(6, func() { f.EndsTo = warranty.Date(1000 + m.IntN(100)) })
	sometimes(6, func() { f.CoveredOn = warranty.Date(1000 + m.IntN(100)) })
	sometimes(6, func() { f.PurchasedFrom = warranty.Date(1000 + m.IntN(40)) })
	sometimes(6, func() { f.PurchasedTo = warranty.Date(1000 + m.IntN(40)) })
	sometimes(6, func() {
		f.Customer = m.pick([]string{m.phrase(2), m.pick(vocabulary), "EVA", "eva@", "eva@b", "eva.bosch@B", "-"})
	})
	sometimes(6, func() { open := m.IntN(2) == 0; f.HasOpenClaim = &open })
	sometimes(6, func() { days := m.IntN(60); f.ExpiringWithinDays = &days })
	sorts := warranty.WarrantySort("").Values()
	sometimes(4, func() { f.Assurance = warranty.Assurance(m.pick(warranty.Assurance("").Values())) })
	q := QuestionOf(f, warranty.WarrantySort(m.pick(sorts)), warranty.Date(1000+m.IntN(100)))
	if f.Q != "" {
		sometimes(2, func() { q.BestFirst(f.Q) })
	}
	q.Now = []int64{50, 100, 150, 250}[m.IntN(4)]
	q.Verified = map[warranty.ID]bool{account(1 + m.IntN(4)): true, account(1 + m.IntN(4)): true}
	return q
}

// account returns the id of an account; the first one is none.
func account(n int) (id warranty.ID) {
	id[15] = byte(n)
	return id
}

// check compares the answers to a question with what looking at every record gives.
func (m *model) check() {
	q := m.question()
	var fits []*Record
	byGroup := warranty.SummaryGroup(m.pick(warranty.SummaryGroup("").Values()))
	counts := NewCounts(byGroup)
	for _, id := range slices.SortedFunc(maps.Keys(m.records), compareIDs) {
		if r := m.records[id]; q.Matches(r) {
			r.Rank = q.Rank(r)
			fits = append(fits, r)
			counts.Add(r, q.Today)
		}
	}
	slices.SortFunc(fits, q.Compare)
	limit, offset := 1+m.IntN(20), m.IntN(len(fits)+3)
	want := Answer{Total: int64(len(fits))}
	for _, r := range fits[min(offset, len(fits)):min(offset+limit, len(fits))] {
		want.IDs = append(want.IDs, r.ID)
	}
	got, err := m.list().Ask(q, int64(offset), limit)
	if err != nil {
		m.t.Fatal(err)
	}
	if len(got.IDs) == 0 {
		got.IDs = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Fatalf("%+v, from %d: want (-), got (+):\n%s", q, offset, diff)
	}
	groups, err := m.list().Count(q, byGroup)
	if err != nil {
		m.t.Fatal(err)
	}
	if diff := cmp.Diff(counts.Summary(q.Today, 3), groups.Summary(q.Today, 3)); diff != "" {
		m.t.Fatalf("%+v by %s: want (-), got (+):\n%s", q, byGroup, diff)
	}
}

// TestSegmentsAgreeWithRecords compares random lists in segments with their records.
func TestSegmentsAgreeWithRecords(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := &model{
				Rand: rand.New(rand.NewPCG(seed, 1)), t: t, maxSize: []int{4, 16, 100}[seed%3],
				records: map[warranty.ID]*Record{}, pending: map[warranty.ID]bool{},
			}
			for range 150 {
				for range m.IntN(5) {
					m.change()
				}
				if m.IntN(3) == 0 {
					m.merge()
				}
				m.check()
			}
		})
	}
}

// TestLongSegmentsAgreeWithRecords does the same with segments of several chunks.
func TestLongSegmentsAgreeWithRecords(t *testing.T) {
	m := &model{
		Rand: rand.New(rand.NewPCG(1, 2)), t: t, maxSize: 3 * chunk,
		records: map[warranty.ID]*Record{}, pending: map[warranty.ID]bool{},
	}
	for range 12 {
		for range 200 {
			id := m.id()
			m.records[id] = m.record(id)
			m.pending[id] = true
		}
		for range 20 {
			m.change()
		}
		m.merge()
		for range 20 {
			m.check()
		}
	}
}

// BenchmarkApply makes a segment, and applies a few changes to it.
func BenchmarkApply(b *testing.B) {
	m := &model{Rand: rand.New(rand.NewPCG(1, 1)), t: b, records: map[warranty.ID]*Record{}}
	for range MaxSegment * 3 / 4 {
		id := m.id()
		m.records[id] = m.record(id)
		m.records[id].Text += fmt.Sprintf("\nterm%d note%d service%d", m.IntN(2000), m.IntN(1000), m.IntN(100))
	}
	all := m.changes(slices.Collect(maps.Keys(m.records)))
	made, err := Apply(nil, all, MaxSegment)
	if err != nil {
		b.Fatal(err)
	}
	size := 0
	for _, data := range made[0].Parts {
		size += len(data)
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			if _, err := Apply(nil, all, MaxSegment); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(size), "bytes")
		b.ReportMetric(float64(len(made[0].Parts)), "parts")
	})
	b.Run("512", func(b *testing.B) {
		var changes []Change
		for i, c := range all {
			if i%24 == 0 {
				changes = append(changes, Change{c.ID, m.record(c.ID)})
			}
		}
		written := 0
		for b.Loop() {
			next, err := Apply(made[0].Parts, changes, MaxSegment)
			if err != nil {
				b.Fatal(err)
			}
			changed, _ := Diff(made[0].Parts, next[0].Parts)
			written = len(changed)
		}
		b.ReportMetric(float64(written), "parts")
	})
}

// TestSegmentsForgetWhileOthersAsk asks more questions at the same time than a segment remembers.
func TestSegmentsForgetWhileOthersAsk(t *testing.T) {
	var changes []Change
	for i := range 200 {
		var id warranty.ID
		id[0] = byte(i)
		changes = append(changes, Change{ID: id, Record: &Record{ID: id, Standing: warranty.Active, Start: 1, End: warranty.Date(i)}})
	}
	made, err := Apply(nil, changes, MaxSegment)
	if err != nil {
		t.Fatal(err)
	}
	segment := NewSegment(made[0].First, made[0].Size)
	list := List{Segments: []*Segment{segment}, Load: func(wants []Want) error {
		for _, w := range wants {
			if err := w.Segment.Load(w.Range, [][]byte{made[0].Parts[w.Range.From]}); err != nil {
				return err
			}
		}
		return nil
	}}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for n := range 500 {
				day := warranty.Date(1 + (worker*31+n)%199)
				answer, err := list.Ask(&Question{EndsFrom: day}, 0, 1)
				if want := int64(200 - day); err != nil || answer.Total != want {
					t.Errorf("from day %d: %d, want %d, %v", day, answer.Total, want, err)
					return
				}
			}
		})
	}
	all.Wait()
	if len(segment.selected) > maxSelections {
		t.Errorf("%d selections are remembered", len(segment.selected))
	}
}
