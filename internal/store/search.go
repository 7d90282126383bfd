package store

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// This file answers what SQL cannot: searches by words, and orders other than newest first. It reads
// every entry of the list, lets package find decide, and then reads the records of the page, all in
// one snapshot.

// searchedColumns are the texts of a warranty that are searched, and the user's roles, which decide
// whether the external id is one of them.
const searchedColumns = `a.roles, w.product_name, w.description, w.category, w.supplier, w.seller_name,
	w.serial_number, w.reference, w.external_id`

// readSearched reads searchedColumns as a text and as codes.
func readSearched(r *engine.Row) (text, codes string) {
	roles := warranty.RolesOf(r.Int())
	var lines []string
	for range 5 {
		lines = appendLine(lines, r)
	}
	first := len(lines)
	for range 2 {
		lines = appendLine(lines, r)
	}
	if external := r.OptionalText(); external != nil && roles.Has(warranty.Issuer) {
		lines = append(lines, *external)
	}
	list := make([]string, 0, 3)
	for _, code := range lines[first:] {
		list = append(list, find.Code(code))
	}
	return strings.Join(lines, "\n"), strings.Join(list, "\n")
}

func appendLine(lines []string, r *engine.Row) []string {
	if text := r.OptionalText(); text != nil {
		return append(lines, *text)
	}
	return lines
}

// openStatuses are the numbers of warranty.OpenClaimStatuses.
var openStatuses = func() string {
	numbers := make([]string, 0, len(warranty.OpenClaimStatuses))
	for _, status := range warranty.OpenClaimStatuses {
		numbers = append(numbers, strconv.FormatInt(enumNumber(status), 10))
	}
	return strings.Join(numbers, ", ")
}()

// recordColumns are what a question looks at besides searchedColumns.
var recordColumns = `a.item_id, a.status, a.start_date, a.end_date, w.category, w.supplier, w.seller_name,
	w.seller_email, w.product_name, w.updated_at, a.roles, CASE WHEN EXISTS
	(SELECT 1 FROM claims c WHERE c.warranty_id = a.item_id AND c.status IN (` + openStatuses + `)) THEN 1 ELSE 0 END`

func readRecord(r *engine.Row) find.Record {
	return find.Record{
		ID:          r.ID(),
		Standing:    enum[warranty.Status](r),
		Start:       r.Date(),
		End:         r.Date(),
		Category:    derefText(r.OptionalText()),
		Supplier:    derefText(r.OptionalText()),
		Seller:      derefText(r.OptionalText()),
		SellerEmail: derefText(r.OptionalText()),
		Name:        r.Text(),
		Updated:     r.Int(),
		Roles:       warranty.RolesOf(r.Int()),
		OpenClaim:   r.Int() != 0,
	}
}

// readWholeRecord reads recordColumns and searchedColumns.
func readWholeRecord(r *engine.Row) *find.Record {
	record := readRecord(r)
	record.Text, record.Codes = readSearched(r)
	return &record
}

func derefText(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// eachRecord calls each for the records that the user has access to and that the question selects,
// newest first. With an external id, it looks at that record only. A list that turns out to be long will
// be indexed.
func (s *Store) eachRecord(
	ctx context.Context, q engine.Querier, user warranty.ID, externalID string, question *find.Question,
	each func(find.Record),
) error {
	read := int64(0)
	defer func() { s.segments.noteLength(user, read) }()
	columns, where, args := recordColumns, `a.user_id = $1 AND a.kind = 1`, []any{user}
	if question.Query != nil {
		columns += `, ` + searchedColumns
	}
	if externalID != "" {
		where += ` AND a.item_id = (SELECT w.id FROM warranties w
			WHERE w.issuer_id = $1 AND w.external_id = $2 AND w.deleted_at IS NULL)`
		args = append(args, externalID)
	}
	return q.Query(ctx, `SELECT `+columns+` FROM access a `+joinWarranty+` WHERE `+where+` ORDER BY a.item_id DESC`,
		func(r *engine.Row) error {
			read++
			record := readRecord(r)
			if question.Query != nil {
				record.Text, record.Codes = readSearched(r)
			}
			if question.Matches(&record) {
				each(record)
			}
			return nil
		}, args...)
}

// readAll waits until no other scan of the user's records is under way, unless an external id makes
// the scan short, and runs fn in one snapshot.
func (s *Store) readAll(
	ctx context.Context, user warranty.ID, externalID string, fn func(engine.Querier) error,
) error {
	if externalID == "" {
		release, err := s.searchGate.acquire(ctx, user)
		if err != nil {
			return err
		}
		defer release()
	}
	return s.db.Read(ctx, fn)
}

// searchWarranties is Warranties for any filter and order.
func (s *Store) searchWarranties(
	ctx context.Context, user warranty.ID, in warranty.ListWarranties, today warranty.Date,
) (list []warranty.Warranty, total int64, err error) {
	question := find.QuestionOf(in.WarrantyFilter, in.Sort, today)
	err = s.readAll(ctx, user, in.ExternalID, func(q engine.Querier) error {
		var ids []warranty.ID
		if ids, total, err = s.pageIDs(ctx, q, user, in, question); err != nil {
			return err
		}
		list, err = warrantiesByID(ctx, q, user, ids)
		return err
	})
	return list, total, err
}

func warrantiesByID(
	ctx context.Context, q engine.Querier, user warranty.ID, ids []warranty.ID,
) ([]warranty.Warranty, error) {
	return rowsByID(ctx, q, user, kindWarranty, ids, warrantyColumns+`, a.roles`, joinWarranty, readWarrantyRoles,
		func(w warranty.Warranty) warranty.ID { return w.ID })
}

// pageIDs returns the ids of a page and the total, from the segments of a long list or from all
// records.
func (s *Store) pageIDs(
	ctx context.Context, q engine.Querier, user warranty.ID, in warranty.ListWarranties, question *find.Question,
) ([]warranty.ID, int64, error) {
	if in.ExternalID == "" { // which at most one record has
		var answer find.Answer
		answered, err := s.useIndex(ctx, q, user, func(index *segmentList) (err error) {
			answer, err = index.Ask(question, in.Offset(), in.Limit)
			return err
		})
		if answered || err != nil {
			return answer.IDs, answer.Total, err
		}
	}
	var found []find.Record
	err := s.eachRecord(ctx, q, user, in.ExternalID, question, func(r find.Record) {
		r.Text, r.Codes = "", "" // not needed for sorting
		found = append(found, r)
	})
	slices.SortFunc(found, func(a, b find.Record) int { return question.Compare(&a, &b) })
	ids := make([]warranty.ID, 0, in.Limit)
	for _, record := range pageOf(found, in.Paging) {
		ids = append(ids, record.ID)
	}
	return ids, int64(len(found)), err
}

// Summary counts the warranties that the user has access to and that match in as of today.
func (s *Store) Summary(
	ctx context.Context, user warranty.ID, in warranty.SummarizeWarranties, today warranty.Date,
) (summary warranty.Summary, err error) {
	question := find.QuestionOf(in.WarrantyFilter, "", today)
	err = s.readAll(ctx, user, in.ExternalID, func(q engine.Querier) error {
		counts, err := s.countRecords(ctx, q, user, in, question)
		if err == nil {
			summary = counts.Summary(today, in.Limit)
		}
		return err
	})
	return summary, err
}

// countRecords counts records per group, from the segments of a long list or from all records.
func (s *Store) countRecords(
	ctx context.Context, q engine.Querier, user warranty.ID, in warranty.SummarizeWarranties, question *find.Question,
) (counts *find.Counts, err error) {
	if in.ExternalID == "" {
		answered, err := s.useIndex(ctx, q, user, func(index *segmentList) (err error) {
			counts, err = index.Count(question, in.GroupBy)
			return err
		})
		if answered || err != nil {
			return counts, err
		}
	}
	counts = find.NewCounts(in.GroupBy)
	err = s.eachRecord(ctx, q, user, in.ExternalID, question, func(r find.Record) { counts.Add(&r, question.Today) })
	return counts, err
}

// searchPage searches a list of claims or documents by words. searched are two texts to search in
// addition to those of the warranty, of which the second is a code; joins finds all of them.
func searchPage[T any](
	ctx context.Context, s *Store, l *list, query find.Query, searched, columns, joins string, p warranty.Paging,
	read func(*engine.Row) T, id func(T) warranty.ID,
) (rows []T, total int64, err error) {
	err = s.readAll(ctx, l.user, "", func(q engine.Querier) error {
		var found []warranty.ID
		err := q.Query(ctx, `SELECT a.item_id, `+searched+`, `+searchedColumns+` FROM access a `+joins+`
			WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id > $3 AND a.item_id <= $4`+l.filter.String()+
			l.narrowed.String()+` ORDER BY a.item_id DESC`, func(r *engine.Row) error {
			item, own, number := r.ID(), r.Text(), r.Text()
			text, codes := readSearched(r)
			if query.Matches(own+"\n"+number+"\n"+text, find.Code(number)+"\n"+codes) {
				found = append(found, item)
			}
			return nil
		}, l.values(warranty.ID{}, newest)...)
		if err != nil {
			return err
		}
		total = int64(len(found))
		rows, err = rowsByID(ctx, q, l.user, l.kind, pageOf(found, p), columns, joins, read, id)
		return err
	})
	return rows, total, err
}

// pageOf returns the elements of a page.
func pageOf[T any](all []T, p warranty.Paging) []T {
	from := min(p.Offset(), int64(len(all)))
	return all[from:min(from+int64(p.Limit), int64(len(all)))]
}

// rowsByID reads the records with the given ids that the user has access to, in their order.
func rowsByID[T any](
	ctx context.Context, q engine.Querier, user warranty.ID, k kind, ids []warranty.ID, columns, joins string,
	read func(*engine.Row) T, id func(T) warranty.ID,
) ([]T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[warranty.ID]T, len(ids))
	// PostgreSQL plans for a typical list, where a scan would be cheaper. The limit prevents that.
	err = q.Query(ctx, `SELECT `+columns+` FROM
		/*pg: json_array_elements_text($3) n CROSS JOIN LATERAL
			(SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id = n.value::uuid LIMIT 1) a */
		/*sqlite: (SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2
			AND a.item_id IN (SELECT unhex(value, '-') FROM json_each($3))) a */ `+joins,
		func(r *engine.Row) error {
			row := read(r)
			byID[id(row)] = row
			return nil
		}, user, k, string(param))
	rows := make([]T, 0, len(ids))
	for _, wanted := range ids {
		if row, ok := byID[wanted]; ok {
			rows = append(rows, row)
		}
	}
	return rows, err
}
