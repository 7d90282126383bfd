package find

import (
	"time"

	"warranty.example/svc/warranty"
)

// This file knows where claims are in the work of the account that reads them.

// Work is in which queue a claim is, and for whom. Other records have none.
type Work struct {
	Queue    warranty.ClaimQueue
	Owner    bool        // the account owns the warranty
	Replied  bool        // the other side wrote last
	Assignee warranty.ID // zero if no one works on it
}

// The bits of the second byte of a work as text.
const (
	ownerBit   = 1
	repliedBit = 2
)

// text returns a work as a value of a column.
func (w Work) text() string {
	if w == (Work{}) {
		return ""
	}
	bits := byte(0)
	if w.Owner {
		bits |= ownerBit
	}
	if w.Replied {
		bits |= repliedBit
	}
	return string([]byte{byte(warranty.EnumNumber(w.Queue)), bits}) + textOf(w.Assignee)
}

// workOf is the work of a text.
func workOf(text string) (w Work) {
	if len(text) < 2 {
		return w
	}
	w.Queue = warranty.EnumOf[warranty.ClaimQueue](int64(text[0]))
	w.Owner, w.Replied = text[1]&ownerBit != 0, text[1]&repliedBit != 0
	copy(w.Assignee[:], text[2:])
	return w
}

// afterQueue is added to the time since when a claim waits if it does not wait for the account.
const afterQueue = int64(1e18)

// Waits returns the number by which ByWaiting sorts a claim that is in a queue since a time in microseconds: those that wait
// for the account come first.
func Waits(queue warranty.ClaimQueue, since int64) int64 {
	if queue == warranty.WaitingForUs {
		return since
	}
	return since + afterQueue
}

// ByWaiting is the order of claims of warranty.ClaimsByWaiting.
const ByWaiting warranty.WarrantySort = "waiting"

// ClaimFilter selects claims. Its zero value selects all.
type ClaimFilter struct {
	Queue    warranty.ClaimQueue
	For      warranty.ClaimSide // the side that has to act
	Replied  bool
	Assignee *warranty.ID // the zero ID for none
	// WaitsBy is the time since when a claim waits at the latest, and ChangedFrom when it changed at the earliest, in
	// microseconds.
	WaitsBy, ChangedFrom int64
}

// onWork reports whether the filter depends on the work of a claim.
func (f *ClaimFilter) onWork() bool {
	return f.Queue != "" || f.For != "" || f.Replied || f.Assignee != nil || f.WaitsBy > 0
}

func (f *ClaimFilter) matches(r *Record) bool {
	return (!f.onWork() || f.fits(r.Work)) &&
		(f.WaitsBy == 0 || r.Waits%afterQueue <= f.WaitsBy) &&
		(f.ChangedFrom == 0 || r.Updated >= f.ChangedFrom)
}

// fits reports whether the filter selects claims with a work.
func (f *ClaimFilter) fits(w Work) bool {
	return (f.Queue == "" || w.Queue == f.Queue) &&
		(f.For == "" || w.waitsFor() == f.For) &&
		(!f.Replied || w.Replied) &&
		(f.Assignee == nil || w.Assignee == *f.Assignee) &&
		(f.WaitsBy == 0 || w.Queue != warranty.WorkDone)
}

// waitsFor returns the side that has to act, or "".
func (w Work) waitsFor() warranty.ClaimSide {
	switch {
	case w.Queue != warranty.WaitingForUs && w.Queue != warranty.WaitingForThem:
		return ""
	case (w.Queue == warranty.WaitingForUs) == w.Owner:
		return warranty.OwnerSide
	}
	return warranty.BusinessSide
}

// keep removes the positions of a segment that the filter does not select.
func (f *ClaimFilter) keep(b bitmap, s *Segment) {
	if f.onWork() {
		work := get[*column[string]](s, only(workColumn))
		fits, _ := work.matching(func(text string) bool { return f.fits(workOf(text)) })
		work.keep(b, func(code uint16) bool { return fits[code] })
	}
	if f.WaitsBy > 0 {
		waits := get[*column[int64]](s, only(waitsColumn))
		fits, _ := waits.matching(func(at int64) bool { return at%afterQueue <= f.WaitsBy })
		waits.keep(b, func(code uint16) bool { return fits[code] })
	}
	if f.ChangedFrom > 0 {
		get[*column[int64]](s, only(updatedColumn)).within(b, f.ChangedFrom, 1<<62)
	}
}

// CountClaims counts claims by their queue, and those of a person.
func (l *List) CountClaims(person warranty.ID) (n warranty.ClaimCounts, err error) {
	f, err := l.find(&Question{}, only(workColumn), only(waitsColumn))
	if err != nil {
		return n, err
	}
	oldest := afterQueue
	for _, p := range f.pending {
		addWork(&n, p.record.Work, person, 1)
		oldest = min(oldest, p.record.Waits)
	}
	for i, s := range l.Segments {
		work, waits := get[*column[string]](s, only(workColumn)), get[*column[int64]](s, only(waitsColumn))
		for code, count := range work.counts(f.matches[i].bitmap) {
			addWork(&n, workOf(work.values[code]), person, count)
		}
		first := uint16(waits.below(oldest))
		for at := range f.matches[i].forward() {
			first = min(first, waits.codes[at])
		}
		if int(first) < waits.below(oldest) {
			oldest = waits.values[first]
		}
	}
	if n.WaitingForUs > 0 {
		since := time.UnixMicro(oldest).UTC()
		n.Oldest = &since
	}
	return n, nil
}

// addWork counts claims with a work.
func addWork(n *warranty.ClaimCounts, w Work, person warranty.ID, count int64) {
	switch w.Queue {
	case warranty.WaitingForUs:
		n.WaitingForUs += count
		switch w.Assignee {
		case warranty.ID{}:
			n.Unassigned += count
		case person:
			n.Mine += count
		}
		if w.Replied {
			n.Replied += count
		}
	case warranty.WorkInProgress:
		n.InProgress += count
	case warranty.WaitingForThem:
		n.WaitingForThem += count
	case warranty.WorkDone:
		n.Done += count
	}
}
