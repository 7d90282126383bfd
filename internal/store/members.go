package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Members lists the members of an organization, in the order in which they joined, and returns their
// total.
func (s *Store) Members(
	ctx context.Context, organization warranty.ID, p warranty.Paging, now time.Time,
) (list []warranty.Membership, total int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM members WHERE account_id = $1 AND role > 0`,
		func(r *engine.Row) { total = r.Int() }, organization)
	if err != nil {
		return nil, 0, err
	}
	err = s.db.Query(ctx, `SELECT `+memberColumns+`,
			(SELECT count(*) FROM tokens t WHERE t.user_id = $1 AND t.created_by = u.id AND t.client_id IS NULL
				AND t.revoked_at IS NULL
				AND t.expires_at > $4)
		FROM members m JOIN users u ON u.id = m.user_id WHERE m.account_id = $1 AND m.role > 0
		ORDER BY m.created_at, u.id LIMIT $2 OFFSET $3`,
		func(r *engine.Row) error {
			m := readMember(r)
			m.Tokens = r.Int()
			list = append(list, m)
			return nil
		}, organization, p.Limit, p.Offset(), now)
	return list, total, err
}

const memberColumns = `u.id, u.name, u.email, m.role, u.disabled_at, u.last_sign_in_at, m.created_at`

func readMember(r *engine.Row) warranty.Membership {
	return warranty.Membership{
		UserID:       r.ID(),
		Name:         r.Text(),
		Email:        r.Text(),
		Role:         enum[warranty.MemberRole](r),
		Disabled:     r.Set(),
		LastSignInAt: r.OptionalTime(),
		CreatedAt:    r.Time(),
	}
}

// Member returns a member of a locked organization.
func (t *Tx) Member(organization, user warranty.ID) (m warranty.Membership, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT `+memberColumns+` FROM members m JOIN users u ON u.id = m.user_id
		WHERE m.account_id = $1 AND m.user_id = $2 AND m.role > 0`,
		func(r *engine.Row) { m = readMember(r) }, organization, user)
	return m, err
}

// IsMember reports whether the person with an address is a member of a locked organization.
func (t *Tx) IsMember(organization warranty.ID, email string) (found bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT 1 FROM users u JOIN members m ON m.user_id = u.id AND m.account_id = $1 AND m.role > 0
		WHERE u.email = $2`, func(*engine.Row) error { found = true; return nil }, organization, email)
	return found, err
}

// HasOtherAdmin reports whether a locked organization has an enabled admin besides a person.
func (t *Tx) HasOtherAdmin(organization, user warranty.ID) (found bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT 1 FROM members m JOIN users u ON u.id = m.user_id
		WHERE m.account_id = $1 AND m.user_id <> $2 AND m.role = `+memberAdmin+` AND u.disabled_at IS NULL LIMIT 1`,
		func(*engine.Row) error { found = true; return nil }, organization, user)
	return found, err
}

// CountMembers counts the members and the open invitations of a locked organization.
func (t *Tx) CountMembers(organization warranty.ID, now time.Time) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT (SELECT count(*) FROM members WHERE account_id = $1 AND role > 0) +
		(SELECT count(*) FROM invitations WHERE account_id = $1 AND expires_at > $2)`,
		func(r *engine.Row) { n = r.Int() }, organization, now)
	return n, err
}

// CountOrganizations counts the organizations of a person.
func (t *Tx) CountOrganizations(user warranty.ID) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM members WHERE user_id = $1 AND role > 0`,
		func(r *engine.Row) { n = r.Int() }, user)
	return n, err
}

// InsertMember adds a member to a locked organization. A row that is being removed is used again.
func (t *Tx) InsertMember(
	organization, user warranty.ID, role warranty.MemberRole, mails warranty.MailChoices, now time.Time,
) error {
	return t.exactlyOne(`INSERT INTO members (account_id, user_id, role, mail_choices, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (account_id, user_id) DO UPDATE SET role = excluded.role, mail_choices = excluded.mail_choices,
			created_at = excluded.created_at WHERE members.role = `+memberRemoved,
		organization, user, role, choiceBits(mails), now)
}

// SetRole changes the role of a member of a locked organization. When Write returns, no write with the
// earlier role is under way.
func (t *Tx) SetRole(organization, user warranty.ID, role warranty.MemberRole) error {
	t.awaitMember(organization, user)
	if role == warranty.Viewer { // who works on no claims
		if err := t.Unassign(organization, user); err != nil {
			return err
		}
	}
	return t.exactlyOne(`UPDATE members SET role = $3 WHERE account_id = $1 AND user_id = $2 AND role > 0`,
		organization, user, role)
}

// SetMemberMails changes the email preferences of a member.
func (t *Tx) SetMemberMails(organization, user warranty.ID, mails warranty.MailChoices) error {
	return t.exactlyOne(`UPDATE members SET mail_choices = $3 WHERE account_id = $1 AND user_id = $2 AND role > 0`,
		organization, user, choiceBits(mails))
}

// RemoveMember removes a member of a locked organization. When Write returns, no write of the member for
// the organization is under way.
func (t *Tx) RemoveMember(organization, user warranty.ID) error {
	t.awaitMember(organization, user)
	if err := t.Unassign(organization, user); err != nil {
		return err
	}
	if err := t.unmuteMember(organization, user); err != nil {
		return err
	}
	return t.exactlyOne(`/*pg: UPDATE members SET role = `+memberRemoved+` *//*sqlite: DELETE FROM members */
		WHERE account_id = $1 AND user_id = $2 AND role > 0`, organization, user)
}

const invitationColumns = `i.id, i.email, i.role, i.created_at, i.expires_at`

func readInvitation(r *engine.Row) warranty.Invitation {
	return warranty.Invitation{
		ID:        r.ID(),
		Email:     r.Text(),
		Role:      enum[warranty.MemberRole](r),
		CreatedAt: r.Time(),
		ExpiresAt: r.Time(),
	}
}

// Invitations lists the open invitations of an organization, newest first, and returns their total.
func (s *Store) Invitations(
	ctx context.Context, organization warranty.ID, p warranty.Paging, now time.Time,
) (list []warranty.Invitation, total int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM invitations WHERE account_id = $1 AND expires_at > $2`,
		func(r *engine.Row) { total = r.Int() }, organization, now)
	if err != nil {
		return nil, 0, err
	}
	err = s.db.Query(ctx, `SELECT `+invitationColumns+`, u.name FROM invitations i LEFT JOIN users u ON u.id = i.invited_by
		WHERE i.account_id = $1 AND i.expires_at > $2 ORDER BY i.id DESC LIMIT $3 OFFSET $4`,
		func(r *engine.Row) error {
			i := readInvitation(r)
			i.InvitedBy = r.Text()
			list = append(list, i)
			return nil
		}, organization, now, p.Limit, p.Offset())
	return list, total, err
}

// InsertInvitation adds an invitation to a locked organization. It replaces an earlier one to the address.
func (t *Tx) InsertInvitation(organization, by warranty.ID, i warranty.Invitation, code warranty.Hash) error {
	if err := t.later(`DELETE FROM invitations WHERE account_id = $1 AND email = $2`, organization, i.Email); err != nil {
		return err
	}
	return t.later(`INSERT INTO invitations (id, account_id, email, role, code_hash, invited_by, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		i.ID, organization, i.Email, i.Role, code, by, i.CreatedAt, i.ExpiresAt)
}

// DeleteInvitation removes an open invitation of a locked organization and returns its address.
func (t *Tx) DeleteInvitation(organization, id warranty.ID) (email string, err error) {
	err = queryRow(t.ctx, t.tx, `DELETE FROM invitations WHERE account_id = $1 AND id = $2 RETURNING email`,
		func(r *engine.Row) { email = r.Text() }, organization, id)
	return email, err
}

// DeleteInvitationsBy removes the open invitations that a member of a locked organization sent, and returns them.
func (t *Tx) DeleteInvitationsBy(organization, by warranty.ID) (list []warranty.Invitation, err error) {
	err = t.tx.Query(t.ctx, `DELETE FROM invitations WHERE account_id = $1 AND invited_by = $2
		RETURNING id, email, role, created_at, expires_at`,
		func(r *engine.Row) error { list = append(list, readInvitation(r)); return nil }, organization, by)
	return list, err
}

// DeleteInvitationsOf removes the open invitations of a locked organization.
func (t *Tx) DeleteInvitationsOf(organization warranty.ID) error {
	return t.later(`DELETE FROM invitations WHERE account_id = $1`, organization)
}

// InvitationByCode returns an open invitation and its organization.
func (s *Store) InvitationByCode(
	ctx context.Context, code warranty.Hash, now time.Time,
) (i warranty.Invitation, organization warranty.Acting, err error) {
	err = queryRow(ctx, s.db, `SELECT `+invitationColumns+`, o.id, o.name, o.kind
		FROM invitations i JOIN users o ON o.id = i.account_id
		WHERE i.code_hash = $1 AND i.expires_at > $2 AND o.disabled_at IS NULL`,
		func(r *engine.Row) { i = readInvitation(r); organization = readActing(r, i.Role) }, code, now)
	return i, organization, err
}

// UseInvitation removes an open invitation of a locked organization and returns it.
func (t *Tx) UseInvitation(organization warranty.ID, code warranty.Hash, now time.Time) (i warranty.Invitation, err error) {
	err = queryRow(t.ctx, t.tx, `DELETE FROM invitations WHERE account_id = $1 AND code_hash = $2 AND expires_at > $3
		RETURNING id, email, role, created_at, expires_at`,
		func(r *engine.Row) { i = readInvitation(r) }, organization, code, now)
	return i, err
}
