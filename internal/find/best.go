package find

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file orders what a query finds by how well it fits.

// Rank tells how well a query fits a record. A smaller one fits better.
type Rank uint8

// The ranks. A name is that of the product or the file, and that of the customer.
const (
	WholeCode Rank = iota // the query is a code of the record
	WholeName             // it is a name or the address of the customer
	WholeWord             // each of its words is a word of a name
	Fragment              // the rest
)

// terms are what a query is compared with.
type terms struct {
	codes []string
	name  string   // folded
	words []string // of the name
}

func termsOf(q string) terms {
	t := terms{codes: []string{Code(q)}, name: Fold(strings.Join(strings.Fields(q), " ")), words: Words(q)}
	for _, reading := range NewQuery(q).readings {
		if code := strings.Join(reading, ""); len(reading) == 1 && code != t.codes[0] {
			t.codes = append(t.codes, code)
		}
	}
	return t
}

// rank returns how well the terms fit a record with a folded name, a customer as CustomerOf returns it, and a code of
// the terms or none.
func (t *terms) rank(coded bool, name, customer string) Rank {
	return min(t.coded(coded), t.named(name), t.named(customer))
}

func (t *terms) coded(coded bool) Rank {
	if coded {
		return WholeCode
	}
	return Fragment
}

// named returns how well the terms fit a folded name, or names that are separated by lines.
func (t *terms) named(names string) Rank {
	if names == "" || len(t.words) == 0 {
		return Fragment
	}
	for name := range strings.SplitSeq(names, "\n") {
		if name == t.name {
			return WholeName
		}
	}
	for _, word := range t.words {
		if !hasWholeWord(names, word) {
			return Fragment
		}
	}
	return WholeWord
}

// hasWholeWord reports whether a word is somewhere in a folded text.
func hasWholeWord(folded, word string) bool {
	for from := 0; ; {
		i := strings.Index(folded[from:], word)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(folded[:i])
		after, _ := utf8.DecodeRuneInString(folded[i+len(word):])
		if (i == 0 || ends(before)) && (i+len(word) == len(folded) || ends(after)) {
			return true
		}
		from = i + len(word)
	}
}

// ends reports whether a rune is not in the middle of a word with spaces around it.
func ends(r rune) bool { return !isWordRune(r) || isUnspaced(r) }

// Rank returns how well the question fits a record that it selects.
func (q *Question) Rank(r *Record) Rank {
	if q.Best == nil {
		return 0
	}
	coded := false
	for code := range strings.SplitSeq(r.Codes, "\n") {
		coded = coded || code != "" && slices.Contains(q.Best.codes, code)
	}
	return q.Best.rank(coded, Fold(r.Name), r.Customer)
}

// BestFirst makes the question find a query, and return the records that fit it best first; of those that fit equally
// well, the ones that changed last.
func (q *Question) BestFirst(query string) {
	parsed, best := NewQuery(query), termsOf(query)
	q.Query, q.Best = &parsed, &best
}

// ranked is a record among those that fit best: an item, and what its order depends on.
type ranked struct {
	item
	rank    Rank
	updated int64
	place   [3]int // newer records have larger ones
}

func compareRanked(a, b ranked) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.updated, a.updated), slices.Compare(b.place[:], a.place[:]))
}

// top keeps the first records of an order.
type top struct {
	limit int
	list  []ranked
}

func (t *top) add(r ranked) {
	if len(t.list) == t.limit {
		if compareRanked(r, t.list[t.limit-1]) >= 0 {
			return
		}
		t.list = t.list[:t.limit-1]
	}
	at, _ := slices.BinarySearchFunc(t.list, r, compareRanked)
	t.list = slices.Insert(t.list, at, r)
}

// askBest is Ask for the records that fit a query best.
func (l *List) askBest(q *Question, offset int64, limit int) (Answer, error) {
	f, err := l.find(q, only(updatedColumn), only(nameColumn), only(customerColumn), prefixed(codesKey))
	if err != nil || offset >= f.size() {
		return Answer{Total: f.size()}, err
	}
	best := &top{limit: int(min(offset+int64(limit), f.total))}
	for n, s := range l.Segments {
		q.Best.rankIn(s, n, f.matches[n].bitmap, best)
	}
	for i, p := range f.pending {
		best.add(ranked{
			item:    item{record: p.record},
			rank:    q.Rank(p.record),
			updated: p.record.Updated,
			place:   [3]int{p.segment, 2 * p.at, i},
		})
	}
	items := make([]item, 0, limit)
	for _, r := range best.list[offset:] {
		items = append(items, r.item)
	}
	ids, err := l.ids(items)
	return Answer{f.total, ids}, err
}

// rankIn adds positions of a segment to those that fit best.
func (t *terms) rankIn(s *Segment, number int, found bitmap, best *top) {
	names, customers := newRankedNames(t, s, nameColumn), newRankedNames(t, s, customerColumn)
	updated := get[*column[int64]](s, only(updatedColumn))
	coded := newBitmap(s.Size)
	for i, c := range get[[]*codes](s, prefixed(codesKey)) {
		if first := i * chunk; found.anyIn(first, min(first+chunk, s.Size)) {
			for _, code := range t.codes {
				c.findWhole(coded, first, code)
			}
		}
	}
	for at := range found.backward() {
		best.add(ranked{
			item:    item{segment: number, at: at},
			rank:    min(t.coded(coded.has(at)), names.at(at), customers.at(at)),
			updated: updated.values[updated.codes[at]],
			place:   [3]int{number, 2*at + 1, 0},
		})
	}
}

// rankedNames are how well terms fit the names in a column. Each name is compared once.
type rankedNames struct {
	terms *terms
	names *column[string]
	known []Rank // one more than the rank, or 0
}

func newRankedNames(t *terms, s *Segment, key string) *rankedNames {
	c := get[*column[string]](s, only(key))
	return &rankedNames{t, c, make([]Rank, len(c.values))}
}

func (n *rankedNames) at(position int) Rank {
	code := n.names.codes[position]
	if n.known[code] == 0 {
		n.known[code] = 1 + n.terms.named(n.names.values[code])
	}
	return n.known[code] - 1
}

// findWhole sets the positions, from first on, with a code.
func (c *codes) findWhole(b bitmap, first int, code string) {
	if code == "" {
		return
	}
	line := code + "\n"
	for from := 0; ; {
		i := strings.Index(c.text[from:], line)
		if i < 0 {
			return
		}
		i += from
		if i == 0 || c.text[i-1] == '\n' {
			at, exact := slices.BinarySearch(c.ends, uint32(i))
			if exact {
				at++
			}
			b.set(first + at)
		}
		from = i + len(code)
	}
}
