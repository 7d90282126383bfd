package service_test

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// delete deletes an account and forgets when it is erased.
func (w *world) delete(email string) error {
	_, err := w.Service.DeleteUser(w.T.Context(), email)
	return err
}

// erase runs the worker's task and counts the accounts that are erased afterwards.
func (w *world) erase() int64 {
	w.T.Helper()
	if err := w.Service.EraseUsers(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
	return w.number(`SELECT count(*) FROM users WHERE deleted_at IS NOT NULL`)
}

// TestDeletedAccountsAreErasedLater deletes an account, takes it back, and deletes it again.
func TestDeletedAccountsAreErasedLater(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, day := t.Context(), 24*time.Hour
		olga := w.person("Olga", true)
		record := w.record(olga, "")
		key, _ := w.token(olga.User, warranty.AllScopes, 365*day, false)
		due, err := w.Service.DeleteUser(ctx, olga.User.Email)
		if want := w.Clock.Now().Add(30 * day); err != nil || due.Sub(want).Abs() > time.Hour {
			t.Fatalf("erased at %v, want %v (%v)", due, want, err)
		}
		w.Alive(t, "the session", olga.session, false)
		w.Alive(t, "the token", key, false)
		if got := w.summary(olga.User.Email); got.State != store.UserDisabled || got.EraseAt == nil || !got.EraseAt.Equal(due) ||
			got.Records != 1 {
			t.Errorf("a deleted account is listed as %+v", got)
		}
		w.Clock.Advance(29 * day)
		if again, err := w.Service.DeleteUser(ctx, olga.User.Email); err != nil || !again.Equal(due) {
			t.Errorf("deleted twice: erased at %v, want %v (%v)", again, due, err)
		}
		if n := w.erase(); n != 0 {
			t.Fatal("erased too early")
		}

		if err := w.Service.EnableUser(ctx, olga.User.Email); err != nil {
			t.Fatal(err)
		}
		if got := w.summary(olga.User.Email); got.State != store.UserActive || got.EraseAt != nil {
			t.Errorf("an enabled account is listed as %+v", got)
		}
		w.Clock.Advance(2 * day)
		if n := w.erase(); n != 0 {
			t.Fatal("an enabled account was erased")
		}
		olga = w.session(olga.User, time.Hour)
		if _, err := w.Service.GetWarranty(ctx, olga.Principal,
			warranty.GetWarranty{ID: warranty.WarrantyKey{ID: record.ID}}); err != nil {
			t.Errorf("the record of an enabled account: %v", err)
		}

		if err := w.delete(olga.User.Email); err != nil {
			t.Fatal(err)
		}
		w.Clock.Advance(30*day + time.Second)
		if n := w.erase(); n != 1 {
			t.Fatalf("%d accounts are erased", n)
		}
		if got := w.summary(olga.User.Email); got.Email != "" {
			t.Errorf("an erased account is listed as %+v", got)
		}
		if n := w.number(`SELECT count(*) FROM erasures`); n != 0 {
			t.Errorf("%d erasures are left", n)
		}
	})
}

// TestAStartedErasureCannotBeTakenBack: an account can be enabled until its erasure starts.
func TestAStartedErasureCannotBeTakenBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		if err := w.delete(olga.User.Email); err != nil {
			t.Fatal(err)
		}
		if err := w.Service.EnableUser(t.Context(), olga.User.Email); err != nil {
			t.Fatal(err)
		}
		w.Clock.Advance(31 * 24 * time.Hour)
		if n := w.erase(); n != 0 {
			t.Fatal("an account was erased that had been enabled")
		}
		if err := w.delete(olga.User.Email); err != nil {
			t.Fatal(err)
		}
		w.execute(`UPDATE erasures SET started_at = 1`)
		if err := w.Service.EnableUser(t.Context(), olga.User.Email); codeOf(err) != warranty.InvalidTransition {
			t.Errorf("enabling an account that is being erased: %v", err)
		}
		w.Clock.Advance(31 * 24 * time.Hour)
		if n := w.erase(); n != 1 {
			t.Error("an erasure that had started did not end")
		}
	})
}

// TestErasuresSurviveFailures erases an account with three processes at the same time, whose commits fail in
// either way.
func TestErasuresSurviveFailures(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		olga, other := w.person("Canaryolga", true), w.person("Other", true)
		for i := range deletedRecords {
			seller := ""
			if i%3 == 0 {
				seller = other.User.Email
			}
			if r := w.record(olga, seller); seller != "" {
				w.confirm(other, r.ID)
			}
		}
		if err := w.delete(olga.User.Email); err != nil {
			t.Fatal(err)
		}
		w.Clock.Advance(31 * 24 * time.Hour)
		processes := replicas(t, w, random, &postbox{random: random, got: map[string]int{}}, 3)
		erased := func() bool { return w.number(`SELECT count(*) FROM users WHERE deleted_at IS NOT NULL`) == 1 }
		var err error
		for round := 0; !erased(); round++ {
			together(len(processes), func(i int) { // some of it fails
				if failed := processes[i].EraseUsers(t.Context()); i == 0 {
					err = failed
				}
			})
			if round == 1000 {
				t.Fatal(err)
			}
		}
		w.lacks(t, "canary")
		if got := w.actions(olga.User.ID); len(got) != 2 || got[1] != "account.deleted" {
			t.Errorf("the history is %v", got)
		}
		if got := w.summary(other.User.Email); got.Records != deletedRecords/3 {
			t.Errorf("the other account has %d records", got.Records)
		}
		if n := w.number(`SELECT count(*) FROM history WHERE actor = '` + store.ErasedName + `'`); n < deletedRecords {
			t.Errorf("%d events are erased", n)
		}
		faults, err := w.Store.CheckRecords(t.Context(), warranty.DateOf(w.Clock.Now()), func(string) {})
		if err != nil || len(faults) != 0 {
			t.Errorf("%v %v", faults, err)
		}
	})
}

// TestErasuresReadAllHistory erases the name in more events than one query reads.
func TestErasuresReadAllHistory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Canaryolga", true)
		w.person("Other", true)
		random := `randomblob(16)`
		if w.postgres {
			random = `gen_random_uuid()`
		}
		w.execute(`INSERT INTO history (thread_id, id, at, actor_id, actor, account_id, door, token_name, action, subject_id, changes)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
			SELECT ` + random + `, ` + random + `, i, u.id, u.name, u.id, 1, 'a token', 1, ` + random + `, '[]'
			FROM n JOIN users u ON u.name = CASE WHEN n.i % 7 = 0 THEN 'Canaryolga' ELSE 'Other' END`)
		if err := w.Service.EraseUser(t.Context(), olga.User.Email); err != nil {
			t.Fatal(err)
		}
		w.lacks(t, "canary")
		if n := w.number(`SELECT count(*) FROM history WHERE actor = '` + store.ErasedName + `' AND token_name IS NULL`); n != 2500/7 {
			t.Errorf("%d events are erased", n)
		}
		if n := w.number(`SELECT count(*) FROM history WHERE actor = 'Other' AND token_name IS NOT NULL`); n != 2500-2500/7 {
			t.Errorf("%d events are kept", n)
		}
	})
}

// lacks fails if a table contains a word.
func (w *world) lacks(t *testing.T, word string) {
	t.Helper()
	inHex := hex.EncodeToString([]byte(word))
	for _, table := range w.tables() {
		for _, row := range w.rows(table) {
			if low := strings.ToLower(row); strings.Contains(low, word) || strings.Contains(low, inHex) {
				t.Errorf("%s has %s", table, row)
			}
		}
	}
}

// TestErasedAccountsLeaveNothingPersonal searches every table for what the account had entered.
func TestErasedAccountsLeaveNothingPersonal(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		olga, other := w.person("Canaryolga", true), w.person("Other", true)
		create := func(p person, name, seller string) warranty.Warranty {
			made, err := w.Service.CreateWarranty(ctx, p.Principal, warranty.CreateWarranty{ProductName: name,
				StartDate: date("2020-01-01"), EndDate: date("2099-12-31"), SellerEmail: seller,
				Description: "canaryword", SerialNumber: "CANARY-1", IdempotencyKey: warranty.Optional("canary")})
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		own := create(olga, "Canary kettle", "")
		w.document(olga, own.ID)
		w.claim(olga, own.ID)
		removed := w.record(olga, "")
		if _, err := w.Service.DeleteWarranty(ctx, olga.Principal,
			warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: removed.ID}}); err != nil {
			t.Fatal(err)
		}
		shared := w.record(olga, other.User.Email)
		w.confirm(other, shared.ID)
		claim := w.claim(olga, shared.ID)
		stored, err := w.Service.StoreFile(ctx, strings.NewReader("A receipt, in plain text."))
		if err != nil {
			t.Fatal(err)
		}
		receipt, err := w.Service.UploadDocument(ctx, olga.Principal, stored, warranty.UploadDocument{
			WarrantyID: warranty.WarrantyKey{ID: shared.ID}, ClaimID: warranty.ClaimKey{ID: claim.ID},
			Type: warranty.Receipt, FileName: "receipt.txt",
		})
		if err != nil {
			t.Fatal(err)
		}
		issued := w.record(olga, "")
		w.issue(issued.ID, olga, other)
		w.token(olga.User, warranty.AllScopes, time.Hour, false)
		for range deletedRecords { // more than one step
			w.record(olga, "")
		}
		_, n, err := w.Service.UserRecords(ctx, olga.User.Email)
		want := store.UserRecords{Own: 1 + deletedRecords, OwnDocuments: 1, OwnBytes: 25, Shared: 2, Ownerless: 1}
		if err != nil || n != want {
			t.Errorf("the plan is %+v, want %+v (%v)", n, want, err)
		}

		if err := w.Service.EraseUser(ctx, olga.User.Email); err != nil {
			t.Fatal(err)
		}
		w.lacks(t, "canary")
		w.Alive(t, "the session", olga.session, false)
		if got := w.summary(olga.User.Email); got.Email != "" {
			t.Errorf("the account is listed as %+v", got)
		}
		if _, err := w.Service.AddUser(ctx, warranty.Register{Name: "Next", Email: olga.User.Email,
			Password: "plum ladder quiet"}); err != nil {
			t.Errorf("the address is not free: %v", err)
		}
		// What others can see stays.
		for _, id := range []warranty.ID{shared.ID, issued.ID} {
			if _, err := w.Service.GetWarranty(ctx, other.Principal,
				warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}}); err != nil {
				t.Errorf("a shared record: %v", err)
			}
		}
		if _, err := w.Service.GetClaim(ctx, other.Principal, warranty.GetClaim{ID: warranty.ClaimKey{ID: claim.ID}}); err != nil {
			t.Errorf("a claim on a shared record: %v", err)
		}
		if _, file, err := w.Service.OpenDocument(ctx, other.Principal, warranty.GetDocument{ID: receipt.ID}); err != nil {
			t.Errorf("a document of a shared record: %v", err)
		} else if err := file.Close(); err != nil {
			t.Error(err)
		}
		if n := w.number(`SELECT count(*) FROM access WHERE user_id = ` + w.IDLiteral(olga.User.ID.String())); n != 0 {
			t.Errorf("the account still has access to %d items", n)
		}
	})
}

// deletedRecords is more than a transaction of an erasure changes.
const deletedRecords = 60
