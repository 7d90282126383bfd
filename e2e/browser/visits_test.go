//go:build browser

package browser

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// visit is a page to check, as a user.
type visit struct {
	number int // its place in the list of all
	who    string
	path   string
	by     func(t testing.TB, b *tab) int // opens the page, if it has no address
	status int                            // the expected status, if it is not 200
}

func (v visit) String() string {
	return strings.Trim(strings.TrimSuffix(v.who, ".example")+v.path, "/")
}

// The users who visit pages, besides those of the demo.
const (
	stranger = ""         // not signed in
	newcomer = "newcomer" // has an account and nothing else
	tinkerer = "tinkerer" // has a record, and sends invalid forms
	operator = "operator" // has access to the admin page
	keeper   = "keeper"   // acts for an organization as its admin
	watcher  = "watcher"  // acts for the same organization as a viewer
	customer = "customer" // took a warranty that a shop issued
)

// company returns the users with their tabs, and the pages to visit. Tests share them and open their
// own tabs.
func (s *site) company(t testing.TB) (map[string]*tab, []visit) {
	t.Helper()
	s.gather.Do(func() {
		people := map[string]*tab{}
		for _, who := range []string{stranger, nora, halden, newcomer, tinkerer, operator, keeper, watcher, customer} {
			people[who] = s.newTab(t, s.browser, chromedp.WithNewBrowserContext())
			switch who {
			case stranger:
			case newcomer, tinkerer, operator, keeper, watcher, customer:
				email := s.account(t, who)
				switch who {
				case operator:
					s.appoint(t, email)
					s.trouble(t, "connection refused")
				case keeper, watcher, customer:
					s.confirm(t, email)
				}
				people[who].signIn(t, email, lab.Password)
				switch who {
				case keeper:
					people[who].found(t, "Halden Electronics")
					people[who].invite(t, "till-2@halden.example", "member")
					people[who].product(t)
					people[who].sell(t, "T64-0001")
					people[who].mustOpen(t, "/issue")
					people[who].fill(t, "#serial_number", "T64-0002", "#customer_email", "kim@people.example")
					people[who].press(t, "Issue warranty")
					people[who].mustOpen(t, "/settings/domains")
					people[who].fill(t, "#domain", "halden-service.example")
					people[who].press(t, "Add domain")
				case watcher:
					people[who].joins(t, people[keeper], email, "viewer")
				}
			default:
				people[who].signIn(t, who, s.passwords[who])
			}
		}
		s.pages = append(visits(t, people), s.takeVisits(t, people[customer])...)
		s.people = people
	})
	if s.people == nil {
		t.Fatal("signing in failed in an earlier test")
	}
	return s.people, s.pages
}

// eachVisit visits the pages of all users in parallel, and the pages of each user in order, because
// some visits depend on earlier ones.
func (s *site) eachVisit(t *testing.T, all []visit, open func(*tab, testing.TB) *tab, look func(t *testing.T, b *tab, v visit)) {
	t.Helper()
	people, _ := s.company(t)
	lanes := map[string][]visit{}
	for i, v := range all {
		v.number = i
		lane := v.who
		if lane == nora && i%2 == 0 {
			lane += " in a second tab" // she has the most pages
		}
		lanes[lane] = append(lanes[lane], v)
	}
	var wg sync.WaitGroup
	for _, lane := range lanes {
		wg.Go(func() {
			b := open(people[lane[0].who], t)
			for _, v := range lane {
				t.Run(v.String(), func(t *testing.T) { look(t, b, v) })
			}
		})
	}
	wg.Wait()
}

// mustVisit opens a page, and fails if its status is not the expected one or its console has errors.
func (b *tab) mustVisit(t testing.TB, v visit) {
	t.Helper()
	open := v.by
	if open == nil {
		open = func(t testing.TB, b *tab) int { return b.open(t, v.path) }
	}
	if status := open(t, b); status != cmp.Or(v.status, http.StatusOK) {
		t.Fatalf("got %d\n%s", status, b.describe())
	}
	b.mustBeQuiet(t, v.status)
}

// account registers a new user and returns the email address.
func (s *site) account(t testing.TB, name string) string {
	t.Helper()
	name = fmt.Sprint(name, time.Now().UnixNano())
	s.Register(t, name)
	return name + "@people.example"
}

// visits returns all pages: every address, records in every status, responses to forms, and invalid
// forms.
func visits(t testing.TB, people map[string]*tab) []visit {
	t.Helper()
	var all []visit
	add := func(who string, paths ...string) {
		for _, path := range paths {
			all = append(all, visit{who: who, path: path})
		}
	}
	first := func(who, list, selector string) string {
		t.Helper()
		b := people[who]
		b.mustOpen(t, list)
		links := b.links(t, selector)
		if len(links) == 0 {
			t.Fatalf("%s has no link %s\n%s", list, selector, b.describe())
		}
		return links[0]
	}

	add(stranger, "/sign-in", "/sign-in/code", "/register", "/reset-password", "/reset-password/confirm?done=mailed",
		"/verify", "/help", "/docs", "/docs/warranties", "/docs/errors", "/offline", "/sign-in?done=password", "/stop-conversion/0000-0000-0000-0000-0000",
		"/not-me/0000-0000-0000-0000-0000")
	all = append(all,
		visit{who: stranger, path: "/nowhere", status: http.StatusNotFound},
		visit{who: stranger, path: "/docs/nowhere", status: http.StatusNotFound},
		visit{who: nora, path: "/nowhere", status: http.StatusNotFound},
		visit{who: stranger, path: "/verify/WR-0000-0000-0000-0000", status: http.StatusNotFound},
		visit{who: stranger, path: "/unsubscribe/unknown", status: http.StatusNotFound},
		visit{who: stranger, path: "/oauth/authorize", status: http.StatusBadRequest},
		visit{who: stranger, path: "/verify?reference=WR-1234", status: http.StatusUnprocessableEntity})

	add(nora, "/", "/warranties", "/warranties?q=nothing+like+it", "/warranties/new", "/warranties/import",
		"/warranties/import/samples", "/claims", "/claims/new", "/documents", "/documents?q=nothing+like+it", "/documents/new", "/documents/versions",
		"/take", "/settings/api", "/settings/api/new", "/settings/api/requests", "/settings/profile", "/settings/security", "/settings/security/address", "/settings/security/address?code",
		"/settings/profile/delete",
		"/settings/calendar", "/settings/replies", "/settings/email", "/shortcuts", "/help", "/handed-over", "/settings/apps",
		consent("http://127.0.0.1"))
	const away = "https://atlas-assistant.example/callback"
	app := people[nora].site.Want(t, 201, lab.Call{Method: "POST", Path: "/oauth/register",
		Body: map[string]any{"client_name": "Atlas", "redirect_uris": []string{away}}}).Must(t, "client_id")
	all = append(all, visit{who: nora, path: "/oauth/authorize?client_id=" + app + "&redirect_uri=" + url.QueryEscape(away),
		status: http.StatusBadRequest})
	const (
		record = `td a[href^="/warranties/"]`
		claim  = `td a[href^="/claims/"]`
		token  = `td a[href^="/settings/api/tokens/"]`
	)
	for _, status := range []string{"active", "ending", "upcoming", "expired", "void", "cancelled"} {
		path := first(nora, "/warranties?status="+status, record)
		verify := first(nora, path, `a[href^="/verify/"]`)
		add(nora, path)
		add(stranger, verify)
		if status == "active" {
			add(nora, path+"/edit", path+"?done=updated")
			add(stranger, verify+"?serial=wrong")
		}
	}
	for _, status := range []string{"submitted", "under_review", "approved", "rejected", "resolved"} {
		add(halden, first(halden, "/claims?status="+status, claim))
	}
	add(nora, first(nora, "/claims", claim), first(nora, "/documents", `td a[href^="/documents/"]`))
	add(halden, "/", "/confirmations", first(halden, "/warranties", record))
	tokenPath := first(nora, "/settings/api", token)
	add(nora, tokenPath, tokenPath+"/first")

	add(newcomer, "/", "/warranties", "/claims", "/claims/new", "/documents", "/documents/new", "/settings/api",
		"/settings/api/requests", "/settings/profile", "/settings/calendar", "/verify-email")
	organization := []string{"/", "/settings/organization", "/settings/members", "/settings/addresses", "/settings/domains", "/settings/brand", "/settings/api",
		"/settings/calendar", "/settings/email", "/settings/printed-codes"}
	add(keeper, organization...)
	add(keeper, "/settings/members/invite", first(keeper, "/settings/members", `td a[href^="/settings/members/"]`),
		"/settings/addresses?code", "/settings/organizations", "/settings/organizations/new", "/settings/profile",
		"/settings/convert", "/settings/convert?code", "/invitations/accept")
	sold := first(keeper, "/warranties", record)
	add(keeper, sold+"/edit", sold+"/certificate")
	buyer := first(keeper, "/customers", `td a[href^="/customers/"]`)
	add(keeper, "/customers", "/customers?q=nothing+like+it", "/customers/new", buyer, buyer+"/edit", buyer+"/merge")
	add(watcher, "/customers", buyer)
	add(keeper, "/search", "/search?q=kim")
	pasted(mistakenSheet, true)(t, people[keeper])
	job := people[keeper].path(t)
	people[keeper].until(t, `document.querySelector("#job")?.getAttribute("aria-busy") === null`)
	add(keeper, job)
	add(keeper, "/issue?product=", "/issue?product=typed", first(keeper, "/products", `a[href^="/issue?product="]`), "/products", "/products/new", "/products/import",
		first(keeper, "/products", `td a[href^="/products/"]`), sold, sold+"/handover")
	add(keeper, consent("http://127.0.0.1"))
	add(newcomer, "/issue", "/labels", "/trash", "/jobs", "/settings/apps")
	add(keeper, "/labels?reference=WR-0000-0000-0000-0000")
	add(watcher, "/products")
	add(watcher, organization...)
	add(watcher, "/warranties", "/claims", "/documents")
	all = append(all,
		visit{who: keeper, path: "/nowhere", status: http.StatusNotFound},
		visit{who: watcher, path: "/warranties/new", status: http.StatusForbidden})
	add(operator, adminPages...)
	add(operator, first(operator, "/admin/users?q=operator", `td a[href^="/admin/users/"]`),
		first(operator, "/admin/users?q=newcomer", `td a[href^="/admin/users/"]`))
	return append(all, byForms()...)
}

// consent returns the address to which svc sends the browser. The answer goes to a host.
func consent(host string) string {
	return "/oauth/authorize?response_type=code&client_id=svc&code_challenge_method=S256" +
		"&code_challenge=E9Melhoa2OwvFrEMTJguCM3DMQzSIvN8cSiRiJPbBUs&redirect_uri=" + url.QueryEscape(host+"/callback")
}

// byForms returns the pages that are responses to forms.
func byForms() []visit {
	generate := func(name string) func(t testing.TB, b *tab) int {
		return func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/settings/api/new")
			b.fill(t, `input[name="name"]`, name)
			return b.press(t, "Generate token")
		}
	}
	// Later visits of a user depend on earlier ones.
	return []visit{
		{who: stranger, path: "/sign-in, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/sign-in")
			b.fill(t, "#email", nora, "#password", "not this one")
			return b.press(t, "Sign in")
		}},
		{who: stranger, path: "/register, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/register")
			b.fill(t, "#name", "Ada", "#email", "ada@people.example", "#password", "password")
			return b.press(t, "Create account")
		}},
		{who: tinkerer, path: "/warranties, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.openNew(t)
			b.fill(t, "#product_name", "Kettle", "#start_date", "2024-01-01", "#end_date", "2023-01-01")
			return b.press(t, "Save warranty")
		}},
		{who: tinkerer, path: "/warranties, created", by: createKettle},
		{who: tinkerer, path: "/warranties/import, unclear", status: 422, by: pasted("What,Bought\nKettle,2024-01-01\n", false)},
		{who: tinkerer, path: "/warranties/import, without column names", status: 422, by: pasted("Kettle,2024-01-01,24\n", false)},
		{who: tinkerer, path: "/warranties/import, mistaken", by: pasted(mistakenSheet, false)},
		{who: tinkerer, path: "/warranties/import, imported", by: pasted(mistakenSheet, true)},
		{who: tinkerer, path: "/claims, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/claims/new")
			b.fill(t, "#incident_date", "2001-01-01", "#description", "It leaks.")
			return b.press(t, "File claim")
		}},
		{who: tinkerer, path: "/documents, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/documents/new")
			program := filepath.Join(t.TempDir(), "program.pdf")
			if err := os.WriteFile(program, []byte("\x7fELF\x02\x01\x01"), 0o600); err != nil {
				t.Fatal(err)
			}
			b.fill(t, "#file", program)
			b.do(t, chromedp.Click(chromedp.CSS(`main form .btn.primary`)))
			b.until(t, `!!document.querySelector("main form .wrong")`) // the script replaces the form
			return http.StatusUnprocessableEntity
		}},
		{who: tinkerer, path: "/documents/versions, replaced", by: func(t testing.TB, b *tab) int {
			b.openNew(t)
			b.fill(t, "#product_name", "Kettle", "#start_date", "2024-01-01", "#end_date", "2099-12-31", "[name=file]", photo(t, "plate.png", 90))
			b.press(t, "Save warranty")
			b.click(t, `a.doc`)
			eval[bool](t, b, `(document.querySelector("#file").closest("details").open = true)`)
			b.fill(t, "#file", photo(t, "plate-2.png", 91))
			b.press(t, "Replace file")
			return b.open(t, "/documents/versions")
		}},
		{who: tinkerer, path: "/transfers, offered", by: func(t testing.TB, b *tab) int {
			createKettle(t, b)
			return b.offer(t, "someone@people.example")
		}},
		{who: tinkerer, path: "/take, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/take")
			b.fill(t, "#code", "ABCD-EFGH")
			return b.press(t, "Continue")
		}},
		{who: tinkerer, path: "/settings/api, generated", by: generate("Nightly")},
		{who: tinkerer, path: "/settings/api, mistaken", status: 422, by: generate("Nightly")},
		{who: tinkerer, path: "/settings/api, rotated", by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/settings/api")
			b.click(t, `td a[href^="/settings/api/tokens/"]`)
			return b.press(t, "Rotate")
		}},
		{who: tinkerer, path: "/settings/email, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/settings/email")
			b.fill(t, "#days", "30, x")
			return b.click(t, `form[action="/settings/email"] button`)
		}},
		{who: tinkerer, path: "/settings/security, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/settings/security")
			b.fill(t, "#current_password", "not this one", "#new_password", "another long password")
			return b.press(t, "Change password")
		}},
		{who: keeper, path: "/oauth/authorize, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, consent("http://127.0.0.1"))
			b.fill(t, `[value="warranties:read"]`, "false", `[value="claims:read"]`, "false", `[value="documents:read"]`, "false")
			return b.press(t, "Allow")
		}},
		// The answer goes to this site itself, which has no such page.
		{who: keeper, path: "/oauth/authorize, allowed", status: 404, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, consent(b.site.URL))
			status := b.press(t, "Allow")
			if to := eval[string](t, b, "location.href"); !strings.HasPrefix(to, b.site.URL+"/callback?code=svg_") {
				t.Errorf("the answer goes to %s", to)
			}
			return status
		}},
		{who: keeper, path: "/settings/apps, connected", by: func(t testing.TB, b *tab) int { return b.open(t, "/settings/apps") }},
		{who: keeper, path: "/issue, issued", by: func(t testing.TB, b *tab) int { return b.sell(t, fmt.Sprint("T64-", time.Now().UnixNano())) }},
		{who: keeper, path: "/issue, before", status: 409, by: func(t testing.TB, b *tab) int { return b.sell(t, "T64-0001") }},
		{who: keeper, path: "/warranties/bulk, void", by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/warranties")
			b.do(t, chromedp.Click(chromedp.CSS("tbody tr:first-child [name=id]")), chromedp.Click(chromedp.CSS(".bulk .rest > summary")))
			return b.press(t, "Void")
		}},
		{who: keeper, path: "/warranties/bulk, delete", by: func(t testing.TB, b *tab) int {
			b.sell(t, fmt.Sprint("T64-", time.Now().UnixNano()))
			b.mustOpen(t, "/warranties")
			b.do(t, chromedp.Click(chromedp.CSS("tbody tr:first-child [name=id]")), chromedp.Click(chromedp.CSS(".bulk .rest > summary")))
			b.press(t, "Delete")
			return b.press(t, "Delete")
		}},
		{who: keeper, path: "/trash, with a record", by: func(t testing.TB, b *tab) int { return b.open(t, "/trash") }},
		{who: keeper, path: "/labels, printed", by: func(t testing.TB, b *tab) int { return b.label(t, "inside") }},
		{who: keeper, path: "/labels, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/labels?reference=WR-1")
			return b.press(t, "Preview")
		}},
		{who: keeper, path: "/issue, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/issue?product=typed")
			b.fill(t, "#product_name", "Lamp", "#customer_email", "kim@people")
			return b.press(t, "Issue warranty")
		}},
		{who: keeper, path: "/warranties, of another account", status: 412, by: func(t testing.TB, b *tab) int {
			b.openNew(t)
			b.fill(t, "#product_name", "Kettle", "#start_date", "2024-01-01", "#end_date", "2099-12-31")
			eval[chromedp.Void](t, b, `document.querySelector("main [name=account]").value = ""`)
			return b.press(t, "Save warranty")
		}},
		{who: keeper, path: "/warranties, of a lost account", status: 412, by: func(t testing.TB, b *tab) int {
			b.openNew(t)
			b.fill(t, "#product_name", "Kettle", "#start_date", "2024-01-01", "#end_date", "2099-12-31")
			eval[chromedp.Void](t, b, `document.querySelector("main [name=account]").value = "gone"`)
			return b.press(t, "Save warranty")
		}},
		{who: keeper, path: "/settings/organization/delete, mistaken", status: 422, by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/settings/organization")
			eval[chromedp.Void](t, b, `document.querySelector("#typed_name").closest("details").open = true`)
			b.fill(t, "#typed_name", "Halden")
			return b.click(t, `form[action="/settings/organization/delete"] button`)
		}},
		{who: tinkerer, path: "/settings/calendar, made", by: func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/settings/calendar")
			return b.press(t, "Create address")
		}},
	}
}

// openNew opens the form of a new warranty with all of its fields.
func (b *tab) openNew(t testing.TB) {
	b.mustOpen(t, "/warranties/new")
	b.showAllFields(t)
}

// showAllFields shows the fields of a new warranty that are folded at first.
func (b *tab) showAllFields(t testing.TB) {
	b.fill(t, `[name=length][value=date]`, "true")
	b.do(t, chromedp.Click(chromedp.CSS(`main details > summary`)))
}

// createKettle creates a warranty.
func createKettle(t testing.TB, b *tab) int {
	b.openNew(t)
	b.fill(t, "#product_name", "Kettle", "#start_date", "2024-01-01", "#end_date", "2099-12-31")
	return b.press(t, "Save warranty")
}

// offer offers a transfer of the warranty on the page.
func (b *tab) offer(t testing.TB, email string) int {
	t.Helper()
	eval[bool](t, b, `(document.querySelector("#transfer-email").closest("details").open = true)`)
	b.fill(t, "#transfer-email", email)
	return b.press(t, "Offer transfer")
}

// notPages are addresses that return a file or redirect.
var notPages = map[string]bool{
	"GET /setup":                           true, // only before the first account
	"GET /claims/{id}/news":                true,
	"GET /customers/suggest":               true,
	"GET /.well-known/change-password":     true,
	"GET /calendar/{file}":                 true,
	"GET /documents/{id}/file":             true,
	"GET /documents/{id}/view":             true,
	"GET /documents/{id}/thumbnail":        true,
	"GET /jobs/{id}/file":                  true,
	"GET /jobs/{id}/not-imported.csv":      true,
	"GET /settings":                        true,
	"GET /settings/api/tokens":             true,
	"GET /settings/api/tokens/{id}/rotate": true,
	"GET /customers/export.csv":            true,
	"GET /warranties/export.csv":           true,
	"GET /warranties/{id}/certificate.pdf": true,
	"GET /warranties/import/template.csv":  true,
}

// mustLeaveNothingOut checks that every route is visited.
func mustLeaveNothingOut(t *testing.T, all []visit) {
	t.Helper()
	table, err := os.ReadFile("../../internal/web/web.go")
	if err != nil {
		t.Fatal(err)
	}
	mux, visited := http.NewServeMux(), map[string]bool{}
	for _, m := range regexp.MustCompile(`pattern: "(GET /[^"]*)"`).FindAllStringSubmatch(string(table), -1) {
		mux.HandleFunc(m[1], http.NotFound)
		visited[m[1]] = notPages[m[1]]
	}
	if len(visited) < 30 {
		t.Fatalf("found only %d routes", len(visited))
	}
	for _, v := range all {
		request, err := http.NewRequest(http.MethodGet, v.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, pattern := mux.Handler(request); v.by == nil {
			visited[pattern] = true
		}
	}
	for pattern, ok := range visited {
		if !ok {
			t.Errorf("no visit to %s", pattern)
		}
	}
}
