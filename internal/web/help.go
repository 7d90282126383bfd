package web

import (
	"net/http"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// helpGroup is a part of /help. Its texts are help_group.NAME.
type helpGroup struct {
	Name   string
	Topics []helpTopic
}

// helpTopic is a question with its answer: the texts help_question.NAME, help_answer.NAME and help_link.NAME.
type helpTopic struct{ Name, Link string }

// helpGroups has what people ask.
var helpGroups = []helpGroup{
	{"owners", []helpTopic{
		{"code", "/take"},
		{"reference", "/verify"},
		{"claim", "/claims"},
		{"data", "/settings/profile"},
		{"hand_over", "/warranties"},
	}},
	{"shops", []helpTopic{
		{"issue", "/issue"},
		{"import", "/warranties/import"},
		{"queue", "/claims"},
		{"domain", "/settings/domains"},
		{"labels", "/warranties"},
	}},
	{"programs", []helpTopic{{"agents", "/docs"}}},
}

// help shows what people ask, with or without an account.
func (web *Web) help(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	v := view.Page{Title: web.t(r, "help.title"), Nav: "help", Who: who, Body: helpGroups}
	return web.show(w, r, http.StatusOK, "help", v)
}
