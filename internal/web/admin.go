package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

const (
	adminPage = 50  // rows of a list
	adminText = 200 // characters of a search
)

// operators returns a page for operators. For everyone else it does not exist. A change by a session
// that started long ago leads to the sign-in page.
func (web *Web) operators(next page) page {
	return func(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
		if !who.Admin {
			return warranty.ErrNotFound
		}
		err := next(w, r, who)
		if !errors.Is(err, service.ErrSignInAgain) {
			return err
		}
		if _, err := web.Service.SignOut(r.Context(), who, warranty.SignOut{}); err != nil {
			return err
		}
		web.clearCookie(w)
		query := url.Values{"next": {adminPageOf(r.URL.Path)}, "done": {"sign_in_again"}}
		return redirect(w, r, "/sign-in?"+query.Encode())
	}
}

// adminPageOf returns the page with the button that posts to a path.
func adminPageOf(path string) string {
	if user, ok := strings.CutPrefix(path, "/admin/users/"); ok {
		id, _, _ := strings.Cut(user, "/")
		return "/admin/users/" + id
	}
	if path == "/admin/settings" {
		return path
	}
	return "/admin/mails"
}

// adminHealth is the page /admin.
type adminHealth struct {
	service.Health
	Version, Uptime string
	Stats           []adminStat
	Lines           []healthLine
	New             bool // the service was just set up
}

// adminStat is a figure of the page, with a link.
type adminStat struct {
	Key        string // of its name
	Figure     string
	Href, Link string // optional
}

// adminStats returns the figures. They are counted up to a bound.
func (web *Web) adminStats(words view.Reader, h service.Health) []adminStat {
	figure := func(n int64) string {
		if n > service.MaxCount {
			return words.Text("admin.more", service.MaxCount)
		}
		return words.Figure(n)
	}
	show := words.Text("admin.show")
	return []adminStat{
		{"admin.users", figure(h.Users), "/admin/users?sort=last_sign_in", words.Text("admin.signed_in", figure(h.SignedIn))},
		{"admin.records", figure(h.Warranties), "", ""},
		{"admin.documents", figure(h.Documents), "", ""},
		{"admin.mails_waiting", figure(h.Waiting), "/admin/mails", show},
		{"admin.mails_failed", figure(h.Failed), "/admin/mails?state=failed", show},
		{"admin.errors_day", figure(h.Errors), "/admin/errors", show},
	}
}

// healthLine is one line about a part of the service.
type healthLine struct {
	Key  string // of its name
	Tone string // CSS class of a pill, and the end of its text key: active, expiring, expired; or none
	Text string
}

func (web *Web) admin(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	h, err := web.Service.AdminHealth(r.Context(), who)
	if err != nil {
		return err
	}
	body := adminHealth{Health: h, Version: web.Version, Uptime: web.ago(web.reader(r), h.Started)}
	body.New = view.Flash(r) == "done.set_up"
	body.Stats, body.Lines = web.adminStats(web.reader(r), h), web.healthLines(web.reader(r), h)
	v := view.Page{Title: web.t(r, "admin.title"), Nav: "admin", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "admin", v)
}

// healthLines describes the parts of the service as far as this process knows them.
func (web *Web) healthLines(words view.Reader, h service.Health) []healthLine {
	kind := "SQLite"
	if h.Database.Postgres {
		kind = "PostgreSQL"
	}
	database := healthLine{"admin.database", "active", words.Text("admin.database_text",
		kind, h.Database.Version, h.Database.Schema, words.Size(h.Database.Bytes))}
	if h.WritesFail {
		database.Tone = "expired"
	}
	clock := healthLine{"admin.clock", "", words.Text("admin.clock_own")}
	if h.Database.Postgres {
		clock = healthLine{"admin.clock", "active", words.Text("admin.clock_text", h.Database.Clock.Milliseconds())}
		if h.Database.Clock != 0 { // SyncClock ignores what the network explains
			clock.Tone = "expiring"
		}
	}
	files := healthLine{"admin.files", "active", words.Text("admin.files_ok")}
	if h.FilesError != "" {
		files.Tone, files.Text = "expired", h.FilesError
	}
	address := healthLine{"admin.public_url", "active", web.PublicURL}
	if h.OtherAddress != "" {
		address.Tone, address.Text = "expiring", words.Text("admin.address_other", web.PublicURL, h.OtherAddress)
	}
	return []healthLine{address, database, clock, files, web.backupLine(words, h.Backup), web.mailLine(words, h),
		web.jobsLine(words, h.Jobs), web.redisLine(words), web.certificateLine(words)}
}

func (web *Web) mailLine(words view.Reader, h service.Health) healthLine {
	line := healthLine{"admin.mail", "", words.Text("admin.mail_log")}
	switch {
	case h.MailServer == "":
	case h.LastFailed.After(h.LastSent):
		line.Tone, line.Text = "expired", words.Text("admin.mail_failed", h.MailServer, web.ago(words, h.LastFailed))
	case h.LastSent.IsZero():
		line.Text = words.Text("admin.mail_unknown", h.MailServer)
	default:
		line.Tone, line.Text = "active", words.Text("admin.mail_sent", h.MailServer, web.ago(words, h.LastSent))
	}
	return line
}

func (web *Web) redisLine(words view.Reader) healthLine {
	if web.Redis == nil {
		return healthLine{"admin.redis", "", words.Text("admin.redis_none")}
	}
	up, servers := web.Redis()
	if !up {
		return healthLine{"admin.redis", "expired", words.Text("admin.redis_down", servers)}
	}
	return healthLine{"admin.redis", "active", words.Text("admin.redis_up", servers)}
}

// A certificate is renewed when a third of its validity is left, which is 30 days for most. With less than
// expiresSoon left, that has failed for a while.
const expiresSoon = 14 * 24 * time.Hour

func (web *Web) certificateLine(words view.Reader) healthLine {
	if web.CertificateExpires == nil {
		return healthLine{"admin.certificate", "", words.Text("admin.certificate_none")}
	}
	expires, now := web.CertificateExpires(), web.Service.Now()
	line := healthLine{"admin.certificate", "active", words.Text("admin.certificate_text", words.When(words.Zone, expires))}
	switch {
	case expires.IsZero():
		line.Tone, line.Text = "expired", words.Text("admin.certificate_missing")
	case now.After(expires):
		line.Tone = "expired"
	case expires.Sub(now) < expiresSoon:
		line.Tone = "expiring"
	}
	return line
}

// adminUsers is the page /admin/users.
type adminUsers struct {
	form
	Page           warranty.Page[service.UserSummary]
	Pager          pager
	Filters, Sorts []filter
	Limit          int64 // storage per user; 0 means no limit
	MaxRecords     int64
}

// choices returns the options of a field, with the chosen one on: the first if there is no other.
func choices(values url.Values, field, prefix string, options ...string) (list []filter, chosen string) {
	chosen = values.Get(field)
	if !slices.Contains(options, chosen) {
		chosen = options[0]
	}
	for _, option := range options {
		list = append(list, filter{Value: option, Key: prefix + cmp.Or(option, "all"), On: option == chosen})
	}
	return list, chosen
}

func (web *Web) adminUsers(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	query := r.URL.Query()
	body := adminUsers{form: form{Values: query}, Limit: web.Service.StorageLimit}
	body.MaxRecords = service.MaxRecordsShown
	var state, order string
	body.Filters, state = choices(query, "state", "admin.state_", "", "unverified", "disabled", "admin", "organizations")
	body.Sorts, order = choices(query, "sort", "admin.sort_", "newest", "email", "last_sign_in")
	text := []rune(strings.TrimSpace(query.Get("q")))
	q := service.UserQuery{
		Text:   string(text[:min(len(text), adminText)]),
		Filter: service.UserFilter(state),
		Order:  service.UserOrder(order),
		Paging: pagingOf(query, adminPage),
	}
	var err error
	if body.Page, err = web.Service.AdminUsers(r.Context(), who, q); err != nil {
		return err
	}
	body.Pager = newPager(r.URL, body.Page.Pagination)
	v := view.Page{Title: web.t(r, "admin.users"), Nav: "admin", Who: who, Body: body}
	return web.show(w, r, http.StatusOK, "admin-users", v)
}

// adminUser is the page of an account.
type adminUser struct {
	service.AdminUser
	Limit int64
	Self  bool // it is the operator's own account
}

func (web *Web) adminUser(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	u, err := web.Service.AdminUser(r.Context(), who, id)
	if err != nil {
		return err
	}
	body := adminUser{AdminUser: u, Limit: web.Service.StorageLimit, Self: id == who.User.ID}
	v := view.Page{Title: cmp.Or(u.Email, u.Name), Nav: "admin", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "admin-user", v)
}

func (web *Web) adminDisable(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/admin/users/%s?done=disabled", warranty.ParseID, func(id warranty.ID) error {
		return web.Service.AdminDisable(r.Context(), who, id)
	})
}

func (web *Web) adminEnable(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/admin/users/%s?done=enabled", warranty.ParseID, func(id warranty.ID) error {
		return web.Service.AdminEnable(r.Context(), who, id)
	})
}

// adminMails is the page /admin/mails.
type adminMails struct {
	form
	Page   warranty.Page[service.QueuedMail]
	Pager  pager
	Queue  service.MailQueue
	Failed bool // it lists the failed emails
}

func (web *Web) adminMails(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	query := r.URL.Query()
	body := adminMails{form: form{Values: query}, Failed: query.Get("state") == "failed"}
	var err error
	body.Page, body.Queue, err = web.Service.AdminMails(r.Context(), who, body.Failed, pagingOf(query, adminPage))
	if err != nil {
		return err
	}
	body.Pager = newPager(r.URL, body.Page.Pagination)
	v := view.Page{Title: web.t(r, "admin.mails"), Nav: "admin", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "admin-mails", v)
}

func (web *Web) adminRetryMail(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.pressMail(w, r, "mail_retried", func(id warranty.ID) error {
		return web.Service.AdminRetryMail(r.Context(), who, id)
	})
}

func (web *Web) adminGiveUpMail(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.pressMail(w, r, "mail_given_up", func(id warranty.ID) error {
		return web.Service.AdminGiveUpMail(r.Context(), who, id)
	})
}

// pressMail handles a button of an email, which may have been sent meanwhile.
func (web *Web) pressMail(w http.ResponseWriter, r *http.Request, done string, do func(warranty.ID) error) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	err = do(id)
	if errors.Is(err, warranty.ErrNotFound) {
		done, err = "mail_gone", nil
	}
	if err != nil {
		return err
	}
	return redirect(w, r, "/admin/mails?done="+done)
}

func (web *Web) adminRetryMails(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	n, err := web.Service.AdminRetryMails(r.Context(), who)
	if err != nil {
		return err
	}
	done := "mails_retried"
	if n == 0 {
		done = "mails_none"
	}
	return redirect(w, r, "/admin/mails?done="+done)
}

// adminErrors is the page /admin/errors.
type adminErrors struct {
	form
	Page  warranty.Page[service.ServerError]
	Pager pager
}

func (web *Web) adminErrors(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	query := r.URL.Query()
	id := warranty.Printable(strings.TrimSpace(query.Get("request_id")), adminText)
	page, err := web.Service.AdminErrors(r.Context(), who, id, pagingOf(query, adminPage))
	if err != nil {
		return err
	}
	body := adminErrors{form: form{Values: query}, Page: page, Pager: newPager(r.URL, page.Pagination)}
	v := view.Page{Title: web.t(r, "admin.errors"), Nav: "admin", Who: who, Body: body}
	return web.show(w, r, http.StatusOK, "admin-errors", v)
}

// adminHistory is the page /admin/history.
type adminHistory struct {
	Page  warranty.Page[service.OperatorEvent]
	Pager pager
}

func (web *Web) adminHistory(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	page, err := web.Service.AdminHistory(r.Context(), who, pagingOf(r.URL.Query(), adminPage))
	if err != nil {
		return err
	}
	body := adminHistory{Page: page, Pager: newPager(r.URL, page.Pagination)}
	v := view.Page{Title: web.t(r, "admin.history"), Nav: "admin", Who: who, Body: body}
	return web.show(w, r, http.StatusOK, "admin-history", v)
}
