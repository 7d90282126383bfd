package web_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// adminRoutes returns all routes of the admin page, with an id in place of {id}.
func adminRoutes(t *testing.T, id string) (gets, posts []string) {
	t.Helper()
	table, err := os.ReadFile("web.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`pattern: "(GET|POST) (/admin[^"]*)"`).FindAllStringSubmatch(string(table), -1) {
		if path := strings.ReplaceAll(m[2], "{id}", id); m[1] == "GET" {
			gets = append(gets, path)
		} else {
			posts = append(posts, path)
		}
	}
	if len(gets) < 6 || len(posts) < 5 {
		t.Fatalf("found only %v and %v", gets, posts)
	}
	return gets, posts
}

// operator returns an account with access to the admin page.
func operator(t *testing.T, w *world, name string) servertest.Person {
	t.Helper()
	p := w.Verified(name)
	if err := w.Service.SetAdmin(t.Context(), p.Email, true); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAdminIsForOperators opens every admin page and presses every button as anyone but an operator.
func TestAdminIsForOperators(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root, olga := operator(t, w, "Root"), w.Verified("Olga")
		admin := w.SignedIn(t, root)
		gets, posts := adminRoutes(t, olga.ID)
		secret, _ := w.Token(root)
		user := w.SignedIn(t, olga)
		unknown := user.Get("/nowhere")
		for _, path := range append(gets, posts...) {
			w.Unchanged(t, path, func() {
				got := user.Get(path)
				got.Says(t, "a user: "+path, 404, "Not found")
				sameButIDs(t, path, got.Body, unknown.Body)
				user.Post(path).Says(t, "a user posts to "+path, 404)
				for _, cookie := range []string{"", "__Host-svc_session=" + secret} {
					b := w.Browser(t)
					b.Cookie = cookie
					if got := b.Get(path); got.Status != 303 && got.Status != 404 || strings.Contains(got.Location, "/admin?") {
						t.Errorf("%s without a session returns %d", path, got.Status)
					}
					b.Post(path)
				}
				for _, header := range []string{"Authorization", "X-Api-Key"} {
					for _, credential := range []string{"Bearer " + secret, "Bearer " + root.Session, secret} {
						b := w.Browser(t)
						b.Send("POST", path, nil, header, credential, "Accept", "application/json")
						if got := b.Get(path, header, credential); got.Status == 200 {
							t.Errorf("%s accepts %s", path, header)
						}
					}
				}
			})
		}
		user.Get("/").Hides(t, "the navigation of a user", `href="/admin"`)
		admin.Get("/").Says(t, "the navigation of an operator", 200, `href="/admin"`)
		for _, path := range gets {
			admin.Get(path).Says(t, path, 200)
		}
		if err := w.Service.SetAdmin(t.Context(), root.Email, false); err != nil {
			t.Fatal(err)
		}
		for _, path := range gets {
			admin.Get(path).Says(t, path+" after revoking", 404)
		}
		for _, path := range posts {
			admin.Post(path).Says(t, path+" after revoking", 404)
		}
		admin.Get("/").Hides(t, "the navigation afterwards", `href="/admin"`)
	}, busy)
}

// sameButIDs compares two pages without their request ids.
func sameButIDs(t *testing.T, what, got, want string) {
	t.Helper()
	ids := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	if ids.ReplaceAllString(got, "") != ids.ReplaceAllString(want, "") {
		t.Errorf("%s differs from the page of an unknown address", what)
	}
}

// TestAdminDisablesAccounts disables and enables an account, and reads who did it.
func TestAdminDisablesAccounts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root, olga := operator(t, w, "Root"), w.Verified("Olga")
		admin, user := w.SignedIn(t, root), w.SignedIn(t, olga)
		secret, _ := w.Token(olga)
		page := "/admin/users/" + olga.ID
		admin.Get(page).Says(t, "the account", 200, "Disable account", secret[:10], "Active")
		admin.Get(page).Hides(t, "the account", secret)
		admin.Post(page+"/disable").Leads(t, "disabling", page+"?done=disabled")
		admin.Get(page+"?done=disabled").Says(t, "afterwards", 200, "Account disabled.", "Enable account", "Revoked",
			"<b><bdi>Root</bdi></b> disabled an account")
		user.Get("/warranties").Leads(t, "a page of the disabled account", "/sign-in?next=%2Fwarranties")
		w.Alive(t, "the token", secret, false)
		admin.Post(page+"/disable").Leads(t, "disabling again", page+"?done=disabled")
		admin.Post(page+"/enable").Leads(t, "enabling", page+"?done=enabled")
		w.SignedIn(t, olga)
		w.Alive(t, "the token after enabling", secret, false)
		history := admin.Get("/admin/history")
		history.Says(t, "the history", 200, "<b><bdi>Root</bdi></b> enabled an account", "<b><bdi>Root</bdi></b> disabled an account", olga.Email,
			"<b><bdi>Operator</bdi></b> granted access to the admin page", "admin page", "command on the server")
		equal(t, "disabling is recorded once", strings.Count(history.Body, "disabled an account"), 1)

		due, err := w.Service.DeleteUser(t.Context(), olga.Email)
		if err != nil {
			t.Fatal(err)
		}
		on := "rased on " + due.UTC().Format("2 Jan 2006")
		admin.Get("/admin/users").Says(t, "a deleted account", 200, "E"+on)
		admin.Get(page).Says(t, "the deleted account", 200, "E"+on, "are e"+on+". Enable it to keep it.")
		admin.Get("/admin/history").Says(t, "the history", 200, "<b><bdi>Operator</bdi></b> deleted an account")
		admin.Post(page+"/enable").Leads(t, "enabling a deleted account", page+"?done=enabled")
		admin.Get(page).Hides(t, "the account", "rased on "+due.UTC().Format("2 Jan 2006")+".")

		self := "/admin/users/" + root.ID
		admin.Get(self).Says(t, "the own account", 200, "This is your own account.")
		admin.Get(self).Hides(t, "the own account", "/disable")
		admin.Post(self+"/disable").Says(t, "disabling oneself", 403, "You cannot disable your own account.")
		admin.Get("/admin").Says(t, "afterwards", 200)
		admin.Post("/admin/users/"+unknownID+"/disable").Says(t, "an unknown account", 404)
	}, busy)
}

// TestAdminChangesNeedARecentSignIn makes changes with a session of yesterday.
func TestAdminChangesNeedARecentSignIn(t *testing.T) {
	w := webWorld(t, busy)
	root, olga := operator(t, w, "Root"), w.Verified("Olga")
	b := w.SignedIn(t, root)
	_, posts := adminRoutes(t, olga.ID)
	w.Clock.Advance(12*time.Hour + time.Minute)
	b.Get("/admin/users").Says(t, "reading", 200, olga.Email)
	for _, path := range posts {
		b := w.SignedIn(t, root)
		w.Clock.Advance(12*time.Hour + time.Minute)
		old := b.Cookie
		got := b.Post(path)
		if !strings.HasPrefix(got.Location, "/sign-in?done=sign_in_again&next=%2Fadmin%2F") || b.Cookie != "" {
			t.Errorf("%s leads to %q", path, got.Location)
		}
		b.Get(got.Location).Says(t, "the sign-in page", 200, "Sign in again to make changes.")
		b.Cookie = old
		b.Get("/admin").Leads(t, "the old session", "/sign-in?next=%2Fadmin")
	}
	w.SignedIn(t, olga) // not disabled
	w.SignedIn(t, root).Post("/admin/users/"+olga.ID+"/disable").Leads(t, "signed in again", "/admin/users/"+olga.ID+"?done=disabled")
}

// refusing is a mail server that refuses everything while it is down.
type refusing struct {
	down bool
	sent []mail.Message
}

func (r *refusing) Send(_ context.Context, m mail.Message) error {
	if r.down {
		return errors.New("mailbox <script>alert(1)</script> of code " + m.Code + " is full")
	}
	r.sent = append(r.sent, m)
	return nil
}

// TestAdminMails reads and retries emails, without their text.
func TestAdminMails(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root, olga := operator(t, w, "Root"), w.Verified("Olga")
		record := w.Warranty(olga.Session, nil)
		b := w.SignedIn(t, root) // which emails a notice
		if err := w.Service.SendAllMail(t.Context()); err != nil {
			t.Fatal(err)
		}
		box := &refusing{down: true}
		w.Service.Mail = box
		send := func() { t.Helper(); _ = w.Service.SendMail(t.Context()) } // which may fail
		w.Must(201, made("POST", "/api/warranties/"+record.ID+"/transfer", olga.Session, fields{"email": "new@people.example"}))
		w.Must(202, made("POST", "/api/auth/password-reset", "", fields{"email": olga.Email}))
		codes := w.Rows(`SELECT code FROM mails ORDER BY id`)
		equal(t, "emails", len(codes), 2)
		send()
		list := b.Get("/admin/mails")
		list.Says(t, "waiting", 200, "new@people.example", olga.Email, "2 waiting, 0 failed", "Reset your password",
			"mailbox &lt;script&gt;alert(1)&lt;/script&gt; of code (code) is full")
		for _, code := range codes {
			list.Hides(t, "waiting", strings.Trim(code, "'[] "))
		}
		for range 19 {
			w.Clock.Advance(2*time.Minute + time.Second)
			send()
		}
		b.Get("/admin/mails").Says(t, "nothing waits", 200, "0 waiting, 2 failed", "No emails are waiting.")
		failed := b.Get("/admin/mails?state=failed")
		failed.Says(t, "failed", 200, "new@people.example", olga.Email, ">20<", "Try now", "Give up")

		// The reset code expires; the transfer can still be accepted.
		w.Clock.Advance(time.Hour)
		b.Post("/confirm", "password", root.Password, "next", "/admin/mails").Leads(t, "confirming", "/admin/mails")
		failed = b.Get("/admin/mails?state=failed")
		failed.Says(t, "an hour later", 200, "The code in it has expired.")
		ids := regexp.MustCompile(`/admin/mails/([0-9a-f-]{36})/give-up`).FindAllStringSubmatch(failed.Body, -1)
		if len(ids) != 2 {
			t.Fatalf("found %d emails", len(ids))
		}
		reset, offer := ids[0][1], ids[1][1] // newest first
		b.Post("/admin/mails/"+reset+"/retry").Says(t, "an expired code", 409, "The code in this email has expired")
		if err := w.Store.Sweep(t.Context(), w.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		equal(t, "texts of expired codes", w.Count(`SELECT count(*) FROM mails WHERE code <> '' OR body <> ''`), 1)
		box.down = false
		b.Post("/admin/mails/retry").Leads(t, "try all", "/admin/mails?done=mails_retried")
		b.Post("/admin/mails/"+offer+"/retry").Leads(t, "try one", "/admin/mails?done=mail_retried")
		send()
		equal(t, "emails that were sent", len(box.sent), 1)
		equal(t, "its recipient", box.sent[0].To, "new@people.example")
		b.Post("/admin/mails/"+offer+"/retry").Leads(t, "a sent email", "/admin/mails?done=mail_gone")
		b.Post("/admin/mails/retry").Leads(t, "nothing to try", "/admin/mails?done=mails_none")
		b.Post("/admin/mails/"+reset+"/give-up").Leads(t, "give up", "/admin/mails?done=mail_given_up")
		equal(t, "emails", w.Count(`SELECT count(*) FROM mails`), 0)
		b.Get("/admin/history").Says(t, "the history", 200, "<b><bdi>Root</bdi></b> gave up on an email", "recipient: o…@people.example",
			"emails: 1", "recipient: n…@people.example")
	}, busy)
}

// TestAdminMailBeingSent presses the buttons of an email while it is being sent.
func TestAdminMailBeingSent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root := operator(t, w, "Root")
		b := w.SignedIn(t, root) // which emails a notice
		if err := w.Service.SendAllMail(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Must(202, made("POST", "/api/auth/password-reset", "", fields{"email": root.Email}))
		sent := 0
		w.Service.Mail = sender(func(m mail.Message) error {
			sent++
			b.Get("/admin/mails").Says(t, "meanwhile", 200, "Being sent")
			for _, button := range []string{"/retry", "/give-up"} {
				b.Post("/admin/mails/"+m.ID+button).Says(t, button, 409, "This email is being sent right now.")
			}
			b.Post("/admin/mails/retry").Leads(t, "try all", "/admin/mails?done=mails_none")
			return w.Service.SendMail(t.Context()) // by another worker
		})
		if err := w.Service.SendMail(t.Context()); err != nil {
			t.Error(err)
		}
		equal(t, "times that it was sent", sent, 1)
	}, busy)
}

type sender func(mail.Message) error

func (s sender) Send(_ context.Context, m mail.Message) error { return s(m) }

// TestAdminErrors lets pages fail and finds the errors by request id.
func TestAdminErrors(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root := operator(t, w, "Root")
		b := w.SignedIn(t, root)
		w.Service.Random = iotest.ErrReader(errors.New("no <b>route</b> to smtp://user:hunter2@mail.example"))
		failed := b.Send("POST", "/sign-in/codes", map[string][]string{"email": {"a@people.example"}},
			"Sec-Fetch-Site", "same-origin", "X-Request-Id", "find-me-4711")
		failed.Says(t, "a failing page", 500)
		w.Do(made("POST", "/api/auth/codes", "", fields{"email": "a@people.example"}, "X-Request-Id", "find-me-4712"))
		// An error is recorded after the response, which the browser may have read before.
		testenv.Wait(t, "both errors are recorded", func() bool {
			if err := w.Service.FlushUsage(t.Context()); err != nil {
				t.Fatal(err)
			}
			page := b.Get("/admin/errors").Body
			return strings.Contains(page, "find-me-4711") && strings.Contains(page, "find-me-4712")
		})
		b.Get("/admin/errors").Says(t, "all errors", 200, "find-me-4711", "find-me-4712", "POST /sign-in/codes",
			"POST /api/auth/codes", ">500<", "no &lt;b&gt;route&lt;/b&gt; to smtp://(secret)@mail.example")
		one := b.Get("/admin/errors?request_id=+find-me-4711+")
		one.Says(t, "one request", 200, "find-me-4711", "/sign-in/codes")
		one.Hides(t, "one request", "find-me-4712")
		b.Get("/admin/errors?request_id=other").Says(t, "an unknown request", 200, "No error with this request ID")
		b.Get("/admin").Says(t, "the figures", 200, "Errors in 24 hours")
	}, busy)
}

// TestAdminUsers searches and sorts accounts with names that are markup.
func TestAdminUsers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root := operator(t, w, "Root")
		for i, name := range []string{`<script>alert(1)</script>`, `Émile "Zola"`, "Ada"} {
			w.Must(201, made("POST", "/api/auth/register", "", fields{
				"name": name, "email": fmt.Sprintf("p%d@%c.example", i, 'c'-i), "password": servertest.Password}))
		}
		b := w.SignedIn(t, root)
		all := b.Get("/admin/users?sort=email")
		all.Says(t, "all", 200, "4 accounts", "&lt;script&gt;alert(1)&lt;/script&gt;", "Operator", "not verified")
		inOrder(t, all.Body, "p0@c.example", "p1@b.example", "p2@a.example", root.Email)
		inOrder(t, b.Get("/admin/users").Body, "p2@a.example", "p1@b.example", "p0@c.example", root.Email)
		inOrder(t, b.Get("/admin/users?sort=last_sign_in").Body, root.Email, "p2@a.example", "p1@b.example", "p0@c.example")
		for query, want := range map[string]string{
			"q=emile": "p1@b.example", "q=%C3%89MILE": "p1@b.example", "q=A.EXAMPLE": "p2@a.example", "q=script": "p0@c.example",
			"q=" + root.ID: root.Email, "state=admin": root.Email,
		} {
			found := b.Get("/admin/users?" + query)
			found.Says(t, query, 200, "1 account", want)
		}
		b.Get("/admin/users?state=unverified").Says(t, "unverified", 200, "3 accounts")
		b.Get("/admin/users?state=disabled&q=%00%25").Says(t, "none", 200, "0 accounts", "No accounts found")
		b.Get("/admin/users?state=nonsense&sort=password_hash&page=-1").Says(t, "unknown values", 200, "4 accounts")
		b.Get("/admin/users?page=1000000").Says(t, "a page past the end", 200, "4 accounts")
		b.Get("/admin/users/"+unknownID).Says(t, "an unknown account", 404)
		b.Get("/admin/users/x").Says(t, "no id", 404)
	}, busy)
}

// inOrder checks that texts appear in this order.
func inOrder(t *testing.T, body string, texts ...string) {
	t.Helper()
	at := 0
	for _, text := range texts {
		next := strings.Index(body[at:], text)
		if next < 0 {
			t.Errorf("%s is not after the others", text)
			return
		}
		at += next
	}
}

// TestAdminHealth shows the figures and the end of the certificate.
func TestAdminHealth(t *testing.T) {
	var expires time.Time
	option := func(s *server.Server) { s.CertificateExpires = func() time.Time { return expires } }
	each(t, func(t *testing.T, w *world) {
		b := w.SignedIn(t, operator(t, w, "Root"))
		olga := w.Verified("Olga")
		for range 3 {
			w.Warranty(olga.Session, nil)
		}
		record := w.Warranty(olga.Session, servertest.Fields{"serial_number": "A-1"})
		w.Upload(olga.Session, servertest.DocumentForm(record.ID, "a.txt", "A receipt, in plain text.")...)
		page := b.Get("/admin")
		page.Says(t, "without TLS", 200, "This server speaks plain HTTP")
		for name, want := range map[string]string{"Accounts": "2", "Warranties": "4", "Documents": "1", "Waiting emails": "0"} {
			figure := regexp.MustCompile(`<dt>` + name + `</dt>\s*<dd>\s*<b class="num">([^<]*)</b>`).FindStringSubmatch(page.Body)
			if len(figure) != 2 || figure[1] != want {
				t.Errorf("%s: %q, want %s", name, figure, want)
			}
		}
	})
	w := servertest.New(t, servertest.SQLite(t), option)
	b := w.SignedIn(t, operator(t, w, "Root"))
	for _, c := range []struct {
		left time.Duration
		want string
	}{
		{60 * 24 * time.Hour, `<span class="pill active">OK</span>\s*Valid until`},
		{13 * 24 * time.Hour, `<span class="pill expiring">Check</span>\s*Valid until`},
		{-time.Minute, `<span class="pill expired">Failing</span>\s*Valid until`},
		{0, `<span class="pill expired">Failing</span>\s*There is no certificate yet`},
	} {
		if expires = (time.Time{}); c.left != 0 {
			expires = time.Now().Add(c.left)
		}
		if page := b.Get("/admin"); !regexp.MustCompile(c.want).MatchString(page.Body) {
			t.Errorf("%v: no %s in %s", c.left, c.want, page.Main())
		}
	}
}

// TestAdminShowsBackupsAndJobs: the page says how old the last good backup is, "never" too, why a later one failed, and
// that a job makes no progress.
func TestAdminShowsBackupsAndJobs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.SignedIn(t, operator(t, w, "Root"))
		ctx, now := context.Background(), w.Clock.Now()
		says := func(want string) {
			t.Helper()
			if page := b.Get("/admin"); !regexp.MustCompile(want).MatchString(page.Body) {
				t.Errorf("no %s in %s", want, page.Main())
			}
		}
		record := func(s store.BackupStatus) {
			t.Helper()
			if err := w.Store.RecordBackup(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		says(`<span class="pill expiring">Check</span>\s*This database has never been backed up`)
		says(`<span class="pill active">OK</span>\s*0 waiting, 0 running, 0 failed in 30 days`)
		record(store.BackupStatus{LastSuccess: now.Add(-49 * time.Hour), Duration: 3 * time.Second, Bytes: 2048, Place: "s3://b/x.tar"})
		says(`<span class="pill expiring">Check</span>\s*Last backup 2 days ago: 2 KiB, took 3 s, s3://b/x.tar`)
		record(store.BackupStatus{LastSuccess: now.Add(-2 * time.Hour), Bytes: 2048, Place: "/b/x.tar"})
		says(`<span class="pill active">OK</span>\s*Last backup 2 h ago`)
		if err := w.Store.RecordBackupFailure(ctx, "the disk <is> full", now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		says(`<span class="pill expired">Failing</span>\s*Last backup 2 h ago.* The last attempt failed 1 h ago: the disk &lt;is&gt; full`)
		record(store.BackupStatus{LastSuccess: now, LostFiles: 4})
		says(`<span class="pill expiring">Check</span>\s*Last backup just now.* missing or damaged: 4`)
		err := w.Store.Write(ctx, func(tx *store.Tx) error {
			return tx.InsertJob(warranty.Job{ID: w.Service.NewID(), Kind: "x", State: warranty.JobRunning, CreatedAt: now.Add(-time.Hour)})
		})
		if err != nil {
			t.Fatal(err)
		}
		says(`<span class="pill expired">Failing</span>\s*1 waiting, 0 running, 0 failed in 30 days. The oldest last made progress 1 h ago`)
	})
}

// TestAdminShowsAnotherAddress: the page says that people use another address than the public URL. Finding O6.
func TestAdminShowsAnotherAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.SignedIn(t, operator(t, w, "Root"))
		says := func(want string) {
			t.Helper()
			if page := b.Get("/admin"); !regexp.MustCompile(want).MatchString(page.Body) {
				t.Errorf("no %s in %s", want, page.Main())
			}
		}
		says(`<span class="pill active">OK</span>\s*https://warranty.example.com\s`)
		w.Service.RecordOtherAddress("http://warranty.example.com")
		if err := w.Service.FlushUsage(context.Background()); err != nil {
			t.Fatal(err)
		}
		says(`<span class="pill expiring">Check</span>\s*https://warranty.example.com, but people use http://warranty.example.com`)
	})
}
