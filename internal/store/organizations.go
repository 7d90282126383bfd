package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Recipient is someone who gets the emails of an account.
type Recipient struct {
	Account     warranty.ID
	User        warranty.ID // the person; for the contact address of an organization, the organization
	Name, Email string
	Mails       warranty.MailChoices
	Locale      warranty.Locale // what the person chose
	Roles       warranty.Roles  // of the account on the warranty, if it is about one: see People
}

// recipientColumns has the choices of the contact address of an organization, too.
const recipientColumns = `r.account_id, r.user_id, r.name, r.email,
	r.choices & COALESCE((SELECT o.contact_mails FROM organizations o WHERE o.id = r.user_id), 7),
	(SELECT l.language FROM users l WHERE l.id = r.user_id), (SELECT l.zone FROM users l WHERE l.id = r.user_id)`

func readRecipient(r *engine.Row) Recipient {
	return Recipient{
		Account: r.ID(),
		User:    r.ID(),
		Name:    r.Text(),
		Email:   r.Text(),
		Mails:   readChoices(r.Int()),
		Locale:  warranty.Locale{Language: r.Text(), Zone: r.Text()},
	}
}

// Recipients lists who gets the emails of an account.
func (t *Tx) Recipients(account warranty.ID) (list []Recipient, err error) {
	err = t.tx.Query(t.ctx, `SELECT `+recipientColumns+` FROM recipients r WHERE r.account_id = $1 ORDER BY r.user_id`,
		func(r *engine.Row) error { list = append(list, readRecipient(r)); return nil }, account)
	return list, err
}

// Admins lists the verified, enabled admins of an organization.
func (t *Tx) Admins(organization warranty.ID) (list []warranty.User, err error) {
	err = t.tx.Query(t.ctx, `SELECT `+userColumns+` FROM members m JOIN users u ON u.id = m.user_id
		WHERE m.account_id = $1 AND m.role = `+memberAdmin+` AND u.verified_at IS NOT NULL AND u.disabled_at IS NULL
		ORDER BY u.id`,
		func(r *engine.Row) error { list = append(list, readUser(r)); return nil }, organization)
	return list, err
}

// Membership returns the organization that a person is a member of, and its role. It is ErrNotFound for
// others, and for an organization that is disabled or deleted.
func (s *Store) Membership(ctx context.Context, organization, user warranty.ID) (a warranty.Acting, err error) {
	err = queryRow(ctx, s.db, `SELECT m.role, o.id, o.name, o.kind FROM members m JOIN users o ON o.id = m.account_id
		WHERE m.account_id = $1 AND m.user_id = $2 AND m.role > 0 AND o.disabled_at IS NULL`,
		func(r *engine.Row) { role := enum[warranty.MemberRole](r); a = readActing(r, role) }, organization, user)
	return a, err
}

// waitingOf counts the claims that wait for the account o, at most $2.
const waitingOf = `(SELECT count(*) FROM (SELECT 1 AS one FROM ` + inQueues + `o.id AND a.queue = ` + queueForUs + ` LIMIT $2) w)`

// accountsOf is the statement of Accounts.
const accountsOf = `SELECT ` + memberAdmin + ` AS role, o.id, o.name, o.kind, ` + waitingOf + `
	FROM users o WHERE o.id = $1
	UNION ALL
	SELECT m.role, o.id, o.name, o.kind, ` + waitingOf + ` FROM members m JOIN users o ON o.id = m.account_id
	WHERE m.user_id = $1 AND m.role > 0 AND o.disabled_at IS NULL
	ORDER BY 4, 3, 2`

// Accounts lists what a person can act for: their own account, then organizations by name.
func (s *Store) Accounts(ctx context.Context, user warranty.ID) (list []warranty.AccountChoice, err error) {
	err = s.db.Query(ctx, accountsOf, func(r *engine.Row) error {
		role := enum[warranty.MemberRole](r)
		list = append(list, warranty.AccountChoice{Acting: readActing(r, role), Waiting: r.Int()})
		return nil
	}, user, warranty.MaxWaiting)
	return list, err
}

// Issuer returns the profile of the organization that issued a warranty. It is ErrNotFound if a person did.
func (s *Store) Issuer(ctx context.Context, id warranty.ID) (o warranty.Profile, err error) {
	err = queryRow(ctx, s.db, `SELECT u.name, o.website, o.contact_email, o.contact_phone
		FROM warranties w JOIN users u ON u.id = w.issuer_id JOIN organizations o ON o.id = u.id WHERE w.id = $1`,
		func(r *engine.Row) {
			o = warranty.Profile{
				Name:         r.Text(),
				Website:      r.OptionalText(),
				ContactEmail: r.OptionalText(),
				ContactPhone: r.OptionalText(),
			}
		}, id)
	return o, err
}

// An organization that an admin deleted is listed for its admins until it is erased.
const (
	organizationColumns = `u.id, u.name, o.website, o.contact_email, o.contact_phone, m.role, m.mail_choices,
		(SELECT count(*) FROM members n WHERE n.account_id = u.id AND n.role > 0), u.created_at,
		CASE WHEN e.user_id IS NOT NULL THEN u.disabled_at END, e.due_at`
	fromOrganizations = ` FROM members m JOIN users u ON u.id = m.account_id JOIN organizations o ON o.id = u.id
		LEFT JOIN erasures e ON e.user_id = u.id AND e.started_at IS NULL AND e.restorable = 1
		WHERE m.role > 0 AND (u.disabled_at IS NULL OR e.due_at IS NOT NULL AND m.role = ` + memberAdmin + `)`
)

func readOrganization(r *engine.Row) warranty.Organization {
	return warranty.Organization{
		ID:           r.ID(),
		Name:         r.Text(),
		Website:      r.OptionalText(),
		ContactEmail: r.OptionalText(),
		ContactPhone: r.OptionalText(),
		Role:         enum[warranty.MemberRole](r),
		Mails:        readChoices(r.Int()),
		Members:      r.Int(),
		CreatedAt:    r.Time(),
		DeletedAt:    r.OptionalTime(),
		ErasedAt:     r.OptionalTime(),
	}
}

// Organization returns an organization as one of its members sees it.
func (s *Store) Organization(ctx context.Context, id, user warranty.ID) (o warranty.Organization, err error) {
	return organization(ctx, s.db, id, user)
}

// Organization returns an organization as one of its members sees it.
func (t *Tx) Organization(id, user warranty.ID) (o warranty.Organization, err error) {
	return organization(t.ctx, t.tx, id, user)
}

func organization(ctx context.Context, q engine.Querier, id, user warranty.ID) (o warranty.Organization, err error) {
	err = queryRow(ctx, q, `SELECT `+organizationColumns+fromOrganizations+` AND u.id = $1 AND m.user_id = $2`,
		func(r *engine.Row) { o = readOrganization(r) }, id, user)
	return o, err
}

// Organizations lists the organizations of a person by name, and returns their total.
func (s *Store) Organizations(
	ctx context.Context, user warranty.ID, p warranty.Paging,
) (list []warranty.Organization, total int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*)`+fromOrganizations+` AND m.user_id = $1`,
		func(r *engine.Row) { total = r.Int() }, user)
	if err != nil {
		return nil, 0, err
	}
	err = s.db.Query(ctx, `SELECT `+organizationColumns+fromOrganizations+` AND m.user_id = $1
		ORDER BY u.name, u.id LIMIT $2 OFFSET $3`,
		func(r *engine.Row) error { list = append(list, readOrganization(r)); return nil }, user, p.Limit, p.Offset())
	return list, total, err
}

// InsertOrganization adds an organization. verified means that a person with a verified address made it.
func (t *Tx) InsertOrganization(o warranty.Organization, verified bool) error {
	var at *time.Time
	if verified {
		at = &o.CreatedAt
	}
	if err := t.later(`INSERT INTO users (id, email, name, password_hash, verified_at, created_at, kind, mail_choices)
		VALUES ($1, $2, $3, '', $4, $5, `+kindOrganization+`, 0)`,
		o.ID, organizationEmail(o.ID), o.Name, at, o.CreatedAt); err != nil {
		return err
	}
	return t.insertProfile(o)
}

// organizationEmail is in the column email of an organization, where nothing may be empty or equal.
func organizationEmail(id warranty.ID) string { return id.String() + "@organization.invalid" }

func (t *Tx) insertProfile(o warranty.Organization) error {
	return t.later(`INSERT INTO organizations (id, website, contact_email, contact_phone) VALUES ($1, $2, $3, $4)`,
		o.ID, o.Website, o.ContactEmail, o.ContactPhone)
}

// UpdateOrganization updates the profile of a locked organization.
func (t *Tx) UpdateOrganization(o warranty.Organization) error {
	err := t.exactlyOne(`UPDATE users SET name = $2, `+nextEpoch+` WHERE id = $1
		AND kind = `+kindOrganization, o.ID, o.Name)
	if err != nil {
		return err
	}
	// A new contact address has not unsubscribed.
	return t.exactlyOne(`UPDATE organizations SET website = $2, contact_email = $3, contact_phone = $4,
			contact_mails = CASE WHEN contact_email = $3 THEN contact_mails ELSE 7 END WHERE id = $1`,
		o.ID, o.Website, o.ContactEmail, o.ContactPhone)
}

// StandsBehind reports whether an organization issued a warranty that someone else owns and that is in
// force or still to come.
func (t *Tx) StandsBehind(organization warranty.ID, today warranty.Date) (found bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT 1 FROM access a WHERE a.user_id = $1
		AND a.kind = `+kindWarranty+` AND a.roles & `+roleIssuer+` <> 0
		AND a.roles & `+roleOwner+` = 0 AND a.status = `+standingActive+` AND a.end_date >= $2 LIMIT 1`,
		func(*engine.Row) error { found = true; return nil }, organization, today)
	return found, err
}

// ConvertUser makes a locked person's account an organization with the same id. Its address, records,
// tokens and history stay where they are.
func (t *Tx) ConvertUser(o warranty.Organization, address warranty.Address) error {
	err := t.exactlyOne(`UPDATE users SET kind = `+kindOrganization+`, name = $2, email = $3, password_hash = '',
		mail_choices = 0, admin_since = NULL, last_sign_in_at = NULL, `+nextEpoch+`
		WHERE id = $1 AND kind = `+kindPerson,
		o.ID, o.Name, organizationEmail(o.ID))
	if err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE addresses SET id = $3, verified_at = $4 WHERE email = $1 AND account_id = $2`,
		address.Email, o.ID, address.ID, address.VerifiedAt); err != nil {
		return err
	}
	return t.insertProfile(o)
}

// MakeTokensOf records a person as the maker of all tokens and the calendar feed of an account.
func (t *Tx) MakeTokensOf(account, user warranty.ID) error {
	if err := t.later(`UPDATE tokens SET created_by = $2 WHERE user_id = $1`, account, user); err != nil {
		return err
	}
	return t.later(`UPDATE calendars SET created_by = $2 WHERE user_id = $1`, account, user)
}
