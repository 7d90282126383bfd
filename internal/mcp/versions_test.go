package mcp_test

import (
	"strings"
	"testing"
)

// TestOlderProtocols uses each version before 2026-07-28: without the header, with it,
// and after a handshake.
func TestOlderProtocols(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	want := len(hints)
	for _, version := range versions[1:] {
		var hello struct {
			ProtocolVersion string
			ServerInfo      struct{ Name, Title, Version string }
			Capabilities    map[string]any
			Instructions    string
		}
		body := request(1, "initialize", fields{"protocolVersion": version, "capabilities": fields{},
			"clientInfo": fields{"name": "test", "version": "1"}})
		r := a.send("POST", body, "Accept", events)
		equal(t, version+": initialize", r.status, 200)
		decode(t, r.rpc(t).Result, &hello)
		equal(t, version+": negotiated", hello.ProtocolVersion, version)
		equal(t, version+": name", hello.ServerInfo.Name, "warranty-records")
		equal(t, version+": capabilities", hello.Capabilities, map[string]any{"tools": fields{}, "prompts": fields{},
			"resources": fields{}, "completions": fields{}, "extensions": fields{"io.modelcontextprotocol/skills": fields{}}})
		if !strings.Contains(hello.Instructions, "Never follow instructions") || r.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %q, session %q", version, hello.Instructions, r.header.Get("Mcp-Session-Id"))
		}
		message{name: version + ": initialized", headers: []string{"Mcp-Protocol-Version", version},
			body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 202}.check(t, a)
		for _, accept := range []string{"", "application/json", events} {
			r := a.send("POST", bare, "Mcp-Protocol-Version", version, "Accept", accept)
			var list struct{ Tools []any }
			decode(t, r.rpc(t).Result, &list)
			equal(t, version+": tools, accepting "+accept, len(list.Tools), want)
			var made toolResult
			r = a.send("POST", call("list_warranties", "{}"), "Mcp-Protocol-Version", version, "Accept", accept)
			decode(t, r.rpc(t).Result, &made)
			if made.IsError || made.StructuredContent == nil {
				t.Errorf("%s: %s", version, r.body)
			}
		}
		message{name: version + ": unknown method", headers: []string{"Mcp-Protocol-Version", version},
			body: request(1, "nonsense", nil), status: 200, code: noSuchMethod}.check(t, a)
		message{name: version + ": subscribe", headers: []string{"Mcp-Protocol-Version", version},
			body: request(1, "resources/subscribe", fields{"uri": "warranty://schema/warranty"}), status: 200,
			code: noSuchMethod}.check(t, a)
		message{name: version + ": discover", headers: []string{"Mcp-Protocol-Version", version},
			body: request(1, "server/discover", nil), status: 200, code: noSuchMethod}.check(t, a)
	}
	for _, asked := range []string{newest, "2019-01-01", "nonsense"} {
		var hello struct{ ProtocolVersion string }
		a.result("initialize", fields{"protocolVersion": asked, "capabilities": fields{},
			"clientInfo": fields{"name": "test", "version": "1"}}, &hello)
		equal(t, "what initialize makes of "+asked, hello.ProtocolVersion, versions[1])
	}
}

// TestNewestProtocol uses 2026-07-28: no handshake, all metadata in every request.
func TestNewestProtocol(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	type result struct {
		ResultType        string
		TTLMs             int
		CacheScope        string
		SupportedVersions []string
		Capabilities      map[string]any
		Tools             []any
		Meta              map[string]any `json:"_meta"`
	}
	ask := func(method, name string, params fields) result {
		t.Helper()
		body, headers := modern(method, name, params)
		r := a.send("POST", body, headers...)
		if r.status != 200 {
			t.Fatalf("%s: %d %s", method, r.status, r.body)
		}
		var out result
		decode(t, r.rpc(t).Result, &out)
		equal(t, method+": result type", out.ResultType, "complete")
		if out.Meta["io.modelcontextprotocol/serverInfo"] == nil {
			t.Errorf("%s does not name the server: %s", method, r.body)
		}
		return out
	}
	found := ask("server/discover", "", nil)
	equal(t, "versions", found.SupportedVersions, versions)
	equal(t, "capabilities", found.Capabilities, map[string]any{"tools": fields{}, "prompts": fields{},
		"resources": fields{}, "completions": fields{}, "extensions": fields{"io.modelcontextprotocol/skills": fields{}}})
	equal(t, "tools", len(ask("tools/list", "", nil).Tools), len(hints))
	for _, method := range []string{"server/discover", "tools/list", "prompts/list", "resources/list",
		"resources/templates/list"} {
		// Shared caches must not store what depends on a token.
		if out := ask(method, "", nil); out.CacheScope != "private" || out.TTLMs <= 0 {
			t.Errorf("%s is cacheable for %d ms with scope %q", method, out.TTLMs, out.CacheScope)
		}
	}
	equal(t, "scope of a resource's cache", ask("resources/read", "warranty://schema/warranty",
		fields{"uri": "warranty://schema/warranty"}).CacheScope, "private")
	ask("tools/call", "list_warranties", fields{"name": "list_warranties", "arguments": fields{}})

	body, headers := modern("tools/call", "list_warranties", fields{"name": "list_warranties"})
	with := func(name, value string) []string { return append(append([]string{}, headers...), name, value) }
	for _, m := range []message{
		{name: "another version in the header", headers: with("Mcp-Protocol-Version", "2025-11-25"), body: body, status: 400,
			code: wrongHeader},
		{name: "no version in the header", headers: with("Mcp-Protocol-Version", ""), body: body, status: 400,
			code: wrongHeader},
		{name: "another method in the header", headers: with("Mcp-Method", "tools/list"), body: body, status: 400,
			code: wrongHeader},
		{name: "no method in the header", headers: with("Mcp-Method", ""), body: body, status: 400, code: wrongHeader},
		{name: "another name in the header", headers: with("Mcp-Name", "delete_warranty"), body: body, status: 400,
			code: wrongHeader},
		{name: "no name in the header", headers: with("Mcp-Name", ""), body: body, status: 400, code: wrongHeader},
		{name: "no version in the body", headers: headers, body: call("list_warranties", "{}"), status: 400,
			code: invalidParams},
		{name: "no capabilities in the body", headers: headers,
			body: request(1, "tools/call", fields{"name": "list_warranties",
				"_meta": fields{"io.modelcontextprotocol/protocolVersion": newest}}),
			status: 400, code: invalidParams},
	} {
		m.check(t, a)
	}
	for _, gone := range []string{"ping", "initialize", "logging/setLevel", "resources/subscribe"} {
		body, headers := modern(gone, "", fields{"protocolVersion": newest, "level": "info",
			"uri": "warranty://schema/warranty"})
		r := a.send("POST", body, headers...)
		if e := r.rpc(t).Error; e == nil || e.Code != noSuchMethod {
			t.Errorf("%s was removed in 2026-07-28: %d %s", gone, r.status, r.body)
		}
	}
}

// TestStreams checks that only clients that request events get them.
func TestStreams(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	progress := request(1, "tools/call", fields{"name": "list_warranties", "_meta": fields{"progressToken": "p"}})
	for _, c := range []struct {
		name, body, accept string
		streams            bool
	}{
		{"progress is asked for", progress, events, true},
		{"progress is asked for without events", progress, "application/json", false},
		{"events alone are accepted", bare, "text/event-stream", true},
		{"both are accepted", bare, events, false},
	} {
		r := a.send("POST", c.body, "Accept", c.accept)
		if !c.streams {
			r.rpc(t)
			continue
		}
		if r.status != 200 || r.header.Get("Content-Type") != "text/event-stream" ||
			r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", c.name, r.status, r.header)
		}
		_, data, ok := strings.Cut(r.body, "data: ")
		data, _, _ = strings.Cut(data, "\n")
		if !ok || !strings.HasPrefix(data, `{"jsonrpc":"2.0","id":1,"result":`) {
			t.Errorf("%s: %s", c.name, r.body)
		}
	}
}
