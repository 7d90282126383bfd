package web

import (
	"net/http"
	"slices"
	"sort"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// reference is what /docs and the pages of its groups show, generated from the operation table.
type reference struct {
	Base      string
	Setup     string // commands that set the shell variables
	Variables []describe.Variable
	Groups    []operationGroup
}

type operationGroup struct {
	Name       string
	Operations []operationDoc
}

// groupPage is the page of a group.
type groupPage struct {
	reference
	Group operationGroup
}

// operationDoc is an operation with its examples and its response.
type operationDoc struct {
	*api.Spec
	Anchor         string
	Curl, CLI, MCP string
	Answer         string // status line of the response
	Response       string // body of the response, if any
	Codes          []warranty.CodeInfo
}

// newReference builds the reference.
func newReference(base string) (reference, error) {
	page := reference{Base: base, Setup: describe.Setup(base), Variables: describe.Variables()}
	examples, err := describe.Examples()
	if err != nil {
		return page, err
	}
	groups := map[string]int{}
	for _, e := range examples {
		noun, _, _ := strings.Cut(e.Spec.Name, ".")
		i, ok := groups[noun]
		if !ok {
			i = len(page.Groups)
			groups[noun] = i
			page.Groups = append(page.Groups, operationGroup{Name: noun})
		}
		d := operationDoc{
			Spec:     e.Spec,
			Anchor:   strings.ReplaceAll(e.Spec.Name, ".", "-"),
			Curl:     e.Curl(base),
			CLI:      e.CLI(),
			MCP:      e.MCP(base),
			Answer:   e.StatusLine(),
			Response: e.Response(base),
		}
		for _, code := range e.Spec.Refusals() {
			d.Codes = append(d.Codes, code.Info())
		}
		page.Groups[i].Operations = append(page.Groups[i].Operations, d)
	}
	return page, nil
}

// docs shows the contents of the reference.
func (web *Web) docs(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showDocs(w, r, who, "")
}

// docsOf shows the operations of a group of the reference.
func (web *Web) docsOf(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showDocs(w, r, who, r.PathValue("group"))
}

// showDocs shows a page of the reference: the operations of a group, or the contents for "". These pages are long and the
// same for all visitors, so rendered ones are kept.
func (web *Web) showDocs(w http.ResponseWriter, r *http.Request, who warranty.Principal, group string) error {
	key := [2]string{web.reader(r).Lang, group}
	anonymous := who.User.ID.IsZero() && r.URL.RawQuery == ""
	if kept, ok := web.kept.Load(key); ok && anonymous {
		page := kept.(keptPage)
		web.reader(r).Write(w, r, http.StatusOK, who, page.body, page.compressed)
		return nil
	}
	page, err := web.reference()
	if err != nil {
		return err
	}
	name, v := "docs", view.Page{Title: web.t(r, "docs.title"), Nav: "settings", Who: who, Body: page}
	if group != "" {
		at := slices.IndexFunc(page.Groups, func(g operationGroup) bool { return g.Name == group })
		if at < 0 {
			return warranty.ErrNotFound
		}
		name, v.Title = "docs-group", web.t(r, "docs.group."+group)
		v.Body = groupPage{page, page.Groups[at]}
	}
	if !anonymous {
		return web.show(w, r, http.StatusOK, name, v)
	}
	body, err := web.rendered(r, name, "layout", v)
	if err != nil {
		return err
	}
	kept := keptPage{body, view.Compress(body)}
	web.kept.Store(key, kept)
	web.reader(r).Write(w, r, http.StatusOK, who, kept.body, kept.compressed)
	return nil
}

// keptPage is a rendered page for visitors.
type keptPage struct{ body, compressed []byte }

func (web *Web) errorCodes(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	codes := warranty.Codes()
	sort.SliceStable(codes, func(i, j int) bool { return codes[i].Status < codes[j].Status })
	v := view.Page{Title: web.t(r, "docs.errors"), Nav: "settings", Who: who, Body: codes}
	return web.show(w, r, http.StatusOK, "docs-errors", v)
}
