package service

import (
	"context"
	"reflect"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// CorrectWarranty corrects typing errors in a warranty. A new address of the seller works as in CreateWarranty: the
// account that has verified it can confirm the record. The previous seller no longer sees it, unless it has a claim.
func (s *Service) CorrectWarranty(
	ctx context.Context, p warranty.Principal, in warranty.CorrectWarranty,
) (warranty.Warranty, error) {
	var changed warranty.Warranty
	if err := in.Check(); err != nil {
		return changed, err
	}
	own, err := s.isOwnAddress(ctx, p, derefText(in.SellerEmail))
	if err != nil {
		return changed, err
	}
	now := s.now()
	corrected := s.event(p, warranty.WarrantyCorrected, unknownYet, now)
	err = s.writeAs(ctx, p, func(tx *store.Tx) error {
		w, err := tx.LockWarranty(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		if !w.Matches(in.IfMatch) {
			return warranty.ErrChanged
		}
		if changed, err = in.Apply(w); err != nil || reflect.DeepEqual(w, changed) {
			return err
		}
		renamed := derefText(w.SellerEmail) != derefText(changed.SellerEmail)
		switch {
		case renamed && own:
			changed.Seller = &p.Account.ID
		case renamed, changed.Seller != nil && *changed.Seller != p.Account.ID && warranty.PromiseDiffers(w, changed):
			changed.Seller = nil
		}
		changed.Version, changed.UpdatedAt = w.Version+1, now
		if err := tx.UpdateWarranty(w, changed); err != nil {
			return err
		}
		corrected.SubjectID = w.ID
		corrected.Changes = warranty.Differences(w, changed)
		if in.Reason != "" {
			corrected.Changes = append(corrected.Changes, warranty.Change{Field: "reason", To: &in.Reason})
		}
		if err := tx.InsertEvent(w.ID, corrected); err != nil {
			return err
		}
		if err := s.tellOwner(tx, p, w, corrected); err != nil || !renamed {
			return err
		}
		if err := tx.NameSeller(w.ID, p.Account.ID, own); err != nil {
			return err
		}
		if err := s.askSeller(tx, p, changed, now); err != nil {
			return err
		}
		changed, err = tx.LockWarranty(p.Account.ID, in.ID) // with its new roles
		return err
	})
	s.show(&changed)
	return changed, err
}
