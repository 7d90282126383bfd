package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"warranty.example/svc/client"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// webOf returns the page or the form that does the same as a request of the API.
func webOf(r request) (method, path string) {
	at, _, _ := strings.Cut(strings.Replace(r.Path, "/api/v1/", "/api/", 1), "?")
	at = strings.TrimPrefix(at, "/api")
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(at, "/history"):
		return r.Method, strings.TrimSuffix(at, "/history")
	case r.Method == http.MethodGet && strings.HasPrefix(at, "/documents/"):
		return r.Method, strings.TrimSuffix(at, "/file") + "/file"
	case r.Method == http.MethodGet:
		return r.Method, at
	case r.Method == http.MethodDelete && strings.HasSuffix(at, "/transfer"):
		return http.MethodPost, at + "/cancel"
	case r.Method == http.MethodDelete:
		return http.MethodPost, at + "/delete"
	}
	return http.MethodPost, at
}

// press does in a browser what a request of the API does to a record, and returns the page.
func press(t testing.TB, b *servertest.Browser, r request, record servertest.Record) servertest.Page {
	t.Helper()
	method, path := webOf(r)
	if method == http.MethodGet {
		return b.Get(path)
	}
	if parts, ok := r.Body.(string); ok {
		return b.SendBody(method, path, r.Header["Content-Type"], strings.NewReader(parts), "Sec-Fetch-Site", "same-origin")
	}
	values := url.Values{}
	if strings.Contains(r.Path, "force=true") {
		values.Set("reference", record.ReferenceNumber) // typed by a person who means it
	}
	if body, ok := r.Body.(fields); ok {
		for name, value := range body {
			values.Set(name, fmt.Sprint(value))
		}
	}
	return b.Send(method, path, values, "Sec-Fetch-Site", "same-origin")
}

// TestTheWebKeepsTheTableOfRoles tries every verb of TestPeopleDoWhatTheirRolesAllow with every cast on the pages.
func TestTheWebKeepsTheTableOfRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servertest.Databases[0].Open(t), busy)
	stage := w.scenes()
	b := w.SignedIn(t, stage(casts[0]).people[me])
	for _, c := range casts {
		s := stage(c)
		for _, v := range verbs {
			what := v.name + " as " + c.String()
			r := v.attempt(s)
			if v.allowed(c) {
				events := w.Count(`SELECT count(*) FROM history`)
				if r.Method != http.MethodGet {
					events++
				}
				if p := press(t, b, r, s.record); p.Status != http.StatusOK && p.Status != http.StatusSeeOther {
					t.Errorf("%s: %d %s", what, p.Status, p.Main())
				}
				equal(t, what+": events in the history", w.Count(`SELECT count(*) FROM history`), events)
				continue
			}
			files, hidden := w.Stored(), v.hides || c.roles() == (warranty.Roles{})
			before := w.Contents()
			p := press(t, b, r, s.record)
			// The page of a claim has no form, and so no message, for who cannot do anything to it.
			says := p.Status == http.StatusUnprocessableEntity && strings.HasPrefix(r.Path, "/api/claims/") ||
				p.Status == http.StatusForbidden || strings.Contains(p.Body, "Your role:") || strings.Contains(p.Body, "You own this warranty")
			if hidden && p.Status != http.StatusNotFound || !hidden && !says {
				t.Errorf("%s: %d %s", what, p.Status, p.Main())
			}
			after := w.Contents()
			if strings.HasPrefix(v.name, "upload") { // a refused file waits until the sweep deletes it
				delete(before, "unused_files")
				delete(after, "unused_files")
			}
			equal(t, what+" changed the database", after, before)
			equal(t, what+" changed the files", w.Stored(), files)
		}
	}
}

// byClient tries a cell with the package that svc and svc-mcp use.
func byClient(t testing.TB, w *world, key string) func(testing.TB, scene, cell) string {
	t.Helper()
	c, err := client.New(w.HTTP.URL+"/api/v1", key)
	if err != nil {
		t.Fatal(err)
	}
	return func(t testing.TB, s scene, what cell) string {
		t.Helper()
		id, err := warranty.ParseID(s.record.ID)
		if err != nil {
			t.Fatal(err)
		}
		record := warranty.WarrantyKey{ID: id}
		switch what.method {
		case http.MethodGet:
			_, err = c.GetWarranty(ctx, warranty.GetWarranty{ID: record})
		case http.MethodDelete:
			err = c.DeleteWarranty(ctx, warranty.DeleteWarranty{ID: record})
		default:
			in := updateOf(t, what.body)
			in.ID = record
			_, err = c.UpdateWarranty(ctx, in)
		}
		if err == nil {
			return ""
		}
		return string(codeOf(err))
	}
}

// updateOf returns the input with the fields of a body.
func updateOf(t testing.TB, body fields) (in warranty.UpdateWarranty) {
	t.Helper()
	text, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}
