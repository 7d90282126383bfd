package find

import (
	"cmp"
	"slices"
	"strconv"
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
	case warranty.GroupByBrand:
		return r.Brand
	default: // GroupByEndMonth
		return monthOf(r.End)
	}
}

func monthOf(day warranty.Date) string { return day.String()[:len("2006-01")] }

// Total returns the number of records.
func (c *Counts) Total() int64 { return c.total }

// Of returns the number of records with a value.
func (c *Counts) Of(value string) int64 {
	if g := c.groups[warranty.Fold(value)]; g != nil {
		return g.count
	}
	return 0
}

// Summary returns the result with at most limit groups: months in order of time, all others largest
// first. If there are more months, it has those nearest to today.
func (c *Counts) Summary(today warranty.Date, limit int) warranty.Summary {
	list := make([]*group, 0, len(c.groups))
	for _, g := range c.groups {
		list = append(list, g)
	}
	byValue := func(a, b *group) int {
		return cmp.Or(strings.Compare(Fold(a.value), Fold(b.value)), strings.Compare(a.value, b.value))
	}
	slices.SortFunc(list, func(a, b *group) int {
		if c.by == warranty.GroupByEndMonth {
			return cmp.Or(cmp.Compare(distance(a.value, today), distance(b.value, today)), byValue(a, b))
		}
		return cmp.Or(cmp.Compare(b.count, a.count), byValue(a, b))
	})
	s := warranty.Summary{Today: today, GroupBy: c.by, Total: c.total, Groups: []warranty.Group{}}
	for _, g := range list[min(limit, len(list)):] {
		s.Other.Groups++
		s.Other.Count += g.count
	}
	list = list[:min(limit, len(list))]
	if c.by == warranty.GroupByEndMonth {
		slices.SortFunc(list, byValue)
	}
	for _, g := range list {
		s.Groups = append(s.Groups, warranty.Group{Value: warranty.Optional(g.value), Count: g.count})
	}
	return s
}

// distance returns the number of months between a month (YYYY-MM) and today.
func distance(month string, today warranty.Date) int {
	months := func(text string) int {
		digits := strings.ReplaceAll(text[:len("2006-01")], "-", "")
		n, _ := strconv.Atoi(digits) // made by Date.String
		return n/100*12 + n%100
	}
	return max(months(month)-months(today.String()), months(today.String())-months(month))
}
