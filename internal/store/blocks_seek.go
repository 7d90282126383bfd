package store

import (
	"fmt"

	"warranty.example/svc/warranty"
)

// How a page is found among the blocks of a list.

// newest is an id that is behind all others.
var newest = func() (id warranty.ID) {
	for i := range id {
		id[i] = 0xFF
	}
	return id
}()

// place is where the rows of a page are looked for.
type place struct {
	floor, top warranty.ID
	skip       int64
	// from and to are those rare ones that belong to it.
	from, to int64
}

// seek finds the place of a page, when so many entries behind the last block fit.
func (b *blocks) seek(p warranty.Paging, tail int64) place {
	at := place{top: newest, skip: p.Offset()}
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
	for i := len(b.fits) - 1; i >= 0; i-- {
		if fits := int64(b.fits[i]); at.skip >= fits {
			at.skip -= fits
			continue
		}
		at.top = b.ends[i]
		return at
	}
	return place{} // behind the end, where there is nothing
}

// floor is an id behind which as many entries fit as are wanted, or all that do.
// It looks at blocks alone: what fits behind the last one only comes on top.
func (b *blocks) floor(wanted int64) warranty.ID {
	lowest := len(b.fits) // the lowest block that is needed
	for i := len(b.fits) - 1; i >= 0 && wanted > 0; i-- {
		if b.fits[i] > 0 {
			wanted -= int64(b.fits[i])
			lowest = i
		}
	}
	return last(b.ends[:lowest])
}

// clamp is n, but not below zero and not above all.
func clamp(n, all int64) int64 { return min(max(n, 0), all) }

// named are the rare ones of a place as JSON, or nothing when there are none.
func (b *blocks) named(at place) string {
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

func (b *blocks) stale(got answer) bool { return b != nil && b.epoch != got.epoch }

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

// guess is how many entries behind the last block will fit; when it is wrong, the
// page is looked for again.
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
