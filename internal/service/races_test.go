package service_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestWhoComesSecondWaits holds a lock in one transaction while another one needs it:
// the second one must wait. The races below show what happens otherwise, sometimes;
// this test shows it always.
func TestWhoComesSecondWaits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		now := w.Clock.Now()
		s := newStage(w, false)
		owner, issuer, seller, unverified := s.ownerIs, s.issuerIs, s.sellerIs, w.person("Nora", false)
		byToken := w.tokenOf(owner)
		token := byToken.CredentialID
		session := w.session(owner.User, time.Hour)
		kept := store.SavedResponse{User: owner.User.ID, Operation: "x", Key: "k", At: now}
		lockWarranty := func(p person) func(*store.Tx) error {
			return func(tx *store.Tx) error {
				_, err := tx.LockWarranty(p.User.ID, warranty.WarrantyKey{ID: s.record.ID})
				return err
			}
		}
		lockUser := func(tx *store.Tx) error { _, err := tx.LockUser(owner.User.ID); return err }
		lockToken := func(tx *store.Tx) error { _, err := tx.LockToken(owner.User.ID, token); return err }
		confirm := func(tx *store.Tx) error {
			_, _, err := tx.LockConfirmation(seller.User.ID, warranty.WarrantyKey{ID: s.record.ID})
			return err
		}
		keep := func(tx *store.Tx) error { _, err := tx.SaveResponse(kept); return err }
		reach := func(tx *store.Tx) error { _, err := tx.ReachMilestone("x", now); return err }
		for _, c := range []struct {
			name          string
			first, second func(*store.Tx) error
		}{
			{"a write by a token, its revocation", func(tx *store.Tx) error { return tx.HoldCredential(byToken, warranty.Member, now) }, func(tx *store.Tx) error { return tx.RevokeToken(token, now) }},
			{"a write by a session, its end", func(tx *store.Tx) error { return tx.HoldCredential(session.Principal, warranty.Member, now) }, func(tx *store.Tx) error { return tx.DeleteSession(session.CredentialID) }},
			{"an account that is added, a create", (*store.Tx).HoldWarranties, func(tx *store.Tx) error {
				return tx.InsertWarranty(warranty.Warranty{ID: w.Service.NewID(), ReferenceNumber: "WR-X", Standing: warranty.Active, Version: 1}, owner.User.ID)
			}},
			{"an account that is added, a change", (*store.Tx).HoldWarranties, lockWarranty(owner)},
			{"a change by the owner, one by the issuer", lockWarranty(owner), lockWarranty(issuer)},
			{"a change by the owner, a decision on a claim", lockWarranty(owner), func(tx *store.Tx) error {
				_, _, err := tx.LockClaim(seller.User.ID, warranty.ClaimKey{ID: s.claimed.ID})
				return err
			}},
			{"a change by the owner, the removal of a document", lockWarranty(owner), func(tx *store.Tx) error { _, err := tx.LockFile(seller.User.ID, s.paper.ID); return err }},
			{"a change by the owner, a seller who confirms", lockWarranty(owner), confirm},
			{"a seller who confirms, a change by the owner", confirm, lockWarranty(owner)},
			{"a change by the owner, a transfer", lockWarranty(owner), func(tx *store.Tx) error {
				taking, err := tx.UseOfferCode(warranty.HashCode(s.names["transfer code"]), now)
				if err != nil {
					return err
				}
				return tx.Take(taking, unverified.User.ID, now)
			}},
			{"a token that is made, another", lockUser, lockUser},
			{"a token that is rotated, again", lockToken, lockToken},
			{"a key that is kept, again", keep, keep},
			{"a milestone that is reached, again", reach, reach},
		} {
			held, release, first, second := make(chan error), make(chan struct{}), make(chan error, 1), make(chan error,
				1)
			go func() {
				first <- w.Store.Write(ctx, func(tx *store.Tx) error {
					err := c.first(tx)
					if err == nil {
						_, _, err = tx.VerifiedAccount("") // a query makes the store send its deferred statements
					}
					held <- err
					<-release
					return err
				})
			}()
			if err := testenv.Receive(t, c.name+": the first holds its lock", held); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			go func() { second <- w.Store.Write(ctx, c.second) }()
			select {
			case err := <-second:
				t.Errorf("%s: the second did not wait", c.name)
				second <- err
			case <-time.After(100 * time.Millisecond): // long enough for one that does not wait
			}
			close(release)
			for who, done := range map[string]chan error{"first": first, "second": second} {
				if err := testenv.Receive(t, c.name+": the "+who+" ends", done); err != nil {
					t.Errorf("%s: the %s: %v", c.name, who, err)
				}
			}
		}
	}, busy)
}

// TestUpdatesAtOnceAreAllKept: concurrent changes of one record neither overwrite each
// other nor fail.
func TestUpdatesAtOnceAreAllKept(t *testing.T) {
	const writers = 12
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		for range 5 {
			r := w.record(owner, "")
			together(writers, func(i int) {
				in := warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: r.ID}}
				text := fmt.Sprintf("by %d", i)
				if i%2 == 0 {
					in.Supplier = &text
				} else {
					in.Category = &text
				}
				if _, err := w.Service.UpdateWarranty(ctx, owner.Principal, in); err != nil {
					t.Errorf("update %d: %v", i, err)
				}
			})
			after, err := w.Service.GetWarranty(ctx, owner.Principal, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: r.ID}})
			if err != nil {
				t.Fatal(err)
			}
			if after.Version != 1+writers || after.Supplier == nil || after.Category == nil {
				t.Errorf("version %d after %d updates; supplier %v, category %v", after.Version, writers,
					after.Supplier, after.Category)
			}
			if n := w.number(`SELECT count(*) FROM history WHERE thread_id = $1`, w.key(r.ID)); n != 1+writers {
				t.Errorf("the history tells %d things", n)
			}
		}
		checkAccess(t, w)
	}, busy)
}

// TestAVoidedRecordStaysVoid: a record is voided while others change its fields; their
// stale reads must not reactivate it.
func TestAVoidedRecordStaysVoid(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		for range 10 {
			r := w.record(owner, "")
			void := warranty.Void
			together(8, func(i int) {
				in := warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: r.ID}, Status: &void}
				if i > 0 {
					text := fmt.Sprint(i)
					in = warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: r.ID}, Supplier: &text}
				}
				if _, err := w.Service.UpdateWarranty(ctx, owner.Principal, in); err != nil {
					t.Error(err)
				}
			})
			after, err := w.Service.GetWarranty(ctx, owner.Principal, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: r.ID}})
			if err != nil || after.Status != warranty.Void {
				t.Errorf("it is %v, %v", after.Status, err)
			}
		}
	}, busy)
}

// TestTheCapOfTokensHolds: at most 20 active tokens, however many requests run
// concurrently.
func TestTheCapOfTokensHolds(t *testing.T) {
	const asked = 64
	each(t, func(t *testing.T, w *world) {
		for range 3 {
			p := w.person("Olga", true)
			var made, refused atomic.Int64
			together(asked, func(i int) {
				_, err := w.Service.CreateToken(ctx, p.Principal,
					warranty.CreateToken{Name: fmt.Sprint(i), Scopes: []string{"claims:read"}})
				switch codeOf(err) {
				case "":
					made.Add(1)
				case warranty.TokenLimitReached:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
			if made.Load() != warranty.MaxActiveTokens || refused.Load() != asked-warranty.MaxActiveTokens {
				t.Errorf("%d were made and %d refused", made.Load(), refused.Load())
			}
			// Revoking one makes room for one, not for two.
			page, err := w.Service.ListTokens(ctx, p.Principal, warranty.ListTokens{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Service.RevokeToken(ctx, p.Principal,
				warranty.RevokeToken{ID: page.Data[0].ID}); err != nil {
				t.Fatal(err)
			}
			made.Store(0)
			together(8, func(i int) {
				if _, err := w.Service.CreateToken(ctx, p.Principal,
					warranty.CreateToken{Name: fmt.Sprint("again ", i), Scopes: []string{"claims:read"}}); err == nil {
					made.Add(1)
				}
			})
			if made.Load() != 1 {
				t.Errorf("%d were made in the place of one", made.Load())
			}
		}
	}, busy)
}

// TestTokenNamesAreUniqueAtOnce: two active tokens never have the same name.
func TestTokenNamesAreUniqueAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.person("Olga", true)
		var made atomic.Int64
		together(16, func(int) {
			_, err := w.Service.CreateToken(ctx, p.Principal,
				warranty.CreateToken{Name: "the one", Scopes: []string{"claims:read"}})
			if err == nil {
				made.Add(1)
			} else if codeOf(err) != warranty.AlreadyExists {
				t.Error(err)
			}
		})
		if made.Load() != 1 {
			t.Errorf("%d were made", made.Load())
		}
	}, busy)
}

// TestACodeIsUsedOnce: of 32 concurrent uses of a code, one succeeds.
func TestACodeIsUsedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, others := w.person("Olga", true), []person{w.person("A", true), w.person("B", true)}
		for range 5 {
			seller, r := w.person("Sami", false), w.record(owner, "")
			verification := w.code(seller.User, store.ForVerification)
			offer, err := w.Service.OfferTransfer(ctx, owner.Principal,
				warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: r.ID}, Email: others[0].User.Email})
			if err != nil {
				t.Fatal(err)
			}
			for what, use := range map[string]func(i int) error{
				"a verification": func(int) error {
					_, err := w.Service.VerifyEmail(ctx, seller.Principal, warranty.VerifyEmail{Code: verification})
					return err
				},
				"a transfer": func(i int) error {
					_, err := w.Service.Take(ctx, others[i%2].Principal, warranty.TakeHandover{Code: offer.Code})
					return err
				},
			} {
				var through atomic.Int64
				together(32, func(i int) {
					switch err := use(i); codeOf(err) {
					case "":
						through.Add(1)
					case warranty.ValidationFailed:
					default:
						t.Errorf("%s: %v", what, err)
					}
				})
				if through.Load() != 1 {
					t.Errorf("%s: %d got through with one code", what, through.Load())
				}
			}
		}
		checkAccess(t, w)
	}, busy)
}

// TestNothingDriftsUnderConcurrency runs all operations concurrently on a few records
// and then checks who sees what.
func TestNothingDriftsUnderConcurrency(t *testing.T) {
	const actors, steps = 8, 25
	each(t, func(t *testing.T, w *world) {
		for range 4 {
			people := make([]person, 4)
			for i := range people {
				people[i] = w.person("P", i == 0)
			}
			var records []warranty.Warranty
			for i := range 4 {
				records = append(records, w.record(people[i%2], people[2+i%2].User.Email))
			}
			codes := []string{
				w.code(people[2].User, store.ForVerification),
				w.code(people[3].User, store.ForVerification),
			}
			var claims sync.Map
			var offers sync.Map
			together(actors, func(int) {
				for range steps {
					p, r := people[rand.IntN(len(people))], records[rand.IntN(len(records))]
					var err error
					switch rand.IntN(9) {
					case 0, 1:
						text := fmt.Sprint(rand.IntN(5))
						_, err = w.Service.UpdateWarranty(ctx, p.Principal,
							warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: r.ID}, Category: &text})
					case 2:
						status := warranty.EnumOf[warranty.Status](1 + rand.Int64N(2))
						_, err = w.Service.UpdateWarranty(ctx, p.Principal,
							warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: r.ID}, Status: &status})
					case 3:
						var c warranty.Claim
						c, err = w.Service.FileClaim(ctx, p.Principal, warranty.FileClaim{
							WarrantyID:   warranty.WarrantyKey{ID: r.ID},
							Type:         warranty.Repair,
							Description:  "It broke.",
							IncidentDate: date("2024-05-17"),
						})
						if err == nil {
							claims.Store(c.ID, true)
						}
					case 4:
						claims.Range(func(id, _ any) bool {
							_, err = w.Service.MoveClaim(ctx, p.Principal,
								warranty.MoveClaim{ID: warranty.ClaimKey{ID: id.(warranty.ID)}, Status: warranty.UnderReview})
							return rand.IntN(2) == 0
						})
					case 5:
						_, err = w.upload(p, r.ID, "receipt.txt")
					case 6:
						var offer warranty.TransferOffer
						if offer, err = w.Service.OfferTransfer(ctx, p.Principal,
							warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: r.ID}, Email: "x@people.example"}); err == nil {
							offers.Store(offer.Code, true)
						}
					case 7:
						offers.Range(func(code, _ any) bool {
							_, err = w.Service.Take(ctx, p.Principal,
								warranty.TakeHandover{Code: code.(string)})
							return rand.IntN(2) == 0
						})
					case 8:
						if rand.IntN(4) == 0 {
							key := warranty.WarrantyKey{ID: r.ID}
							_, err = w.Service.DeleteWarranty(ctx, p.Principal, warranty.DeleteWarranty{ID: key, Force: new(true)})
							if rand.IntN(2) == 0 {
								_, err = w.Service.RestoreWarranty(ctx, p.Principal, warranty.RestoreWarranty{ID: key})
							}
						} else {
							n := rand.IntN(2)
							_, err = w.Service.VerifyEmail(ctx, people[2+n].Principal,
								warranty.VerifyEmail{Code: codes[n]})
						}
					}
					switch codeOf(err) {
					case "",
						warranty.NotFound,
						warranty.RoleNotAllowed,
						warranty.EmailNotVerified,
						warranty.InvalidTransition,
						warranty.ValidationFailed:
					default:
						t.Errorf("unexpected error: %v", err)
					}
				}
			})
			for i, code := range codes { // verify the addresses that are not verified yet
				_, _ = w.Service.VerifyEmail(ctx, people[2+i].Principal, warranty.VerifyEmail{Code: code})
			}
		}
		checkAccess(t, w)
	}, busy)
}
