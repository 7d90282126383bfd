package service_test

import (
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// becomes sets the status of a warranty.
func (w *world) becomes(p person, id warranty.ID, status warranty.Status) {
	w.T.Helper()
	if _, err := w.Service.UpdateWarranty(ctx, p.Principal, warranty.UpdateWarranty{ID: keyOf(id), Status: &status}); err != nil {
		w.T.Fatal(err)
	}
}

// refusesCode fails the test unless every way to use a code says that it takes nothing, for the same reason, and
// changes nothing.
func (w *world) refusesCode(what string, taker person, code, reason string) {
	w.T.Helper()
	before := w.snapshot()
	for how, try := range map[string]func() error{
		"preview": func() error {
			_, err := w.Service.PreviewHandover(ctx, warranty.Principal{}, warranty.PreviewHandover{Code: code})
			return err
		},
		"take": func() error { _, err := w.take(taker, code); return err },
		"email": func() error {
			_, err := w.Service.EmailHandover(ctx, warranty.Principal{}, warranty.EmailHandover{Code: code, Email: "new@people.example"})
			return err
		},
		"register": func() error {
			_, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: code})
			return err
		},
	} {
		if err := try(); fieldCode(err) != "code "+reason {
			w.T.Errorf("%s, %s: %v", what, how, err)
		}
	}
	if tables := changed(before, w.snapshot()); tables != nil {
		w.T.Errorf("%s: refused codes changed %v", what, tables)
	}
}

// TestACodeOfAVoidWarrantyRegistersNothing: the slip and the mailed offer of a warranty that was voided or cancelled
// say so, and whom to ask. A reinstated one can be taken, and an expired one, whose preview says so.
func TestACodeOfAVoidWarrantyRegistersNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		printed := shop.sells(warranty.CreateWarranty{})
		slip := shop.prints(printed.ID)
		mailed := shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email})
		offer := w.mailedCode(kim.User.Email)
		w.becomes(shop.acting, printed.ID, warranty.Void)
		w.becomes(shop.acting, mailed.ID, warranty.Cancelled)
		w.refusesCode("a slip of a void warranty", kim, slip, "not_valid")
		w.refusesCode("an offer of a cancelled warranty", kim, offer, "not_valid")
		if _, err := w.take(kim, slip); !strings.Contains(err.Error(), `This warranty is not valid. Ask "`+shop.Name+`".`) {
			t.Errorf("it does not say whom to ask: %v", err)
		}
		w.becomes(shop.acting, printed.ID, warranty.Active)
		if _, err := w.take(kim, slip); err != nil {
			t.Errorf("reinstated: %v", err)
		}

		ended := shop.sells(warranty.CreateWarranty{})
		start, end := date("2020-01-01"), date("2020-12-31")
		if _, err := w.Service.UpdateWarranty(ctx, shop.acting.Principal,
			warranty.UpdateWarranty{ID: keyOf(ended.ID), StartDate: &start, EndDate: &end}); err != nil {
			t.Fatal(err)
		}
		code := shop.prints(ended.ID)
		preview, err := w.Service.PreviewHandover(ctx, warranty.Principal{}, warranty.PreviewHandover{Code: code})
		if err != nil || preview.Status != warranty.Expired {
			t.Errorf("the preview of an expired warranty: %+v, %v", preview, err)
		}
		if _, err := w.take(kim, code); err != nil {
			t.Errorf("an expired warranty: %v", err)
		}
		w.consistent()
	}, busy)
}

// TestATransferOfAVoidWarrantyMovesNothing is the same for a transfer between people. A void warranty cannot be
// offered either.
func TestATransferOfAVoidWarrantyMovesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, kim := w.person("Olga", true), w.person("Kim", true)
		r := w.record(olga, "")
		offer, err := w.Service.OfferTransfer(ctx, olga.Principal, warranty.OfferTransfer{ID: keyOf(r.ID), Email: kim.User.Email})
		if err != nil {
			t.Fatal(err)
		}
		accept := func() error {
			_, err := w.Service.Take(ctx, kim.Principal, warranty.TakeHandover{Code: offer.Code})
			return err
		}
		w.becomes(olga, r.ID, warranty.Void)
		before := w.snapshot()
		if err := accept(); fieldCode(err) != "code not_valid" || changed(before, w.snapshot()) != nil {
			t.Errorf("a void warranty: %v", err)
		}
		if _, err := w.Service.OfferTransfer(ctx, olga.Principal, warranty.OfferTransfer{ID: keyOf(r.ID), Email: kim.User.Email}); codeOf(err) != warranty.InvalidTransition {
			t.Errorf("a void warranty is offered: %v", err)
		}
		w.becomes(olga, r.ID, warranty.Active)
		w.trash(olga, r.ID)
		if err := accept(); fieldCode(err) != "code withdrawn" {
			t.Errorf("a deleted warranty: %v", err)
		}
		if _, err := w.restore(olga, r.ID); err != nil {
			t.Fatal(err)
		}
		if err := accept(); err != nil {
			t.Errorf("restored: %v", err)
		}
	}, busy)
}

// TestVoidedBetweenPageAndClick: a warranty that is voided or deleted while customers use its slip is either taken or
// not valid, and a customer who was refused owns nothing.
func TestVoidedBetweenPageAndClick(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		shop := w.issuer("Ann")
		kim := w.person("Kim", true)
		for i := range 12 {
			made := shop.sells(warranty.CreateWarranty{})
			code := shop.prints(made.ID)
			end := servertest.NewRequest("PUT", "/api/v1/warranties/"+made.ID.String(), shop.admin.session, fields{"status": "void"})
			if i%2 == 1 {
				end = servertest.NewRequest("DELETE", "/api/v1/warranties/"+made.ID.String(), shop.admin.session, nil)
			}
			end.Header = map[string]string{"X-Account": shop.ID.String()}
			_, answers := servertest.Flood(t, worlds, 2, func(i int) request {
				if i == 0 {
					return servertest.NewRequest("POST", "/api/handovers/take", kim.session, fields{"code": code})
				}
				return end
			})
			owned, _ := w.sees(kim, made.ID)
			switch taken := answers[0]; {
			case taken.Status == 200 && owned:
			case taken.Status == 422 && !owned && (strings.Contains(taken.Body, "not_valid") || strings.Contains(taken.Body, "withdrawn")):
				if answers[1].Status >= 300 {
					t.Errorf("neither taken nor ended: %d %s", answers[1].Status, answers[1].Body)
				}
			default:
				t.Errorf("owned %v: %d %s", owned, taken.Status, taken.Body)
			}
		}
		w.consistent()
	}, busy)
}

// TestPaperOutlivesAnUndo: a deleted warranty's slip and mailed offer say that it was withdrawn. Restoring the
// warranty restores the offer as it was, until it expires.
func TestPaperOutlivesAnUndo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		printed := shop.sells(warranty.CreateWarranty{})
		slip := shop.prints(printed.ID)
		mailed := shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email})
		offer := w.mailedCode(kim.User.Email)
		for id, code := range map[warranty.ID]string{printed.ID: slip, mailed.ID: offer} {
			before, err := w.seen(shop.acting, id)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // an undo can be undone
				w.trash(shop.acting, id)
				w.refusesCode("deleted", kim, code, "withdrawn")
				if _, err := w.restore(shop.acting, id); err != nil {
					t.Fatal(err)
				}
			}
			after, err := w.seen(shop.acting, id)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "the offer", after.Handover, before.Handover)
			if _, err := w.take(kim, code); err != nil {
				t.Errorf("restored: %v", err)
			}
			w.refusesCode("taken", kim, code, "taken")
		}
		late := shop.sells(warranty.CreateWarranty{CustomerEmail: "late@people.example"})
		code := w.mailedCode("late@people.example")
		w.trash(shop.acting, late.ID)
		w.Clock.Advance(29 * 24 * time.Hour)
		shop.acting = person{Principal: w.acting(w.session(shop.admin.User, time.Hour), shop.Organization)}
		if _, err := w.restore(shop.acting, late.ID); err != nil {
			t.Fatal(err)
		}
		w.Clock.Advance(24 * time.Hour)
		w.refusesCode("an offer that expired after it was restored", w.session(kim.User, time.Hour), code, "expired")

		shop.acting = person{Principal: w.acting(w.session(shop.admin.User, time.Hour), shop.Organization)}
		gone := shop.sells(warranty.CreateWarranty{})
		slip = shop.prints(gone.ID)
		w.trash(shop.acting, gone.ID)
		w.Clock.Advance(warranty.TrashLifetime)
		if err := w.Service.EmptyTrash(ctx); err != nil {
			t.Fatal(err)
		}
		w.refusesCode("erased", w.session(kim.User, time.Hour), slip, "withdrawn")
		equal(t, "addresses of erased offers", w.number(`SELECT count(*) FROM offer_codes h JOIN warranties w
			ON w.id = h.warranty_id WHERE w.product_name = '' AND h.email IS NOT NULL`), int64(0))
	}, busy)
}

// TestATransferOutlivesARemoval: an owner who removes an issued warranty from their account, and takes it back, has
// not cancelled its transfer.
func TestATransferOutlivesARemoval(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ian, olga, kim := w.person("Ian", true), w.person("Olga", true), w.person("Kim", true)
		r := w.record(ian, "")
		w.issue(r.ID, ian, olga)
		offer, err := w.Service.OfferTransfer(ctx, olga.Principal, warranty.OfferTransfer{ID: keyOf(r.ID), Email: kim.User.Email})
		if err != nil {
			t.Fatal(err)
		}
		accept := func() error {
			_, err := w.Service.Take(ctx, kim.Principal, warranty.TakeHandover{Code: offer.Code})
			return err
		}
		w.trash(olga, r.ID)
		if err := accept(); fieldCode(err) != "code withdrawn" {
			t.Errorf("removed: %v", err)
		}
		if _, err := w.restore(olga, r.ID); err != nil {
			t.Fatal(err)
		}
		if err := accept(); err != nil {
			t.Errorf("taken back: %v", err)
		}
		w.consistent()
	}, busy)
}

// TestAResetEndsTransfersInTheTrash: a password reset cancels the transfers of deleted warranties too, so that
// restoring one does not restore a stolen code.
func TestAResetEndsTransfersInTheTrash(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, kim := w.person("Olga", true), w.person("Kim", true)
		r := w.record(olga, "")
		offer, err := w.Service.OfferTransfer(ctx, olga.Principal, warranty.OfferTransfer{ID: keyOf(r.ID), Email: kim.User.Email})
		if err != nil {
			t.Fatal(err)
		}
		w.trash(olga, r.ID)
		if err := w.Service.SetPassword(ctx, olga.User.Email, "another long password", false); err != nil {
			t.Fatal(err)
		}
		if _, err := w.restore(w.session(olga.User, time.Hour), r.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.Take(ctx, kim.Principal, warranty.TakeHandover{Code: offer.Code}); fieldCode(err) != "code cancelled" {
			t.Errorf("after a reset: %v", err)
		}
	}, busy)
}
