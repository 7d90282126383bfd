package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Certificate returns a signed certificate of a warranty behind which an organization with a verified domain stands.
// All others return the same error as an unknown number. It is throttled like verifications.
func (s *Service) Certificate(
	ctx context.Context, p warranty.Principal, typed string,
) (claims warranty.CertificateClaims, jws string, err error) {
	c, err := s.PublicCertificate(ctx, p, typed)
	return c.Claims, c.Signed, err
}

// PrintedCertificate is what a printed certificate is made of.
type PrintedCertificate struct {
	warranty.Verification
	// Record is nil for those who have only the reference number. They get a masked serial number.
	Record *warranty.Warranty
	// Issuer is what the customers of the organization that issued the warranty see of it.
	Issuer *warranty.Profile
	// Claims and Signed, the certificate as a JWS, are empty if no organization with a verified domain stands behind the
	// warranty, or if certificates are off.
	Claims warranty.CertificateClaims
	Signed string
}

// PublicCertificate returns what Certificate does, and what its printed form says besides.
func (s *Service) PublicCertificate(
	ctx context.Context, p warranty.Principal, typed string,
) (c PrintedCertificate, err error) {
	if err := s.throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return c, err
	}
	reference, err := warranty.ParseReference(typed)
	if err != nil || s.SigningKey == nil {
		return c, warranty.ErrUnknownReference
	}
	now := s.now()
	w, by, err := s.Store.WarrantyByReference(ctx, reference, now)
	if errors.Is(err, warranty.ErrNotFound) {
		return c, warranty.ErrUnknownReference
	}
	if err != nil {
		return c, err
	}
	w.Show(s.today())
	if !by.Backing().Verified() {
		return c, warranty.ErrUnknownReference
	}
	c.Verification = w.Verified(by, "", now)
	c.Claims, c.Signed, err = s.sign(ctx, w, by, now)
	return c, err
}

// OwnCertificate returns what the printed certificate of a warranty of the principal says. There is one if an
// organization issued the warranty or confirmed it, whether it has a verified domain or not.
func (s *Service) OwnCertificate(
	ctx context.Context, p warranty.Principal, in warranty.GetWarranty,
) (c PrintedCertificate, err error) {
	w, err := s.GetWarranty(ctx, p, in)
	if err != nil {
		return c, err
	}
	by, err := s.Standing(ctx, p, w)
	if err != nil {
		return c, err
	}
	if by.Backing().Party == nil {
		return c, warranty.ErrNotFound
	}
	now := s.now()
	c.Verification, c.Record = w.Verified(by, "", now), &w
	if by.Issuer != nil {
		if c.Issuer, err = s.Issuer(ctx, p, warranty.WarrantyKey{ID: w.ID}); err != nil {
			return c, err
		}
	}
	if by.Backing().Verified() && s.SigningKey != nil {
		c.Claims, c.Signed, err = s.sign(ctx, w, by, now)
	}
	return c, err
}

// sign signs what is true of a warranty behind which an organization with a verified domain stands.
func (s *Service) sign(
	ctx context.Context, w warranty.Warranty, by warranty.Standing, now time.Time,
) (claims warranty.CertificateClaims, jws string, err error) {
	claims, _ = w.Certified(by, s.PublicURL, now)
	// Another replica may have replaced and revoked the key since this one started.
	keys, err := s.PublicKeys(ctx)
	if err != nil {
		return claims, "", err
	}
	id := s.SigningKey.Public().ID
	if !slices.ContainsFunc(keys.Keys, func(k warranty.PublicKey) bool { return k.ID == id }) {
		s.Log.Error("the signing key was revoked; copy the current file from another replica, and restart", "key", id)
		return claims, "", &warranty.Error{
			Code:    warranty.Unavailable,
			Message: "Certificates cannot be signed at the moment.",
			Wait:    time.Minute,
		}
	}
	jws, err = s.SigningKey.Sign(claims)
	return claims, jws, err
}

// PublicKeys returns the keys that verify certificates.
func (s *Service) PublicKeys(ctx context.Context) (warranty.KeySet, error) {
	list, err := s.Store.SigningKeys(ctx)
	set := warranty.KeySet{Issuer: s.PublicURL}
	for _, k := range list {
		if k.RevokedAt == nil {
			set.Keys = append(set.Keys, k.PublicKey)
		}
	}
	return set, err
}

// OtherKeyError means that the database's certificates are signed with another key.
type OtherKeyError struct {
	Given, Active string     // ids of keys
	RetiredAt     *time.Time // if the given key was in use before
}

// Error says which key is expected.
func (e OtherKeyError) Error() string {
	switch {
	case e.Active == "": // after a restore
		return fmt.Sprintf("this is the key %s, which was replaced on %s", e.Given, e.RetiredAt.Format(time.DateOnly))
	case e.RetiredAt != nil:
		return fmt.Sprintf("this is the key %s, which was replaced by %s on %s",
			e.Given, e.Active, e.RetiredAt.Format(time.DateOnly))
	}
	return fmt.Sprintf("this is the key %s, but the certificates of this database are signed with %s", e.Given, e.Active)
}

// BindSigningKey signs certificates with a key from now on. The first key that is bound to a database is the one
// that all replicas must have.
func (s *Service) BindSigningKey(ctx context.Context, key warranty.SigningKey) error {
	var keys []store.SigningKey
	err := s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		keys, err = tx.AddSigningKey(key.Public(), s.now())
		return err
	})
	if err != nil {
		return err
	}
	if err := CheckSigningKey(keys, key.Public()); err != nil {
		return err
	}
	s.SigningKey = &key
	return nil
}

// CheckSigningKey checks that a key is the active one.
func CheckSigningKey(keys []store.SigningKey, key warranty.PublicKey) error {
	fault := OtherKeyError{Given: key.ID}
	for _, k := range keys {
		switch {
		case k.Active && k.ID == key.ID:
			return nil
		case k.Active:
			fault.Active = k.ID
		case k.ID == key.ID:
			fault.RetiredAt = k.RetiredAt
		}
	}
	return fault
}
