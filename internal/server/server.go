// Package server is the HTTP server: routes, middleware, startup and shutdown.
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/mcp"
	"warranty.example/svc/internal/oauth"
	"warranty.example/svc/internal/rest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web"
	"warranty.example/svc/warranty"
)

// Server serves the API, the web pages and MCP over HTTP.
type Server struct {
	Service *service.Service
	Jobs    *jobs.Jobs
	Log     *slog.Logger
	Metrics *Metrics    // optional
	TLS     *tls.Config // optional
	// CertificateExpires returns the end of the certificate's validity, for the metrics and
	// the admin page; nil without TLS.
	CertificateExpires func() time.Time
	Version            string

	PublicURL string
	Proxies   limit.Proxies
	// SecurityContact is the contact URL in security.txt. If empty, security.txt is not served.
	SecurityContact string
	// IPRate is the number of requests per minute of a network; 0 means no limit.
	IPRate int
	// Drain is how long requests are still served after the context of Run is done.
	Drain time.Duration
	// ConnectionsPerAddress limits the open connections per address; 0 means no limit.
	ConnectionsPerAddress int
	// MaxConnections limits the open connections in total; 0 means the default.
	MaxConnections int
	// StopTimeout is how long shutdown waits for requests in progress; 0 means the default.
	StopTimeout time.Duration
	// Deadline derives the context of a request; nil means a timeout of requestTimeout.
	Deadline func(context.Context) (context.Context, context.CancelFunc)

	edge     *rest.Edge
	pages    *web.Web
	refused  *limit.Refused
	draining atomic.Bool // shutdown has started
	dated    atomic.Pointer[dateHeader]
	watch    addressWatch
	slow     slowLog
}

// Handler returns the handler of all routes.
func (s *Server) Handler() (http.Handler, error) {
	s.MaxConnections = cmp.Or(s.MaxConnections, maxConnections)
	s.StopTimeout = cmp.Or(s.StopTimeout, stopTimeout)
	if s.Deadline == nil {
		s.Deadline = func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, requestTimeout)
		}
	}
	s.edge = &rest.Edge{PublicURL: s.PublicURL, Log: s.Log}
	s.refused = limit.NewRefused(s.Service.Now)

	operations := http.NewServeMux()
	s.operations(operations)

	mux := http.NewServeMux()
	mux.Handle("/api/", s.limited(operations))
	agents, err := s.agents()
	if err != nil {
		return nil, err
	}
	mux.Handle("/api/mcp", s.limited(agents))
	mux.Handle("GET /healthz", http.HandlerFunc(s.health))
	mux.Handle("GET /readyz", http.HandlerFunc(s.readiness))
	s.pages = &web.Web{
		Service:   s.Service,
		Jobs:      s.Jobs,
		Log:       s.Log,
		PublicURL: s.PublicURL,
		Version:   s.Version,
		OAuth:     oauth.Enabled(s.PublicURL),
	}
	if s.pages.OAuth {
		endpoints := &oauth.Endpoints{Service: s.Service, PublicURL: s.PublicURL, Edge: s.edge}
		handlers, err := endpoints.Handlers()
		if err != nil {
			return nil, err
		}
		for path, h := range handlers {
			mux.Handle(path, s.limited(h))
		}
	}
	s.pages.CertificateExpires = s.CertificateExpires
	if shared, ok := s.Service.Limits.(*limit.Redis); ok {
		s.pages.Redis = shared.Status
	}
	pages, err := s.pages.Handlers()
	if err != nil {
		return nil, err
	}
	otherwise := map[string]http.HandlerFunc{
		"GET /{$}":                   s.index,
		"GET /verify/{reference}":    s.verify,
		"GET /01/{gtin}/21/{number}": s.verifyProduct,
	}
	for pattern, page := range pages {
		page = s.formsOnly(page)
		if answer := otherwise[pattern]; answer != nil {
			page = pageOr(page, answer)
		}
		mux.Handle(pattern, s.limited(page))
	}
	mux.Handle("/", s.limited(http.HandlerFunc(s.notFound)))
	readOnly := []string{"/verify/{reference}", "/01/{gtin}/21/{number}", "/docs", "/docs/{group}", "/healthz", "/readyz", "/{$}"}
	for path, h := range map[string]http.HandlerFunc{
		"/verify/{reference}/certificate":     s.certificate,
		"/verify/{reference}/certificate.pdf": s.printedCertificate,
		describe.KeysPath:                     s.publicKeys,
	} {
		mux.Handle("GET "+path, s.limited(h))
		readOnly = append(readOnly, path)
	}
	if s.SecurityContact != "" {
		mux.Handle("GET "+securityPath, s.limited(http.HandlerFunc(s.securityText)))
		readOnly = append(readOnly, securityPath)
	}
	for _, d := range describe.Discovery(s.PublicURL, s.Version, sdk.SupportedProtocolVersions(), s.pages.OAuth) {
		mux.Handle("GET "+d.Path, s.limited(s.document(d)))
		readOnly = append(readOnly, d.Path)
	}
	for _, path := range readOnly {
		mux.Handle(path, s.limited(s.wrongMethod("GET, HEAD")))
	}
	return s.observed(s.recovered(s.cleanPath(mux))), nil
}

// operations registers every operation, and for each path a 405 response to other methods.
func (s *Server) operations(mux *http.ServeMux) {
	methods := map[string][]string{}
	public := map[string]bool{} // routes whose 405 response needs no credential
	handle := func(method, route string, h http.Handler) {
		mux.Handle(method+" "+route, h)
		methods[route] = append(methods[route], method)
		if method == http.MethodGet {
			methods[route] = append(methods[route], http.MethodHead)
		}
	}
	for _, op := range s.Service.Operations() {
		h := s.edge.Handler(op)
		if op.Auth == api.Public {
			public[op.Route()] = true
		} else {
			h = s.authenticated(h)
		}
		handle(op.Method, op.Route(), h)
	}
	handle(http.MethodPost, "/api/documents", s.authenticated(s.sessionOnly(s.upload)))
	handle(http.MethodGet, "/api/documents/{id}/file", s.authenticated(s.sessionOnly(s.download)))
	for route, allowed := range methods {
		wrong := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			allow := allowed
			if exact := methods[r.URL.Path]; exact != nil {
				allow = exact
			}
			s.wrongMethod(strings.Join(allow, ", ")).ServeHTTP(w, r)
		}))
		if !public[route] {
			wrong = s.authenticated(wrong)
		}
		record := path.Dir(route) + "/{id}"
		if methods[record] == nil || route == record {
			mux.Handle(route, wrong)
			continue
		}
		// The route of a record matches this path too. Register the 405 for each
		// method of the record by name; all others get the record's own 405.
		for _, method := range methods[record] {
			if !slices.Contains(allowed, method) {
				mux.Handle(method+" "+route, wrong)
			}
		}
	}
	mux.Handle("/", s.authenticated(http.HandlerFunc(s.notFound)))
}

// agents returns the hosted MCP endpoint. It has the same authentication, limits,
// headers and log as the other routes, and every response is JSON-RPC.
func (s *Server) agents() (http.Handler, error) {
	server, err := mcp.New(mcp.Config{
		Operations:   s.Service.Operations(),
		Caller:       mcp.HostedCaller,
		Today:        func() warranty.Date { return warranty.DateOf(s.Service.Now()) },
		Schemas:      describe.ToolSchemas,
		RecordSchema: describe.RecordSchema,
		PublicURL:    s.PublicURL,
		Version:      s.Version,
		Log:          s.Log,
		Challenge: func(missing warranty.Scope) string {
			return oauth.Challenge(s.PublicURL, "insufficient_scope", warranty.Scopes{missing})
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /api/mcp", s.authenticated(mcp.NewEndpoint(server)))
	mux.Handle("/api/mcp", s.authenticated(s.wrongMethod("POST")))
	return mcp.Guard(s.PublicURL, mux)
}

func (s *Server) wrongMethod(allow string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		s.refuse(w, r, warranty.Refuse(warranty.MethodNotAllowed, "Allowed methods: %s.", allow))
	})
}

// cleanPath returns 404 for paths that are not clean (a//b, a/../b). The mux would
// redirect them to the clean path without counting limits or setting headers.
func (s *Server) cleanPath(next http.Handler) http.Handler {
	missing := s.limited(http.HandlerFunc(s.notFound))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		if clean := path.Clean(escaped); clean != escaped && clean+"/" != escaped {
			missing.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

const securityPath = "/.well-known/security.txt"

// securityText serves security.txt (RFC 9116), which says where to report a
// vulnerability. It is generated per request and expires in six months.
func (s *Server) securityText(w http.ResponseWriter, _ *http.Request) {
	expires := s.Service.Now().UTC().Truncate(24*time.Hour).AddDate(0, 6, 0)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=86400")
	// It fails only when the client has disconnected.
	_, _ = fmt.Fprintf(w, "Contact: %s\nExpires: %s\nPreferred-Languages: en\nCanonical: %s%s\n",
		s.SecurityContact, expires.Format(time.RFC3339), s.PublicURL, securityPath)
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	if fromBrowser(r) {
		s.pages.NotFound(w, r)
		return
	}
	s.refuse(w, r, warranty.ErrNotFound)
}

// refuse sends an error in the format that the client reads: a page, JSON-RPC, an error of OAuth or a problem.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case fromBrowser(r):
		s.pages.Refuse(w, r, err)
	case r.URL.Path == mcpPath:
		s.refuseAgent(w, r, err)
	default:
		oauth.Refuse(s.edge, w, r, err)
	}
}

// fromBrowser reports whether the client is a browser that asks for a page.
func fromBrowser(r *http.Request) bool {
	return web.WantsHTML(r) && !strings.HasPrefix(r.URL.Path, "/api/")
}

const mcpPath = "/api/mcp"

// refuseAgent sends an error as JSON-RPC, also when the request never reaches MCP.
func (s *Server) refuseAgent(w http.ResponseWriter, r *http.Request, err error) {
	refusal := s.edge.Report(w, r, err)
	if refusal == nil {
		return
	}
	problem := s.edge.Problem(w, r, refusal)
	if problem.Status == http.StatusUnauthorized {
		if challenge := s.challenge(r, refusal.Code); challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
		}
	}
	rest.Write(w, problem.Status, "application/json", mcp.Problem(problem))
}

// challenge tells a client of the MCP endpoint where to get an access token. One that has a wrong integration token
// would ask the person to sign in instead.
func (s *Server) challenge(r *http.Request, code warranty.Code) string {
	if !oauth.Enabled(s.PublicURL) {
		return ""
	}
	if code == warranty.MissingCredential {
		return oauth.Challenge(s.PublicURL, "", warranty.AllScopes)
	}
	secret, asKey, err := credential(r)
	if asKey || err == nil && strings.HasPrefix(secret, string(warranty.TokenSecret)) {
		return ""
	}
	return oauth.Challenge(s.PublicURL, "invalid_token", warranty.AllScopes)
}

// Timeouts and limits.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 2 * time.Minute
	requestTimeout    = 20 * time.Second
	stopTimeout       = 10 * time.Second
	readyTimeout      = 2 * time.Second
	maxHeaderBytes    = 32 << 10
)
