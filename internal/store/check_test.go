package store

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// faultyStatements break one rule each, by its description.
var faultyStatements = map[string]string{
	"access of unknown accounts":                                            `DELETE FROM users`,
	"access to warranties that differ from their record":                    `UPDATE access SET end_date = end_date + 1 WHERE kind = 1`,
	"access to claims that differ from their record":                        `UPDATE access SET status = status + 1 WHERE kind = 2`,
	"claims in another queue than they belong in":                           `UPDATE access SET queue = queue + 1 WHERE kind = 2`,
	"access to documents that differ from their record":                     `UPDATE access SET parent_id = item_id WHERE kind = 3`,
	"access to claims or documents with other roles than on their warranty": `UPDATE access SET roles = roles + 8 WHERE kind = 3`,
	"claims that someone with access to the warranty cannot see":            `DELETE FROM access WHERE kind = 2`,
	"documents that someone who may see them cannot see":                    `DELETE FROM access WHERE kind = 3`,
	"documents of owners that a business can see":                           `UPDATE access SET roles = 2, user_id = $1 WHERE kind = 3`,
	"documents that a former owner kept and cannot see": `UPDATE documents SET claim_id = NULL,
		owner_id = (SELECT id FROM users WHERE name = 'Halden'), uploader_id = (SELECT id FROM users WHERE name = 'Halden')`,
	"warranties that nobody can see": `DELETE FROM access WHERE kind = 1`,
	"warranties with several owners": `INSERT INTO access
		(user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category)
		SELECT $1, 1, item_id, parent_id, 1, status, start_date, end_date, category FROM access WHERE kind = 1`,
	"claims without a warranty": `DELETE FROM warranties`,
	"trash of unknown warranties or accounts": `INSERT INTO trash (warranty_id, account_id, roles, deleted_at)
		SELECT id, $1, 1, 1 FROM warranties`,
	"warranties in the trash of an account that has access to them": `INSERT INTO trash (warranty_id, account_id, roles, deleted_at)
		SELECT item_id, user_id, 1, 1 FROM access WHERE kind = 1`,
	"documents of missing or deleted warranties that are not in the trash": `UPDATE warranties SET deleted_at = 1`,
	"messages without a claim": `INSERT INTO claim_messages (id, claim_id, account_id, owner_id, side, name, body, created_at)
		VALUES ($1, $1, $1, $1, 1, 'Olga', 'Hello.', 1)`,
	"notes without a claim": `INSERT INTO claim_notes (id, claim_id, account_id, name, body, created_at)
		VALUES ($1, $1, $1, 'Olga', 'Hello.', 1)`,
	"muted claims that are missing": `INSERT INTO claim_mutes (claim_id, account_id, user_id) VALUES ($1, $1, $1)`,
	"documents sent with a claim of another warranty, or without one": `INSERT INTO claim_documents (claim_id, document_id)
		SELECT $1, id FROM documents`,
	"documents of messages without the message":                            `UPDATE documents SET message_id = $1`,
	"documents of an earlier owner that a later owner can see":             `UPDATE documents SET claim_id = $1, owner_id = $1, uploader_id = $1`,
	"warranties of unknown issuers":                                        `UPDATE warranties SET issuer_id = $1`,
	"tokens of unknown accounts":                                           `UPDATE tokens SET user_id = $1`,
	"secrets without a token":                                              `DELETE FROM tokens`,
	"refresh tokens without a connected app":                               `INSERT INTO refresh_tokens (secret_hash, token_id, expires_at) SELECT secret_hash, token_id, 0 FROM token_secrets`,
	"sessions of unknown accounts":                                         `UPDATE sessions SET user_id = $1`,
	"factors or identities of unknown people":                              `INSERT INTO recovery_codes (user_id, code_hash, created_at) VALUES ($1, $1, 1)`,
	"people with two-step sign-in and no factor":                           `UPDATE users SET two_step_since = 1`,
	"members of unknown organizations or people":                           `UPDATE members SET user_id = $1`,
	"organizations without a profile, or profiles without an organization": `DELETE FROM organizations`,
	"people without their own address":                                     `DELETE FROM addresses`,
	"addresses of unknown accounts, or not verified":                       `UPDATE addresses SET verified_at = NULL, id = NULL`,
	"history of unknown records":                                           `UPDATE history SET thread_id = $1`,
	"unreadable events in history":                                         `UPDATE history SET changes = 'x'`,
	"records at the wrong place in the index of an account":                `UPDATE warranties SET updated_at = 1 - updated_at`,
}

// checked returns the faults by their description.
func checked(t *testing.T, s *Store) (found []string) {
	t.Helper()
	faults, err := s.CheckRecords(context.Background(), warranty.Date(20_000), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if f.Count < 1 || !strings.Contains(f.String(), f.What) {
			t.Errorf("%+v", f)
		}
		found = append(found, f.What)
	}
	return found
}

// checkable makes a database with a row that each rule looks at.
func checkable(t *testing.T, database string) *Store {
	t.Helper()
	s := open(t, database)
	s.SegmentLists(2, 4, 0)
	script := &script{Store: s, random: rand.New(rand.NewPCG(1, 2)), base: 1, last: 1, sure: true}
	owner := warranty.User{ID: script.id(), Name: "Olga", Email: "olga@people.example", EmailVerified: true, CreatedAt: script.now()}
	if err := script.write(func(tx *Tx) error {
		if err := tx.InsertSession(Session{ID: script.id(), User: owner.ID, Secret: script.hash(1), Created: script.now(), Expires: script.now()}); err != nil {
			return err
		}
		if err := tx.InsertUser(owner, ""); err != nil {
			return err
		}
		shop := warranty.Organization{ID: script.id(), Name: "Halden", CreatedAt: script.now()}
		if err := tx.InsertOrganization(shop, true); err != nil {
			return err
		}
		if err := tx.InsertMember(shop.ID, owner.ID, warranty.Admin, warranty.MailChoices{}, script.now()); err != nil {
			return err
		}
		return tx.InsertAddress(shop.ID, warranty.Address{ID: script.id(), Email: "info@halden.example", VerifiedAt: script.now()})
	}); err != nil {
		t.Fatal(err)
	}
	script.users = []warranty.User{owner}
	for _, step := range []func() (any, error){
		script.addWarranty, script.addWarranty, script.addWarranty, script.addWarranty, script.addWarranty, script.addWarranty,
		script.fileClaim, script.upload, script.addToken,
	} {
		if _, err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if err := script.write(func(tx *Tx) error {
		return tx.InsertEvent(script.warranties[0], warranty.Event{ID: script.id(), At: script.now(), Actor: "Olga", ActorID: owner.ID,
			Door: warranty.DoorAPI, Action: warranty.WarrantyCreated, Changes: []warranty.Change{}})
	}); err != nil {
		t.Fatal(err)
	}
	s.lists.NoteLength(owner.ID, 100)
	for range 3 {
		if err := s.MaintainSegments(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if n := number(t, s, `SELECT count(*) FROM index_lists WHERE ready_at IS NOT NULL`); n != 1 {
		t.Fatalf("%d lists are indexed", n)
	}
	return s
}

// TestChecksFindEveryFault breaks every rule once. Valid data breaks none.
func TestChecksFindEveryFault(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		s := checkable(t, database)
		if faults := checked(t, s); len(faults) > 0 {
			t.Errorf("faults in valid data: %v", faults)
		}
		if err := s.CheckIntegrity(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, rule := range rules {
		if faultyStatements[rule.what] == "" {
			t.Errorf("no statement breaks the rule %q", rule.what)
		}
	}
	template := newFile(t)
	s := checkable(t, template)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	for what, statement := range faultyStatements {
		path := filepath.Join(t.TempDir(), "svc.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, path)
		var args []any
		if strings.Contains(statement, "$1") {
			args = []any{warranty.ID{9}}
		}
		if err := s.Write(context.Background(), func(tx *Tx) error { return tx.later(statement, args...) }); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if faults := checked(t, s); !slices.Contains(faults, what) {
			t.Errorf("%s: found %v", what, faults)
		}
	}
}
