package sheet

import (
	"context"

	"warranty.example/svc/warranty"
)

// Pager lists all pages of warranties while the list may change. New records shift
// others to later pages, where Fresh filters out those seen before. After deletions
// the pager steps back, so that no record is missed.
type Pager struct {
	List   func(context.Context, warranty.ListWarranties) (warranty.Page[warranty.Warranty], error)
	Filter warranty.ListWarranties

	page  int
	total int64
	last  warranty.ID // the oldest seen; ids descend from page to page
	back  int         // consecutive steps back
	ended bool
}

// maxBack bounds the steps back, in case the list keeps shrinking.
const maxBack = 20

// Next returns the next page, or nil at the end. The page is empty after a step back.
func (p *Pager) Next(ctx context.Context) (*warranty.Page[warranty.Warranty], error) {
	if p.ended {
		return nil, nil
	}
	p.page++
	p.Filter.Paging = warranty.Paging{Page: p.page, Limit: warranty.MaxLimit}
	page, err := p.List(ctx, p.Filter)
	if err != nil {
		return nil, err
	}
	now := page.Pagination
	gone := p.total - now.Total
	p.total = now.Total
	if gone > 0 && p.back < maxBack {
		// At most gone records moved to an earlier page.
		p.page = max(0, p.page-1-int((gone+warranty.MaxLimit-1)/warranty.MaxLimit))
		p.back++
		return &warranty.Page[warranty.Warranty]{Pagination: now}, nil
	}
	p.back = 0
	p.ended = int64(p.page) >= now.TotalPages
	return &page, nil
}

// Fresh reports whether a record is seen for the first time.
func (p *Pager) Fresh(id warranty.ID) bool {
	if !p.last.IsZero() && id.String() >= p.last.String() {
		return false
	}
	p.last = id
	return true
}
