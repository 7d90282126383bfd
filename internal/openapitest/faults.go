package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const problemType = "application/problem+json"

// apiHeaders must be on every answer under /api/, whatever a document says.
var apiHeaders = []string{"X-Request-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Cache-Control", "Vary"}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || mediaType == problemType
}

// unroutedStatuses are what a request that belongs to no operation can be
// answered with: it may be refused before its address is looked at.
var unroutedStatuses = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed,
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// list gathers faults, each once.
type list []string

func (l *list) add(format string, args ...any) {
	if fault := fmt.Sprintf(format, args...); !slices.Contains(*l, fault) {
		*l = append(*l, fault)
	}
}

// faults are all that is wrong with an answer.
func (c *contract) faults(req *http.Request, resp *http.Response, body []byte) []string {
	var found list
	if strings.HasPrefix(req.URL.Path, "/api/") {
		found.apiHeaders(resp)
	}
	if req.Method == http.MethodHead && len(body) > 0 {
		found.add("an answer to HEAD has a body")
	}
	op, ok := c.find(req)
	if !ok {
		c.unrouted(&found, req, resp, body)
		return found
	}
	a, ok := op[resp.StatusCode]
	if !ok {
		found.add("the status %d is not listed", resp.StatusCode)
		return found
	}
	for _, h := range a.headers {
		found.header(h, resp.Header)
	}
	c.body(&found, a, req, resp, body)
	return found
}

// find is the operation that a request belongs to. HEAD is answered as GET is.
// Of two templates that fit, the one whose first difference is literal wins.
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

// unrouted checks the answer to a request that the document does not know.
func (c *contract) unrouted(found *list, req *http.Request, resp *http.Response, body []byte) {
	if !slices.Contains(unroutedStatuses, resp.StatusCode) {
		found.add("the document has no such operation, and the status is none of those for unknown addresses")
		return
	}
	need := map[int]string{http.StatusMethodNotAllowed: "Allow", http.StatusUnauthorized: "Www-Authenticate",
		http.StatusTooManyRequests: "Retry-After", http.StatusServiceUnavailable: "Retry-After"}[resp.StatusCode]
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
		// http.ServeContent takes Cache-Control away when it refuses a range; no
		// cache keeps a 416 unless it is told to.
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
		if vary != "" && !slices.ContainsFunc(strings.Split(vary, ","), func(s string) bool { return strings.TrimSpace(s) == name }) {
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
			l.add("the header %s is not one whole number", rule.name)
			return
		}
	}
	if err := rule.schema.Validate(value); err != nil {
		l.add("the header %s: %v", rule.name, err)
	}
}

// body checks an answer's body and its type.
func (c *contract) body(found *list, a answer, req *http.Request, resp *http.Response, body []byte) {
	if len(a.content) == 0 {
		if len(body) > 0 {
			found.add("there is a body where the document has none")
		}
		return
	}
	name, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	m, ok := a.content[name]
	if err != nil || !ok {
		found.add("the Content-Type %q is not listed", resp.Header.Get("Content-Type"))
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
	if err := m.schema.Validate(value); err != nil {
		found.add("the body: %v", err)
	}
	if problem, ok := value.(map[string]any); ok && name == problemType {
		c.problemFaults(found, problem, m.codes, resp)
	}
}

// problemFaults checks what a schema can not say of a problem.
func (c *contract) problemFaults(found *list, problem map[string]any, codes map[string]bool, resp *http.Response) {
	code, _ := problem["code"].(string)
	if !codes[code] {
		found.add("the code %q is not listed for this operation and status", code)
	}
	if fmt.Sprint(problem["status"]) != fmt.Sprint(resp.StatusCode) {
		found.add("the problem says the status %v", problem["status"])
	}
	if id := resp.Header.Get("X-Request-Id"); problem["request_id"] != id {
		found.add("the problem's request_id is not the header's")
	}
	if kind, _ := problem["type"].(string); !strings.HasSuffix(kind, "#"+code) {
		found.add("the problem's type does not lead to its code")
	}
}
