package service_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// TestNotYoursLooksLikeNotThere: for everything that takes an id, the id of another
// user's record, of a deleted record and of no record get the same bytes and headers.
func TestNotYoursLooksLikeNotThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := newStage(w, false)
		removed := newStage(w, false)
		if _, err := w.Service.DeleteWarranty(ctx, removed.ownerIs.Principal,
			warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: removed.record.ID}, Force: new(true)}); err != nil {
			t.Fatal(err)
		}
		nothing := *s
		nothing.names = maps.Clone(s.names)
		for _, name := range []string{"id", "claim", "document", "token", "session", "passkey"} {
			nothing.names[name] = w.Service.NewID().String()
		}
		nothing.record.ReferenceNumber, _ = warranty.NewReference(warranty.WarrantyPrefix, rand.Reader)
		nothing.claimed.ClaimNumber, _ = warranty.NewReference(warranty.ClaimPrefix, rand.Reader)

		token, _ := w.token(s.strangerIs.User, warranty.AllScopes, time.Hour, false)
		deletedToken, _ := w.token(removed.ownerIs.User, warranty.AllScopes, time.Hour, false)
		tried := map[string]bool{}
		for _, r := range rows {
			if r.stranger != notFound {
				continue
			}
			tried[r.operation] = true
			if r.operation == "warranties.restore" { // a deleted record is there for its owner
				continue
			}
			for kind, secrets := range map[string][2]string{
				"session": {s.strangerIs.session, removed.ownerIs.session},
				"token":   {token, deletedToken},
			} {
				if kind == "token" && r.sessionOnly {
					continue
				}
				ask := func(at *stage, secret string) string {
					what := r.request(at)
					what.Secret = secret
					answer := w.Do(what)
					if answer.Status != 404 {
						t.Errorf("%s %s: %d %s", r.operation, r.variant, answer.Status, answer.Body)
					}
					return bare(t, answer)
				}
				want := ask(&nothing, secrets[0])
				if got := ask(nothing.byNumber(), secrets[0]); got != want {
					t.Errorf("%s %s by %s: an unknown number:\n%s\nan unknown id:\n%s", r.operation, r.variant,
						kind, got, want)
				}
				for _, theirs := range []*stage{s, s.byNumber()} {
					if got := ask(theirs, secrets[0]); got != want {
						t.Errorf("%s %s by %s: what is not yours:\n%s\nwhat is not there:\n%s", r.operation, r.variant,
							kind, got, want)
					}
				}
				if strings.HasPrefix(r.operation, "tokens.") || r.operation == "sessions.end" || strings.HasPrefix(r.operation, "passkeys.") {
					continue
				}
				for _, deleted := range []*stage{removed, removed.byNumber()} {
					if got := ask(deleted, secrets[1]); got != want {
						t.Errorf("%s %s by %s: what was deleted:\n%s\nwhat is not there:\n%s", r.operation, r.variant,
							kind, got, want)
					}
				}
			}
		}
		for _, op := range api.Operations() {
			hasRow := slices.ContainsFunc(rows, func(r row) bool { return r.operation == op.Name })
			if strings.Contains(op.Path, "{id}") && hasRow && !tried[op.Name] {
				t.Errorf("%s has an id in its path: add a row to matrix_test.go whose stranger gets notFound", op.Name)
			}
		}
	}, busy)
}

// TestTheWarrantyFilterTellsNothing: filtering by another user's warranty is like
// filtering by an unknown one.
func TestTheWarrantyFilterTellsNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := newStage(w, false)
		unknown := w.Service.NewID()
		token, _ := w.token(s.strangerIs.User, warranty.AllScopes, time.Hour, false)
		for _, list := range []string{"claims", "documents"} {
			for _, secret := range []string{s.strangerIs.session, token} {
				for _, more := range []string{"", "&page=2&limit=1"} {
					ask := func(key fmt.Stringer) string {
						a := w.Must(200, request{
							Method: "GET",
							Path:   fmt.Sprintf("/api/v1/%s?warranty_id=%s%s", list, key, more),
							Secret: secret,
						})
						return strings.ReplaceAll(bare(t, a), key.String(), "THE-ID")
					}
					for _, theirs := range []fmt.Stringer{
						s.record.ID, warranty.WarrantyKey{Reference: s.record.ReferenceNumber},
					} {
						if foreign, random := ask(theirs), ask(unknown); foreign != random ||
							!strings.Contains(foreign, `"data":[]`) {
							t.Errorf("%s of another user's warranty:\n%s\nof an unknown one:\n%s", list, foreign, random)
						}
					}
				}
			}
		}
	}, busy)
}
