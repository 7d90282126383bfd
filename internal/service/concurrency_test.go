package service_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestNoUpdateIsLost lets many writers change one record. Each reads it, appends its
// mark and writes it back with If-Match, until it succeeds.
func TestNoUpdateIsLost(t *testing.T) {
	const writers, times = 16, 5
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		key := w.Person("Olga").Session
		record := w.Warranty(key, fields{"supplier": "-", "category": "-"})
		path := "/api/v1/warranties/" + record.ID
		var conflicts atomic.Int64
		try := func(i int, r request) answer {
			a, err := worlds[i%len(worlds)].Try(r)
			if err != nil {
				t.Error(err)
			}
			return a
		}
		together(writers, func(i int) {
			for done := 0; done < times && !t.Failed(); {
				read := try(i, made("GET", path, key, nil))
				var seen struct{ Data servertest.Record }
				if err := json.Unmarshal([]byte(read.Body), &seen); err != nil || read.Status != 200 {
					t.Errorf("a read returned %s", read.Body)
					return
				}
				a := try(i, made("PUT", path, key, fields{"supplier": *seen.Data.Supplier + string(rune('a'+i))}, "If-Match", read.Header.Get("ETag")))
				switch a.Status {
				case 200:
					done++
				case 412:
					conflicts.Add(1)
				default:
					t.Errorf("an update returned %s", a.Body)
				}
			}
		})
		final := w.Get(path, key)
		var got servertest.Record
		final.Into(t, &got)
		equal(t, "the version", final.Header.Get("ETag"), fmt.Sprintf(`"%d"`, writers*times+1))
		for i := range writers {
			equal(t, fmt.Sprintf("the marks of writer %d", i), strings.Count(*got.Supplier, string(rune('a'+i))), times)
		}
		equal(t, "the length", len(*got.Supplier), 1+writers*times)
		if conflicts.Load() == 0 {
			t.Error("no two writers conflicted, so nothing was tested")
		}

		// Without If-Match each field keeps the last value of its own writer.
		together(writers, func(i int) {
			for n := range times {
				field := []string{"product_name", "supplier", "category"}[i%3]
				if a := try(i, made("PUT", path, key, fields{field: fmt.Sprintf("%d of %d", n, i)})); a.Status != 200 {
					t.Errorf("an update returned %s", a.Body)
				}
			}
		})
		final = w.Get(path, key)
		final.Into(t, &got)
		equal(t, "the version", final.Header.Get("ETag"), fmt.Sprintf(`"%d"`, 2*writers*times+1))
		for _, value := range []string{got.ProductName, *got.Supplier, *got.Category} {
			if !strings.HasPrefix(value, fmt.Sprintf("%d of", times-1)) {
				t.Errorf("a field is %q, which is not the last value of any writer", value)
			}
		}
		equal(t, "the lists agree", ids(t, w.Get("/api/v1/warranties?category="+strings.ReplaceAll(*got.Category, " ", "%20"), key)), []string{record.ID})
	}, busy)
}

// TestCancelledStaysCancelled cancels as the owner while the seller voids and reinstates.
func TestCancelledStaysCancelled(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		owner, seller := w.Verified("Olga"), w.Verified("Sami")
		key, _ := w.Token(owner)
		sellerKey, _ := w.Token(seller)
		cancelled, raced := 0, 0
		for range 60 {
			record := w.Warranty(key, fields{"seller_email": seller.Email})
			w.Confirm(seller, record.ID)
			path := "/api/v1/warranties/" + record.ID
			type move struct {
				secret string
				to     string
			}
			moves := []move{{key, "cancelled"}, {sellerKey, "void"}, {sellerKey, "active"}, {key, "void"}, {key, "active"}, {key, "cancelled"}}
			outcomes := make([]answer, len(moves))
			together(len(moves), func(i int) {
				a, err := worlds[i%len(worlds)].Try(made("PUT", path, moves[i].secret, fields{"status": moves[i].to}))
				if err != nil {
					t.Error(err)
				}
				outcomes[i] = a
			})
			isCancelled := false
			for i, a := range outcomes {
				if a.Status != 200 && a.Code() != string(warranty.InvalidTransition) {
					t.Errorf("%s returned %d %s", moves[i].to, a.Status, a.Body)
				}
				isCancelled = isCancelled || moves[i].to == "cancelled" && a.Status == 200
				if a.Status == 409 {
					raced++
				}
			}
			var now servertest.Record
			w.Must(200, made("GET", path, key, nil)).Into(t, &now)
			if isCancelled {
				cancelled++
				equal(t, "a cancelled record", now.Status, "cancelled")
			}
			equal(t, "access rows with another status", w.Count(`SELECT count(*) FROM access a JOIN warranties w ON w.id = a.item_id WHERE a.status <> w.standing`), 0)
		}
		if cancelled < 5 || raced < 5 {
			t.Errorf("only %d of 60 were cancelled and %d changes refused, so little was tested", cancelled, raced)
		}
	}, busy)
}

// TestDeleteOnce deletes one record many times concurrently.
func TestDeleteOnce(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		key, _ := w.Token(w.Person("Olga"))
		for range 5 {
			path := "/api/v1/warranties/" + w.Warranty(key, nil).ID
			outcomes, _ := servertest.Flood(t, worlds, 12, func(i int) request {
				if i%4 == 3 {
					return made("PUT", path, key, fields{"category": fmt.Sprint(i)})
				}
				return made("DELETE", path, key, nil)
			})
			equal(t, "deletions that succeed", outcomes["204"], 1)
			equal(t, "all outcomes", outcomes["204"]+outcomes["200"]+outcomes["404 not_found"], 12)
		}
	}, busy)
}

// TestRecordsWaitHoweverTheyMeet verifies an address while records with it as the
// seller are created: every record must wait for the seller.
func TestRecordsWaitHoweverTheyMeet(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		key, _ := w.Token(w.Person("Olga"))
		for round := range 4 {
			seller := w.Person(fmt.Sprintf("Sami%d", round))
			code := w.MailedCode(seller.Email)
			var mu sync.Mutex
			want := 0
			together(9, func(i int) {
				r := made("POST", "/api/v1/warranties", key, fields{"product_name": "x", "start_date": "2026-01-01", "end_date": "2026-01-01", "seller_email": seller.Email})
				if i == 4 {
					r = made("POST", "/api/auth/verify-email", seller.Session, fields{"code": code})
				}
				a, err := worlds[i%len(worlds)].Try(r)
				if err != nil || a.Status >= 300 {
					t.Errorf("got %d %s %v", a.Status, a.Body, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if a.Status == 201 {
					want++
				}
			})
			var waiting []warranty.Confirmation
			w.Must(200, made("GET", "/api/v1/confirmations", seller.Session, nil)).Into(t, &waiting)
			equal(t, "the records that wait for the seller", len(waiting), want)
		}
	}, busy)
}
