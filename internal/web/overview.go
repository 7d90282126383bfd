package web

import (
	"html/template"
	"net/http"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// overviewPage is the page /.
type overviewPage struct {
	service.Overview
	Headline string
	Timeline template.HTML
	Events   []event
}

// event is a line of the activity with the time since.
type event struct {
	service.Gathered
	Ago string
}

func (web *Web) overview(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	o, err := web.Service.Overview(r.Context(), who)
	if err != nil {
		return err
	}
	body := overviewPage{
		Overview: o,
		Headline: web.headline(web.reader(r), o),
		Timeline: view.Timeline(o.EndDates, o.Today, web.reader(r).Texts),
	}
	for _, a := range o.Activity {
		body.Events = append(body.Events, event{Gathered: a, Ago: web.ago(web.reader(r), a.At)})
	}
	v := view.Page{Title: web.t(r, "nav.overview"), Nav: "overview", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "overview", v)
}

func (web *Web) headline(words view.Reader, o service.Overview) string {
	switch {
	case o.Total == 0:
		return words.Text("overview.empty")
	case o.EndingSoon == 0:
		return words.Text("overview.none", view.EndingSoon)
	}
	return words.Text("overview.ending", o.EndingSoon, words.Count(o.EndingSoon), view.EndingSoon)
}
