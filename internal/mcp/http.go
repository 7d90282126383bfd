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
	server.AddReceivingMiddleware(bounded)
	get := func(*http.Request) *sdk.Server { return server }
	// The SDK's guard against rebinding looks at the socket and would refuse every
	// reverse proxy on this host; Guard looks at the public address instead.
	options := sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true}
	streaming := options
	streaming.JSONResponse = false
	return &Endpoint{plain: sdk.NewStreamableHTTPHandler(get, &options), stream: sdk.NewStreamableHTTPHandler(get, &streaming)}
}

type requestKey struct{}

// bounded ends a handler's work with the request that it is for. The SDK takes
// the deadline away from those of older protocol versions, and they would go on
// for a caller who has gone.
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
	"resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "server/discover"}

const firstModern = "2026-07-28"

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
	if takesJSON, takesEvents := accepted(r); takesEvents && (m.wantsProgress() || !takesJSON) {
		handler = e.stream
	}
	shaped := &shaper{ResponseWriter: w, id: m.ID, noStore: w.Header().Get("Cache-Control")}
	r = r.Clone(context.WithValue(r.Context(), requestKey{}, r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	// The documented request says nothing of what it accepts; the SDK insists.
	r.Header.Set("Accept", "application/json, text/event-stream")
	handler.ServeHTTP(shaped, r)
	shaped.finish(r.Context())
}

// accepted tells the forms of an answer that the request asks for by name. One
// that names neither gets JSON.
func accepted(r *http.Request) (takesJSON, takesEvents bool) {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	events := strings.Contains(accept, "text/event-stream")
	return !events || strings.Contains(accept, "application/") || strings.Contains(accept, "*/*"), events
}

func read(w http.ResponseWriter, r *http.Request) ([]byte, message, *refusedMessage) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, message{}, &refusedMessage{http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, "Send the message as JSON, with Content-Type: application/json."}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, message{}, &refusedMessage{http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, "The message has more than 1 MiB; send less."}
	case err != nil:
		return nil, message{}, &refusedMessage{http.StatusBadRequest, jsonrpc.CodeParseError, "The message could not be read to its end."}
	}
	m, refused := parse(body)
	return body, m, refused
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	send(w, status, body)
}

// send says how long the answer is, as REST does.
func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that has gone away has nothing to be told
}

// shaper holds the SDK's answer until it is whole, unless it is a stream. It turns
// refusals, which are plain text, into JSON-RPC, and keeps the service's own rule
// for caches.
type shaper struct {
	http.ResponseWriter
	id      json.RawMessage
	noStore string
	status  int
	streams bool
	body    bytes.Buffer
}

// WriteHeader decides what becomes of the body by its head.
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

// Write passes the body on, or gathers it.
func (s *shaper) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	if s.streams {
		return s.ResponseWriter.Write(b)
	}
	return s.body.Write(b)
}

// Flush sends what was written, for streams.
func (s *shaper) Flush() {
	if s.streams {
		_ = http.NewResponseController(s.ResponseWriter).Flush() // what can not be flushed goes out at the end
	}
}

// Unwrap gives http.ResponseController the writer underneath.
func (s *shaper) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *shaper) finish(ctx context.Context) {
	refuse := func(status, code int, message string) {
		s.Header().Set("Cache-Control", s.noStore)
		write(s.ResponseWriter, status, encodeError(s.id, code, message, nil))
	}
	switch {
	case s.streams:
	case s.status == 0 && ctx.Err() != nil:
		s.Header().Set("Retry-After", "1")
		refuse(http.StatusServiceUnavailable, rpcCode(http.StatusServiceUnavailable), warranty.AsError(ctx.Err()).Message)
	case s.status == 0: // the SDK has said nothing at all
		refuse(http.StatusInternalServerError, jsonrpc.CodeInternalError, "Something went wrong on our side.")
	case s.status >= http.StatusBadRequest && strings.HasPrefix(s.Header().Get("Content-Type"), "text/plain"):
		refuse(s.status, jsonrpc.CodeInvalidRequest, strings.TrimSpace(s.body.String()))
	default:
		send(s.ResponseWriter, s.status, s.body.Bytes())
	}
}
