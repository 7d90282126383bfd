// Package skills contains the Agent Skills of the service: instructions for tasks that take several tools. Agents get
// them over MCP, or download them.
package skills

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed */SKILL.md
var files embed.FS

// Skill is an Agent Skill. It has one file.
type Skill struct {
	Name  string // also of its folder
	Title string
	Tool  string // the tool that the skill cannot do without
	Body  []byte // of SKILL.md
	// Frontmatter has the fields at the start of the file, in order.
	Frontmatter []Field
}

// Field is a field of the frontmatter.
type Field struct{ Name, Value string }

// All returns every skill.
func All() []Skill {
	list := []Skill{
		{Name: "register-purchase", Title: "Register a purchase from a receipt", Tool: "create_warranty"},
		{Name: "prepare-claim", Title: "Prepare a claim", Tool: "get_warranty"},
	}
	for i, s := range list {
		body, err := files.ReadFile(s.Name + "/SKILL.md")
		if err != nil {
			panic(err) // not embedded
		}
		list[i].Body, list[i].Frontmatter = body, frontmatter(string(body))
	}
	return list
}

// frontmatter reads the fields between the first two lines of dashes. Their values are plain text on one line, which
// is the same in YAML; a test checks this.
func frontmatter(text string) (list []Field) {
	head, _, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	for line := range strings.SplitSeq(head, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		list = append(list, Field{name, value})
	}
	return list
}

// Description says what the skill does and when to use it.
func (s Skill) Description() string {
	for _, f := range s.Frontmatter {
		if f.Name == "description" {
			return f.Value
		}
	}
	return ""
}

// URI returns the address of the file over MCP.
func (s Skill) URI() string { return "skill://" + s.Name + "/SKILL.md" }

// Digest returns the SHA-256 of the file as Agent Skills write it.
func (s Skill) Digest() string {
	sum := sha256.Sum256(s.Body)
	return "sha256:" + hex.EncodeToString(sum[:])
}
