package describe

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// operation adds an operation of the table.
func (b *builder) operation(s *api.Spec) {
	op := b.describe(s)
	op.Responses.add(strconv.Itoa(s.Status), b.success(s))
	b.refusals(op, s.Refusals())
	b.add(s.Method, s.Route(), op)
}

// refusals adds the error responses with these codes.
func (b *builder) refusals(op *operation, codes []warranty.Code) {
	for _, group := range byStatus(codes) {
		op.Responses.add(strconv.Itoa(group[0].Info().Status), b.refusal(group))
	}
}

// describe returns the operation without its responses.
func (b *builder) describe(s *api.Spec) *operation {
	group, _, _ := strings.Cut(s.Name, ".")
	op := &operation{
		OperationID: s.Name,
		Tags:        []string{group},
		Summary:     s.Summary,
		Description: credentialText(s),
		Security:    security(s),
		Scope:       string(s.Scope),
		Tool:        s.Tool,
	}
	if s.Tool != "" {
		op.Description += " MCP tool: `" + s.Tool + "`."
	}
	for _, p := range s.Params {
		if p.In == api.Body {
			continue
		}
		param := parameter{
			Name:        p.Name,
			In:          string(p.In),
			Required:    p.Required,
			Description: p.Doc,
			Schema:      b.paramSchema(p),
		}
		if p.In == api.Header {
			param.Name = p.HeaderName()
		}
		if p.Type == reflect.TypeFor[warranty.FieldNames]() {
			param.Explode = new(bool)
		}
		if p.Example != "" {
			param.Example = typed(p.Type, p.Example)
		}
		op.Parameters = append(op.Parameters, param)
	}
	if s.ActsForAccount() {
		op.Parameters = append(op.Parameters, parameter{
			Name:        "X-Account",
			In:          string(api.Header),
			Description: "Organization that a session acts for. Without it, a session acts for the user's own account.",
			Schema:      &schema{Type: "string", Format: "uuid"},
		})
	}
	if s.HasBody() {
		op.RequestBody = &requestBody{Required: !s.BodyOptional,
			Content: ordered[*mediaType]{{jsonType, &mediaType{Schema: b.body(s), Example: b.bodyExample(s)}}}}
	}
	return op
}

// security lists the accepted credentials. The scope is a separate member, because many
// tools support scopes only for OAuth.
func security(s *api.Spec) []ordered[[]string] {
	apiKey, bearer := ordered[[]string]{{"apiKey", []string{}}}, ordered[[]string]{{"bearer", []string{}}}
	switch s.Auth {
	case api.Credential:
		return []ordered[[]string]{apiKey, bearer}
	case api.SessionOnly:
		return []ordered[[]string]{bearer}
	}
	return []ordered[[]string]{}
}

func credentialText(s *api.Spec) string {
	switch {
	case s.Auth == api.Public:
		return "No credential required."
	case s.Auth == api.SessionOnly:
		return "Requires a session. Integration tokens are rejected with `session_required`."
	case s.Scope != "":
		return "Requires an integration token with the scope `" + string(s.Scope) + "`, or a session."
	}
	return "Requires an integration token with any scope, or a session."
}

// bodyExample returns the body of the operation's sample input.
func (b *builder) bodyExample(s *api.Spec) any {
	in, err := sampleInput(s)
	if err != nil {
		b.fail(s.Name + ": " + err.Error())
		return nil
	}
	request, err := s.Request(in)
	if err != nil {
		b.fail(s.Name + ": " + err.Error())
	}
	if request.Body == nil {
		return ordered[any]{}
	}
	return json.RawMessage(request.Body)
}

// success returns the success response.
func (b *builder) success(s *api.Spec) *response {
	r := &response{Headers: b.headersOf(apiHeaders...)}
	add := func(names ...string) { r.Headers = append(r.Headers, b.headersOf(names...)...) }
	if s.Location != "" {
		add("Location")
	}
	if s.Out.Implements(reflect.TypeFor[interface{ ETag() string }]()) {
		add("ETag")
	}
	if s.Out.Implements(reflect.TypeFor[interface{ Replayed() bool }]()) && takesKey(s) {
		add("Idempotent-Replayed")
	}
	if s.Paged() {
		add("Link")
	}
	switch {
	case s.Status == http.StatusAccepted:
		r.Description = "Accepted. No body."
	case s.Out == reflect.TypeFor[warranty.None]():
		r.Description = "Success. No body."
	case s.Paged():
		r.Description = "A page of the list."
	case s.Status == http.StatusCreated:
		r.Description = "The created record."
	default:
		r.Description = "The record."
	}
	if s.Out != reflect.TypeFor[warranty.None]() {
		r.Content.add(jsonType, b.answer(s))
	}
	return r
}

func takesKey(s *api.Spec) bool {
	for _, p := range s.Params {
		if p.In == api.Header && p.HeaderName() == "Idempotency-Key" {
			return true
		}
	}
	return false
}

// answer returns the body with a record or a page of records, and an example.
func (b *builder) answer(op *api.Spec) *mediaType {
	record, list := op.Record(), op.Paged()
	name, schemaOf := record.Name()+"Answer", b.record
	if op.TakesFields() {
		name, schemaOf = "Selected"+name, b.selected
	}
	if list {
		name = record.Name() + "Page"
	}
	media := &mediaType{Schema: &schema{Ref: "#/components/schemas/" + name}}
	if sample, ok := b.samples[record]; ok {
		media.Examples.add("example", &example{Ref: "#/components/examples/" + name})
		if b.doc.Components.Examples.index(name) < 0 {
			b.doc.Components.Examples.add(name, &example{Summary: "A response.", Value: envelope(op, sample)})
		}
	}
	if b.doc.Components.Schemas.index(name) >= 0 {
		return media
	}
	s := &schema{Type: "object", Required: []string{"data"}}
	b.doc.Components.Schemas.add(name, s)
	if !list {
		data := schemaOf(record)
		data.Description = "The record."
		s.Properties.add("data", data)
		return media
	}
	s.Properties.add("data", &schema{
		Type:        "array",
		Description: "The records of this page; never null.",
		Items:       schemaOf(record),
	})
	if !op.FeedOnly() {
		pagination := b.record(reflect.TypeFor[warranty.Pagination]())
		pagination.Description = "Position of this page in the list."
		if op.ListsChanges() {
			pagination.Description += " Absent with updated_since."
		} else {
			s.Required = append(s.Required, "pagination")
		}
		s.Properties.add("pagination", pagination)
	}
	if op.ListsChanges() {
		b.addFeed(op, s)
	}
	return media
}

// addFeed adds the members that continue a list of changes.
func (b *builder) addFeed(op *api.Spec, s *schema) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[warranty.Feed]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		field := b.schemaOf(f.Type)
		field.Description = f.Tag.Get("doc")
		if op.FeedOnly() {
			s.Required = append(s.Required, name)
		} else {
			field.Description += " Only with updated_since."
		}
		s.Properties.add(name, field)
	}
}

// envelope returns a sample record as a response body.
func envelope(op *api.Spec, sample any) any {
	if !op.Paged() {
		return ordered[any]{{"data", sample}}
	}
	if op.FeedOnly() {
		return ordered[any]{{"data", []any{sample}}, {"next", nil}, {"synced_to", sampleNow}}
	}
	pagination := warranty.PageOf[any](nil, warranty.Paging{Page: 1, Limit: warranty.DefaultLimit}, 1).Pagination
	return ordered[any]{{"data", []any{sample}}, {"pagination", pagination}}
}
