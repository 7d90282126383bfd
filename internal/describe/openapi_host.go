package describe

import (
	"net/http"
	"reflect"
	"strconv"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// hostOperations describes the endpoints outside /api/. They are not in the operation
// table because they are plain handlers.
func (b *builder) hostOperations() {
	b.publicVerify()
	health := ordered[*mediaType]{{jsonType, &mediaType{
		Schema: &schema{Type: "object", Required: []string{"status"}, Properties: ordered[*schema]{
			{"status", &schema{Type: "string", Const: "ok", Description: "Always ok."}}}},
		Example: ordered[any]{{"status", "ok"}},
	}}}
	b.hostGet("/healthz", "service.health", "Liveness check.",
		&response{Description: "The process is running.", Content: health})
	ready := ordered[*mediaType]{{jsonType, &mediaType{
		Schema: &schema{Type: "object", Required: []string{"status", "writes"}, Properties: ordered[*schema]{
			{"status", &schema{Type: "string", Const: "ok", Description: "Always ok."}},
			{"writes", &schema{
				Type:        "string",
				Enum:        []any{"ok", "failing"},
				Description: "failing if a disk write failed in the last 10 seconds. Reads still work.",
			}},
			{"files", &schema{
				Type:        "string",
				Enum:        []any{"failing"},
				Description: "Only present while the S3 server of the document files fails. Everything else still works.",
			}}}},
		Example: ordered[any]{{"status", "ok"}, {"writes", "ok"}},
	}}}
	b.hostGet("/readyz", "service.ready",
		"Readiness check: the database can be read, the data folder is the right one and no shutdown is in progress.",
		&response{Description: "The service is ready.", Content: ready}, warranty.Unavailable)
	b.hostGet("/openapi.json", "service.openapi", "Get this document.", &response{
		Description: "The OpenAPI 3.1 document.",
		Content:     ordered[*mediaType]{{jsonType, &mediaType{Schema: &schema{Type: "object"}}}},
	})
}

// publicVerify describes the public verification page and its JSON form.
func (b *builder) publicVerify() {
	s := api.VerifyPublicly.Spec
	op := b.describe(s)
	op.Description += " With `Accept: application/json` the response is JSON; browsers get a page. " +
		"Rate limited by IP address."
	page := &mediaType{Schema: &schema{Type: "string"}}
	op.Responses.add(strconv.Itoa(s.Status), &response{
		Description: "The public details of the warranty.",
		Headers:     b.headersOf("X-Request-Id"),
		Content:     ordered[*mediaType]{{jsonType, b.answer(s)}, {"text/html", page}},
	})
	for _, group := range byStatus(s.Refusals()) {
		r := b.problem(group, "X-Request-Id")
		r.Content.add("text/html", page)
		op.Responses.add(strconv.Itoa(group[0].Info().Status), r)
	}
	b.add(s.Method, s.Route(), op)
}

// hostGet describes a public GET endpoint.
func (b *builder) hostGet(path, name, summary string, success *response, refusals ...warranty.Code) {
	s := &api.Spec{
		Name:    name,
		Method:  http.MethodGet,
		Path:    path,
		Auth:    api.Public,
		Summary: summary,
		In:      reflect.TypeFor[struct{}](),
	}
	op := b.describe(s)
	success.Headers = b.headersOf("X-Request-Id")
	op.Responses.add(strconv.Itoa(http.StatusOK), success)
	for _, group := range byStatus(append(refusals, warranty.MethodNotAllowed)) {
		op.Responses.add(strconv.Itoa(group[0].Info().Status), b.problem(group, "X-Request-Id"))
	}
	b.add(s.Method, path, op)
}
