package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// mcpCommand returns svc-mcp with exactly this environment.
func mcpCommand(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(lab.Binaries, "svc-mcp"), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	return cmd
}

// mcpEnv returns the environment for a service and a token.
func mcpEnv(p *lab.Process, secret string) []string {
	return []string{"SVC_API_KEY=" + secret, "SVC_BASE_URL=" + p.URL + "/api/v1"}
}

// mcpProcess is a running svc-mcp and its client.
type mcpProcess struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	errors bytes.Buffer // stderr; read it after the process has ended
	secret string
}

// mcpStart starts svc-mcp. In every test its output must be only JSON-RPC, and its key
// must not be logged.
func mcpStart(t testing.TB, env []string, args ...string) *mcpProcess {
	t.Helper()
	p := &mcpProcess{t: t, cmd: mcpCommand(t, env, args...), lines: make(chan string, 1000), secret: strings.TrimPrefix(env[0], "SVC_API_KEY=")}
	p.cmd.Stderr = &p.errors
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadString('\n')
			if line != "" {
				p.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it may have ended already
	return p
}

func (p *mcpProcess) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.in, line+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

// mcpMessage is a JSON-RPC response.
type mcpMessage struct {
	JSONRPC string
	ID      json.RawMessage
	Result  json.RawMessage
	Error   *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

func (p *mcpProcess) answer() mcpMessage {
	p.t.Helper()
	line := testenv.Receive(p.t, "an answer of svc-mcp", p.lines)
	if line == "" {
		p.t.Fatal("the output has ended")
	}
	var m mcpMessage
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" || !strings.HasSuffix(line, "}\n") {
		p.t.Fatalf("the output is not JSON-RPC: %q", line)
	}
	return m
}

// ask sends a request and reads its response.
func (p *mcpProcess) ask(method, params string) mcpMessage {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"a","method":"` + method + `","params":` + params + `}`)
	m := p.answer()
	if string(m.ID) != `"a"` {
		p.t.Fatalf("the response is for request %s: %s %v", m.ID, m.Result, m.Error)
	}
	return m
}

// begin performs the handshake.
func (p *mcpProcess) begin() {
	p.t.Helper()
	if m := p.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`); m.Error != nil {
		p.t.Fatal(m.Error.Message)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// tool calls a tool and returns its text and whether it is an error.
func (p *mcpProcess) tool(name, arguments string) (text string, refused bool) {
	p.t.Helper()
	m := p.ask("tools/call", `{"name":"`+name+`","arguments":`+arguments+`}`)
	if m.Error != nil {
		p.t.Fatalf("%s: %s", name, m.Error.Message)
	}
	return mcpText(p.t, m.Result)
}

func mcpText(t testing.TB, result json.RawMessage) (text string, refused bool) {
	t.Helper()
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		t.Fatalf("%v: %s", err, result)
	}
	return r.Content[0].Text, r.IsError
}

// end closes the input, after which the process must exit with status 0 and without output.
func (p *mcpProcess) end() (log string) {
	p.t.Helper()
	if err := p.in.Close(); err != nil {
		p.t.Fatal(err)
	}
	return p.ended(0)
}

// ended waits for the process to exit with this status and returns its stderr.
func (p *mcpProcess) ended(status int) (log string) {
	p.t.Helper()
	for {
		line := testenv.Receive(p.t, "svc-mcp ends", p.lines)
		if line == "" {
			break
		}
		p.t.Errorf("unexpected output %s", line)
	}
	err := p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != status {
		p.t.Errorf("exit status %d, want %d: %v\n%s", got, status, err, p.errors.String())
	}
	if p.secret != "" && strings.Contains(p.errors.String(), p.secret) {
		p.t.Errorf("the key is logged: %s", p.errors.String())
	}
	return p.errors.String()
}

// mcpScoped creates a token with these scopes.
func mcpScoped(t testing.TB, p *lab.Process, session string, scopes ...string) string {
	t.Helper()
	return p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/integration-tokens", Secret: session,
		Body: map[string]any{"name": "for " + strings.Join(scopes, " "), "scopes": scopes, "rate_limit_per_minute": 1000}}).Must(t, "data.secret")
}
