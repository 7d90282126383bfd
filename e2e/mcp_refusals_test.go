package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
)

// mcpMistake is an invalid request, as sent through every door.
type mcpMistake struct {
	name        string
	code, field string // the expected error; field is the first invalid field and its code
	read        bool   // use a read-only token
	rest        lab.Call
	tool        string
	arguments   string
	svc         []string // nil if the command line reports the error differently
	namesDiffer bool     // the message lists accepted names, which differ between doors
}

// mcpProblem is the part of an error that must be the same everywhere.
type mcpProblem struct {
	Type, Title, Code, Detail string
	Status                    int
	Errors                    []struct{ Field, Code, Message string }
}

// TestMCPSameRefusalEverywhere sends the same invalid requests over REST, hosted MCP,
// MCP over stdio and the command line, and expects the same code and message.
func TestMCPSameRefusalEverywhere(t *testing.T) {
	t.Parallel()
	p := lab.Start(t, lab.Unthrottled...)
	session := p.Register(t, "ada")
	all, _ := p.Token(t, session, "all", 100_000)
	read := mcpScoped(t, p, session, "warranties:read")
	cancelled := p.Want(t, 201, lab.Create(all, "Kettle", "used")).Must(t, "data.id")
	p.Want(t, 200, lab.Call{Method: "PUT", Path: "/api/v1/warranties/" + cancelled, Secret: all, Body: `{"status":"cancelled"}`})
	agents := map[bool]*mcpProcess{false: mcpStart(t, mcpEnv(p, all)), true: mcpStart(t, mcpEnv(p, read))}
	for _, agent := range agents {
		agent.begin()
	}
	for _, m := range mcpMistakes(cancelled) {
		secret := all
		if m.read {
			secret = read
		}
		m.rest.Secret = secret
		rest, err := p.Try(m.rest)
		if err != nil {
			t.Fatal(err)
		}
		want := mcpSaid(t, m, rest.Body)
		first := ""
		if len(want.Errors) > 0 {
			first = want.Errors[0].Field + " " + want.Errors[0].Code
		}
		if want.Code != m.code || want.Status != rest.Status || first != m.field {
			t.Errorf("%s: REST returned %d %s", m.name, rest.Status, rest.Body)
		}
		hosted := p.Want(t, 200, lab.Call{Method: "POST", Path: "/api/mcp", Secret: secret,
			Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + m.tool + `","arguments":` + m.arguments + `}}`})
		var answer mcpMessage
		if err := json.Unmarshal([]byte(hosted.Body), &answer); err != nil {
			t.Fatal(err)
		}
		text, refused := mcpText(t, answer.Result)
		mcpSame(t, m.name+", hosted MCP", refused, mcpSaid(t, m, text), want)
		if !strings.Contains(text, `"request_id":"`+hosted.Header.Get("X-Request-Id")+`"`) {
			t.Errorf("%s: hosted MCP returned the id of another request: %s", m.name, text)
		}
		text, refused = agents[m.read].tool(m.tool, m.arguments)
		mcpSame(t, m.name+", stdio MCP", refused, mcpSaid(t, m, text), want)
		if m.svc != nil {
			text = mcpSvc(t, p, secret, m.svc)
			mcpSame(t, m.name+", svc", true, mcpSaid(t, m, text), want)
		}
	}
	for _, agent := range agents {
		agent.end()
	}
	if made := p.Products(t, all); len(made) != 1 {
		t.Errorf("an invalid request created records: %v", made)
	}
}

func mcpMistakes(cancelled string) []mcpMistake {
	const unknown = "01935b2e-7c4a-7def-8123-456789abcdef"
	post := func(body string, header map[string]string) lab.Call {
		return lab.Call{Method: "POST", Path: "/api/v1/warranties", Body: body, Header: header}
	}
	get := func(path string) lab.Call { return lab.Call{Method: "GET", Path: "/api/v1" + path} }
	put := func(id, body string) lab.Call {
		return lab.Call{Method: "PUT", Path: "/api/v1/warranties/" + id, Body: body}
	}
	const dates = `"start_date":"2026-01-01","end_date":"2027-01-01"`
	return []mcpMistake{
		{name: "unknown field", code: "validation_failed", field: "colour unknown_field", rest: post(`{"product_name":"Lamp",`+dates+`,"colour":"red"}`, nil),
			tool: "create_warranty", arguments: `{"product_name":"Lamp",` + dates + `,"colour":"red"}`, namesDiffer: true,
			svc: []string{"api", "POST", "/warranties", "-d", `{"product_name":"Lamp",` + dates + `,"colour":"red"}`}},
		{name: "field that is not accepted", code: "validation_failed", field: "description unknown_field", rest: put(cancelled, `{"description":"x"}`),
			tool: "update_warranty", arguments: `{"id":"` + cancelled + `","description":"x"}`, namesDiffer: true, svc: []string{"api", "PUT", "/warranties/" + cancelled, "-d", `{"description":"x"}`}},
		{name: "missing fields", code: "validation_failed", field: "product_name required", rest: post(`{"category":"x"}`, nil),
			tool: "create_warranty", arguments: `{"category":"x"}`, svc: []string{"api", "POST", "/warranties", "-d", `{"category":"x"}`}},
		{name: "bad date", code: "validation_failed", field: "start_date invalid", rest: post(`{"product_name":"Lamp","start_date":"31.12.2026","end_date":"2027-01-01"}`, nil),
			tool: "create_warranty", arguments: `{"product_name":"Lamp","start_date":"31.12.2026","end_date":"2027-01-01"}`,
			svc: []string{"warranties", "create", "--product-name", "Lamp", "--start-date", "31.12.2026", "--end-date", "2027-01-01"}},
		{name: "dates the wrong way round", code: "validation_failed", field: "end_date before_start", rest: post(`{"product_name":"Lamp","start_date":"2027-01-01","end_date":"2026-01-01"}`, nil),
			tool: "create_warranty", arguments: `{"product_name":"Lamp","start_date":"2027-01-01","end_date":"2026-01-01"}`,
			svc: []string{"warranties", "create", "--product-name", "Lamp", "--start-date", "2027-01-01", "--end-date", "2026-01-01"}},
		{name: "several at once", code: "validation_failed", field: "product_name required", rest: post(`{"product_name":" ","start_date":"2026-01-01","end_date":"2027-01-01","seller_email":"nobody"}`, nil),
			tool: "create_warranty", arguments: `{"product_name":" ","start_date":"2026-01-01","end_date":"2027-01-01","seller_email":"nobody"}`,
			svc: []string{"warranties", "create", "--product-name", " ", "--start-date", "2026-01-01", "--end-date", "2027-01-01", "--seller-email", "nobody"}},
		{name: "number out of range", code: "validation_failed", field: "limit out_of_range", rest: get("/warranties?limit=1000"),
			tool: "list_warranties", arguments: `{"limit":1000}`, svc: []string{"warranties", "list", "--limit", "1000"}},
		{name: "unknown status", code: "validation_failed", field: "status invalid", rest: get("/warranties?status=broken"),
			tool: "list_warranties", arguments: `{"status":"broken"}`, svc: []string{"warranties", "list", "--status", "broken"}},
		{name: "unknown id", code: "not_found", rest: get("/warranties/" + unknown), tool: "get_warranty", arguments: `{"id":"` + unknown + `"}`, svc: []string{"warranties", "get", unknown}},
		{name: "no id at all", code: "not_found", rest: get("/claims/nonsense"), tool: "get_claim", arguments: `{"id":"nonsense"}`, svc: []string{"claims", "get", "nonsense"}},
		{name: "unknown id to change", code: "not_found", rest: put(unknown, `{"category":"x"}`), tool: "update_warranty", arguments: `{"id":"` + unknown + `","category":"x"}`,
			svc: []string{"warranties", "update", unknown, "--category", "x"}},
		{name: "unknown reference", code: "not_found", rest: get("/verify/WR-0000-0000-0000-0000"), tool: "verify_warranty", arguments: `{"reference":"WR-0000-0000-0000-0000"}`},
		{name: "wrong scope to write", code: "insufficient_scope", read: true, rest: post(`{"product_name":"Lamp",`+dates+`}`, nil),
			tool: "create_warranty", arguments: `{"product_name":"Lamp",` + dates + `}`, svc: []string{"warranties", "create", "--product-name", "Lamp", "--start-date", "2026-01-01", "--end-date", "2027-01-01"}},
		{name: "wrong scope to read", code: "insufficient_scope", read: true, rest: get("/claims"), tool: "list_claims", arguments: `{}`, svc: []string{"claims", "list"}},
		{name: "wrong transition", code: "invalid_transition", rest: put(cancelled, `{"status":"active"}`), tool: "update_warranty", arguments: `{"id":"` + cancelled + `","status":"active"}`,
			svc: []string{"warranties", "update", cancelled, "--status", "active"}},
		{name: "status that follows from dates", code: "validation_failed", field: "status not_settable", rest: put(cancelled, `{"status":"expired"}`),
			tool: "update_warranty", arguments: `{"id":"` + cancelled + `","status":"expired"}`, svc: []string{"warranties", "update", cancelled, "--status", "expired"}},
		{name: "reused key", code: "idempotency_key_reused", rest: post(`{"product_name":"Lamp",`+dates+`}`, map[string]string{"Idempotency-Key": "used"}),
			tool: "create_warranty", arguments: `{"product_name":"Lamp",` + dates + `,"idempotency_key":"used"}`,
			svc: []string{"warranties", "create", "--product-name", "Lamp", "--start-date", "2026-01-01", "--end-date", "2027-01-01", "--idempotency-key", "used"}},
		{name: "stale ETag", code: "precondition_failed", rest: lab.Call{Method: "DELETE", Path: "/api/v1/warranties/" + cancelled, Header: map[string]string{"If-Match": `"1"`}},
			tool: "delete_warranty", arguments: `{"id":"` + cancelled + `","if_match":"\"1\""}`, svc: []string{"api", "DELETE", "/warranties/" + cancelled, "-H", `If-Match: "1"`}},
	}
}

// mcpSaid parses an error. It removes the list of accepted names where doors differ.
func mcpSaid(t testing.TB, m mcpMistake, text string) mcpProblem {
	t.Helper()
	var p mcpProblem
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%s: %v: %s", m.name, err, text)
	}
	for i, e := range p.Errors {
		if before, _, found := strings.Cut(e.Message, " Allowed fields: "); found && m.namesDiffer {
			p.Errors[i].Message = before
		}
	}
	return p
}

func mcpSame(t testing.TB, what string, refused bool, got, want mcpProblem) {
	t.Helper()
	if strings.HasPrefix(got.Detail, want.Detail+" ") && want.Code == "not_found" {
		got.Detail = want.Detail // tools also say how to find it
	}
	if !refused || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s returned (refused %v)\n\t%v\nwant\n\t%v", what, refused, got, want)
	}
}

// mcpSvc runs svc and returns its stderr.
func mcpSvc(t testing.TB, p *lab.Process, secret string, args []string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(lab.Binaries, "svc"), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, mcpEnv(p, secret)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	if out, err := cmd.Output(); err == nil || len(out) > 0 {
		t.Errorf("svc %v: %v, stdout %s", args, err, out)
	}
	return log.String()
}
