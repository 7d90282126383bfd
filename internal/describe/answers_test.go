package describe_test

import (
	"net/http"
	"testing"

	"warranty.example/svc/internal/describe"
)

// TestExamplesAreWhole checks that each example has a body, a command and a tool call if
// its operation has them.
func TestExamplesAreWhole(t *testing.T) {
	examples, err := describe.Examples()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		if e.Status == 0 {
			continue // answers.json is out of date, which TestGeneratedFiles reports
		}
		if e.Status != http.StatusAccepted && (e.Answer == "") != (e.Status == http.StatusNoContent) {
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
