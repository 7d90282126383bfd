package web

import (
	"html/template"
	"net/url"
	"time"

	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// This file is the overview of a business.

// maxTasks limits the lines of today's work.
const maxTasks = 5

// task is a line of today's work.
type task struct {
	Count             int64
	Title, Hint, Verb string
	Href              string
}

// statistic is a figure of this month with the one of last month.
type statistic struct {
	Label, Value, Before string
	Trend                template.HTML
}

// rankedProduct is a product with the most claims. Width is in percent of the first one.
type rankedProduct struct {
	Name, Href string
	Claims     int64
	Width      int64
}

// home completes the overview of an organization.
func (web *Web) home(words view.Reader, who warranty.Principal, body *overviewPage) {
	web.tasks(words, body)
	d := body.Desk
	for _, step := range d.Steps {
		if step.Done {
			body.Done++
		}
	}
	body.Steps, body.New = d.Steps, body.Total == 0 && len(body.Tasks) == 0
	web.homeHeadline(words, who, body)
	if !body.New {
		body.Figures = web.figures(words, d.Months)
	}
	for _, p := range d.Products {
		body.Products = append(body.Products, rankedProduct{
			Name: p.Name, Href: "/claims?" + url.Values{"q": {p.Name}}.Encode(), Claims: p.Claims, Width: max(1, 100*p.Claims/d.Products[0].Claims),
		})
	}
}

// homeHeadline says what is most urgent, and leads to it.
func (web *Web) homeHeadline(words view.Reader, who warranty.Principal, body *overviewPage) {
	waiting := body.Desk.Claims.WaitingForUs
	switch {
	case waiting > 0:
		body.Headline = words.Text("claims.wait", waiting)
		if oldest := body.Desk.Claims.Oldest; oldest != nil {
			body.Lead = words.Text("claims.oldest", words.Day(words.Zone, *oldest))
		}
		body.Primary = &link{"/claims?queue=waiting_for_us", words.Text("claims.start")}
		if oldest := body.Desk.Oldest; oldest != nil {
			body.Primary.Href = claimLink(oldest.ID, url.Values{"queue": {warranty.WaitingForUs.String()}})
		}
	case len(body.Tasks) > 0:
		first := body.Tasks[0]
		body.Headline = words.Figure(first.Count) + " " + first.Title
		body.Primary = &link{first.Href, first.Verb}
	case body.New && len(body.Steps) > 0:
		body.Headline = words.Text("home.ready", who.Account.Name)
		body.Lead = words.Text("home.steps_done", body.Done, len(body.Steps))
	case body.New:
		body.Headline = words.Text("overview.empty")
	default:
		body.Headline = words.Text("claims.nothing_waits")
		body.Lead = words.Text("overview.lead", words.Text("overview.records", body.Total),
			words.Text("overview.open_claims", body.Desk.Claims.InProgress+body.Desk.Claims.WaitingForThem))
	}
}

// tasks are today's work, the most urgent first. Each is true and leads to where it is done.
func (web *Web) tasks(words view.Reader, body *overviewPage) {
	d := body.Desk
	add := func(count int64, key, hint, href, verb string) {
		if count > 0 && len(body.Tasks) < maxTasks {
			body.Tasks = append(body.Tasks, task{
				Count: count, Title: words.Text("home."+key, count), Hint: hint, Href: href, Verb: words.Text(verb),
			})
		}
	}
	add(d.Late, "late", web.longestWait(words, d), "/claims?age=3&queue=waiting_for_us&sort=waiting", "attention.review")
	if d.Late == 0 {
		add(d.Claims.WaitingForUs-d.Claims.Replied, "new", "", "/claims?queue=waiting_for_us", "attention.review")
	}
	add(d.Claims.Replied, "replied", "", "/claims?queue=waiting_for_us&replied=1", "attention.read")
	for _, domain := range d.Failing {
		hint := domain.Domain
		if domain.LostAt != nil {
			hint = words.Text("home.domain_by", domain.Domain, words.Day(words.Zone, *domain.LostAt))
		}
		add(1, "domain", hint, "/settings/domains", "attention.fix")
	}
	for _, j := range body.Stopped {
		key := "import_stopped"
		if j.Kind == jobs.BulkKind {
			key = "bulk_stopped"
		}
		add(1, key, jobs.HeadOf(j.Head).Name, "/jobs/"+j.ID.String(), "attention.look")
	}
	add(body.ToConfirm, "confirm", "", "/confirmations", "attention.confirm")
}

// longestWait says who waits longest.
func (web *Web) longestWait(words view.Reader, d *service.Desk) string {
	c := d.Oldest
	if c == nil || c.WaitingSince == nil {
		return ""
	}
	since := words.Day(words.Zone, *c.WaitingSince)
	if c.Customer == nil {
		return words.Text("home.longest", c.Warranty.ProductName, since)
	}
	return words.Text("home.longest_of", c.Customer.Name, c.Warranty.ProductName, since)
}

// figures are those of this month, with last month beside.
func (web *Web) figures(words view.Reader, months []service.DeskMonth) []statistic {
	now, last := months[len(months)-1], months[len(months)-2]
	name, before := words.Month(now.First.Time()), words.Month(last.First.Time())
	trend := func(of func(service.DeskMonth) int64) template.HTML {
		counts := make([]int64, len(months))
		for i, m := range months {
			counts[i] = of(m)
		}
		return view.Trend(counts)
	}
	beside := func(value string) string { return words.Text("home.before", before, value) }
	issued := func(m service.DeskMonth) int64 { return m.Issued }
	registered := func(m service.DeskMonth) int64 { return m.Registered }
	filed := func(m service.DeskMonth) int64 { return m.Filed }
	share := beside(words.Figure(last.Registered))
	if now.Issued > 0 {
		share = words.Text("home.share", 100*now.Registered/now.Issued)
	}
	return []statistic{
		{words.Text("home.issued", name), words.Figure(now.Issued), beside(words.Figure(last.Issued)), trend(issued)},
		{words.Text("home.registered"), words.Figure(now.Registered), share, trend(registered)},
		{words.Text("home.filed"), words.Figure(now.Filed), beside(words.Figure(last.Filed)), trend(filed)},
		{words.Text("home.to_decide"), decideTime(words, now), beside(decideTime(words, last)), ""},
	}
}

func decideTime(words view.Reader, m service.DeskMonth) string {
	took := m.ToDecide
	switch {
	case m.Decided == 0:
		return "–"
	case took < time.Hour:
		return words.Text("home.under_an_hour")
	}
	return words.Span(&took)
}

// Amber reports whether bars may be amber: not in a business where nothing waits.
func (p overviewPage) Amber() bool { return p.Desk == nil || len(p.Tasks) > 0 }

// stepLink is a step of a new organization, with where it is done.
type stepLink struct {
	service.FirstStep
	Href string
	Next bool // the first one that is not done
}

// Key, HintKey and VerbKey are the keys of the texts.
func (s stepLink) Key() string     { return "home.step_" + s.Name }
func (s stepLink) HintKey() string { return s.Key() + "_hint" }
func (s stepLink) VerbKey() string { return s.Key() + "_do" }

// stepPages are where the steps are done.
var stepPages = map[string]string{
	"profile":   "/settings/organization",
	"domain":    "/settings/domains",
	"logo":      "/settings/brand",
	"product":   "/products/new",
	"import":    "/warranties/import",
	"colleague": "/settings/members/invite",
}

// StepLinks are the steps of the organization.
func (p overviewPage) StepLinks() (list []stepLink) {
	next := true
	for _, step := range p.Steps {
		s := stepLink{FirstStep: step, Href: stepPages[step.Name]}
		if next && step.May && !step.Done {
			s.Next, next = true, false
		}
		list = append(list, s)
	}
	return list
}

// NextStep is the first step that the person can do, or nil.
func (p overviewPage) NextStep() *stepLink {
	for _, s := range p.StepLinks() {
		if s.Next {
			return &s
		}
	}
	return nil
}
