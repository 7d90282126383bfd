package find

import (
	"cmp"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// Counts counts records per group.
type Counts struct {
	by     warranty.SummaryGroup
	total  int64
	groups map[string]*group
}

type group struct {
	value  string      // as the newest record has it
	newest warranty.ID // of the group
	count  int64
}

// NewCounts returns counts without records.
func NewCounts(by warranty.SummaryGroup) *Counts { return &Counts{by: by, groups: map[string]*group{}} }

// Add counts a record.
func (c *Counts) Add(r *Record, today warranty.Date) {
	c.total++
	c.add(groupOf(c.by, r, today), r.ID, 1)
}

// add counts records with a value. Values that differ only in case are one group.
func (c *Counts) add(value string, newest warranty.ID, count int64) {
	key := warranty.Fold(value)
	g := c.groups[key]
	if g == nil {
		g = &group{value: value, newest: newest}
		c.groups[key] = g
	}
	if slices.Compare(newest[:], g.newest[:]) > 0 {
		g.value, g.newest = value, newest
	}
	g.count += count
}

// groupOf returns the value of a record that it is counted by.
func groupOf(by warranty.SummaryGroup, r *Record, today warranty.Date) string {
	switch by {
	case warranty.GroupByStatus:
		return shown(r, today).String()
	case warranty.GroupByCategory:
		return r.Category
	case warranty.GroupBySupplier:
		return r.Supplier
	default: // GroupByEndMonth
		return monthOf(r.End)
	}
}

func monthOf(day warranty.Date) string { return day.String()[:len("2006-01")] }

// Summary returns the result with at most limit groups: months in order of time, all others largest
// first.
func (c *Counts) Summary(today warranty.Date, limit int) warranty.Summary {
	list := make([]*group, 0, len(c.groups))
	for _, g := range c.groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *group) int {
		order := cmp.Compare(b.count, a.count)
		if c.by == warranty.GroupByEndMonth {
			order = 0
		}
		return cmp.Or(order, strings.Compare(Fold(a.value), Fold(b.value)), strings.Compare(a.value, b.value))
	})
	s := warranty.Summary{Today: today, GroupBy: c.by, Total: c.total, Groups: []warranty.Group{}}
	for i, g := range list {
		if i >= limit {
			s.Other.Groups++
			s.Other.Count += g.count
			continue
		}
		s.Groups = append(s.Groups, warranty.Group{Value: warranty.Optional(g.value), Count: g.count})
	}
	return s
}
