package service_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// sees reports whether a user can read the record and finds it in their list.
func (w *world) sees(p person, id warranty.ID) (reads, lists bool) {
	w.T.Helper()
	_, err := w.Service.GetWarranty(ctx, p.Principal, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}})
	if err != nil && codeOf(err) != warranty.NotFound {
		w.T.Error(err)
	}
	page, listing := w.Service.ListWarranties(ctx, p.Principal,
		warranty.ListWarranties{Paging: warranty.Paging{Limit: 100}})
	if listing != nil {
		w.T.Error(listing)
	}
	for _, r := range page.Data {
		lists = lists || r.ID == id
	}
	return err == nil, lists
}

// TestASellerSeesNothingBeforeVerification: an address proves nothing until it is
// verified; then all records that name it are visible, with everything that belongs to
// them.
func TestASellerSeesNothingBeforeVerification(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller, other := w.person("Olga", true), w.person("Sami", false), w.person("Other", true)
		var records []warranty.Warranty
		for range 5 {
			records = append(records, w.record(owner, seller.User.Email))
		}
		unrelated, deleted := w.record(owner, other.User.Email), w.record(owner, seller.User.Email)
		claim, document := w.claim(owner, records[0].ID), w.document(owner, records[0].ID)
		_, err := w.Service.DeleteWarranty(ctx, owner.Principal, warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: deleted.ID}})
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, want bool) {
			t.Helper()
			for _, r := range records {
				if reads, lists := w.sees(seller, r.ID); reads != want || lists != want {
					t.Errorf("%s: the seller reads %v, lists %v, want %v", when, reads, lists, want)
				}
			}
			for _, r := range []warranty.Warranty{unrelated, deleted} {
				if reads, lists := w.sees(seller, r.ID); reads || lists {
					t.Errorf("%s: the seller reads %v, lists %v what is not theirs", when, reads, lists)
				}
			}
			for what, path := range map[string]string{
				"the claim":    "/api/v1/claims/" + claim.ID.String(),
				"the document": "/api/v1/documents/" + document.ID.String(),
				"the file":     "/api/documents/" + document.ID.String() + "/file",
				"the history":  "/api/warranties/" + records[0].ID.String() + "/history",
			} {
				status := w.Do(request{Method: "GET", Path: path, Secret: seller.session}).Status
				if (status == 200) != want || status != 200 && status != 404 {
					t.Errorf("%s: %s is answered with %d", when, what, status)
				}
			}
		}
		check("before verification", false)
		w.Must(200, request{
			Method: "POST",
			Path:   "/api/auth/verify-email",
			Secret: seller.session,
			Body:   fields{"code": w.code(seller.User, store.ForVerification)},
		})
		check("after verification", true)
		records = append(records, w.record(owner, strings.ToUpper(seller.User.Email))) // and later records
		check("later", true)
		checkAccess(t, w)
	}, busy)
}

// TestCreateTellsNothingOfTheSeller: the response is the same whether the address is
// verified, unverified or unknown.
func TestCreateTellsNothingOfTheSeller(t *testing.T) {
	ofOneRecord := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|WR(-[0-9A-Z]{4}){4}|\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		answers := map[string]string{}
		for who, address := range map[string]string{
			"verified":     w.person("Vera", true).User.Email,
			"not verified": w.person("Nora", false).User.Email,
			"unknown":      "nobody@people.example",
		} {
			for _, key := range []string{"", fmt.Sprintf("key %s", address)} { // and the replay
				header := map[string]string{}
				if key != "" {
					header["Idempotency-Key"] = key
				}
				for n := range 2 {
					a := w.Must(201, request{
						Method: "POST",
						Path:   "/api/v1/warranties",
						Secret: owner.session,
						Header: header,
						Body: fields{
							"product_name": "Pan",
							"start_date":   "2024-01-01",
							"end_date":     "2025-01-01",
							"seller_email": address,
						},
					})
					text := strings.ReplaceAll(bare(t, a), address, "THE-ADDRESS")
					text = regexp.MustCompile(`Content-Length: .*`).ReplaceAllString(
						ofOneRecord.ReplaceAllString(text, "X"), "")
					name := fmt.Sprintf("with key %v, time %d", key != "", n)
					if answers[name] == "" {
						answers[name] = text
					}
					if answers[name] != text {
						t.Errorf("the answer tells that the address is %s:\n%s\nand not\n%s", who, text, answers[name])
					}
				}
			}
		}
	}, busy)
}

// TestCreateAndVerifyAtOnce: in either order, the seller sees the record in the end.
func TestCreateAndVerifyAtOnce(t *testing.T) {
	const rounds, creates = 30, 4
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		for round := range rounds {
			seller := w.person("Sami", false)
			code := w.code(seller.User, store.ForVerification)
			made := make([]warranty.ID, creates)
			together(creates+1, func(i int) {
				var err error
				if i == creates {
					_, err = w.Service.VerifyEmail(ctx, seller.Principal, warranty.VerifyEmail{Code: code})
				} else {
					var r warranty.Warranty
					r, err = w.Service.CreateWarranty(ctx, owner.Principal, warranty.CreateWarranty{
						ProductName: "Pan",
						StartDate:   date("2024-01-01"),
						EndDate:     date("2025-01-01"),
						SellerEmail: seller.User.Email,
					})
					made[i] = r.ID
				}
				if err != nil {
					t.Error(err)
				}
			})
			for _, id := range made {
				if reads, lists := w.sees(seller, id); !reads || !lists {
					t.Errorf("round %d: the seller reads %v, lists %v", round, reads, lists)
				}
			}
		}
		checkAccess(t, w)
	}, busy)
}

// TestCreateAndAddUserAtOnce is the same for an account that the operator adds, which
// is verified from the start: before that there is no row to lock.
func TestCreateAndAddUserAtOnce(t *testing.T) {
	const rounds, creators = 5, 4
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		for round := range rounds {
			address := fmt.Sprintf("added%d@people.example", round)
			var added atomic.Bool
			together(creators+1, func(i int) {
				if i == creators {
					if _, err := w.Service.AddUser(ctx,
						warranty.Register{Name: "Added", Email: address, Password: "a password for this one"}); err != nil {
						t.Error(err)
					}
					added.Store(true)
					return
				}
				for !added.Load() {
					if _, err := w.Service.CreateWarranty(ctx, owner.Principal, warranty.CreateWarranty{
						ProductName: "Pan",
						StartDate:   date("2024-01-01"),
						EndDate:     date("2025-01-01"),
						SellerEmail: address,
					}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		checkAccess(t, w)
	}, busy)
}

// TestCreateAndResetAtOnce creates records that name an address while it moves to a new
// account (B1): in either order, the new account sees them in the end.
func TestCreateAndResetAtOnce(t *testing.T) {
	const rounds, creates = 20, 4
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		for range rounds {
			squatter := w.person("Sami", false)
			code := w.code(squatter.User, store.ForReset)
			made := make([]warranty.ID, creates)
			together(creates+1, func(i int) {
				var err error
				if i == creates {
					_, err = w.Service.ResetPassword(ctx, warranty.Principal{},
						warranty.ResetPassword{Code: code, Password: "another long password"})
				} else {
					var r warranty.Warranty
					r, err = w.Service.CreateWarranty(ctx, owner.Principal, warranty.CreateWarranty{
						ProductName: "Pan",
						StartDate:   date("2024-01-01"),
						EndDate:     date("2025-01-01"),
						SellerEmail: squatter.User.Email,
					})
					made[i] = r.ID
				}
				if err != nil {
					t.Error(err)
				}
			})
			account, err := w.Store.AccountByEmail(ctx, squatter.User.Email)
			if err != nil || account.ID == squatter.User.ID || !account.EmailVerified {
				t.Fatalf("the address has the account %+v, %v", account.User, err)
			}
			seller := w.session(account.User, time.Hour)
			for _, id := range made {
				if reads, lists := w.sees(seller, id); !reads || !lists {
					t.Errorf("the seller reads %v, lists %v a record that names them", reads, lists)
				}
			}
		}
		checkAccess(t, w)
	}, busy)
}

// TestManyRecordsAreLinkedInSteps verifies the address of a seller whom more records name than one
// transaction links. Each is linked once, also if several replicas continue at the same time.
func TestManyRecordsAreLinkedInSteps(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller := w.person("Olga", true), w.person("Sami", false)
		const records = 250
		for range records {
			w.record(owner, seller.User.Email)
		}
		linked := func() (access, events int) {
			access = w.Count(`SELECT count(*) FROM access WHERE kind = 1 AND user_id = ` + w.IDLiteral(seller.User.ID.String()))
			return access, w.Count(`SELECT count(*) FROM history WHERE actor_id = ` + w.IDLiteral(seller.User.ID.String()))
		}
		verify := func() {
			w.Must(200, request{
				Method: "POST",
				Path:   "/api/auth/verify-email",
				Secret: seller.session,
				Body:   fields{"code": w.code(seller.User, store.ForVerification)},
			})
		}
		verify()
		if access, events := linked(); access != records || events != records {
			t.Fatalf("%d records and %d events, want %d", access, events, records)
		}
		// As if the process had ended after the first transaction.
		w.Exec(`DELETE FROM access WHERE roles = 2 AND user_id = ` + w.IDLiteral(seller.User.ID.String()))
		w.Exec(`DELETE FROM history WHERE actor_id = ` + w.IDLiteral(seller.User.ID.String()))
		w.record(owner, seller.User.Email) // linked when it is created
		w.Exec(`INSERT INTO seller_links (user_id, after_id, door) VALUES (` + w.IDLiteral(seller.User.ID.String()) + `, ` +
			w.IDLiteral("00000000-0000-0000-0000-000000000000") + `, 1)`)
		testenv.Together(3, func(int) {
			if err := w.Service.LinkSellers(ctx); err != nil {
				t.Error(err)
			}
		})
		if access, events := linked(); access != records+1 || events != records {
			t.Errorf("%d records and %d events after continuing, want %d and %d", access, events, records+1, records)
		}
		if n := w.Count(`SELECT count(*) FROM seller_links`); n != 0 {
			t.Errorf("%d users are still being linked", n)
		}
		checkAccess(t, w)
	}, busy)
}
