package openapitest

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDocumentFaultsAreFound breaks each rule in the published document.
func TestDocumentFaultsAreFound(t *testing.T) {
	CheckDocument(t, published(t))
	type object = map[string]any
	in := func(root object, names ...string) object {
		for _, name := range names {
			root = root[name].(object)
		}
		return root
	}
	first := func(root object) object { return in(root, "paths", "/api/v1/warranties/{id}", "get") }
	for name, test := range map[string]struct {
		spoil func(root object)
		want  string
	}{
		"version":             {func(d object) { d["openapi"] = "3.2.0" }, "openapi"},
		"unknown member":      {func(d object) { d["path"] = object{} }, "path"},
		"no title":            {func(d object) { delete(in(d, "info"), "title") }, "title"},
		"relative path":       {func(d object) { in(d, "paths")["api"] = object{} }, "api"},
		"unknown method":      {func(d object) { in(d, "paths", "/api/v1/claims")["fetch"] = object{} }, "fetch"},
		"unknown field":       {func(d object) { first(d)["scope"] = "x" }, "scope"},
		"no responses":        {func(d object) { first(d)["responses"] = object{} }, "responses"},
		"status":              {func(d object) { in(first(d), "responses")["600"] = object{"description": "x"} }, "600"},
		"undescribed":         {func(d object) { in(first(d), "responses")["200"] = object{} }, "description"},
		"optional in a path":  {func(d object) { first(d)["parameters"].([]any)[0].(object)["required"] = false }, "required"},
		"parameter of a body": {func(d object) { first(d)["parameters"].([]any)[0].(object)["in"] = "body" }, "in"},
		"no schema":           {func(d object) { delete(first(d)["parameters"].([]any)[0].(object), "schema") }, "schema"},
		"two examples": {func(d object) {
			content := in(first(d), "responses", "200", "content", "application/json")
			content["example"], content["examples"] = 1, object{"one": object{"value": 1}}
		}, "not"},
		"bad reference": {func(d object) { in(first(d), "responses")["404"] = object{"$ref": "#/components/responses/x"} },
			"#/components/responses/x, which does not exist"},
		"bad schema": {func(d object) { in(d, "components", "schemas", "Warranty")["type"] = "record" }, "Warranty"},
		"bad inline schema": {func(d object) {
			first(d)["parameters"].([]any)[0].(object)["schema"] = object{"minLength": -1}
		}, "minLength"},
		"same id":          {func(d object) { first(d)["operationId"] = "claims.list" }, "same operationId"},
		"unknown tag":      {func(d object) { first(d)["tags"] = []any{"x"} }, `the tag "x"`},
		"unknown security": {func(d object) { first(d)["security"] = []any{object{"basic": []any{}}} }, `needs "basic"`},
		"path parameter":   {func(d object) { delete(first(d), "parameters") }, "does not describe {id}"},
		"not in the path": {func(d object) {
			in(d, "paths", "/api/v1/claims", "get")["parameters"] = first(d)["parameters"]
		}, "which is not in its path"},
		"parameter twice": {func(d object) {
			p := first(d)["parameters"].([]any)
			again := object{"description": "again"}
			for name, value := range p[0].(object) {
				if name != "description" {
					again[name] = value
				}
			}
			first(d)["parameters"] = append(p, again)
		}, "twice"},
		"same path": {func(d object) {
			in(d, "paths")["/api/v1/warranties/{key}"] = object{}
		}, "are the same path"},
		"scheme": {func(d object) { in(d, "components", "securitySchemes", "bearer")["type"] = "token" }, "bearer"},
		"media":  {func(d object) { in(first(d), "responses", "200", "content")["json"] = object{} }, "json"},
	} {
		t.Run(name, func(t *testing.T) {
			var root object
			if err := json.Unmarshal(published(t), &root); err != nil {
				t.Fatal(err)
			}
			test.spoil(root)
			doc, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			fake := &recorder{}
			CheckDocument(fake, doc)
			if len(fake.said) == 0 || !strings.Contains(strings.Join(fake.said, "\n"), test.want) {
				t.Errorf("reported %q, want a fault that contains %q", fake.said, test.want)
			}
		})
	}
}
