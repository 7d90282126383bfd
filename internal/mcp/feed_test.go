package mcp_test

import (
	"testing"

	"warranty.example/svc/internal/servertest"
)

// TestChangesSince answers "what changed since Monday" in one call.
func TestChangesSince(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		p := w.Person("Ada")
		a := agentOf(w, p)
		w.Warranty(p.Session, fields{"product_name": "Kettle"})
		w.Warranty(p.Session, fields{"product_name": "Drill"})
		type page struct {
			Data []struct {
				Name string `json:"product_name"`
			} `json:"data"`
			Next     string `json:"next"`
			SyncedTo string `json:"synced_to"`
		}
		var all, first, second page
		since := fields{"updated_since": "2020-01-06T00:00:00Z", "fields": "product_name,updated_at"}
		a.must("list_warranties", since, &all)
		equal(t, "records", len(all.Data), 2)
		equal(t, "the oldest change", all.Data[0].Name, "Kettle")
		if all.SyncedTo == "" || all.Next != "" {
			t.Errorf("synced_to %q, next %q", all.SyncedTo, all.Next)
		}
		since["limit"] = 1
		a.must("list_warranties", since, &first)
		since["after"] = first.Next
		a.must("list_warranties", since, &second)
		equal(t, "the second page", second.Data[0].Name, "Drill")
		if p := a.refused("list_warranties", fields{"updated_since": "2020-01-06T00:00:00Z", "status": "active"}); len(p.Errors) != 1 {
			t.Errorf("a filter is refused with %+v", p)
		}
	})
}
