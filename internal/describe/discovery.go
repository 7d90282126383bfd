package describe

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/skills"
	"warranty.example/svc/warranty"
)

// Document is a discovery document. It does not change while the process runs, and is made when it is first read, so
// that the service starts sooner.
type Document struct {
	Path, MediaType string
	Body            func() ([]byte, error)
}

const (
	serviceTitle = "Warranty Records"
	serviceText  = "List, get, create, update, delete and verify warranties; read claims and document metadata."
	mcpPath      = "/api/mcp"
	catalogPath  = "/.well-known/api-catalog"
	cardPath     = "/.well-known/mcp.json"
	agentPath    = "/.well-known/agent-card.json"
	cardType     = "application/mcp-server-card+json"
	aiPath       = "/.well-known/ai-catalog.json"
	skillsFolder = "/.well-known/agent-skills/"
	skillsPath   = skillsFolder + "index.json"
)

// KeysPath is the path of the public keys that verify certificates. They change when the operator replaces the key.
const KeysPath = "/.well-known/jwks.json"

// KeysType is their media type.
const KeysType = "application/jwk-set+json"

// Discovery returns all discovery documents of the service at publicURL. protocols lists
// the MCP versions that the endpoint supports, newest first. oauth means that apps can
// connect without a key.
func Discovery(publicURL, version string, protocols []string, oauth bool) []Document {
	d := discovery{url: publicURL, version: version, protocols: protocols, oauth: oauth}
	var documents []Document
	add := func(path, mediaType string, body func() ([]byte, error)) {
		documents = append(documents, Document{path, mediaType, sync.OnceValues(body)})
	}
	add("/openapi.json", "application/json", func() ([]byte, error) { return OpenAPI(publicURL, Version) })
	add("/llms.txt", "text/plain; charset=utf-8", func() ([]byte, error) { return []byte(d.llms()), nil })
	for _, s := range skills.All() {
		add(skillPath(s), "text/markdown; charset=utf-8", func() ([]byte, error) { return s.Body, nil })
	}
	for _, made := range []struct {
		path, mediaType string
		value           func() object
	}{
		{cardPath, cardType, d.serverCard},
		{mcpPath + "/server-card", cardType, d.serverCard},
		{agentPath, "application/json", d.agentCard},
		{catalogPath, `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`, d.catalog},
		{aiPath, "application/ai-catalog+json", d.aiCatalog},
		{skillsPath, "application/json", d.skillIndex},
	} {
		add(made.path, made.mediaType, func() ([]byte, error) { return api.AppendJSON(nil, made.value()) })
	}
	return documents
}

// CatalogLink returns the Link header of the API catalog (RFC 9727).
func CatalogLink(publicURL string) string {
	return "<" + publicURL + catalogPath + `>; rel="api-catalog"`
}

type discovery struct {
	url, version string
	protocols    []string
	oauth        bool
}

// credentials says how agents connect.
func (d discovery) credentials() string {
	if d.oauth {
		return "OAuth, or an integration token in the x-api-key header"
	}
	return "an integration token in the x-api-key header"
}

// object is a JSON object that keeps the order of its members.
type object = ordered[any]

// serverCard returns the MCP server card (draft).
func (d discovery) serverCard() object {
	key := object{
		{"name", "x-api-key"},
		{"description", "Integration token, for clients without OAuth. Create one in Settings, API / CLI / MCP."},
		{"isRequired", !d.oauth},
		{"isSecret", true},
	}
	return object{
		{"$schema", "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"},
		{"name", "example.warranty/svc-mcp"},
		{"version", d.version},
		{"title", serviceTitle},
		{"description", serviceText},
		{"websiteUrl", d.url + "/"},
		{"remotes", []object{{
			{"type", "streamable-http"},
			{"url", d.url + mcpPath},
			{"headers", []object{key}},
			{"supportedProtocolVersions", d.protocols},
		}}},
	}
}

// agentCard returns the A2A agent card. The service has no A2A interface; the card
// points agents to MCP.
func (d discovery) agentCard() object {
	return object{
		{"name", serviceTitle},
		{"description", serviceText + " This service has no A2A interface. Agents connect over MCP at " + d.url + mcpPath +
			" with " + d.credentials() + "; see " + d.url + cardPath + "."},
		{"version", d.version},
		{"supportedInterfaces", []object{}},
		{"provider", object{{"organization", serviceTitle}, {"url", d.url + "/"}}},
		{"documentationUrl", d.url + "/llms.txt"},
		{"capabilities", object{{"streaming", false}, {"pushNotifications", false}, {"extendedAgentCard", false}}},
		{"securitySchemes", d.securitySchemes()},
		{"defaultInputModes", []string{"application/json"}},
		{"defaultOutputModes", []string{"application/json"}},
		{"skills", scopeSkills()},
	}
}

// securitySchemes returns the credentials of MCP as the agent card describes them.
func (d discovery) securitySchemes() object {
	schemes := object{{"integrationToken", object{{"apiKeySecurityScheme", object{
		{"location", "header"}, {"name", "x-api-key"}, {"description", "Scoped integration token."}}}}}}
	if !d.oauth {
		return schemes
	}
	scopes := object{}
	for _, scope := range warranty.AllScopes {
		noun, verb, _ := strings.Cut(string(scope), ":")
		scopes = append(scopes, object{{string(scope), strings.ToUpper(verb[:1]) + verb[1:] + " " + noun + "."}}...)
	}
	return append(schemes, object{{"oauth", object{{"oauth2SecurityScheme", object{
		{"description", "OAuth 2.1 with PKCE. Public clients register themselves."},
		{"flows", object{{"authorizationCode", object{
			{"authorizationUrl", d.url + "/oauth/authorize"},
			{"tokenUrl", d.url + "/oauth/token"},
			{"refreshUrl", d.url + "/oauth/token"},
			{"scopes", scopes},
			{"pkceRequired", true},
		}}}},
		{"oauth2MetadataUrl", d.url + "/.well-known/oauth-authorization-server"},
	}}}}}...)
}

// scopeSkills lists the tools, grouped by the scope that they need.
func scopeSkills() []object {
	var list []object
	for _, scope := range warranty.AllScopes {
		noun, verb, _ := strings.Cut(string(scope), ":")
		var tools []string
		for _, op := range api.Operations() {
			if op.Tool != "" && op.Scope == scope {
				tools = append(tools, op.Tool)
			}
		}
		list = append(list, object{
			{"id", verb + "-" + noun},
			{"name", strings.ToUpper(verb[:1]) + verb[1:] + " " + noun},
			{"description", "MCP tools with the scope " + string(scope) + ": " + strings.Join(tools, ", ") + "."},
			{"tags", []string{noun, verb}},
		})
	}
	return list
}

// catalog returns the API catalog as an RFC 9727 linkset.
func (d discovery) catalog() object {
	link := func(href, mediaType string) []object { return []object{{{"href", d.url + href}, {"type", mediaType}}} }
	return object{{"linkset", []object{
		{
			{"anchor", d.url + catalogPath},
			{"item", []object{
				{{"href", d.url + string(api.V1)}, {"title", serviceTitle + " REST API v1"}},
				{{"href", d.url + mcpPath}, {"title", serviceTitle + " MCP endpoint"}},
			}},
		},
		{
			{"anchor", d.url + string(api.V1)},
			{"service-desc", link("/openapi.json", "application/json")},
			{"service-doc", link("/llms.txt", "text/plain")},
			{"status", link("/healthz", "application/json")},
			{"service-meta", link(KeysPath, KeysType)},
		},
		{
			{"anchor", d.url + mcpPath},
			{"service-desc", link(cardPath, cardType)},
			{"service-meta", link(agentPath, "application/json")},
		},
	}}}
}

// llms returns the guide for language models.
func (d discovery) llms() string {
	var b strings.Builder
	scopes := make([]string, 0, len(warranty.AllScopes))
	for _, s := range warranty.AllScopes {
		scopes = append(scopes, string(s))
	}
	fmt.Fprintf(&b, "# %s\n\n> %s Available over REST, a command line and MCP. "+
		"Calls below %s need an integration token in the x-api-key header, MCP needs %s; "+
		"verification and the documents below need no credential.\n\n", serviceTitle, serviceText, api.V1, d.credentials())
	fmt.Fprintf(&b, "Base URL: %s%s. Scopes: %s. "+
		"Rate limit: %d requests per minute per token unless configured otherwise; see the X-RateLimit headers. "+
		"You only see records that the token's user owns, sold or issued. "+
		"Errors are application/problem+json and say how to fix the request. "+
		"Send an Idempotency-Key when you create a record. URLs of private files are never returned.\n\n",
		d.url, api.V1, strings.Join(scopes, ", "), warranty.DefaultTokenRate)
	fmt.Fprintf(&b, "## API\n\n- [OpenAPI description](%s/openapi.json): every path, parameter, schema and error\n"+
		"- [API catalog](%s%s): RFC 9727 linkset\n"+
		"- [Public keys](%s%s): JWK Set that verifies the certificates at /verify/{reference}/certificate\n",
		d.url, d.url, catalogPath, d.url, KeysPath)
	for _, op := range api.Operations() {
		if op.Base == api.V1 && op.Method == http.MethodGet && !strings.Contains(op.Path, "{") {
			fmt.Fprintf(&b, "- [GET %s](%s%s): %s\n", op.Route(), d.url, op.Route(), op.Summary)
		}
	}
	fmt.Fprintf(&b, "\n## Without a credential\n\n")
	for _, op := range []*api.Spec{api.VerifyPublicly.Spec, api.VerifyProduct.Spec} {
		fmt.Fprintf(&b, "- [GET %s](%s%s): %s Send Accept: application/json\n", op.Path, d.url, op.Path, op.Summary)
	}
	fmt.Fprintf(&b, "- [GET /verify/{reference}/certificate](%s/verify/{reference}/certificate): "+
		"The signed certificate of a warranty that a verified business stands behind\n", d.url)
	fmt.Fprintf(&b, "\n## Agents\n\n"+
		"- [MCP endpoint](%s%s): Streamable HTTP, stateless; POST JSON-RPC with %s\n"+
		"- [MCP server card](%s%s): endpoint, header and protocol versions\n"+
		"- [Agent card](%s%s): skills; there is no A2A interface\n"+
		"- [AI catalog](%s%s): the MCP server and the skills\n",
		d.url, mcpPath, d.credentials(), d.url, cardPath, d.url, agentPath, d.url, aiPath)
	for _, s := range skills.All() {
		fmt.Fprintf(&b, "- [%s](%s%s): %s\n", s.Title, d.url, skillPath(s), s.Description())
	}
	return b.String()
}
