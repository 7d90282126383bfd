package web

import (
	"encoding/json"
	"net/http"
	"sort"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// reference is the API reference: the operation table as a page.
type reference struct {
	Base   string
	Groups []operationGroup
}

type operationGroup struct {
	Name       string
	Operations []operationDoc
}

// operationDoc is one operation with ways to call it.
type operationDoc struct {
	*api.Spec
	Anchor         string
	Curl, CLI, MCP string
	Codes          []warranty.CodeInfo
}

func (web *Web) docs(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	page := reference{Base: web.PublicURL}
	groups := map[string]int{}
	for _, op := range api.Operations() {
		noun, _, _ := strings.Cut(op.Name, ".")
		i, ok := groups[noun]
		if !ok {
			i = len(page.Groups)
			groups[noun] = i
			page.Groups = append(page.Groups, operationGroup{Name: noun})
		}
		page.Groups[i].Operations = append(page.Groups[i].Operations, web.describeOperation(op))
	}
	web.show(w, r, http.StatusOK, "docs", view{Title: web.t("docs.title"), Nav: "settings", Who: who, Body: page})
	return nil
}

func (web *Web) describeOperation(op *api.Spec) operationDoc {
	d := operationDoc{Spec: op, Anchor: strings.ReplaceAll(op.Name, ".", "-")}
	for _, code := range op.Refusals() {
		d.Codes = append(d.Codes, code.Info())
	}
	credential := `-H "x-api-key: $SVC_API_KEY" `
	switch op.Auth {
	case api.SessionOnly:
		credential = `-H "Authorization: Bearer $SVC_SESSION" `
	case api.Public:
		credential = ""
	}
	method := ""
	if op.Method != http.MethodGet {
		method = "-X " + op.Method + " "
	}
	path := strings.NewReplacer("{id}", "$ID", "{reference}", "WR-7K2M-9QXT-4D8P-HV3A").Replace(op.Route())
	d.Curl = "curl " + method + credential + `"` + web.PublicURL + path + `"`
	if body := exampleBody(op); body != "" {
		d.Curl += " \\\n  -H 'Content-Type: application/json' \\\n  -d '" + strings.ReplaceAll(body, "'", `'\''`) + "'"
	}
	if op.Tool != "" {
		arguments := "{}"
		if strings.Contains(op.Path, "{id}") {
			arguments = `{"id":"$ID"}`
		}
		d.MCP = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + op.Tool + `","arguments":` + arguments + `}}`
		noun, verb, _ := strings.Cut(op.Name, ".")
		d.CLI = "svc " + noun + " " + verb
		if op.Name == "warranties.verify" {
			d.CLI = "svc verify WR-7K2M-9QXT-4D8P-HV3A"
		} else if strings.Contains(op.Path, "{id}") {
			d.CLI += " $ID"
		}
	}
	return d
}

// exampleBody is a body made of the examples in the declarations.
func exampleBody(op *api.Spec) string {
	body := map[string]any{}
	for _, p := range op.Params {
		if p.In != api.Body || p.Example == "" {
			continue
		}
		body[p.Name] = p.Example
		if len(p.Enum) > 0 && p.Name == "scopes" {
			body[p.Name] = []string{p.Example}
		}
		if p.Min != nil && p.Format == "" && p.Name == "rate_limit_per_minute" {
			body[p.Name] = json.Number(p.Example)
		}
	}
	if len(body) == 0 {
		return ""
	}
	text, err := json.Marshal(body)
	if err != nil {
		return ""
	}
	return string(text)
}

func (web *Web) errorCodes(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	codes := warranty.Codes()
	sort.SliceStable(codes, func(i, j int) bool { return codes[i].Status < codes[j].Status })
	web.show(w, r, http.StatusOK, "docs-errors", view{Title: web.t("docs.errors"), Nav: "settings", Who: who, Body: codes})
	return nil
}
