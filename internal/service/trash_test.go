package service_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

func keyOf(id warranty.ID) warranty.WarrantyKey { return warranty.WarrantyKey{ID: id} }

// trash deletes a warranty, also with an open claim.
func (w *world) trash(p person, id warranty.ID) {
	w.T.Helper()
	force := true
	if _, err := w.Service.DeleteWarranty(ctx, p.Principal, warranty.DeleteWarranty{ID: keyOf(id), Force: &force}); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) restore(p person, id warranty.ID) (warranty.Warranty, error) {
	return w.Service.RestoreWarranty(ctx, p.Principal, warranty.RestoreWarranty{ID: keyOf(id)})
}

// inTrash lists the ids in a person's trash.
func (w *world) inTrash(p person) (ids []warranty.ID) {
	w.T.Helper()
	page, err := w.Service.ListTrash(ctx, p.Principal, warranty.ListTrash{Paging: warranty.Paging{Page: 1, Limit: 100}})
	if err != nil || page.Pagination.Total != int64(len(page.Data)) {
		w.T.Fatal(page.Pagination, err)
	}
	for _, t := range page.Data {
		ids = append(ids, t.ID)
	}
	return ids
}

func isGone(err error) bool { return codeOf(err) == warranty.NotFound }

// consistent fails the test if the records contradict each other.
func (w *world) consistent() {
	w.T.Helper()
	w.faultless()
	checkAccess(w.T, w)
}

// faultless is consistent without what is not true for records of deleted accounts.
func (w *world) faultless() {
	w.T.Helper()
	if faults, err := w.Store.CheckRecords(ctx, date("2026-01-01"), func(string) {}); err != nil || len(faults) > 0 {
		w.T.Error(faults, err)
	}
}

// TestTheTrash deletes a record with everything, restores it, and deletes it for good.
func TestTheTrash(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		olga, sami, other := w.person("Olga", true), w.person("Sami", true), w.person("Other", true)
		r := w.record(olga, sami.User.Email)
		w.confirm(sami, r.ID)
		d, claim := w.document(olga, r.ID), w.claim(olga, r.ID)
		offer, err := w.Service.OfferTransfer(ctx, olga.Principal, warranty.OfferTransfer{ID: keyOf(r.ID), Email: other.User.Email})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.DeleteWarranty(ctx, olga.Principal, warranty.DeleteWarranty{ID: keyOf(r.ID)}); codeOf(err) != warranty.InUse {
			t.Errorf("deleting a record with an open claim: %v", err)
		}
		w.trash(olga, r.ID)
		w.consistent()
		for _, p := range []person{olga, sami} {
			if reads, lists := w.sees(p, r.ID); reads || lists {
				t.Errorf("%s sees the deleted record", p.User.Name)
			}
			if _, err := w.Service.GetDocument(ctx, p.Principal, warranty.GetDocument{ID: d.ID}); !isGone(err) {
				t.Errorf("its document: %v", err)
			}
			if _, err := w.Service.GetClaim(ctx, p.Principal, warranty.GetClaim{ID: warranty.ClaimKey{ID: claim.ID}}); !isGone(err) {
				t.Errorf("its claim: %v", err)
			}
		}
		if _, err := w.Service.VerifyWarranty(ctx, olga.Principal, warranty.VerifyWarranty{Reference: string(r.ReferenceNumber)}); !isGone(err) {
			t.Errorf("verified: %v", err)
		}
		equal(t, "the owner's trash", len(w.inTrash(olga)), 1)
		equal(t, "the seller's trash", len(w.inTrash(sami)), 0)
		if used, err := w.Store.Uploaded(ctx, olga.User.ID); err != nil || used == 0 {
			t.Errorf("the trash does not count: %d, %v", used, err)
		}
		for _, p := range []person{sami, other} {
			if _, err := w.restore(p, r.ID); !isGone(err) {
				t.Errorf("%s restores it: %v", p.User.Name, err)
			}
		}
		w.Clock.Advance(29 * 24 * time.Hour)
		w.sweepFor(2 * time.Hour)
		if err := w.Service.EmptyTrash(ctx); err != nil {
			t.Fatal(err)
		}
		olga, sami, other = w.session(olga.User, time.Hour), w.session(sami.User, time.Hour), w.session(other.User, time.Hour)
		back, err := w.restore(olga, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the product", back.ProductName, r.ProductName)
		equal(t, "the version", back.Version, r.Version+3) // confirmed, deleted, restored
		w.consistent()
		for _, p := range []person{olga, sami} {
			if reads, lists := w.sees(p, r.ID); !reads || !lists {
				t.Errorf("%s does not see the restored record", p.User.Name)
			}
			if _, err := w.Service.GetClaim(ctx, p.Principal, warranty.GetClaim{ID: warranty.ClaimKey{ID: claim.ID}}); err != nil {
				t.Errorf("its claim: %v", err)
			}
		}
		_, file, err := w.Service.OpenDocument(ctx, olga.Principal, warranty.GetDocument{ID: d.ID})
		if err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		if _, err := w.Service.Take(ctx, other.Principal, warranty.TakeHandover{Code: offer.Code}); fieldCode(err) != "code expired" {
			t.Errorf("its offer: %v", err)
		}
		equal(t, "the trash", len(w.inTrash(olga)), 0)
		if _, err := w.restore(olga, r.ID); !isGone(err) {
			t.Errorf("restored twice: %v", err)
		}

		w.trash(olga, r.ID)
		w.Clock.Advance(warranty.TrashLifetime)
		olga = w.session(olga.User, time.Hour)
		if _, err := w.restore(olga, r.ID); !isGone(err) || len(w.inTrash(olga)) != 0 {
			t.Errorf("restored after 30 days: %v", err)
		}
		if err := w.Service.EmptyTrash(ctx); err != nil {
			t.Fatal(err)
		}
		for what, sql := range map[string]string{
			"documents": `SELECT count(*) FROM documents`,
			"claims":    `SELECT count(*) FROM claims`,
			"trash":     `SELECT count(*) FROM trash`,
			"content":   `SELECT count(*) FROM warranties WHERE product_name <> '' OR seller_email IS NOT NULL`,
		} {
			equal(t, what, w.number(sql), int64(0))
		}
		if w.number(`SELECT count(*) FROM history WHERE thread_id = `+w.IDLiteral(r.ID.String())) == 0 {
			t.Error("the history is gone")
		}
		w.sweepFor(25 * time.Hour)
		equal(t, "files", w.in(files.Complete), 0)
		w.consistent()
	}, busy)
}

// TestRestoringMeetsAnotherExternalID: the external id of a deleted record can be used again. Then restoring it is
// refused, and nothing changes.
func TestRestoringMeetsAnotherExternalID(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		create := func() warranty.Warranty {
			made, err := w.Service.CreateWarranty(ctx, olga.Principal, warranty.CreateWarranty{ProductName: "Pan", ExternalID: "A-1",
				StartDate: date("2024-01-01"), EndDate: date("2025-01-01")})
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		first := create()
		w.trash(olga, first.ID)
		second := create()
		_, err := w.restore(olga, first.ID)
		var refusal *warranty.Error
		if !errors.As(err, &refusal) || refusal.Code != warranty.AlreadyExists || *refusal.ExistingID != second.ID {
			t.Fatal(err)
		}
		w.trash(olga, second.ID)
		if _, err := w.restore(olga, first.ID); err != nil {
			t.Fatal(err)
		}
		w.consistent()
	}, busy)
}

// TestRestoringWithoutTheSeller: a seller that declined everything from the owner, or was deleted meanwhile, does
// not come back.
func TestRestoringWithoutTheSeller(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		olga, declines, leaves := w.person("Olga", true), w.person("Dee", true), w.person("Lea", true)
		a, b := w.record(olga, declines.User.Email), w.record(olga, leaves.User.Email)
		w.confirm(declines, a.ID)
		w.confirm(leaves, b.ID)
		waiting := w.record(olga, declines.User.Email)
		w.trash(olga, a.ID)
		w.trash(olga, b.ID)
		if _, err := w.decide(declines, waiting.ID, warranty.Decline, true); err != nil {
			t.Fatal(err)
		}
		if err := w.Service.EraseUser(ctx, leaves.User.Email); err != nil {
			t.Fatal(err)
		}
		for _, id := range []warranty.ID{a.ID, b.ID} {
			if _, err := w.restore(olga, id); err != nil {
				t.Fatal(err)
			}
		}
		if reads, _ := w.sees(declines, a.ID); reads {
			t.Error("a seller that declined sees the record")
		}
		equal(t, "sellers", w.number(`SELECT count(*) FROM warranties WHERE seller_id IS NOT NULL`), int64(0))
		w.consistent()
	}, busy)
}

// TestRestoringARemovedWarranty: an owner removes an issued warranty from their account and takes it back. After
// 30 days, only what the owner uploaded is deleted.
func TestRestoringARemovedWarranty(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		ian, olga := w.person("Ian", true), w.person("Olga", true)
		r := w.record(ian, "")
		w.issue(r.ID, ian, olga)
		w.document(olga, r.ID)
		terms := w.document(ian, r.ID)
		w.trash(olga, r.ID)
		w.consistent()
		if reads, _ := w.sees(olga, r.ID); reads {
			t.Error("the owner sees the removed record")
		}
		if reads, _ := w.sees(ian, r.ID); !reads {
			t.Error("the issuer does not see it")
		}
		if back, err := w.restore(olga, r.ID); err != nil || !back.Roles.Has(warranty.Owner) {
			t.Fatal(back.Roles, err)
		}
		equal(t, "documents", w.number(`SELECT count(*) FROM access WHERE kind = 3 AND user_id = `+w.IDLiteral(olga.User.ID.String())), int64(2))
		w.consistent()

		w.trash(olga, r.ID)
		w.Clock.Advance(warranty.TrashLifetime)
		if err := w.Service.EmptyTrash(ctx); err != nil {
			t.Fatal(err)
		}
		w.consistent()
		equal(t, "documents", w.strings(`SELECT count(*) FROM documents`)[0], "1")
		ian = w.session(ian.User, time.Hour)
		if _, err := w.Service.GetDocument(ctx, ian.Principal, warranty.GetDocument{ID: terms.ID}); err != nil {
			t.Error(err)
		}

		// Without an issuer, the record waits in the trash for its owner alone.
		r = w.record(ian, "")
		olga = w.session(olga.User, time.Hour)
		w.issue(r.ID, ian, olga)
		w.trash(olga, r.ID)
		if err := w.Service.EraseUser(ctx, ian.User.Email); err != nil {
			t.Fatal(err)
		}
		w.faultless()
		if _, err := w.restore(olga, r.ID); err != nil {
			t.Fatal(err)
		}
		w.trash(olga, r.ID)
		w.Clock.Advance(warranty.TrashLifetime)
		if err := w.Service.EmptyTrash(ctx); err != nil {
			t.Fatal(err)
		}
		equal(t, "trash", w.number(`SELECT count(*) FROM trash`), int64(0))
		w.faultless()
	}, busy)
}

// TestErasingAnAccountEmptiesItsTrash: nothing in it waits for 30 days.
func TestErasingAnAccountEmptiesItsTrash(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, sami := w.person("Olga", true), w.person("Sami", true)
		r, kept := w.record(olga, ""), w.record(sami, olga.User.Email)
		w.confirm(olga, kept.ID)
		w.document(olga, r.ID)
		w.trash(olga, r.ID)
		w.trash(sami, kept.ID)
		if err := w.Service.EraseUser(ctx, olga.User.Email); err != nil {
			t.Fatal(err)
		}
		equal(t, "documents", w.number(`SELECT count(*) FROM documents`), int64(0))
		equal(t, "trash", w.number(`SELECT count(*) FROM trash`), int64(1))
		w.consistent()
		if _, err := w.restore(sami, kept.ID); err != nil {
			t.Error(err)
		}
		w.consistent()
	}, busy)
}

// TestTrashRaces: restores, deletions and the workers of two replicas meet on the same record. It is never half
// restored or half erased.
func TestTrashRaces(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other, _ := w.on(w.Folder)
		for i := range 12 {
			olga, sami := w.person("Olga", true), w.person("Sami", true)
			r := w.record(olga, sami.User.Email)
			w.confirm(sami, r.ID)
			w.document(olga, r.ID)
			w.trash(olga, r.ID)
			by := w.Clock.Now().Add(time.Minute) // as if 30 days had passed for the workers
			var restored, erased atomic.Int64
			together(6, func(n int) {
				var err error
				switch {
				case n < 2:
					if _, err = w.restore(olga, r.ID); err == nil {
						restored.Add(1)
					}
				case n < 4 && i%2 == 0:
					_, err = w.Service.DeleteWarranty(ctx, olga.Principal, warranty.DeleteWarranty{ID: keyOf(r.ID)})
				case n == 4:
					err = w.Store.Write(ctx, func(tx *store.Tx) error { return tx.EmptyTrash(r.ID, by, by) })
				default:
					err = other.Store.Write(ctx, func(tx *store.Tx) error { return tx.EmptyTrash(r.ID, by, by) })
				}
				if err != nil && !isGone(err) {
					t.Error(err)
				}
			})
			erased.Store(w.number(`SELECT count(*) FROM warranties WHERE product_name = '' AND id = ` + w.IDLiteral(r.ID.String())))
			reads, _ := w.sees(olga, r.ID)
			seller, _ := w.sees(sami, r.ID)
			trashed := len(w.inTrash(olga)) == 1
			documents := w.number(`SELECT count(*) FROM documents WHERE warranty_id = ` + w.IDLiteral(r.ID.String()))
			switch {
			case erased.Load() == 1 && !reads && !seller && !trashed && documents == 0:
			case erased.Load() == 0 && reads && seller && !trashed && documents == 1 &&
				(restored.Load() == 1 || restored.Load() == 2 && i%2 == 0): // restored, deleted again and restored
			case erased.Load() == 0 && !reads && !seller && trashed && documents == 1 && restored.Load() > 0:
			default:
				t.Errorf("erased %d, restored %d, read by owner %v and seller %v, trashed %v, %d documents",
					erased.Load(), restored.Load(), reads, seller, trashed, documents)
			}
		}
		w.consistent()
	}, busy)
}
