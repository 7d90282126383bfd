package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// products are names of realistic length.
var products = []string{
	"Bosch Serie 6 washing machine", "Miele G 7000 dishwasher", "Samsung QE55 television", "Makita DHP484 drill",
	"Apple iPad Air 13-inch", "Philips 3200 LatteGo coffee machine", "Canon EOS R6 camera",
}

// Bounds of answers in bytes. With the tokenizer o200k_base, a list in rows has 2.1 bytes
// in a token and a list of tools 4.5, so they are 7,000 and 5,300 tokens: they were 4,000 before the tools that look up
// many records, list changes and confirmations, confirm, and cancel an offer, and 4,800 before issue_warranty, which
// has the fields of create_warranty with short descriptions. Output schemas are for programs; clients do not give them
// to the model.
const (
	maxListBytes   = 14_700
	maxToolsBytes  = 25_000
	maxSchemaBytes = 12_300
)

// TestAnswersAreShort bounds what a model reads: a page of 100 warranties as text, and the
// list of all tools.
func TestAnswersAreShort(t *testing.T) {
	w := onSQLite(t, busy)
	ada := w.Person("Ada")
	a := agentOf(w, ada)
	for i := range 100 {
		w.Warranty(ada.Session, fields{
			"product_name": products[i%len(products)], "category": []string{"Appliances", "Electronics", "Tools"}[i%3],
			"description": strings.Repeat("Terms and conditions apply. ", 20), "supplier": "Berg", "serial_number": fmt.Sprint(i),
			"start_date": "2026-01-01", "end_date": fmt.Sprintf("2029-%02d-28", 1+i%12),
		})
	}
	r := a.call("list_warranties", fields{"limit": 100})
	if n := len(r.Content[0].Text); n > maxListBytes || n < 100*60 {
		t.Errorf("a list of 100 warranties has %d bytes", n)
	}
	if n := len(r.StructuredContent); n > 2*maxListBytes {
		t.Errorf("a list of 100 warranties has %d bytes of structured content", n)
	}
	var tools []map[string]json.RawMessage
	decode(t, a.tools(), &tools)
	schemas := 0
	for _, tool := range tools {
		schemas += len(tool["outputSchema"])
	}
	if n := len(a.tools()) - schemas; n > maxToolsBytes || schemas > maxSchemaBytes {
		t.Errorf("the list of tools has %d bytes, and %d of output schemas", n, schemas)
	}
}

// TestListsReturnSelectedFields checks the short set of fields, which a call can replace.
func TestListsReturnSelectedFields(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		ada := w.Person("Ada")
		a := agentOf(w, ada)
		kettle := w.Warranty(ada.Session, fields{"serial_number": "SN-1", "category": "Kitchen"})
		claim(w, ada.Session, kettle.ID, "It leaks")
		document(w, ada.Session, kettle.ID, "receipt.txt")
		for _, op := range api.Operations() {
			if !op.Paged() || op.Tool == "" || op.ToolFields == nil {
				continue
			}
			if known := jsonNames(op.Record()); !isOrdered(op.ToolFields, known) {
				t.Errorf("%s returns %v, which are not fields of the record in its order", op.Tool, op.ToolFields)
			}
			for _, c := range []struct {
				fields any
				want   []string
			}{
				{nil, op.ToolFields},
				{[]string{}, op.ToolFields},
				{[]string{"created_at", "id"}, []string{"id", "created_at"}},
				{"created_at, id", []string{"id", "created_at"}},
			} {
				var list struct {
					Columns []string
					Data    json.RawMessage
				}
				r := a.call(op.Tool, fields{"fields": c.fields})
				decode(t, []byte(r.Content[0].Text), &list)
				equal(t, fmt.Sprintf("%s with fields %v", op.Tool, c.fields), list.Columns, c.want)
			}
			p := a.refused(op.Tool, fields{"fields": []string{"id", "colour"}})
			if p.Code != warranty.ValidationFailed || p.Errors[0].Field != "fields" ||
				!strings.Contains(p.Errors[0].Message, "Unknown field: colour.") {
				t.Errorf("%s: %+v", op.Tool, p)
			}
		}
		var one struct {
			Data  map[string]any
			ETag  string
			Today string
		}
		a.must("get_warranty", fields{"id": kettle.ID, "fields": []string{"serial_number", "supplier"}}, &one)
		equal(t, "fields of one record", one.Data, map[string]any{"serial_number": "SN-1"})
		if one.ETag == "" || one.Today != warranty.DateOf(w.Service.Now()).String() {
			t.Errorf("ETag %q, today %q", one.ETag, one.Today)
		}
	})
}

func jsonNames(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// isOrdered reports whether part is a part of all, in the same order.
func isOrdered(part, all []string) bool {
	at := -1
	for _, name := range part {
		next := slices.Index(all, name)
		if next <= at {
			return false
		}
		at = next
	}
	return len(part) > 0
}

// TestArgumentsAsText checks that numbers and booleans may be sent as text, which models
// tend to do.
func TestArgumentsAsText(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	var list struct{ Pagination struct{ Page, Limit int } }
	a.must("list_warranties", fields{"limit": "7", "page": " 2 ", "expiring_within_days": "30"}, &list)
	equal(t, "page and limit", list.Pagination, struct{ Page, Limit int }{2, 7})
	for _, wrong := range []any{"seven", "7.5", "", "101", true, []int{7}} {
		p := a.refused("list_warranties", fields{"limit": wrong})
		if p.Code != warranty.ValidationFailed || p.Errors[0].Field != "limit" {
			t.Errorf("limit %v: %+v", wrong, p)
		}
	}
}

// TestConnectionsCanBeNarrowed checks the headers that limit the tools of a connection:
// what they exclude is not listed and cannot be used, and they never add anything.
func TestConnectionsCanBeNarrowed(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		ada := w.Person("Ada")
		kettle := w.Warranty(ada.Session, nil)
		full, reader := agentOf(w, ada), agentOf(w, ada, warranty.WarrantiesRead)
		listed := func(a agent, headers ...string) []string {
			t.Helper()
			r := a.send("POST", request(1, "tools/list", fields{}), headers...).rpc(t)
			var list struct{ Tools json.RawMessage }
			decode(t, r.Result, &list)
			return sorted(names(t, list.Tools, "name"))
		}
		var reads, all []string
		for _, op := range api.Operations() {
			if op.Tool != "" {
				all = append(all, op.Tool)
			}
			if op.Tool != "" && op.Reads() {
				reads = append(reads, op.Tool)
			}
		}
		equal(t, "read-only", listed(full, "X-MCP-Readonly", "true"), sorted(reads))
		equal(t, "not read-only", listed(full, "X-MCP-Readonly", "false"), sorted(all))
		equal(t, "two tools", listed(full, "X-MCP-Tools", "get_warranty, delete_warranty"),
			[]string{"delete_warranty", "get_warranty"})
		equal(t, "both headers", listed(full, "X-MCP-Tools", "get_warranty,delete_warranty", "X-MCP-Readonly", "1"),
			[]string{"get_warranty"})
		equal(t, "more than the scopes", listed(reader, "X-MCP-Tools", "get_warranty,delete_warranty,list_claims"),
			[]string{"get_warranty"})

		refused := func(method string, params any, code warranty.Code, text string, headers ...string) {
			t.Helper()
			r := full.send("POST", request(1, method, params), headers...).rpc(t)
			var p warranty.Problem
			if r.Error != nil {
				p = r.Error.problem(t)
			} else {
				var result toolResult
				decode(t, r.Result, &result)
				decode(t, []byte(result.Content[0].Text), &p)
			}
			if p.Code != code || !strings.Contains(p.Detail, text) {
				t.Errorf("%s with %v: %+v", method, headers, p)
			}
		}
		remove := fields{"name": "delete_warranty", "arguments": fields{"id": kettle.ID}}
		refused("tools/call", remove, warranty.InsufficientScope, "delete_warranty is not available: this connection is read-only",
			"X-MCP-Readonly", "true")
		refused("tools/call", remove, warranty.InsufficientScope, "limited to get_warranty, list_claims",
			"X-MCP-Tools", "get_warranty,list_claims")
		refused("resources/read", fields{"uri": "warranty://warranties/" + kettle.ID}, warranty.InsufficientScope, "get_warranty",
			"X-MCP-Tools", "list_claims")
		refused("prompts/get", fields{"name": "register_warranty", "arguments": fields{"receipt_text": "a"}},
			warranty.InsufficientScope, "create_warranty", "X-MCP-Readonly", "true")
		w.Must(200, servertest.Request{Method: "GET", Path: "/api/v1/warranties/" + kettle.ID, Secret: ada.Session})

		for _, c := range []struct{ name, value, text string }{
			{"X-MCP-Tools", "get_warranty,drop_table", `X-MCP-Tools names an unknown tool: \"drop_table\"`},
			{"X-MCP-Tools", "get_warranty,", `unknown tool: \"\"`},
			{"X-MCP-Tools", "warranties.get", "unknown tool"},
			{"X-MCP-Tools", " ", "X-MCP-Tools is empty"},
			{"X-MCP-Readonly", "perhaps", "X-MCP-Readonly must be true or false"},
		} {
			r := full.send("POST", request(1, "tools/list", fields{}), c.name, c.value)
			if r.status != http.StatusBadRequest || r.rpc(t).Error == nil || !strings.Contains(r.body, c.text) {
				t.Errorf("%s: %q: %d %s", c.name, c.value, r.status, r.body)
			}
		}
	})
}

// TestDirectAnswersAreThoseOfTheSDK compares the calls that are answered without the SDK
// with those that a client of event streams gets from it.
func TestDirectAnswersAreThoseOfTheSDK(t *testing.T) {
	w := onSQLite(t)
	ada := w.Person("Ada")
	a := agentOf(w, ada, warranty.WarrantiesRead)
	kettle := w.Warranty(ada.Session, fields{"product_name": "Kettle <é> &amp; \"1\" \\", "category": "Kitchen"})
	for _, params := range []string{
		`{"name":"get_warranty","arguments":{"id":"` + kettle.ID + `"}}`,
		`{"name":"get_warranty","arguments":{"id":"` + kettle.ID + `"},"_meta":{"progressToken":7}}`,
		`{"name":"list_warranties"}`,
		`{"name":"list_warranties","arguments":null}`,
		`{"name":"list_warranties","arguments":{"limit":0}}`,
		`{"name":"list_warranties","arguments":[1]}`,
		`{"name":"get_warranty","arguments":{"id":"` + unknownID + `"}}`,
		`{"name":"delete_warranty","arguments":{"id":"` + kettle.ID + `"}}`,
		`{"name":"drop_table","arguments":{}}`,
		`{"name":7}`,
		`{}`,
		`[]`,
	} {
		for _, id := range []string{"1", `"a \"b\" é"`, "-9007199254740991"} {
			body := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":` + params + `}`
			direct := a.send("POST", body, "X-Request-Id", "the-same-id")
			streamed := a.send("POST", body, "X-Request-Id", "the-same-id", "Accept", "text/event-stream")
			_, data, ok := strings.Cut(streamed.body, "data: ")
			if !ok {
				data = streamed.body
			}
			var got, want any
			decode(t, []byte(direct.body), &got)
			decode(t, []byte(strings.TrimSpace(data)), &want)
			equal(t, params, got, want)
			equal(t, params+": status", direct.status, streamed.status)
		}
	}
}
