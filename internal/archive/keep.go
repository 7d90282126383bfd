package archive

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/warranty"
)

// timeInName is the layout of the time in the name of a backup.
const timeInName = "20060102T150405Z"

var names = regexp.MustCompile(`^svcd-(\d{8}T\d{6}Z)-([0-9a-f]{12})\.tar(\.age)?$`)

// Name returns the name of a backup in a folder: its time, and the end of the id of its database, because the
// content of an encrypted one is unknown. Names sort by time.
func Name(at time.Time, database warranty.ID, encrypted bool) string {
	name := "svcd-" + at.UTC().Format(timeInName) + "-" + nameOf(database) + ".tar"
	if encrypted {
		name += ".age"
	}
	return name
}

// nameOf returns the random part of an id.
func nameOf(database warranty.ID) string { return hex.EncodeToString(database[len(database)-6:]) }

// ParseName returns the time in the name of a backup of a database. It reports false for any other name.
func ParseName(name string, database warranty.ID) (at time.Time, ok bool) {
	parts := names.FindStringSubmatch(name)
	if parts == nil || parts[2] != nameOf(database) {
		return at, false
	}
	at, err := time.Parse(timeInName, parts[1])
	return at, err == nil
}

// Policy says which backups to keep: the newest ones, and the newest one of each of the latest days, ISO weeks
// and months (UTC) that have one. Periods without a backup do not count. A backup is kept if any of the rules
// keeps it.
type Policy struct{ Last, Daily, Weekly, Monthly int }

// rules returns the number of periods of each rule, its name and the period of a time.
func (p *Policy) rules() []rule {
	return []rule{
		{"last", &p.Last, func(t time.Time) string { return t.Format(time.RFC3339Nano) }},
		{"daily", &p.Daily, func(t time.Time) string { return t.Format(time.DateOnly) }},
		{"weekly", &p.Weekly, func(t time.Time) string { year, week := t.ISOWeek(); return fmt.Sprint(year, "-", week) }},
		{"monthly", &p.Monthly, func(t time.Time) string { return t.Format("2006-01") }},
	}
}

type rule struct {
	name   string
	count  *int
	period func(time.Time) string
}

// maxKept bounds the numbers of a policy.
const maxKept = 10_000

// ParsePolicy parses a policy such as daily=7,weekly=4,monthly=12.
func ParsePolicy(text string) (p Policy, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		rules := p.rules()
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
		n, wrong := strconv.Atoi(value)
		if i < 0 || wrong != nil || n < 1 || n > maxKept || *rules[i].count != 0 {
			return Policy{}, fmt.Errorf("must be a list such as daily=7,weekly=4,monthly=12; "+
				"it takes last, daily, weekly and monthly, each once, with a number from 1 to %d", maxKept)
		}
		*rules[i].count = n
	}
	return p, nil
}

// Surplus returns the positions of the backups that the policy does not keep. The newest is always kept.
func (p Policy) Surplus(times []time.Time) (surplus []int) {
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return times[b].Compare(times[a]) })
	kept := make([]bool, len(times))
	for _, r := range p.rules() {
		left, last := *r.count, ""
		for _, i := range order {
			period := r.period(times[i].UTC())
			if left > 0 && period != last {
				kept[i], last = true, period
				left--
			}
		}
	}
	for at, i := range order {
		if !kept[i] && at > 0 {
			surplus = append(surplus, i)
		}
	}
	slices.Sort(surplus)
	return surplus
}
