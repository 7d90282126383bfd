// Package oauth serves the endpoints of the authorization server that apps call: metadata, registration, tokens and
// revocation. The page on which a person decides is in package web.
package oauth

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/netaddr"
	"warranty.example/svc/internal/rest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// Endpoints are the endpoints that apps call.
type Endpoints struct {
	Service   *service.Service
	PublicURL string
	// Edge responds to errors that are not of OAuth.
	Edge *rest.Edge
}

// Enabled reports whether a service with this address is an authorization server: only with https, or on this
// computer.
func Enabled(publicURL string) bool {
	u, err := url.Parse(publicURL)
	if err != nil {
		return false
	}
	return u.Scheme == "https" || netaddr.IsLoopback(u.Hostname())
}

// Paths of the endpoints.
const (
	AuthorizePath   = "/oauth/authorize"
	tokenPath       = "/oauth/token"
	revokePath      = "/oauth/revoke"
	registerPath    = "/oauth/register"
	serverMetadata  = "/.well-known/oauth-authorization-server"
	resourceRoot    = "/.well-known/oauth-protected-resource"
	resourcePathMCP = resourceRoot + "/api/mcp"
)

// maxBody is the maximum size of a body.
const maxBody = 16 << 10

// Handlers returns the handlers of the endpoints, by their paths.
func (e *Endpoints) Handlers() (map[string]http.Handler, error) {
	server, err := json.Marshal(e.server())
	if err != nil {
		return nil, err
	}
	resource, err := json.Marshal(e.resource())
	if err != nil {
		return nil, err
	}
	handlers := map[string]http.Handler{}
	for path, document := range map[string][]byte{
		serverMetadata: server, resourceRoot: resource, resourcePathMCP: resource,
	} {
		handlers[path] = e.open("GET, HEAD", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=3600")
			writeJSON(w, http.StatusOK, document)
		})
	}
	for path, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		tokenPath: e.token, revokePath: e.revoke, registerPath: e.register,
	} {
		handlers[path] = e.open("POST", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Pragma", "no-cache")
			if err := handle(w, r); err != nil {
				e.fail(w, r, err)
			}
		})
	}
	return handlers, nil
}

// serverDocument is the metadata of the authorization server (RFC 8414).
type serverDocument struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	ResponseTypes         []string `json:"response_types_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	TokenAuth             []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuth        []string `json:"revocation_endpoint_auth_methods_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	MetadataDocuments     bool     `json:"client_id_metadata_document_supported"`
	Issues                bool     `json:"authorization_response_iss_parameter_supported"`
	Scopes                []string `json:"scopes_supported"`
	Documentation         string   `json:"service_documentation"`
}

func (e *Endpoints) server() serverDocument {
	return serverDocument{
		Issuer:                e.PublicURL,
		AuthorizationEndpoint: e.PublicURL + AuthorizePath,
		TokenEndpoint:         e.PublicURL + tokenPath,
		RegistrationEndpoint:  e.PublicURL + registerPath,
		RevocationEndpoint:    e.PublicURL + revokePath,
		ResponseTypes:         []string{"code"},
		GrantTypes:            grantTypes,
		TokenAuth:             []string{"none"},
		RevocationAuth:        []string{"none"},
		ChallengeMethods:      []string{"S256"},
		MetadataDocuments:     e.Service.Documents != nil,
		Issues:                true,
		Scopes:                scopeNames(),
		Documentation:         e.PublicURL + "/docs",
	}
}

var grantTypes = []string{"authorization_code", "refresh_token"}

func scopeNames() []string { return strings.Fields(warranty.AllScopes.String()) }

// resourceDocument is the metadata of the MCP endpoint (RFC 9728).
type resourceDocument struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name"`
}

func (e *Endpoints) resource() resourceDocument {
	return resourceDocument{
		Resource: e.Service.MCPAddress(),
		Servers:  []string{e.PublicURL},
		Scopes:   scopeNames(),
		Methods:  []string{"header"},
		Name:     "Warranty Records",
	}
}

// Challenge returns the WWW-Authenticate header of the MCP endpoint: for a request without a credential or, with an
// error, with one that is not valid. A missing scope is named alone.
func Challenge(publicURL, problem string, scopes warranty.Scopes) string {
	value := "Bearer "
	if problem != "" {
		value += `error="` + problem + `", `
	}
	return value + `scope="` + scopes.String() + `", resource_metadata="` + publicURL + resourcePathMCP + `"`
}

// open allows the methods for scripts of any site. No endpoint here reads cookies.
func (e *Endpoints) open(methods string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", methods)
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version")
			h.Set("Access-Control-Max-Age", "86400")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if !strings.Contains(", "+methods+",", ", "+r.Method+",") {
			h.Set("Allow", methods+", OPTIONS")
			Refuse(e.Edge, w, r, warranty.Refuse(warranty.MethodNotAllowed, "Allowed methods: %s.", methods))
			return
		}
		next(w, r)
	})
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client disconnected
}

func answer(w http.ResponseWriter, status int, v any) error {
	body, err := api.AppendJSON(nil, v)
	if err == nil {
		writeJSON(w, status, body)
	}
	return err
}

// problem is the body of an error (RFC 6749, section 5.2).
type problem struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// fail responds with an error.
func (e *Endpoints) fail(w http.ResponseWriter, r *http.Request, err error) {
	var refusal *service.OAuthError
	if !errors.As(err, &refusal) {
		Refuse(e.Edge, w, r, err)
		return
	}
	status := http.StatusBadRequest
	if refusal.Code == "invalid_client" {
		status = http.StatusUnauthorized
		if r.Header.Get("Authorization") != "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="svc"`)
		}
	}
	if err := answer(w, status, problem{refusal.Code, description(refusal.Message)}); err != nil {
		Refuse(e.Edge, w, r, err)
	}
}

// Refuse responds with an error that is not of OAuth, such as an exhausted rate limit: as an error of OAuth at the
// endpoints that apps call, and as a problem elsewhere.
func Refuse(edge *rest.Edge, w http.ResponseWriter, r *http.Request, err error) {
	if !isEndpoint(r.URL.Path) {
		edge.Refuse(w, r, err)
		return
	}
	refusal := edge.Report(w, r, err)
	if refusal == nil {
		return
	}
	p := edge.Problem(w, r, refusal)
	code := "invalid_request"
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		code = "temporarily_unavailable"
	case http.StatusInternalServerError:
		code = "server_error"
	}
	body, err := api.AppendJSON(nil, problem{code, description(p.Detail)})
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	rest.Write(w, p.Status, "application/json", body)
}

// description returns a message without the characters that RFC 6749 forbids in error_description: quotes, backslashes and
// everything that is not ASCII.
func description(message string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r == '\\' || r < ' ' || r > '~':
			return '?'
		}
		return r
	}, message)
}

// isEndpoint reports whether a path is one of the endpoints that apps call.
func isEndpoint(path string) bool {
	return path == tokenPath || path == revokePath || path == registerPath
}

func invalid(message string) error {
	return &service.OAuthError{Code: "invalid_request", Message: message}
}

// parameters returns the fields of a form in the body. It refuses repeated ones.
func parameters(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return nil, invalid("Send the parameters as application/x-www-form-urlencoded.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		return nil, invalid("The body is malformed, or larger than 16 KiB.")
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return nil, invalid("The parameter '" + api.Printable(name) + "' is repeated.")
		}
	}
	return r.PostForm, nil
}
