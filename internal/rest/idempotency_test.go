package rest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// keyed returns a create request with an Idempotency-Key.
func keyed(secret, key string, body any) request {
	return made("POST", "/api/v1/warranties", secret, body, "Idempotency-Key", key)
}

func drill() fields {
	return fields{"product_name": "Drill", "start_date": "2026-01-01", "end_date": "2027-01-01", "category": "Tools",
		"seller_email": "shop@example.com"}
}

// same fails the test unless the response repeats the first one.
func same(t testing.TB, what string, got, first answer, replayed bool) {
	t.Helper()
	equal(t, what+": body", got.Body, first.Body)
	equal(t, what+": status", got.Status, first.Status)
	for _, name := range []string{"Location", "Etag", "Content-Type"} {
		equal(t, what+": "+name, got.Header.Get(name), first.Header.Get(name))
	}
	header := ""
	if replayed {
		header = "true"
	}
	equal(t, what+": Idempotent-Replayed", got.Header.Get("Idempotent-Replayed"), header)
	if got.Header.Get("X-Request-Id") == first.Header.Get("X-Request-Id") {
		t.Errorf("%s: the request id is repeated too", what)
	}
}

// TestReplay repeats a create in all ways that must return the same response.
func TestReplay(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		token, _ := w.Token(owner)
		first := w.Must(201, keyed(token, "abc", drill()))
		equal(t, "the first is not a replay", first.Header.Values("Idempotent-Replayed"), []string(nil))
		var record servertest.Record
		first.Into(t, &record)

		second, _ := w.Token(owner)
		for what, r := range map[string]request{
			"again":              made("POST", "/api/v1/warranties", token, drill(), "Idempotency-Key", "abc"),
			"quoted":             keyed(token, `"abc"`, drill()),
			"with spaces around": keyed(token, " abc ", drill()),
			"by another token":   keyed(second, "abc", drill()),
			"by the session":     keyed(owner.Session, "abc", drill()),
			"in another order": keyed(token, "abc",
				`{ "seller_email":"shop@example.com","category":"Tools", "end_date":"2027-01-01","start_date":"2026-01-01","product_name":"Drill"}`),
			"in other words": keyed(token, "abc",
				`{"seller_email":"SHOP@example.com","category":" Tools","end_date":"2027-01-01","start_date":"2026-01-01","product_name":"Dr\u0069ll ","supplier":"","description":null}`),
			"by the command line": made("POST", "/api/v1/warranties", token, drill(), "Idempotency-Key", "abc", "User-Agent",
				"svc/1.0"),
			"with an id of its own": made("POST", "/api/v1/warranties", token, drill(), "Idempotency-Key", "abc", "X-Request-Id",
				"my-own-request"),
		} {
			w.Unchanged(t, what, func() { same(t, what, w.Do(r), first, true) })
		}

		// Later changes to the record do not matter.
		w.Must(200, made("PUT", "/api/v1/warranties/"+record.ID, token, fields{"product_name": "Saw", "status": "void"}))
		same(t, "after a change", w.Do(keyed(token, "abc", drill())), first, true)
		w.Must(204, made("DELETE", "/api/v1/warranties/"+record.ID, token, nil))
		same(t, "after its end", w.Do(keyed(token, "abc", drill())), first, true)
		equal(t, "the records", w.Records(), 1)
	})
}

// TestKeysAreApart reuses a key where it must not match the first request.
func TestKeysAreApart(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		owner, other := w.Person("Olga"), w.Person("Zoe")
		token, _ := w.Token(owner)
		w.Must(201, keyed(token, "abc", drill()))
		for name, change := range map[string]fields{
			"another product": {"product_name": "Saw"}, "another day": {"end_date": "2027-01-02"},
			"another seller": {"seller_email": "b@example.com"}, "more": {"supplier": "ACME"}, "less": {"category": nil},
		} {
			body := drill()
			for field, value := range change {
				body[field] = value
			}
			w.Unchanged(t, name, func() { refused(t, name, w.Do(keyed(token, "abc", body)), warranty.IdempotencyKeyReused) })
		}
		theirs := w.Must(201, keyed(other.Session, "abc", fields{"product_name": "Saw", "start_date": "2026-01-01",
			"end_date": "2027-01-01"}))
		equal(t, "another user's is not a replay", theirs.Header.Get("Idempotent-Replayed"), "")
		w.Must(201, keyed(token, "ABC", drill()))
		w.Must(201, made("POST", "/api/v1/warranties", token, drill()))
		w.Must(201, made("POST", "/api/v1/warranties", token, drill()))
		equal(t, "the records", w.Records(), 5)
	})
}

// TestKeyForms checks the syntax of keys.
func TestKeyForms(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		token, _ := w.Token(w.Person("Olga"))
		for _, key := range []string{"a", `"a b"`, "~!@#$%^&*()", strings.Repeat("k", 255),
			`"` + strings.Repeat("q", 255) + `"`, "018f2b6e-7c4a-7def-8123-456789abcdef"} {
			want(t, key, w.Do(keyed(token, key, drill())), 201, "")
		}
		made := w.Records()
		for _, key := range []string{"", " ", `""`, strings.Repeat("k", 256), "schlüssel", "tab\tkey"} {
			w.Unchanged(t, "the key "+key, func() {
				a := w.Do(keyed(token, key, drill()))
				refused(t, "the key "+key, a, warranty.ValidationFailed)
				equal(t, "the key "+key, wrongFields(t, a), []string{"idempotency_key invalid"})
			})
		}
		equal(t, "the records", w.Records(), made)
	})
}

// TestKeysLastADay moves the clock to either side of 24 hours.
func TestKeysLastADay(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		token, _ := w.Token(w.Person("Olga"))
		start := clock.Now()
		first := w.Must(201, keyed(token, "abc", drill()))
		clock.Set(start.Add(24*time.Hour - time.Second))
		same(t, "at 23:59:59", w.Do(keyed(token, "abc", drill())), first, true)
		refused(t, "at 23:59:59, another body", w.Do(keyed(token, "abc",
			fields{"product_name": "Saw", "start_date": "2026-01-01", "end_date": "2027-01-01"})), warranty.IdempotencyKeyReused)
		clock.Set(start.Add(24*time.Hour + time.Second))
		second := w.Must(201, keyed(token, "abc", drill()))
		equal(t, "at 24:00:01 it is not a replay", second.Header.Get("Idempotent-Replayed"), "")
		equal(t, "the records", w.Records(), 2)
		same(t, "again at 24:00:01", w.Do(keyed(token, "abc", drill())), second, true)
		clock.Set(start.Add(48 * time.Hour))
		same(t, "a day after the second", w.Do(keyed(token, "abc", drill())), second, true)
		if err := w.Store.Sweep(t.Context(), clock.Now()); err != nil {
			t.Fatal(err)
		}
		same(t, "after a sweep", w.Do(keyed(token, "abc", drill())), second, true)
		equal(t, "the records", w.Records(), 2)
	})
}

// TestFailuresAreNotKept makes a create fail in several ways, then succeed with the same key.
func TestFailuresAreNotKept(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		token, id := w.Token(owner)
		reader, _ := w.Token(owner, warranty.WarrantiesRead)
		w.Unchanged(t, "failures", func() {
			refused(t, "validation", w.Do(keyed(token, "abc", fields{"product_name": ""})), warranty.ValidationFailed)
			refused(t, "malformed", w.Do(keyed(token, "abc", `{`)), warranty.MalformedRequest)
			refused(t, "scope", w.Do(keyed(reader, "abc", drill())), warranty.InsufficientScope)
			refused(t, "credential", w.Do(keyed("", "abc", drill())), warranty.MissingCredential)
		})
		w.Exec(`ALTER TABLE access RENAME TO access_away`)
		refused(t, "a fault of ours", w.Do(keyed(token, "abc", drill())), warranty.Internal)
		w.Exec(`ALTER TABLE access_away RENAME TO access`)
		equal(t, "kept keys", w.Count(`SELECT count(*) FROM idempotency`), 0)
		first := w.Must(201, keyed(token, "abc", drill()))
		equal(t, "the first that succeeds is not a replay", first.Header.Get("Idempotent-Replayed"), "")
		equal(t, "the records", w.Records(), 1)

		// A replay needs a valid credential.
		w.Must(204, made("DELETE", tokens+"/"+id, owner.Session, nil))
		refused(t, "a replay by a revoked token", w.Do(keyed(token, "abc", drill())), warranty.TokenRevoked)
		refused(t, "a replay by a token without the scope", w.Do(keyed(reader, "abc", drill())), warranty.InsufficientScope)
	})
}

// TestOneKeyAtOnce sends one create many times concurrently.
func TestOneKeyAtOnce(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		token, _ := w.Token(w.Person("Olga"))
		for round := range 6 {
			key := fmt.Sprintf("round %d", round)
			outcomes, answers := servertest.Flood(t, worlds, 32, func(int) request { return keyed(token, key, drill()) })
			equal(t, "the outcomes", outcomes, map[string]int{"201": 32})
			originals := 0
			for i, a := range answers {
				equal(t, fmt.Sprintf("body %d", i), a.Body, answers[0].Body)
				if a.Header.Get("Idempotent-Replayed") == "" {
					originals++
				}
			}
			equal(t, "responses that are not replays", originals, 1)
			equal(t, "the records", w.Records(), round+1)
			equal(t, "access rows", w.Count(`SELECT count(*) FROM access WHERE kind = 1`), round+1)
		}
		// Two bodies with one key: one wins, and all requests with the other are refused.
		outcomes, _ := servertest.Flood(t, worlds, 16, func(i int) request {
			body := drill()
			body["product_name"] = fmt.Sprint("Drill ", i%2)
			return keyed(token, "two bodies", body)
		})
		equal(t, "two bodies at once", outcomes, map[string]int{"201": 8, "422 idempotency_key_reused": 8})
		equal(t, "the records", w.Records(), 7)
	}, busy)
}
