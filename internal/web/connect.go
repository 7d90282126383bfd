package web

import (
	"encoding/json"
	"strings"

	"warranty.example/svc/api"
)

// snippet is an example that connects an app.
type snippet struct {
	ID, Name string
	Where    string // the key of the instruction
	Code     string
}

// connect returns the examples for this service. The token is read from the environment
// where the app supports it.
func connect(publicURL string) []snippet {
	base, agents := publicURL+string(api.V1), publicURL+"/api/mcp"
	env := func(key string) map[string]any { return map[string]any{"SVC_API_KEY": key, "SVC_BASE_URL": base} }
	return []snippet{
		{"curl", "curl", "connect.curl", `curl -H "x-api-key: $SVC_API_KEY" \` + "\n  " + `"` + base + `/warranties?page=1&limit=20"`},
		{"cli", "CLI", "connect.cli", "export SVC_BASE_URL='" + base + "'\nexport SVC_API_KEY='<API_KEY>'\nsvc auth status\nsvc warranties list --status active --pretty"},
		{"claude-code", "Claude Code", "connect.claude_code", `claude mcp add warranty -e SVC_API_KEY="$SVC_API_KEY" -e SVC_BASE_URL=` + base + " -- svc-mcp\n\n" +
			"# or without svc-mcp, straight to this service\n" + `claude mcp add --transport http warranty ` + agents + ` --header "x-api-key: $SVC_API_KEY"`},
		{"claude-desktop", "Claude Desktop", "connect.claude_desktop", pretty(map[string]any{"mcpServers": map[string]any{
			"warranty": map[string]any{"command": "svc-mcp", "env": env("<API_KEY>")}}})},
		{"cursor", "Cursor", "connect.cursor", pretty(map[string]any{"mcpServers": map[string]any{
			"warranty": map[string]any{"url": agents, "headers": map[string]any{"x-api-key": "${env:SVC_API_KEY}"}}}})},
		{"vscode", "VS Code", "connect.vscode", pretty(map[string]any{
			"inputs":  []any{map[string]any{"type": "promptString", "id": "svc-api-key", "description": "Integration token", "password": true}},
			"servers": map[string]any{"warranty": map[string]any{"type": "http", "url": agents, "headers": map[string]any{"x-api-key": "${input:svc-api-key}"}}}})},
		{"codex", "Codex", "connect.codex", "[mcp_servers.warranty]\nurl = \"" + agents + "\"\nenv_http_headers = { \"x-api-key\" = \"SVC_API_KEY\" }"},
	}
}

// pretty returns v as indented JSON.
func pretty(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // maps of strings can always be encoded
	return strings.TrimSpace(b.String())
}
