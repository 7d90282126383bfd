package mcp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// granted maps each scope to what an agent sees: the tools by the operation table, the
// templates and prompts by the contract.
var granted = func() map[warranty.Scope]*grant {
	list := map[warranty.Scope]*grant{
		warranty.WarrantiesRead: {
			templates: []string{"warranty://warranties/{id}"},
			prompts:   []string{"review_expiring_warranties", "summarize_warranty"},
			resources: []string{"skill://prepare-claim/SKILL.md"},
		},
		warranty.WarrantiesWrite: {
			prompts:   []string{"register_warranty"},
			resources: []string{"skill://register-purchase/SKILL.md"},
		},
		warranty.ClaimsRead:    {templates: []string{"warranty://claims/{id}"}},
		warranty.DocumentsRead: {templates: []string{"warranty://documents/{id}"}},
	}
	for _, op := range api.Operations() {
		if op.Tool != "" {
			list[op.Scope].tools = append(list[op.Scope].tools, op.Tool)
		}
	}
	return list
}()

type grant struct{ tools, templates, prompts, resources []string }

// TestScopesDecideWhatAnAgentSees tries every set of scopes: the lists contain what is
// granted, in a fixed order, and nothing else can be used.
func TestScopesDecideWhatAnAgentSees(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		ada := w.Person("Ada")
		kettle := w.Warranty(ada.Session, nil)
		ids := map[string]string{"warranty": kettle.ID, "claim": claim(w, ada.Session, kettle.ID, "It leaks"),
			"document": document(w, ada.Session, kettle.ID, "receipt.txt")}
		for mask := int64(1); mask < 16; mask++ {
			scopes := warranty.ScopesOf(mask)
			a := agentOf(w, ada, scopes...)
			var tools, templates, prompts []string
			resources := []string{"warranty://schema/warranty"}
			for _, scope := range scopes {
				tools = append(tools, granted[scope].tools...)
				templates = append(templates, granted[scope].templates...)
				prompts = append(prompts, granted[scope].prompts...)
				resources = append(resources, granted[scope].resources...)
			}
			var list struct{ ResourceTemplates, Prompts, Resources json.RawMessage }
			equal(t, "tools", names(t, a.tools(), "name"), sorted(tools))
			a.result("resources/templates/list", nil, &list)
			equal(t, "templates", names(t, list.ResourceTemplates, "uriTemplate"), sorted(orNone(templates)))
			a.result("prompts/list", nil, &list)
			equal(t, "prompts", names(t, list.Prompts, "name"), sorted(orNone(prompts)))
			a.result("resources/list", nil, &list)
			equal(t, "resources", names(t, list.Resources, "uri"), sorted(resources))
			for scope, what := range granted {
				if !scopes.Has(scope) {
					a.mayNot(scope, what.tools, what.templates, what.prompts, ids)
				}
			}
		}
		equal(t, "the record after all of this", w.Must(200, servertest.Request{Method: "GET",
			Path: "/api/v1/warranties/" + kettle.ID, Secret: ada.Session}).Header.Get("ETag"), `"1"`)
	})
}

func orNone(list []string) []string { return append([]string{}, list...) }

// mayNot uses what is not listed: the error must name the missing scope.
func (a agent) mayNot(scope warranty.Scope, tools, templates, prompts []string, ids map[string]string) {
	a.t.Helper()
	lacks := func(what string, p warranty.Problem) {
		a.t.Helper()
		if p.Code != warranty.InsufficientScope || p.Status != 403 || !strings.Contains(p.Detail, string(scope)) {
			a.t.Errorf("%s without %s: %+v", what, scope, p)
		}
	}
	for _, tool := range tools {
		_, noun, _ := strings.Cut(tool, "_")
		lacks(tool, a.refused(tool, fields{"id": ids[noun]}))
		// The scope is checked before the arguments.
		lacks(tool+" with nonsense", a.refused(tool, fields{"nonsense": true}))
	}
	for _, template := range templates {
		noun := strings.TrimSuffix(strings.TrimPrefix(template, "warranty://"), "s/{id}")
		if noun == "warrantie" {
			noun = "warranty"
		}
		r := a.ask("resources/read", fields{"uri": strings.Replace(template, "{id}", ids[noun], 1)})
		if r.Error == nil || r.Error.Code != forbidden {
			a.t.Errorf("%s without %s: %s", template, scope, r.Result)
			continue
		}
		lacks(template, r.Error.problem(a.t))
		equal(a.t, "completions of "+template, a.complete(fields{"type": "ref/resource", "uri": template}, "id", ""),
			[]string{})
	}
	for _, prompt := range prompts {
		r := a.ask("prompts/get", fields{"name": prompt, "arguments": fields{"id": ids["warranty"], "receipt_text": "x",
			"days": "30"}})
		if r.Error == nil || r.Error.Code != forbidden {
			a.t.Errorf("%s without %s: %s", prompt, scope, r.Result)
			continue
		}
		lacks(prompt, r.Error.problem(a.t))
	}
}

// TestUnknownNamesAreNotScopes checks that an unknown tool gets a different error than one
// without the scope.
func TestUnknownNamesAreNotScopes(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"), warranty.ClaimsRead)
	for method, params := range map[string]fields{
		"tools/call":     {"name": "create_token", "arguments": fields{}},
		"prompts/get":    {"name": "nonsense"},
		"resources/read": {"uri": "warranty://tokens/" + unknownID},
	} {
		if r := a.ask(method, params); r.Error == nil || r.Error.Code != invalidParams {
			t.Errorf("%s: %+v", method, r)
		}
	}
}

// TestSessionsSeeAll checks that a session has all scopes.
func TestSessionsSeeAll(t *testing.T) {
	w := onSQLite(t)
	ada := w.Person("Ada")
	r := agentOf(w, ada).send("POST", bare, "X-Api-Key", "", "Authorization", "Bearer "+ada.Session)
	var list struct{ Tools json.RawMessage }
	decode(t, r.rpc(t).Result, &list)
	equal(t, "tools", len(names(t, list.Tools, "name")), len(hints))
}

// TestListsHaveAFixedOrder checks that lists are stable, so that clients can cache them.
func TestListsHaveAFixedOrder(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	first := a.send("POST", bare).body
	for range 20 {
		equal(t, "tools/list", a.send("POST", bare).body, first)
	}
	if tools := names(t, a.tools(), "name"); !slices.IsSorted(tools) {
		t.Errorf("the order is %v", tools)
	}
}
