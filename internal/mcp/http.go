package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/api"
)

// maxBody is the most that one message may have.
const maxBody = 1 << 20

// Endpoint is the hosted MCP endpoint: the SDK's handler behind a wrapper that
// makes it take what the documentation promises and answer in JSON-RPC always.
type Endpoint struct {
	plain  http.Handler // answers with one JSON message
	stream http.Handler // answers with events, for clients that asked for progress
}

// NewEndpoint serves an MCP server over HTTP. It keeps no sessions: every
// request stands for itself, whichever replica it reaches.
func NewEndpoint(server *sdk.Server) *Endpoint {
	get := func(*http.Request) *sdk.Server { return server }
	// The SDK's guard against rebinding looks at the socket and would refuse every
	// reverse proxy on this host; Guard looks at the public address instead.
	options := sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true}
	streaming := options
	streaming.JSONResponse = false
	return &Endpoint{plain: sdk.NewStreamableHTTPHandler(get, &options), stream: sdk.NewStreamableHTTPHandler(get, &streaming)}
}

// HostedCaller is who asks over HTTP: the server has put them into the context.
func HostedCaller(ctx context.Context) (api.Caller, error) { return *api.CallerOf(ctx), nil }

// Guard refuses requests that a browser was tricked into: those whose Host is
// not the public one, and those from pages of another origin.
func Guard(publicURL string, next http.Handler) (http.Handler, error) {
	public, err := url.Parse(publicURL)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !sameHost(r.Host, public) && !loopback(r.Host) {
			write(w, http.StatusForbidden, encodeError(nil, 40300, "This host name is not the service's; use "+publicURL+".", nil))
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && origin != public.Scheme+"://"+public.Host {
			write(w, http.StatusForbidden, encodeError(nil, 40300, "Pages of another origin may not call this endpoint.", nil))
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}

func sameHost(host string, public *url.URL) bool {
	if strings.EqualFold(host, public.Host) {
		return true
	}
	port := map[string]string{"http": "80", "https": "443"}[public.Scheme]
	return public.Port() == "" && strings.EqualFold(host, net.JoinHostPort(public.Hostname(), port))
}

// loopback tells names that always mean this machine: a page elsewhere can not
// have one of them, so they can not be rebound.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// legacyMethods are those of protocol versions before 2026-07-28, where an
// unknown one is an ordinary answer and not a missing page.
var legacyMethods = []string{"initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
	"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "server/discover", "subscriptions/listen"}

const firstModern = "2026-07-28"

// message is what the wrapper looks at before the SDK does.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

func (m message) wantsProgress() bool {
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	return json.Unmarshal(m.Params, &params) == nil && params.Meta.Token != nil
}

// ServeHTTP answers one message.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, m, refused := read(w, r)
	if refused != nil {
		write(w, refused.status, encodeError(m.ID, refused.code, refused.message, nil))
		return
	}
	if m.ID != nil && r.Header.Get("Mcp-Protocol-Version") < firstModern && !slices.Contains(legacyMethods, m.Method) {
		write(w, http.StatusOK, encodeError(m.ID, jsonrpc.CodeMethodNotFound, "There is no method of this name.", nil))
		return
	}
	handler := e.plain
	streams := strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	if streams && m.wantsProgress() {
		handler = e.stream
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !streams {
		// The documented request says nothing of what it accepts; the SDK insists.
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	shaped := &shaper{ResponseWriter: w, id: m.ID, noStore: w.Header().Get("Cache-Control")}
	handler.ServeHTTP(shaped, r)
	shaped.finish()
}

// refusedMessage is why a message never reaches the SDK.
type refusedMessage struct {
	status, code int
	message      string
}

func read(w http.ResponseWriter, r *http.Request) ([]byte, message, *refusedMessage) {
	var m message
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, m, &refusedMessage{http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, "Send the message as JSON, with Content-Type: application/json."}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, m, &refusedMessage{http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, "The message has more than 1 MiB; send less."}
	case err != nil:
		return nil, m, &refusedMessage{http.StatusBadRequest, jsonrpc.CodeParseError, "The message could not be read to its end."}
	}
	if batch := bytes.TrimLeft(body, " \t\r\n"); len(batch) > 0 && batch[0] == '[' {
		return nil, m, &refusedMessage{http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "Batches are not taken; send one message a request."}
	}
	if err := api.ReadJSON(body, &m); err != nil {
		return nil, message{}, &refusedMessage{http.StatusBadRequest, jsonrpc.CodeParseError, "The message is not one well-formed JSON object, with each name once."}
	}
	if m.Version != "2.0" || m.Method == "" || m.ID != nil && !validID(m.ID) {
		m.ID = nil
		return nil, m, &refusedMessage{http.StatusBadRequest, jsonrpc.CodeInvalidRequest, `A message has "jsonrpc": "2.0", a method, and an id that is a text or a whole number.`}
	}
	return body, m, nil
}

// validID tells ids that come back as they were sent: the SDK would cut a fraction off.
func validID(id json.RawMessage) bool {
	text := strings.TrimSpace(string(id))
	return strings.HasPrefix(text, `"`) || text != "null" && strings.Trim(text, "-0123456789") == ""
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that has gone away has nothing to be told
}

// shaper turns the SDK's refusals, which are plain text, into JSON-RPC, and
// keeps the service's own rule for caches.
type shaper struct {
	http.ResponseWriter
	id      json.RawMessage
	noStore string
	status  int
	text    *bytes.Buffer // a refusal that is being gathered
}

// WriteHeader decides what becomes of the body by its head.
func (s *shaper) WriteHeader(status int) {
	if s.status != 0 {
		return
	}
	s.status = status
	s.Header().Set("Cache-Control", s.noStore)
	if status >= http.StatusBadRequest && strings.HasPrefix(s.Header().Get("Content-Type"), "text/plain") {
		s.text = new(bytes.Buffer)
		return
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write passes the body on, or gathers it.
func (s *shaper) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	if s.text != nil {
		return s.text.Write(b)
	}
	return s.ResponseWriter.Write(b)
}

// Flush sends what was written, for streams.
func (s *shaper) Flush() {
	if s.text == nil {
		_ = http.NewResponseController(s.ResponseWriter).Flush() // what can not be flushed goes out at the end
	}
}

// Unwrap gives http.ResponseController the writer underneath.
func (s *shaper) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *shaper) finish() {
	if s.text == nil {
		return
	}
	s.Header().Del("Content-Length")
	write(s.ResponseWriter, s.status, encodeError(s.id, jsonrpc.CodeInvalidRequest, strings.TrimSpace(s.text.String()), nil))
}
