package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// settingsPage is the page /settings/api.
type settingsPage struct {
	Active, Most int // active tokens and their limit
	Base         string
	Today        warranty.Date
	Tokens       []tokenRow
	Pager        pager
	New          tokenForm
	Connect      []snippet
	Requests     []warranty.RequestRecord
}

// tokenRow is a token as it is shown.
type tokenRow struct {
	warranty.Token
	Who      warranty.Principal
	Works    bool
	LastUsed string                  // time since the last use
	Last     *warranty.RequestRecord // the last request, if it was recorded
	Uses     string                  // number of requests in 30 days
	EndsSoon string                  // time left, if the token expires soon
	Overlaps []overlap
}

// overlap is a choice of how long the old secret of a rotated token works.
type overlap struct {
	Seconds int
	Key     string
}

var overlaps = []overlap{{0, "rotate.overlap_none"}, {3600, "rotate.overlap_hour"}, {86400, "rotate.overlap_day"}}

// tokenEndsSoon is how many days before its expiry a token is marked.
const tokenEndsSoon = 14

func (web *Web) settings(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	page, err := web.Service.ListTokens(r.Context(), who, warranty.ListTokens{Paging: warranty.Paging{Page: 1, Limit: 1}})
	if err != nil {
		return err
	}
	next := "/settings/profile"
	switch {
	case page.Pagination.Total > 0:
		next = "/settings/api"
	case who.ActsForOrganization():
		next = "/settings/organization"
	}
	return redirect(w, r, next)
}

// toTokens leads from the address of the API's tokens to their page.
func (web *Web) toTokens(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	return redirect(w, r, "/settings/api")
}

func (web *Web) settingsAPI(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	requests, err := web.Service.ListRequests(r.Context(), who, warranty.Paging{Page: 1, Limit: latestRequests})
	if err != nil {
		return err
	}
	page := settingsPage{
		Most:     warranty.MaxActiveTokens,
		Base:     web.PublicURL + string(api.V1),
		Today:    warranty.DateOf(web.Service.Now()),
		Connect:  connect(web.PublicURL),
		Requests: requests.Data,
		New:      web.newTokenForm(web.reader(r), who, form{}),
	}
	page.New.Dialog = true
	if page.Active, err = web.Service.CountActiveTokens(r.Context(), who); err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "tokens.title"), Nav: "settings", Who: who, Flash: view.Flash(r)}
	if isPart(r) {
		v.Body = page
		return web.part(w, r, "settings-api", "latest", v)
	}
	tokens, err := web.Service.ListTokens(r.Context(), who, warranty.ListTokens{Paging: pagingOf(r.URL.Query(), settingPage)})
	if err != nil {
		return err
	}
	last, err := web.Service.LastRequests(r.Context(), who, tokens.Data)
	if err != nil {
		return err
	}
	for _, t := range tokens.Data {
		page.Tokens = append(page.Tokens, web.tokenRow(web.reader(r), who, t, last))
	}
	page.Pager = newPager(r.URL, tokens.Pagination)
	v.Body = page
	return web.show(w, r, http.StatusOK, "settings-api", v)
}

func (web *Web) tokenRow(
	words view.Reader, who warranty.Principal, t warranty.Token, last map[warranty.ID]warranty.RequestRecord,
) tokenRow {
	now := web.Service.Now()
	row := tokenRow{Token: t, Who: who, Works: t.Status == warranty.TokenIsActive, Overlaps: overlaps}
	if t.LastUsedAt != nil {
		row.LastUsed = web.ago(words, *t.LastUsedAt)
	}
	if request, ok := last[t.ID]; ok {
		row.Last = &request
	}
	uses := int64(0)
	for _, u := range t.Usage {
		uses += u.Requests
	}
	row.Uses = words.Text("tokens.requests", uses)
	if left := int(warranty.DateOf(t.ExpiresAt) - warranty.DateOf(now)); row.Works && left <= tokenEndsSoon {
		switch left {
		case 0:
			row.EndsSoon = words.Text("tokens.ends_today")
		case 1:
			row.EndsSoon = words.Text("tokens.ends_tomorrow")
		default:
			row.EndsSoon = words.Text("tokens.ends_in", left)
		}
	}
	return row
}

// ago returns the approximate time since at.
func (web *Web) ago(words view.Reader, at time.Time) string {
	d := web.Service.Now().Sub(at)
	switch {
	case d < time.Minute:
		return words.Text("ago.now")
	case d < time.Hour:
		return words.Text("ago.minutes", int(d/time.Minute))
	case d < 24*time.Hour:
		return words.Text("ago.hours", int(d/time.Hour))
	case d < 48*time.Hour:
		return words.Text("ago.day")
	case d < 30*24*time.Hour:
		return words.Text("ago.days", int(d/(24*time.Hour)))
	}
	return words.Day(words.Zone, at)
}

// tokenForm is the form that generates a token.
type tokenForm struct {
	form
	Who     warranty.Principal
	Scopes  []string
	Presets []preset
	MaxRate int
	Dialog  bool // the form is in a dialog
}

// preset is a choice of when a token expires.
type preset struct {
	Days int
	Key  string
	Ends string // the text with the expiry date
}

var presets = []preset{
	{Days: 7, Key: "token_form.days_7"},
	{Days: 30, Key: "token_form.days_30"},
	{Days: 90, Key: "token_form.days_90"},
	{Days: 365, Key: "token_form.days_365"},
}

// reminderDays is how many days before its expiry the reminder for a token is sent. Tokens
// with a shorter lifetime get none.
const reminderDays = 7

// newTokenForm returns the form with the values of f, or with the defaults if it has none.
func (web *Web) newTokenForm(words view.Reader, who warranty.Principal, f form) tokenForm {
	if f.Values == nil {
		f.Values = url.Values{
			"scopes":                {string(warranty.WarrantiesRead)},
			"expires_in_days":       {"90"},
			"rate_limit_per_minute": {strconv.Itoa(min(warranty.DefaultTokenRate, web.Service.MaxTokenRate))},
		}
	}
	t := tokenForm{form: f, Who: who, MaxRate: web.Service.MaxTokenRate, Presets: slices.Clone(presets)}
	for _, s := range warranty.AllScopes {
		t.Scopes = append(t.Scopes, string(s))
	}
	for i := range t.Presets {
		p := &t.Presets[i]
		key := "token_form.ends"
		if p.Days <= reminderDays {
			key = "token_form.ends_soon"
		}
		p.Ends = words.Text(key, words.Day(words.Zone, web.tokenEnd(p.Days)))
	}
	return t
}

func (web *Web) tokenEnd(days int) time.Time { return web.Service.Now().UTC().AddDate(0, 0, days) }

func (web *Web) showTokenForm(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	v := view.Page{Title: web.t(r, "token_form.title"), Nav: "settings", Who: who, Body: web.newTokenForm(web.reader(r), who, f)}
	return web.show(w, r, f.status, "settings-api-new", v)
}

// createToken generates a token and shows its secret once. Sending the form again creates
// no second token, because the name is taken.
func (web *Web) createToken(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.CreateToken, warranty.NewToken]{
		op:      api.CreateToken,
		prepare: func(f form) error { return web.setExpiry(web.reader(r), f) },
		do:      web.Service.CreateToken,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			if warranty.AsError(f.err).Code == warranty.AlreadyExists {
				f.Errors, f.Wrong = map[string]string{"name": web.t(r, "token_form.exists")}, ""
			}
			return web.showTokenForm(w, r, who, f)
		},
		done: func(_ form, created warranty.NewToken) error {
			first := firstUse{ID: created.ID, Since: created.CreatedAt.UnixMicro()}
			return web.showSecret(w, r, who, shownOnce{NewToken: created, First: first})
		},
	})
}

// setExpiry sets the expiry of a new token from the chosen number of days.
func (web *Web) setExpiry(words view.Reader, f form) error {
	days, err := strconv.Atoi(f.Value("expires_in_days"))
	if err != nil || !slices.ContainsFunc(presets, func(p preset) bool { return p.Days == days }) {
		var c warranty.Checks
		c.Add("expires_at", "invalid", "%s", words.Text("token_form.choose_end"))
		return c.Err()
	}
	f.Values.Set("expires_at", web.tokenEnd(days).Format(time.RFC3339))
	return nil
}

// shownOnce is the page with a new secret. It is the response to a POST and has no address
// of its own, so the secret is never in a URL.
type shownOnce struct {
	warranty.NewToken
	Rotated bool
	OldEnds *time.Time // when the old secret stops working; nil if it has already
	First   firstUse
}

func (web *Web) showSecret(w http.ResponseWriter, r *http.Request, who warranty.Principal, body shownOnce) error {
	v := view.Page{Title: web.t(r, "token_created.title"), Nav: "settings", Who: who, NoIndex: true, Body: body}
	return web.show(w, r, http.StatusOK, "token-created", v)
}

// firstUse is the status of the wait for the first request with a new secret.
type firstUse struct {
	ID    warranty.ID
	Since int64 // in microseconds; earlier requests do not count
	Tries int
	Used  bool
	Last  *warranty.RequestRecord
}

// firstTries is how often the page polls, every two seconds.
const firstTries = 300

// Asks reports whether the page continues to poll.
func (f firstUse) Asks() bool { return !f.Used && f.Tries < firstTries }

// Next returns the address to poll.
func (f firstUse) Next() string {
	return fmt.Sprintf("/settings/api/tokens/%s/first?since=%d&tries=%d", f.ID, f.Since, f.Tries+1)
}

func (web *Web) firstRequest(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	token, err := web.tokenOf(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	f := firstUse{ID: token.ID}
	f.Since, _ = strconv.ParseInt(r.URL.Query().Get("since"), 10, 64) // 0 if invalid
	f.Tries, _ = strconv.Atoi(r.URL.Query().Get("tries"))
	since := time.UnixMicro(f.Since)
	if f.Used = token.LastUsedAt != nil && !token.LastUsedAt.Before(since); f.Used {
		last, err := web.Service.LastRequests(r.Context(), who, []warranty.Token{token})
		if err != nil {
			return err
		}
		if request, ok := last[token.ID]; ok && !request.At.Before(since) {
			f.Last = &request
		}
	}
	v := view.Page{Title: web.t(r, "token_created.first"), Nav: "settings", Who: who, Body: f}
	if isPart(r) {
		return web.part(w, r, "token-first", "first", v)
	}
	return web.show(w, r, http.StatusOK, "token-first", v)
}

// tokenOf returns the token with an id.
func (web *Web) tokenOf(r *http.Request, who warranty.Principal, text string) (warranty.Token, error) {
	id, err := warranty.ParseID(text)
	if err != nil {
		return warranty.Token{}, warranty.ErrNotFound
	}
	return web.Service.GetToken(r.Context(), who, warranty.GetToken{ID: id})
}

// tokenDetail is the page of a token.
type tokenDetail struct {
	tokenRow
	form
	Today   warranty.Date
	Recent  []warranty.RequestRecord
	History []warranty.Event
}

func (web *Web) showToken(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	token, err := web.tokenOf(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	paging := warranty.Paging{Page: 1, Limit: latestRequests}
	in := warranty.ListTokenRequests{Paging: paging, ID: token.ID}
	requests, err := web.Service.ListTokenRequests(r.Context(), who, in)
	if err != nil {
		return err
	}
	paging.Limit = 30
	history, err := web.Service.ListTokenHistory(r.Context(), who, warranty.ListTokenHistory{Paging: paging, ID: token.ID})
	if err != nil {
		return err
	}
	last := map[warranty.ID]warranty.RequestRecord{}
	if len(requests.Data) > 0 {
		last[token.ID] = requests.Data[0]
	}
	body := tokenDetail{
		tokenRow: web.tokenRow(web.reader(r), who, token, last),
		form:     f,
		Today:    warranty.DateOf(web.Service.Now()),
		Recent:   requests.Data,
		History:  history.Data,
	}
	v := view.Page{Title: token.Name, Nav: "settings", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, f.status, "settings-token", v)
}

// rotateToken gives a token a new secret and shows it once. The form has the prefix of the
// secret that it replaces, so that sending it again does not rotate the token again.
func (web *Web) rotateToken(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	token, err := web.tokenOf(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	var overlap time.Duration
	return submit(web, w, r, who, action[warranty.RotateToken, warranty.NewToken]{
		op: api.RotateToken,
		prepare: func(f form) error {
			if f.Value("prefix") != token.Prefix {
				return warranty.Refuse(warranty.InvalidTransition, "%s", web.t(r, "rotate.already"))
			}
			return nil
		},
		do: func(ctx context.Context, who warranty.Principal, in warranty.RotateToken) (warranty.NewToken, error) {
			if in.OverlapSeconds != nil {
				overlap = time.Duration(*in.OverlapSeconds) * time.Second
			}
			return web.Service.RotateToken(ctx, who, in)
		},
		again: web.showToken,
		done: func(_ form, rotated warranty.NewToken) error {
			now := web.Service.Now()
			first := firstUse{ID: rotated.ID, Since: now.UnixMicro()}
			body := shownOnce{NewToken: rotated, Rotated: true, First: first}
			if overlap > 0 {
				body.OldEnds = new(now.Add(overlap))
			}
			return web.showSecret(w, r, who, body)
		},
	})
}

// toToken redirects a reload of the rotated token's page to the token.
func (web *Web) toToken(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	token, err := web.tokenOf(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	return redirect(w, r, "/settings/api/tokens/"+token.ID.String())
}

func (web *Web) revokeToken(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/settings/api?done=revoked", warranty.ParseID, func(id warranty.ID) error {
		_, err := web.Service.RevokeToken(r.Context(), who, warranty.RevokeToken{ID: id})
		return err
	})
}
