package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// Messages are read by those who see the claim, except that an owner does not read what was written before
// they owned the warranty.

// messagesOf selects the messages m of the claim $2 that the account $1 may read.
const messagesOf = `access a JOIN claim_messages m ON m.claim_id = a.item_id
	WHERE a.user_id = $1 AND a.kind = ` + kindClaim + ` AND a.item_id = $2 AND ` + readsMessage

// readsMessage selects the messages m that the access row a of their claim lets an account read.
const readsMessage = `(a.roles & ` + roleOwner + ` = 0 OR m.owner_id = a.user_id OR m.account_id = a.user_id)`

func readMessage(r *engine.Row) warranty.Message {
	m := warranty.Message{ID: r.ID(), Documents: []warranty.MessageDocument{}}
	m.Author = warranty.Author{Role: enum[warranty.ClaimSide](r), Name: r.Text(), Account: r.OptionalText()}
	m.Body, m.CreatedAt, m.Mine = r.Text(), r.Time(), r.Int() != 0
	return m
}

// Messages lists the messages of a claim that the user may read, newest first, and returns their total.
func (s *Store) Messages(
	ctx context.Context, user warranty.ID, c warranty.Claim, p warranty.Paging,
) (list []warranty.Message, total int64, err error) {
	err = s.db.Read(ctx, func(q engine.Querier) error {
		if err := queryRow(ctx, q, `SELECT count(*) FROM `+messagesOf,
			func(r *engine.Row) { total = r.Int() }, user, c.ID); err != nil {
			return err
		}
		list = nil
		byID := map[warranty.ID]int{}
		if err := q.Query(ctx, `SELECT m.id, m.side, m.name, m.account, m.body, m.created_at,
				CASE WHEN m.account_id = a.user_id THEN 1 ELSE 0 END
			FROM `+messagesOf+` ORDER BY m.id DESC LIMIT $3 OFFSET $4`, func(r *engine.Row) error {
			m := readMessage(r)
			m.ClaimID = c.ID
			byID[m.ID] = len(list)
			list = append(list, m)
			return nil
		}, user, c.ID, p.Limit, p.Offset()); err != nil || len(list) == 0 {
			return err
		}
		return q.Query(ctx, `SELECT COALESCE(x.message_id, d.message_id), d.id, d.file_name, d.content_type, d.size_bytes,
				CASE WHEN x.claim_id IS NULL THEN 0 ELSE 1 END
			FROM documents d JOIN access a ON a.user_id = $1 AND a.kind = `+kindDocument+` AND a.item_id = d.id
			LEFT JOIN claim_documents x ON x.document_id = d.id AND x.claim_id = $3
			WHERE d.warranty_id = $2 AND (d.claim_id = $3 AND d.message_id IS NOT NULL OR x.message_id IS NOT NULL)
			ORDER BY d.id`, func(r *engine.Row) error {
			i, ok := byID[r.ID()]
			d := warranty.MessageDocument{ID: r.ID(), FileName: r.Text(), ContentType: r.Text(), SizeBytes: r.Int(), Stored: r.Int() != 0}
			if ok {
				list[i].Documents = append(list[i].Documents, d)
			}
			return nil
		}, user, c.WarrantyID, c.ID)
	})
	return list, total, err
}

// MessagesSince lists the newest messages of a claim since a time that a locked account may read and others wrote, oldest
// first, without one of them.
func (t *Tx) MessagesSince(
	account, claim warranty.ID, since time.Time, without warranty.ID, limit int,
) (list []warranty.Message, err error) {
	err = t.tx.Query(t.ctx, `SELECT m.id, m.side, m.name, m.account, m.body, m.created_at, 0 FROM `+messagesOf+`
			AND m.account_id <> a.user_id AND m.created_at >= $3 AND m.id <> $4 ORDER BY m.id DESC LIMIT $5`,
		func(r *engine.Row) error { list = append(list, readMessage(r)); return nil }, account, claim, since, without, limit)
	slices.Reverse(list)
	return list, err
}

// LastMessages adds the latest message that the user may read to each claim of a page.
func (s *Store) LastMessages(ctx context.Context, user warranty.ID, list []warranty.Claim) error {
	if len(list) == 0 {
		return nil
	}
	at := make(map[warranty.ID]int, len(list))
	ids := make([]warranty.ID, len(list))
	for i, c := range list {
		ids[i], at[c.ID] = c.ID, i
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return s.db.Query(ctx, `SELECT l.claim_id, l.id, l.side, l.name, l.account, substr(l.body, 1, $3), l.created_at, 0
		FROM (SELECT a.item_id, (SELECT m.id FROM claim_messages m WHERE m.claim_id = a.item_id AND `+readsMessage+`
				ORDER BY m.id DESC LIMIT 1) AS last FROM access a WHERE a.user_id = $1
				AND a.kind = `+kindClaim+` AND a.item_id IN (SELECT
				/*pg: CAST(value AS UUID) FROM json_array_elements_text($2) */
				/*sqlite: unhex(value, '-') FROM json_each($2) */)) n
		JOIN claim_messages l ON l.id = n.last`, func(r *engine.Row) error {
		i := at[r.ID()]
		list[i].LastMessage = readMessage(r).Excerpt()
		return nil
	}, user, string(param), warranty.MaxExcerpt+1)
}

// NewMessages counts the messages of a claim after an id that the user may read and that another account wrote.
func (s *Store) NewMessages(ctx context.Context, user warranty.ID, c warranty.Claim, after warranty.ID) (n int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM `+messagesOf+` AND m.id > $3 AND m.account_id <> a.user_id`,
		func(r *engine.Row) { n = r.Int() }, user, c.ID, after)
	return n, err
}

// InsertMessage adds a message to a locked claim, with documents that its author uploaded to the claim and
// sent with no other message.
func (t *Tx) InsertMessage(
	c warranty.Claim, m warranty.Message, account, user warranty.ID, documents []warranty.ID,
) error {
	owner, _, err := t.ownerOf(c.WarrantyID)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) { // the owner left
		return err
	}
	if err := t.later(`INSERT INTO claim_messages (id, claim_id, account_id, user_id, owner_id, side, name, account,
			body, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		m.ID, c.ID, account, user, owner, m.Author.Role, m.Author.Name, m.Author.Account, m.Body, m.CreatedAt); err != nil {
		return err
	}
	for _, id := range documents {
		n, err := t.exec(`UPDATE documents SET message_id = $4
			WHERE id = $1 AND claim_id = $2 AND uploader_id = $3 AND message_id IS NULL`, id, c.ID, account, m.ID)
		if err != nil {
			return err
		}
		if n != 1 {
			var check warranty.Checks
			check.Add("documents", "not_yours",
				"Send documents that you uploaded to this claim and have not sent with another message.")
			return check.Err()
		}
	}
	if m.Author.Role != warranty.OwnerSide {
		return nil
	}
	return t.later(`UPDATE claims SET customer_id = $2 WHERE id = $1`, c.ID, account)
}

// MessageDocuments lists documents of a locked claim.
func (t *Tx) MessageDocuments(message warranty.ID, ids []warranty.ID) (list []warranty.MessageDocument, err error) {
	list = []warranty.MessageDocument{}
	for _, id := range ids {
		err := queryRow(t.ctx, t.tx, `SELECT d.id, d.file_name, d.content_type, d.size_bytes FROM documents d
			WHERE d.id = $1 AND d.message_id = $2`, func(r *engine.Row) {
			list = append(list, warranty.MessageDocument{ID: r.ID(), FileName: r.Text(), ContentType: r.Text(), SizeBytes: r.Int()})
		}, id, message)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Handling returns who filed a claim and who works on it, for an organization or person that decides it.
func (s *Store) Handling(ctx context.Context, account warranty.ID, c warranty.Claim) (h warranty.ClaimHandling, err error) {
	h = warranty.ClaimHandling{ClaimID: c.ID, Assignable: []warranty.Assignee{}}
	err = s.db.Query(ctx, customerOfClaim, func(r *engine.Row) error {
		h.Customer = readCustomer(r.Text(), r)
		return nil
	}, c.ID)
	if err != nil {
		return h, err
	}
	err = s.db.Query(ctx, `SELECT u.id, u.name, CASE WHEN x.claim_id IS NULL THEN 0 ELSE 1 END FROM members m
		JOIN users u ON u.id = m.user_id
		LEFT JOIN claim_assignees x ON x.claim_id = $2 AND x.account_id = m.account_id AND x.user_id = m.user_id
		WHERE m.account_id = $1 AND `+canWork+` ORDER BY u.name, u.id`, func(r *engine.Row) error {
		who := warranty.Assignee{ID: r.ID(), Name: r.Text()}
		h.Assignable = append(h.Assignable, who)
		if r.Int() != 0 {
			h.AssignedTo = &who
		}
		return nil
	}, account, c.ID)
	return h, err
}

// canWork selects the members m, who are the people u, that claims can be assigned to: not viewers.
var canWork = fmt.Sprintf(`m.role IN (%d, %d) AND u.disabled_at IS NULL`,
	warranty.EnumNumber(warranty.Admin), warranty.EnumNumber(warranty.Member))

// Handlings adds the customers of claims, and who works on them, to those that the account decides as a business.
func (s *Store) Handlings(ctx context.Context, account warranty.ID, list []warranty.Claim) error {
	at := make(map[warranty.ID]int, len(list))
	ids := make([]warranty.ID, 0, len(list))
	for i, c := range list {
		if c.ManagedBy == warranty.ManagedByBusiness && !c.Roles.Has(warranty.Owner) {
			ids, at[c.ID] = append(ids, c.ID), i
		}
	}
	if len(ids) == 0 {
		return nil
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return s.db.Query(ctx, `SELECT c.id, m.id, m.name, u.name, u.kind, u.email,
			(SELECT o.contact_email FROM organizations o WHERE o.id = u.id)
		FROM claims c LEFT JOIN users u ON u.id = c.customer_id
		LEFT JOIN claim_assignees x ON x.claim_id = c.id AND x.account_id = $1
		LEFT JOIN users m ON m.id = x.user_id
		WHERE c.id IN (SELECT /*pg: CAST(value AS UUID) FROM json_array_elements_text($2) */
			/*sqlite: unhex(value, '-') FROM json_each($2) */)`, func(r *engine.Row) error {
		c := &list[at[r.ID()]]
		if id, name := r.OptionalID(), r.Text(); id != nil {
			c.Assignee = &warranty.Assignee{ID: *id, Name: name}
		}
		if name := r.OptionalText(); name != nil {
			c.Customer = readCustomer(*name, r)
		}
		return nil
	}, account, string(param))
}

// readCustomer reads the kind and the addresses of a customer with a name. Organizations have an address for contacts.
func readCustomer(name string, r *engine.Row) *warranty.Customer {
	kind, email, contact := enum[warranty.AccountKind](r), r.Text(), r.Text()
	if kind != warranty.PersonKind {
		email = contact
	}
	return &warranty.Customer{Name: name, Email: email}
}

// AssignClaim makes a member of a locked organization the one who works on a claim; nil is nobody.
func (t *Tx) AssignClaim(organization, claim warranty.ID, user *warranty.ID) error {
	if err := t.later(`DELETE FROM claim_assignees WHERE claim_id = $1 AND account_id = $2`, claim, organization); err != nil {
		return err
	}
	if user != nil {
		if err := t.later(`INSERT INTO claim_assignees (claim_id, account_id, user_id) VALUES ($1, $2, $3)`,
			claim, organization, *user); err != nil {
			return err
		}
	}
	if err := t.later(`UPDATE access SET assignee = $3 WHERE user_id = $2 AND kind = `+kindClaim+` AND item_id = $1`,
		claim, organization, user); err != nil {
		return err
	}
	return lists.NoteChanged(t.ctx, t.tx, `a.user_id = $2 AND a.kind = `+kindClaim+` AND a.item_id = $1`, claim, organization)
}

// Unassign ends the work of a member of a locked organization on all claims.
func (t *Tx) Unassign(organization, user warranty.ID) error {
	const assigned = `a.user_id = $1 AND a.kind = ` + kindClaim + ` AND a.item_id IN (
		SELECT x.claim_id FROM claim_assignees x WHERE x.account_id = $1 AND x.user_id = $2)`
	if err := lists.NoteChanged(t.ctx, t.tx, assigned, organization, user); err != nil {
		return err
	}
	if err := t.later(`UPDATE access AS a SET assignee = NULL WHERE `+assigned, organization, user); err != nil {
		return err
	}
	return t.later(`DELETE FROM claim_assignees WHERE account_id = $1 AND user_id = $2`, organization, user)
}

// keepConversations makes what was said about the claims of a locked warranty the owner's who leaves it. The
// reasons of statuses are in the messages, where businesses still read them.
func (t *Tx) keepConversations(id, owner warranty.ID) error {
	for _, sql := range []string{
		`UPDATE documents SET owner_id = $2 WHERE warranty_id = $1 AND claim_id IS NOT NULL AND owner_id IS NULL`,
		`UPDATE claims SET status_reason = NULL WHERE warranty_id = $1 AND CAST($2 AS UUID) IS NOT NULL`,
	} {
		if err := t.later(sql, id, owner); err != nil {
			return err
		}
	}
	return nil
}

// hideConversations hides the files of earlier owners from a business that became the owner of a locked warranty.
func (t *Tx) hideConversations(id, owner warranty.ID) error {
	return t.later(`DELETE FROM access WHERE user_id = $2 AND kind = `+kindDocument+` AND parent_id = $1
		AND item_id IN (
		SELECT d.id FROM documents d WHERE d.warranty_id = $1 AND d.owner_id <> $2
			AND d.uploader_id <> $2)`, id, owner)
}
