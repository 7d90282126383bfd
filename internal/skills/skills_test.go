package skills_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/skills"
	"warranty.example/svc/warranty"
)

// TestSkillsMatchTheSpecification checks the format of Agent Skills, and that frontmatter means the same in YAML as
// here.
func TestSkillsMatchTheSpecification(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	plain := regexp.MustCompile(`^[A-Za-z][^#:"'{}\[\]&*!|>%@` + "`" + `\\\n]*$`)
	for _, s := range skills.All() {
		if !name.MatchString(s.Name) || len(s.Name) > 64 || s.Title == "" {
			t.Errorf("the skill %q has an invalid name or no title", s.Name)
		}
		if n := len(s.Description()); n == 0 || n > 1024 {
			t.Errorf("%s: the description has %d characters", s.Name, n)
		}
		var names []string
		for _, f := range s.Frontmatter {
			names = append(names, f.Name)
			if !plain.MatchString(f.Value) || strings.TrimSpace(f.Value) != f.Value {
				t.Errorf("%s: %s is not plain text in YAML: %q", s.Name, f.Name, f.Value)
			}
		}
		if !slices.Equal(names, []string{"name", "description", "license"}) || s.Frontmatter[0].Value != s.Name {
			t.Errorf("%s: frontmatter %q", s.Name, s.Frontmatter)
		}
		text := string(s.Body)
		if !strings.HasPrefix(text, "---\n") || strings.Count(text, "\n") > 500 || strings.Contains(text, "://") {
			t.Errorf("%s has no frontmatter, is longer than 500 lines, or contains an address", s.Name)
		}
	}
}

// TestSkillsNameWhatExists checks the tools, fields, scopes and errors that the skills name.
func TestSkillsNameWhatExists(t *testing.T) {
	known := []string{"web_url", "waiting_for", "existing_id", "status", "YYYY-MM-DD", "EUR", "shop-4711-2"}
	for _, op := range api.Operations() {
		if op.Tool == "" {
			continue
		}
		known = append(known, op.Tool, string(op.Scope))
		for _, p := range op.Params {
			known = append(known, p.Name)
		}
	}
	known = append(known, "idempotency_key", "claim_url")
	for _, p := range api.FileClaim.Params {
		known = append(known, "&"+p.Name+"=") // in the link of a claim
	}
	for _, c := range []warranty.Code{warranty.ValidationFailed, warranty.InsufficientScope, warranty.AlreadyExists} {
		known = append(known, string(c))
	}
	known = append(known, warranty.ClaimType("").Values()...)
	known = append(known, warranty.Status("").Values()...)
	tools := map[string]bool{}
	for _, s := range skills.All() {
		if !strings.Contains(string(s.Body), "`"+s.Tool+"`") {
			t.Errorf("%s does not use its tool %s", s.Name, s.Tool)
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(string(s.Body), -1) {
			if tools[m[1]] = true; !slices.Contains(known, m[1]) {
				t.Errorf("%s names %s, which does not exist", s.Name, m[1])
			}
		}
	}
	if len(tools) < 20 {
		t.Errorf("only %d names were checked", len(tools))
	}
}
