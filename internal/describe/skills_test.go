package describe_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// TestSkillIndex checks the index against Agent Skills Discovery 0.2.0: every digest is that of the file.
func TestSkillIndex(t *testing.T) {
	docs := documents(t)
	var index struct {
		Schema string `json:"$schema"`
		Skills []struct {
			Name        string `json:"name"`
			Type        string `json:"type"`
			Description string `json:"description"`
			URL         string `json:"url"`
			Digest      string `json:"digest"`
		} `json:"skills"`
	}
	read(t, docs["/.well-known/agent-skills/index.json"].Body, &index)
	same(t, "schema", index.Schema, "https://schemas.agentskills.io/discovery/0.2.0/schema.json")
	same(t, "skills", len(index.Skills), 2)
	for _, s := range index.Skills {
		file, ok := docs[strings.TrimPrefix(s.URL, public)]
		if !ok || s.Type != "skill-md" || s.Description == "" || !strings.HasSuffix(s.URL, "/"+s.Name+"/SKILL.md") {
			t.Errorf("the skill %+v", s)
		}
		same(t, "digest", s.Digest, fmt.Sprintf("sha256:%x", sha256.Sum256(file.Body)))
	}
}

// TestAICatalog checks that every entry of the AI catalog has a unique identifier, and that its document is served.
func TestAICatalog(t *testing.T) {
	docs := documents(t)
	var c struct {
		SpecVersion string `json:"specVersion"`
		Host        struct {
			DisplayName      string `json:"displayName"`
			DocumentationURL string `json:"documentationUrl"`
		} `json:"host"`
		Entries []struct {
			Identifier  string `json:"identifier"`
			Type        string `json:"type"`
			URL         string `json:"url"`
			DisplayName string `json:"displayName"`
			Description string `json:"description"`
		} `json:"entries"`
	}
	read(t, docs["/.well-known/ai-catalog.json"].Body, &c)
	if c.SpecVersion != "1.0" || c.Host.DisplayName == "" || !below(c.Host.DocumentationURL) || len(c.Entries) != 3 {
		t.Fatalf("the catalog is %+v", c)
	}
	seen := map[string]bool{}
	for _, e := range c.Entries {
		file, served := docs[strings.TrimPrefix(e.URL, public)]
		if !served || seen[e.Identifier] || !strings.HasPrefix(e.Identifier, "urn:air:warranty.shop.example:") {
			t.Errorf("the entry %+v", e)
		}
		if seen[e.Identifier] = true; e.Type != file.MediaType && e.Type != "application/agent-skills+md" {
			t.Errorf("%s has the type %s, but is %s", e.URL, e.Type, file.MediaType)
		}
	}
}
