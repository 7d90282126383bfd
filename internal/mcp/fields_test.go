package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// shop is an organization with a token, and the person who made it.
type shop struct {
	agent
	id      string
	member  servertest.Person
	headers map[string]string
}

// shopOf returns an organization.
func shopOf(w *servertest.World, name string) shop {
	w.T.Helper()
	s := shop{member: w.Verified("Clerk")}
	var organization struct{ ID string }
	w.Must(201, servertest.Request{Method: "POST", Path: "/api/organizations", Secret: s.member.Session,
		Body: fields{"name": name}}).Into(w.T, &organization)
	s.id, s.headers = organization.ID, map[string]string{"X-Account": organization.ID}
	var token struct{ Secret string }
	w.Must(201, servertest.Request{Method: "POST", Path: "/api/integration-tokens", Secret: s.member.Session, Header: s.headers,
		Body: fields{"name": "agent", "scopes": warranty.AllScopes, "rate_limit_per_minute": 1000}}).Into(w.T, &token)
	s.agent = agent{w.T, w.HTTP.URL + "/api/mcp", token.Secret}
	return s
}

// sell creates a warranty of the shop and hands it over to a customer.
func (s shop) sell(w *servertest.World, customer servertest.Person, body fields) servertest.Record {
	w.T.Helper()
	r := w.Warranty(s.secret, body)
	var offer struct{ Code string }
	w.Must(201, servertest.Request{Method: "POST", Path: "/api/v1/warranties/" + r.ID + "/handover", Secret: s.secret}).
		Into(w.T, &offer)
	w.Must(200, servertest.Request{Method: "POST", Path: "/api/handovers/take", Secret: customer.Session,
		Body: fields{"code": offer.Code}})
	return r
}

// post sends a request of the shop's member.
func (s shop) post(w *servertest.World, status int, path string, body fields) {
	w.T.Helper()
	w.Must(status, servertest.Request{Method: "POST", Path: path, Secret: s.member.Session, Header: s.headers, Body: body})
}

// TestEveryFieldOfferedOnAListIsAnswered checks for every list and every field that it offers that some record
// has it, over MCP and over REST. A field that is always null tells a model that there is nothing.
func TestEveryFieldOfferedOnAListIsAnswered(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		halden, kim := shopOf(w, "Halden Electronics"), w.Verified("Kim")
		sold := halden.sell(w, kim, fields{"description": "Two years.", "serial_number": "S-1", "external_id": "E-1",
			"category": "Kitchen", "supplier": "Nordhaus", "seller_name": "Halden", "seller_email": "sales@halden.example",
			"brand": "Bosch", "model": "K1", "gtin": "4006381333931", "purchase_date": "2020-01-01", "price": "9.90",
			"currency": "EUR", "customer_name": "Kim Larsen"})
		closed, open := claim(w, kim.Session, sold.ID, "It leaks"), claim(w, kim.Session, sold.ID, "It hums")
		w.Must(200, servertest.Request{Method: "PUT", Path: "/api/claims/" + open + "/handling", Secret: halden.member.Session,
			Header: halden.headers, Body: fields{"user_id": halden.member.ID}})
		halden.post(w, 201, "/api/claims/"+open+"/messages", fields{"body": "Since when?"})
		halden.post(w, 200, "/api/claims/"+closed+"/status", fields{"status": "approved", "reason": "Covered."})
		halden.post(w, 200, "/api/claims/"+closed+"/status", fields{"status": "resolved", "reason": "Done.",
			"resolution": "replaced", "resolution_note": "New kettle.", "replacement_serial_number": "S-2"})
		w.Upload(kim.Session, append(servertest.DocumentForm(sold.ID, "photo.txt", "a photo"), servertest.Field("claim_id", closed))...)
		lists := 0
		for _, op := range api.Operations() {
			at := slices.IndexFunc(op.Params, func(p api.Param) bool { return p.Name == "fields" })
			if !op.Paged() || at < 0 {
				continue
			}
			lists++
			for _, name := range op.Params[at].Enum {
				var list struct{ Data []map[string]json.RawMessage }
				halden.must(op.Tool, fields{"fields": []string{name}}, &list)
				if !slices.ContainsFunc(list.Data, func(r map[string]json.RawMessage) bool { return r[name] != nil }) {
					t.Errorf("%s offers %s and never answers it: %s", op.Tool, name, list.Data)
				}
				list.Data = nil
				answer := w.Must(http.StatusOK, servertest.Request{Method: "GET", Path: op.Route() + "?fields=" + name,
					Secret: halden.secret})
				decode(t, []byte(answer.Body), &list)
				if !slices.ContainsFunc(list.Data, func(r map[string]json.RawMessage) bool {
					return r[name] != nil && string(r[name]) != "null"
				}) {
					t.Errorf("%s offers %s and never answers it: %s", op.Route(), name, list.Data)
				}
			}
		}
		if lists < 3 {
			t.Errorf("%d lists offer fields", lists)
		}
	})
}

// TestToolsLeadToTheNextStep checks what a model is told where a person has to act or where it looked for the wrong
// thing: pages for people, the tool that finds a record, and no way around an open claim.
func TestToolsLeadToTheNextStep(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		halden, kim := shopOf(w, "Halden Electronics"), w.Verified("Kim")
		sold := halden.sell(w, kim, nil)
		own := w.Warranty(kim.Session, nil)
		claim(w, kim.Session, own.ID, "It leaks")
		owner := agentOf(w, kim)
		type forms struct {
			Data struct {
				ClaimURL  string `json:"claim_url"`
				UploadURL string `json:"upload_url"`
			}
		}
		var ofOwner, ofShop, ofVoid forms
		owner.must("get_warranty", fields{"id": sold.ID}, &ofOwner)
		equal(t, "form of a claim", ofOwner.Data.ClaimURL, servertest.PublicURL+"/claims/new?warranty_id="+sold.ID)
		equal(t, "form of a document", ofOwner.Data.UploadURL, servertest.PublicURL+"/documents/new?warranty_id="+sold.ID)
		halden.must("get_warranty", fields{"id": sold.ID}, &ofShop)
		equal(t, "form of a claim for who may not file one", ofShop.Data.ClaimURL, "")
		halden.must("update_warranty", fields{"id": sold.ID, "status": "void"}, &ofShop)
		owner.must("get_warranty", fields{"id": sold.ID}, &ofVoid)
		equal(t, "form of a claim on a void warranty", ofVoid.Data.ClaimURL, "")

		inUse := owner.refused("delete_warranty", fields{"id": own.ID})
		if inUse.Code != warranty.InUse || strings.Contains(inUse.Detail, "force") || !strings.Contains(inUse.Detail, "A person can") {
			t.Errorf("deleting with an open claim: %+v", inUse)
		}
		for tool, c := range map[string]struct{ argument, next string }{
			"get_warranty":       {"id", "list_warranties and q"},
			"update_warranty":    {"id", "list_warranties and q"},
			"hand_over_warranty": {"id", "list_warranties and q"},
			"get_claim":          {"id", "list_claims and q"},
			"get_document":       {"id", "list_documents and q"},
			"verify_warranty":    {"reference", "list_warranties finds"},
		} {
			missing := owner.refused(tool, fields{c.argument: unknownID})
			if missing.Code != warranty.NotFound || !strings.Contains(missing.Detail, c.next) {
				t.Errorf("%s: %+v", tool, missing)
			}
		}
		stranger, missing := agentOf(w, w.Verified("Eve")), owner.refused("get_warranty", fields{"id": unknownID})
		equal(t, "a foreign record and a missing one", stranger.refused("get_warranty", fields{"id": own.ID}).Detail, missing.Detail)
		claims := agentOf(w, kim, warranty.WarrantiesWrite)
		equal(t, "without the scope of the next step", claims.refused("update_warranty", fields{"id": unknownID, "category": "a"}).Detail,
			"Warranty not found.")
	})
}

// TestTheListOfClaimsHasTheLastMessage checks that a list of claims shows the latest message, shortened, and only
// to those who may read it: the next owner reads nothing that was written before.
func TestTheListOfClaimsHasTheLastMessage(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		halden, kim, next := shopOf(w, "Halden Electronics"), w.Verified("Kim"), w.Verified("Next")
		sold := halden.sell(w, kim, nil)
		id := claim(w, kim.Session, sold.ID, "It leaks")
		last := func(a agent) (body string) {
			t.Helper()
			var list struct {
				Data []struct {
					LastMessage *struct {
						Body   string
						Author struct{ Name, Role string }
					} `json:"last_message"`
				}
			}
			a.must("list_claims", fields{"fields": []string{"last_message"}}, &list)
			equal(t, "claims", len(list.Data), 1)
			if m := list.Data[0].LastMessage; m != nil {
				return fmt.Sprintf("%s (%s): %s", m.Author.Name, m.Author.Role, m.Body)
			}
			return ""
		}
		owner := agentOf(w, kim)
		equal(t, "before any message", last(owner), "")
		halden.post(w, 201, "/api/claims/"+id+"/messages", fields{"body": "Since when?"})
		equal(t, "for the owner", last(owner), "Clerk (business): Since when?")
		w.Must(201, servertest.Request{Method: "POST", Path: "/api/claims/" + id + "/messages", Secret: kim.Session,
			Body: fields{"body": strings.Repeat("ö", 300)}})
		equal(t, "for the shop", last(halden.agent), "Kim (owner): "+strings.Repeat("ö", 199)+"…")
		var one struct {
			Data struct {
				LastMessage struct{ Body string } `json:"last_message"`
			}
		}
		owner.must("get_claim", fields{"id": id}, &one)
		equal(t, "in a single claim", one.Data.LastMessage.Body, strings.Repeat("ö", 199)+"…")
		w.Transfer(sold.ID, kim, next)
		equal(t, "for the next owner", last(agentOf(w, next)), "")
		equal(t, "for the shop, later", last(halden.agent), "Kim (owner): "+strings.Repeat("ö", 199)+"…")
	})
}
