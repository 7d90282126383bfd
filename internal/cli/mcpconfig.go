package cli

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/credentials"
)

// mcpServerName is the name of the service in MCP clients.
const mcpServerName = "warranty"

type object = map[string]any

// agent is an MCP client and its settings. They refer to the key in the environment
// or, where the client does not support that, have a placeholder for it.
type agent struct {
	name  string
	where string
	local func(command string, s mcpSettings) any
	// hosted is nil if the client cannot send headers to a remote server.
	hosted func(s mcpSettings) any
}

// mcpSettings are the settings of an MCP client besides the key: the URL of the service or of its MCP endpoint,
// and the organization to act for, if any. signedIn means that svc-mcp needs no key.
type mcpSettings struct {
	url, account string
	signedIn     bool
}

var agents = []agent{
	{
		name:  "claude-code",
		where: ".mcp.json in your project. SVC_API_KEY is read from your environment.",
		local: func(command string, s mcpSettings) any {
			return servers(object{"command": command, "env": s.env("${SVC_API_KEY}")})
		},
		hosted: func(s mcpSettings) any {
			return servers(object{"type": "http", "url": s.url, "headers": s.headers("${SVC_API_KEY}")})
		},
	},
	{
		name:  "claude-desktop",
		where: "claude_desktop_config.json (Settings, Developer, Edit Config). Replace <API_KEY> with your key.",
		local: func(command string, s mcpSettings) any {
			return servers(object{"command": command, "env": s.env("<API_KEY>")})
		},
	},
	{
		name:  "cursor",
		where: ".cursor/mcp.json in your project or home directory. SVC_API_KEY is read from your environment.",
		local: func(command string, s mcpSettings) any {
			return servers(object{"command": command, "env": s.env("${env:SVC_API_KEY}")})
		},
		hosted: func(s mcpSettings) any {
			return servers(object{"url": s.url, "headers": s.headers("${env:SVC_API_KEY}")})
		},
	},
	{
		name:  "vscode",
		where: ".vscode/mcp.json in your project. VS Code asks for the key once and stores it.",
		local: func(command string, s mcpSettings) any {
			server := object{"type": "stdio", "command": command, "env": s.env("${input:svc-api-key}")}
			if s.signedIn {
				return object{"servers": object{mcpServerName: server}}
			}
			return vscode(server)
		},
		hosted: func(s mcpSettings) any {
			return vscode(object{"type": "http", "url": s.url, "headers": s.headers("${input:svc-api-key}")})
		},
	},
	{
		name:  "codex",
		where: ".codex/config.toml in your home directory. SVC_API_KEY is read from your environment.",
		local: func(command string, s mcpSettings) any {
			lines := []string{"command = " + strconv.Quote(command)}
			if !s.signedIn {
				lines = append(lines, `env_vars = ["SVC_API_KEY"]`)
			}
			return toml(append(lines, "env = { "+s.tomlEnv()+" }")...)
		},
		hosted: func(s mcpSettings) any {
			lines := []string{"url = " + strconv.Quote(s.url), `env_http_headers = { "x-api-key" = "SVC_API_KEY" }`}
			if s.account != "" {
				lines = append(lines, `http_headers = { "X-Account" = `+strconv.Quote(s.account)+" }")
			}
			return toml(lines...)
		},
	},
}

func (s mcpSettings) env(key string) object {
	env := object{"SVC_BASE_URL": s.url}
	if !s.signedIn {
		env["SVC_API_KEY"] = key
	}
	if s.account != "" {
		env["SVC_ACCOUNT"] = s.account
	}
	return env
}

func (s mcpSettings) tomlEnv() string {
	text := "SVC_BASE_URL = " + strconv.Quote(s.url)
	if s.account != "" {
		text += ", SVC_ACCOUNT = " + strconv.Quote(s.account)
	}
	return text
}

func (s mcpSettings) headers(key string) object {
	headers := object{"x-api-key": key}
	if s.account != "" {
		headers["X-Account"] = s.account
	}
	return headers
}

func servers(server object) any { return object{"mcpServers": object{mcpServerName: server}} }

func vscode(server object) any {
	return object{
		"servers": object{mcpServerName: server},
		"inputs": []any{object{
			"type":        "promptString",
			"id":          "svc-api-key",
			"description": "Integration token for the warranty records service",
			"password":    true,
		}},
	}
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
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the settings for an MCP client",
		Long: `Prints the settings that connect an MCP client to the service: with svc-mcp, or
with the MCP endpoint of the service if you use --hosted. The settings never
contain your key. They refer to the environment or have a placeholder for it.`,
		Example: "  svc mcp config --client claude-code > .mcp.json\n  svc mcp config --client codex --hosted",
		Args:    arguments(),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&client, "client", "", "`name` of the MCP client: "+strings.Join(names, ", "))
	cmd.Flags().BoolVar(&hosted, "hosted", false, "use the MCP endpoint of the service instead of svc-mcp")
	complete(cmd, "client", names)
	cmd.RunE = func(*cobra.Command, []string) error {
		for _, a := range agents {
			if a.name == client {
				return r.printAgent(a, hosted)
			}
		}
		problem := "Unknown client " + quote(client) + "."
		if client == "" {
			problem = "Missing flag --client."
		}
		return usage(problem, "Use --client with one of "+strings.Join(names, ", ")+".")
	}
	return cmd
}

func (r *run) printAgent(a agent, hosted bool) error {
	if _, err := r.connectAs(credentials.Key{}, false); err != nil { // checks the base URL and the account
		return err
	}
	var config any
	switch {
	case hosted && a.hosted == nil:
		return usage(a.name+" cannot send an API key to a remote server.", "Remove --hosted. svc-mcp offers the same tools.")
	case hosted:
		config = a.hosted(mcpSettings{url: strings.TrimSuffix(r.address(), string(api.V1)) + "/api/mcp", account: r.accountID()})
	default:
		stored, err := r.loadKeys()
		_, connected := stored.Connections[r.address()]
		s := mcpSettings{r.address(), r.accountID(), err == nil && connected && r.Getenv(credentials.KeyEnv) == ""}
		if s.signedIn {
			r.note("svc-mcp is signed in by svc auth login --web, so it needs no key.")
		}
		config = a.local(r.mcpCommand(a), s)
	}
	r.note("Add this to %s", a.where)
	if text, ok := config.(string); ok {
		return r.write([]byte(text))
	}
	b, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
	return r.write([]byte(text + "\n"))
}

// mcpCommand returns the command that starts svc-mcp. Claude Desktop does not use the
// PATH of the shell, so it gets the full path.
func (r *run) mcpCommand(a agent) string {
	path, found := r.FindMCP()
	if !found {
		r.note("svc-mcp was not found. Install it in a directory of your PATH.")
	}
	if found && a.name == "claude-desktop" {
		return path
	}
	return "svc-mcp"
}
