package service

import (
	"context"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Apps lists the connected apps of the principal's account: all of them for an admin, otherwise the person's own.
func (s *Service) Apps(
	ctx context.Context, p warranty.Principal, page warranty.Paging,
) (warranty.Page[warranty.ConnectedApp], error) {
	list, total, err := s.Store.Apps(ctx, p.Account.ID, ownApps(p), page, s.now())
	return warranty.PageOf(list, page, total), err
}

// ownApps returns the person whose apps the principal sees, or nil for those of everyone in the account.
func ownApps(p warranty.Principal) *warranty.ID {
	if p.Account.Role.Includes(warranty.Admin) {
		return nil
	}
	return &p.User.ID
}

// UpdateApp changes what a connected app may do. Only the person who connected it can: it acts for them.
func (s *Service) UpdateApp(ctx context.Context, p warranty.Principal, id warranty.ID, scopes warranty.Scopes) error {
	if len(scopes) == 0 {
		return warranty.Refuse(warranty.ValidationFailed, "Choose at least one thing that the app may do, or disconnect it.")
	}
	now := s.now()
	return s.WriteToAccount(ctx, p, warranty.Viewer, func(tx *store.Tx, _ store.Account) error {
		g, err := lockApp(tx, p, id)
		switch {
		case err != nil:
			return err
		case g.Person != p.User.ID || g.RevokedAt != nil || !now.Before(g.ExpiresAt):
			return warranty.ErrNotFound
		case g.Scopes.Mask() == scopes.Mask():
			return nil
		}
		if err := tx.SetScopes(id, scopes); err != nil {
			return err
		}
		from, to := g.Scopes.String(), scopes.String()
		changed := s.event(p, warranty.AppUpdated, id, now, warranty.Change{Field: "scopes", From: &from, To: &to})
		return tx.InsertEvent(id, changed)
	})
}

// DisconnectApp ends a connection. When it returns, no replica accepts its tokens and no write made with them commits.
func (s *Service) DisconnectApp(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	now := s.now()
	ended := s.event(p, warranty.AppDisconnected, id, now)
	return s.WriteToAccount(ctx, p, warranty.Viewer, func(tx *store.Tx, _ store.Account) error {
		g, err := lockApp(tx, p, id)
		if err != nil {
			return err
		}
		if err := tx.RevokeToken(id, now); err != nil || g.RevokedAt != nil {
			return err
		}
		return tx.InsertEvent(id, ended)
	})
}

// lockApp locks a connection that the principal sees.
func lockApp(tx *store.Tx, p warranty.Principal, id warranty.ID) (warranty.AppGrant, error) {
	g, err := tx.LockGrant(p.Account.ID, id)
	if own := ownApps(p); err == nil && own != nil && *own != g.Person {
		err = warranty.ErrNotFound
	}
	return g, err
}
