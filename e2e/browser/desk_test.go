//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// A tally counts what a person does in a journey. Filling a field is one action, with the click or the key that leads to it.
type tally struct {
	*tab
	clicks, keys, fields int
	start                time.Time
}

func (b *tab) journey() *tally { return &tally{tab: b, start: time.Now()} }

func (n *tally) actions() int { return n.clicks + n.keys + n.fields }

// tap clicks something that leads to another page.
func (n *tally) tap(t testing.TB, selector string) int {
	t.Helper()
	n.clicks++
	return n.click(t, selector)
}

// pressing clicks the button or link with a text.
func (n *tally) pressing(t testing.TB, text string) int {
	t.Helper()
	n.clicks++
	return n.press(t, text)
}

// key presses a key that leads to another page.
func (n *tally) key(t testing.TB, key string, modifiers ...chromedp.Modifier) int {
	t.Helper()
	n.keys++
	return n.leads(t, keys(key, modifiers...))
}

// typing fills a field.
func (n *tally) typing(t testing.TB, selector, text string) {
	t.Helper()
	n.fields++
	n.fill(t, selector, text)
}

// report logs the counts.
func (n *tally) report(t testing.TB, what string, width int64) {
	t.Helper()
	t.Logf("%s, %d px: %d actions: %d clicks, %d keys, %d fields; %.1f s in the browser",
		what, width, n.actions(), n.clicks, n.keys, n.fields, time.Since(n.start).Seconds())
}

// buyer is a person with a verified address, who takes what shops issue.
func (s *site) buyer(t testing.TB, name string) (email, session string) {
	t.Helper()
	email = s.account(t, name)
	s.confirm(t, email)
	return email, s.session(t, email, lab.Password)
}

// claims files a claim on a warranty.
func (s *site) claims(t testing.TB, session, warranty, fault string) (id string) {
	t.Helper()
	return s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/claims", Secret: session, Body: map[string]string{
		"warranty_id": warranty, "type": "repair", "description": fault, "incident_date": today(0)}}).Must(t, "data.id")
}

// keeps opens a tab of the shopkeeper, who acts for the organization.
func (f shopFront) keeps(t testing.TB, name string) *tab {
	t.Helper()
	b := f.visitor(t)
	b.signIn(t, f.email, lab.Password)
	b.switchTo(t, name)
	return b
}

// queueOf makes claims that wait for a new shop.
func (s *site) queueOf(t testing.TB, name string, claims int) *tab {
	t.Helper()
	f := s.front(t, name, "")
	_, session := s.buyer(t, "claimant")
	for i := range claims {
		id, _ := f.gives(t, session, map[string]string{"product_name": fmt.Sprint("Lamp ", i), "serial_number": fmt.Sprint("LM-", i)})
		s.claims(t, session, id, fmt.Sprintf("Lamp %d flickers.", i))
	}
	return f.keeps(t, name)
}

// decision is what the journeys do with the i-th claim: most are approved, the others need a message.
func decision(i int) (button, key, message string) {
	switch i % 4 {
	case 2:
		return "Ask for information", "2", "Please send a photo of the type plate."
	case 3:
		return "Reject claim", "3", "The lamp was opened."
	}
	return "Approve claim", "1", ""
}

// TestJourneyOf44Claims works through a queue of 44 claims: with the keyboard in a wide window, and by touch on a phone. Each
// takes at most two actions, the next claim is open afterwards, and none is lost from sight. Outside of a long run, the
// queues have 16 and 8.
func TestJourneyOf44Claims(t *testing.T) {
	t.Parallel()
	for width, claims := range map[int64]int{1440: testenv.Times(16, 44), 390: testenv.Times(8, 44)} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			s := openSite(t)
			b := s.queueOf(t, fmt.Sprint("Queue ", width), claims)
			b.look(t, "light", width)
			n := b.journey()
			b.mustOpen(t, "/claims")
			b.mustShow(t, fmt.Sprint(claims, " claims wait for you"))
			n.pressing(t, "Start with the oldest")
			most := 0
			for i := range claims {
				before, path := n.actions(), b.path(t)
				button, key, message := decision(i)
				if i < claims-1 {
					b.mustShow(t, fmt.Sprintf("of %d", claims-i))
				}
				switch {
				case width > 1000 && message == "":
					n.key(t, key)
				case width > 1000: // the key leads to the message
					b.do(t, keys(key))
					b.until(t, focused+` === "body"`)
					n.typing(t, "#body", message)
					n.key(t, kb.Enter, chromedp.ModifierCtrl)
				default:
					if message != "" {
						n.typing(t, "#body", message)
					}
					n.pressing(t, button)
				}
				if i < claims-1 && b.path(t) == path {
					t.Fatalf("claim %d is still open\n%s", i, b.describe())
				}
				most = max(most, n.actions()-before)
			}
			n.report(t, fmt.Sprint(claims, " claims"), width)
			if most > 2 {
				t.Errorf("a claim took %d actions", most)
			}
			b.mustOpen(t, "/claims")
			b.mustShow(t, "Nothing is waiting for you")
			for lane, n := range map[string]int{"in_progress": claims / 2, "waiting_for_them": claims / 4, "done": claims / 4} {
				want := fmt.Sprint(n, " claims found")
				b.mustOpen(t, "/claims?queue="+lane)
				if got := eval[string](t, b, `document.querySelector("[data-found]").textContent`); got != want {
					t.Errorf("%s: %s, want %s", lane, got, want)
				}
			}
			b.mustBeQuiet(t)
		})
	}
}

// TestJourneyOfACall: a customer calls, gives a name, and the warranty is open after two actions.
func TestJourneyOfACall(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	f := s.front(t, "Calls", "")
	for i := range 12 {
		f.issue(t, fmt.Sprint("Oven ", i), fmt.Sprint("CALL-", i), fmt.Sprint("Other Person ", i), fmt.Sprintf("other%d@post.example", i))
	}
	f.issue(t, "Brandt refrigerator", "BF-86-20077", "Andrea Müller", "a.mueller@post.example")
	f.issue(t, "Dyson V15", "V15-2", "Andrea Müller", "a.mueller@post.example")
	b := f.keeps(t, "Calls")
	for _, width := range []int64{1440, 390} {
		b.look(t, "light", width)
		b.mustOpen(t, "/")
		n := b.journey()
		if width > 1000 {
			b.do(t, keys("/")) // leads to the field
		} else {
			b.do(t, chromedp.Click(chromedp.CSS(".kbtn")))
		}
		b.until(t, focused+` === "palette-q"`)
		n.fields++
		b.do(t, keys("mueller"))
		b.until(t, `document.querySelectorAll("#palette-hits [role=option]").length > 0`) // Enter opens the first of them
		b.leads(t, keys(kb.Enter))
		b.mustShow(t, "Andrea Müller", "Brandt refrigerator", "BF-86-20077", "Dyson V15")
		n.clicks++
		b.leads(t, chromedp.Click(`//main//li//a[normalize-space()="Brandt refrigerator"]`, chromedp.NodeVisible))
		b.mustShow(t, "BF-86-20077", "Andrea Müller")
		n.report(t, "A customer calls", width)
		if n.actions() > 2 {
			t.Errorf("name to warranty took %d actions", n.actions())
		}
	}
	b.mustBeQuiet(t)
}

// TestJourneyAtTheTill sells: product, serial number, Enter, slip.
func TestJourneyAtTheTill(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.shopkeeper(t, "tilljourney")
	for i, width := range []int64{1440, 390} {
		b.look(t, "light", width)
		b.mustOpen(t, "/issue?product=")
		n := b.journey()
		n.tap(t, `.todo a[href^="/issue?product="]`)
		b.until(t, focused+` === "serial_number"`) // the scanner can type
		n.fields++
		b.do(t, keys(fmt.Sprint("TILL-", i)+kb.Enter))
		b.until(t, focused+` === "customer_email"`)
		if status := n.key(t, kb.Enter); status != http.StatusOK {
			t.Fatalf("got %d\n%s", status, b.describe())
		}
		b.mustShow(t, "Give this to your customer", fmt.Sprint("TILL-", i))
		b.until(t, `document.activeElement.innerText === "Print slip"`)
		n.report(t, "A sale", width)
		if n.actions() > 3 {
			t.Errorf("a sale took %d actions", n.actions())
		}
	}
	b.mustBeQuiet(t)
}

// issue sells a product to a customer: by email if there is an address, and on a slip otherwise.
func (f shopFront) issue(t testing.TB, product, serial, name, email string) (id string) {
	t.Helper()
	body := map[string]any{"product_name": product, "serial_number": serial, "customer_name": name,
		"start_date": today(-40), "end_date": today(690)}
	if email == "" {
		body["print"] = true
	} else {
		body["customer_email"] = email
	}
	return f.as(t, 201, "POST", "/api/v1/warranties/issue", body).Must(t, "data.warranty.id")
}
