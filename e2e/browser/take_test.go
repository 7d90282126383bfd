//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// shopFront is an organization that issues warranties over the API.
type shopFront struct {
	*site
	email, session, id string
}

// front creates an organization. The operator verifies the domain, if there is one.
func (s *site) front(t testing.TB, name, domain string) shopFront {
	t.Helper()
	email := s.account(t, "shopkeeper")
	s.confirm(t, email)
	f := shopFront{site: s, email: email, session: s.session(t, email, lab.Password)}
	f.id = s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/organizations", Secret: f.session,
		Body: map[string]string{"name": name}}).Must(t, "data.id")
	if domain != "" {
		out, err := exec.Command(lab.Svcd(), "organization", "verify", f.id, domain, "--data="+filepath.Join(s.Dir, "data")).CombinedOutput()
		if err != nil {
			t.Fatalf("organization verify: %v\n%s", err, out)
		}
	}
	return f
}

// session signs in over the API.
func (s *site) session(t testing.TB, email, password string) string {
	t.Helper()
	return s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions",
		Body: map[string]string{"email": email, "password": password}}).Must(t, "data.access_token")
}

// as sends a request for the organization.
func (f shopFront) as(t testing.TB, status int, method, path string, body any) lab.Answer {
	t.Helper()
	return f.Want(t, status, lab.Call{Method: method, Path: path, Secret: f.session, Body: body, Header: map[string]string{"X-Account": f.id}})
}

// issues creates a warranty and returns its id and reference number. Fields override the default ones.
func (f shopFront) issues(t testing.TB, over map[string]string) (id, reference string) {
	t.Helper()
	body := map[string]string{"product_name": "Tessel induction hob T64", "category": "Appliances", "serial_number": "TSL-64-Q8AY",
		"start_date": today(0), "end_date": today(729)}
	for name, value := range over {
		body[name] = value
	}
	made := f.as(t, 201, "POST", "/api/v1/warranties", body)
	return made.Must(t, "data.id"), made.Must(t, "data.reference_number")
}

// issuesMany creates warranties with long names and returns their reference numbers.
func (f shopFront) issuesMany(t testing.TB, n int) (references []string) {
	t.Helper()
	var items []map[string]string
	for i := range n {
		items = append(items, map[string]string{"product_name": fmt.Sprint(strings.Repeat("Tessel induction hob ", 1+i%9), i),
			"serial_number": fmt.Sprint("TSL-64-", i), "start_date": today(0), "end_date": today(729)})
	}
	made := f.as(t, 200, "POST", "/api/v1/warranties/batch", map[string]any{"items": items})
	for i := range n {
		references = append(references, made.Must(t, fmt.Sprintf("data.results.%d.reference_number", i)))
	}
	return references
}

// prints returns the code of a slip.
func (f shopFront) prints(t testing.TB, id string) string {
	t.Helper()
	offer := f.as(t, 201, "POST", "/api/v1/warranties/"+id+"/handover", map[string]string{})
	code := offer.Must(t, "data.code")
	if got, want := offer.Must(t, "data.take_url"), f.URL+"/take#"+code; got != want {
		t.Errorf("the slip has the address %s, not %s", got, want)
	}
	return code
}

// gives issues a warranty and lets someone take it.
func (f shopFront) gives(t testing.TB, session string, over map[string]string) (id, reference string) {
	t.Helper()
	id, reference = f.issues(t, over)
	f.Want(t, 200, lab.Call{Method: "POST", Path: "/api/handovers/take", Secret: session, Body: map[string]string{"code": f.prints(t, id)}})
	return id, reference
}

// snap checks the page at the widths, and takes screenshots if SVC_SCREENSHOTS names a folder.
func (b *tab) snap(t *testing.T, name string, widths ...int64) {
	t.Helper()
	for _, width := range widths {
		for _, scheme := range []string{"dark", "light"} {
			if scheme == "dark" && os.Getenv("SVC_SCREENSHOTS") == "" { // colors change no widths
				continue
			}
			b.look(t, scheme, width)
			b.mustNotScrollSideways(t, width)
			if os.Getenv("SVC_SCREENSHOTS") != "" {
				eval[bool](t, b, "document.fonts.ready.then(() => true)", chromedp.EvalAwaitPromise)
				b.picture(t, fmt.Sprintf("%s-%s-%d", name, scheme, width))
			}
		}
	}
}

// requests records the addresses and Referers of the requests of a tab.
type requests struct {
	mu   sync.Mutex
	list []string
}

func (b *tab) watchRequests() *requests {
	r := &requests{}
	sent := chromedp.Events(b.ctx, network.RequestWillBeSent)
	go func() {
		for e, err := range sent {
			if err != nil {
				return
			}
			r.mu.Lock()
			r.list = append(r.list, fmt.Sprint(e.Request.Method, " ", e.Request.URL, " ", e.Request.Headers))
			r.mu.Unlock()
		}
	}()
	return r
}

// mustNotHave fails if the code is in an address or a header of a request, or in the history of the tab.
func (r *requests) mustNotHave(t testing.TB, b *tab, code string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) < 3 {
		t.Errorf("saw only the requests %q", r.list)
	}
	for _, request := range r.list {
		if strings.Contains(request, code) {
			t.Errorf("the code is in the request %s", request)
		}
	}
	visited, err := chromedp.Call(b.ctx, page.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range visited.Entries {
		if strings.Contains(entry.URL, code) {
			t.Errorf("the code is in the history: %s", entry.URL)
		}
	}
}

// TestTakeStory: a shop issues a warranty, its customer registers it on a phone with the slip, adds the receipt
// and sells it on to a neighbour. A stranger scans the label at each step.
func TestTakeStory(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	shop := s.front(t, "Halden Electronics", fmt.Sprintf("halden%d.example", time.Now().UnixNano()))
	id, reference := shop.issues(t, nil)
	slip := shop.prints(t, id)

	stranger := s.visitor(t)
	scan := func(step string, wanted ...string) {
		t.Helper()
		stranger.look(t, "light", 390)
		stranger.mustOpen(t, "/verify/"+reference)
		stranger.mustShow(t, append(wanted, "In force", "Halden Electronics", "A verified business that calls itself", reference)...)
		stranger.snap(t, "story-"+step+"-stranger", 390)
		for _, private := range []string{"people.example", "Sam", "receipt"} {
			if text := stranger.text(t); strings.Contains(text, private) {
				t.Errorf("the public page shows %q:\n%s", private, text)
			}
		}
	}
	scan("1-issued", "Not yet registered", "Enter the code")
	stranger.press(t, "Enter the code")
	stranger.mustShow(t, "Register your warranty")
	stranger.snap(t, "story-1-code", 390)

	// The slip: the script takes the code out of the address.
	phone := s.visitor(t)
	phone.look(t, "light", 390)
	asked := phone.watchRequests()
	phone.mustOpen(t, "/take")
	eval[chromedp.Void](t, phone, fmt.Sprintf("location.hash = %q", slip))
	phone.until(t, `document.querySelector("#email") !== null && document.readyState === "complete"`)
	if got := eval[string](t, phone, "location.href"); got != s.URL+"/take" {
		t.Errorf("the address is %s", got)
	}
	phone.mustShow(t, "Tessel induction hob T64", "Halden Electronics", "A verified business that calls itself")
	phone.snap(t, "story-2-offer", 390)
	email := fmt.Sprintf("sam%d@people.example", time.Now().UnixNano())
	taps := 0 // since the scan, without mistakes
	tap := func(button string) int { taps++; return phone.press(t, button) }
	phone.fill(t, "#email", email)
	tap("Register warranty")
	phone.snap(t, "story-3-mailed", 390)
	phone.fill(t, "#mail_code", "000000")
	if status := phone.press(t, "Register warranty"); status != http.StatusUnprocessableEntity {
		t.Errorf("a wrong code: %d", status)
	}
	phone.mustShow(t, "This code is wrong. Check the latest email.")
	phone.snap(t, "story-3-wrong", 390)
	code, err := s.Mailed(email, "Your code to register a warranty")
	if err != nil {
		t.Fatal(err)
	}
	digits, link, _ := strings.Cut(code, " ")
	phone.fill(t, "#mail_code", digits)
	tap("Register warranty")
	if t.Logf("from the scan to the registered warranty: %d taps, 2 fields, no password", taps); taps > 3 {
		t.Error("too many taps")
	}
	if got := phone.path(t); got != "/take/done/"+id {
		t.Fatalf("registering leads to %s\n%s", got, phone.describe())
	}
	phone.mustShow(t, "Registered. The warranty is yours.", "Add the receipt")
	phone.snap(t, "story-4-done", 390)
	asked.mustNotHave(t, phone, slip)
	asked.mustNotHave(t, phone, link)
	phone.leads(t, chromedp.SetUploadFiles(chromedp.CSS(`[capture]`), []string{receipt(t, "receipt.pdf")}))
	phone.mustShow(t, "Document uploaded.", "receipt.pdf", "Halden Electronics")
	phone.snap(t, "story-5-warranty", 390)
	scan("6-registered")
	if strings.Contains(stranger.text(t), "Not yet registered") {
		t.Error("the public page says that it is not registered")
	}

	// The slip in other hands.
	late := s.visitor(t)
	late.mustOpen(t, "/take")
	late.fill(t, "#code", slip)
	if status := late.press(t, "Continue"); status != http.StatusUnprocessableEntity {
		t.Errorf("the slip works again: %d", status)
	}
	late.mustShow(t, "already registered", "contact halden")
	late.snap(t, "story-6-late", 390)

	// Sold on: the promise goes along, the receipt does not tell who had it before.
	neighbour, _, address := s.member(t, "neighbour")
	neighbour.look(t, "light", 390)
	phone.offer(t, address)
	offered := eval[string](t, phone, `document.querySelector("#code").textContent`)
	phone.snap(t, "story-7-offered", 390)
	neighbour.mustOpen(t, "/take")
	neighbour.fill(t, "#code", offered)
	neighbour.press(t, "Continue")
	neighbour.mustShow(t, "transfers this warranty to you", "Goes along", "Stays with", "A person, not a business", "Issued by", "halden")
	neighbour.snap(t, "story-7-transfer", 390)
	neighbour.click(t, `form[action="/take/confirm"] button`)
	neighbour.mustShow(t, "Add the receipt")
	neighbour.mustOpen(t, "/warranties/"+id)
	neighbour.mustShow(t, "Halden Electronics")
	neighbour.snap(t, "story-8-neighbour", 390)
	if status := phone.open(t, "/warranties/"+id); status != http.StatusNotFound {
		t.Errorf("the former owner still sees it: %d", status)
	}
	scan("9-sold")

	if log := s.Log(); strings.Contains(log, slip) {
		t.Error("the log has the code of the slip")
	}
	phone.mustBeQuiet(t, 404, 422)
	late.mustBeQuiet(t, 422)
	neighbour.mustBeQuiet(t)
	stranger.mustBeQuiet(t)
}

// TestVerifyLooks shows every state of the public page at every width.
func TestVerifyLooks(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	halden := s.front(t, "Halden Electronics", fmt.Sprintf("halden-%d.example", time.Now().UnixNano()))
	fake := s.front(t, "Комета", "") // all its letters look like Latin ones
	email := s.account(t, "buyer")
	s.confirm(t, email)
	buyer := s.session(t, email, lab.Password)
	own := func(over map[string]string) string {
		body := map[string]string{"product_name": "Fjordline 2 electric bicycle", "category": "Bicycles", "serial_number": "FJ-2207-XYZ",
			"start_date": today(-300), "end_date": today(700)}
		for name, value := range over {
			body[name] = value
		}
		return s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/v1/warranties", Secret: buyer, Body: body}).Must(t, "data.reference_number")
	}
	given := func(f shopFront, over map[string]string) string {
		_, reference := f.gives(t, buyer, over)
		return reference
	}
	voided := func(status string) string {
		id, reference := halden.gives(t, buyer, map[string]string{"product_name": "Kessler D3 tumble dryer"})
		halden.as(t, 200, "PUT", "/api/v1/warranties/"+id, map[string]string{"status": status})
		return reference
	}
	id, untaken := halden.issues(t, nil)
	halden.prints(t, id)
	halden.as(t, 202, "POST", "/api/organizations/"+halden.id+"/addresses", map[string]string{"email": "shop" + email})
	code, err := s.Mailed("shop"+email, "Confirm your organization's email address")
	if err != nil {
		t.Fatal(err)
	}
	halden.as(t, 200, "POST", "/api/addresses/verify", map[string]string{"code": code})
	confirmed := s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/v1/warranties", Secret: buyer, Body: map[string]string{
		"product_name": "Norvik OLED 55 television", "serial_number": "NRV-55-88K2", "start_date": today(-720), "end_date": today(10),
		"seller_email": "shop" + email}})
	s.Want(t, 200, lab.Call{Method: "POST", Path: "/api/v1/confirmations/" + confirmed.Must(t, "data.id"), Secret: halden.session,
		Body: map[string]string{"decision": "confirm"}, Header: map[string]string{"X-Account": halden.id, "If-Match": confirmed.Header.Get("ETag")}})
	b := s.visitor(t)
	for _, c := range []struct{ name, path, shows string }{
		{"issued", given(halden, map[string]string{"product_name": "Kessler W7 washing machine", "start_date": today(-1000), "end_date": today(85)}), "In force"},
		{"soon", given(halden, map[string]string{"end_date": today(10), "start_date": today(-700)}), "ends soon"},
		{"confirmed", confirmed.Must(t, "data.reference_number"), "Confirmed by"},
		{"unverified", given(fake, map[string]string{"product_name": "Aldine 13 laptop", "end_date": today(3600)}), "This business has not verified its website."},
		{"owner", own(nil), "No seller or manufacturer has confirmed it."},
		{"untaken", untaken, "Not yet registered"},
		{"ended", given(halden, map[string]string{"start_date": today(-900), "end_date": today(-200)}), "Ended"},
		{"upcoming", given(halden, map[string]string{"start_date": today(20)}), "Not started"},
		{"lifetime", given(halden, map[string]string{"end_date": "9999-12-31"}), "Lifetime"},
		{"void", voided("void"), "This warranty is not valid."},
		{"cancelled", voided("cancelled"), "This warranty is not valid."},
		{"serial", own(nil) + "?serial=FJ2207XYZ", "Matches this record."},
		{"long", own(map[string]string{"product_name": strings.Repeat("Dampfkessel", 15), "category": strings.Repeat("Kessel", 12)}) + "?serial=1", "This serial number does not belong to this warranty"},
	} {
		b.mustOpen(t, "/verify/"+c.path)
		b.mustShow(t, c.shows)
		b.snap(t, "verify-"+c.name, 390, 768, 1024, 1440)
	}
	b.mustBeQuiet(t)
}

// takeVisits returns the steps of registering a warranty, and the pages of a warranty that a shop issued.
func (s *site) takeVisits(t testing.TB, taker *tab) []visit {
	t.Helper()
	halden := s.front(t, "Halden Electronics", fmt.Sprintf("halden-%d.example", time.Now().UnixNano()))
	fake := s.front(t, "Комета", "") // all its letters look like Latin ones
	id, reference := halden.issues(t, nil)
	slip := halden.prints(t, id)
	unverified, name := fake.issues(t, nil)
	fakeSlip := fake.prints(t, unverified)
	serial := fmt.Sprint(time.Now().UnixNano())
	taken, verify := halden.issues(t, map[string]string{"gtin": "4242005273881", "serial_number": serial})
	takenSlip := halden.prints(t, taken)
	enter := func(code string) func(t testing.TB, b *tab) int {
		return func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/take")
			b.fill(t, "#code", code)
			return b.press(t, "Continue")
		}
	}
	enter(takenSlip)(t, taker)
	taker.click(t, "main .btn.primary")
	if got := taker.path(t); got != "/take/done/"+taken {
		t.Fatalf("registering leads to %s\n%s", got, taker.describe())
	}
	return []visit{
		{who: stranger, path: "/take"},
		{who: customer, path: "/take"},
		{who: customer, path: "/take/done/" + taken},
		{who: customer, path: "/warranties/" + taken},
		{who: stranger, path: "/verify/" + reference},
		{who: stranger, path: "/verify/" + name},
		{who: stranger, path: "/01/04242005273881/21/" + serial},
		{who: stranger, path: "/verify/" + verify + "?serial=wrong"},
		{who: stranger, path: "/take, mistaken", status: 422, by: enter(takenSlip)},
		{who: stranger, path: "/take, offered", by: enter(slip)},
		{who: stranger, path: "/take, offered by an unverified issuer", by: enter(fakeSlip)},
		{who: customer, path: "/take, offered", by: enter(fakeSlip)},
		{who: stranger, path: "/take, emailed", by: func(t testing.TB, b *tab) int {
			enter(slip)(t, b)
			b.fill(t, "#email", fmt.Sprintf("visitor%d@people.example", time.Now().UnixNano()))
			return b.press(t, "Register warranty")
		}},
		{who: stranger, path: "/take, a wrong code", status: 422, by: func(t testing.TB, b *tab) int {
			enter(slip)(t, b)
			b.fill(t, "#email", fmt.Sprintf("visitor%d@people.example", time.Now().UnixNano()))
			b.press(t, "Register warranty")
			b.fill(t, "#mail_code", "000000")
			return b.press(t, "Register warranty")
		}},
		{who: stranger, path: "/take, with an account", by: func(t testing.TB, b *tab) int {
			enter(slip)(t, b)
			return b.press(t, "Sign in")
		}},
	}
}
