package mcp_test

import (
	"encoding/json"
	"testing"

	"warranty.example/svc/internal/skills"
	"warranty.example/svc/warranty"
)

// skill is an entry of skills/list.
type skill struct {
	URI         string
	Frontmatter map[string]string
	Resources   []struct {
		URI, Digest string
		Size        int
	}
}

// TestSkills reads every skill as SEP-2640 describes, in the newest and in an older protocol.
func TestSkills(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	var list struct {
		Skills     []skill
		ResultType string
	}
	a.result("skills/list", nil, &list)
	body, headers := modern("skills/list", "", nil)
	var modernList struct {
		Skills                 []skill
		ResultType, CacheScope string
		TTLMs                  int
		Meta                   map[string]any `json:"_meta"`
	}
	decode(t, a.send("POST", body, headers...).rpc(t).Result, &modernList)
	equal(t, "skills in the newest protocol", modernList.Skills, list.Skills)
	if modernList.ResultType != "complete" || modernList.CacheScope != "private" || modernList.TTLMs <= 0 ||
		modernList.Meta["io.modelcontextprotocol/serverInfo"] == nil {
		t.Errorf("skills/list: %+v", modernList)
	}
	equal(t, "number of skills", len(list.Skills), len(skills.All()))
	for i, want := range skills.All() {
		got := list.Skills[i]
		equal(t, "address", got.URI, "skill://"+want.Name+"/SKILL.md")
		equal(t, "description", got.Frontmatter["description"], want.Description())
		equal(t, "fields", len(got.Frontmatter), len(want.Frontmatter))
		var one struct {
			Skill      skill
			ResultType string
		}
		a.result("skills/get", fields{"uri": got.URI}, &one)
		equal(t, "skills/get", one.Skill, got)
		equal(t, "result type", one.ResultType, "complete")
		mediaType, text := a.read(got.URI)
		equal(t, "type", mediaType, "text/markdown")
		equal(t, "file", text, string(want.Body))
		file := got.Resources[0]
		if len(got.Resources) != 1 || file.URI != got.URI || file.Digest != want.Digest() || file.Size != len(text) {
			t.Errorf("files of %s: %+v", want.Name, got.Resources)
		}
	}
	for name, params := range map[string]any{"unknown": fields{"uri": "skill://nonsense/SKILL.md"},
		"empty": fields{}, "missing": nil, "another file": fields{"uri": "skill://prepare-claim"},
		"a number": fields{"uri": 5}, "another resource": fields{"uri": "warranty://schema/warranty"}} {
		if r := a.ask("skills/get", params); r.Error == nil || r.Error.Code != invalidParams {
			t.Errorf("skills/get with %s: %+v", name, r)
		}
	}
	if r := a.ask("skills/list", fields{"cursor": "nonsense"}); r.Error == nil || r.Error.Code != invalidParams {
		t.Errorf("skills/list with a cursor: %+v", r)
	}
	if r := a.ask("resources/directory/read", fields{"uri": "skill://prepare-claim"}); r.Error == nil ||
		r.Error.Code != noSuchMethod {
		t.Errorf("directories are not declared: %+v", r)
	}
}

// TestSkillsFollowTheScopes: a skill whose tool the token does not allow is not listed, but can be read.
func TestSkillsFollowTheScopes(t *testing.T) {
	w := onSQLite(t)
	ada := w.Person("Ada")
	for _, c := range []struct {
		scope   warranty.Scope
		headers []string
		want    []string
	}{
		{warranty.WarrantiesWrite, nil, []string{"skill://register-purchase/SKILL.md"}},
		{warranty.WarrantiesRead, nil, []string{"skill://prepare-claim/SKILL.md"}},
		{warranty.ClaimsRead, nil, []string{}},
		{warranty.WarrantiesWrite, []string{"X-MCP-Readonly", "true"}, []string{}},
	} {
		a := agentOf(w, ada, c.scope)
		var list struct{ Skills, Resources json.RawMessage }
		decode(t, a.send("POST", request(1, "skills/list", nil), c.headers...).rpc(t).Result, &list)
		equal(t, string(c.scope)+": skills", names(t, list.Skills, "uri"), c.want)
		decode(t, a.send("POST", request(1, "resources/list", nil), c.headers...).rpc(t).Result, &list)
		equal(t, string(c.scope)+": resources", names(t, list.Resources, "uri"), append(c.want, "warranty://schema/warranty"))
		if _, text := a.read("skill://register-purchase/SKILL.md"); text == "" {
			t.Error("a skill that is not listed cannot be read")
		}
	}
}

// TestSkillsOverStdio lists the skills over stdio.
func TestSkillsOverStdio(t *testing.T) {
	p := overStdio(t, bound())
	p.begin()
	p.send(request(2, "skills/list", nil))
	var list struct{ Skills []skill }
	decode(t, p.answer().Result, &list)
	equal(t, "number of skills", len(list.Skills), len(skills.All()))
	p.end()
}
