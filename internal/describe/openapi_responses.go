package describe

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// apiHeaders are on every answer under /api/, refusals too.
var apiHeaders = []string{
	"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit", "Cache-Control", "Vary",
}

// commonHeaders are the headers of answers. Those that are required are always
// there where an answer lists them.
var commonHeaders = ordered[header]{
	{"X-Request-Id", header{Required: true, Schema: &schema{Type: "string"}, Example: sampleRequestID,
		Description: "Identifier of the request, for support. A well-formed one that the request brings is kept."}},
	{"X-RateLimit-Limit", header{Required: true, Schema: &schema{Type: "integer", Minimum: number(0)}, Example: 100,
		Description: "Requests that the window allows."}},
	{"X-RateLimit-Remaining", header{Required: true, Schema: &schema{Type: "integer", Minimum: number(0)}, Example: 57,
		Description: "Requests that are left in the window."}},
	{"X-RateLimit-Reset", header{Required: true, Schema: &schema{Type: "integer", Minimum: number(0)}, Example: sampleNow.Unix() + 23,
		Description: "When the window ends, in Unix seconds."}},
	{"RateLimit-Policy", header{Schema: &schema{Type: "string"}, Example: `"token";q=100;w=60`,
		Description: "The limit as the IETF draft writes it; experimental."}},
	{"RateLimit", header{Schema: &schema{Type: "string"}, Example: `"token";r=57;t=23`,
		Description: "What is left as the IETF draft writes it; experimental."}},
	{"Cache-Control", header{Required: true, Schema: &schema{Type: "string", Const: "no-store"}, Example: "no-store",
		Description: "Answers are not to be stored."}},
	{"Vary", header{Required: true, Schema: &schema{Type: "string"}, Example: "Authorization, x-api-key",
		Description: "The answer depends on the credential."}},
	{"Location", header{Required: true, Schema: &schema{Type: "string", Format: "uri-reference"}, Example: "/api/v1/warranties/" + sampleID(1).String(),
		Description: "Address of the new record."}},
	{"ETag", header{Required: true, Schema: &schema{Type: "string", Pattern: `^"[^"]+"$`}, Example: `"3"`,
		Description: "Version of the record, to send back as If-Match; of a file, its SHA-256."}},
	{"Content-Disposition", header{Required: true, Schema: &schema{Type: "string", Pattern: `^attachment; filename\*=UTF-8''.+$`}, Example: "attachment; filename*=UTF-8''motor.jpg",
		Description: "The file is to be saved, under this name."}},
	{"Last-Modified", header{Required: true, Schema: &schema{Type: "string"}, Example: sampleNow.AddDate(0, 0, -12).Format(http.TimeFormat),
		Description: "When the file was uploaded."}},
	{"Accept-Ranges", header{Required: true, Schema: &schema{Type: "string", Const: "bytes"}, Example: "bytes",
		Description: "Parts of the file can be asked for by Range."}},
	{"Content-Range", header{Schema: &schema{Type: "string", Pattern: `^bytes (\d+-\d+|\*)/\d+$`}, Example: "bytes 0-65535/348160",
		Description: "Which part of the file this is, and the size of the whole; of several parts, each has its own."}},
	{"Link", header{Required: true, Schema: &schema{Type: "string"}, Example: `</api/v1/warranties?limit=20&page=2>; rel="next"`,
		Description: "Addresses of the first, previous, next and last page, as RFC 8288 writes them; those that do not exist are left out."}},
	{"Idempotent-Replayed", header{Schema: &schema{Type: "string", Const: "true"}, Example: "true",
		Description: "There when this is the stored answer to an earlier request with the same Idempotency-Key."}},
	{"Retry-After", header{Required: true, Schema: &schema{Type: "integer", Minimum: number(0)}, Example: 23,
		Description: "Seconds to wait before the next try."}},
	{"WWW-Authenticate", header{Required: true, Schema: &schema{Type: "string"}, Example: `Bearer realm="warranty"`,
		Description: "How to show a credential."}},
	{"Allow", header{Required: true, Schema: &schema{Type: "string"}, Example: "GET, HEAD",
		Description: "The methods that this address takes."}},
}

func number(n int64) *int64 { return &n }

// headersOf refers to headers by their names.
func (b *builder) headersOf(names ...string) ordered[*header] {
	var list ordered[*header]
	for _, name := range names {
		b.headers[name] = true
		list.add(name, &header{Ref: "#/components/headers/" + name})
	}
	return list
}

// headersOfStatus are what a refusal carries because of its status.
func headersOfStatus(status int) []string {
	switch status {
	case http.StatusUnauthorized:
		return []string{"WWW-Authenticate"}
	case http.StatusMethodNotAllowed:
		return []string{"Allow"}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return []string{"Retry-After"}
	}
	return nil
}

// byStatus groups codes that stand in the order of their statuses.
func byStatus(codes []warranty.Code) [][]warranty.Code {
	codes = slices.Clone(codes)
	slices.SortStableFunc(codes, func(a, b warranty.Code) int { return a.Info().Status - b.Info().Status })
	var groups [][]warranty.Code
	for i, c := range codes {
		if i == 0 || c.Info().Status != codes[i-1].Info().Status {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], c)
	}
	return groups
}

// refusal refers to the answer under /api/ with one of these codes, which share
// a status. Answers with the same codes are one component.
func (b *builder) refusal(codes []warranty.Code) *response {
	name := refusalName(codes, len(codes) > 3)
	if have, ok := b.problems[name]; ok && !slices.Equal(have, codes) {
		name = refusalName(codes, false)
	}
	if _, ok := b.problems[name]; !ok {
		b.problems[name] = codes
		b.doc.Components.Responses.add(name, b.problem(codes, apiHeaders...))
	}
	return &response{Ref: "#/components/responses/" + name}
}

// refusalName names a refusal after its codes, or after its status where they are many.
func refusalName(codes []warranty.Code, short bool) string {
	if short {
		return strings.ReplaceAll(http.StatusText(codes[0].Info().Status), " ", "")
	}
	var names []string
	for _, c := range codes {
		name := ""
		for word := range strings.SplitSeq(string(c), "_") {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		names = append(names, name)
	}
	return strings.Join(names, "Or")
}

// problem is an answer with one of these codes, which share a status.
func (b *builder) problem(codes []warranty.Code, headers ...string) *response {
	status := codes[0].Info().Status
	var text strings.Builder
	media := &mediaType{Schema: &schema{Ref: "#/components/schemas/Problem"}}
	for i, c := range codes {
		if i > 0 {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "- `%s`: %s", c, c.Info().Fix)
		media.Examples.add(string(c), &example{Ref: "#/components/examples/" + string(c)})
	}
	return &response{
		Description: text.String(),
		Headers:     b.headersOf(append(slices.Clone(headers), headersOfStatus(status)...)...),
		Content:     ordered[*mediaType]{{problemType, media}},
	}
}
