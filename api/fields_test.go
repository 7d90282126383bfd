package api_test

import (
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

func TestPickAndRows(t *testing.T) {
	const (
		page = `{"data":[{"id":"1","warranty":{"id":"2","name":null},"note":null,"list":[1,{"a":2}]},{"note":"x","id":"3"}],` +
			`"pagination":{"page":1,"id":7},"next":"a"}`
		rest = `"pagination":{"page":1,"id":7},"next":"a"}`
		one  = `{"data":{"id":"1","note":"\u00e9 \"q\""},"etag":"2"}`
	)
	for _, c := range []struct {
		name, body string
		fields     []string
		pick, rows string
	}{
		{"page", page, []string{"id", "note"},
			`{"data":[{"id":"1","note":null},{"note":"x","id":"3"}],` + rest,
			`{"columns":["id","note"],"data":[["1",null],["3","x"]],` + rest},
		{"nested", page, []string{"warranty", "list"},
			`{"data":[{"warranty":{"id":"2","name":null},"list":[1,{"a":2}]},{}],` + rest,
			`{"columns":["warranty","list"],"data":[[{"id":"2","name":null},[1,{"a":2}]],[null,null]],` + rest},
		{"empty page", `{"data":[],"pagination":{}}`, []string{"id"},
			`{"data":[],"pagination":{}}`, `{"columns":["id"],"data":[],"pagination":{}}`},
		{"one record", one, []string{"note"}, `{"data":{"note":"\u00e9 \"q\""},"etag":"2"}`, ""},
		{"no such field", one, []string{"other"}, `{"data":{},"etag":"2"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := api.Pick([]byte(c.body), c.fields)
			if err != nil || string(got) != c.pick {
				t.Errorf("Pick: %v\n%s\n%s", err, got, c.pick)
			}
			if c.rows == "" {
				return
			}
			if got, err = api.Rows([]byte(c.body), c.fields); err != nil || string(got) != c.rows {
				t.Errorf("Rows: %v\n%s\n%s", err, got, c.rows)
			}
		})
	}
	for _, body := range []string{"", "[]", `{"data":[{]}`, `{"data":[1]}`, `{"data":"x"}`, `{"data":{}`} {
		if got, err := api.Pick([]byte(body), []string{"id"}); err == nil {
			t.Errorf("Pick accepts %s: %s", body, got)
		}
	}
}

// TestFieldNames checks that only the fields of the record can be selected, and that the
// error names the wrong one.
func TestFieldNames(t *testing.T) {
	for query, code := range map[string]string{
		"fields=id":                         "",
		"fields=status,id,id":               "",
		"fields=id,%20status":               "",
		"fields=":                           "fields empty",
		"fields=id,":                        "fields unknown_field",
		"fields=,":                          "fields unknown_field",
		"fields=ID":                         "fields unknown_field",
		"fields=standing":                   "fields unknown_field",
		"fields=version":                    "fields unknown_field",
		"fields=warranty.id":                "fields unknown_field",
		"fields=*":                          "fields unknown_field",
		"fields=id&fields=status":           "fields duplicate",
		"fields=id%2Cproduct_name%2Cstatus": "",
	} {
		for _, op := range []*api.Spec{api.ListWarranties.Spec, api.GetWarranty.Spec, api.ListClaims.Spec} {
			if op == api.ListClaims.Spec && query == "fields=id%2Cproduct_name%2Cstatus" {
				continue // claims have no such field
			}
			_, err := op.Decode(api.Parts{Query: query, Path: func(string) string { return someID.String() }})
			if code == "" {
				expect(t, err, "")
			} else {
				expect(t, err, warranty.ValidationFailed, code)
			}
		}
	}
}

// TestColumns checks the order of the fields that a tool returns.
func TestColumns(t *testing.T) {
	for fields, want := range map[warranty.FieldNames]int{"": len(api.ListWarranties.ToolFields), "status,id,status": 2} {
		in := &warranty.ListWarranties{Selection: warranty.Selection{Fields: fields}}
		if got := api.ListWarranties.Columns(in); len(got) != want || got[0] != "id" {
			t.Errorf("%q: %v", fields, got)
		}
	}
	if got := api.GetWarranty.Columns(&warranty.GetWarranty{}); got != nil {
		t.Errorf("all fields of one record: %v", got)
	}
	if got := api.CreateWarranty.Columns(&warranty.CreateWarranty{}); got != nil {
		t.Errorf("an operation without fields: %v", got)
	}
}
