package store

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

// Reading every record of a list takes a second for 200,000 of them. Long lists of warranties, claims
// and documents are therefore indexed in segments (package find), which a background task makes and keeps
// up to date (segments_merge.go).
//
// A transaction that changes what a question sees of a record notes the record in index_pending, for
// every indexed list that contains it (noteChanged). A claim or document is found by the words of its
// warranty, so a change of the warranty is a change of both. A question reads the segments and the pending
// records in one snapshot and takes the pending ones from the tables, so its answer is exact no matter
// how far behind the segments are.
//
// Merging replaces a segment and removes the pending rows that it includes, in one transaction. Another
// change of such a record changes n, so its row stays. Segments are prepared from a snapshot and
// written only if their version is still the same, so replicas may merge at the same time.

// segmentCache caches the loaded parts of segments and knows which lists may be long.
type segmentCache struct {
	// Lists with more than long records are indexed, until they have at most a quarter of it.
	long int64
	// Records in a segment: at most size, and build in a new index.
	size, build int
	// Pending records are merged once there are more than merge, and perSegment for each segment.
	merge, perSegment int
	// With more pending records than this, a scan answers until they are merged.
	maxPending int

	mu        sync.Mutex
	entries   map[segmentKey]*segmentEntry
	memory    int
	maxMemory int
	// candidates are users whose lists may be long.
	candidates map[warranty.ID]bool
	walked     warranty.ID      // the last user whose list was counted
	indexed    map[listKey]bool // lists that had an index recently
	corrupt    map[int64]bool   // indexes to drop
	pending    map[int64]*pendingSet
}

type segmentKey struct{ list, number int64 }

type segmentEntry struct {
	*find.Segment
	version int64
	memory  int // its share of segmentCache.memory
}

func newSegmentCache() *segmentCache {
	return &segmentCache{
		long:       2000,
		size:       find.MaxSegment,
		build:      find.MaxSegment * 3 / 4,
		merge:      1024,
		perSegment: 48,
		maxPending: find.MaxSegment,
		entries:    map[segmentKey]*segmentEntry{},
		maxMemory:  64 << 20,
		candidates: map[warranty.ID]bool{},
		corrupt:    map[int64]bool{},
		pending:    map[int64]*pendingSet{},
	}
}

// SegmentLists sets how long a list must be to be indexed in segments, the number of records in a
// segment, and how many changes are left unmerged. It is for tests, whose lists are short, and must be
// called before first use.
func (s *Store) SegmentLists(long int64, size, merge int) {
	s.segments.long, s.segments.size, s.segments.build = long, size, size
	s.segments.merge, s.segments.perSegment = merge, 0
}

// get returns a version of a segment. Other versions are forgotten.
func (c *segmentCache) get(key segmentKey, version int64, first warranty.ID, size int) *segmentEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := c.entries[key]; entry != nil {
		if entry.version == version {
			return entry
		}
		c.forget(key, entry)
	}
	entry := &segmentEntry{Segment: find.NewSegment(first, size), version: version}
	c.entries[key] = entry
	return entry
}

func (c *segmentCache) forget(key segmentKey, entry *segmentEntry) {
	delete(c.entries, key)
	c.memory -= entry.memory
}

// resize updates the memory of segments and evicts others, in no order, while the cache is too large.
func (c *segmentCache) resize(entries map[segmentKey]*segmentEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, entry := range entries {
		if c.entries[key] == entry {
			memory := entry.Memory()
			c.memory += memory - entry.memory
			entry.memory = memory
		}
	}
	for key, entry := range c.entries {
		if c.memory <= c.maxMemory {
			return
		}
		c.forget(key, entry)
	}
}

// segmentList is an indexed list in one snapshot.
type segmentList struct {
	find.List
	list    int64
	keys    map[*find.Segment]segmentKey
	entries map[segmentKey]*segmentEntry
	// versions are those of the segments.
	versions []int64
	*pendingSet
}

// withIndex runs fn with the index of a list, in one snapshot, and reports whether there is one.
func (s *Store) withIndex(
	ctx context.Context, key listKey, fn func(engine.Querier, *segmentList) error,
) (found bool, err error) {
	if indexed, err := s.isIndexed(ctx, key); err != nil || !indexed {
		return false, err
	}
	err = s.db.Read(ctx, func(q engine.Querier) error {
		found, err = s.useIndex(ctx, q, key, func(index *segmentList) error { return fn(q, index) })
		return err
	})
	return found, err
}

// isIndexed reports whether a list had an index recently.
func (s *Store) isIndexed(ctx context.Context, key listKey) (bool, error) {
	c := s.segments
	c.mu.Lock()
	indexed, known := c.indexed[key], c.indexed != nil
	c.mu.Unlock()
	if known {
		return indexed, nil
	}
	lists, err := s.indexedLists(ctx)
	if err != nil {
		return false, err
	}
	c.setIndexed(lists)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.indexed[key], nil
}

// useIndex runs fn with the index of a list and reports whether there is one. One that is far
// behind is none, and neither is a corrupt one, which is dropped later.
func (s *Store) useIndex(
	ctx context.Context, q engine.Querier, key listKey, fn func(*segmentList) error,
) (bool, error) {
	index, err := s.segmentsOf(ctx, q, key)
	if err != nil || index == nil || len(index.Pending) > s.segments.maxPending {
		return false, err
	}
	if err = fn(index); errors.Is(err, find.ErrCorrupt) {
		s.segments.mu.Lock()
		defer s.segments.mu.Unlock()
		s.segments.corrupt[index.list] = true
		return false, nil
	}
	return true, err
}

// segmentsOf returns the index of a list, or nil if there is none yet.
func (s *Store) segmentsOf(ctx context.Context, q engine.Querier, key listKey) (*segmentList, error) {
	l := &segmentList{
		keys:    map[*find.Segment]segmentKey{},
		entries: map[segmentKey]*segmentEntry{},
	}
	found, sum := false, int64(0)
	err := q.Query(ctx, `SELECT l.list, l.sum, s.seg, s.version, s.first_id, s.size
		FROM (SELECT l.list, (SELECT CAST(COALESCE(sum(p.n), 0) AS BIGINT) FROM index_pending p WHERE p.list = l.list) AS sum
			FROM index_lists l WHERE l.user_id = $1 AND l.kind = $2 AND l.ready_at IS NOT NULL LIMIT 1) l
		LEFT JOIN index_segments s ON s.list = l.list ORDER BY s.first_id`, func(r *engine.Row) error {
		found = true
		l.list, sum = r.Int(), r.Int()
		if !r.Null() {
			segment := segmentKey{l.list, r.Int()}
			entry := s.segments.get(segment, r.Int(), r.ID(), int(r.Int()))
			l.Segments, l.versions = append(l.Segments, entry.Segment), append(l.versions, entry.version)
			l.keys[entry.Segment], l.entries[segment] = segment, entry
		}
		return nil
	}, key.user, key.kind)
	if err != nil || !found {
		return nil, err
	}
	l.Load = func(wants []find.Want) error { return s.loadParts(ctx, q, l, wants) }
	return l, s.readPending(ctx, q, l, key, sum)
}

// loadParts reads parts of segments into the cache.
func (s *Store) loadParts(ctx context.Context, q engine.Querier, l *segmentList, wants []find.Want) error {
	keys := make([][3]any, len(wants))
	for i, w := range wants {
		keys[i] = [3]any{l.keys[w.Segment].number, hex.EncodeToString([]byte(w.Range.From)),
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
		}, l.list, string(param)); err != nil {
		return err
	}
	for i, w := range wants {
		if err := w.Segment.Load(w.Range, inOrder(found[i])); err != nil {
			return err
		}
	}
	s.segments.resize(l.entries)
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

// noteChanged notes that records changed, for every indexed list that contains them. The condition
// selects access rows, so it must run before they are deleted and after they are inserted.
func (t *Tx) noteChanged(which string, args ...any) error {
	return t.later(`INSERT INTO index_pending (list, item_id, n)
		SELECT l.list, a.item_id, `+changeNumber+` FROM access a JOIN index_lists l ON l.user_id = a.user_id AND l.kind = a.kind
		WHERE `+which+` /*pg: ORDER BY l.list, a.item_id */
		ON CONFLICT (list, item_id) DO UPDATE SET n = index_pending.n + excluded.n`, args...)
}

// noteWarranty notes that a warranty changed, and with it its claims and documents, for everyone who can
// see it.
func (t *Tx) noteWarranty(id warranty.ID) error { return t.noteChanged(`a.parent_id = $1`, id) }

// noteChild notes that a claim or document changed, and with it whether its warranty has an open claim.
func (t *Tx) noteChild(item, parent warranty.ID) error {
	return t.noteChanged(`a.parent_id = $1 AND a.item_id IN ($1, $2)`, parent, item)
}
