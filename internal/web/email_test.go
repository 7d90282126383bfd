package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// lastMail keeps the last email.
type lastMail struct{ mail.Message }

func (l *lastMail) Send(_ context.Context, m mail.Message) error { l.Message = m; return nil }

// TestWebReminders chooses the days of the account and of a warranty, and which emails to get.
func TestWebReminders(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	b := w.SignedIn(t, olga)
	const path = "/settings/email"
	equal(t, "the days", b.Get(path).Value("days"), "30, 7")
	for typed, wrong := range map[string]string{
		"30, x": "Enter numbers of days, separated by commas, such as 30, 7, 1.", "0": "Each must be between 1 and 365 days.",
		"400, 3": "Each must be between 1 and 365 days.", "1,2,3,4,5,6": "Choose at most 5 different numbers of days.",
	} {
		again := b.Post(path, "account", olga.ID, "days", typed, "weekly", "true")
		again.Says(t, typed, 422)
		equal(t, "the error of "+typed, again.Error("days"), wrong)
		equal(t, "what was typed", again.Value("days"), typed)
		equal(t, "what was chosen", again.Checked("weekly"), []string{"true"})
	}
	b.Post(path, "account", olga.ID, "days", "3; 60 14 ,14", "weekly", "false").Leads(t, "the days", path+"?done=saved")
	saved := b.Get(path + "?done=saved")
	saved.Says(t, "the days", 200, "Saved.")
	equal(t, "the days", saved.Value("days"), "60, 14, 3")
	b.Post(path, "account", olga.ID, "days", "", "weekly", "false").Leads(t, "no days", path+"?done=saved")
	equal(t, "no days", b.Get(path).Value("days"), "")
	b.Post(path+"/choices", "account", olga.ID, "mail_warranty_end", "false", "mail_claims", "false", "mail_claims", "true").
		Leads(t, "the emails", path+"?done=saved")
	equal(t, "the emails", strings.Join(b.Get(path).Checked("mail_warranty_end"), "")+strings.Join(b.Get(path).Checked("mail_claims"), ""), "true")

	today := warranty.DateOf(w.Service.Now())
	record := "/warranties/" + w.Warranty(olga.Session, fields{"start_date": today.String(), "end_date": (today + 100).String()}).ID
	b.Get(record).Says(t, "the account's", 200, "No reminders.")
	again := b.Post(record+"/reminders", "account", olga.ID, "choice", "own", "days", "many")
	again.Says(t, "no number", 422, "<details open>")
	equal(t, "what was typed", again.Value("days"), "many")
	b.Post(record+"/reminders", "account", olga.ID, "choice", "own", "days", "50,5").Leads(t, "own days", record+"?done=saved")
	b.Get(record).Says(t, "own days", 200, "Days before the end: 50, 5.")
	b.Post(record+"/reminders", "account", olga.ID, "choice", "off", "days", "50,5").Leads(t, "off", record+"?done=saved")
	equal(t, "off", b.Get(record).Checked("choice"), []string{"off"})
	b.Post(path, "account", olga.ID, "days", "30", "weekly", "true").Leads(t, "weekly", path+"?done=saved")
	b.Post(record+"/reminders", "account", olga.ID, "choice", "account").Leads(t, "the account's", record+"?done=saved")
	b.Get(record).Says(t, "weekly", 200, "In the weekly email.")
}

// TestWebUnsubscribe follows the link of an email: looking changes nothing, a form without a cookie does at once,
// also from another site and with the cookie of someone else.
func TestWebUnsubscribe(t *testing.T) {
	w := webWorld(t)
	olga, eve := w.Verified("Olga"), w.Verified("Eve")
	today := warranty.DateOf(w.Service.Now())
	w.Warranty(olga.Session, fields{"start_date": "2020-01-01", "end_date": (today + 5).String()})
	box := &lastMail{}
	w.Service.Mail = box
	if err := w.Service.Remind(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Service.SendAllMail(t.Context()); err != nil {
		t.Fatal(err)
	}
	path, found := strings.CutPrefix(box.Unsubscribe, servertest.PublicURL)
	if !found || box.To != olga.Email {
		t.Fatalf("%+v", box.Message)
	}
	wants := func(p servertest.Person) int {
		return w.Count(`SELECT mail_choices & 1 FROM users WHERE email = '` + p.Email + `'`)
	}
	b := w.Browser(t)
	page := b.Get(path)
	page.Says(t, "the page", 200, "Stop these emails?", "Unsubscribe", "/settings/email")
	page.Hides(t, "the page", olga.Email, olga.Name)
	if got := page.Header.Get("Referrer-Policy"); got != "no-referrer" {
		t.Errorf("Referrer-Policy: %q", got)
	}
	equal(t, "after looking", wants(olga), 1)

	oneClick := url.Values{"List-Unsubscribe": {"One-Click"}}
	for what, send := range map[string]func() servertest.Page{
		"no cookie": func() servertest.Page { return w.Browser(t).Send("POST", path, oneClick) },
		"other site": func() servertest.Page {
			return w.Browser(t).Send("POST", path, oneClick, "Sec-Fetch-Site", "cross-site")
		},
		"other cookie": func() servertest.Page {
			return w.SignedIn(t, eve).Send("POST", path, oneClick, "Origin", "https://mail.example")
		},
		"multipart": func() servertest.Page {
			const body = "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n"
			return w.Browser(t).SendBody("POST", path, "multipart/form-data; boundary=b", strings.NewReader(body))
		},
	} {
		send().Says(t, what, 200, "You are unsubscribed", "Undo")
		equal(t, what, wants(olga), 0)
		equal(t, what+", others", wants(eve), 1)
		b.Get(path).Says(t, what+", again", 200, "You are unsubscribed")
		b.Post(path, "subscribe", "true").Says(t, "undo", 200, "You are subscribed again")
		equal(t, "undone", wants(olga), 1)
	}

	// Wrong tokens have one answer, and other forms still need the same site.
	unknown := []servertest.Page{}
	for _, token := range []string{"x", strings.Repeat("A", 66), path[len("/unsubscribe/"):] + "A", strings.ToUpper(path[len("/unsubscribe/"):])} {
		unknown = append(unknown, b.Get("/unsubscribe/"+token), b.Send("POST", "/unsubscribe/"+token, oneClick))
	}
	for _, p := range unknown {
		p.Says(t, "a wrong token", http.StatusNotFound, "Copy the whole address from the email")
	}
	equal(t, "after wrong tokens", wants(olga)+wants(eve), 2)
	w.SignedIn(t, eve).Send("POST", "/settings/email", url.Values{"days": {"1"}}, "Sec-Fetch-Site", "cross-site").
		Says(t, "another form of another site", http.StatusForbidden)
	if log := w.Log.String(); strings.Contains(log, path[len("/unsubscribe/"):]) {
		t.Error("the token is in the log")
	}
}
