package rest_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestRecordsLiveAndDie creates, reads, updates and deletes a record.
func TestRecordsLiveAndDie(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller := w.Verified("Olga"), w.Person("Sami")
		key, _ := w.Token(owner)
		record := w.Warranty(key, fields{"seller_email": seller.Email, "category": "Kitchen"})
		path := "/api/v1/warranties/" + record.ID
		w.Must(200, made("GET", path, key, nil))
		w.Must(404, made("GET", path, seller.Session, nil))
		w.Must(200, made("POST", "/api/auth/verify-email", seller.Session, fields{"code": w.MailedCode(seller.Email)}))
		w.Must(404, made("GET", path, seller.Session, nil))
		w.Confirm(seller, record.ID)
		var seen servertest.Record
		w.Must(200, made("GET", path, seller.Session, nil)).Into(t, &seen)
		equal(t, "the seller's roles", seen.Roles, []string{"seller"})
		w.Must(403, made("PUT", path, seller.Session, fields{"product_name": "x"}))
		w.Must(200, made("PUT", path, seller.Session, fields{"status": "void"}))
		w.Must(200, made("GET", "/verify/"+record.ReferenceNumber, "", nil))
		w.Must(204, made("DELETE", path, key, nil))
		for _, secret := range []string{key, owner.Session, seller.Session} {
			refused(t, "a deleted record", w.Get(path, secret), warranty.NotFound)
			equal(t, "a list without it", ids(t, w.Get("/api/v1/warranties", secret)), []string{})
			refused(t, "deleted twice", w.Send("DELETE", path, secret, nil), warranty.NotFound)
			refused(t, "updated when deleted", w.Send("PUT", path, secret, fields{"status": "active"}), warranty.NotFound)
		}
		refused(t, "verified when deleted", w.Get("/verify/"+record.ReferenceNumber, ""), warranty.NotFound)
	})
}

// TestUpdateChangesWhatIsGiven updates each field separately.
func TestUpdateChangesWhatIsGiven(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key, _ := w.Token(w.Person("Olga"))
		created := w.Must(201, made("POST", "/api/v1/warranties", key,
			fields{"product_name": "Drill", "start_date": "2026-01-01", "end_date": "2027-01-01",
				"description": "d", "serial_number": "s", "category": "c", "supplier": "u", "seller_name": "n",
				"seller_email": "e@e.example"}))
		var record map[string]any
		created.Into(t, &record)
		path := "/api/v1/warranties/" + record["id"].(string)
		version := 1
		for _, c := range []struct {
			change  fields
			becomes any
		}{
			{fields{"product_name": " Saw "}, "Saw"},
			{fields{"start_date": "2025-12-31"}, "2025-12-31"},
			{fields{"end_date": "9999-12-31"}, "9999-12-31"},
			{fields{"category": "Tools"}, "Tools"},
			{fields{"category": ""}, nil},
			{fields{"supplier": "ACME"}, "ACME"},
			{fields{"supplier": nil}, nil},
			{fields{"status": "void"}, "void"},
		} {
			w.Clock.Advance(time.Second)
			a := w.Must(200, made("PUT", path, key, c.change))
			for name := range c.change {
				record[name] = c.becomes
			}
			if record["status"] == "void" { // nobody can file a claim
				delete(record, "claim_url")
			}
			version++
			equal(t, fmt.Sprint(c.change, ": ETag"), a.Header.Get("ETag"), fmt.Sprintf(`"%d"`, version))
			var got map[string]any
			a.Into(t, &got)
			if got["updated_at"].(string) <= record["updated_at"].(string) {
				t.Errorf("%v: updated_at is still %v", c.change, got["updated_at"])
			}
			record["updated_at"], record["days_remaining"] = got["updated_at"], got["days_remaining"]
			equal(t, fmt.Sprint(c.change), got, record)
			equal(t, fmt.Sprint(c.change, ": read afterwards"), w.Get(path, key).Body, a.Body)

			w.Unchanged(t, "the same again", func() {
				again := w.Must(200, made("PUT", path, key, c.change))
				equal(t, "the same again", again.Body, a.Body)
				equal(t, "the same again: ETag", again.Header.Get("ETag"), a.Header.Get("ETag"))
			})
		}
		for _, c := range []struct {
			change fields
			wrong  string
		}{
			{fields{"end_date": "2025-12-30"}, "end_date before_start"},
			{fields{"start_date": "2027-01-01", "end_date": "2026-01-01"}, "end_date before_start"},
			{fields{"product_name": "  "}, "product_name required"},
			{fields{"product_name": nil}, "product_name required"},
			{fields{"start_date": nil}, "start_date required"},
			{fields{"status": nil}, "status required"},
			{fields{"status": ""}, "status required"},
			{fields{"status": "Active"}, "status invalid"},
			{fields{"category": strings.Repeat("x", 81)}, "category too_long"},
		} {
			w.Unchanged(t, fmt.Sprint(c.change), func() {
				a := w.Send("PUT", path, key, c.change)
				refused(t, fmt.Sprint(c.change), a, warranty.ValidationFailed)
				equal(t, fmt.Sprint(c.change), wrongFields(t, a), []string{c.wrong})
			})
		}
	})
}

// TestIfMatch sends every form of the header with PUT and DELETE.
func TestIfMatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key, _ := w.Token(w.Person("Olga"))
		for _, c := range []struct {
			value   string
			refused warranty.Code
		}{
			{`"2"`, ""}, {`*`, ""}, {`"1", "2"`, ""}, {`"x","2" , "y"`, ""}, {`,"2",`, ""}, {`"a,b","2"`, ""},
			{`"1"`, warranty.PreconditionFailed}, {`"3"`, warranty.PreconditionFailed}, {`W/"2"`, warranty.PreconditionFailed},
			{`"1", W/"2"`, warranty.PreconditionFailed}, {`"*"`, warranty.PreconditionFailed},
			{`"1,2"`, warranty.PreconditionFailed},
			{`"` + strings.Repeat("x", 998) + `"`, warranty.PreconditionFailed},
			// B11: a malformed condition is not ignored.
			{``, warranty.MalformedRequest}, {` `, warranty.MalformedRequest}, {`,`, warranty.MalformedRequest},
			{`2`, warranty.MalformedRequest},
			{`"2`, warranty.MalformedRequest}, {`nonsense`, warranty.MalformedRequest}, {`*, "2"`, warranty.MalformedRequest},
			{`"2" "3"`, warranty.MalformedRequest}, {`w/"2"`, warranty.MalformedRequest}, {`'2'`, warranty.MalformedRequest},
		} {
			record := w.Warranty(key, nil)
			path := "/api/v1/warranties/" + record.ID
			w.Must(200, made("PUT", path, key, fields{"category": "a"}))
			for _, r := range []request{made("PUT", path, key, fields{"category": "b"}, "If-Match", c.value),
				made("DELETE", path, key, nil, "If-Match", c.value)} {
				if c.refused != "" {
					w.Unchanged(t, r.Method, func() { refused(t, r.Method+" If-Match: "+c.value, w.Do(r), c.refused) })
					continue
				}
				if a := w.Do(r); a.Status >= 300 {
					t.Errorf("%s If-Match: %s: got %d %s", r.Method, c.value, a.Status, a.Body)
				}
				if r.Method == "PUT" { // restore the version that the header names
					w.Exec(`UPDATE warranties SET version = 2 WHERE product_name = 'Kettle'`)
				}
			}
			missing := warranty.NotFound
			if c.refused == warranty.MalformedRequest {
				missing = c.refused
			}
			refused(t, "If-Match on an unknown record", w.Send("PUT", "/api/v1/warranties/"+unknownID, key,
				fields{"category": "b"}, "If-Match", c.value), missing)
		}
		record := w.Warranty(key, nil)
		for _, method := range []string{"PUT", "DELETE"} {
			a := w.Send(method, "/api/v1/warranties/"+record.ID, key, fields{"category": "b"}, "If-Match",
				`"`+strings.Repeat("x", 999)+`"`)
			refused(t, method+" with an If-Match that is too long", a, warranty.ValidationFailed)
		}
	})
}

// TestStatusMoves tries every status change.
func TestStatusMoves(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key, _ := w.Token(w.Person("Olga"))
		allowed := map[string][]string{"active": {"active", "void", "cancelled"}, "void": {"void", "active"},
			"cancelled": {"cancelled"}}
		for from, moves := range allowed {
			for _, to := range []string{"active", "void", "cancelled", "upcoming", "expired"} {
				record := w.Warranty(key, nil)
				path := "/api/v1/warranties/" + record.ID
				w.Must(200, made("PUT", path, key, fields{"status": from}))
				what := from + " to " + to
				if slices.Contains(moves, to) {
					var got servertest.Record
					w.Must(200, made("PUT", path, key, fields{"status": to})).Into(t, &got)
					equal(t, what, got.Status, to)
					continue
				}
				w.Unchanged(t, what, func() {
					a := w.Send("PUT", path, key, fields{"status": to})
					if to == "upcoming" || to == "expired" {
						refused(t, what, a, warranty.ValidationFailed)
						equal(t, what, wrongFields(t, a), []string{"status not_settable"})
						if message := problemOf(t, a).Errors[0].Message; !strings.Contains(message, "start_date or end_date") ||
							!strings.Contains(message, "active, void or cancelled") {
							t.Errorf("%s: no hint in %q", what, message)
						}
						return
					}
					refused(t, what, a, warranty.InvalidTransition)
					for _, move := range moves[1:] {
						if !strings.Contains(problemOf(t, a).Detail, move) {
							t.Errorf("%s: %q does not say that %s is allowed", what, problemOf(t, a).Detail, move)
						}
					}
				})
			}
		}
	})
}

// TestStatusFollowsTheClock moves the clock past a warranty's dates.
func TestStatusFollowsTheClock(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		clock.SetTo(t, "2030-06-01T12:00:00Z")
		owner := w.Person("Olga")
		record := w.Warranty(owner.Session, fields{"start_date": "2030-06-10", "end_date": "2030-06-12"})
		forLife := w.Warranty(owner.Session, fields{"start_date": "2030-06-10", "end_date": "9999-12-31"})
		void := w.Warranty(owner.Session, fields{"start_date": "2030-06-10", "end_date": "2030-06-12"})
		w.Must(200, made("PUT", "/api/v1/warranties/"+void.ID, owner.Session, fields{"status": "void"}))
		days := func(n int) *int { return &n }
		for _, c := range []struct {
			now, status   string
			days          *int
			lifetimeShown string
		}{
			{"2030-06-09T23:59:59.999999Z", "upcoming", nil, "upcoming"},
			{"2030-06-10T00:00:00Z", "active", days(2), "active"},
			{"2030-06-10T23:59:59.999999Z", "active", days(2), "active"},
			{"2030-06-11T00:00:00Z", "active", days(1), "active"},
			{"2030-06-12T00:00:00Z", "active", days(0), "active"},
			{"2030-06-12T23:59:59.999999Z", "active", days(0), "active"},
			{"2030-06-13T00:00:00Z", "expired", nil, "active"},
			{"2099-01-01T00:00:00Z", "expired", nil, "active"},
		} {
			clock.SetTo(t, c.now)
			w.Exec(`UPDATE sessions SET expires_at = 9000000000000000, seen_at = 9000000000000000`)
			var got servertest.Record
			w.Must(200, made("GET", "/api/v1/warranties/"+record.ID, owner.Session, nil)).Into(t, &got)
			equal(t, c.now+": status", got.Status, c.status)
			equal(t, c.now+": days_remaining", got.DaysRemaining, c.days)
			var life servertest.Record
			w.Must(200, made("GET", "/api/v1/warranties/"+forLife.ID, owner.Session, nil)).Into(t, &life)
			equal(t, c.now+": for life", life.Status, c.lifetimeShown)
			equal(t, c.now+": days for life", life.DaysRemaining, (*int)(nil))

			shown := map[string][]string{"void": {void.ID}}
			shown[c.status] = append(shown[c.status], record.ID)
			shown[c.lifetimeShown] = append(shown[c.lifetimeShown], forLife.ID)
			for _, status := range []string{"active", "upcoming", "expired", "void", "cancelled"} {
				equal(t, c.now+": the list of "+status, ids(t, w.Get("/api/v1/warranties?status="+status, owner.Session)),
					newest(shown[status]...))
			}
			var public struct{ Status string }
			w.Must(200, made("GET", "/verify/"+record.ReferenceNumber, "", nil)).Into(t, &public)
			equal(t, c.now+": verified", public.Status, c.status)
		}
	})
}

// TestFilters checks what each filter must and must not find.
func TestFilters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller := w.Verified("Olga"), w.Verified("Sami")
		key, _ := w.Token(owner)
		today := func(days int) string { return w.Clock.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
		records := map[string]servertest.Record{}
		add := func(name string, f fields) { records[name] = w.Warranty(key, f) }
		add("percent", fields{"product_name": "50% off", "category": "Küche", "end_date": today(0)})
		add("plain", fields{"product_name": "50 off", "category": "KÜCHE", "end_date": today(30)})
		add("underscore", fields{"product_name": "a_b", "serial_number": "SN-0001", "category": "küche ",
			"end_date": today(31)})
		add("letter", fields{"product_name": "aXb", "serial_number": "sn-0002", "category": "Küche & Bad",
			"end_date": "9999-12-31"})
		add("backslash", fields{"product_name": `C:\drive`, "category": "100%", "end_date": today(-1)})
		add("quote", fields{"product_name": `O'Brien's "kettle"; DROP TABLE users; --`, "start_date": today(1),
			"end_date": today(2)})
		add("sold", fields{"product_name": "sold by a seller", "seller_email": seller.Email})
		w.Confirm(seller, records["sold"].ID)
		add("void", fields{"product_name": "void one", "end_date": today(1), "supplier": "Foto Berg",
			"seller_name": "Radio Halden", "description": "The drum leaks.", "external_id": "order-17"})
		w.Claim(owner.Session, records["plain"].ID)
		w.Must(200, made("PUT", "/api/v1/warranties/"+records["void"].ID, key, fields{"status": "void"}))
		names := func(list []string) []string {
			out := []string{}
			for _, id := range list {
				for name, r := range records {
					if r.ID == id {
						out = append(out, name)
					}
				}
			}
			slices.Sort(out)
			return out
		}
		reference := records["plain"].ReferenceNumber
		// References are random. They never contain the letters i, l, o and u, so that words with one of
		// these are not found in them by accident.
		for _, c := range []struct{ filter, value, found string }{
			{"q", "50% off", "percent plain"}, {"q", "%", ""}, {"q", "_", ""},
			{"q", `\`, ""}, {"q", `C:\DRIV`, "backslash"}, {"q", "drive c", "backslash"}, {"q", "rive", ""},
			{"q", "O'BRIEN", "quote"}, {"q", `";`, ""}, {"q", "SN-000", "letter underscore"}, {"q", "sn-0002", "letter"}, {"q", " off ", "percent plain"},
			{"q", "N0002", "letter"}, {"q", "off 50", "percent plain"},
			{"q", reference, "plain"}, {"q", strings.ToLower(reference), "plain"}, {"q", strings.ReplaceAll(reference, "-", ""), "plain"}, {"q", reference[3:12], "plain"},
			{"q", "nothing has this", ""}, {"q", seller.Email, ""}, {"q", "kuche", "letter percent plain underscore"},
			{"supplier", "foto berg", "void"}, {"supplier", "foto", ""}, {"seller", "RADIO HALDEN", "void"}, {"seller", "foto berg", "void"}, {"seller", seller.Email, "sold"},
			{"q", "radio berg", "void"}, {"q", "drum leak", "void"}, {"external_id", "order-17", "void"}, {"q", "ORDER17", "void"},
			{"ends_from", today(31), "letter sold underscore"}, {"ends_to", today(1), "backslash percent void"},
			{"covered_on", today(0), "letter percent plain sold underscore"}, {"covered_on", today(-1), "backslash letter percent plain sold underscore"},
			{"has_open_claim", "true", "plain"}, {"has_open_claim", "false", "backslash letter percent quote sold underscore void"},
			{"category", "küche", "percent plain underscore"}, {"category", "KüCHE", "percent plain underscore"}, {"category", " Küche ", "percent plain underscore"},
			{"category", "Küche & Bad", "letter"}, {"category", "100%", "backslash"}, {"category", "%", ""}, {"category", "k_che", ""},
			{"role", "owner", "backslash letter percent plain quote sold underscore void"}, {"role", "issuer", "backslash letter percent plain quote sold underscore void"}, {"role", "seller", ""},
			{"expiring_within_days", "0", "percent"}, {"expiring_within_days", "29", "percent"}, {"expiring_within_days", "30", "percent plain"},
			{"expiring_within_days", "31", "percent plain underscore"}, {"expiring_within_days", "3650", "percent plain underscore"},
			{"status", "expired", "backslash"}, {"status", "upcoming", "quote"}, {"status", "void", "void"}, {"status", "cancelled", ""},
			{"status", "active", "letter percent plain sold underscore"},
		} {
			a := w.Must(200, made("GET", "/api/v1/warranties?"+url.Values{c.filter: {c.value}}.Encode(), key, nil))
			equal(t, c.filter+"="+c.value, names(ids(t, a)), strings.Fields(c.found))
			equal(t, c.filter+"="+c.value+": total", a.Header.Get("X-Total-Count"), fmt.Sprint(len(strings.Fields(c.found))))
		}
		for query, found := range map[string]string{
			"role=seller": "sold", "role=owner": "", "q=sold": "sold", "": "sold", "role=seller&q=sold&status=active": "sold", "role=seller&status=void": "",
		} {
			a := w.Must(200, made("GET", "/api/v1/warranties?"+query, seller.Session, nil))
			equal(t, "the seller's "+query, names(ids(t, a)), strings.Fields(found))
		}
		both := "/api/v1/warranties?" + url.Values{"category": {"küche"}, "expiring_within_days": {"30"}, "q": {"off"}, "role": {"issuer"}, "status": {"active"}}.Encode()
		equal(t, "all filters at once", names(ids(t, w.Get(both, key))), []string{"percent", "plain"})
	})
}

// TestSorts lists records in every order. Equal ones are newest first.
func TestSorts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key, _ := w.Token(w.Person("Olga"))
		names := map[string]string{}
		for _, r := range []struct{ name, product, end string }{
			{"a", "Zebra lamp", "2030-01-02"},
			{"b", "apple press", "2031-01-02"},
			{"c", "Äpfel", "2029-01-02"},
			{"d", "Mixer", "2030-01-02"},
			{"e", "mixer", "2028-01-02"},
		} {
			names[w.Warranty(key, fields{"product_name": r.product, "end_date": r.end}).ID] = r.name
			w.Clock.Advance(time.Minute)
		}
		for id, name := range names {
			if name == "b" {
				w.Must(200, made("PUT", "/api/v1/warranties/"+id, key, fields{"supplier": "Foto Berg"}))
			}
		}
		for sort, want := range map[string]string{
			"":             "edcba",
			"-created_at":  "edcba",
			"end_date":     "ecdab",
			"-end_date":    "bdace",
			"product_name": "cbeda",
			"updated_at":   "acdeb",
			"-updated_at":  "bedca",
		} {
			for _, limit := range []int{1, 2, 5} {
				got := ""
				for page := 1; page <= 5; page++ {
					query := url.Values{"limit": {fmt.Sprint(limit)}, "page": {fmt.Sprint(page)}}
					if sort != "" {
						query.Set("sort", sort)
					}
					for _, id := range ids(t, w.Must(200, made("GET", "/api/v1/warranties?"+query.Encode(), key, nil))) {
						got += names[id]
					}
				}
				equal(t, fmt.Sprintf("sort=%s, %d a page", sort, limit), got, want)
			}
		}
	})
}
