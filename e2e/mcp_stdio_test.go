package e2e

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/api"
	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// TestMCPStdioSaysWhatItLacks expects a configuration error as one line on stderr, of
// which MCP clients show the last line, and nothing on stdout.
func TestMCPStdioSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	p := lab.Start(t)
	secret, id := p.Token(t, p.Register(t, "ada"), "agent", 1000)
	session := p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions", Body: map[string]string{"email": "ada@people.example", "password": lab.Password}}).Must(t, "data.access_token")
	p.Want(t, 204, lab.Call{Method: "DELETE", Path: "/api/integration-tokens/" + id, Secret: session})
	base := "SVC_BASE_URL=" + p.URL + "/api/v1"
	for _, c := range []struct {
		what string
		env  []string
		args []string
		says string
	}{
		{"no key", []string{base}, nil, "SVC_API_KEY"},
		{"an empty key", []string{base, "SVC_API_KEY= "}, nil, "SVC_API_KEY"},
		{"nonsense as key", []string{base, "SVC_API_KEY=nonsense"}, nil, "SVC_API_KEY is not a key"},
		{"a revoked key", []string{base, "SVC_API_KEY=" + secret}, nil, "revoked"},
		{"another address", []string{"SVC_BASE_URL=" + p.URL, "SVC_API_KEY=" + secret}, nil, "/api/v1"},
		{"no address", []string{"SVC_BASE_URL=here", "SVC_API_KEY=" + secret}, nil, "SVC_BASE_URL"},
		{"a key as argument", []string{base}, []string{secret}, "unknown argument"},
		{"a key as flag", []string{base}, []string{"--key=" + secret}, "unknown argument"},
		{"an unknown tool", []string{base}, []string{"--tools", "get_warranty,drop_table"}, `--tools names an unknown tool: "drop_table"`},
		{"no tools", []string{base}, []string{"--tools", ""}, "--tools is empty"},
		{"an unknown tool in the environment", []string{base, "SVC_MCP_TOOLS=x"}, nil, "SVC_MCP_TOOLS names an unknown tool"},
		{"neither true nor false", []string{base, "SVC_MCP_READ_ONLY=perhaps"}, nil, "SVC_MCP_READ_ONLY must be true or false"},
	} {
		cmd := mcpCommand(t, c.env, c.args...)
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != 1 || out.Len() > 0 || strings.Count(log.String(), "\n") != 1 || !strings.HasPrefix(log.String(), "svc-mcp: ") ||
			!strings.Contains(log.String(), c.says) || strings.Contains(log.String(), secret) {
			t.Errorf("%s: %v, stdout %q, stderr %q", c.what, err, out.String(), log.String())
		}
	}
	for _, arg := range []string{"--help", "--version"} {
		out, err := mcpCommand(t, nil, arg).Output()
		if err != nil || !strings.HasPrefix(string(out), "svc-mcp ") {
			t.Errorf("%s: %v: %s", arg, err, out)
		}
	}
}

// TestMCPStdioOutlivesTheService expects an error for each malformed line, and that
// the service may restart between two calls.
func TestMCPStdioOutlivesTheService(t *testing.T) {
	t.Parallel()
	dir, address := t.TempDir(), "--listen="+lab.FreeAddress(t)
	p := lab.StartIn(t, dir, address)
	secret, _ := p.Token(t, p.Register(t, "ada"), "agent", 1000)
	m := mcpStart(t, mcpEnv(p, secret))
	m.begin()
	const lamp = `{"product_name":"Lamp","start_date":"2026-01-01","end_date":"2030-01-01","idempotency_key":"lamp"}`
	first, refused := m.tool("create_warranty", lamp)
	if refused {
		t.Fatal(first)
	}
	for _, line := range []string{"nonsense", "{", "[]", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, strings.Repeat("x", 5<<20)} {
		m.send(line)
		if a := m.answer(); a.Error == nil || string(a.ID) != "null" {
			t.Errorf("%.40s: %s", line, a.Result)
		}
	}
	m.send("", `{"jsonrpc":"2.0","id":9,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/nonsense"}`)
	if a := m.ask("resources/read", `{"uri":"warranty://warranties/\u007f"}`); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("%s %v", a.Result, a.Error)
	}

	p.Kill()
	for range 2 {
		text, refused := m.tool("list_warranties", `{}`)
		if !refused || !strings.Contains(text, `"code":"unavailable"`) || strings.Contains(text, secret) {
			t.Errorf("while the service is down: %s", text)
		}
	}
	p = lab.StartIn(t, dir, address)
	again, refused := m.tool("create_warranty", lamp)
	if refused || again != first {
		t.Errorf("after the restart: %s", again)
	}
	p.MustStop(t)
	p = lab.StartIn(t, dir, address)
	if text, refused := m.tool("list_warranties", `{}`); refused || !strings.Contains(text, `"Lamp"`) {
		t.Errorf("after the second restart: %s", text)
	}
	if made := p.Products(t, secret)["Lamp"]; made != 1 {
		t.Errorf("%d lamps", made)
	}
	m.end()
}

// TestMCPStdioStartsBeforeTheService starts svc-mcp while the service is down or hangs.
func TestMCPStdioStartsBeforeTheService(t *testing.T) {
	t.Parallel()
	dir, address := t.TempDir(), lab.FreeAddress(t)
	p := lab.StartIn(t, dir, "--listen="+address)
	secret, _ := p.Token(t, p.Register(t, "ada"), "agent", 1000)
	p.MustStop(t)

	m := mcpStart(t, mcpEnv(p, secret))
	m.begin()
	if a := m.ask("tools/list", `{}`); a.Error == nil || a.Error.Code != 50300 || !strings.Contains(string(a.Error.Data), `"unavailable"`) {
		t.Errorf("%s %v", a.Result, a.Error)
	}
	lab.StartIn(t, dir, "--listen="+address)
	if a := m.ask("tools/list", `{}`); a.Error != nil || strings.Count(string(a.Result), `"inputSchema"`) != mcpTools() {
		t.Errorf("%s %v", a.Result, a.Error)
	}
	if log := m.end(); !strings.Contains(log, "cannot reach the service") {
		t.Errorf("the log: %q", log)
	}

	// A service that accepts connections but never responds must not block the handshake.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	m = mcpStart(t, []string{"SVC_API_KEY=" + secret, "SVC_BASE_URL=http://" + silent.Addr().String() + "/api/v1"})
	m.begin()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.ended(0)
}

// TestMCPStdioAnswersBeforeItEnds closes the input right after the last call.
func TestMCPStdioAnswersBeforeItEnds(t *testing.T) {
	t.Parallel()
	p := lab.Start(t)
	secret, _ := p.Token(t, p.Register(t, "ada"), "agent", 1000)
	cmd := mcpCommand(t, mcpEnv(p, secret))
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_warranties","arguments":{}}}
`)
	out, err := cmd.Output()
	if err != nil || strings.Count(string(out), "\n") != 2 || !strings.Contains(string(out), `"pagination"`) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestMCPStdioKnowsTheScopesOfItsKey checks that tools outside the scopes of the token
// are neither listed nor callable, and that the history records the door.
func TestMCPStdioKnowsTheScopesOfItsKey(t *testing.T) {
	t.Parallel()
	p := lab.Start(t)
	session := p.Register(t, "ada")
	m := mcpStart(t, mcpEnv(p, mcpScoped(t, p, session, "warranties:read")))
	m.begin()
	list := string(m.ask("tools/list", `{}`).Result)
	tools := []string{"list_warranties", "summarize_warranties", "get_warranty", "verify_warranty", "lookup_warranties", "list_changes",
		"list_customers"}
	for _, tool := range tools {
		if !strings.Contains(list, `"name":"`+tool+`"`) {
			t.Errorf("%s is not listed", tool)
		}
	}
	if n := strings.Count(list, `"inputSchema"`); n != len(tools) {
		t.Errorf("%d tools are listed", n)
	}
	if text, refused := m.tool("create_warranty", `{"product_name":"Lamp","start_date":"2026-01-01","end_date":"2030-01-01"}`); !refused || !strings.Contains(text, `"insufficient_scope"`) {
		t.Errorf("create_warranty: %s", text)
	}
	if a := m.ask("resources/read", `{"uri":"warranty://claims/01935b2e-7c4a-7def-8123-456789abcdef"}`); a.Error == nil || a.Error.Code != 40300 {
		t.Errorf("resources/read: %s %v", a.Result, a.Error)
	}
	m.end()
	if n := len(p.Products(t, session)); n != 0 {
		t.Errorf("%d records were created", n)
	}

	m = mcpStart(t, mcpEnv(p, mcpScoped(t, p, session, "warranties:write")))
	m.begin()
	if text, refused := m.tool("create_warranty", `{"product_name":"Lamp","start_date":"2026-01-01","end_date":"2030-01-01"}`); refused {
		t.Fatal(text)
	}
	m.end()
	id := p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/warranties", Secret: session}).Must(t, "data.0.id")
	if door := p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/warranties/" + id + "/history", Secret: session}).Must(t, "data.0.door"); door != "mcp" {
		t.Errorf("the history has the door %s", door)
	}
}

// TestMCPStdioCanBeNarrowed checks the flags and variables that leave out tools.
func TestMCPStdioCanBeNarrowed(t *testing.T) {
	t.Parallel()
	p := lab.Start(t)
	secret, _ := p.Token(t, p.Register(t, "ada"), "agent", 1000)
	for _, c := range []struct {
		env, args []string
		want      int // number of tools
	}{
		{nil, []string{"--tools", "get_warranty,delete_warranty"}, 2},
		{nil, []string{"--tools=get_warranty,delete_warranty", "--read-only"}, 1},
		{[]string{"SVC_MCP_TOOLS=get_warranty,list_claims,create_warranty", "SVC_MCP_READ_ONLY=true"}, nil, 2},
		{[]string{"SVC_MCP_TOOLS=get_warranty", "SVC_MCP_READ_ONLY=true"}, []string{"--tools", "create_warranty", "--read-only=false"}, 1},
	} {
		m := mcpStart(t, append(mcpEnv(p, secret), c.env...), c.args...)
		m.begin()
		list := string(m.ask("tools/list", `{}`).Result)
		if n := strings.Count(list, `"inputSchema"`); n != c.want {
			t.Errorf("%v %v: %d tools: %s", c.env, c.args, n, list)
		}
		if text, refused := m.tool("update_warranty", `{"id":"x"}`); !refused || !strings.Contains(text, "update_warranty is not available") {
			t.Errorf("%v %v: update_warranty: %s", c.env, c.args, text)
		}
		m.end()
	}
}

// TestMCPStdioWithTheOfficialClient starts svc-mcp with the client of the official SDK.
func TestMCPStdioWithTheOfficialClient(t *testing.T) {
	t.Parallel()
	p := lab.Start(t)
	secret, _ := p.Token(t, p.Register(t, "ada"), "agent", 1000)
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		cmd := mcpCommand(t, mcpEnv(p, secret))
		if err := mcpTour(cmd, version); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// mcpTools returns the number of tools in the operation table.
func mcpTools() (n int) {
	for _, op := range api.Operations() {
		if op.Tool != "" {
			n++
		}
	}
	return n
}

func mcpTour(cmd *exec.Cmd, version string) error {
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return err
	}
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != mcpTools() {
		return fmt.Errorf("tools: %+v, %w", tools, err)
	}
	made, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "create_warranty", Arguments: map[string]any{"product_name": "Lamp", "start_date": "2026-01-01", "end_date": "2030-01-01"}})
	if err != nil || made.IsError {
		return fmt.Errorf("create: %+v, %w", made, err)
	}
	id := made.StructuredContent.(map[string]any)["data"].(map[string]any)["id"].(string)
	read, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "warranty://warranties/" + id})
	if err != nil || !strings.Contains(read.Contents[0].Text, `"Lamp"`) {
		return fmt.Errorf("read: %+v, %w", read, err)
	}
	prompt, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: "summarize_warranty", Arguments: map[string]string{"id": id}})
	if err != nil || !strings.Contains(prompt.Messages[0].Content.(*sdk.TextContent).Text, id) {
		return fmt.Errorf("prompt: %+v, %w", prompt, err)
	}
	completed, err := session.Complete(ctx, &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "warranty://warranties/{id}"},
		Argument: sdk.CompleteParamsArgument{Name: "id", Value: id}})
	if err != nil || !slices.Equal(completed.Completion.Values, []string{id}) {
		return fmt.Errorf("complete: %+v, %w", completed, err)
	}
	return session.Close()
}

// TestMCPStdioHoldsNoDatabase checks the modules that svc-mcp is built from.
func TestMCPStdioHoldsNoDatabase(t *testing.T) {
	t.Parallel()
	info, err := buildinfo.ReadFile(filepath.Join(lab.Binaries, "svc-mcp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range info.Deps {
		for _, database := range []string{"github.com/jackc/", "github.com/ncruces/", "github.com/redis/", "modernc.org/"} {
			if strings.HasPrefix(module.Path, database) {
				t.Errorf("svc-mcp contains %s", module.Path)
			}
		}
	}
	// The server does contain databases, so the check works.
	server, err := buildinfo.ReadFile(lab.Svcd())
	if err != nil {
		t.Fatal(err)
	}
	if len(server.Deps) <= len(info.Deps) {
		t.Errorf("svcd contains %d modules, svc-mcp %d", len(server.Deps), len(info.Deps))
	}
}
