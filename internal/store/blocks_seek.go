package store

import (
	"context"
	"fmt"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// This file finds a page among the blocks of a list, and has the statements that make them.

// blockEnds returns the last entry of each block of a size above floor, up to and including top. The
// database counts the entries: reading them takes several times as long.
func (l *list) blockEnds(ctx context.Context, s *Store, floor, top warranty.ID, size int64) (ends []warranty.ID, err error) {
	err = s.db.Query(ctx, `WITH RECURSIVE e (id) AS (
			SELECT CAST($3 AS UUID)
			UNION ALL SELECT (SELECT a.item_id FROM access a
				WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id > e.id AND a.item_id <= $4
				ORDER BY a.item_id LIMIT 1 OFFSET $5) FROM e WHERE e.id IS NOT NULL)
		SELECT e.id FROM e WHERE e.id > $3`,
		func(r *engine.Row) error { ends = append(ends, r.ID()); return nil }, l.user, l.kind, floor, top, size-1)
	return ends, err
}

// countRanges counts the matching entries of ranges: a JSON array of a number, an id before the range
// and its last id.
func (l *list) countRanges(ctx context.Context, s *Store, ranges string, each func(number, matches int64)) error {
	return s.db.Query(ctx, fmt.Sprintf(`SELECT b.i, (SELECT count(*) FROM access a
			WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id > b.floor AND a.item_id <= b.top
				AND a.item_id > $3 AND a.item_id <= $4 %s)
		FROM (SELECT
			/*pg: CAST(v->>0 AS BIGINT) AS i, CAST(v->>1 AS UUID) AS floor, CAST(v->>2 AS UUID) AS top
				FROM json_array_elements($%[2]d) v */
			/*sqlite: json_extract(value, '$[0]') AS i, unhex(json_extract(value, '$[1]'), '-') AS floor,
				unhex(json_extract(value, '$[2]'), '-') AS top FROM json_each($%[2]d) */) b`,
		l.filter.String(), listArgs+len(l.args)+1),
		func(r *engine.Row) error { each(r.Int(), r.Int()); return nil }, l.values(warranty.ID{}, newest, ranges)...)
}

// scan calls each for the matching ids above floor, up to and including top, in order.
func (l *list) scan(ctx context.Context, s *Store, floor, top warranty.ID, each func(warranty.ID)) error {
	return s.db.Query(ctx, `SELECT a.item_id FROM access a
		WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id > $3 AND a.item_id <= $4`+l.filter.String()+`
		ORDER BY a.item_id`, func(r *engine.Row) error { each(r.ID()); return nil }, l.values(floor, top)...)
}

// newest is an id above all others.
var newest = func() (id warranty.ID) {
	for i := range id {
		id[i] = 0xFF
	}
	return id
}()

// pageRange is where the rows of a page are.
type pageRange struct {
	floor, top warranty.ID
	skip       int64
	// from and to delimit the rare entries on the page.
	from, to int64
}

// seek returns the range of a page, given the number of matching entries after the last block.
func (b *blocks) seek(p warranty.Paging, tail int64) pageRange {
	at := pageRange{top: newest, skip: p.Offset()}
	if b == nil {
		return at
	}
	if all := int64(len(b.rare)); all == b.sum {
		at.floor = b.settled()
		at.from = all - clamp(at.skip+int64(p.Limit)-tail, all)
		at.to = all - clamp(at.skip-tail, all)
		return at
	}
	at.floor = b.floor(at.skip + int64(p.Limit))
	if at.skip == 0 || at.skip < tail {
		return at
	}
	at.skip -= tail
	for i := len(b.matches) - 1; i >= 0; i-- {
		if matches := int64(b.matches[i]); at.skip >= matches {
			at.skip -= matches
			continue
		}
		at.top = b.ends[i]
		return at
	}
	return pageRange{} // past the end
}

// floor returns an id above which at least wanted entries match, or all that do. It looks at blocks
// only; entries after the last block are extra.
func (b *blocks) floor(wanted int64) warranty.ID {
	lowest := len(b.matches) // the lowest block needed
	for i := len(b.matches) - 1; i >= 0 && wanted > 0; i-- {
		if b.matches[i] > 0 {
			wanted -= int64(b.matches[i])
			lowest = i
		}
	}
	return last(b.ends[:lowest])
}

// clamp returns n limited to 0 … all.
func clamp(n, all int64) int64 { return min(max(n, 0), all) }

// rareIDs returns the rare entries of a range as a JSON array, or "" if there are none.
func (b *blocks) rareIDs(at pageRange) string {
	if at.from == at.to {
		return ""
	}
	var text []byte
	for _, id := range b.rare[at.from:at.to] {
		text = fmt.Appendf(text, `,"%s"`, id)
	}
	text[0] = '['
	return string(append(text, ']'))
}

func (b *blocks) stale(got pageCounts) bool { return b != nil && b.epoch != got.epoch }

func (b *blocks) settled() warranty.ID {
	if b == nil {
		return warranty.ID{}
	}
	return last(b.ends)
}

func (b *blocks) total() int64 {
	if b == nil {
		return 0
	}
	return b.sum
}

// guess returns the expected number of matching entries after the last block. If it is wrong, the
// page is read again.
func (b *blocks) guess() int64 {
	if b == nil {
		return 0
	}
	return b.tail.Load()
}

func (b *blocks) expect(tail int64) {
	if b != nil {
		b.tail.Store(tail)
	}
}
