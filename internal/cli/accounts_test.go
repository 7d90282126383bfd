package cli

import (
	"net/http"
	"strings"
	"testing"
)

// TestAccounts: --account or SVC_ACCOUNT is sent with every request, the flag first, and an invalid one is not.
func TestAccounts(t *testing.T) {
	const other = "01935b2e-7c4a-7def-8123-456789abcdee"
	var sent []string
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("X-Account"))
		answers(200, page()).ServeHTTP(w, r)
	}))
	commands := []string{"warranties list", "claims list", "documents list", "organizations list", "members list " + id,
		"warranties export", "warranties list --all", "api GET /warranties"}
	for _, c := range []struct {
		flag []string
		env  string
		want string
	}{
		{nil, "", ""},
		{[]string{"--account", id}, "", id},
		{nil, other, other},
		{[]string{"--account", id}, other, id},
	} {
		d.env["SVC_ACCOUNT"] = c.env
		for _, command := range commands {
			sent = nil
			d.want(0, append(strings.Fields(command), c.flag...)...)
			if len(sent) == 0 || sent[0] != c.want {
				t.Errorf("svc %s %v with SVC_ACCOUNT=%q sends %q", command, c.flag, c.env, sent)
			}
		}
	}
	sent, d.env["SVC_ACCOUNT"] = nil, ""
	d.want(2, "warranties", "list", "--account", "Halden")
	d.want(2, "warranties", "list", "--account", "")
	d.want(2, "mcp", "config", "--client", "codex", "--account", "Halden")
	d.env["SVC_ACCOUNT"] = "Halden"
	d.want(2, "warranties", "list")
	if sent != nil {
		t.Errorf("an invalid account was sent: %q", sent)
	}
	d.env["SVC_ACCOUNT"] = ""
	for _, args := range []string{"mcp config --client codex", "mcp config --client codex --hosted", "mcp config --client vscode", "mcp config --client cursor --hosted"} {
		d.want(0, append(strings.Fields(args), "--account", id)...)
		if !strings.Contains(d.stdout, id) {
			t.Errorf("svc %s: %s", args, d.stdout)
		}
	}
	// What a DELETE does is said in words of its own.
	d.want(2, "members", "remove", id, other)
	if !strings.Contains(d.stderr, "Nothing was removed") {
		t.Error(d.stderr)
	}
}
