// Package pages reads all pages of a list that may change meanwhile.
package pages

import (
	"context"

	"warranty.example/svc/warranty"
)

// Walk says which pages to read, and which of their records are new. Pages overlap: each begins at a
// record that was read before. New records shift others to later pages, where they are skipped. If the
// first record of a page is new, others may have moved to earlier pages, and the walk steps back. So a
// record that is in the list all the time is not missed, whatever happens to the others.
type Walk struct {
	// Newest means that the list is in its usual order. Otherwise the walk remembers all ids.
	Newest bool

	passed int64 // records up to which the list was read
	back   int64 // the last step back
	idle   int   // consecutive pages without new records
	last   string
	seen   map[string]bool
}

// maxIdle bounds the steps back, in case a list changes faster than it can be read.
const maxIdle = 50

// Paging returns the page to read: the one that goes farthest, of those with a record that was read.
func (w *Walk) Paging() warranty.Paging {
	best := warranty.Paging{Page: 1, Limit: warranty.MaxLimit}
	if w.passed == 0 {
		return best
	}
	farthest := int64(0)
	for limit := int64(warranty.MaxLimit); limit > warranty.MaxLimit/2; limit-- {
		page := (w.passed-1)/limit + 1
		if page*limit > farthest {
			farthest, best = page*limit, warranty.Paging{Page: int(page), Limit: int(limit)}
		}
	}
	return best
}

// Add takes the ids of the records on the page and the list's total. It returns the indexes of the
// records that are new, and whether the walk is complete.
func (w *Walk) Add(ids []string, total int64) (fresh []int, done bool) {
	p := w.Paging()
	if p.Page > 1 && (len(ids) == 0 || !w.has(ids[0])) && w.idle < maxIdle {
		w.idle++
		w.back = max(2*w.back, warranty.MaxLimit)
		w.passed = max(0, w.passed-w.back)
		return nil, false
	}
	for i, id := range ids {
		if !w.has(id) {
			w.add(id)
			fresh = append(fresh, i)
		}
	}
	w.back = 0
	if w.idle++; len(fresh) > 0 {
		w.idle = 0
	}
	w.passed = p.Offset() + int64(len(ids))
	return fresh, len(ids) < p.Limit || w.passed >= total
}

func (w *Walk) has(id string) bool {
	if w.Newest {
		return w.last != "" && id >= w.last // ids descend
	}
	return w.seen[id]
}

func (w *Walk) add(id string) {
	if w.Newest {
		w.last = id
		return
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[id] = true
}

// Lister lists warranties.
type Lister func(context.Context, warranty.ListWarranties) (warranty.Page[warranty.Warranty], error)

// Each reads all pages that match a filter, in its order. It calls each with every page and the indexes
// of the records on it that are new.
func Each(
	ctx context.Context, list Lister, filter warranty.ListWarranties,
	each func(page warranty.Page[warranty.Warranty], fresh []int) error,
) error {
	w := Walk{Newest: filter.Sort == "" || filter.Sort == warranty.ByCreatedAtDesc}
	for done := false; !done; {
		filter.Paging = w.Paging()
		page, err := list(ctx, filter)
		if err != nil {
			return err
		}
		ids := make([]string, len(page.Data))
		for i, record := range page.Data {
			ids[i] = record.ID.String()
		}
		var fresh []int
		fresh, done = w.Add(ids, page.Pagination.Total)
		if err := each(page, fresh); err != nil {
			return err
		}
	}
	return nil
}
