package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// This file answers questions about lists. It asks the index of a long list, and otherwise SQL or, for searches by words
// and other orders, reads every entry and lets package find decide. The records of the page are read in the same
// snapshot.

// eachRecord calls each for the records of a list that the question selects, newest first. Of the list's
// conditions it uses those that narrow it. A list that turns out to be long will be indexed.
func (s *Store) eachRecord(
	ctx context.Context, q engine.Querier, l *list, question *find.Question, each func(find.Record),
) error {
	src, wanted := l.source, wantedBy(question)
	if src == nil {
		src = sources[l.kind]
	}
	where, args := `a.user_id = $1 AND a.kind = $2`, []any{l.user, l.kind}
	read := int64(0)
	if l.isWhole() {
		defer func() { s.segments.noteLength(l.user, read) }()
	} else {
		where += ` AND a.item_id > $3 AND a.item_id <= $4` + l.narrowed.String()
		args = l.values(warranty.ID{}, newest)
	}
	return q.Query(ctx, `SELECT `+src.selected(wanted)+` FROM access a `+src.joins+` WHERE `+where+`
		ORDER BY a.item_id DESC`, func(r *engine.Row) error {
		read++
		record := src.record(r, wanted)
		if question.Matches(&record) {
			each(record)
		}
		return nil
	}, args...)
}

// acquireScan waits until no other scan of the user's records is under way, unless another index makes
// the scan short.
func (s *Store) acquireScan(ctx context.Context, l *list) (release func(), err error) {
	if !l.isWhole() && !l.scanned {
		return func() {}, nil
	}
	return s.searchGate.acquire(ctx, l.user)
}

// shape is how records are read for a page.
type shape[T any] struct {
	columns, joins string
	read           func(*engine.Row) T
	id             func(T) warranty.ID
	// more are the columns that record needs in addition, to return what a question looks at.
	more   func(*find.Question) string
	record func(*find.Question, T, *engine.Row) find.Record
}

// search returns a page of the records of a list that a question selects, and their total.
func search[T any](
	ctx context.Context, s *Store, l *list, question *find.Question, p warranty.Paging, sh *shape[T],
) (rows []T, total int64, err error) {
	release, err := s.acquireScan(ctx, l)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	indexed, err := s.isIndexed(ctx, l.listKey)
	if err != nil {
		return nil, 0, err
	}
	if !indexed {
		rows, total, short, err := searchShort(ctx, s, l, question, p, sh)
		if short || err != nil {
			return rows, total, err
		}
	}
	err = s.db.Read(ctx, func(q engine.Querier) error {
		answer, err := s.ask(ctx, q, l, question, p)
		if err != nil {
			return err
		}
		total = answer.Total
		rows, err = rowsByID(ctx, q, l.listKey, answer.IDs, sh)
		return err
	})
	return rows, total, err
}

// searchShort is search for a short list, in one statement. It reports whether the list is short.
func searchShort[T any](
	ctx context.Context, s *Store, l *list, question *find.Question, p warranty.Paging, sh *shape[T],
) (rows []T, total int64, short bool, err error) {
	type match struct {
		record find.Record
		row    T
	}
	var found []match
	read := int64(0)
	err = s.db.Query(ctx, fmt.Sprintf(`SELECT %s%s FROM (SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2
			AND a.item_id > $3 AND a.item_id <= $4%s ORDER BY a.item_id DESC LIMIT $%d) a %s ORDER BY a.item_id DESC`,
		sh.columns, sh.more(question), l.narrowed.String(), listArgs+len(l.args)+1, sh.joins), func(r *engine.Row) error {
		read++
		m := match{row: sh.read(r)}
		m.record = sh.record(question, m.row, r)
		if question.Matches(&m.record) {
			m.record.Text, m.record.Codes = "", "" // not needed for sorting
			found = append(found, m)
		}
		return nil
	}, l.values(warranty.ID{}, newest, s.segments.long+1)...)
	if read > s.segments.long {
		s.segments.noteLength(l.user, read)
		return nil, 0, false, err
	}
	slices.SortFunc(found, func(a, b match) int { return question.Compare(&a.record, &b.record) })
	for _, m := range pageOf(found, p) {
		rows = append(rows, m.row)
	}
	return rows, int64(len(found)), true, err
}

// ask returns the ids of a page and the total, from the segments of a long list or from all records.
func (s *Store) ask(
	ctx context.Context, q engine.Querier, l *list, question *find.Question, p warranty.Paging,
) (answer find.Answer, err error) {
	if l.isWhole() {
		answered, err := s.useIndex(ctx, q, l.listKey, func(index *segmentList) (err error) {
			answer, err = index.Ask(question, p.Offset(), p.Limit)
			return err
		})
		if answered || err != nil {
			return answer, err
		}
	}
	var found []find.Record
	err = s.eachRecord(ctx, q, l, question, func(r find.Record) {
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

// plainPage returns a page of a list whose conditions access alone can answer, and its total: from the index of a long
// list, and by SQL otherwise. question returns the same conditions for the index.
func plainPage[T any](
	ctx context.Context, s *Store, l *list, question func() *find.Question, p warranty.Paging, sh *shape[T],
) (rows []T, total int64, err error) {
	if l.isWhole() {
		found, err := s.withIndex(ctx, l.listKey, func(q engine.Querier, index *segmentList) error {
			answer, err := index.Ask(question(), p.Offset(), p.Limit)
			if err != nil {
				return err
			}
			total = answer.Total
			rows, err = rowsByID(ctx, q, l.listKey, answer.IDs, sh)
			return err
		})
		if found || err != nil {
			return rows, total, err
		}
	}
	return page(ctx, s, l, sh.columns, leftJoins(sh.joins), p, sh.read)
}

// Summary counts the warranties that the user has access to and that match in as of today.
func (s *Store) Summary(
	ctx context.Context, user warranty.ID, in warranty.SummarizeWarranties, today warranty.Date,
) (summary warranty.Summary, err error) {
	l, question := scannedList(user, in.WarrantyFilter), find.QuestionOf(in.WarrantyFilter, "", today)
	if err := s.verifiedAccounts(ctx, question); err != nil {
		return summary, err
	}
	release, err := s.acquireScan(ctx, l)
	if err != nil {
		return summary, err
	}
	defer release()
	err = s.db.Read(ctx, func(q engine.Querier) error {
		counts, err := s.countRecords(ctx, q, l, question, in.GroupBy)
		if err == nil {
			summary = counts.Summary(today, in.Limit)
		}
		return err
	})
	return summary, err
}

// countRecords counts records per group, from the segments of a long list or from all records.
func (s *Store) countRecords(
	ctx context.Context, q engine.Querier, l *list, question *find.Question, by warranty.SummaryGroup,
) (counts *find.Counts, err error) {
	if l.isWhole() {
		answered, err := s.useIndex(ctx, q, l.listKey, func(index *segmentList) (err error) {
			counts, err = index.Count(question, by)
			return err
		})
		if answered || err != nil {
			return counts, err
		}
	}
	counts = find.NewCounts(by)
	err = s.eachRecord(ctx, q, l, question, func(r find.Record) { counts.Add(&r, question.Today) })
	return counts, err
}

// scannedList is a list of warranties whose conditions are those of a question, except an external id,
// which at most one record has.
func scannedList(user warranty.ID, f warranty.WarrantyFilter) *list {
	l := listOf(user, kindWarranty)
	if externalID := f.ExternalID; externalID != "" {
		l.narrow(`a.item_id = (SELECT w.id FROM warranties w
			WHERE w.issuer_id = $1 AND w.external_id = ? AND w.deleted_at IS NULL)`, externalID)
	}
	return l
}

// childQuestion is a question about claims or documents.
func childQuestion(q string, status warranty.ClaimStatus) *find.Question {
	question := &find.Question{Category: status.String()}
	if q != "" {
		query := find.NewQuery(q)
		question.Query = &query
	}
	return question
}

// pageOf returns the elements of a page.
func pageOf[T any](all []T, p warranty.Paging) []T {
	from := min(p.Offset(), int64(len(all)))
	return all[from:min(from+int64(p.Limit), int64(len(all)))]
}

// rowsByID reads the records with the given ids of a list, in their order.
func rowsByID[T any](
	ctx context.Context, q engine.Querier, key listKey, ids []warranty.ID, sh *shape[T],
) ([]T, error) {
	if len(ids) == 0 {
		return []T{}, nil
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[warranty.ID]T, len(ids))
	// PostgreSQL plans for a typical list, where a scan would be cheaper. The limit prevents that.
	err = q.Query(ctx, `SELECT `+sh.columns+` FROM
		/*pg: json_array_elements_text($3) n CROSS JOIN LATERAL
			(SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id = n.value::uuid LIMIT 1) a */
		/*sqlite: (SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2
			AND a.item_id IN (SELECT unhex(value, '-') FROM json_each($3))) a */ `+sh.joins,
		func(r *engine.Row) error {
			row := sh.read(r)
			byID[sh.id(row)] = row
			return nil
		}, key.user, key.kind, string(param))
	rows := make([]T, 0, len(ids))
	for _, wanted := range ids {
		if row, ok := byID[wanted]; ok {
			rows = append(rows, row)
		}
	}
	return rows, err
}
