package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestHoldSeesWhatWasCommitted starts a transaction, ends its credential, and then holds the
// credential: the transaction must be rejected, even on a server whose default isolation would show
// the state at its start. (D11)
func TestHoldSeesWhatWasCommitted(t *testing.T) {
	t.Parallel()
	database := newPostgres(t) + "&default_transaction_isolation=repeatable%20read"
	ctx, s, now := context.Background(), open(t, database), time.UnixMicro(1_800_000_000_000_000).UTC()
	for name, end := range map[string]func(tx *Tx, p warranty.Principal) error{
		"revoked": func(tx *Tx, p warranty.Principal) error { return tx.RevokeToken(p.CredentialID, now) },
		// The write read its clock before the rotation.
		"rotated": func(tx *Tx, p warranty.Principal) error {
			later := now.Add(time.Second)
			token := warranty.Token{ID: p.CredentialID, Prefix: "svc_y"}
			return tx.RotateToken(token, secretOf(int(p.CredentialID[15])+1000), later, later)
		},
		"disabled":   func(tx *Tx, p warranty.Principal) error { return tx.DisableUser(p.User.ID, now) },
		"signed out": func(tx *Tx, p warranty.Principal) error { return tx.DeleteSession(p.CredentialID) },
	} {
		user, id := newID(), newID()
		p := warranty.Principal{
			User:         warranty.User{ID: user},
			Credential:   warranty.ByToken,
			CredentialID: id,
			SecretHash:   secretOf(int(id[15])),
		}
		if name == "signed out" {
			p.Credential = warranty.BySession
		}
		err := s.Write(ctx, func(tx *Tx) error {
			account := warranty.User{ID: user, Name: "Olga", Email: fmt.Sprint(user, "@people.example"), CreatedAt: now}
			if err := tx.InsertUser(account, "x"); err != nil {
				return err
			}
			if p.Credential == warranty.BySession {
				return tx.InsertSession(Session{ID: id, User: user, Secret: p.SecretHash, Created: now, Expires: now.Add(time.Hour)})
			}
			token := warranty.Token{ID: id, Name: "ERP", Prefix: "svc_x", ExpiresAt: now.Add(time.Hour), CreatedAt: now}
			return tx.InsertToken(user, user, token, p.SecretHash)
		})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Write(ctx, func(tx *Tx) error {
			if _, _, err := tx.VerifiedAccount("nobody"); err != nil {
				return err
			}
			if err := s.Write(ctx, func(other *Tx) error { return end(other, p) }); err != nil {
				return err
			}
			return tx.HoldCredential(p, warranty.Member, now)
		})
		code := warranty.AsError(err).Code
		if err == nil || code != warranty.TokenRevoked && code != warranty.SessionExpired {
			t.Errorf("%s: the earlier write returned %v", name, err)
		}
	}
}
