package service

import (
	"slices"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// What ends credentials and codes, and which. SECURITY.md has the table; TestEndings walks it.

// lockWithOrganizations locks accounts and the organizations that their people are members of: what they made there
// ends with them.
func lockWithOrganizations(tx *store.Tx, accounts ...warranty.ID) (map[warranty.ID]store.Account, error) {
	all := slices.Clone(accounts)
	for _, id := range accounts {
		ids, err := tx.OrganizationsOf(id)
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	locked, err := tx.LockUsers(all...)
	if err != nil {
		return nil, err
	}
	// A person may have joined another one until they were locked.
	for _, id := range accounts {
		ids, err := tx.OrganizationsOf(id)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if _, ok := locked[id]; !ok {
				if locked[id], err = tx.LockUser(id); err != nil {
					return nil, err
				}
			}
		}
	}
	return locked, nil
}

// endCredentials ends all credentials of a locked account: sessions, tokens, connected apps, the calendar feed, emailed
// codes, invitations and open transfers. What a person made in organizations, which are locked, ends too; tokens are
// the organization's and stay if keepTokens is set. Codes of hand-overs stay: customers have them.
func (s *Service) endCredentials(
	tx *store.Tx, by warranty.Principal, account warranty.User, keepTokens bool, now time.Time,
) error {
	if err := s.revokeAll(tx, by, account, now); err != nil {
		return err
	}
	if err := tx.DeleteSessions(account.ID); err != nil {
		return err
	}
	if err := tx.DeleteCodes(account.ID); err != nil {
		return err
	}
	if err := tx.ForgetDevices(account.ID); err != nil {
		return err
	}
	if err := tx.DeleteInvitationsOf(account.ID); err != nil {
		return err
	}
	offered, err := tx.CancelTransfers(account.ID, nil, now)
	if err != nil {
		return err
	}
	if err := s.eventOnEach(tx, by, warranty.TransferCancelled, offered, now); err != nil {
		return err
	}
	return s.eachOrganizationOf(tx, by, account.ID, func(by warranty.Principal) error {
		return s.endMadeBy(tx, by, account.ID, keepTokens, now)
	})
}

// byHolder is who ends the credentials of an account by proving that it is theirs.
func byHolder(user warranty.User, p warranty.Principal) warranty.Principal {
	return warranty.Principal{User: user, Account: warranty.OwnAccount(user), Door: p.Door}
}

// eachOrganizationOf calls fn for the organizations of a person, which are locked, with by acting for each.
func (s *Service) eachOrganizationOf(
	tx *store.Tx, by warranty.Principal, person warranty.ID, fn func(by warranty.Principal) error,
) error {
	ids, err := tx.OrganizationsOf(person)
	if err != nil {
		return err
	}
	for _, id := range ids {
		by.Account = warranty.Acting{ID: id, Kind: warranty.OrganizationKind}
		if err := fn(by); err != nil {
			return err
		}
	}
	return nil
}

// endMadeBy ends what a member made in the locked organization that the principal acts for: the calendar feed,
// connected apps, open invitations and transfer offers and, unless they are kept, tokens.
func (s *Service) endMadeBy(
	tx *store.Tx, p warranty.Principal, member warranty.ID, keepTokens bool, now time.Time,
) error {
	if err := s.endManagedBy(tx, p, member, keepTokens, now); err != nil {
		return err
	}
	grants, err := tx.GrantsBy(p.Account.ID, member)
	if err != nil {
		return err
	}
	if err := s.revokeEach(tx, p, grants, now); err != nil {
		return err
	}
	return s.cancelTransfersBy(tx, p, member, now)
}

// endManagedBy ends what only an admin can make: the calendar feed, open invitations, which may be for another
// address of the admin, and, unless they are kept, tokens.
func (s *Service) endManagedBy(
	tx *store.Tx, p warranty.Principal, member warranty.ID, keepTokens bool, now time.Time,
) error {
	if err := tx.DropCalendarBy(p.Account.ID, member); err != nil {
		return err
	}
	if !keepTokens {
		tokens, err := tx.TokensBy(p.Account.ID, member)
		if err != nil {
			return err
		}
		if err := s.revokeEach(tx, p, tokens, now); err != nil {
			return err
		}
	}
	invitations, err := tx.DeleteInvitationsBy(p.Account.ID, member)
	if err != nil {
		return err
	}
	for _, i := range invitations {
		err := s.organizationEvent(tx, p, warranty.InvitationCancelled, i.ID, warranty.Change{Field: "email", To: &i.Email})
		if err != nil {
			return err
		}
	}
	return nil
}

// cancelTransfersBy cancels the open transfer offers that a member made of records of the organization that the
// principal acts for.
func (s *Service) cancelTransfersBy(tx *store.Tx, p warranty.Principal, member warranty.ID, now time.Time) error {
	offered, err := tx.CancelTransfers(p.Account.ID, &member, now)
	if err != nil {
		return err
	}
	return s.eventOnEach(tx, p, warranty.TransferCancelled, offered, now)
}

func (s *Service) revokeEach(tx *store.Tx, p warranty.Principal, tokens []warranty.ID, now time.Time) error {
	for _, id := range tokens {
		if err := tx.RevokeToken(id, now); err != nil {
			return err
		}
	}
	return s.eventOnEach(tx, p, warranty.TokenWasRevoked, tokens, now)
}

// revokeAll revokes the tokens, the connected apps and the calendar feed of a locked account.
func (s *Service) revokeAll(tx *store.Tx, by warranty.Principal, account warranty.User, now time.Time) error {
	tokens, err := tx.TokensToRevoke(account.ID)
	if err != nil {
		return err
	}
	if err := tx.RevokeTokens(account.ID, now); err != nil {
		return err
	}
	if err := tx.DropCalendar(account.ID); err != nil {
		return err
	}
	return s.eventOnEach(tx, by, warranty.TokenWasRevoked, tokens, now)
}

// eventOnEach adds the same event to several histories.
func (s *Service) eventOnEach(
	tx *store.Tx, by warranty.Principal, action warranty.Action, ids []warranty.ID, now time.Time,
) error {
	for _, id := range ids {
		if err := tx.InsertEvent(id, s.event(by, action, id, now)); err != nil {
			return err
		}
	}
	return nil
}

// tellAdmins lists the active tokens that a person made in organizations to their admins: those that stay after a
// password reset, because whoever had the password may have made or copied them, or those that end with the account.
func (s *Service) tellAdmins(
	tx *store.Tx, p warranty.Principal, person warranty.User, c mail.Circumstances,
	message func(t mail.Texts, to, name, organization, member string, tokens []string, c mail.Circumstances) mail.Message,
) error {
	made, err := tx.TokensMadeBy(person.ID, c.At)
	if err != nil || s.Silent {
		return err
	}
	for _, o := range made {
		admins, err := tx.Admins(o.Account.ID)
		if err != nil {
			return err
		}
		for _, admin := range admins {
			err := s.notify(tx, p, admin, func(t mail.Texts) mail.Message {
				return message(t, admin.Email, admin.Name, o.Account.Name, person.Name, o.Tokens, c)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
