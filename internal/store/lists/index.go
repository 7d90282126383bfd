package lists

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Index is the index of the long lists of a database. It caches the loaded parts of segments and knows which lists may
// be long.
type Index struct {
	// Limits must not change after first use.
	Limits Limits
	// Scans serializes searches that read every record of a user.
	Scans *Gate

	db      *engine.DB
	mu      sync.Mutex
	entries map[segmentID]*segment
	memory  int
	// candidates are users whose lists may be long.
	candidates map[warranty.ID]bool
	walked     warranty.ID    // the last user whose list was counted
	indexed    map[Key]bool   // lists that had an index recently
	corrupt    map[int64]bool // indexes to drop
	pending    map[int64]*pendingSet
	latest     map[Key]seen
}

// Limits are the sizes of an index. Tests, whose lists are short, have smaller ones.
type Limits struct {
	// Lists with more than Long records are indexed, until they have at most a quarter of it.
	Long int64
	// Records in a segment: at most Segment, and Build in a new index.
	Segment, Build int
	// Pending records are merged once there are more than Merge, and PerSegment for each segment.
	Merge, PerSegment int
	// With more pending records than Pending, a scan answers until they are merged.
	Pending int
	// Memory is the size of the cache of segments in bytes.
	Memory int
}

// New returns the index of a database.
func New(db *engine.DB) *Index {
	return &Index{
		Limits: Limits{
			Long:       2000,
			Segment:    find.MaxSegment,
			Build:      find.MaxSegment * 3 / 4,
			Merge:      1024,
			PerSegment: 48,
			Pending:    find.MaxSegment,
			Memory:     64 << 20,
		},
		Scans:      NewGate(),
		db:         db,
		entries:    map[segmentID]*segment{},
		candidates: map[warranty.ID]bool{},
		corrupt:    map[int64]bool{},
		pending:    map[int64]*pendingSet{},
		latest:     map[Key]seen{},
	}
}

// Snapshot is an indexed list in one snapshot.
type Snapshot struct {
	find.List
	list    int64
	keys    map[*find.Segment]segmentID
	entries map[segmentID]*segment
	// versions are those of the segments.
	versions []int64
	*pendingSet
}

// With runs fn with the index of a list, in one snapshot, and reports whether there is one.
func (x *Index) With(
	ctx context.Context, key Key, fn func(engine.Querier, *Snapshot) error,
) (found bool, err error) {
	if indexed, err := x.IsIndexed(ctx, key); err != nil || !indexed {
		return false, err
	}
	err = x.db.Read(ctx, func(q engine.Querier) error {
		found, err = x.use(ctx, q, key, func(s *Snapshot) error { return fn(q, s) })
		return err
	})
	return found, err
}

// Answers reports whether a list had an index recently that can answer questions about it.
func (x *Index) Answers(ctx context.Context, l *List) (bool, error) {
	if !l.isWhole() {
		return false, nil
	}
	return x.IsIndexed(ctx, l.Key)
}

// IsIndexed reports whether a list had an index recently.
func (x *Index) IsIndexed(ctx context.Context, key Key) (bool, error) {
	x.mu.Lock()
	indexed, known := x.indexed[key], x.indexed != nil
	x.mu.Unlock()
	if known {
		return indexed, nil
	}
	lists, err := x.indexedLists(ctx)
	if err != nil {
		return false, err
	}
	x.setIndexed(lists)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.indexed[key], nil
}

// use runs fn with the index of a list and reports whether there is one. One that is far
// behind is none, and neither is a corrupt one, which is dropped later.
func (x *Index) use(
	ctx context.Context, q engine.Querier, key Key, fn func(*Snapshot) error,
) (bool, error) {
	s, err := x.Open(ctx, q, key)
	if err != nil || s == nil || len(s.Pending) > x.Limits.Pending {
		return false, err
	}
	if err = fn(s); errors.Is(err, find.ErrCorrupt) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.corrupt[s.list] = true
		return false, nil
	}
	return true, err
}

// Ready returns the lists that have an index.
func Ready(ctx context.Context, q engine.Querier) (ready []*List, err error) {
	err = q.Query(ctx, `SELECT user_id, kind FROM index_lists WHERE ready_at IS NOT NULL ORDER BY user_id, kind`,
		func(r *engine.Row) error { ready = append(ready, Of(r.ID(), Kind(r.Int()))); return nil })
	return ready, err
}

// Open returns the index of a list, or nil if there is none yet.
func (x *Index) Open(ctx context.Context, q engine.Querier, key Key) (*Snapshot, error) {
	s := &Snapshot{
		keys:    map[*find.Segment]segmentID{},
		entries: map[segmentID]*segment{},
	}
	found, sum := false, int64(0)
	err := q.Query(ctx, `SELECT l.list, l.sum, s.seg, s.version, s.first_id, s.size
		FROM (SELECT l.list,
				(SELECT CAST(COALESCE(sum(p.n), 0) AS BIGINT) FROM index_pending p WHERE p.list = l.list) AS sum
			FROM index_lists l WHERE l.user_id = $1 AND l.kind = $2 AND l.ready_at IS NOT NULL LIMIT 1) l
		LEFT JOIN index_segments s ON s.list = l.list ORDER BY s.first_id`, func(r *engine.Row) error {
		found = true
		s.list, sum = r.Int(), r.Int()
		if !r.Null() {
			id := segmentID{s.list, r.Int()}
			entry := x.get(id, r.Int(), r.ID(), int(r.Int()))
			s.Segments, s.versions = append(s.Segments, entry.Segment), append(s.versions, entry.version)
			s.keys[entry.Segment], s.entries[id] = id, entry
		}
		return nil
	}, key.User, key.Kind)
	if err != nil || !found {
		return nil, err
	}
	s.Load = func(wants []find.Want) error { return x.loadParts(ctx, q, s, wants) }
	if err = x.readPending(ctx, q, s, key, sum); err == nil {
		x.note(key, s)
	}
	return s, err
}

// loadParts reads parts of segments into the cache.
func (x *Index) loadParts(ctx context.Context, q engine.Querier, s *Snapshot, wants []find.Want) error {
	keys := make([][3]any, len(wants))
	for i, w := range wants {
		keys[i] = [3]any{s.keys[w.Segment].number, hex.EncodeToString([]byte(w.Range.From)),
			hex.EncodeToString([]byte(w.Range.To))}
	}
	param, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	found := make([][]part, len(wants))
	if err := q.Query(ctx, `SELECT n.i, p.part, p.data FROM
		/*pg: (SELECT CAST(i AS BIGINT) - 1 AS i, v FROM json_array_elements($2) WITH ORDINALITY t (v, i)) n
		CROSS JOIN LATERAL (SELECT p.part, p.data FROM index_parts p
			WHERE p.list = $1 AND p.seg = CAST(n.v->>0 AS BIGINT)
				AND p.part >= decode(n.v->>1, 'hex') AND p.part < decode(n.v->>2, 'hex') OFFSET 0) p */
		/*sqlite: (SELECT key AS i, value AS v FROM json_each($2)) n CROSS JOIN index_parts p
		WHERE p.list = $1 AND p.seg = json_extract(n.v, '$[0]')
			AND p.part >= unhex(json_extract(n.v, '$[1]')) AND p.part < unhex(json_extract(n.v, '$[2]')) */`,
		func(r *engine.Row) error {
			i := r.Int()
			found[i] = append(found[i], part{string(r.Bytes()), r.Bytes()})
			return nil
		}, s.list, string(param)); err != nil {
		return err
	}
	for i, w := range wants {
		if err := w.Segment.Load(w.Range, inOrder(found[i])); err != nil {
			return err
		}
	}
	x.resize(s.entries)
	return nil
}

// part is a part of a segment.
type part struct {
	key  string
	data []byte
}

// inOrder returns the data of parts in the order of their keys.
func inOrder(parts []part) [][]byte {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.key, b.key) })
	list := make([][]byte, len(parts))
	for i, p := range parts {
		list[i] = p.data
	}
	return list
}
