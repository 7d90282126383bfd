package describe

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// apiHeaders are the headers of every response under /api/.
var apiHeaders = []string{
	"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
	"RateLimit-Policy", "RateLimit", "Cache-Control", "Vary",
}

// commonHeaders are the response headers. A required header is always present in a
// response that lists it.
var commonHeaders = ordered[header]{
	{"X-Request-Id", header{Required: true, Schema: &schema{Type: "string"}, Example: sampleRequestID,
		Description: "Identifier of the request, for support. A valid X-Request-Id in the request is kept."}},
	{"X-RateLimit-Limit", header{Required: true, Schema: &schema{Type: "integer", Minimum: number(0)}, Example: 100,
		Description: "Requests allowed in the current window."}},
	{"X-RateLimit-Remaining", header{Required: true, Schema: &schema{Type: "integer", Minimum: number(0)}, Example: 57,
		Description: "Requests left in the current window."}},
	{"X-RateLimit-Reset", header{Required: true, Schema: &schema{Type: "integer", Minimum: number(0)},
		Example:     sampleNow.Unix() + 23,
		Description: "When the current window ends, in Unix seconds."}},
	{"RateLimit-Policy", header{Schema: &schema{Type: "string"}, Example: `"token";q=100;w=60`,
		Description: "The limit in the format of the IETF draft. Experimental."}},
	{"RateLimit", header{Schema: &schema{Type: "string"}, Example: `"token";r=57;t=23`,
		Description: "The remaining requests in the format of the IETF draft. Experimental."}},
	{"Cache-Control", header{Required: true, Schema: &schema{Type: "string", Const: "no-store"}, Example: "no-store",
		Description: "Responses must not be cached."}},
	{"Vary", header{Required: true, Schema: &schema{Type: "string"}, Example: "Authorization, x-api-key",
		Description: "The response depends on the credential."}},
	{"Location", header{Required: true, Schema: &schema{Type: "string", Format: "uri-reference"},
		Example:     "/api/v1/warranties/" + sampleID(1).String(),
		Description: "URL of the created record."}},
	{"ETag", header{Required: true, Schema: &schema{Type: "string", Pattern: `^"[^"]+"$`}, Example: `"3"`,
		Description: "Version of the record, to send as If-Match. For a file, its SHA-256."}},
	{"Content-Disposition", header{Required: true,
		Schema:      &schema{Type: "string", Pattern: `^attachment; filename\*=UTF-8''.+$`},
		Example:     "attachment; filename*=UTF-8''motor.jpg",
		Description: "Name under which to save the file."}},
	{"Last-Modified", header{Required: true, Schema: &schema{Type: "string"},
		Example:     sampleNow.AddDate(0, 0, -12).Format(http.TimeFormat),
		Description: "When the file was uploaded."}},
	{"Accept-Ranges", header{Required: true, Schema: &schema{Type: "string", Const: "bytes"}, Example: "bytes",
		Description: "Range requests are supported."}},
	{"Content-Range", header{Schema: &schema{Type: "string", Pattern: `^bytes (\d+-\d+|\*)/\d+$`},
		Example:     "bytes 0-65535/348160",
		Description: "Range of this part and the size of the file. In a multipart response, each part has its own."}},
	{"Link", header{Required: true, Schema: &schema{Type: "string"},
		Example:     `</api/v1/warranties?limit=20&page=2>; rel="next"`,
		Description: "URLs of the first, previous, next and last page, by RFC 8288. Pages that do not exist are omitted."}},
	{"Idempotent-Replayed", header{Schema: &schema{Type: "string", Const: "true"}, Example: "true",
		Description: "Present if this is the stored response to an earlier request with the same Idempotency-Key."}},
	{"Retry-After", header{Required: true, Schema: &schema{Type: "integer", Minimum: number(0)}, Example: 23,
		Description: "Seconds to wait before retrying."}},
	{"WWW-Authenticate", header{Required: true, Schema: &schema{Type: "string"}, Example: `Bearer realm="warranty"`,
		Description: "How to authenticate."}},
	{"Allow", header{Required: true, Schema: &schema{Type: "string"}, Example: "GET, HEAD",
		Description: "The methods that this URL supports."}},
}

func number(n int64) *int64 { return &n }

// headersOf returns references to the named headers.
func (b *builder) headersOf(names ...string) ordered[*header] {
	var list ordered[*header]
	for _, name := range names {
		b.headers[name] = true
		list.add(name, &header{Ref: "#/components/headers/" + name})
	}
	return list
}

// headersOfStatus returns the headers that an error response with the status has.
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

// byStatus groups codes by status, in ascending order.
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

// refusal returns a reference to the error response under /api/ with one of these codes,
// which share a status. Responses with the same codes share a component.
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

// refusalName returns a component name made of the codes or, if short, of the status.
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

// problem returns the error response with one of these codes, which share a status.
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
