package rest_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// changes is a page of a list of changes.
type changes struct {
	Data []struct {
		ID string `json:"id"`
	} `json:"data"`
	Pagination any     `json:"pagination"`
	Next       *string `json:"next"`
	SyncedTo   string  `json:"synced_to"`
}

func decode(t *testing.T, a servertest.Answer, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), v); err != nil {
		t.Fatalf("%s: %v", a.Body, err)
	}
}

// walk reads all pages and returns the ids and the last synced_to.
func walk(t *testing.T, w *world, path, secret string) (ids []string, synced string) {
	t.Helper()
	for after := ""; ; {
		a := w.Must(200, made("GET", path+after, secret, nil))
		var page changes
		decode(t, a, &page)
		if page.Pagination != nil || !strings.Contains(a.Header.Get("Link"), `rel="first"`) ||
			strings.Contains(a.Header.Get("Link"), `rel="next"`) != (page.Next != nil) {
			t.Errorf("pagination %v, Link %q, next %v", page.Pagination, a.Header.Get("Link"), page.Next)
		}
		for _, record := range page.Data {
			ids = append(ids, record.ID)
		}
		if page.Next == nil {
			return ids, page.SyncedTo
		}
		after = "&after=" + url.QueryEscape(*page.Next)
	}
}

// TestSynchronize keeps a copy of two accounts as an ERP does.
func TestSynchronize(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, other := w.Verified("Olga"), w.Verified("Otto")
		key, _ := w.Token(owner)
		first, second, third := w.Warranty(key, nil), w.Warranty(key, nil), w.Warranty(key, nil)
		time.Sleep(2 * time.Millisecond) // SQLite's clock has milliseconds
		ids, synced := walk(t, w, "/api/v1/warranties?updated_since=1970-01-01T00:00:00Z&limit=2", key)
		equal(t, "everything", ids, []string{first.ID, second.ID, third.ID})
		ids, synced = walk(t, w, "/api/v1/warranties?updated_since="+synced, key)
		equal(t, "nothing new", len(ids), 0)

		w.Must(200, made("PUT", "/api/v1/warranties/"+first.ID, key, fields{"category": "Tools"}))
		w.Must(204, made("DELETE", "/api/v1/warranties/"+second.ID, key, nil))
		w.Transfer(third.ID, owner, other)
		time.Sleep(2 * time.Millisecond)
		ids, _ = walk(t, w, "/api/v1/warranties?updated_since="+synced, key)
		equal(t, "updated", ids, []string{first.ID})
		ids, after := walk(t, w, "/api/v1/warranties/deleted?since="+synced, key)
		equal(t, "deleted, and transferred", ids, []string{second.ID, third.ID})
		ids, _ = walk(t, w, "/api/v1/warranties/deleted?since="+after, key)
		equal(t, "nothing else deleted", len(ids), 0)
		ids, _ = walk(t, w, "/api/v1/warranties?updated_since="+synced, other.Session)
		equal(t, "granted", ids, []string{third.ID})
		ids, _ = walk(t, w, "/api/v1/warranties/deleted?limit=1", owner.Session)
		equal(t, "deleted in the last 90 days", ids, []string{second.ID, third.ID})
	})
}

// TestSynchronizeRefuses lists what a question for changes cannot have.
func TestSynchronizeRefuses(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key, _ := w.Token(w.Person("Olga"))
		const list, since = "/api/v1/warranties", "?updated_since=2026-01-01T00:00:00Z"
		old := "?since=" + time.Now().Add(-91*24*time.Hour).UTC().Format(time.RFC3339)
		for path, want := range map[string]string{
			list + since + "&page=1":                             "page not_with_updated_since",
			list + since + "&page=0":                             "page out_of_range",
			list + since + "&sort=end_date":                      "sort not_with_updated_since",
			list + since + "&q=drill":                            "q not_with_updated_since",
			list + since + "&status=active":                      "status not_with_updated_since",
			list + since + "&has_open_claim=true":                "has_open_claim not_with_updated_since",
			list + since + "&after=x":                            "after invalid",
			list + since + "&after=" + strings.Repeat("_", 43):   "after invalid",
			list + since + "&after=" + strings.Repeat("A", 4000): "after invalid",
			list + "?after=" + strings.Repeat("A", 43):           "after invalid",
			list + "?updated_since=monday":                       "updated_since invalid",
			list + "?updated_since=":                             "updated_since empty",
			list + "/deleted?since=monday":                       "since invalid",
			list + "/deleted" + old:                              "since too_old",
			list + "/deleted?page=2":                             "page unknown_parameter",
			list + "/deleted?limit=101":                          "limit out_of_range",
		} {
			a := w.Get(path, key)
			refused(t, path, a, warranty.ValidationFailed)
			var got []string
			var problem warranty.Problem
			decode(t, a, &problem)
			for _, f := range problem.Errors {
				got = append(got, f.Field+" "+f.Code)
			}
			if !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
		var empty changes
		for _, path := range []string{
			list + "?updated_since=9999-12-31T23:59:59Z", list + "?updated_since=0001-01-01T00:00:00Z&fields=id",
			list + since + "&after=" + strings.Repeat("A", 43), list + "/deleted?since=9999-12-31T23:59:59%2B14:00",
		} {
			decode(t, w.Must(200, made("GET", path, key, nil)), &empty)
			equal(t, path, len(empty.Data), 0)
		}
	})
}
