package service_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// cell is a cell of the table of roles that every door has.
type cell struct {
	name    string
	allowed func(cast) bool
	tool    string
	method  string
	body    fields
}

// cells is the part of the table that tokens reach too. The last ones end the record.
var cells = []cell{
	{"read", anyRole, "get_warranty", "GET", nil},
	{"change the product", cast.promises, "update_warranty", "PUT", fields{"product_name": "Pot"}},
	{"extend it", cast.promises, "update_warranty", "PUT", fields{"end_date": "2099-12-30"}},
	{"start it earlier", cast.promises, "update_warranty", "PUT", fields{"start_date": "2019-01-01"}},
	{"change the supplier", cast.promises, "update_warranty", "PUT", fields{"supplier": "ACME"}},
	{"set the external id", cast.promises, "update_warranty", "PUT", fields{"external_id": ""}},
	{"change the category", ownersOnly, "update_warranty", "PUT", fields{"category": "Kitchen"}},
	{"void", mayVoid, "update_warranty", "PUT", fields{"status": "void", "status_reason": "Returned."}},
	{"reinstate", mayVoid, "update_warranty", "PUT", fields{"status": "active"}},
	{"cancel", cast.promises, "update_warranty", "PUT", fields{"status": "cancelled"}},
	{"delete, or remove from the account", ownersOnly, "delete_warranty", "DELETE", nil},
}

// door tries a cell on the record of a scene as "me", and returns "" or the code of the refusal.
type door struct {
	name string
	try  func(t testing.TB, s scene, c cell) string
}

func doors(w *world, people func(name string) servertest.Person) []door {
	key, _ := w.Token(people(me))
	browser := w.SignedIn(w.T, people(me))
	byRest := func(secret string) func(testing.TB, scene, cell) string {
		return func(_ testing.TB, s scene, c cell) string {
			r := request{Method: c.method, Path: s.path(), Secret: secret}
			if c.body != nil {
				r.Body = c.body
			}
			a := w.Do(r)
			if a.Status < 400 {
				return ""
			}
			return a.Code()
		}
	}
	return []door{
		{"REST, by session", byRest(people(me).Session)},
		{"REST, by token", byRest(key)},
		{"the client of svc", byClient(w.T, w, key)},
		{"MCP", func(t testing.TB, s scene, c cell) string { return callTool(t, w, key, s.record.ID, c) }},
		{"web", func(t testing.TB, s scene, c cell) string { return pressWeb(browser, s.record.ID, c) }},
	}
}

func callTool(t testing.TB, w *world, key, id string, c cell) string {
	t.Helper()
	arguments := fields{"id": id}
	for name, value := range c.body {
		arguments[name] = value
	}
	body, err := json.Marshal(fields{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": fields{"name": c.tool, "arguments": arguments},
	})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.HTTP.URL+"/api/mcp", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req) // the OpenAPI document does not have it
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Result *struct {
			IsError           bool
			StructuredContent struct{ Code string }
			Content           []struct{ Text string }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Result == nil {
		t.Fatalf("%s: %d, %v", c.tool, resp.StatusCode, err)
	}
	if !answer.Result.IsError {
		return ""
	}
	var problem warranty.Problem
	for _, content := range answer.Result.Content {
		if json.Unmarshal([]byte(content.Text), &problem) == nil && problem.Code != "" {
			return string(problem.Code)
		}
	}
	return answer.Result.StructuredContent.Code
}

func pressWeb(b *servertest.Browser, id string, c cell) string {
	var page servertest.Page
	switch path := "/warranties/" + id; c.method {
	case "GET":
		page = b.Get(path)
	case "DELETE":
		page = b.Post(path + "/delete")
	default:
		var pairs []string
		for name, value := range c.body {
			pairs = append(pairs, name, fmt.Sprint(value))
		}
		page = b.Post(path, pairs...)
	}
	switch page.Status {
	case http.StatusOK, http.StatusSeeOther:
		return ""
	case http.StatusForbidden:
		return string(warranty.RoleNotAllowed)
	case http.StatusUnprocessableEntity: // the form again
		if strings.Contains(page.Body, "Your role:") {
			return string(warranty.RoleNotAllowed)
		}
	case http.StatusNotFound:
		return string(warranty.NotFound)
	}
	return fmt.Sprint(page.Status)
}

// TestEveryDoorKeepsTheTableOfRoles tries every cell of the table in section 4 of the contract that all
// doors have, with every cast.
func TestEveryDoorKeepsTheTableOfRoles(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		stage := w.scenes()
		first := stage(casts[0])
		tried := 0
		for _, d := range doors(w, func(name string) servertest.Person { return first.people[name] }) {
			for _, c := range casts {
				s := stage(c)
				for _, what := range cells {
					if !w.tries(what.name, c.String(), d.name) {
						continue
					}
					tried++
					if what.name == "reinstate" {
						w.Must(200, made("PUT", s.path(), s.who(s.creator), fields{"status": "void"}))
					}
					before := w.Contents()
					code, want := d.try(t, s, what), ""
					if !what.allowed(c) {
						want = string(notAllowed(c.roles()))
						equal(t, what.name+" as "+c.String()+" on "+d.name+" changed", w.Contents(), before)
					}
					if code != want {
						t.Errorf("%s as %s on %s: %q, want %q", what.name, c, d.name, code, want)
					}
				}
			}
		}
		t.Logf("%d cells", tried)
	}, busy)
}

// TestAFormerOwnerKeepsNothing: who transfers a warranty that they recorded themselves can neither see nor
// change it any more, on no door; its issuer is the new owner.
func TestAFormerOwnerKeepsNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		stage := w.scenes()
		for _, c := range []cast{
			{creator: me, seller: nobody, owner: me}, {creator: me, seller: third, owner: me}, {creator: me, seller: me, owner: me},
		} {
			s := stage(c)
			w.Must(200, made("PUT", s.path(), s.who(me), fields{"external_id": "mine " + s.record.ID}))
			receipt := s.Upload(s.who(me), document(s.record.ID, "a.pdf", pdf)...)
			w.Transfer(s.record.ID, s.people[me], s.people[another])
			for _, d := range doors(w, func(name string) servertest.Person { return s.people[name] }) {
				for _, what := range cells {
					if code := d.try(t, s, what); code != string(warranty.NotFound) {
						t.Errorf("%s as the former owner (%s) on %s: %q", what.name, c, d.name, code)
					}
				}
			}
			// The receipt did not go along: it is still theirs.
			w.Must(200, made("GET", "/api/v1/documents/"+receipt.ID, s.who(me), nil))
			refused(t, "the former owner's receipt", w.Get("/api/v1/documents/"+receipt.ID, s.who(another)), warranty.NotFound)
			var now struct {
				Roles      []string
				ExternalID *string `json:"external_id"`
			}
			w.Must(200, made("GET", s.path(), s.who(another), nil)).Into(t, &now)
			if !slices.Equal(now.Roles, []string{"owner", "issuer"}) || now.ExternalID != nil {
				t.Errorf("the new owner of a record of %s: %+v", c, now)
			}
			w.Must(200, made("PUT", s.path(), s.who(another), fields{"end_date": "2099-12-30"}))
			// The external id is free again.
			w.Warranty(s.who(me), fields{"external_id": "mine " + s.record.ID})
		}
		checkAccess(t, w)
	}, busy)
}

// TestTheIssuerStaysWhenAnIssuedWarrantyIsTransferred: the promise goes along, and the former customer loses
// their receipts.
func TestTheIssuerStaysWhenAnIssuedWarrantyIsTransferred(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scenes()(cast{creator: another, seller: nobody, owner: me})
		receipt := s.Upload(s.who(me), document(s.record.ID, "a.pdf", pdf)...)
		terms := s.Upload(s.who(another), document(s.record.ID, "terms.pdf", pdf)...)
		w.Transfer(s.record.ID, s.people[me], s.people[third], receipt.ID)
		refused(t, "the record, for the former owner", w.Get(s.path(), s.who(me)), warranty.NotFound)
		refused(t, "an extension by the new owner", w.Do(made("PUT", s.path(), s.who(third), fields{"end_date": "2099-12-30"})), warranty.RoleNotAllowed)
		w.Must(200, made("PUT", s.path(), s.who(another), fields{"end_date": "2099-12-30"}))
		for _, d := range []string{receipt.ID, terms.ID} {
			w.Must(200, made("GET", "/api/v1/documents/"+d, s.who(third), nil))
		}
		refused(t, "a receipt, for the issuer", w.Get("/api/v1/documents/"+receipt.ID, s.who(another)), warranty.NotFound)
		refused(t, "the terms, for the former owner", w.Get("/api/v1/documents/"+terms.ID, s.who(me)), warranty.NotFound)

		// Back at its issuer, it is self-recorded again, and a transfer moves everything.
		w.Transfer(s.record.ID, s.people[third], s.people[another])
		w.Transfer(s.record.ID, s.people[another], s.people[me])
		refused(t, "the record, for its former issuer", w.Get(s.path(), s.who(another)), warranty.NotFound)
		w.Must(200, made("PUT", s.path(), s.who(me), fields{"end_date": "2099-12-29"}))
		checkAccess(t, w)
	}, busy)
}

// TestRemovingAnIssuedWarranty: an owner removes it from their account with what they uploaded. Its issuer
// keeps the record and what is in claims.
func TestRemovingAnIssuedWarranty(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scenes()(cast{creator: another, seller: third, owner: me})
		receipt := s.Upload(s.who(me), document(s.record.ID, "a.pdf", pdf)...)
		claim := s.claimAt("submitted")
		evidence := s.Upload(s.who(me), append(document(s.record.ID, "b.pdf", pdf), field("claim_id", claim))...)
		refused(t, "the record with a claim", w.Do(made("DELETE", s.path(), s.who(me), nil)), warranty.InUse)
		w.Must(204, made("DELETE", s.path()+"?force=true", s.who(me), nil))
		refused(t, "the record, for the owner", w.Get(s.path(), s.who(me)), warranty.NotFound)
		for _, name := range []string{another, third} {
			w.Must(200, made("GET", s.path(), s.who(name), nil))
			w.Must(200, made("GET", "/api/v1/documents/"+evidence.ID, s.who(name), nil))
		}
		for _, name := range []string{me, another, third} {
			refused(t, "the receipt", w.Get("/api/v1/documents/"+receipt.ID, s.who(name)), warranty.NotFound)
		}
		w.Must(200, request{Method: "GET", Path: "/verify/" + s.record.ReferenceNumber, Header: map[string]string{"Accept": "application/json"}})
		if events := w.history(s.record.ID, s.who(another)); events[0].Action != "warranty.removed" {
			t.Errorf("the history says %s", events[0].Action)
		}
		if faults, err := w.Store.CheckRecords(t.Context(), date("2026-01-01"), func(string) {}); err != nil || len(faults) > 0 {
			t.Error(faults, err)
		}
	}, busy)
}

// TestTheOwnerIsMailedAStatus: the reason that a business gives reaches the owner by email and in the history.
func TestTheOwnerIsMailedAStatus(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scenes()(cast{creator: another, seller: third, owner: me})
		for i, step := range []struct{ who, status, told string }{
			{third, "void", "Status: void"}, {another, "active", "Status: in force"}, {another, "cancelled", "Status: cancelled"},
		} {
			reason := fmt.Sprintf("Because %d.", i)
			w.Must(200, made("PUT", s.path(), s.who(step.who), fields{"status": step.status, "status_reason": reason}))
			w.flush()
			mails := w.strings(`SELECT subject || ' ' || body FROM mails WHERE address = '` + s.people[me].Email + `' ORDER BY id DESC`)
			if len(mails) == 0 || !strings.Contains(mails[0], step.told) || !strings.Contains(mails[0], reason) {
				t.Errorf("%s: the owner was mailed %q", step.status, mails)
			}
			changes := fmt.Sprint(w.history(s.record.ID, s.who(me))[0].Changes)
			if raw, err := json.Marshal(w.history(s.record.ID, s.who(me))[0].Changes); err != nil || !strings.Contains(string(raw), reason) {
				t.Errorf("%s: the history says %s", step.status, changes)
			}
		}
		a := w.Do(made("PUT", s.path(), s.who(another), fields{"status_reason": "No status."}))
		refused(t, "a reason without a status", a, warranty.ValidationFailed)
	}, busy)
}
