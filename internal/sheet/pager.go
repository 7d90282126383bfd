package sheet

import (
	"context"

	"warranty.example/svc/warranty"
)

// Pager asks for one page of warranties after the other. Records that come or go
// in the meantime shift the pages: what was seen is not fresh when it comes again,
// and when the list got shorter the pager steps back, so that nothing slips
// through between.
type Pager struct {
	List   func(context.Context, warranty.ListWarranties) (warranty.Page[warranty.Warranty], error)
	Filter warranty.ListWarranties

	page  int
	total int64
	last  warranty.ID // the oldest that was seen; ids fall from page to page
	back  int         // steps back in a row
	ended bool
}

// maxBack bounds the steps back, for a list that shrinks all the time.
const maxBack = 20

// Next is the next page, empty after a step back; nil at the end.
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
		// At most so many records moved up, past the page before this one.
		p.page = max(0, p.page-1-int((gone+warranty.MaxLimit-1)/warranty.MaxLimit))
		p.back++
		return &warranty.Page[warranty.Warranty]{Pagination: now}, nil
	}
	p.back = 0
	p.ended = int64(p.page) >= now.TotalPages
	return &page, nil
}

// Fresh tells records that were not seen yet.
func (p *Pager) Fresh(id warranty.ID) bool {
	if !p.last.IsZero() && id.String() >= p.last.String() {
		return false
	}
	p.last = id
	return true
}
