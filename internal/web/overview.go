package web

import (
	"net/http"

	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// overviewPage is the page /.
type overviewPage struct {
	service.Overview
	Headline, Lead string
	Primary        *link
	Tasks          []task
	Figures        []statistic
	Bars           []view.Bar
	Wide           bool // the numbers of the bars are too long to stand side by side
	Products       []rankedProduct
	Events         []event
	Steps          []service.FirstStep
	Done           int  // steps
	New            bool // the steps are shown in place of the figures
}

// link is a button that leads somewhere.
type link struct{ Href, Label string }

// event is a line of the activity.
type event struct {
	service.Gathered
	Ago    string
	Action string // with its number, or without the product
	Many   bool   // the action has its number
	Icon   string
	Job    *jobLine
}

// jobLine is a line of the activity about a job.
type jobLine struct {
	Href, File string
	Undo       bool
}

func (web *Web) overview(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	words := web.reader(r)
	o, err := web.Service.Overview(r.Context(), who, words.Zone)
	if err != nil {
		return err
	}
	body := overviewPage{Overview: o, Bars: view.Bars(o.EndDates, o.Today, words.Texts)}
	for _, b := range body.Bars {
		body.Wide = body.Wide || b.Count >= 10_000
	}
	if o.Desk != nil {
		web.home(words, who, &body)
	} else {
		body.Headline = web.headline(words, o)
		body.Lead = words.Text("overview.lead", words.Text("overview.records", o.Total), words.Text("overview.open_claims", o.OpenClaims))
	}
	for _, a := range o.Activity {
		body.Events = append(body.Events, web.eventOf(words, a))
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

// manyActions are the actions with a text for several of them.
var manyActions = map[warranty.Action]string{
	warranty.WarrantyCreated:    "shield",
	warranty.WarrantyUpdated:    "shield",
	warranty.WarrantyDeleted:    "shield",
	warranty.HandoverWasOffered: "shop",
	warranty.HandoverWasTaken:   "person",
	warranty.ClaimFiled:         "claim",
	warranty.ClaimMoved:         "claim",
	warranty.ClaimMessaged:      "claim",
	warranty.DocumentUploaded:   "file",
}

// eventOf returns a line of the activity.
func (web *Web) eventOf(words view.Reader, a service.Gathered) event {
	e := event{Gathered: a, Ago: web.ago(words, a.At), Icon: "shield"}
	if a.Job != nil {
		web.jobEvent(words, &e)
		return e
	}
	icon, known := manyActions[a.Action]
	if known {
		e.Icon = icon
	}
	e.Action = words.Text("action." + a.Action.String())
	if e.Many = known && a.More > 0; e.Many {
		e.Action = words.Text("activity."+a.Action.String(), a.More+1)
		if a.AndOlder {
			e.Action = words.Text("activity.at_least", e.Action)
		}
	}
	return e
}

// jobEvent completes a line about a job.
func (web *Web) jobEvent(words view.Reader, e *event) {
	j, head := e.Gathered.Job, jobs.HeadOf(e.Gathered.Job.Head)
	e.Icon, e.Actor, e.Door = "table", j.Name, ""
	e.Job = &jobLine{Href: "/jobs/" + j.ID.String(), File: head.Name}
	e.Many = true
	switch key := "activity.import"; {
	case j.State.Open():
		e.Action = words.Text("activity.running")
	case j.State == warranty.JobFailed:
		e.Action = words.Text("activity.stopped")
	case j.State == warranty.JobUndone:
		e.Action = words.Text("activity.undone")
	case j.Kind == jobs.BulkKind:
		e.Action = words.Text("activity.bulk_"+head.Action, head.Changed)
	default:
		if head.Created == 0 && head.Updated > 0 {
			key, head.Created = "activity.import_updated", head.Updated
		}
		e.Action = words.Text(key, head.Created)
		e.Job.Undo = head.Created > 0 && web.Service.Now().Before(jobs.UndoUntil(warranty.Job{EndedAt: &j.Ends}))
	}
}
