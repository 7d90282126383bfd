package service

import (
	"context"
	"encoding/base64"
	"slices"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Passkeys are added, renamed and removed in this file, and used in passkeys_use.go (ADR 70).

// passkeyOperations binds the operations on passkeys.
func (s *Service) passkeyOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListPasskeys, s.ListPasskeys),
		api.Bind(api.RenamePasskey, s.RenamePasskey),
		api.Bind(api.RemovePasskey, s.RemovePasskey),
	}
}

// OpenPasskeys offers passkeys at the public URL, with challenges that all replicas with the secrets key accept. The
// error says why there are none.
func (s *Service) OpenPasskeys() error {
	party, err := RelyingParty(s.PublicURL, s.Secrets)
	if err == nil {
		s.Passkeys = party
	}
	return err
}

// errNoSecretsKey says why there are no passkeys.
const errNoSecretsKey = identity.Unavailable("passkeys need --secrets-key")

// RelyingParty returns what verifies passkeys at a public URL, or an identity.Unavailable.
func RelyingParty(publicURL string, secrets identity.SecretsKey) (*identity.RelyingParty, error) {
	if secrets.IsZero() {
		return nil, errNoSecretsKey
	}
	key, err := secrets.Derive("challenges of passkeys")
	if err != nil {
		return nil, err
	}
	return identity.NewRelyingParty(publicURL, mail.Service, key)
}

// ListPasskeys lists the passkeys of the principal.
func (s *Service) ListPasskeys(
	ctx context.Context, p warranty.Principal, _ warranty.ListPasskeys,
) (warranty.AccountPasskeys, error) {
	list, err := s.Store.Passkeys(ctx, p.User.ID)
	shown := warranty.AccountPasskeys{Passkeys: []warranty.AccountPasskey{}}
	for _, passkey := range list {
		shown.Passkeys = append(shown.Passkeys, passkey.AccountPasskey)
	}
	return shown, err
}

// RenamePasskey renames a passkey of the principal.
func (s *Service) RenamePasskey(
	ctx context.Context, p warranty.Principal, in warranty.RenamePasskey,
) (renamed warranty.AccountPasskey, err error) {
	if err := in.Check(); err != nil {
		return renamed, err
	}
	err = s.writeLocked(ctx, p.Self(), func(tx *store.Tx, _ store.Account) error {
		return tx.RenamePasskey(p.User.ID, in.ID, in.Name)
	})
	if err != nil {
		return renamed, err
	}
	list, err := s.ListPasskeys(ctx, p, warranty.ListPasskeys{})
	for _, passkey := range list.Passkeys {
		if passkey.ID == in.ID {
			return passkey, nil
		}
	}
	if err == nil { // it was removed meanwhile
		err = warranty.ErrNotFound
	}
	return renamed, err
}

// RemovePasskey removes a passkey of the principal, whose session is confirmed. The other sessions, emailed codes and
// sign-ins that are not complete end.
func (s *Service) RemovePasskey(
	ctx context.Context, p warranty.Principal, in warranty.RemovePasskey,
) (warranty.None, error) {
	if err := s.requireConfirmed(p); err != nil {
		return warranty.None{}, err
	}
	now := s.now()
	err := s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) error {
		name, err := tx.DeletePasskey(account.ID, in.ID)
		if err != nil {
			return err
		}
		if err := keepsMethod(tx, account); err != nil {
			return err
		}
		if err := s.endOthers(tx, p, account, false, now); err != nil {
			return err
		}
		return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
			return t.PasskeyRemoved(account.Email, account.Name, name, s.circumstances(p, now))
		})
	})
	s.wakeMail()
	if err == nil {
		s.logEnd(ctx, p, p.User.ID, "passkey removed", "passkey", in.ID.String())
	}
	return warranty.None{}, err
}

var (
	errLastFactor = warranty.Refuse(warranty.LastMethod,
		"Two-step sign-in needs a passkey or an authenticator app. Turn it off first, or add another passkey.")
	errLastWay = warranty.Refuse(warranty.LastMethod,
		"Without this passkey you could not sign in. Verify your email address or add another passkey first.")
)

// keepsMethod refuses a change after which a locked person could not sign in.
func keepsMethod(tx *store.Tx, account store.Account) error {
	factors, err := tx.SecondFactors(account.ID)
	switch {
	case err != nil:
		return err
	case slices.Contains(factors, warranty.SecondPasskey):
		return nil
	case account.TwoStep && !slices.Contains(factors, warranty.SecondTOTP):
		return errLastFactor
	case account.PasswordHash == "" && !account.EmailVerified:
		return errLastWay
	}
	return nil
}

// NewPasskey is what a page needs to add a passkey.
type NewPasskey struct {
	Options string // for the browser, in JSON
	Handle  string // of the person, which the page sends back
	Name    string // the device, if it is known
}

var errManyPasskeys = warranty.Refuse(warranty.InUse, "You have 20 passkeys already. Remove one first.")

// NewPasskey returns what a page needs to add a passkey to the account of a confirmed session. It writes nothing: the
// first passkey brings the handle of the person along, to which the challenge is bound.
func (s *Service) NewPasskey(ctx context.Context, p warranty.Principal) (made NewPasskey, err error) {
	if s.Passkeys == nil {
		return made, warranty.ErrNotFound
	}
	if err := s.requireConfirmed(p); err != nil {
		return made, err
	}
	list, err := s.Store.Passkeys(ctx, p.User.ID)
	if err != nil {
		return made, err
	}
	if len(list) >= warranty.MaxPasskeys {
		return made, errManyPasskeys
	}
	handle, err := s.Store.PasskeyHandle(ctx, p.User.ID)
	if err != nil {
		return made, err
	}
	if len(handle) == 0 {
		handle = identity.NewHandle()
	}
	who := identity.Person{Handle: handle, Name: p.User.Email, Display: p.User.Name}
	options, err := s.Passkeys.RegistrationOptions(inSession(p, handle), who, keysOf(list), s.now())
	made = NewPasskey{Options: string(options), Handle: base64.RawURLEncoding.EncodeToString(handle)}
	if program, system := deviceName(p.UserAgent); system != "" {
		made.Name = system
	} else {
		made.Name = program
	}
	return made, err
}

// AddPasskey adds a passkey to the account of a confirmed session.
func (s *Service) AddPasskey(ctx context.Context, p warranty.Principal, in warranty.AddPasskey) error {
	if s.Passkeys == nil {
		return warranty.ErrNotFound
	}
	if err := in.Check(); err != nil {
		return err
	}
	if err := s.requireConfirmed(p); err != nil {
		return err
	}
	now := s.now()
	handle, err := base64.RawURLEncoding.DecodeString(in.Handle)
	if err != nil {
		return errPasskey
	}
	made, used, err := s.Passkeys.FinishRegistration(inSession(p, handle), []byte(in.Answer), now)
	if err != nil {
		s.logEnd(ctx, p, p.User.ID, "passkey not added", "reason", err.Error())
		return errPasskey
	}
	row := store.Passkey{User: p.User.ID, CredentialID: made.ID, PublicKey: made.PublicKey, Counter: made.Counter,
		Transports: made.Transports, Eligible: made.Eligible}
	row.ID, row.Name, row.Synced, row.CreatedAt = s.NewID(), in.Name, made.BackedUp, now
	err = s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) error {
		return s.insertPasskey(tx, p, account, row, handle, used, in.EndOthers, now)
	})
	if s.Store.IsDuplicate(err) {
		err = warranty.Refuse(warranty.AlreadyExists, "This passkey has been added before. Remove it from the device, then try again.")
	}
	s.wakeMail()
	if err == nil {
		s.logEnd(ctx, p, p.User.ID, "passkey added", "passkey", row.ID.String())
	}
	return err
}

// insertPasskey adds a verified passkey to a locked account.
func (s *Service) insertPasskey(
	tx *store.Tx, p warranty.Principal, account store.Account, row store.Passkey, handle []byte, used identity.Used,
	endOthers bool, now time.Time,
) error {
	switch n, err := tx.CountPasskeys(account.ID); {
	case err != nil:
		return err
	case n >= warranty.MaxPasskeys:
		return errManyPasskeys
	}
	switch first, err := tx.UseOnce(used.Hash, used.Until); {
	case err != nil:
		return err
	case !first:
		return errPasskey
	}
	if err := takeHandle(tx, account.ID, handle); err != nil {
		return err
	}
	if err := tx.InsertPasskey(row); err != nil {
		return err
	}
	if endOthers {
		if err := endSessions(tx, account.ID, p.CredentialID); err != nil {
			return err
		}
	}
	return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
		return t.PasskeyAdded(account.Email, account.Name, row.Name, s.circumstances(p, now))
	})
}

// takeHandle makes a handle that of a locked person, or checks that it is.
func takeHandle(tx *store.Tx, user warranty.ID, handle []byte) error {
	have, err := tx.PasskeyHandle(user)
	switch {
	case err != nil:
		return err
	case len(have) == 0:
		return tx.SetPasskeyHandle(user, handle)
	case !slices.Equal(have, handle): // another page added the first passkey meanwhile
		return errPasskey
	}
	return nil
}

// inSession binds a ceremony to the browser, the session and the account of a principal.
func inSession(p warranty.Principal, handle []byte) identity.Bound {
	if p.Browser == "" {
		return identity.Bound{} // which every ceremony rejects
	}
	return identity.Bound{Browser: p.Browser + " " + p.CredentialID.String(), Handle: handle}
}

// keyOf returns a stored passkey as it is verified.
func keyOf(p store.Passkey) identity.Passkey {
	return identity.Passkey{ID: p.CredentialID, Handle: p.Handle, PublicKey: p.PublicKey, Counter: p.Counter,
		Transports: p.Transports, Eligible: p.Eligible, BackedUp: p.Synced}
}

func keysOf(list []store.Passkey) (keys []identity.Passkey) {
	for _, p := range list {
		keys = append(keys, keyOf(p))
	}
	return keys
}
