package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// settingsPage is all about tokens: those there are, how to use one, and what was
// asked with them.
type settingsPage struct {
	Active, Most int
	Base         string
	Today        warranty.Date
	Tokens       []tokenRow
	Pager        pager
	New          tokenForm
	Connect      []snippet
	Requests     []warranty.RequestRecord
}

// tokenRow is a token as people read it.
type tokenRow struct {
	warranty.Token
	Works    bool
	LastUsed string                  // how long ago
	Last     *warranty.RequestRecord // that use, if it was recorded
	Uses     string                  // how many in 30 days
	EndsSoon string                  // how soon, when that is soon
	Overlaps []overlap
}

// overlap is a choice of how long an old secret goes on working.
type overlap struct {
	Seconds int
	Key     string
}

var overlaps = []overlap{{0, "rotate.overlap_none"}, {3600, "rotate.overlap_hour"}, {86400, "rotate.overlap_day"}}

// tokenEndsSoon is how many days before its end a token is marked.
const tokenEndsSoon = 14

func (web *Web) settings(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	http.Redirect(w, r, "/settings/api", http.StatusSeeOther)
	return nil
}

func (web *Web) settingsAPI(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	requests, err := web.Service.ListRequests(r.Context(), who, warranty.Paging{Page: 1, Limit: latestRequests})
	if err != nil {
		return err
	}
	page := settingsPage{Most: warranty.MaxActiveTokens, Base: web.PublicURL + string(api.V1), Today: warranty.DateOf(web.Service.Now()),
		Connect: connect(web.PublicURL), Requests: requests.Data, New: web.newTokenForm(who, form{})}
	page.New.Dialog = true
	if page.Active, err = web.Service.CountActiveTokens(r.Context(), who); err != nil {
		return err
	}
	v := view{Title: web.t("tokens.title"), Nav: "settings", Who: who, Flash: flash(r)}
	if isPart(r) {
		v.Body = page
		web.part(w, r, "settings-api", "latest", v)
		return nil
	}
	tokens, err := web.Service.ListTokens(r.Context(), who, warranty.ListTokens{Paging: pagingOf(r.URL.Query())})
	if err != nil {
		return err
	}
	last, err := web.Service.LastRequests(r.Context(), who, tokens.Data)
	if err != nil {
		return err
	}
	for _, t := range tokens.Data {
		page.Tokens = append(page.Tokens, web.tokenRow(t, last))
	}
	page.Pager = newPager(r.URL, tokens.Pagination)
	v.Body = page
	web.show(w, r, http.StatusOK, "settings-api", v)
	return nil
}

func (web *Web) tokenRow(t warranty.Token, last map[warranty.ID]warranty.RequestRecord) tokenRow {
	now := web.Service.Now()
	row := tokenRow{Token: t, Works: t.Status == warranty.TokenIsActive, Overlaps: overlaps}
	if t.LastUsedAt != nil {
		row.LastUsed = web.ago(*t.LastUsedAt)
	}
	if request, ok := last[t.ID]; ok {
		row.Last = &request
	}
	uses := int64(0)
	for _, u := range t.Usage {
		uses += u.Requests
	}
	row.Uses = web.views.texts.number("tokens.requests", uses)
	if left := int(warranty.DateOf(t.ExpiresAt) - warranty.DateOf(now)); row.Works && left <= tokenEndsSoon {
		switch left {
		case 0:
			row.EndsSoon = web.t("tokens.ends_today")
		case 1:
			row.EndsSoon = web.t("tokens.ends_tomorrow")
		default:
			row.EndsSoon = web.t("tokens.ends_in", left)
		}
	}
	return row
}

// ago says how long ago something was, roughly.
func (web *Web) ago(at time.Time) string {
	d := web.Service.Now().Sub(at)
	switch {
	case d < time.Minute:
		return web.t("ago.now")
	case d < time.Hour:
		return web.t("ago.minutes", int(d/time.Minute))
	case d < 24*time.Hour:
		return web.t("ago.hours", int(d/time.Hour))
	case d < 48*time.Hour:
		return web.t("ago.day")
	case d < 30*24*time.Hour:
		return web.t("ago.days", int(d/(24*time.Hour)))
	}
	return at.UTC().Format("2 Jan 2006")
}

// tokenForm is the form of a new token.
type tokenForm struct {
	form
	Who     warranty.Principal
	Scopes  []string
	Presets []preset
	MaxRate int
	Dialog  bool // it stands in a dialog, which can be closed
}

// preset is a choice of how long a token works, and the day of its end.
type preset struct {
	Days int
	Key  string
	Ends string // in words
}

var presets = []preset{{Days: 7, Key: "token_form.days_7"}, {Days: 30, Key: "token_form.days_30"}, {Days: 90, Key: "token_form.days_90"}, {Days: 365, Key: "token_form.days_365"}}

// reminderDays is how long before its end a mail reminds of a token: who makes one
// for no longer than that is not promised one.
const reminderDays = 7

// newTokenForm is the form with what was typed, or with what is proposed.
func (web *Web) newTokenForm(who warranty.Principal, f form) tokenForm {
	if f.Values == nil {
		f.Values = url.Values{"scopes": {string(warranty.WarrantiesRead)}, "expires_in_days": {"90"},
			"rate_limit_per_minute": {strconv.Itoa(min(warranty.DefaultTokenRate, web.Service.MaxTokenRate))}}
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
		p.Ends = web.t(key, web.tokenEnd(p.Days).Format("2 January 2006"))
	}
	return t
}

func (web *Web) tokenEnd(days int) time.Time { return web.Service.Now().UTC().AddDate(0, 0, days) }

func (web *Web) newToken(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showTokenForm(w, r, who, http.StatusOK, form{})
}

func (web *Web) showTokenForm(w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, f form) error {
	web.show(w, r, status, "settings-api-new", view{Title: web.t("token_form.title"), Nav: "settings", Who: who, Body: web.newTokenForm(who, f)})
	return nil
}

// createToken makes a token and shows its secret, this once. Sending the form
// again makes no second one, because the name is taken.
func (web *Web) createToken(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	made, err := web.tokenFrom(r, who, f)
	if err != nil {
		if !web.mend(w, r, &f, err) {
			return err
		}
		if warranty.AsError(err).Code == warranty.AlreadyExists {
			f.Errors, f.Wrong = map[string]string{"name": web.t("token_form.exists")}, ""
		}
		return web.showTokenForm(w, r, who, f.status, f)
	}
	web.showSecret(w, r, who, shownOnce{NewToken: made, First: firstUse{ID: made.ID, Since: made.CreatedAt.UnixMicro()}})
	return nil
}

func (web *Web) tokenFrom(r *http.Request, who warranty.Principal, f form) (warranty.NewToken, error) {
	days, err := strconv.Atoi(f.Value("expires_in_days"))
	if err != nil || !slices.ContainsFunc(presets, func(p preset) bool { return p.Days == days }) {
		var c warranty.Checks
		c.Add("expires_at", "invalid", web.t("token_form.choose_end"))
		return warranty.NewToken{}, c.Err()
	}
	f.Values.Set("expires_at", web.tokenEnd(days).Format(time.RFC3339))
	in, err := input(api.CreateToken, f, nil)
	if err != nil {
		return warranty.NewToken{}, err
	}
	return web.Service.CreateToken(r.Context(), who, in)
}

// shownOnce is the page with a secret. It is the answer to a form and has no
// address of its own, so that a secret is in no history.
type shownOnce struct {
	warranty.NewToken
	Rotated bool
	OldEnds *time.Time // when the secret until now stops working; nil when it has
	First   firstUse
}

func (web *Web) showSecret(w http.ResponseWriter, r *http.Request, who warranty.Principal, body shownOnce) {
	web.show(w, r, http.StatusOK, "token-created", view{Title: web.t("token_created.title"), Nav: "settings", Who: who, NoIndex: true, Body: body})
}

// firstUse is whether a new secret was used yet.
type firstUse struct {
	ID    warranty.ID
	Since int64 // microseconds: uses before do not count
	Tries int
	Used  bool
	Last  *warranty.RequestRecord
}

// firstTries is how often the page asks by itself, every two seconds.
const firstTries = 300

// Asks tells whether the page goes on asking.
func (f firstUse) Asks() bool { return !f.Used && f.Tries < firstTries }

// Next is the address that it asks.
func (f firstUse) Next() string {
	return fmt.Sprintf("/settings/api/tokens/%s/first?since=%d&tries=%d", f.ID, f.Since, f.Tries+1)
}

func (web *Web) firstRequest(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	token, err := web.tokenOf(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	f := firstUse{ID: token.ID}
	f.Since, _ = strconv.ParseInt(r.URL.Query().Get("since"), 10, 64) // nonsense is 0, the beginning
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
	v := view{Title: web.t("token_created.first"), Nav: "settings", Who: who, Body: f}
	if isPart(r) {
		web.part(w, r, "token-first", "first", v)
		return nil
	}
	web.show(w, r, http.StatusOK, "token-first", v)
	return nil
}

// tokenOf is the token that the address names.
func (web *Web) tokenOf(r *http.Request, who warranty.Principal, text string) (warranty.Token, error) {
	id, err := warranty.ParseID(text)
	if err != nil {
		return warranty.Token{}, warranty.ErrNotFound
	}
	return web.Service.GetToken(r.Context(), who, warranty.GetToken{ID: id})
}

// tokenDetail is one token with what was done to it and with it.
type tokenDetail struct {
	tokenRow
	form
	Today   warranty.Date
	Recent  []warranty.RequestRecord
	History []warranty.Event
}

func (web *Web) token(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showToken(w, r, who, http.StatusOK, form{})
}

func (web *Web) showToken(w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, f form) error {
	token, err := web.tokenOf(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	paging := warranty.Paging{Page: 1, Limit: latestRequests}
	requests, err := web.Service.ListTokenRequests(r.Context(), who, warranty.ListTokenRequests{Paging: paging, ID: token.ID})
	if err != nil {
		return err
	}
	history, err := web.Service.ListTokenHistory(r.Context(), who, warranty.ListTokenHistory{Paging: warranty.Paging{Page: 1, Limit: 30}, ID: token.ID})
	if err != nil {
		return err
	}
	last := map[warranty.ID]warranty.RequestRecord{}
	if len(requests.Data) > 0 {
		last[token.ID] = requests.Data[0]
	}
	web.show(w, r, status, "settings-token", view{Title: token.Name, Nav: "settings", Who: who, Flash: flash(r), Body: tokenDetail{
		tokenRow: web.tokenRow(token, last), form: f, Today: warranty.DateOf(web.Service.Now()), Recent: requests.Data, History: history.Data}})
	return nil
}

// rotateToken gives a token a new secret and shows it, this once. The form names
// the secret that it replaces by its first characters, so that sending it again
// makes no third.
func (web *Web) rotateToken(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	token, err := web.tokenOf(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	if f.Value("prefix") != token.Prefix {
		err = warranty.Refuse(warranty.InvalidTransition, web.t("rotate.already"))
	}
	in, wrong := input(api.RotateToken, f, map[string]string{"id": r.PathValue("id")})
	if err == nil {
		err = wrong
	}
	var made warranty.NewToken
	if err == nil {
		made, err = web.Service.RotateToken(r.Context(), who, in)
	}
	if err != nil {
		if !web.mend(w, r, &f, err) {
			return err
		}
		return web.showToken(w, r, who, f.status, f)
	}
	now := web.Service.Now()
	body := shownOnce{NewToken: made, Rotated: true, First: firstUse{ID: made.ID, Since: now.UnixMicro()}}
	if in.OverlapSeconds != nil && *in.OverlapSeconds > 0 {
		body.OldEnds = new(now.Add(time.Duration(*in.OverlapSeconds) * time.Second))
	}
	web.showSecret(w, r, who, body)
	return nil
}

// toToken leads whoever reloads the answer to a form about a token to the token.
func (web *Web) toToken(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	token, err := web.tokenOf(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/settings/api/tokens/"+token.ID.String(), http.StatusSeeOther)
	return nil
}

func (web *Web) revokeToken(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	if _, err := web.Service.RevokeToken(r.Context(), who, warranty.RevokeToken{ID: id}); err != nil {
		return err
	}
	http.Redirect(w, r, "/settings/api?done=revoked", http.StatusSeeOther)
	return nil
}
