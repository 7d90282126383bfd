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

	"github.com/getkin/kin-openapi/openapi3"

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

func load(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(generate(t))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestOpenAPIIsValid(t *testing.T) {
	if err := load(t).Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
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
		op := doc.Paths.Value(s.Route()).GetOperation(s.Method)
		if op == nil {
			t.Errorf("%s is missing", s.Name)
			continue
		}
		var codes []string
		for status, response := range op.Responses.Map() {
			media := response.Value.Content["application/problem+json"]
			if status[0] < '4' || media == nil {
				continue
			}
			for code := range media.Examples {
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
	upload := doc.Paths.Value("/api/documents").GetOperation("POST")
	form := upload.RequestBody.Value.Content["multipart/form-data"]
	if form == nil || !upload.RequestBody.Value.Required {
		t.Fatal("an upload must be a form with a body")
	}
	if want := []string{"file", "warranty_id", "type"}; !slices.Equal(form.Schema.Value.Required, want) ||
		len(form.Schema.Value.Properties) != 5 {
		t.Errorf("the form requires %v, want %v, and claim_id and draft optional", form.Schema.Value.Required, want)
	}
	if location := upload.Responses.Value("201").Value.Headers["Location"]; location == nil {
		t.Error("an upload has no Location")
	}
	download := doc.Paths.Value("/api/documents/{id}/file").GetOperation("GET")
	for status, types := range map[string]int{"200": 5, "206": 6, "304": 0, "412": 0, "416": 1} {
		if r := download.Responses.Value(status); r == nil || len(r.Value.Content) != types {
			t.Errorf("a download with status %s does not have %d types", status, types)
		}
	}
	for _, kind := range fileTypes {
		in := warranty.UploadDocument{FileName: "x"}
		if err := in.NameFor(kind); err != nil || in.FileName == "x" {
			t.Errorf("files of type %s are rejected: %v", kind, err)
		}
	}
	for _, op := range []*openapi3.Operation{upload, download} {
		if len(*op.Security) != 1 || (*op.Security)[0]["bearer"] == nil {
			t.Errorf("%s accepts %v, want only a session", op.OperationID, *op.Security)
		}
	}
}

func TestEverythingHasWords(t *testing.T) {
	doc := load(t)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Summary == "" || op.Description == "" {
				t.Errorf("%s %s has no summary or no description", method, path)
			}
			for _, p := range op.Parameters {
				if p.Value.Description == "" {
					t.Errorf("%s %s: the parameter %s has no description", method, path, p.Value.Name)
				}
			}
		}
	}
	for name, s := range doc.Components.Schemas {
		for field, property := range s.Value.Properties {
			if property.Value.Description == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
	for name, h := range doc.Components.Headers {
		if h.Value.Description == "" {
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
	for _, item := range load(t).Paths.Map() {
		for _, op := range item.Operations() {
			for _, response := range op.Responses.Map() {
				for _, media := range response.Value.Content {
					for name := range media.Examples {
						met[name] = true
					}
				}
			}
		}
	}
	for _, info := range warranty.Codes() {
		if !met[string(info.Code)] {
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
		schema := *schemas[record].Value.Properties[name].Value
		schema.Description = ""
		got, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, string(got), want) {
			t.Errorf("%s is\n%s, want\n%s", field, got, want)
		}
	}
	if s := schemas["NewToken"].Value; s.Properties["secret"] == nil || s.Properties["scopes"] == nil ||
		len(s.Required) != len(s.Properties) {
		t.Error("NewToken does not have the fields of Token and the secret, all required")
	}
	if s := schemas["UpdateWarranty"].Value; s.Properties["id"] != nil || s.Properties["if_match"] != nil ||
		len(s.Required) != 0 {
		t.Error("the body of UpdateWarranty has more than its body parameters")
	}
	for _, body := range []string{"CreateWarranty", "UpdateWarranty"} {
		if has := schemas[body].Value.AdditionalProperties.Has; has == nil || *has {
			t.Errorf("%s allows additional properties", body)
		}
	}
	if schemas["Warranty"].Value.AdditionalProperties.Has != nil {
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
