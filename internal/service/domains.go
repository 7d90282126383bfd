package service

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// domainOperations binds the operations on domains.
func (s *Service) domainOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListDomains, s.ListDomains),
		api.Bind(api.AddDomain, s.AddDomain),
		api.Bind(api.CheckDomain, s.CheckDomain),
		api.Bind(api.RemoveDomain, s.RemoveDomain),
	}
}

// ListDomains lists the domains of an organization for its members.
func (s *Service) ListDomains(
	ctx context.Context, p warranty.Principal, in warranty.ListDomains,
) (warranty.Page[warranty.Domain], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Domain]{}, err
	}
	if _, err := s.as(ctx, p, in.ID); err != nil {
		return warranty.Page[warranty.Domain]{}, err
	}
	list, total, err := s.Store.Domains(ctx, in.ID, in.Paging)
	return warranty.PageOf(list, in.Paging, total), err
}

var lookupProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// asciiDomain returns a domain in ASCII. A public suffix, such as co.uk, belongs to nobody.
func asciiDomain(name string) (string, error) {
	ascii, err := lookupProfile.ToASCII(name)
	if last := ascii[strings.LastIndexByte(ascii, '.')+1:]; err == nil && (last == "" || last[0] >= '0' && last[0] <= '9') {
		err = errors.New("no top-level domain begins with a digit; browsers read such names as addresses")
	}
	if err == nil && (!strings.Contains(ascii, ".") || len(ascii) > warranty.MaxDomain-len(warranty.DomainLabel)) {
		err = errors.New("too short or too long")
	}
	if err == nil {
		_, err = publicsuffix.EffectiveTLDPlusOne(ascii)
	}
	if err != nil {
		var c warranty.Checks
		c.Add("domain", "invalid_domain", "Must be a domain that you registered, such as shop.example, and not a public suffix.")
		return "", c.Err()
	}
	return ascii, nil
}

// newDomain returns a domain that is not stored yet, with the token of its DNS record.
func (s *Service) newDomain(name string) (d warranty.Domain, token string, err error) {
	if name, err = asciiDomain(name); err != nil {
		return d, "", err
	}
	if token, err = warranty.NewCode(s.Random); err != nil {
		return d, "", err
	}
	token = strings.ToLower(strings.ReplaceAll(token, "-", ""))
	return warranty.Domain{
		ID:         s.NewID(),
		Domain:     name,
		Status:     warranty.DomainWaiting,
		RecordName: warranty.DomainLabel + name,
		RecordText: warranty.DomainPrefix + token,
		CreatedAt:  s.now(),
	}, token, nil
}

// AddDomain adds a domain to an organization. It is verified once its DNS record is found.
func (s *Service) AddDomain(ctx context.Context, p warranty.Principal, in warranty.AddDomain) (warranty.Domain, error) {
	if err := in.Check(); err != nil {
		return warranty.Domain{}, err
	}
	d, token, err := s.newDomain(in.Domain)
	if err != nil {
		return d, err
	}
	err = s.manageConfirmed(ctx, p, in.ID, func(tx *store.Tx, _ warranty.Principal, account store.Account) error {
		n, err := tx.CountDomains(account.ID)
		if err != nil {
			return err
		}
		if n >= warranty.MaxDomains {
			return warranty.Refuse(warranty.InUse,
				"The organization has %d domains, which is the limit. Remove one first.", n)
		}
		return tx.InsertDomain(account.ID, d, token)
	})
	if s.Store.IsDuplicate(err) {
		err = warranty.Refuse(warranty.AlreadyExists, "The organization already has this domain.")
	}
	return d, err
}

var errDomainTaken = warranty.Refuse(warranty.AlreadyExists, "Another organization has verified this domain.")

// dnsTime is how long a check waits for DNS.
const dnsTime = 5 * time.Second

// lookUp looks for the DNS record of a domain. found says what was found instead.
func (s *Service) lookUp(ctx context.Context, d warranty.Domain) (ok bool, found string) {
	ctx, cancel := context.WithTimeout(ctx, dnsTime)
	defer cancel()
	texts, err := s.LookupTXT(ctx, d.RecordName+".")
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound, err == nil && len(texts) == 0:
		return false, "no TXT record"
	case err != nil:
		return false, "no answer from DNS"
	}
	matches := func(text string) bool { return strings.EqualFold(strings.TrimSpace(text), d.RecordText) }
	if slices.ContainsFunc(texts, matches) {
		return true, ""
	}
	return false, "a TXT record with another text"
}

// CheckDomain looks for the DNS record of a domain now.
func (s *Service) CheckDomain(
	ctx context.Context, p warranty.Principal, in warranty.CheckDomain,
) (warranty.Domain, error) {
	acting, err := s.as(ctx, p, in.ID)
	if err != nil {
		return warranty.Domain{}, err
	}
	if err := acting.Account.Require(warranty.Admin); err != nil {
		return warranty.Domain{}, err
	}
	if err := s.requireConfirmed(p); err != nil {
		return warranty.Domain{}, err
	}
	d, err := s.Store.Domain(ctx, in.ID, in.DomainID)
	if err != nil {
		return d, err
	}
	if d.ByOperator && d.VerifiedAt != nil {
		return d, nil // it does not depend on DNS
	}
	// A check asks DNS servers of the caller's choice.
	if err := s.throttle(ctx, DomainChecks, in.ID.String()); err != nil {
		return d, err
	}
	ok, found := s.lookUp(ctx, d)
	err = s.manageConfirmed(ctx, p, in.ID, func(tx *store.Tx, p warranty.Principal, account store.Account) error {
		return s.settleDomain(tx, p, account.ID, in.DomainID, ok, found)
	})
	if s.Store.IsDuplicate(err) {
		err = errDomainTaken
	}
	if err != nil {
		return d, err
	}
	return s.Store.Domain(ctx, in.ID, in.DomainID)
}

// settleDomain stores the result of a check of a domain of a locked organization.
func (s *Service) settleDomain(
	tx *store.Tx, p warranty.Principal, organization, id warranty.ID, ok bool, found string,
) error {
	d, err := tx.LockDomain(organization, id)
	if err != nil {
		return err
	}
	now := s.now()
	change := warranty.Change{Field: "domain", To: &d.Domain}
	if ok {
		if err := tx.VerifyDomain(d.ID, false, now); err != nil || d.VerifiedAt != nil {
			return err
		}
		return s.organizationEvent(tx, p, warranty.DomainWasVerified, d.ID, change)
	}
	if d.ByOperator && d.VerifiedAt != nil {
		return nil // the operator verified it while DNS was asked
	}
	if err := tx.FailDomain(d, found, now); err != nil || d.LostAt == nil || d.LostAt.After(now) {
		return err
	}
	return s.organizationEvent(tx, p, warranty.DomainLost, d.ID, change)
}

// RemoveDomain removes a domain of an organization.
func (s *Service) RemoveDomain(
	ctx context.Context, p warranty.Principal, in warranty.RemoveDomain,
) (warranty.None, error) {
	return warranty.None{}, s.manageConfirmed(ctx, p, in.ID,
		func(tx *store.Tx, p warranty.Principal, account store.Account) error {
			d, err := tx.LockDomain(account.ID, in.DomainID)
			if err != nil {
				return err
			}
			if err := tx.DeleteDomain(account.ID, d.ID); err != nil {
				return err
			}
			return s.organizationEvent(tx, p, warranty.DomainRemoved, d.ID, warranty.Change{Field: "domain", From: &d.Domain})
		})
}

// reclaimDomains makes the domains of a locked account, which was just enabled, verified again. Another organization
// may have verified one meanwhile and keeps it.
func (s *Service) reclaimDomains(tx *store.Tx, by warranty.Principal, account warranty.ID) error {
	lost, err := tx.ReclaimDomains(account)
	if err != nil {
		return err
	}
	for _, d := range lost {
		e := s.event(by, warranty.DomainLost, d.ID, s.now(), warranty.Change{Field: "domain", To: &d.Domain})
		if err := tx.InsertEvent(account, e); err != nil {
			return err
		}
	}
	return nil
}

// enabling runs a transaction that reclaims domains. If another organization verifies one of them at the same time,
// it runs again and finds it taken.
func (s *Service) enabling(run func() error) error {
	err := run()
	if s.Store.IsDuplicate(err) {
		err = run()
	}
	return err
}

// domainBatch is the number of domains that a run of the worker checks.
const domainBatch = 50

// CheckDomains checks the verified domains that were not checked for a day. Every replica may do it at the
// same time: a check that is made twice changes nothing more.
func (s *Service) CheckDomains(ctx context.Context) error {
	due, err := s.Store.DomainsToCheck(ctx, s.now().Add(-warranty.DomainCheckEvery), domainBatch)
	for _, c := range due {
		d, missing := s.Store.Domain(ctx, c.Organization, c.ID)
		if missing != nil {
			continue // removed meanwhile
		}
		ok, found := s.lookUp(ctx, d)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = errors.Join(err, s.Store.Write(ctx, func(tx *store.Tx) error {
			account, err := tx.LockUser(c.Organization)
			if err != nil {
				return err
			}
			if account.Disabled { // meanwhile, which released the domain
				return nil
			}
			by := warranty.Principal{User: account.User, Account: account.Acting(), Door: warranty.DoorOperator}
			if err := s.settleDomain(tx, by, account.ID, c.ID, ok, found); !errors.Is(err, warranty.ErrNotFound) {
				return err
			}
			return nil
		}))
	}
	return err
}

// VerifyDomain verifies a domain of an organization for the operator, without DNS.
func (s *Service) VerifyDomain(ctx context.Context, organization warranty.ID, name string) (warranty.Domain, error) {
	in := warranty.AddDomain{ID: organization, Domain: name}
	if err := in.Check(); err != nil {
		return warranty.Domain{}, err
	}
	d, token, err := s.newDomain(in.Domain)
	if err != nil {
		return d, err
	}
	d.ByOperator, d.VerifiedAt = true, &d.CreatedAt
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.LockUser(organization)
		if err == nil && account.Kind != warranty.OrganizationKind {
			err = warranty.ErrNotFound
		}
		if err == nil && account.Disabled {
			err = warranty.Refuse(warranty.InvalidTransition, "This organization is disabled or deleted. Enable it first.")
		}
		if err != nil {
			return err
		}
		existing, err := tx.DomainID(organization, d.Domain)
		switch {
		case errors.Is(err, warranty.ErrNotFound):
			err = tx.InsertDomain(organization, d, token)
		case err == nil:
			d.ID = existing
			err = tx.VerifyDomain(existing, true, d.CreatedAt)
		}
		if err != nil {
			return err
		}
		change := warranty.Change{Field: "domain", To: &d.Domain}
		return tx.InsertEvent(organization, s.event(operator, warranty.DomainWasVerified, d.ID, d.CreatedAt, change))
	})
	if s.Store.IsDuplicate(err) {
		err = errDomainTaken
	}
	return d, err
}
