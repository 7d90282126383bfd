package describe

import (
	"net/url"

	"warranty.example/svc/internal/skills"
)

// skillPath returns the path of a skill's file.
func skillPath(s skills.Skill) string { return skillsFolder + s.Name + "/SKILL.md" }

// skillIndex returns the index of the skills (Agent Skills Discovery 0.2.0, a draft).
func (d discovery) skillIndex() object {
	var list []object
	for _, s := range skills.All() {
		list = append(list, object{
			{"name", s.Name},
			{"type", "skill-md"},
			{"description", s.Description()},
			{"url", d.url + skillPath(s)},
			{"digest", s.Digest()},
		})
	}
	return object{
		{"$schema", "https://schemas.agentskills.io/discovery/0.2.0/schema.json"},
		{"skills", list},
	}
}

// aiCatalog returns the AI catalog (a draft): the MCP server and the skills.
func (d discovery) aiCatalog() object {
	host := ""
	if u, err := url.Parse(d.url); err == nil {
		host = u.Hostname()
	}
	entries := []object{{
		{"identifier", "urn:air:" + host + ":warranty-records:mcp"},
		{"type", cardType},
		{"url", d.url + mcpPath + "/server-card"},
	}}
	for _, s := range skills.All() {
		entries = append(entries, object{
			{"identifier", "urn:air:" + host + ":" + s.Name + ":skill"},
			{"type", "application/agent-skills+md"},
			{"url", d.url + skillPath(s)},
			{"displayName", s.Title},
			{"description", s.Description()},
		})
	}
	return object{
		{"specVersion", "1.0"},
		{"host", object{{"displayName", serviceTitle}, {"documentationUrl", d.url + "/llms.txt"}}},
		{"entries", entries},
	}
}
