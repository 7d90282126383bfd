package mcp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// tools returns the raw response to tools/list.
func (a agent) tools() json.RawMessage {
	a.t.Helper()
	var list struct{ Tools json.RawMessage }
	a.result("tools/list", fields{}, &list)
	return list.Tools
}

// hints are the annotations of each tool: read-only, destructive, idempotent, open-world. Handing a warranty over
// is destructive, because a code that was printed before no longer works; and like creating one it can email
// strangers.
var hints = map[string][4]bool{
	"list_warranties":      {true, false, true, false},
	"summarize_warranties": {true, false, true, false},
	"get_warranty":         {true, false, true, false},
	"verify_warranty":      {true, false, true, false},
	"list_claims":          {true, false, true, false},
	"get_claim":            {true, false, true, false},
	"list_documents":       {true, false, true, false},
	"get_document":         {true, false, true, false},
	"create_warranty":      {false, false, false, true},
	"issue_warranty":       {false, false, false, true},
	"update_warranty":      {false, true, true, false},
	"delete_warranty":      {false, true, true, false},
	"hand_over_warranty":   {false, true, false, true},
	"cancel_hand_over":     {false, true, true, false},
	"lookup_warranties":    {true, false, true, false},
	"list_customers":       {true, false, true, false},
	"list_changes":         {true, false, true, false},
	"list_confirmations":   {true, false, true, false},
	"confirm_warranty":     {false, true, true, false},
}

// TestToolsAreComplete compares the list with the operation table and the contract.
func TestToolsAreComplete(t *testing.T) {
	w := onSQLite(t)
	var tools []struct {
		Name, Title, Description string
		Annotations              struct {
			ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool
		}
		InputSchema, OutputSchema map[string]any
	}
	decode(t, agentOf(w, w.Person("Ada")).tools(), &tools)
	seen := map[string]bool{}
	for _, tool := range tools {
		seen[tool.Name] = true
		want, known := hints[tool.Name]
		a := tool.Annotations
		if !known || a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
			t.Errorf("%s is not in the contract, or lacks a hint", tool.Name)
			continue
		}
		if got := [4]bool{*a.ReadOnlyHint, *a.DestructiveHint, *a.IdempotentHint, *a.OpenWorldHint}; got != want {
			t.Errorf("%s has the hints %v, not %v", tool.Name, got, want)
		}
		if tool.Title == "" || !strings.HasSuffix(tool.Description, ".") {
			t.Errorf("%s has the title %q and the description %q", tool.Name, tool.Title, tool.Description)
		}
		if tool.InputSchema["additionalProperties"] != false {
			t.Errorf("%s allows additional properties", tool.Name)
		}
		checkSchema(t, tool.Name, tool.InputSchema, true)
		checkSchema(t, tool.Name, tool.OutputSchema, false)
		checkNamed(t, tool.Name, tool.OutputSchema)
	}
	for _, op := range api.Operations() {
		if op.Tool != "" && !seen[op.Tool] {
			t.Errorf("%s is not listed", op.Tool)
		}
	}
	equal(t, "number of tools", len(seen), len(hints))
}

var secretName = regexp.MustCompile(`(?i)secret|password|token|api_?key|credential`)

// checkNamed checks that the output schema names the fields of the record.
func checkNamed(t testing.TB, tool string, schema map[string]any) {
	t.Helper()
	properties := schema["properties"].(map[string]any)
	if properties["done"] != nil {
		return
	}
	data := properties["data"].(map[string]any)
	if list, _ := data["properties"].(map[string]any); len(list) == 1 && list["results"] != nil {
		data = list["results"].(map[string]any)
	}
	if items, ok := data["items"].(map[string]any); ok {
		data = items
	}
	if fields, _ := data["properties"].(map[string]any); len(fields) < 3 {
		t.Errorf("%s names the fields %v", tool, fields)
	}
}

// checkSchema checks that every client can use a schema: no null types, no references, no
// credentials, and if described, a description of every property.
func checkSchema(t testing.TB, at string, schema map[string]any, described bool) {
	t.Helper()
	for _, no := range []string{"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "nullable"} {
		if _, ok := schema[no]; ok {
			t.Errorf("%s has %s", at, no)
		}
	}
	if kind, ok := schema["type"].(string); !ok || kind == "null" {
		t.Errorf("%s has the type %v", at, schema["type"])
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, value := range properties {
		property := value.(map[string]any)
		if text, _ := property["description"].(string); described && text == "" || strings.Contains(text, "null") {
			t.Errorf("%s.%s is described as %q", at, name, text)
		}
		if secretName.MatchString(name) {
			t.Errorf("%s.%s looks like a credential", at, name)
		}
		checkSchema(t, at+"."+name, property, described)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		checkSchema(t, at+"[]", items, described)
	}
}

// validators returns the compiled output schemas of all tools.
func validators(t testing.TB, list json.RawMessage) map[string]*jsonschema.Schema {
	t.Helper()
	var tools []struct {
		Name         string
		OutputSchema json.RawMessage
	}
	decode(t, list, &tools)
	out := map[string]*jsonschema.Schema{}
	for _, tool := range tools {
		out[tool.Name] = compile(t, tool.OutputSchema)
	}
	return out
}

func compile(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// TestEveryToolAnswersAsItsSchemaSays calls tools on records with and without optional
// fields, and each tool with its example in the documentation. It compares the results
// with the schemas and with REST.
func TestEveryToolAnswersAsItsSchemaSays(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		ada := w.Verified("Ada")
		a := agentOf(w, ada)
		schemas := validators(t, a.tools())
		full := w.Warranty(ada.Session, fields{"description": "Two\nlines", "serial_number": "SN-12345678",
			"category": "Kitchen", "supplier": "Berg",
			"seller_name": "Ben", "seller_email": "ben@people.example"})
		bare := w.Warranty(ada.Session, nil)
		claimID, documentID := claim(w, ada.Session, full.ID, "It leaks"), document(w, ada.Session, full.ID, "receipt.txt")
		written := strings.Join(slices.DeleteFunc(jsonNames(api.GetWarranty.Record()), func(name string) bool {
			return name == "-" || name == "claim_count" // only of what is read
		}), ",")
		for _, c := range []struct {
			tool      string
			arguments any
			rest      string // the same over REST
		}{
			{"list_warranties", nil, "/warranties"},
			{"list_warranties", fields{"limit": 1, "page": 2, "status": "active", "q": "Kettle"},
				"/warranties?limit=1&page=2&status=active&q=Kettle"},
			{"list_warranties", fields{"page": 1000}, "/warranties?page=1000"},
			{"get_warranty", fields{"id": full.ID}, "/warranties/" + full.ID},
			{"get_warranty", fields{"id": bare.ID}, "/warranties/" + bare.ID},
			{"create_warranty", fields{"product_name": "Lamp", "start_date": "2026-01-01", "end_date": "9999-12-31"}, ""},
			{"update_warranty", fields{"id": bare.ID, "category": "Light"}, "/warranties/" + bare.ID + "?fields=" + written},
			{"verify_warranty", fields{"reference": full.ReferenceNumber, "serial": "SN-12345678"}, ""},
			{"verify_warranty", fields{"reference": strings.ToLower(bare.ReferenceNumber)}, ""},
			{"list_claims", fields{"warranty_id": full.ID, "status": "submitted"},
				"/claims?status=submitted&warranty_id=" + full.ID},
			{"get_claim", fields{"id": claimID}, "/claims/" + claimID},
			{"list_documents", fields{"q": "receipt"}, "/documents?q=receipt"},
			{"get_document", fields{"id": documentID}, "/documents/" + documentID},
			{"delete_warranty", fields{"id": bare.ID}, ""},
		} {
			if r := a.fits(schemas, c.tool, c.arguments); c.rest != "" {
				sameAsREST(t, w, a, c.tool, c.rest, r)
			}
		}
		examples, err := describe.Examples()
		if err != nil {
			t.Fatal(err)
		}
		stage := &servertest.Stage{T: t, URL: w.HTTP.URL, Client: w.Client, MailedCode: w.MailedCode,
			MailedNotMe: w.MailedNotMe, Account: ada}
		for _, e := range examples {
			if e.Spec.Tool == "" {
				continue
			}
			values, who := stage.Set(e.Spec), a
			if slices.Contains([]string{api.IssueWarranty.Tool, api.OfferHandover.Tool, api.CancelHandover.Tool}, e.Spec.Tool) {
				who.secret = values["SVC_API_KEY"] // of an organization
			}
			who.fits(schemas, e.Spec.Tool, json.RawMessage(e.Arguments(values)))
		}
	})
}

// fits calls a tool and checks its result against the schema.
func (a agent) fits(schemas map[string]*jsonschema.Schema, tool string, arguments any) json.RawMessage {
	a.t.Helper()
	r := a.call(tool, arguments)
	if r.IsError || r.StructuredContent == nil {
		a.t.Errorf("%s %v: %s", tool, arguments, r.Content[0].Text)
		return nil
	}
	var structured any
	decode(a.t, r.StructuredContent, &structured)
	equal(a.t, tool+": text and structured content", asRecords(a.t, r.Content[0].Text), structured)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.StructuredContent))
	if err != nil {
		a.t.Fatal(err)
	}
	if err := schemas[tool].Validate(value); err != nil {
		a.t.Errorf("%s: %v\n%s", tool, err, r.StructuredContent)
	}
	return r.StructuredContent
}

// asRecords decodes the text of a tool, with the rows of a list as records.
func asRecords(t testing.TB, text string) any {
	t.Helper()
	var value map[string]any
	decode(t, []byte(text), &value)
	columns, ok := value["columns"].([]any)
	if !ok {
		return value
	}
	delete(value, "columns")
	rows := value["data"].([]any)
	for i, row := range rows {
		record := map[string]any{}
		for k, name := range columns {
			record[name.(string)] = row.([]any)[k]
		}
		rows[i] = record
	}
	return withoutNulls(value)
}

// sameAsREST compares a tool's result with REST's: a list has the tool's fields, null
// members are omitted, and the ETag and the day are next to the data.
func sameAsREST(t testing.TB, w *servertest.World, a agent, tool, path string, structured json.RawMessage) {
	t.Helper()
	for _, op := range api.Operations() {
		if op.Tool == tool && op.ToolFields != nil {
			address, query, _ := strings.Cut(path, "?")
			path = address + "?fields=" + strings.Join(op.ToolFields, ",") + "&" + query
		}
	}
	answer := w.Must(200, servertest.Request{Method: "GET", Path: "/api/v1" + path, Secret: a.secret})
	var got, want any
	decode(t, structured, &got)
	decode(t, []byte(answer.Body), &want)
	want = withoutNulls(want)
	if tag := answer.Header.Get("ETag"); tag != "" {
		want.(map[string]any)["etag"] = tag
	}
	want.(map[string]any)["today"] = warranty.DateOf(w.Service.Now()).String()
	equal(t, tool+" and REST", got, want)
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
				continue
			}
			v[name] = withoutNulls(member)
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// TestETagsOfToolsAreHonoured uses the ETag of one result in the next call.
func TestETagsOfToolsAreHonoured(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		a := agentOf(w, w.Person("Ada"))
		var first, second record
		a.must("create_warranty", fields{"product_name": "Lamp", "start_date": "2026-01-01", "end_date": "2027-01-01"},
			&first)
		a.must("update_warranty", fields{"id": first.Data.ID, "category": "Light", "if_match": first.ETag}, &second)
		equal(t, "late change", a.refused("update_warranty", fields{"id": first.Data.ID, "category": "Dark",
			"if_match": first.ETag}).Code, warranty.PreconditionFailed)
		equal(t, "late delete", a.refused("delete_warranty", fields{"id": first.Data.ID, "if_match": first.ETag}).Code,
			warranty.PreconditionFailed)
		a.must("delete_warranty", fields{"id": first.Data.ID, "if_match": second.ETag}, new(any))
	})
}

// TestCreateToolTakesAKey checks that a repeated call with the same key creates one
// record, also across MCP and REST.
func TestCreateToolTakesAKey(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		a := agentOf(w, w.Person("Ada"))
		body := fields{"product_name": "Lamp", "start_date": "2026-01-01", "end_date": "2027-01-01"}
		keyed := fields{"product_name": "Lamp", "start_date": "2026-01-01", "end_date": "2027-01-01",
			"idempotency_key": "one"}
		var first, again record
		a.must("create_warranty", keyed, &first)
		a.must("create_warranty", keyed, &again)
		equal(t, "second answer", again, first)
		var rest servertest.Record
		answer := w.Must(201, servertest.Request{Method: "POST", Path: "/api/v1/warranties", Secret: a.secret, Body: body,
			Header: map[string]string{"Idempotency-Key": "one"}})
		answer.Into(t, &rest)
		equal(t, "REST's answer to the same key", rest.ID, first.Data.ID)
		equal(t, "replayed", answer.Header.Get("Idempotent-Replayed"), "true")
		keyed["product_name"] = "Other lamp"
		equal(t, "other body", a.refused("create_warranty", keyed).Code, warranty.IdempotencyKeyReused)
		var list struct{ Pagination struct{ Total int } }
		a.must("list_warranties", nil, &list)
		equal(t, "records", list.Pagination.Total, 1)
		delete(keyed, "idempotency_key")
		a.must("create_warranty", keyed, &again)
		if again.Data.ID == first.Data.ID {
			t.Error("without a key, a second call did not create a second record")
		}
	})
}

// TestIssueTool issues a warranty of a shop once: a repetition has no code and says why.
func TestIssueTool(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		halden, kim := shopOf(w, "Halden Electronics"), w.Verified("Kim")
		var product struct{ ID string }
		w.Must(201, servertest.Request{Method: "POST", Path: "/api/products", Secret: halden.member.Session,
			Header: halden.headers, Body: fields{"name": "Hob T64", "length_months": 24}}).Into(t, &product)
		type issued struct {
			Data struct {
				Warranty   warranty.Warranty
				Code, Note string
			}
			ETag string
		}
		var first, again issued
		sale := fields{"product_id": product.ID, "print": true, "serial_number": "T64-1", "idempotency_key": "one",
			"customer_email": nil}
		halden.must("issue_warranty", sale, &first)
		halden.must("issue_warranty", sale, &again)
		equal(t, "the record of the repetition", again.Data.Warranty.ID, first.Data.Warranty.ID)
		equal(t, "product", first.Data.Warranty.ProductName, "Hob T64")
		if first.Data.Code == "" || again.Data.Code != "" || first.Data.Note != "" ||
			again.Data.Note != warranty.CodeShownOnce || first.ETag != `"1"` {
			t.Errorf("issued %+v, then %+v", first, again)
		}
		w.Must(200, servertest.Request{Method: "POST", Path: "/api/handovers/take", Secret: kim.Session,
			Body: fields{"code": first.Data.Code}})
		sale["customer_email"] = "kim@people.example"
		equal(t, "both", halden.refused("issue_warranty", sale).Code, warranty.ValidationFailed)
		delete(sale, "customer_email")
		equal(t, "a person", agentOf(w, kim).refused("issue_warranty", sale).Code, warranty.RoleNotAllowed)
	})
}

// TestArgumentsThatAreNull checks that null counts as not given: models tend to fill in
// every argument.
func TestArgumentsThatAreNull(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	var made record
	a.must("create_warranty", fields{"product_name": "Lamp", "start_date": "2026-01-01", "end_date": "2027-01-01",
		"category": "Light", "supplier": nil, "idempotency_key": nil}, &made)
	a.must("update_warranty", fields{"id": made.Data.ID, "category": nil, "status": nil, "if_match": nil,
		"supplier": "Berg"}, &made)
	if made.Data.Category == nil || *made.Data.Category != "Light" {
		t.Errorf("null cleared a field: %+v", made.Data)
	}
	for _, arguments := range []string{"null", "{}"} {
		r := a.send("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_warranties","arguments":`+
			arguments+`}}`)
		if !strings.Contains(r.body, `"structuredContent"`) {
			t.Errorf("arguments %s: %s", arguments, r.body)
		}
	}
	equal(t, "arguments that are a list", a.refused("list_warranties", []int{1}).Code, warranty.MalformedRequest)
}

// TestGuideIsTrue compares docs/agents.md with the server: every prompt, template and
// protocol version. Its examples must be valid JSON. Its table of tools is generated.
func TestGuideIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(text)
	for scope, what := range granted {
		for _, name := range append(what.templates, what.prompts...) {
			if !strings.Contains(guide, "| `"+name+"` | `"+string(scope)+"` |") {
				t.Errorf("docs/agents.md does not say that %s needs %s", name, scope)
			}
		}
	}
	for _, version := range versions {
		if !strings.Contains(guide, version) {
			t.Errorf("docs/agents.md does not mention %s", version)
		}
	}
	examples := regexp.MustCompile("(?ms)^```json\n(.*?)^```$").FindAllStringSubmatch(guide, -1)
	for _, example := range examples {
		if !json.Valid([]byte(example[1])) {
			t.Errorf("docs/agents.md has an example that is not JSON:\n%s", example[1])
		}
	}
	if len(examples) < 8 {
		t.Errorf("%d examples", len(examples))
	}
}

// TestArgumentsThatModelsSend sends arguments of the wrong shape, and whole numbers with a fraction.
func TestArgumentsThatModelsSend(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	for arguments, want := range map[string]string{
		`[]`:                   "The arguments are malformed",
		`"x"`:                  "The arguments are malformed",
		`{"page":1.5}`:         "Must be an integer.",
		`{"fields":[""]}`:      "Unknown field: (empty)",
		`{"fields":["id",""]}`: "Unknown field: (empty)",
		`{"fields":[5]}`:       "Must be a list of field names.",
		`{"page":1.0}`:         `"page":1`,
		`{"limit":1e1}`:        `"limit":10`,
		`{"fields":[]}`:        `"columns":["id"`,
	} {
		for _, headers := range [][]string{nil, {"Accept", "text/event-stream"}} { // without and with the SDK
			if r := a.send("POST", call("list_warranties", arguments), headers...); r.status != 200 ||
				!strings.Contains(strings.ReplaceAll(r.body, `\"`, `"`), want) {
				t.Errorf("%s: %d %s does not contain %s", arguments, r.status, r.body, want)
			}
		}
	}
}
