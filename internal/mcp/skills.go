package mcp

import (
	"context"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/skills"
)

// The extension for Agent Skills (SEP-2640), which the SDK does not have. The files are also resources.
const (
	skillsExtension = "io.modelcontextprotocol/skills"
	listSkills      = "skills/list"
	getSkill        = "skills/get"
	skillType       = "text/markdown"
	completeResult  = "complete"
)

// skillEntry describes a skill and its files.
type skillEntry struct {
	URI         string            `json:"uri"`
	Frontmatter map[string]string `json:"frontmatter"`
	Resources   []skillFile       `json:"resources"`
}

type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

type (
	listSkillsParams struct {
		sdk.ParamsBase
		Cursor string `json:"cursor,omitempty"`
	}
	getSkillParams struct {
		sdk.ParamsBase
		URI string `json:"uri"`
	}
	listSkillsResult struct {
		sdk.ResultBase
		sdk.Cacheable
		ResultType string       `json:"resultType"`
		Skills     []skillEntry `json:"skills"`
	}
	getSkillResult struct {
		sdk.ResultBase
		sdk.Cacheable
		ResultType string     `json:"resultType"`
		Skill      skillEntry `json:"skill"`
	}
)

// addSkills adds the skills. Lists contain those whose tool the caller may use; any skill can be read, because skills
// are public.
func (s *server) addSkills() error {
	var entries []skillEntry
	for _, skill := range skills.All() {
		entry := skillEntry{
			URI:         skill.URI(),
			Frontmatter: map[string]string{},
			Resources:   []skillFile{{skill.URI(), skill.Digest(), len(skill.Body)}},
		}
		for _, f := range skill.Frontmatter {
			entry.Frontmatter[f.Name] = f.Value
		}
		entries = append(entries, entry)
		s.needs[entry.URI] = toolSpec(skill.Tool)
		s.sdk.AddResource(&sdk.Resource{
			URI:         entry.URI,
			Name:        skill.Name,
			Title:       skill.Title,
			Description: skill.Description(),
			MIMEType:    skillType,
			Size:        int64(len(skill.Body)),
		}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return contents(entry.URI, skillType, skill.Body), nil
		})
	}
	list := func(ctx context.Context, _ *sdk.ServerSession, p *listSkillsParams) (*listSkillsResult, error) {
		if p != nil && p.Cursor != "" {
			return nil, invalid("The cursor is invalid: there is only one page.")
		}
		kept, err := allowed(ctx, s, entries, func(e skillEntry) string { return e.URI })
		return &listSkillsResult{Cacheable: cacheable(), ResultType: completeResult, Skills: kept}, err
	}
	if err := sdk.AddReceivingCustomMethod(s.sdk, listSkills, list); err != nil {
		return err
	}
	get := func(_ context.Context, _ *sdk.ServerSession, p *getSkillParams) (*getSkillResult, error) {
		if p == nil {
			return nil, invalid("uri is required: the address of a SKILL.md.")
		}
		i := slices.IndexFunc(entries, func(e skillEntry) bool { return e.URI == p.URI })
		if i < 0 {
			return nil, notFound(p.URI)
		}
		return &getSkillResult{Cacheable: cacheable(), ResultType: completeResult, Skill: entries[i]}, nil
	}
	return sdk.AddReceivingCustomMethod(s.sdk, getSkill, get)
}

// toolSpec returns the operation of a tool.
func toolSpec(tool string) *api.Spec {
	all := api.Operations()
	return all[slices.IndexFunc(all, func(op *api.Spec) bool { return op.Tool == tool })]
}

// cacheable is how long clients may keep lists and resources. They depend on the token, so shared caches must not store
// them.
func cacheable() sdk.Cacheable { return sdk.Cacheable{TTLMs: 60_000, CacheScope: "private"} }
