package cli

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
)

// mcpServerName is what the agents call the service.
const mcpServerName = "warranty"

// object keeps the order in which a snippet is read best out of sight: maps are
// sorted, which is good enough for five lines.
type object = map[string]any

// agent is a program that speaks MCP and how its settings are written. None of
// them holds the key itself but Claude Desktop's, which knows no other way: there
// a placeholder stands in its place.
type agent struct {
	name  string
	where string
	local func(command, baseURL string) any
	// hosted is nil when the program takes no headers for a server elsewhere.
	hosted func(url string) any
}

var agents = []agent{
	{"claude-code", ".mcp.json in the project's folder; SVC_API_KEY comes from your environment",
		func(command, baseURL string) any {
			return servers(object{"command": command, "env": object{"SVC_API_KEY": "${SVC_API_KEY}", "SVC_BASE_URL": baseURL}})
		},
		func(url string) any {
			return servers(object{"type": "http", "url": url, "headers": object{"x-api-key": "${SVC_API_KEY}"}})
		}},
	{"claude-desktop", "claude_desktop_config.json (Settings, Developer, Edit Config); put your key in place of <API_KEY>",
		func(command, baseURL string) any {
			return servers(object{"command": command, "env": object{"SVC_API_KEY": "<API_KEY>", "SVC_BASE_URL": baseURL}})
		}, nil},
	{"cursor", ".cursor/mcp.json in the project's folder or in your home; SVC_API_KEY comes from your environment",
		func(command, baseURL string) any {
			return servers(object{"command": command, "env": object{"SVC_API_KEY": "${env:SVC_API_KEY}", "SVC_BASE_URL": baseURL}})
		},
		func(url string) any {
			return servers(object{"url": url, "headers": object{"x-api-key": "${env:SVC_API_KEY}"}})
		}},
	{"vscode", ".vscode/mcp.json in the project's folder; VS Code asks for the key once and keeps it",
		func(command, baseURL string) any {
			return vscode(object{"type": "stdio", "command": command, "env": object{"SVC_API_KEY": "${input:svc-api-key}", "SVC_BASE_URL": baseURL}})
		},
		func(url string) any {
			return vscode(object{"type": "http", "url": url, "headers": object{"x-api-key": "${input:svc-api-key}"}})
		}},
	{"codex", ".codex/config.toml in your home; SVC_API_KEY comes from your environment",
		func(command, baseURL string) any {
			return toml("command = "+strconv.Quote(command), `env_vars = ["SVC_API_KEY"]`, "env = { SVC_BASE_URL = "+strconv.Quote(baseURL)+" }")
		},
		func(url string) any {
			return toml("url = "+strconv.Quote(url), `env_http_headers = { "x-api-key" = "SVC_API_KEY" }`)
		}},
}

func servers(server object) any { return object{"mcpServers": object{mcpServerName: server}} }

func vscode(server object) any {
	return object{"servers": object{mcpServerName: server},
		"inputs": []any{object{"type": "promptString", "id": "svc-api-key", "description": "Integration token of the warranty records service", "password": true}}}
}

func toml(lines ...string) string {
	return "[mcp_servers." + mcpServerName + "]\n" + strings.Join(lines, "\n") + "\n"
}

func (r *run) mcpConfigCommand() *cobra.Command {
	var client string
	var hosted bool
	names := make([]string, 0, len(agents))
	for _, a := range agents {
		names = append(names, a.name)
	}
	cmd := &cobra.Command{Use: "config", Short: "Print the settings that connect an agent's program",
		Long: `Prints what to put into the settings of an agent's program. It starts svc-mcp,
or with --hosted calls the service's own endpoint. The key is never in it: it
comes from the environment, or a placeholder stands in its place.`,
		Example: "  svc mcp config --client claude-code > .mcp.json\n  svc mcp config --client codex --hosted",
		Args:    arguments()}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&client, "client", "", "`program`: "+strings.Join(names, ", "))
	cmd.Flags().BoolVar(&hosted, "hosted", false, "call the service's endpoint over HTTP instead of starting svc-mcp")
	complete(cmd, "client", names)
	cmd.RunE = func(*cobra.Command, []string) error {
		for _, a := range agents {
			if a.name == client {
				return r.printAgent(a, hosted)
			}
		}
		return usage("--client names no program that this one knows.", "Write --client "+strings.Join(names, ", ")+".")
	}
	return cmd
}

func (r *run) printAgent(a agent, hosted bool) error {
	if _, err := r.connectAs("", false); err != nil { // the address goes into the settings
		return err
	}
	var config any
	switch {
	case hosted && a.hosted == nil:
		return usage(a.name+" sends no headers to a server elsewhere.", "Leave out --hosted: svc-mcp does the same.")
	case hosted:
		config = a.hosted(strings.TrimSuffix(r.address(), string(api.V1)) + "/api/mcp")
	default:
		config = a.local(r.mcpCommand(a), r.address())
	}
	r.note("Put this into %s.", a.where)
	if text, ok := config.(string); ok {
		return r.write([]byte(text))
	}
	b, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return r.write(append([]byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))), '\n'))
}

// mcpCommand is how svc-mcp is started. A program with a window does not know
// the shell's PATH, so it gets the whole path.
func (r *run) mcpCommand(a agent) string {
	path, found := r.FindMCP()
	if !found {
		r.note("svc-mcp was not found on this machine; install it where the shell finds it.")
	}
	if found && a.name == "claude-desktop" {
		return path
	}
	return "svc-mcp"
}
