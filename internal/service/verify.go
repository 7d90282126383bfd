package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// VerifyWarranty returns the public facts of a warranty by its reference number.
// Malformed, unknown and deleted numbers return the same error.
func (s *Service) VerifyWarranty(
	ctx context.Context, _ warranty.Principal, in warranty.VerifyWarranty,
) (warranty.Verification, error) {
	if err := in.Check(); err != nil {
		return warranty.Verification{}, err
	}
	reference, err := warranty.ParseReference(in.Reference)
	if err != nil {
		return warranty.Verification{}, warranty.ErrUnknownReference
	}
	now := s.now()
	w, by, err := s.Store.WarrantyByReference(ctx, reference, now)
	if errors.Is(err, warranty.ErrNotFound) {
		return warranty.Verification{}, warranty.ErrUnknownReference
	}
	if err != nil {
		return warranty.Verification{}, err
	}
	w.Show(s.today())
	return w.Verified(by, in.Serial, now), nil
}

// Standing returns who stands behind a warranty of the principal, as its public page says it.
func (s *Service) Standing(
	ctx context.Context, _ warranty.Principal, w warranty.Warranty,
) (warranty.Standing, error) {
	_, by, err := s.Store.WarrantyByReference(ctx, w.ReferenceNumber, s.now())
	if errors.Is(err, warranty.ErrNotFound) {
		err = nil // its issuer was set aside: it has no public page
	}
	return by, err
}

// PublicFacts returns what the public page of a warranty shows besides its verification.
func (s *Service) PublicFacts(ctx context.Context, v warranty.Verification) (warranty.PublicFacts, error) {
	by := v.By.Backing()
	if by.Party == nil {
		return warranty.PublicFacts{}, nil
	}
	facts, err := s.Store.PublicFacts(ctx, v.ReferenceNumber, by.Role)
	if errors.Is(err, warranty.ErrNotFound) {
		err = nil // it was deleted just now
	}
	if !by.Verified() {
		facts.Contact = nil // it was verified just now
	}
	return facts, err
}

// Bounds on what a GS1 Digital Link shows. Someone who issues many warranties of a product, or has many
// organizations, can crowd out nobody.
const (
	productSteps      = 2000 // issuers that are looked at, and all verified ones
	productVerified   = 100  // issuers with a verified domain that are shown
	productUnverified = 20   // issuers without one that are shown
	productNewest     = 20   // warranties of an issuer that are looked at
)

// VerifyProduct returns what organizations issued for a product with a serial number, as in a GS1 Digital Link: one
// warranty of each issuer, the newest in force or the newest. No issuer is preferred.
func (s *Service) VerifyProduct(
	ctx context.Context, p warranty.Principal, in warranty.VerifyProduct,
) (found warranty.ProductVerification, err error) {
	found = warranty.ProductVerification{Verified: []warranty.Verification{}, Unverified: []warranty.Verification{}}
	if err := s.throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return found, err
	}
	if err := in.Check(); err != nil {
		return found, err
	}
	gtins, ok := warranty.GTINForms(in.GTIN)
	if !ok {
		return found, warranty.ErrUnknownProduct
	}
	issuers, more, err := s.Store.ProductIssuers(ctx, gtins, in.Number, in.Issuer, productSteps, productNewest)
	if err != nil {
		return found, err
	}
	found.More = more
	verified := slices.IndexFunc(issuers, func(i store.ProductIssuer) bool { return i.Domain == nil })
	if verified < 0 {
		verified = len(issuers)
	}
	for _, list := range []struct {
		issuers []store.ProductIssuer
		most    int
		into    *[]warranty.Verification
	}{
		{issuers[:verified], productVerified, &found.Verified},
		{issuers[verified:], productUnverified, &found.Unverified},
	} {
		found.More = found.More || len(list.issuers) > list.most
		shown := fairly(list.issuers, list.most)
		if err := s.issuedBy(ctx, shown[:min(len(shown), list.most)], in, list.into); err != nil {
			return found, err
		}
	}
	slices.SortStableFunc(found.Verified, func(a, b warranty.Verification) int {
		return strings.Compare(*a.Issuer.Domain, *b.Issuer.Domain)
	})
	if len(found.Verified)+len(found.Unverified) == 0 && !found.More {
		return found, warranty.ErrUnknownProduct
	}
	return found, nil
}

// issuedBy adds the warranty of each issuer to a list.
func (s *Service) issuedBy(
	ctx context.Context, issuers []store.ProductIssuer, in warranty.VerifyProduct, into *[]warranty.Verification,
) error {
	now, today := s.now(), s.today()
	for _, issuer := range issuers {
		issued, err := s.Store.IssuedOfProduct(ctx, issuer, in.Number, productNewest, now)
		if err != nil {
			return err
		}
		if len(issued) == 0 {
			continue // an offer of it has expired
		}
		issued = ofSerial(issued, in.Number)
		best := issued[0]
		best.Warranty.Show(today)
		for _, other := range issued[1:] {
			if other.Warranty.Show(today); best.Warranty.Status != warranty.Active && other.Warranty.Status == warranty.Active {
				best = other
			}
		}
		*into = append(*into, best.Warranty.Verified(best.By, in.Serial, now))
	}
	return nil
}

// ofSerial returns the warranties with exactly a serial number, or all if none has it: the numbers of two products can
// differ only in their dashes.
func ofSerial(list []store.Stood, serial string) []store.Stood {
	var exact []store.Stood
	for _, one := range list {
		if of := one.Warranty.SerialNumber; of != nil && *of == serial {
			exact = append(exact, one)
		}
	}
	if len(exact) == 0 {
		return list
	}
	return exact
}

// fairly orders issuers in rounds if there are more than most: a round has one issuer of each registered domain and of
// each admin, so that nobody crowds out others with subdomains or organizations. It keeps their order otherwise.
func fairly(issuers []store.ProductIssuer, most int) (fair []store.ProductIssuer) {
	if len(issuers) <= most {
		return issuers
	}
	for len(issuers) > 0 && len(fair) < most {
		domains, admins := map[string]bool{}, map[warranty.ID]bool{}
		var rest []store.ProductIssuer
		for _, i := range issuers {
			domain := registered(i.Domain)
			if admins[i.Admin] || domains[domain] {
				rest = append(rest, i)
				continue
			}
			admins[i.Admin], domains[domain] = true, domain != ""
			fair = append(fair, i)
		}
		issuers = rest
	}
	return fair
}

// registered returns the domain that was registered with a registry. Names below the domain of a provider, such as
// a.dedyn.io, are free for everyone, so they count as the provider's.
func registered(domain *string) string {
	if domain == nil {
		return ""
	}
	suffix, byRegistry := publicsuffix.PublicSuffix(*domain)
	for !byRegistry && strings.Contains(suffix, ".") {
		_, suffix, _ = strings.Cut(suffix, ".")
		suffix, byRegistry = publicsuffix.PublicSuffix(suffix)
	}
	below := strings.TrimSuffix(strings.TrimSuffix(*domain, suffix), ".")
	return below[strings.LastIndex(below, ".")+1:] + "." + suffix
}

// VerifyPublicly is VerifyWarranty for callers without a credential. It is throttled per
// address.
func (s *Service) VerifyPublicly(
	ctx context.Context, p warranty.Principal, in warranty.VerifyWarranty,
) (warranty.Verification, error) {
	if err := s.throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return warranty.Verification{}, err
	}
	return s.VerifyWarranty(ctx, p, in)
}
