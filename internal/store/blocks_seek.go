package store

import (
	"fmt"

	"warranty.example/svc/warranty"
)

// This file finds a page among the blocks of a list.

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
