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
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// maxBody is the maximum size of a message.
const maxBody = 1 << 20

// Endpoint is the hosted MCP endpoint. It wraps the SDK's handler to accept requests
// without an Accept header and to respond with JSON-RPC to all errors.
type Endpoint struct {
	server *Server
	plain  http.Handler // responds with one JSON message
	stream http.Handler // responds with events, for clients that request progress
}

// NewEndpoint serves an MCP server over HTTP. It is stateless, so any replica can serve
// any request.
func NewEndpoint(server *Server) *Endpoint {
	server.AddReceivingMiddleware(bounded)
	get := func(*http.Request) *sdk.Server { return server.Server }
	options := sdk.StreamableHTTPOptions{
		Stateless:    true,
		JSONResponse: true,
		// The SDK's protection against DNS rebinding checks the socket address and would
		// reject a reverse proxy on this host. Guard checks the public URL instead.
		DisableLocalhostProtection:   true,
		MaxRequestBodyBytes:          maxBody,
		PropagateRequestCancellation: true,
	}
	streaming := options
	streaming.JSONResponse = false
	return &Endpoint{
		server: server,
		plain:  sdk.NewStreamableHTTPHandler(get, &options),
		stream: sdk.NewStreamableHTTPHandler(get, &streaming),
	}
}

type requestKey struct{}

// bounded cancels a handler when its HTTP request ends. For older protocol versions the
// SDK detaches handlers from the request, and they would keep running.
func bounded(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
			bound, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(request, cancel)()
			ctx = bound
		}
		return next(ctx, method, req)
	}
}

// HostedCaller returns the caller that the server's middleware put into the context.
func HostedCaller(ctx context.Context) (api.Caller, error) { return *api.CallerOf(ctx), nil }

// Guard protects against DNS rebinding and cross-origin requests: it rejects requests
// with a Host other than the public one, and those from pages of another origin.
func Guard(publicURL string, next http.Handler) (http.Handler, error) {
	public, err := url.Parse(publicURL)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !sameHost(r.Host, public) && !loopback(r.Host) {
			write(w, http.StatusForbidden, encodeError(nil, 40300, "Unknown host name. Use "+publicURL+".", nil))
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && origin != public.Scheme+"://"+public.Host {
			write(w, http.StatusForbidden, encodeError(nil, 40300, "Cross-origin requests are not allowed.", nil))
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

// loopback reports whether host always refers to this machine. Such names are immune to
// DNS rebinding.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// legacyMethods are the methods of protocol versions before 2026-07-28. In those
// versions an unknown method is an error with status 200, not 404.
var legacyMethods = []string{
	"initialize", "ping", "tools/list", "tools/call",
	"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
	"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "server/discover",
	listSkills, getSkill,
}

const firstModern = "2026-07-28"

// ServeHTTP handles one message.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, m, refused := read(w, r)
	if refused != nil {
		write(w, refused.status, encodeError(m.ID, refused.code, refused.message, nil))
		return
	}
	ctx, err := narrowed(r)
	if err != nil {
		write(w, http.StatusBadRequest, encodeError(m.ID, jsonrpc.CodeInvalidRequest, warranty.AsError(err).Message, nil))
		return
	}
	if e.refuseScope(w, r, m) {
		return
	}
	legacy := r.Header.Get("Mcp-Protocol-Version") < firstModern
	if m.ID != nil && legacy && !slices.Contains(legacyMethods, m.Method) {
		write(w, http.StatusOK, encodeError(m.ID, jsonrpc.CodeMethodNotFound, "Unknown method.", nil))
		return
	}
	handler := e.plain
	if takesJSON, takesEvents := accepted(r); takesEvents && (m.wantsProgress() || !takesJSON) {
		handler = e.stream
	}
	shaped := &shaper{
		ResponseWriter: w,
		id:             m.ID,
		noStore:        w.Header().Get("Cache-Control"),
		problem:        e.problem,
	}
	if handler == e.plain {
		if body, ok := e.server.direct(r.WithContext(ctx), m); ok {
			if body == nil {
				shaped.finish(ctx)
			} else {
				write(w, http.StatusOK, body)
			}
			return
		}
	}
	r = r.Clone(context.WithValue(ctx, requestKey{}, r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	// The SDK requires an Accept header; the documented request does not have one.
	r.Header.Set("Accept", "application/json, text/event-stream")
	handler.ServeHTTP(shaped, r)
	shaped.finish(r.Context())
}

// refuseScope refuses a message that needs a scope which the access token of an app lacks, with the status and header
// that make the app ask the person for more. Integration tokens get the error as the result of the tool.
func (e *Endpoint) refuseScope(w http.ResponseWriter, r *http.Request, m message) bool {
	if e.server.missing == nil || e.server.challenge == nil {
		return false
	}
	scope, err := e.server.missing(r.Context(), m)
	if err == nil {
		return false
	}
	w.Header().Set("WWW-Authenticate", e.server.challenge(scope))
	p := e.problem(r.Context(), err)
	write(w, p.Status, encodeError(m.ID, rpcCode(p.Status), p.Detail, &p))
	return true
}

// missing returns the scope that a message needs and that the access token of an app lacks, with an error.
func (s *server) missing(ctx context.Context, m message) (warranty.Scope, error) {
	caller, err := s.Caller(ctx)
	if err != nil || caller.Principal.Client == "" {
		return "", nil //nolint:nilerr // reported when the message is handled
	}
	var params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	_ = json.Unmarshal(m.Params, &params) // refused when the message is handled
	var op *api.Spec
	switch m.Method {
	case "tools/call", "prompts/get":
		op = s.needs[params.Name]
	case "resources/read":
		for _, t := range templates {
			if strings.HasPrefix(params.URI, strings.TrimSuffix(t.uri, "{id}")) {
				op = s.needs[t.uri]
			}
		}
	}
	if op == nil || op.Scope == "" || caller.Principal.Scopes.Has(op.Scope) {
		return "", nil
	}
	return op.Scope, warranty.Refuse(warranty.InsufficientScope, "This app may not do this: it does not have %s. "+
		"The person who connected it can allow it in Settings, Connected apps.", op.Scope)
}

// problem returns err as REST would.
func (e *Endpoint) problem(ctx context.Context, err error) warranty.Problem {
	if e.server.problem == nil { // a server without operations
		return warranty.AsError(err).Problem("", api.CallerOf(ctx).RequestID)
	}
	return e.server.problem(ctx, err)
}

// accepted reports which response formats the request accepts. Without either, it is
// JSON.
func accepted(r *http.Request) (takesJSON, takesEvents bool) {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	events := strings.Contains(accept, "text/event-stream")
	return !events || strings.Contains(accept, "application/") || strings.Contains(accept, "*/*"), events
}

func read(w http.ResponseWriter, r *http.Request) ([]byte, message, *refusedMessage) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, message{}, &refusedMessage{http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest,
			"The Content-Type is not supported. Send JSON with Content-Type: application/json."}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, message{}, &refusedMessage{http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest,
			"The message is larger than 1 MiB. Send a smaller one."}
	case err != nil:
		return nil, message{}, &refusedMessage{http.StatusBadRequest, jsonrpc.CodeParseError,
			"The message is incomplete. Send it again."}
	}
	m, refused := parse(body)
	return body, m, refused
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	send(w, status, body)
}

// send writes the response with its Content-Length.
func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client disconnected
}

// shaper buffers the SDK's response, unless it is a stream. It turns plain-text errors
// into JSON-RPC and restores the service's Cache-Control header.
type shaper struct {
	http.ResponseWriter
	id      json.RawMessage
	noStore string
	problem func(context.Context, error) warranty.Problem
	status  int
	streams bool
	body    bytes.Buffer
}

// WriteHeader records the status, or sends it if the response is a stream.
func (s *shaper) WriteHeader(status int) {
	if s.status != 0 {
		return
	}
	s.status = status
	s.Header().Set("Cache-Control", s.noStore)
	if s.streams = strings.HasPrefix(s.Header().Get("Content-Type"), "text/event-stream"); s.streams {
		s.ResponseWriter.WriteHeader(status)
	}
}

// Write buffers the body, or sends it if the response is a stream.
func (s *shaper) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	if s.streams {
		_, err := s.ResponseWriter.Write(plainEvents(b))
		return len(b), err
	}
	return s.body.Write(b)
}

// Flush flushes a stream.
func (s *shaper) Flush() {
	if s.streams {
		_ = http.NewResponseController(s.ResponseWriter).Flush() // unflushed data is sent at the end
	}
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (s *shaper) Unwrap() http.ResponseWriter { return s.ResponseWriter }

var errNoAnswer = errors.New("the SDK wrote no response")

// finish sends the response.
func (s *shaper) finish(ctx context.Context) {
	refuse := func(status, code int, message string, data *warranty.Problem) {
		s.Header().Set("Cache-Control", s.noStore)
		write(s.ResponseWriter, status, encodeError(s.id, code, message, data))
	}
	switch {
	case s.streams:
	case errors.Is(ctx.Err(), context.Canceled): // nobody reads the response
		s.ResponseWriter.WriteHeader(api.StatusClientGone)
	case s.status == 0: // the time is up, or the SDK wrote nothing
		err := ctx.Err()
		if err == nil {
			err = errNoAnswer
		} else {
			s.Header().Set("Retry-After", "1")
		}
		p := s.problem(ctx, err)
		refuse(p.Status, rpcCode(p.Status), p.Detail, &p)
	case s.status >= http.StatusBadRequest && strings.HasPrefix(s.Header().Get("Content-Type"), "text/plain"):
		refuse(s.status, jsonrpc.CodeInvalidRequest, strings.TrimSpace(s.body.String()), nil)
	default:
		send(s.ResponseWriter, s.status, plainly(s.body.Bytes()))
	}
}
