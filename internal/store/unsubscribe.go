package store

import (
	"context"
	"math"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// MailKind is a kind of email that recipients can turn off: a bit of mail_choices.
type MailKind uint8

// The kinds.
const (
	WarrantyEndMails MailKind = wantsWarrantyEnd // reminders and weekly emails
	ClaimMails       MailKind = wantsClaims
	TokenExpiryMails MailKind = wantsTokenExpiry
	// MutedClaim is no bit: the emails about one claim, which are of the kind ClaimMails.
	MutedClaim MailKind = 128
)

// String returns the kind's name in warranty.MailChoices.
func (k MailKind) String() string {
	return map[MailKind]string{
		WarrantyEndMails: "warranty_end", ClaimMails: "claims", TokenExpiryMails: "token_expiry", MutedClaim: "muted_claim",
	}[k]
}

// Unsubscribe names who gets an email for an account, and the kind to turn off.
type Unsubscribe struct {
	Kind          MailKind
	Account, User warranty.ID // as in Recipient
	Claim         warranty.ID // with MutedClaim
	Language      string      // of the email; not part of the signed value
}

// UnsubscribeSize is the length of an Unsubscribe in bytes, and MuteSize that of one with a claim.
const (
	UnsubscribeSize = 33
	MuteSize        = UnsubscribeSize + 16
)

// Bytes returns the value as it is signed.
func (u Unsubscribe) Bytes() []byte {
	b := append(append([]byte{byte(u.Kind)}, u.Account[:]...), u.User[:]...)
	if u.Kind == MutedClaim {
		b = append(b, u.Claim[:]...)
	}
	return b
}

// ParseUnsubscribe is the inverse of Bytes.
func ParseUnsubscribe(b []byte) (u Unsubscribe, ok bool) {
	if len(b) == MuteSize {
		u = Unsubscribe{Kind: MutedClaim, Account: warranty.ID(b[1:17]), User: warranty.ID(b[17:33]), Claim: warranty.ID(b[33:])}
		return u, MailKind(b[0]) == MutedClaim
	}
	if len(b) != UnsubscribeSize {
		return u, false
	}
	u = Unsubscribe{Kind: MailKind(b[0]), Account: warranty.ID(b[1:17]), User: warranty.ID(b[17:33])}
	return u, u.Kind == WarrantyEndMails || u.Kind == ClaimMails || u.Kind == TokenExpiryMails
}

// Mute returns the claim of an Unsubscribe of the kind MutedClaim.
func (u Unsubscribe) Mute() Mute { return Mute{u.Claim, u.Account, u.User} }

// From returns what the recipient of an email can turn off.
func (to Recipient) From(kind MailKind) *Unsubscribe {
	return &Unsubscribe{Kind: kind, Account: to.Account, User: to.User}
}

// Wants reports whether the recipient gets a kind of email.
func (to Recipient) Wants(kind MailKind) bool { return choiceBits(to.Mails)&int(kind) != 0 }

// stored returns the value of a row: that of Bytes, followed by the language.
func (u *Unsubscribe) stored() any {
	if u == nil {
		return nil
	}
	return append(u.Bytes(), u.Language...)
}

func readUnsubscribe(b []byte) *Unsubscribe {
	if len(b) < UnsubscribeSize {
		return nil
	}
	u, ok := ParseUnsubscribe(b[:UnsubscribeSize])
	if !ok {
		return nil
	}
	u.Language = string(b[UnsubscribeSize:])
	return &u
}

// KeyTable has the key of the addresses that unsubscribe. Backups do not contain it, so that nobody can turn off
// the emails of others with a stolen backup.
const KeyTable = "unsubscribe_keys"

// UnsubscribeKey returns the key of the addresses that unsubscribe, or ErrNotFound before the first one.
func (s *Store) UnsubscribeKey(ctx context.Context) (key []byte, err error) {
	err = queryRow(ctx, s.db, `SELECT value FROM unsubscribe_keys WHERE id = 1`,
		func(r *engine.Row) { key = append([]byte(nil), r.Bytes()...) })
	return key, err
}

// AddUnsubscribeKey stores a key unless there is one.
func (t *Tx) AddUnsubscribeKey(key []byte) error {
	return t.later(`INSERT INTO unsubscribe_keys (id, value) VALUES (1, $1) ON CONFLICT (id) DO NOTHING`, key)
}

// Recipient returns who gets the emails of an account as a user, or ErrNotFound.
func (s *Store) Recipient(ctx context.Context, account, user warranty.ID) (to Recipient, err error) {
	err = queryRow(ctx, s.db, `SELECT `+recipientColumns+` FROM recipients r WHERE r.account_id = $1 AND r.user_id = $2`,
		func(r *engine.Row) { to = readRecipient(r) }, account, user)
	return to, err
}

// SetWanted turns a kind of email on or off for a recipient: a person, a member of an organization, or the
// contact address of one. It is ErrNotFound if there is no such recipient.
func (t *Tx) SetWanted(u Unsubscribe, wanted bool) error {
	if u.Kind == MutedClaim {
		return t.SetMuted(u.Mute(), !wanted)
	}
	change, bit := `& $1`, math.MaxInt16&^int(u.Kind)
	if wanted {
		change, bit = `| $1`, int(u.Kind)
	}
	if u.Account != u.User {
		return t.exactlyOne(`UPDATE members SET mail_choices = mail_choices `+change+`
			WHERE account_id = $2 AND user_id = $3 AND role > 0`, bit, u.Account, u.User)
	}
	n, err := t.exec(`UPDATE users SET mail_choices = mail_choices `+change+` WHERE id = $2
		AND kind = `+kindPerson, bit, u.User)
	if err != nil || n == 1 {
		return err
	}
	return t.exactlyOne(`UPDATE organizations SET contact_mails = contact_mails `+change+` WHERE id = $2`, bit, u.User)
}
