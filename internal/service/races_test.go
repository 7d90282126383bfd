package service_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// TestUpdatesAtOnceAreAllKept: of several who change one record at once nobody
// overwrites another and nobody is turned away.
func TestUpdatesAtOnceAreAllKept(t *testing.T) {
	const writers = 12
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		for range 5 {
			r := w.record(owner, "")
			together(writers, func(i int) {
				in := warranty.UpdateWarranty{ID: r.ID}
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
			after, err := w.Service.GetWarranty(ctx, owner.Principal, warranty.GetWarranty{ID: r.ID})
			if err != nil {
				t.Fatal(err)
			}
			if after.Version != 1+writers || after.Supplier == nil || after.Category == nil {
				t.Errorf("version %d after %d updates; supplier %v, category %v", after.Version, writers, after.Supplier, after.Category)
			}
			if n := w.number(`SELECT count(*) FROM history WHERE thread_id = $1`, w.key(r.ID)); n != 1+writers {
				t.Errorf("the history tells %d things", n)
			}
		}
		checkAccess(t, w)
	})
}

// TestAVoidedRecordStaysVoid: somebody voids a record while others change its
// fields; what they read before must not bring it back to life.
func TestAVoidedRecordStaysVoid(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		for range 10 {
			r := w.record(owner, "")
			void := warranty.Void
			together(8, func(i int) {
				in := warranty.UpdateWarranty{ID: r.ID, Status: &void}
				if i > 0 {
					text := fmt.Sprint(i)
					in = warranty.UpdateWarranty{ID: r.ID, Supplier: &text}
				}
				if _, err := w.Service.UpdateWarranty(ctx, owner.Principal, in); err != nil {
					t.Error(err)
				}
			})
			after, err := w.Service.GetWarranty(ctx, owner.Principal, warranty.GetWarranty{ID: r.ID})
			if err != nil || after.Status != warranty.Void {
				t.Errorf("it is %v, %v", after.Status, err)
			}
		}
	})
}

// TestTheCapOfTokensHolds: at most 20 active ones, whoever asks how often at once.
func TestTheCapOfTokensHolds(t *testing.T) {
	const asked = 64
	each(t, func(t *testing.T, w *world) {
		for range 3 {
			p := w.person("Olga", true)
			var made, refused atomic.Int64
			together(asked, func(i int) {
				_, err := w.Service.CreateToken(ctx, p.Principal, warranty.CreateToken{Name: fmt.Sprint(i), Scopes: []string{"claims:read"}})
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
			// One revoked makes room for one, not for two.
			page, err := w.Service.ListTokens(ctx, p.Principal, warranty.ListTokens{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Service.RevokeToken(ctx, p.Principal, warranty.RevokeToken{ID: page.Data[0].ID}); err != nil {
				t.Fatal(err)
			}
			made.Store(0)
			together(8, func(i int) {
				if _, err := w.Service.CreateToken(ctx, p.Principal, warranty.CreateToken{Name: fmt.Sprint("again ", i), Scopes: []string{"claims:read"}}); err == nil {
					made.Add(1)
				}
			})
			if made.Load() != 1 {
				t.Errorf("%d were made in the place of one", made.Load())
			}
		}
	})
}

// TestTokenNamesAreUniqueAtOnce: two active tokens of one name never both come to be.
func TestTokenNamesAreUniqueAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.person("Olga", true)
		var made atomic.Int64
		together(16, func(int) {
			_, err := w.Service.CreateToken(ctx, p.Principal, warranty.CreateToken{Name: "the one", Scopes: []string{"claims:read"}})
			if err == nil {
				made.Add(1)
			} else if codeOf(err) != warranty.AlreadyExists {
				t.Error(err)
			}
		})
		if made.Load() != 1 {
			t.Errorf("%d were made", made.Load())
		}
	})
}

// TestACodeIsUsedOnce: of 32 who show one code at once, one gets through.
func TestACodeIsUsedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, others := w.person("Olga", true), []person{w.person("A", true), w.person("B", true)}
		for range 5 {
			seller, r := w.person("Sami", false), w.record(owner, "")
			verification := w.code(seller.User, store.ForVerification)
			offer, err := w.Service.OfferTransfer(ctx, owner.Principal, warranty.OfferTransfer{ID: r.ID, Email: others[0].User.Email})
			if err != nil {
				t.Fatal(err)
			}
			for what, use := range map[string]func(i int) error{
				"a verification": func(int) error {
					_, err := w.Service.VerifyEmail(ctx, warranty.Principal{}, warranty.VerifyEmail{Code: verification})
					return err
				},
				"a transfer": func(i int) error {
					_, err := w.Service.AcceptTransfer(ctx, others[i%2].Principal, warranty.AcceptTransfer{Code: offer.Code})
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
	})
}

// TestNothingIsWrittenAfterRevocation: once a revocation is acknowledged, no
// write of the token commits any more, also none that was under way.
func TestNothingIsWrittenAfterRevocation(t *testing.T) {
	const rounds, writers = 15, 4
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		for range rounds {
			_, id := w.token(owner.User, warranty.AllScopes, time.Hour, false)
			p := owner.Principal
			p.Credential, p.CredentialID = warranty.ByToken, id
			written := make(chan struct{}, 1000)
			var all sync.WaitGroup
			for range writers {
				all.Go(func() {
					for {
						_, err := w.Service.CreateWarranty(ctx, p, warranty.CreateWarranty{ProductName: "Pan", StartDate: date("2024-01-01"), EndDate: date("2025-01-01")})
						if err != nil {
							if codeOf(err) != warranty.TokenRevoked {
								t.Error(err)
							}
							return
						}
						written <- struct{}{}
					}
				})
			}
			for range writers {
				<-written
			}
			if _, err := w.Service.RevokeToken(ctx, owner.Principal, warranty.RevokeToken{ID: id}); err != nil {
				t.Error(err)
			}
			acknowledged := w.number(`SELECT count(*) FROM warranties`)
			all.Wait()
			if n := w.number(`SELECT count(*) FROM warranties`) - acknowledged; n > 0 {
				t.Errorf("%d records were written after the revocation was acknowledged", n)
			}
		}
	})
}

// TestNothingDriftsUnderConcurrency has everybody do everything at once on a few
// records, and then looks at who sees what.
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
			codes := []string{w.code(people[2].User, store.ForVerification), w.code(people[3].User, store.ForVerification)}
			var claims sync.Map
			var offers sync.Map
			together(actors, func(int) {
				for range steps {
					p, r := people[rand.IntN(len(people))], records[rand.IntN(len(records))]
					var err error
					switch rand.IntN(9) {
					case 0, 1:
						text := fmt.Sprint(rand.IntN(5))
						_, err = w.Service.UpdateWarranty(ctx, p.Principal, warranty.UpdateWarranty{ID: r.ID, Category: &text})
					case 2:
						status := warranty.Status(1 + rand.IntN(2))
						_, err = w.Service.UpdateWarranty(ctx, p.Principal, warranty.UpdateWarranty{ID: r.ID, Status: &status})
					case 3:
						var c warranty.Claim
						c, err = w.Service.FileClaim(ctx, p.Principal, warranty.FileClaim{WarrantyID: r.ID, Type: warranty.Repair, Description: "It broke.", IncidentDate: date("2024-05-17")})
						if err == nil {
							claims.Store(c.ID, true)
						}
					case 4:
						claims.Range(func(id, _ any) bool {
							_, err = w.Service.MoveClaim(ctx, p.Principal, warranty.MoveClaim{ID: id.(warranty.ID), Status: warranty.UnderReview})
							return rand.IntN(2) == 0
						})
					case 5:
						_, err = w.upload(p, r.ID, "receipt.txt")
					case 6:
						var offer warranty.TransferOffer
						if offer, err = w.Service.OfferTransfer(ctx, p.Principal, warranty.OfferTransfer{ID: r.ID, Email: "x@people.example"}); err == nil {
							offers.Store(offer.Code, true)
						}
					case 7:
						offers.Range(func(code, _ any) bool {
							_, err = w.Service.AcceptTransfer(ctx, p.Principal, warranty.AcceptTransfer{Code: code.(string)})
							return rand.IntN(2) == 0
						})
					case 8:
						if rand.IntN(4) == 0 {
							_, err = w.Service.DeleteWarranty(ctx, p.Principal, warranty.DeleteWarranty{ID: r.ID})
						} else {
							_, err = w.Service.VerifyEmail(ctx, warranty.Principal{}, warranty.VerifyEmail{Code: codes[rand.IntN(2)]})
						}
					}
					switch codeOf(err) {
					case "", warranty.NotFound, warranty.RoleNotAllowed, warranty.InvalidTransition, warranty.ValidationFailed:
					default:
						t.Errorf("somebody heard: %v", err)
					}
				}
			})
			for _, code := range codes { // whoever was not verified in the turmoil is now
				_, _ = w.Service.VerifyEmail(ctx, warranty.Principal{}, warranty.VerifyEmail{Code: code})
			}
		}
		checkAccess(t, w)
	})
}
