package lists

import (
	"context"
	"fmt"
	"slices"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// This file answers any question about a list. It asks the index of a long list, and otherwise reads every record and
// lets package find decide. The records of the page are read in the same snapshot.

// Each calls each for the records of a list that the question selects, newest first. A list that turns out to be long
// will be indexed.
func (x *Index) Each(
	ctx context.Context, q engine.Querier, l *List, question *find.Question, each func(find.Record),
) error {
	src, wanted := sources[l.Kind], wantedBy(question)
	where, args := `a.user_id = $1 AND a.kind = $2`, []any{l.User, l.Kind}
	read := int64(0)
	if conditions := l.narrowed.String() + l.filter.String(); conditions == "" {
		defer func() { x.NoteLength(l.User, read) }()
	} else {
		where += ` AND a.item_id > $3 AND a.item_id <= $4` + conditions
		args = l.values()
	}
	return q.Query(ctx, `SELECT `+src.selected(wanted)+` FROM access a `+src.joins+` WHERE `+where+` ORDER BY a.item_id DESC`,
		func(r *engine.Row) error {
			read++
			record := src.record(r, wanted)
			if question.Matches(&record) {
				each(record)
			}
			return nil
		}, args...)
}

// acquire waits until no other scan of the user's records is under way, unless another index makes
// the scan short.
func (x *Index) acquire(ctx context.Context, l *List) (release func(), err error) {
	if !l.isWhole() {
		return func() {}, nil
	}
	return x.Scans.Acquire(ctx, l.User)
}

// Search returns a page of the records of a list that a question selects, and their total.
func Search[T any](
	ctx context.Context, x *Index, l *List, question *find.Question, p warranty.Paging, sh *Shape[T],
) (rows []T, total int64, err error) {
	indexed, err := x.IsIndexed(ctx, l.Key)
	if err != nil {
		return nil, 0, err
	}
	if indexed && l.isWhole() {
		if rows, total, ok, err := knownPage(ctx, x, l.Key, question, p, sh, false); ok || err != nil {
			return rows, total, err
		}
	}
	release, err := x.acquire(ctx, l)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	if !indexed {
		rows, total, short, err := searchShort(ctx, x, l, question, p, sh)
		if short || err != nil {
			return rows, total, err
		}
	}
	err = x.db.Read(ctx, func(q engine.Querier) error {
		answer, err := x.ask(ctx, q, l, question, p)
		if err != nil {
			return err
		}
		total = answer.Total
		rows, err = Rows(ctx, q, l.Key, answer.IDs, sh)
		return err
	})
	return rows, total, err
}

// searchShort is Search for a short list, in one statement. It reports whether the list is short.
func searchShort[T any](
	ctx context.Context, x *Index, l *List, question *find.Question, p warranty.Paging, sh *Shape[T],
) (rows []T, total int64, short bool, err error) {
	type match struct {
		record find.Record
		row    T
	}
	var found []match
	read := int64(0)
	statement := fmt.Sprintf(`SELECT %s%s FROM (SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2
			AND a.item_id > $3 AND a.item_id <= $4%s ORDER BY a.item_id DESC LIMIT $%d) a %s ORDER BY a.item_id DESC`,
		sh.Columns, sh.More(question), l.narrowed.String()+l.filter.String(), listArgs+len(l.args)+1, sh.Joins)
	err = x.db.Query(ctx, statement, func(r *engine.Row) error {
		read++
		m := match{row: sh.Read(r)}
		m.record = sh.Record(question, m.row, r)
		if question.Matches(&m.record) {
			m.record.Rank = question.Rank(&m.record)
			m.record.Text, m.record.Codes = "", "" // not needed for sorting
			found = append(found, m)
		}
		return nil
	}, l.values(x.Limits.Long+1)...)
	if read > x.Limits.Long {
		x.NoteLength(l.User, read)
		return nil, 0, false, err
	}
	slices.SortFunc(found, func(a, b match) int { return question.Compare(&a.record, &b.record) })
	for _, m := range pageOf(found, p) {
		rows = append(rows, m.row)
	}
	return rows, int64(len(found)), true, err
}

// ask returns the ids of a page and the total, from the segments of a long list or from all records.
func (x *Index) ask(
	ctx context.Context, q engine.Querier, l *List, question *find.Question, p warranty.Paging,
) (answer find.Answer, err error) {
	if l.isWhole() {
		answered, err := x.use(ctx, q, l.Key, func(s *Snapshot) (err error) {
			answer, err = s.Ask(question, p.Offset(), p.Limit)
			return err
		})
		if answered || err != nil {
			return answer, err
		}
	}
	var found []find.Record
	err = x.Each(ctx, q, l, question, func(r find.Record) {
		r.Rank = question.Rank(&r)
		r.Text, r.Codes = "", "" // not needed for sorting
		found = append(found, r)
	})
	slices.SortFunc(found, func(a, b find.Record) int { return question.Compare(&a, &b) })
	answer = find.Answer{Total: int64(len(found)), IDs: make([]warranty.ID, 0, p.Limit)}
	for _, record := range pageOf(found, p) {
		answer.IDs = append(answer.IDs, record.ID)
	}
	return answer, err
}

// Place finds a record among those that a question selects, in its order. Without an index it reads every record once and
// sorts none.
func (x *Index) Place(ctx context.Context, l *List, question *find.Question, id warranty.ID) (p warranty.Place, err error) {
	if l.isWhole() {
		found, err := x.Totals(ctx, l.Key, func(s *Snapshot) (err error) { p, err = s.Place(question, id); return err })
		if found || err != nil {
			return p, err
		}
	}
	release, err := x.acquire(ctx, l)
	if err != nil {
		return p, err
	}
	defer release()
	var found []find.Record
	if err := x.Each(ctx, x.db, l, question, func(r find.Record) {
		r.Text, r.Codes = "", "" // not needed for comparing
		found = append(found, r)
	}); err != nil || len(found) == 0 {
		return p, err
	}
	p.Of = int64(len(found))
	at := slices.IndexFunc(found, func(r find.Record) bool { return r.ID == id })
	var previous, next *find.Record
	for i := range found {
		r, order := &found[i], 1
		if at >= 0 {
			order = question.Compare(r, &found[at])
		}
		switch {
		case order < 0:
			p.At++
			if previous == nil || question.Compare(r, previous) > 0 {
				previous = r
			}
		case order > 0 && (next == nil || question.Compare(r, next) < 0):
			next = r
		}
	}
	if at >= 0 {
		p.At++
	}
	if previous != nil {
		p.Previous = &previous.ID
	}
	if next != nil {
		p.Next = &next.ID
	}
	return p, nil
}

// Count counts the records of a list that a question selects, per group.
func (x *Index) Count(
	ctx context.Context, l *List, question *find.Question, by warranty.SummaryGroup,
) (counts *find.Counts, err error) {
	release, err := x.acquire(ctx, l)
	if err != nil {
		return nil, err
	}
	defer release()
	if l.isWhole() {
		found, err := x.Totals(ctx, l.Key, func(s *Snapshot) (err error) {
			counts, err = s.Count(question, by)
			return err
		})
		if found || err != nil {
			return counts, err
		}
	}
	counts = find.NewCounts(by)
	err = x.Each(ctx, x.db, l, question, func(r find.Record) { counts.Add(&r, question.Today) })
	return counts, err
}
