// Package server puts the edges together: routes, middleware, start and stop.
package server

import (
	"cmp"
	"context"
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
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/mcp"
	"warranty.example/svc/internal/rest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web"
	"warranty.example/svc/warranty"
)

// Server answers HTTP.
type Server struct {
	Service *service.Service
	Limits  limit.Limiter
	Log     *slog.Logger
	Metrics *Metrics // nil when nobody looks at them
	Version string

	PublicURL string
	Proxies   limit.Proxies
	// SecurityContact is the URL of security.txt; there is no such file without one.
	SecurityContact string
	// IPRate, VerifyRate and SignInRate are requests a minute, SignUpRate an hour; 0 is without limit.
	IPRate, VerifyRate, SignInRate, SignUpRate int
	// Drain is how long requests are still served after the context of Run has ended.
	Drain time.Duration
	// ConnectionsPerAddress bounds the open connections of one address; 0 is without limit.
	ConnectionsPerAddress int
	// MaxConnections bounds the open connections of all, and StopTimeout the wait for
	// requests under way at the end; 0 is the default.
	MaxConnections int
	StopTimeout    time.Duration
	// Deadline bounds the work on a request; nil gives it requestTimeout.
	Deadline func(context.Context) (context.Context, context.CancelFunc)

	edge     *rest.Edge
	pages    *web.Web
	refused  *limit.Refused
	draining atomic.Bool // the process is about to end
}

// Handler is everything that the service answers.
func (s *Server) Handler() (http.Handler, error) {
	documents, err := describe.Discovery(s.PublicURL, s.Version, sdk.SupportedProtocolVersions())
	if err != nil {
		return nil, err
	}
	s.MaxConnections = cmp.Or(s.MaxConnections, maxConnections)
	s.StopTimeout = cmp.Or(s.StopTimeout, stopTimeout)
	if s.Deadline == nil {
		s.Deadline = func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, requestTimeout)
		}
	}
	s.edge = &rest.Edge{PublicURL: s.PublicURL, Log: s.Log, Encode: speaks}
	s.refused = limit.NewRefused(s.Service.Now)
	s.Service.Throttle = s.throttle

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
	s.pages = &web.Web{Service: s.Service, Log: s.Log, PublicURL: s.PublicURL, Version: s.Version, Limited: s.limited, IndexJSON: s.index, VerifyJSON: s.verify,
		NoPage: func(w http.ResponseWriter, r *http.Request) { s.edge.Refuse(w, r, warranty.ErrNotFound) }}
	if err := s.pages.Register(mux); err != nil {
		return nil, err
	}
	mux.Handle("/", s.limited(http.HandlerFunc(s.notFound)))
	readOnly := []string{"/verify/{reference}", "/healthz", "/readyz", "/{$}"}
	if s.SecurityContact != "" {
		mux.Handle("GET "+securityPath, s.limited(http.HandlerFunc(s.securityText)))
		readOnly = append(readOnly, securityPath)
	}
	for _, d := range documents {
		mux.Handle("GET "+d.Path, s.limited(document(d, describe.CatalogLink(s.PublicURL))))
		readOnly = append(readOnly, d.Path)
	}
	for _, path := range readOnly {
		mux.Handle(path, s.limited(s.wrongMethod("GET, HEAD")))
	}
	return s.observed(s.recovered(s.plain(mux))), nil
}

// operations registers every operation, and for each path the answer to other methods.
func (s *Server) operations(mux *http.ServeMux) {
	methods := map[string][]string{}
	public := map[string]bool{} // who may sign in need not do so to hear how
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
		// The route of a record matches this one, too. The mux takes each of its
		// methods by name; all others reach the record's own answer.
		for _, method := range methods[record] {
			if !slices.Contains(allowed, method) {
				mux.Handle(method+" "+route, wrong)
			}
		}
	}
	mux.Handle("/", s.authenticated(http.HandlerFunc(s.notFound)))
}

// agents is the hosted MCP endpoint: behind the same credential, limits, headers
// and log as everything else, and answering in JSON-RPC whatever happens.
func (s *Server) agents() (http.Handler, error) {
	server, err := mcp.New(mcp.Config{Operations: s.Service.Operations(), Caller: mcp.HostedCaller, Schemas: describe.ToolSchemas,
		PublicURL: s.PublicURL, Version: s.Version, Log: s.Log})
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
		s.refuse(w, r, warranty.Refuse(warranty.MethodNotAllowed, "This address takes: "+allow+"."))
	})
}

// plain answers an address that is not in its plain form (a//b, a/../b) as any
// other that does not exist. The mux would send its caller on to the plain form,
// past the limits and without the headers.
func (s *Server) plain(next http.Handler) http.Handler {
	missing := s.limited(http.HandlerFunc(s.notFound))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address := r.URL.EscapedPath()
		if clean := path.Clean(address); clean != address && clean+"/" != address {
			missing.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

const securityPath = "/.well-known/security.txt"

// securityText tells where to report a vulnerability (RFC 9116). It is always fresh,
// so it expires in a while from now: a copy that is found years later is not current.
func (s *Server) securityText(w http.ResponseWriter, _ *http.Request) {
	expires := s.Service.Now().UTC().Truncate(24*time.Hour).AddDate(0, 6, 0)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=86400")
	_, _ = fmt.Fprintf(w, "Contact: %s\nExpires: %s\nPreferred-Languages: en\nCanonical: %s%s\n", // a reader who has gone needs nothing
		s.SecurityContact, expires.Format(time.RFC3339), s.PublicURL, securityPath)
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	if forPeople(r) {
		s.pages.NotFound(w, r)
		return
	}
	s.edge.Refuse(w, r, warranty.ErrNotFound)
}

// refuse answers people with a page and programs with a problem.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if forPeople(r) {
		s.pages.Refuse(w, r, err)
		return
	}
	s.edge.Refuse(w, r, err)
}

// forPeople tells whether somebody looks at the answer in a browser.
func forPeople(r *http.Request) bool {
	return web.WantsHTML(r) && !strings.HasPrefix(r.URL.Path, "/api/")
}

// speaks answers agents in JSON-RPC, also where the request never gets to MCP.
func speaks(r *http.Request, p warranty.Problem) (string, []byte) {
	if r.URL.Path == "/api/mcp" {
		return "application/json", mcp.Problem(p)
	}
	return "application/problem+json", nil
}

// Timeouts and sizes of the server.
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
