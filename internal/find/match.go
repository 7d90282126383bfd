package find

import (
	"math"
	"slices"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// wordRange returns the parts that may contain words with a prefix.
func wordRange(prefix string) Range {
	if utf8.RuneCountInString(prefix) < bucketRunes {
		return prefixed(wordsKey + prefix)
	}
	return only(bucketOf(prefix))
}

// bounds are the conditions of a question on status and dates, as ranges.
type bounds struct {
	standing                           []warranty.Status // nil for any
	startFrom, startTo, endFrom, endTo int64
	boughtFrom, boughtTo               int64
}

const (
	firstDay = int64(-1 << 40)
	lastDay  = int64(1 << 40)
)

func (b *bounds) dated(from, to int64) bool { return from > firstDay || to < lastDay }

func (q *Question) bounds() *bounds {
	b := &bounds{nil, firstDay, lastDay, firstDay, lastDay, firstDay, lastDay}
	today := int64(q.Today)
	switch q.Status {
	case "":
	case warranty.Active:
		b.active(today, today)
	case warranty.Upcoming:
		b.stored(warranty.Active)
		b.startFrom = today + 1
	case warranty.Expired:
		b.stored(warranty.Active)
		b.startTo, b.endTo = today, today-1
	default:
		b.stored(q.Status)
	}
	if q.ExpiringBy != nil {
		b.active(today, today)
		b.endTo = min(b.endTo, int64(*q.ExpiringBy))
	}
	if !q.EndsFrom.IsZero() {
		b.endFrom = max(b.endFrom, int64(q.EndsFrom))
	}
	if !q.EndsTo.IsZero() {
		b.endTo = min(b.endTo, int64(q.EndsTo))
	}
	if !q.PurchasedFrom.IsZero() {
		b.boughtFrom = int64(q.PurchasedFrom)
	}
	if !q.PurchasedTo.IsZero() {
		b.boughtTo = int64(q.PurchasedTo)
	}
	if !q.CoveredOn.IsZero() {
		b.active(int64(q.CoveredOn), int64(q.CoveredOn))
	}
	return b
}

// active requires that a warranty is active and covers the days.
func (b *bounds) active(first, last int64) {
	b.stored(warranty.Active)
	b.startTo, b.endFrom = min(b.startTo, first), max(b.endFrom, last)
}

func (b *bounds) stored(s warranty.Status) { b.standing = append(b.standing, s) }

// selectIn returns the positions of a segment that fit. The segment remembers them, so that asking again takes no longer
// for a long list.
func (q *Question) selectIn(s *Segment, key string) (*selection, error) {
	b, err := q.match(s)
	if err != nil {
		return nil, err
	}
	found := &selection{b, b.count()}
	if key != "" {
		s.remember(key, found)
	}
	return found, nil
}

// except returns a selection without some positions.
func (s *selection) except(masked []int) selection {
	left := *s
	for i, at := range masked {
		if i == 0 {
			left.bitmap = slices.Clone(s.bitmap)
		}
		if left.has(at) {
			left.clear(at)
			left.count--
		}
	}
	return left
}

// match returns the positions of a segment that fit.
func (q *Question) match(s *Segment) (bitmap, error) {
	b := newBitmap(s.Size)
	bounds := q.bounds()
	pass := q.flags(bounds)
	for i, flags := range get[[]byte](s, only(flagsKey)) {
		if pass[flags] {
			b.set(i)
		}
	}
	if bounds.dated(bounds.startFrom, bounds.startTo) {
		get[*column[int64]](s, only(startColumn)).within(b, bounds.startFrom, bounds.startTo)
	}
	if bounds.dated(bounds.endFrom, bounds.endTo) {
		get[*column[int64]](s, only(endColumn)).within(b, bounds.endFrom, bounds.endTo)
	}
	if bounds.dated(bounds.boughtFrom, bounds.boughtTo) {
		get[*column[int64]](s, only(boughtColumn)).within(b, bounds.boughtFrom, bounds.boughtTo)
	}
	if q.Category != "" {
		keepText(b, s, categoryColumn, q.Category)
	}
	if q.Supplier != "" {
		keepText(b, s, supplierColumn, q.Supplier)
	}
	if q.Seller != "" {
		keepAny(b, s, q.Seller, sellerColumn, emailColumn, supplierColumn)
	}
	if q.Assurance != "" {
		q.keepAssured(b, s)
	}
	if q.Customer != nil && !b.empty() {
		c := get[*column[string]](s, only(customerColumn))
		fits, _ := c.matching(q.Customer.matches)
		c.keep(b, func(code uint16) bool { return fits[code] })
	}
	q.Claims.keep(b, s)
	if q.Query == nil || b.empty() {
		return b, nil
	}
	return q.Query.match(s, b)
}

// flags returns which flags fit.
func (q *Question) flags(b *bounds) (pass [256]bool) {
	for i := range pass {
		roles, standing := warranty.RolesOf(int64(i)), warranty.EnumOf[warranty.Status](int64(i)>>statusShift&3)
		pass[i] = i&liveFlag != 0 &&
			(q.Role == "" || roles.Has(q.Role)) &&
			(q.OpenClaim == nil || *q.OpenClaim == (i&openFlag != 0)) &&
			!slices.ContainsFunc(b.standing, func(s warranty.Status) bool { return s != standing })
	}
	return pass
}

// keepText removes the positions with another text. The text is folded.
func keepText(b bitmap, s *Segment, name, text string) {
	c := get[*column[string]](s, only(name))
	fits, some := c.matching(func(v string) bool { return warranty.Fold(v) == text })
	if !some {
		clear(b)
		return
	}
	c.keep(b, func(code uint16) bool { return fits[code] })
}

// keepAny removes the positions that have the text in none of the columns. The text is folded.
func keepAny(b bitmap, s *Segment, text string, names ...string) {
	all := slices.Clone(b)
	clear(b)
	for _, name := range names {
		one := slices.Clone(all)
		keepText(one, s, name, text)
		b.or(one)
	}
}

// keepAssured removes the positions with another assurance.
func (q *Question) keepAssured(b bitmap, s *Segment) {
	issuer, seller := slices.Clone(b), slices.Clone(b)
	q.keepVerified(issuer, s, issuerColumn)
	get[*column[int64]](s, only(standsColumn)).within(issuer, q.Now+1, math.MaxInt64)
	q.keepVerified(seller, s, confirmsColumn)
	switch q.Assurance {
	case warranty.IssuerVerified:
		b.and(issuer)
	case warranty.SellerConfirmed:
		b.and(seller)
		b.without(issuer)
	default:
		b.without(issuer)
		b.without(seller)
	}
}

// keepVerified removes the positions whose account in a column is not verified.
func (q *Question) keepVerified(b bitmap, s *Segment, name string) {
	c := get[*column[string]](s, only(name))
	fits, _ := c.matching(func(v string) bool {
		var id warranty.ID
		return copy(id[:], v) == len(id) && q.Verified[id]
	})
	c.keep(b, func(code uint16) bool { return fits[code] })
}

// match returns which of some positions the query finds.
func (q Query) match(s *Segment, among bitmap) (bitmap, error) {
	all := newBitmap(s.Size)
	for _, words := range q.readings {
		b := slices.Clone(among)
		words = slices.Clone(words)
		slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) }) // the longest are the rarest
		for _, word := range words {
			if b.empty() {
				break
			}
			found, err := findWord(s, b, word)
			if err != nil {
				return nil, err
			}
			b.and(found)
		}
		all.or(b)
	}
	return all, nil
}

// findWord returns the positions that a word finds. It may leave out those that are not in among.
func findWord(s *Segment, among bitmap, word string) (bitmap, error) {
	b := newBitmap(s.Size)
	for _, data := range get[[][]byte](s, wordRange(word)) {
		if err := findPrefix(b, data, word); err != nil {
			return nil, err
		}
	}
	if utf8.RuneCountInString(word) < MinInside {
		return b, nil
	}
	for i, c := range get[[]*codes](s, prefixed(codesKey)) {
		if first := i * chunk; among.anyIn(first, min(first+chunk, s.Size)) {
			c.find(b, first, word)
		}
	}
	return b, nil
}
