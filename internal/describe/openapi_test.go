package describe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/openapitest"
	"warranty.example/svc/warranty"
)

const goldenURL = "https://warranty.example.com"

func generate(t testing.TB) []byte {
	t.Helper()
	doc, err := OpenAPI(goldenURL, Version)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestOpenAPIIsDeterministic(t *testing.T) {
	if !bytes.Equal(generate(t), generate(t)) {
		t.Error("two documents differ")
	}
}

// published is the document with its references followed.
type published struct {
	Paths      map[string]map[string]publishedOperation
	Tags       []struct{ Name, Description string }
	Components struct {
		Schemas   map[string]publishedSchema
		Responses map[string]publishedResponse
		Headers   map[string]described
	}
}

type publishedOperation struct {
	OperationID, Summary, Description string
	Parameters                        []described
	RequestBody                       struct {
		Required bool
		Content  map[string]publishedMedia
	}
	Responses map[string]publishedResponse
	Security  []map[string][]string
}

type publishedResponse struct {
	Ref     string `json:"$ref"`
	Headers map[string]described
	Content map[string]publishedMedia
}

type publishedMedia struct {
	Schema   publishedSchema
	Examples map[string]any
}

// described is a parameter or a header.
type described struct{ Name, Description string }

type publishedSchema struct {
	Ref                  string `json:"$ref"`
	Required             []string
	Properties           map[string]map[string]any
	AdditionalProperties any
}

func load(t testing.TB) (doc published) {
	t.Helper()
	if err := json.Unmarshal(generate(t), &doc); err != nil {
		t.Fatal(err)
	}
	for _, item := range doc.Paths {
		for _, op := range item {
			for status, r := range op.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					op.Responses[status] = doc.Components.Responses[name]
				}
			}
		}
	}
	return doc
}

func (doc published) operation(method, path string) (publishedOperation, bool) {
	op, ok := doc.Paths[path][strings.ToLower(method)]
	return op, ok
}

func (doc published) schema(s publishedSchema) publishedSchema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return doc.Components.Schemas[name]
	}
	return s
}

func TestOpenAPIIsValid(t *testing.T) {
	openapitest.CheckDocument(t, generate(t))
}

func TestExamplesFitTheirSchemas(t *testing.T) {
	openapitest.New(t, generate(t)).CheckExamples(t)
}

// TestSamplesAreValid checks the sample inputs with the service's rules.
func TestSamplesAreValid(t *testing.T) {
	for kind, in := range sampleInputs() {
		var err error
		switch in := in.(type) {
		case interface{ Check() error }:
			err = in.Check()
		case interface{ Check(time.Time, int) error }:
			err = in.Check(sampleNow, warranty.DefaultTokenRate)
		}
		if filed, ok := in.(*warranty.FileClaim); ok {
			err = errors.Join(err, filed.CheckCoverage(sampleWarranty(goldenURL), warranty.DateOf(sampleNow)))
		}
		if err != nil {
			t.Errorf("%v: %v", kind, err)
		}
	}
	if _, err := warranty.ParseReference(string(sampleReference)); err != nil {
		t.Errorf("sampleReference: %v", err)
	}
	if _, ok := warranty.ParseSecret(sampleSecret(warranty.TokenSecret)); ok {
		t.Error("the sample secret looks real")
	}
	for _, info := range warranty.Codes() {
		if p := sampleProblem(goldenURL, info.Code); p.Code != info.Code {
			t.Errorf("the sample of %s is a %s", info.Code, p.Code)
		}
	}
}

// TestEveryOperationIsDescribed compares the document with the operation table.
func TestEveryOperationIsDescribed(t *testing.T) {
	doc := load(t)
	samples, inputs := sampleRecords(goldenURL), sampleInputs()
	for _, s := range api.Operations() {
		op, ok := doc.operation(s.Method, s.Route())
		if !ok {
			t.Errorf("%s is missing", s.Name)
			continue
		}
		var codes []string
		for status, response := range op.Responses {
			if status[0] < '4' {
				continue
			}
			for code := range response.Content["application/problem+json"].Examples {
				if fmt.Sprint(warranty.Code(code).Info().Status) != status {
					t.Errorf("%s: %s is listed under %s", s.Name, code, status)
				}
				codes = append(codes, code)
			}
		}
		var want []string
		for _, code := range s.Refusals() {
			want = append(want, string(code))
		}
		slices.Sort(codes)
		slices.Sort(want)
		if !slices.Equal(codes, want) {
			t.Errorf("%s: the codes are %v, want %v", s.Name, codes, want)
		}
		for _, p := range s.Params {
			if p.In == api.Body && p.Required && p.Example == "" && inputs[s.In] == nil {
				t.Errorf("%s: add an example tag to %s of %v", s.Name, p.Name, s.In)
			}
		}
		if s.Out.Kind() == reflect.Struct && s.Out.NumField() > 0 && !s.Paged() && samples[s.Out] == nil {
			t.Errorf("%s: add an example of %v{…} to sampleRecords in internal/describe/examples.go", s.Name, s.Out)
		}
	}
}

// TestFilesAreDescribed checks upload and download, which are not in the table.
func TestFilesAreDescribed(t *testing.T) {
	doc := load(t)
	upload, _ := doc.operation("POST", "/api/documents")
	form, ok := upload.RequestBody.Content["multipart/form-data"]
	if !ok || !upload.RequestBody.Required {
		t.Fatal("an upload must be a form with a body")
	}
	fields := doc.schema(form.Schema)
	if want := []string{"warranty_id", "type", "file"}; !slices.Equal(fields.Required, want) || len(fields.Properties) != 5 {
		t.Errorf("the form requires %v, want %v, and claim_id and draft optional", fields.Required, want)
	}
	if _, ok := upload.Responses["201"].Headers["Location"]; !ok {
		t.Error("an upload has no Location")
	}
	download, _ := doc.operation("GET", "/api/documents/{id}/file")
	for status, types := range map[string]int{"200": 5, "206": 6, "304": 0, "412": 0, "416": 1} {
		if r, ok := download.Responses[status]; !ok || len(r.Content) != types {
			t.Errorf("a download with status %s does not have %d types", status, types)
		}
	}
	for _, kind := range fileTypes {
		in := warranty.UploadDocument{FileName: "x"}
		if err := in.NameFor(kind); err != nil || in.FileName == "x" {
			t.Errorf("files of type %s are rejected: %v", kind, err)
		}
	}
	for _, op := range []publishedOperation{upload, download} {
		if len(op.Security) != 1 || op.Security[0]["bearer"] == nil {
			t.Errorf("%s accepts %v, want only a session", op.OperationID, op.Security)
		}
	}
}

func TestEverythingHasWords(t *testing.T) {
	doc := load(t)
	for path, item := range doc.Paths {
		for method, op := range item {
			if op.Summary == "" || op.Description == "" {
				t.Errorf("%s %s has no summary or no description", method, path)
			}
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s %s: the parameter %s has no description", method, path, p.Name)
				}
			}
		}
	}
	for name, s := range doc.Components.Schemas {
		for field, property := range s.Properties {
			if property["description"] == nil || property["description"] == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
	for name, h := range doc.Components.Headers {
		if h.Description == "" {
			t.Errorf("the header %s has no description", name)
		}
	}
	for _, tag := range doc.Tags {
		if tag.Description == "" {
			t.Errorf("add %q to tagTexts in internal/describe/openapi_text.go", tag.Name)
		}
	}
}

// TestEveryCodeCanBeMet checks that some operation documents each code.
func TestEveryCodeCanBeMet(t *testing.T) {
	met := map[string]bool{}
	for _, item := range load(t).Paths {
		for _, op := range item {
			for _, response := range op.Responses {
				for _, media := range response.Content {
					for name := range media.Examples {
						met[name] = true
					}
				}
			}
		}
	}
	later := []warranty.Code{ // of calls that do not exist yet
		warranty.SSORequired, warranty.IdentityInUse, warranty.BreakGlassRequired,
	}
	for _, info := range warranty.Codes() {
		if !met[string(info.Code)] && !slices.Contains(later, info.Code) {
			t.Errorf("no operation lists %s", info.Code)
		}
	}
}

// TestSchemas pins the schemas of some fields, without their descriptions.
func TestSchemas(t *testing.T) {
	schemas := load(t).Components.Schemas
	for field, want := range map[string]string{
		"Warranty.id":               `{"type":"string","format":"uuid"}`,
		"Warranty.category":         `{"type":["string","null"]}`,
		"Warranty.start_date":       `{"type":"string","format":"date"}`,
		"Warranty.roles":            `{"type":"array","uniqueItems":true,"items":{"type":"string","enum":["owner","seller","issuer"]}}`,
		"Claim.resolution":          `{"type":["string","null"],"enum":["repaired","replaced","refunded","store_credit","other",null]}`,
		"Claim.resolved_at":         `{"type":["string","null"],"format":"date-time"}`,
		"AuthStatus.token":          `{"anyOf":[{"$ref":"#/components/schemas/TokenName"},{"type":"null"}]}`,
		"AuthStatus.credential":     `{"type":"string","enum":["token","session"]}`,
		"Problem.type":              `{"type":"string","format":"uri"}`,
		"Warranty.seller_email":     `{"type":["string","null"],"format":"email"}`,
		"Account.email":             `{"type":"string","format":"email"}`,
		"UpdateAccount.mail_claims": `{"type":"boolean"}`,
		"UploadDocument.file":       `{"type":"string","format":"binary","maxLength":20971520}`,
		"CreateToken.scopes":        `{"type":"array","uniqueItems":true,"minItems":1,"items":{"type":"string","enum":["warranties:read","warranties:write","claims:read","documents:read"]},"examples":[["warranties:read"]]}`,
		"CreateToken.expires_at":    `{"type":["string","null"],"format":"date-time"}`,
		"CreateWarranty.start_date": `{"type":"string","format":"date","examples":["2026-03-01"]}`,
		"Register.password":         `{"type":"string","format":"password","minLength":12,"maxLength":256}`,
	} {
		record, name, _ := strings.Cut(field, ".")
		property := schemas[record].Properties[name]
		delete(property, "description")
		got, err := json.Marshal(property)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, string(got), want) {
			t.Errorf("%s is\n%s, want\n%s", field, got, want)
		}
	}
	if s := schemas["NewToken"]; s.Properties["secret"] == nil || s.Properties["scopes"] == nil ||
		len(s.Required) != len(s.Properties) {
		t.Error("NewToken does not have the fields of Token and the secret, all required")
	}
	if s := schemas["UpdateWarranty"]; s.Properties["id"] != nil || s.Properties["if_match"] != nil ||
		len(s.Required) != 0 {
		t.Error("the body of UpdateWarranty has more than its body parameters")
	}
	for _, body := range []string{"CreateWarranty", "UpdateWarranty"} {
		if schemas[body].AdditionalProperties != false {
			t.Errorf("%s allows additional properties", body)
		}
	}
	if schemas["Warranty"].AdditionalProperties != nil {
		t.Error("Warranty must allow additional properties")
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

// TestNullIsTakenWhereTheSchemaHasIt // B11: sends null for every body parameter and
// compares the result with the published schema.
func TestNullIsTakenWhereTheSchemaHasIt(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Type any }
			}
		}
	}
	text, err := OpenAPI("https://warranty.example.com", Version)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range api.Operations() {
		for _, p := range s.Params {
			if p.In != api.Body {
				continue
			}
			types, _ := doc.Components.Schemas[s.In.Name()].Properties[p.Name].Type.([]any)
			published := slices.Contains(types, any("null"))
			body := `{"` + p.Name + `":null}`
			if s == api.CreateProduct.Spec && p.Name == "length_months" {
				body = `{"length_months":null,"lifetime":true}` // one of them is required
			}
			if s == api.IssueWarranty.Spec { // as are product_id or name and dates, and print or an address
				others := map[string]any{"product_id": "00000000-0000-7000-8000-000000000001", "print": true, p.Name: nil}
				sent, err := json.Marshal(others)
				if err != nil {
					t.Fatal(err)
				}
				body = string(sent)
			}
			in, err := s.Decode(api.Parts{Path: func(string) string { return "00000000-0000-7000-8000-000000000001" },
				Body: []byte(body)})
			if checks, ok := in.(interface{ Check() error }); ok && err == nil {
				err = checks.Check()
			} else if checks, ok := in.(interface{ CheckShape() error }); ok && err == nil {
				err = checks.CheckShape()
			}
			var refusal *warranty.Error
			taken := !errors.As(err, &refusal) || !slices.ContainsFunc(refusal.Fields,
				func(f warranty.FieldError) bool { return f.Field == p.Name })
			if taken != published {
				t.Errorf("%s: null for %s is accepted: %t; in the schema: %t (%v)", s.Name, p.Name, taken, published, err)
			}
		}
	}
}

// TestSelectedFieldsAreOptional: a response of an operation that takes fields requires none of a record's fields, and
// others require them. Finding S13.
func TestSelectedFieldsAreOptional(t *testing.T) {
	type schema struct {
		Ref        string `json:"$ref"`
		Required   []string
		Items      *schema
		Properties map[string]*schema
	}
	var api3 struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema schema }
			}
		}
		Components struct{ Schemas map[string]*schema }
	}
	if err := json.Unmarshal(generate(t), &api3); err != nil {
		t.Fatal(err)
	}
	resolve := func(s *schema) *schema {
		for s.Ref != "" {
			s = api3.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		}
		return s
	}
	checked := 0
	for _, op := range api.Operations() {
		if op.Record() != reflect.TypeFor[warranty.Warranty]() && !op.TakesFields() {
			continue
		}
		media := api3.Paths[op.Route()][strings.ToLower(op.Method)].Responses[fmt.Sprint(op.Status)].Content["application/json"]
		answer := resolve(&media.Schema)
		record := resolve(answer.Properties["data"])
		if record.Items != nil {
			record = resolve(record.Items)
		}
		if required := len(record.Required) > 0; required == op.TakesFields() || len(record.Properties) < 5 {
			t.Errorf("%s requires %v of %d fields", op.Name, record.Required, len(record.Properties))
		}
		checked++
	}
	if checked < 8 {
		t.Errorf("%d operations", checked)
	}
}
