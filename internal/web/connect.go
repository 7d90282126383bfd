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
	type object = map[string]any
	mcpServers := func(server object) string {
		return pretty(object{"mcpServers": object{"warranty": server}})
	}
	return []snippet{
		{"curl", "curl", "connect.curl", `curl -H "x-api-key: $SVC_API_KEY" \
  "` + base + `/warranties?page=1&limit=20"`},
		{"cli", "CLI", "connect.cli", `export SVC_BASE_URL='` + base + `'
export SVC_API_KEY='<API_KEY>'
svc auth status
svc warranties list --status active --pretty`},
		{"claude-code", "Claude Code", "connect.claude_code",
			`claude mcp add warranty -e SVC_API_KEY="$SVC_API_KEY" -e SVC_BASE_URL=` + base + ` -- svc-mcp

# or connect directly, without svc-mcp
claude mcp add --transport http warranty ` + agents + ` --header "x-api-key: $SVC_API_KEY"`},
		{"claude-desktop", "Claude Desktop", "connect.claude_desktop", mcpServers(object{
			"command": "svc-mcp",
			"env":     object{"SVC_API_KEY": "<API_KEY>", "SVC_BASE_URL": base},
		})},
		{"cursor", "Cursor", "connect.cursor", mcpServers(object{
			"url":     agents,
			"headers": object{"x-api-key": "${env:SVC_API_KEY}"},
		})},
		{"vscode", "VS Code", "connect.vscode", pretty(object{
			"inputs": []any{object{
				"type": "promptString", "id": "svc-api-key", "description": "Integration token", "password": true,
			}},
			"servers": object{"warranty": object{
				"type": "http", "url": agents, "headers": object{"x-api-key": "${input:svc-api-key}"},
			}},
		})},
		{"codex", "Codex", "connect.codex", `[mcp_servers.warranty]
url = "` + agents + `"
env_http_headers = { "x-api-key" = "SVC_API_KEY" }`},
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
