package service

import (
	"context"
	"time"

	"warranty.example/svc/warranty"
)

// unknownYet is the subject of an event until the record is found by its key.
var unknownYet warranty.ID

// event returns a history event for an action of the principal.
func (s *Service) event(
	p warranty.Principal, action warranty.Action, subject warranty.ID, now time.Time, changes ...warranty.Change,
) warranty.Event {
	if changes == nil {
		changes = []warranty.Change{}
	}
	return warranty.Event{
		ID:        s.NewID(),
		At:        now,
		Actor:     p.User.Name,
		ActorID:   p.User.ID,
		AccountID: p.Account.ID,
		Account:   organizationName(p),
		Door:      p.Door,
		TokenName: warranty.Optional(p.TokenName),
		Action:    action,
		SubjectID: subject,
		Changes:   changes,
	}
}

// organizationName returns the name of the organization that the principal acts for, or nil.
func organizationName(p warranty.Principal) *string {
	if !p.ActsForOrganization() {
		return nil
	}
	return &p.Account.Name
}

// ListHistory lists the events of a warranty that the principal can see.
func (s *Service) ListHistory(
	ctx context.Context, p warranty.Principal, in warranty.ListHistory,
) (warranty.Page[warranty.Event], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Event]{}, err
	}
	list, total, err := s.Store.WarrantyHistory(ctx, p.Account.ID, in.ID, in.Paging)
	return warranty.PageOf(list, in.Paging, total), err
}

// ListTokenHistory lists the events of one of the principal's tokens.
func (s *Service) ListTokenHistory(
	ctx context.Context, p warranty.Principal, in warranty.ListTokenHistory,
) (warranty.Page[warranty.Event], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Event]{}, err
	}
	list, total, err := s.Store.TokenHistory(ctx, p.Account.ID, in.ID, in.Paging)
	return warranty.PageOf(list, in.Paging, total), err
}
