package describe_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

const public = "https://warranty.shop.example"

var protocols = []string{"2026-07-28", "2025-11-25"}

// documents returns the discovery documents by path.
func documents(t testing.TB) map[string]document {
	t.Helper()
	return made(t, describe.Discovery(public, "1.2.3", protocols, true))
}

// document is a discovery document that has been made.
type document struct {
	MediaType string
	Body      []byte
}

func made(t testing.TB, list []describe.Document) map[string]document {
	t.Helper()
	byPath := map[string]document{}
	for _, d := range list {
		body, err := d.Body()
		if err != nil {
			t.Fatal(d.Path, err)
		}
		byPath[d.Path] = document{d.MediaType, body}
	}
	return byPath
}

// read decodes a document into v and rejects unknown members.
func read(t testing.TB, body []byte, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// below reports whether an address is an absolute URL of the service.
func below(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme+"://"+u.Host == public && u.RawQuery == "" && u.User == nil
}

// input is a value that the user has to enter.
type input struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	IsRequired  bool   `json:"isRequired"`
	IsSecret    bool   `json:"isSecret"`
	Placeholder string `json:"placeholder"`
	Format      string `json:"format"`
	Default     string `json:"default"`
}

// card is the MCP server card; server.json has the same members.
type card struct {
	Schema      string `json:"$schema"`
	Name        string `json:"name"`
	Version     string `json:"version"`
	Title       string `json:"title"`
	Description string `json:"description"`
	WebsiteURL  string `json:"websiteUrl"`
	Remotes     []struct {
		Type                      string           `json:"type"`
		URL                       string           `json:"url"`
		Headers                   []input          `json:"headers"`
		Variables                 map[string]input `json:"variables"`
		SupportedProtocolVersions []string         `json:"supportedProtocolVersions"`
	} `json:"remotes"`
	Packages []struct {
		RegistryType string `json:"registryType"`
		Identifier   string `json:"identifier"`
		RuntimeHint  string `json:"runtimeHint"`
		Transport    struct {
			Type string `json:"type"`
		} `json:"transport"`
		EnvironmentVariables []input `json:"environmentVariables"`
	} `json:"packages"`
}

var cardName = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

func (c card) check(t testing.TB) {
	t.Helper()
	if !cardName.MatchString(c.Name) || len(c.Title) == 0 || len(c.Title) > 100 || len(c.Description) == 0 ||
		len(c.Description) > 100 ||
		c.Version == "" || strings.ContainsAny(c.Version, "^~<>=*x ") || len(c.Remotes) != 1 {
		t.Errorf("the card does not match its schema: %+v", c)
		return
	}
	if r := c.Remotes[0]; r.Type != "streamable-http" || len(r.Headers) != 1 || r.Headers[0].Name != "x-api-key" ||
		r.Headers[0].IsRequired || !r.Headers[0].IsSecret {
		t.Errorf("the remote is %+v", r)
	}
}

func TestServerCard(t *testing.T) {
	docs := documents(t)
	var c card
	read(t, docs["/.well-known/mcp.json"].Body, &c)
	c.check(t)
	same(t, "schema", c.Schema, "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json")
	same(t, "version", c.Version, "1.2.3")
	same(t, "versions of the protocol", c.Remotes[0].SupportedProtocolVersions, protocols)
	if !below(c.WebsiteURL) || c.Remotes[0].URL != public+"/api/mcp" {
		t.Errorf("addresses %s and %s", c.WebsiteURL, c.Remotes[0].URL)
	}
	same(t, "the card beside the endpoint", string(docs["/api/mcp/server-card"].Body),
		string(docs["/.well-known/mcp.json"].Body))
}

// TestServerJSON compares server.json, the file for the MCP registry, with the card. Its
// package is the image of svc-mcp that a release has.
func TestServerJSON(t *testing.T) {
	body, err := os.ReadFile("../../server.json")
	if err != nil {
		t.Fatal(err)
	}
	var file, c card
	read(t, body, &file)
	read(t, documents(t)["/.well-known/mcp.json"].Body, &c)
	file.check(t)
	same(t, "schema", file.Schema, "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json")
	same(t, "name", file.Name, c.Name)
	same(t, "title", file.Title, c.Title)
	same(t, "description", file.Description, c.Description)
	same(t, "header", file.Remotes[0].Headers, c.Remotes[0].Headers)
	same(t, "address", strings.Replace(file.Remotes[0].URL, "{host}", "warranty.shop.example", 1), c.Remotes[0].URL)
	if !file.Remotes[0].Variables["host"].IsRequired {
		t.Error("the host variable is missing")
	}
	if len(file.Packages) != 1 {
		t.Fatalf("packages: %+v", file.Packages)
	}
	image := file.Packages[0]
	if image.RegistryType != "oci" || image.Transport.Type != "stdio" {
		t.Errorf("the package is %+v", image)
	}
	name, repository := publishedNames(t)
	same(t, "name of the module's owner", file.Name, name)
	same(t, "image of the module's owner", image.Identifier, repository+":"+file.Version)
	read := map[string]bool{"SVC_BASE_URL": false, "SVC_API_KEY": true, "SVC_MCP_READ_ONLY": false}
	for _, v := range image.EnvironmentVariables {
		if secret, known := read[v.Name]; !known || v.IsSecret != secret || v.Description == "" {
			t.Errorf("svc-mcp does not read %+v", v)
		}
		delete(read, v.Name)
	}
	same(t, "variables that are missing", len(read), 0)
}

// publishedNames returns the names that scripts/rename-module gives svc-mcp in MCP registries and as an image.
// They belong to the owner of the module path: nobody else can offer an image under them.
func publishedNames(t testing.TB) (name, image string) {
	t.Helper()
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	module := strings.Fields(string(text))[1]
	host, path, _ := strings.Cut(module, "/")
	if host == "github.com" {
		owner, _, _ := strings.Cut(path, "/")
		return "io.github." + owner + "/svc-mcp", "ghcr.io/" + strings.ToLower(path) + "/svc-mcp"
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "/svc-mcp", strings.ToLower(module) + "/svc-mcp"
}

// TestServerJSONMatchesTheSchema validates server.json against the schema of the MCP registry.
func TestServerJSONMatchesTheSchema(t *testing.T) {
	text, err := os.ReadFile("testdata/server.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const address = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
	if err := c.AddResource(address, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(address)
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile("../../server.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(old, replacement string) error {
		changed := strings.Replace(string(body), old, replacement, 1)
		if old != "" && changed == string(body) {
			t.Fatalf("server.json has no %s", old)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(changed))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	if err := valid("", ""); err != nil {
		t.Error(err)
	}
	for old, replacement := range map[string]string{
		`"description": "`:          `"description": "` + strings.Repeat("x", 100),
		`"name": "`:                 `"name": "a/b/`,
		`"type": "streamable-http"`: `"type": "http"`,
		`"registryType"`:            `"registry_type"`,
		`"isRequired": true`:        `"isRequired": "true"`,
		`"format": "boolean"`:       `"format": "bool"`,
	} {
		if valid(old, replacement) == nil {
			t.Errorf("the schema accepts %s", replacement)
		}
	}
}

// TestAgentCard checks the agent card against A2A 1.0. The service has no A2A operations,
// so the card must not claim an interface.
func TestAgentCard(t *testing.T) {
	var c struct {
		Name                string `json:"name"`
		Description         string `json:"description"`
		Version             string `json:"version"`
		SupportedInterfaces []any  `json:"supportedInterfaces"`
		Provider            struct{ Organization, URL string }
		DocumentationURL    string          `json:"documentationUrl"`
		Capabilities        map[string]bool `json:"capabilities"`
		SecuritySchemes     map[string]struct {
			APIKey struct{ Location, Name, Description string } `json:"apiKeySecurityScheme"`
			OAuth2 struct {
				Description string
				Flows       struct {
					AuthorizationCode struct {
						AuthorizationURL, TokenURL, RefreshURL string
						Scopes                                 map[string]string
						PKCERequired                           bool
					}
				}
				MetadataURL string `json:"oauth2MetadataUrl"`
			} `json:"oauth2SecurityScheme"`
		} `json:"securitySchemes"`
		DefaultInputModes  []string `json:"defaultInputModes"`
		DefaultOutputModes []string `json:"defaultOutputModes"`
		Skills             []struct {
			ID, Name, Description string
			Tags                  []string
		} `json:"skills"`
	}
	read(t, documents(t)["/.well-known/agent-card.json"].Body, &c)
	if c.Name == "" || c.Version != "1.2.3" || c.SupportedInterfaces == nil || len(c.SupportedInterfaces) != 0 ||
		len(c.DefaultInputModes) == 0 || len(c.DefaultOutputModes) == 0 {
		t.Errorf("required members are missing: %+v", c)
	}
	if !strings.Contains(c.Description, "no A2A interface") || !strings.Contains(c.Description, public+"/api/mcp") {
		t.Errorf("the description does not mention A2A and MCP: %s", c.Description)
	}
	same(t, "capabilities", c.Capabilities, map[string]bool{"streaming": false, "pushNotifications": false,
		"extendedAgentCard": false})
	if k := c.SecuritySchemes["integrationToken"].APIKey; k.Location != "header" || k.Name != "x-api-key" {
		t.Errorf("the scheme is %+v", k)
	}
	flow := c.SecuritySchemes["oauth"].OAuth2.Flows.AuthorizationCode
	if len(flow.Scopes) != len(warranty.AllScopes) || !flow.PKCERequired || !below(flow.AuthorizationURL) || !below(flow.TokenURL) ||
		!below(c.SecuritySchemes["oauth"].OAuth2.MetadataURL) {
		t.Errorf("OAuth is described as %+v", c.SecuritySchemes["oauth"])
	}
	if card := made(t, describe.Discovery(public, "1.2.3", protocols, false))["/.well-known/agent-card.json"]; strings.Contains(string(card.Body), "oauth") {
		t.Errorf("a service without OAuth describes it: %s", card.Body)
	}
	if !below(c.Provider.URL) || !below(c.DocumentationURL) {
		t.Errorf("addresses %s and %s", c.Provider.URL, c.DocumentationURL)
	}
	same(t, "skills", len(c.Skills), len(warranty.AllScopes))
	told := map[string]int{}
	for _, s := range c.Skills {
		if s.ID == "" || s.Name == "" || len(s.Tags) == 0 {
			t.Errorf("the skill %+v is incomplete", s)
		}
		for _, tool := range regexp.MustCompile(`[a-z]+(_[a-z]+)+`).FindAllString(s.Description, -1) {
			told[tool]++
		}
	}
	for _, op := range api.Operations() {
		if op.Tool != "" && told[op.Tool] != 1 {
			t.Errorf("the skills name %s %d times", op.Tool, told[op.Tool])
		}
	}
}

// TestCatalog checks the catalog against RFC 9264: every relation is a list of targets,
// whose attributes are strings.
func TestCatalog(t *testing.T) {
	doc := documents(t)
	var c struct {
		Linkset []map[string]json.RawMessage `json:"linkset"`
	}
	read(t, doc["/.well-known/api-catalog"].Body, &c)
	anchors := map[string]map[string][]string{}
	for _, context := range c.Linkset {
		var anchor string
		read(t, context["anchor"], &anchor)
		delete(context, "anchor")
		anchors[anchor] = map[string][]string{}
		for relation, value := range context {
			var targets []struct{ Href, Type, Title string }
			read(t, value, &targets)
			for _, target := range targets {
				if !below(target.Href) {
					t.Errorf("%s of %s links to %s", relation, anchor, target.Href)
				}
				path := strings.TrimPrefix(target.Href, public)
				anchors[anchor][relation] = append(anchors[anchor][relation], path)
				if d, ok := doc[path]; ok && !strings.HasPrefix(d.MediaType, target.Type) {
					t.Errorf("%s has the type %s in the catalog, but is %s", path, target.Type, d.MediaType)
				}
			}
		}
	}
	same(t, "links", anchors, map[string]map[string][]string{
		public + "/.well-known/api-catalog": {"item": {"/api/v1", "/api/mcp"}},
		public + "/api/v1": {"service-desc": {"/openapi.json"}, "service-doc": {"/llms.txt"},
			"service-meta": {"/.well-known/jwks.json"}, "status": {"/healthz"}},
		public + "/api/mcp": {"service-desc": {"/.well-known/mcp.json"},
			"service-meta": {"/.well-known/agent-card.json"}},
	})
}

// TestLLMs parses llms.txt like the reference parser: a title, a summary, text without
// headings, then sections that contain only links.
func TestLLMs(t *testing.T) {
	doc := documents(t)
	text := string(doc["/llms.txt"].Body)
	head, rest, _ := strings.Cut(text, "\n## ")
	if !regexp.MustCompile(`^# [^\n]+\n\n> [^\n]+\n\n[^#]+$`).MatchString(head) {
		t.Errorf("the head is %q", head)
	}
	for _, scope := range warranty.AllScopes {
		if !strings.Contains(head, string(scope)) {
			t.Errorf("%s is not named", scope)
		}
	}
	link := regexp.MustCompile(`^- \[([^\]]+)\]\(([^)\s]+)\): \S.*$`)
	linked := map[string]bool{}
	for section := range strings.SplitSeq(rest, "\n## ") {
		lines := strings.Split(strings.TrimSpace(section), "\n")
		for _, line := range lines[1:] {
			m := link.FindStringSubmatch(line)
			if m == nil && line != "" {
				t.Errorf("%q contains %q", lines[0], line)
				continue
			}
			if m != nil {
				if !below(m[2]) {
					t.Errorf("%s links to %s", m[1], m[2])
				}
				linked[strings.TrimPrefix(m[2], public)] = true
			}
		}
	}
	if text := string(documents(t)["/llms.txt"].Body); strings.Contains(text, "Every call needs") || !linked["/verify/{reference}"] {
		t.Errorf("the text does not say which calls need no credential: %s", text)
	}
	for _, path := range []string{"/openapi.json", "/api/mcp", "/.well-known/mcp.json", "/.well-known/agent-card.json",
		"/.well-known/api-catalog", "/api/v1/warranties", "/api/v1/claims", "/api/v1/documents", "/.well-known/ai-catalog.json",
		"/.well-known/agent-skills/prepare-claim/SKILL.md", "/.well-known/agent-skills/register-purchase/SKILL.md"} {
		if !linked[path] {
			t.Errorf("%s is not linked", path)
		}
	}
}

// TestDocumentsAreServed gets each document without a credential.
func TestDocumentsAreServed(t *testing.T) {
	w := servertest.New(t, servertest.SQLite(t))
	get := func(method, path string, headers ...string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequest(method, w.HTTP.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
				req.Host = headers[i+1]
			}
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
	paths := []string{}
	for path, d := range documents(t) {
		paths = append(paths, path)
		resp, body := get("GET", path)
		h := resp.Header
		tag := h.Get("ETag")
		if resp.StatusCode != 200 || h.Get("Content-Type") != d.MediaType ||
			h.Get("Cache-Control") != "public, max-age=3600" || h.Get("Access-Control-Allow-Origin") != "*" ||
			!regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(tag) || h.Get("X-Request-Id") == "" {
			t.Errorf("GET %s: %d %v", path, resp.StatusCode, h)
		}
		if path != "/openapi.json" {
			for _, address := range regexp.MustCompile(`https?://[^\s"')]+`).FindAllString(body, -1) {
				if !strings.HasPrefix(address, servertest.PublicURL) &&
					!strings.HasPrefix(address, "https://static.modelcontextprotocol.io/schemas/") &&
					!strings.HasPrefix(address, "https://schemas.agentskills.io/discovery/") {
					t.Errorf("%s names the address %s", path, address)
				}
			}
		}
		if evil, other := get("GET", path, "Host", "evil.example", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto",
			"http"); other != body || evil.Header.Get("ETag") != tag || strings.Contains(evil.Header.Get("Link"), "evil") {
			t.Errorf("%s believes the Host header", path)
		}
		head, none := get("HEAD", path)
		if head.StatusCode != 200 || none != "" || head.ContentLength != int64(len(body)) || head.Header.Get("ETag") != tag ||
			head.Header.Get("Content-Type") != d.MediaType {
			t.Errorf("HEAD %s: %d %v", path, head.StatusCode, head.Header)
		}
		if path == "/.well-known/api-catalog" && head.Header.Get("Link") != `<`+
			servertest.PublicURL+path+`>; rel="api-catalog"` {
			t.Errorf("HEAD of the catalog has the link %s", head.Header.Get("Link"))
		}
		if again, none := get("GET", path, "If-None-Match", tag); again.StatusCode != 304 || none != "" ||
			again.Header.Get("ETag") != tag {
			t.Errorf("%s once more: %d %s", path, again.StatusCode, none)
		}
		for _, list := range []string{"W/" + tag, `"other", ` + tag, "*"} {
			if again, _ := get("GET", path, "If-None-Match", list); again.StatusCode != 304 {
				t.Errorf("%s: If-None-Match: %s returned %d", path, list, again.StatusCode)
			}
		}
		if part, whole := get("GET", path, "Range", "bytes=99999999-"); part.StatusCode != 200 || whole != body {
			t.Errorf("%s in parts: %d", path, part.StatusCode)
		}
		if other, _ := get("GET", path, "If-None-Match", `"other"`); other.StatusCode != 200 {
			t.Errorf("%s with another tag: %d", path, other.StatusCode)
		}
		if wrong, body := get("POST", path); wrong.StatusCode != 405 || wrong.Header.Get("Allow") != "GET, HEAD" ||
			!json.Valid([]byte(body)) {
			t.Errorf("POST %s: %d %s", path, wrong.StatusCode, body)
		}
	}
	slices.Sort(paths)
	same(t, "documents", paths, []string{"/.well-known/agent-card.json", "/.well-known/agent-skills/index.json",
		"/.well-known/agent-skills/prepare-claim/SKILL.md", "/.well-known/agent-skills/register-purchase/SKILL.md",
		"/.well-known/ai-catalog.json", "/.well-known/api-catalog",
		"/.well-known/mcp.json", "/api/mcp/server-card", "/llms.txt", "/openapi.json"})
	// The metadata of OAuth has its own tests, and OpenID Connect is not supported.
	for _, path := range []string{"/.well-known/oauth-protected-resource/api/v1",
		"/.well-known/openid-configuration", "/.well-known/nonsense"} {
		if resp, body := get("GET", path); resp.StatusCode != 404 ||
			resp.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, `"not_found"`) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

// TestCardSaysWhatTheEndpointDoes compares the card with the endpoint.
func TestCardSaysWhatTheEndpointDoes(t *testing.T) {
	w := servertest.New(t, servertest.SQLite(t))
	secret, _ := w.Token(w.Person("Ada"))
	req, err := http.NewRequest("POST", w.HTTP.URL+"/api/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"X-Api-Key": secret, "Content-Type": "application/json",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Result struct {
			SupportedVersions []string
			Meta              map[string]struct{ Title, Version string } `json:"_meta"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	documents := made(t, describe.Discovery(servertest.PublicURL, w.Server.Version, answer.Result.SupportedVersions, true))
	served, err := http.Get(w.HTTP.URL + "/.well-known/mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	defer served.Body.Close()
	body, err := io.ReadAll(served.Body)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the card", string(body), string(documents["/.well-known/mcp.json"].Body))
	var c struct{ Title, Version string }
	if err := json.Unmarshal(body, &c); err != nil {
		t.Fatal(err)
	}
	if who := answer.Result.Meta["io.modelcontextprotocol/serverInfo"]; who.Title != c.Title || who.Version != c.Version {
		t.Errorf("the endpoint says that it is %+v, the card %+v", who, c)
	}
}
