package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const problemType = "application/problem+json"

// apiHeaders must be present in every response under /api/, even if the document does
// not list them.
var apiHeaders = []string{
	"X-Request-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Cache-Control", "Vary",
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || mediaType == problemType
}

// unroutedStatuses are the possible statuses of a request that matches no operation. It
// may be rejected before routing.
var unroutedStatuses = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed,
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// list collects distinct faults.
type list []string

func (l *list) add(format string, args ...any) {
	if fault := fmt.Sprintf(format, args...); !slices.Contains(*l, fault) {
		*l = append(*l, fault)
	}
}

// faults returns all differences between a response and the document.
func (c *contract) faults(req *http.Request, resp *http.Response, body []byte) []string {
	var found list
	if strings.HasPrefix(req.URL.Path, "/api/") {
		found.apiHeaders(resp)
	}
	if req.Method == http.MethodHead && len(body) > 0 {
		found.add("the response to HEAD has a body")
	}
	op, ok := c.find(req)
	if !ok {
		c.unrouted(&found, req, resp, body)
		return found
	}
	a, ok := op[resp.StatusCode]
	if !ok {
		found.add("the status %d is not documented", resp.StatusCode)
		return found
	}
	for _, h := range a.headers {
		found.header(h, resp.Header)
	}
	c.body(&found, a, req, resp, body)
	return found
}

// find returns the operation that matches a request. HEAD matches GET. If two templates
// match, the one that is literal at the first difference wins.
func (c *contract) find(req *http.Request) (operation, bool) {
	method := req.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(req.URL.EscapedPath(), "/")
	var best *route
	for i := range c.routes {
		if r := &c.routes[i]; r.fits(segments) && (best == nil || r.before(best)) {
			best = r
		}
	}
	if best == nil {
		return nil, false
	}
	op, ok := best.methods[method]
	return op, ok
}

func isVariable(segment string) bool { return strings.HasPrefix(segment, "{") }

func (r *route) fits(segments []string) bool {
	return slices.EqualFunc(r.segments, segments, func(template, segment string) bool {
		return template == segment || isVariable(template) && segment != ""
	})
}

func (r *route) before(other *route) bool {
	for i, segment := range r.segments {
		if isVariable(segment) != isVariable(other.segments[i]) {
			return !isVariable(segment)
		}
	}
	return false
}

// unrouted checks the response to a request that matches no operation.
func (c *contract) unrouted(found *list, req *http.Request, resp *http.Response, body []byte) {
	if !slices.Contains(unroutedStatuses, resp.StatusCode) {
		found.add("the document has no such operation, and the status is not one for unknown URLs")
		return
	}
	need := map[int]string{
		http.StatusMethodNotAllowed:   "Allow",
		http.StatusUnauthorized:       "Www-Authenticate",
		http.StatusTooManyRequests:    "Retry-After",
		http.StatusServiceUnavailable: "Retry-After",
	}[resp.StatusCode]
	if need != "" && len(resp.Header.Values(need)) == 0 {
		found.add("the header %s is missing", need)
	}
	codes := map[string]bool{}
	for code, status := range c.codes {
		codes[code] = status == resp.StatusCode
	}
	c.body(found, answer{content: map[string]media{problemType: {schema: c.problem, codes: codes}}}, req, resp, body)
}

func (l *list) apiHeaders(resp *http.Response) {
	h := resp.Header
	for _, name := range apiHeaders {
		// http.ServeContent removes Cache-Control from a 416, which caches do not store by
		// default.
		if name == "Cache-Control" && resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
			continue
		}
		if len(h.Values(name)) == 0 {
			l.add("the header %s is missing", name)
		}
	}
	if value := h.Get("Cache-Control"); value != "" && value != "no-store" {
		l.add("the header Cache-Control is %q, not no-store", value)
	}
	vary := strings.ToLower(strings.Join(h.Values("Vary"), ","))
	for _, name := range []string{"authorization", "x-api-key"} {
		named := func(s string) bool { return strings.TrimSpace(s) == name }
		if vary != "" && !slices.ContainsFunc(strings.Split(vary, ","), named) {
			l.add("the header Vary does not name %s", name)
		}
	}
}

func (l *list) header(rule headerRule, h http.Header) {
	values := h.Values(rule.name)
	if len(values) == 0 {
		if rule.required {
			l.add("the header %s is missing", rule.name)
		}
		return
	}
	var value any = strings.Join(values, ", ")
	if rule.integer {
		value = json.Number(values[0])
		if len(values) > 1 || strings.Trim(values[0], "0123456789") != "" || values[0] == "" {
			l.add("the header %s is not a single integer", rule.name)
			return
		}
	}
	if err := rule.schema.Validate(value); err != nil {
		l.add("the header %s: %v", rule.name, err)
	}
}

// body checks the body of a response and its media type.
func (c *contract) body(found *list, a answer, req *http.Request, resp *http.Response, body []byte) {
	if len(a.content) == 0 {
		if len(body) > 0 {
			found.add("the response has a body, but none is documented")
		}
		return
	}
	name, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	m, ok := a.content[name]
	if err != nil || !ok {
		found.add("the Content-Type %q is not documented", resp.Header.Get("Content-Type"))
		return
	}
	if req.Method == http.MethodHead || m.schema == nil {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		found.add("the body is not JSON: %v", err)
		return
	}
	if err := m.schema.Validate(value); err != nil && !(req.URL.Query().Has("fields") && onlyMissing(err)) {
		found.add("the body: %v", err)
	}
	if problem, ok := value.(map[string]any); ok && name == problemType {
		c.problemFaults(found, problem, m.codes, resp)
	}
}

// onlyMissing reports whether the only errors are missing members. With the parameter
// fields, records have only some of their members.
func onlyMissing(err error) bool {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return false
	}
	if len(invalid.Causes) == 0 {
		_, missing := invalid.ErrorKind.(*kind.Required)
		return missing
	}
	for _, cause := range invalid.Causes {
		if !onlyMissing(cause) {
			return false
		}
	}
	return true
}

// problemFaults checks what a schema cannot express about a problem.
func (c *contract) problemFaults(
	found *list, problem map[string]any, codes map[string]bool, resp *http.Response,
) {
	code, _ := problem["code"].(string)
	if !codes[code] {
		found.add("the code %q is not documented for this operation and status", code)
	}
	if fmt.Sprint(problem["status"]) != fmt.Sprint(resp.StatusCode) {
		found.add("the problem has the status %v", problem["status"])
	}
	if id := resp.Header.Get("X-Request-Id"); problem["request_id"] != id {
		found.add("the problem's request_id differs from the header")
	}
	if kind, _ := problem["type"].(string); !strings.HasSuffix(kind, "#"+code) {
		found.add("the problem's type does not link to its code")
	}
}
