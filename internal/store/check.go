package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// Fault is something in the database that should not be.
type Fault struct {
	What    string
	Count   int64
	Example warranty.ID // of a record
}

// String describes the fault in one line.
func (f Fault) String() string {
	return fmt.Sprintf("%s: %d, for example %s", f.What, f.Count, f.Example)
}

// rules select what should not be. Each has one column, the id of a record.
var rules = []struct{ what, sql string }{
	{"access of unknown accounts", `SELECT a.item_id FROM access a
		WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = a.user_id)`},
	{"access to warranties that differ from their record", `SELECT a.item_id FROM access a
		LEFT JOIN warranties w ON w.id = a.item_id
		WHERE a.kind = ` + kindWarranty + ` AND (w.id IS NULL OR w.deleted_at IS NOT NULL OR a.parent_id <> a.item_id
			OR a.status <> w.standing OR a.start_date <> w.start_date OR a.end_date <> w.end_date
			OR a.category <> w.folded_category /*sqlite: OR a.item_row <> w.row */)`},
	{"access to claims that differ from their record", `SELECT a.item_id FROM access a
		LEFT JOIN claims c ON c.id = a.item_id
		WHERE a.kind = ` + kindClaim + ` AND (c.id IS NULL OR c.warranty_id <> a.parent_id OR c.status <> a.status
			OR a.start_date NOT IN (0, c.spoke))`},
	{"claims in another queue than they belong in", `SELECT a.item_id FROM access a WHERE ` + outOfQueue},
	{"messages without a claim", `SELECT m.id FROM claim_messages m
		WHERE NOT EXISTS (SELECT 1 FROM claims c WHERE c.id = m.claim_id)`},
	{"notes without a claim", `SELECT n.id FROM claim_notes n
		WHERE NOT EXISTS (SELECT 1 FROM claims c WHERE c.id = n.claim_id)`},
	{"muted claims that are missing", `SELECT m.claim_id FROM claim_mutes m
		WHERE NOT EXISTS (SELECT 1 FROM claims c WHERE c.id = m.claim_id)`},
	{"documents sent with a claim of another warranty, or without one", `SELECT x.document_id FROM claim_documents x
		WHERE NOT EXISTS (SELECT 1 FROM claims c JOIN documents d ON d.warranty_id = c.warranty_id
			WHERE c.id = x.claim_id AND d.id = x.document_id)`},
	{"documents of messages without the message", `SELECT d.id FROM documents d WHERE d.message_id IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM claim_messages m WHERE m.id = d.message_id AND m.claim_id = d.claim_id)`},
	{"documents of an earlier owner that a later owner can see", `SELECT d.id FROM documents d
		JOIN access a ON a.kind = ` + kindDocument + ` AND a.item_id = d.id
		WHERE d.owner_id IS NOT NULL AND a.roles & ` + roleOwner + ` = ` + roleOwner + ` AND NOT ` + seesDocument},
	{"access to documents that differ from their record", `SELECT a.item_id FROM access a
		LEFT JOIN documents d ON d.id = a.item_id
		WHERE a.kind = ` + kindDocument + ` AND (d.id IS NULL OR d.warranty_id <> a.parent_id)`},
	{"access to claims or documents with other roles than on their warranty", `SELECT a.item_id FROM access a
		LEFT JOIN access p ON p.user_id = a.user_id AND p.kind = ` + kindWarranty + ` AND p.item_id = a.parent_id
		WHERE a.kind > ` + kindWarranty + ` AND (p.user_id IS NULL OR p.roles <> a.roles) AND NOT EXISTS (SELECT 1
			FROM documents d WHERE a.kind = ` + kindDocument + ` AND d.id = a.item_id AND d.owner_id = a.user_id
			AND ` + keepsDocument + `)`},
	{"claims that someone with access to the warranty cannot see", `SELECT c.id FROM claims c
		JOIN access p ON p.parent_id = c.warranty_id AND p.kind = ` + kindWarranty + `
		LEFT JOIN access a ON a.user_id = p.user_id AND a.kind = ` + kindClaim + ` AND a.item_id = c.id
		WHERE a.user_id IS NULL`},
	{"documents that someone who may see them cannot see", `SELECT d.id FROM documents d
		JOIN access p ON p.parent_id = d.warranty_id AND p.kind = ` + kindWarranty + `
			AND (CASE WHEN p.roles & ` + roleOwner + ` <> 0 THEN d.owner_id IS NULL OR d.owner_id = p.user_id
				ELSE ` + sharedDocument + ` END OR d.uploader_id = p.user_id)
		LEFT JOIN access a ON a.user_id = p.user_id AND a.kind = ` + kindDocument + ` AND a.item_id = d.id
		WHERE a.user_id IS NULL`},
	{"documents that a former owner kept and cannot see", `SELECT d.id FROM documents d
		JOIN users u ON u.id = d.owner_id AND u.deleted_at IS NULL
		JOIN warranties w ON w.id = d.warranty_id AND w.deleted_at IS NULL
		LEFT JOIN access a ON a.user_id = d.owner_id AND a.kind = ` + kindDocument + ` AND a.item_id = d.id
		WHERE a.user_id IS NULL AND ` + keepsDocument + ` AND NOT EXISTS (SELECT 1 FROM trash x
			WHERE x.warranty_id = d.warranty_id AND x.account_id = d.owner_id)`},
	{"documents of owners that a business can see", `SELECT d.id FROM documents d
		JOIN access a ON a.kind = ` + kindDocument + ` AND a.item_id = d.id
		WHERE d.business = 0 AND NOT ` + seesDocument},
	{"warranties that nobody can see", `SELECT w.id FROM warranties w WHERE w.deleted_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM access a WHERE a.parent_id = w.id AND a.kind = ` + kindWarranty + `)
		AND NOT EXISTS (SELECT 1 FROM trash x WHERE x.warranty_id = w.id)`},
	{"warranties with several owners", `SELECT a.parent_id FROM access a
		WHERE a.kind = ` + kindWarranty + ` AND a.roles & ` + roleOwner + ` <> 0
		GROUP BY a.parent_id HAVING count(*) > 1`},
	{"claims without a warranty", `SELECT c.id FROM claims c
		WHERE NOT EXISTS (SELECT 1 FROM warranties w WHERE w.id = c.warranty_id)`},
	{"documents of missing or deleted warranties that are not in the trash", `SELECT d.id FROM documents d
		WHERE NOT EXISTS (SELECT 1 FROM warranties w WHERE w.id = d.warranty_id AND w.deleted_at IS NULL)
			AND NOT EXISTS (SELECT 1 FROM trash x WHERE x.warranty_id = d.warranty_id)`},
	{"trash of unknown warranties or accounts", `SELECT x.warranty_id FROM trash x
		WHERE NOT EXISTS (SELECT 1 FROM warranties w WHERE w.id = x.warranty_id)
			OR NOT EXISTS (SELECT 1 FROM users u WHERE u.id = x.account_id)`},
	{"warranties in the trash of an account that has access to them", `SELECT x.warranty_id FROM trash x
		JOIN access a ON a.user_id = x.account_id AND a.kind = ` + kindWarranty + ` AND a.item_id = x.warranty_id`},
	{"warranties of unknown issuers", `SELECT w.id FROM warranties w
		WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = w.issuer_id)`},
	{"tokens of unknown accounts", `SELECT t.id FROM tokens t
		WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = t.user_id)`},
	{"secrets without a token", `SELECT s.token_id FROM token_secrets s
		WHERE NOT EXISTS (SELECT 1 FROM tokens t WHERE t.id = s.token_id)`},
	{"refresh tokens without a connected app", `SELECT s.token_id FROM refresh_tokens s
		WHERE NOT EXISTS (SELECT 1 FROM tokens t WHERE t.id = s.token_id AND t.client_id IS NOT NULL)`},
	{"sessions of unknown accounts", `SELECT s.id FROM sessions s
		WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = s.user_id)`},
	{"factors or identities of unknown people", `SELECT x.user_id FROM (SELECT user_id FROM passkeys UNION ALL
			SELECT user_id FROM totp UNION ALL SELECT user_id FROM totp_pending UNION ALL SELECT user_id FROM recovery_codes UNION ALL SELECT user_id FROM identities) x
		WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = x.user_id AND u.kind = ` + kindPerson + ` AND u.deleted_at IS NULL)`},
	{"people with two-step sign-in and no factor", `SELECT u.id FROM users u WHERE u.two_step_since IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = u.id)
		AND NOT EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL)`},
	{"members of unknown organizations or people", `SELECT m.account_id FROM members m
		WHERE NOT EXISTS (SELECT 1 FROM organizations o JOIN users u ON u.id = o.id WHERE o.id = m.account_id
			AND u.kind = ` + kindOrganization + `)
			OR NOT EXISTS (SELECT 1 FROM users u WHERE u.id = m.user_id
				AND u.kind = ` + kindPerson + ` AND u.deleted_at IS NULL)`},
	{"organizations without a profile, or profiles without an organization", `SELECT u.id FROM users u
		WHERE u.deleted_at IS NULL AND (u.kind = ` + kindOrganization + `) <> EXISTS (SELECT 1 FROM organizations o
			WHERE o.id = u.id)`},
	{"people without their own address", `SELECT u.id FROM users u
		WHERE u.kind = ` + kindPerson + ` AND u.deleted_at IS NULL
		AND u.set_aside_for IS NULL
		AND NOT EXISTS (SELECT 1 FROM addresses a WHERE a.email = u.email AND a.account_id = u.id)`},
	{"addresses of unknown accounts, or not verified", `SELECT a.account_id FROM addresses a
		WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = a.account_id
			AND (u.kind = ` + kindPerson + ` OR a.id IS NOT NULL AND a.verified_at IS NOT NULL))`},
	{"history of unknown records", `SELECT h.thread_id FROM history h
		WHERE NOT EXISTS (SELECT 1 FROM warranties w WHERE w.id = h.thread_id)
			AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.id = h.thread_id)
			AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = h.thread_id)`},
}

// CheckRecords reads all records, who can see them, their history and the indexes of long lists, and
// returns what contradicts each other. It changes nothing.
func (s *Store) CheckRecords(ctx context.Context, today warranty.Date, progress func(what string)) ([]Fault, error) {
	var faults []Fault
	err := s.db.Snapshot(ctx, func(q *engine.Snapshot) error {
		for _, rule := range rules {
			progress(rule.what)
			fault := Fault{What: rule.what}
			if err := q.Query(ctx, rule.sql, func(r *engine.Row) error {
				if fault.Count++; fault.Count == 1 {
					fault.Example = r.ID()
				}
				return nil
			}); err != nil {
				return err
			}
			if fault.Count > 0 {
				faults = append(faults, fault)
			}
		}
		for _, check := range []func(context.Context, engine.Querier) ([]Fault, error){checkHistory,
			func(ctx context.Context, q engine.Querier) ([]Fault, error) {
				return s.checkSegments(ctx, q, today, progress)
			},
		} {
			found, err := check(ctx, q)
			if err != nil {
				return err
			}
			faults = append(faults, found...)
		}
		return nil
	})
	return faults, err
}

// checkHistory reads every event.
func checkHistory(ctx context.Context, q engine.Querier) ([]Fault, error) {
	fault := Fault{What: "unreadable events in history"}
	err := q.Query(ctx, `SELECT h.thread_id, `+eventColumns+` FROM history h`, func(r *engine.Row) error {
		thread := r.ID()
		e, err := readEvent(r)
		var invalid *json.SyntaxError
		if err != nil && !errors.As(err, &invalid) {
			return err
		}
		if err == nil && e.Action != "" && e.Door != "" && !e.At.IsZero() {
			return nil
		}
		if fault.Count++; fault.Count == 1 {
			fault.Example = thread
		}
		return nil
	})
	if fault.Count == 0 {
		return nil, err
	}
	return []Fault{fault}, err
}

// checkSegments compares every indexed list with its records, in three orders.
func (s *Store) checkSegments(
	ctx context.Context, q engine.Querier, today warranty.Date, progress func(string),
) (faults []Fault, err error) {
	ready, err := lists.Ready(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, l := range ready {
		progress("index of " + l.User.String())
		n, err := s.segmentFaults(ctx, q, l, today)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			faults = append(faults, Fault{What: "records at the wrong place in the index of an account", Count: n, Example: l.User})
		}
	}
	return faults, nil
}

// segmentFaults counts the records whose place in an index is not that of the records.
func (s *Store) segmentFaults(
	ctx context.Context, q engine.Querier, l *lists.List, today warranty.Date,
) (faults int64, err error) {
	index, err := s.lists.Open(ctx, q, l.Key)
	if err != nil || index == nil {
		return 0, err
	}
	var newest []warranty.ID
	ends, updates, waits := map[warranty.ID]int64{}, map[warranty.ID]int64{}, map[warranty.ID]int64{}
	if err := s.lists.Each(ctx, q, l, find.QuestionOf(warranty.WarrantyFilter{}, "", today), func(r find.Record) {
		newest = append(newest, r.ID)
		ends[r.ID], updates[r.ID], waits[r.ID] = r.End.EpochDay(), r.Updated, r.Waits
	}); err != nil {
		return 0, err
	}
	for _, sort := range []warranty.WarrantySort{"", warranty.ByEndDate, warranty.ByUpdatedAt, find.ByWaiting} {
		question := find.QuestionOf(warranty.WarrantyFilter{}, sort, today)
		answer, err := index.Ask(question, 0, len(newest)+1)
		if errors.Is(err, find.ErrCorrupt) {
			return int64(len(newest)), nil
		}
		if err != nil {
			return 0, err
		}
		if len(answer.IDs) != len(newest) || answer.Total != int64(len(newest)) {
			faults += max(1, int64(len(newest)-len(answer.IDs)))
			continue
		}
		switch sort {
		case warranty.ByEndDate:
			faults += unordered(answer.IDs, ends)
		case warranty.ByUpdatedAt:
			faults += unordered(answer.IDs, updates)
		case find.ByWaiting:
			faults += unordered(answer.IDs, waits)
		default:
			for i, id := range answer.IDs {
				if id != newest[i] {
					faults++
				}
			}
		}
	}
	return faults, nil
}

// unordered counts the ids that are not in the order of their keys, or have none.
func unordered(ids []warranty.ID, keys map[warranty.ID]int64) (n int64) {
	last := int64(-1 << 62)
	for _, id := range ids {
		key, ok := keys[id]
		if !ok || key < last {
			n++
		}
		last = key
	}
	return n
}

// CheckIntegrity checks the structure of a SQLite file. PostgreSQL has no such check.
func (s *Store) CheckIntegrity(ctx context.Context) error {
	var lines []string
	err := s.db.Query(ctx, `/*sqlite: PRAGMA integrity_check(10) *//*pg: SELECT 'ok' */`,
		func(r *engine.Row) error { lines = append(lines, r.Text()); return nil })
	if err == nil && !slices.Equal(lines, []string{"ok"}) {
		err = errors.New(strings.Join(lines, "; "))
	}
	return err
}

// StoredFile is a document's file.
type StoredFile struct {
	Key, SHA256 string
	Size        int64
}

// EachFile calls each with the files of all documents.
func (s *Store) EachFile(ctx context.Context, each func(StoredFile) error) error {
	return s.db.Snapshot(ctx, func(q *engine.Snapshot) error {
		return q.Query(ctx, `SELECT storage_key, sha256, size_bytes FROM used_files`, func(r *engine.Row) error {
			return each(StoredFile{Key: r.Text(), SHA256: fmt.Sprintf("%x", r.Bytes()), Size: r.Int()})
		})
	})
}

// NewestTime returns the latest time in the history, or the zero time.
func (s *Store) NewestTime(ctx context.Context) (newest time.Time, err error) {
	err = queryRow(ctx, s.db, `SELECT max(updated_at) FROM warranties`, func(r *engine.Row) {
		if !r.Null() {
			newest = r.Time()
		}
	})
	return newest, err
}
