package server_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// TestOddQueries sends odd queries to every list of REST, MCP and the web pages: none fails. Package find
// tests how much work they are.
func TestOddQueries(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		nora := w.Person("Nora")
		for i := range 5 {
			record := w.Warranty(nora.Session, fields{
				"product_name": fmt.Sprintf("Kettle %d O'Neil %s", i, strings.Repeat("a b e\u0301 東芝洗濯機 ", 5)),
				"description":  strings.Repeat("a b c d e f g h 00 aaaa שלום مرحبا ", 20),
			})
			if i == 0 {
				w.Claim(nora.Session, record.ID)
			}
		}
		browser := w.SignedIn(t, nora)
		secret, _ := w.Token(nora)
		ask := func(q string) {
			t.Helper()
			query := "?q=" + url.QueryEscape(q)
			for _, path := range []string{"/warranties", "/claims", "/documents", "/warranties/summary"} {
				separator := "&group_by=status"
				if path != "/warranties/summary" {
					separator = "&limit=5"
				}
				w.Must(200, request{Method: "GET", Path: "/api/v1" + path + query + separator, Secret: nora.Session})
			}
			for _, tool := range []string{"list_warranties", "list_claims", "list_documents", "summarize_warranties"} {
				arguments := fields{"q": q}
				if tool == "summarize_warranties" {
					arguments["group_by"] = "status"
				}
				message, err := json.Marshal(fields{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
					"params": fields{"name": tool, "arguments": arguments}})
				if err != nil {
					t.Fatal(err)
				}
				a := mcpSend(t, w, "/api/mcp", string(message), "X-Api-Key", secret)
				if a.status != 200 || a.code != 0 || strings.Contains(a.body, `"isError":true`) {
					t.Errorf("%s(%q): %d %s", tool, q, a.status, a.body)
				}
			}
			for _, path := range []string{"/warranties", "/claims", "/documents"} {
				if p := browser.Get(path + query); p.Status != 200 {
					t.Errorf("%s%s: %d", path, query, p.Status)
				}
			}
		}
		for _, q := range testenv.OddQueries() {
			ask(q)
		}
	}, busy)
}
