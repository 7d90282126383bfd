package describe_test

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestAnswersOfExamples (C16) sends the example of every operation to the real service,
// with a fixed clock and fixed randomness, and compares the responses with answers.json,
// which /docs shows. With -update it writes the file.
func TestAnswersOfExamples(t *testing.T) {
	t.Parallel()
	examples, err := describe.Examples()
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(examples))
	t.Run("each", func(t *testing.T) {
		for i, e := range examples {
			t.Run(e.Spec.Name, func(t *testing.T) {
				t.Parallel()
				lines[i] = `"` + e.Spec.Name + `": ` + recordedAnswer(t, e)
			})
		}
	})
	text := "{" + strings.Join(lines, ",\n") + "}\n"
	const golden = "answers.json"
	if updating() {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	shown, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(shown) != text {
		same(t, "the answers that /docs shows; run make generate and look at the diff", string(shown), text)
	}
}

// updating reports whether to write golden files. The flag is declared in
// openapi_test.go.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// recordedAnswer returns the response to one example. Each example has its own service,
// so that they do not affect each other.
func recordedAnswer(t *testing.T, e describe.Example) string {
	t.Helper()
	clock := time.Date(2026, time.June, 1, 9, 30, 0, 0, time.UTC)
	random := rand.NewChaCha8([32]byte([]byte("the examples of the reference...")))
	w := servertest.New(t, servertest.SQLite(t), func(s *server.Server) {
		s.Service.Now, s.Service.Random = func() time.Time { return clock }, random
		ids := 0
		s.Service.NewID = func() warranty.ID {
			ids++
			return exampleID(clock, ids)
		}
	})
	stage := &servertest.Stage{T: t, URL: w.HTTP.URL, Client: w.Client, MailedCode: w.MailedCode,
		Account: servertest.Person{Name: "Ada Moreno", Email: "ada@shop.example", Password: "plum ladder quiet harbour"}}
	if _, err := w.Service.AddUser(t.Context(), warranty.Register{Name: stage.Account.Name, Email: stage.Account.Email, Password: stage.Account.Password}); err != nil {
		t.Fatal(err)
	}
	values := stage.Set(e.Spec)
	clock = clock.Add(26 * time.Minute)
	if e.Spec.Name == api.ListTokenRequests.Name {
		w.Must(200, servertest.Request{Method: "GET", Path: "/api/v1/warranties", Secret: values["TOKEN_SECRET"], Header: map[string]string{
			"User-Agent": "erp/2.1", "X-Request-Id": "019e8267-5f40-7b1d-9c3a-64d0f2a81e57"}})
		if err := w.Service.FlushUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	path, body := e.Request(values)
	r := servertest.Request{Method: e.Method, Path: path}
	if body != "" {
		r.Body = body
	}
	switch e.Spec.Auth {
	case api.Credential:
		r.Secret = values["SVC_API_KEY"]
	case api.SessionOnly:
		r.Secret = values["SVC_SESSION"]
	}
	a := w.Do(r)
	if a.Status != e.Spec.Status {
		t.Errorf("%s %s %s: got %d, want %d: %s", e.Spec.Name, e.Method, path, a.Status, e.Spec.Status, a.Body)
	}
	text, err := json.Marshal(struct {
		Status int             `json:"status"`
		Body   json.RawMessage `json:"body,omitempty"`
	}{a.Status, json.RawMessage(unsecret(a.Body))})
	if err != nil {
		t.Fatalf("%s: %v", e.Spec.Name, err)
	}
	return string(text)
}

var (
	secrets = regexp.MustCompile(`\b(sv[cs]_)[0-9A-Za-z]{49}`)
	took    = regexp.MustCompile(`"ms":\d+`)
)

// unsecret removes what looks like a credential, and values that the fixed clock does not
// control.
func unsecret(body string) string {
	return took.ReplaceAllString(secrets.ReplaceAllString(body, "${1}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), `"ms":4`)
}

// exampleID returns a deterministic UUIDv7 for the time.
func exampleID(at time.Time, n int) warranty.ID {
	ms := at.UnixMilli()
	id := warranty.ID{6: 0x7a, 7: 0x1c, 8: 0x8d, 9: 0x02, 10: 0x6f, 11: 0x3b, 12: 0x91, 13: 0xc4, 14: 0x20, 15: byte(n)}
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// TestExamplesAreWhole checks that each example has a body, a command and a tool call if
// its operation has them.
func TestExamplesAreWhole(t *testing.T) {
	if updating() {
		t.Skip("the embedded responses are the old ones")
	}
	examples, err := describe.Examples()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		if e.Status == 0 || (e.Answer == "") != (e.Status == http.StatusNoContent || e.Status == http.StatusAccepted) {
			t.Errorf("%s has the response %d %q", e.Spec.Name, e.Status, e.Answer)
		}
		if e.Spec.HasBody() && !e.Spec.BodyOptional && e.Body == "" {
			t.Errorf("%s has no body", e.Spec.Name)
		}
		if (e.MCP("x") == "") != (e.Spec.Tool == "") || (e.CLI() == "") == e.Spec.HasCommand() {
			t.Errorf("%s: %q %q", e.Spec.Name, e.CLI(), e.MCP("x"))
		}
	}
}
