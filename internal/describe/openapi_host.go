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
	b.publicVerify(api.VerifyPublicly.Spec)
	b.publicVerify(api.VerifyProduct.Spec)
	b.certificates()
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

// publicVerify describes a public verification page and its JSON form.
func (b *builder) publicVerify(s *api.Spec) {
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

// certificates describes the signed certificates and the keys that verify them.
func (b *builder) certificates() {
	for _, form := range []struct {
		path, name, summary, mediaType string
		schema                         *schema
	}{
		{"/verify/{reference}/certificate", "verification.certificate",
			"Get a signed certificate of a warranty behind which an issuer or a seller with a verified domain stands.",
			"application/jwt", &schema{Type: "string", Description: certificateText}},
		{"/verify/{reference}/certificate.pdf", "verification.certificate_pdf",
			"Get the signed certificate of a warranty as a page to print, with the certificate attached.",
			"application/pdf", &schema{Type: "string", Format: "binary"}},
	} {
		op := b.hostGet(form.path, form.name, form.summary, &response{
			Description: "The certificate.",
			Content:     ordered[*mediaType]{{form.mediaType, &mediaType{Schema: form.schema}}},
		}, warranty.NotFound, warranty.IPThrottled, warranty.Unavailable)
		p := api.VerifyPublicly.Params[0] // the reference
		op.Parameters = append(op.Parameters, parameter{
			Name: p.Name, In: string(p.In), Required: true, Description: p.Doc, Schema: b.paramSchema(p), Example: p.Example,
		})
	}
	keys := &schema{Type: "object", Required: []string{"issuer", "keys"}, Properties: ordered[*schema]{
		{"issuer", &schema{Type: "string", Format: "uri", Description: "Public URL of the service: the iss of its certificates."}},
		{"keys", &schema{
			Type:        "array",
			Description: "Keys in use and replaced ones, the newest first. Empty if certificates are off.",
			Items:       &schema{Type: "object"},
		}}}}
	op := b.hostGet(KeysPath, "verification.keys", "Get the public keys that verify certificates, as a JWK Set (RFC 7517).",
		&response{
			Description: "The keys.",
			Content:     ordered[*mediaType]{{KeysType, &mediaType{Schema: keys}}},
		}, warranty.Unavailable)
	op.Responses.add(strconv.Itoa(http.StatusNotModified), &response{Description: "The keys have the given ETag."})
}

const certificateText = "A compact JWS (RFC 7515) with alg EdDSA, typ warranty+jwt and the kid of a key in /.well-known/jwks.json. " +
	"Claims: iss (public URL), iat, reference_number, product_name, brand, model, gtin, serial_sha256, start_date, end_date, " +
	"status, assurance, and issuer and seller, each with name and verified domain or null. serial_sha256 is the hexadecimal " +
	"SHA-256 of the serial number in lower case, without white space and dashes, in UTF-8. It says what was true at iat."

// hostGet describes a public GET endpoint.
func (b *builder) hostGet(path, name, summary string, success *response, refusals ...warranty.Code) *operation {
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
	return op
}
