//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// TestPublicStates shows the public page in each state, and the front page: every one passes axe, has no sideways scroll,
// and says first what matters.
func TestPublicStates(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	known := s.front(t, "Halden Electronics", fmt.Sprintf("halden-%d.example", time.Now().UnixNano()))
	known.as(t, 200, "PUT", "/api/organizations/"+known.id, map[string]string{
		"contact_email": "service@halden.example", "contact_phone": "+49 40 555 0100"})
	unknown := s.front(t, "Nordhaus Elektro", "")
	owner := s.account(t, "holder")
	s.confirm(t, owner)
	session := s.session(t, owner, lab.Password)
	set := func(id string, fields map[string]string) { known.as(t, 200, "PUT", "/api/v1/warranties/"+id, fields) }
	_, valid := known.gives(t, session, nil)
	voidID, void := known.gives(t, session, nil)
	set(voidID, map[string]string{"status": "void"})
	shortID, short := known.gives(t, session, map[string]string{"end_date": today(1200)})
	set(shortID, map[string]string{"end_date": today(200)})
	_, ended := known.gives(t, session, map[string]string{"start_date": today(-900), "end_date": today(-170)})
	waitingID, waiting := known.issues(t, nil)
	known.prints(t, waitingID)
	_, unverified := unknown.gives(t, session, nil)
	b := s.visitor(t)
	for _, c := range []struct {
		name, path, first string
		status            int
	}{
		{"front", "/", "Check a warranty", 200},
		{"valid", "/verify/" + valid, "In force", 200},
		{"mismatch", "/verify/" + valid + "?serial=BD-55-19023", "does not belong", 200},
		{"void", "/verify/" + void, "This warranty is not valid.", 200},
		{"shortened", "/verify/" + short, "Coverage was shortened", 200},
		{"ended", "/verify/" + ended, "Ended", 200},
		{"waiting", "/verify/" + waiting, "In force", 200},
		{"unverified", "/verify/" + unverified, "Not ended yet, according to the issuer", 200},
		{"unknown", "/verify/WR-0000-0000-0000-0000", "Warranty not found", http.StatusNotFound},
		{"form", "/verify", "Check a warranty", 200},
	} {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{390, 1440} {
				b.look(t, scheme, width)
				if status := b.open(t, c.path); status != c.status {
					t.Fatalf("%s: %d", c.name, status)
				}
				b.mustNotScrollSideways(t, width)
				// The verdict is in sight without scrolling.
				if !eval[bool](t, b, fmt.Sprintf(`[...document.querySelectorAll("h1, h2, .say")].some((e) =>
					e.innerText.includes(%q) && e.getBoundingClientRect().bottom < 844)`, c.first)) {
					t.Errorf("%s at %d px: %q is not in sight", c.name, width, c.first)
				}
				if c.name == "front" && width == 390 && !eval[bool](t, b, `document.querySelector("a[href='/sign-in']").getBoundingClientRect().bottom < 844`) {
					t.Error("the front page does not fit on the screen of a phone")
				}
				if os.Getenv("SVC_SCREENSHOTS") != "" {
					eval[bool](t, b, "document.fonts.ready.then(() => true)", chromedp.EvalAwaitPromise)
					b.picture(t, fmt.Sprintf("public-%s-%s-%d", c.name, scheme, width))
				}
			}
		}
	}
	b.mustBeQuiet(t, http.StatusNotFound)
}

// reader stands for a camera and a detector of codes, which a headless browser has not: its picture is a canvas, and it
// finds window.seen.
const reader = `navigator.mediaDevices.getUserMedia = async () => {
	if (sessionStorage.refused) throw new DOMException("", sessionStorage.refused);
	const canvas = document.createElement("canvas");
	canvas.getContext("2d").fillRect(0, 0, 9, 9);
	const stream = canvas.captureStream(10);
	window.tracks = stream.getTracks();
	return stream;
};
window.BarcodeDetector = class {
	static async getSupportedFormats() { return ["qr_code"]; }
	async detect() { window.looks = (window.looks || 0) + 1; return window.seen ? [{ rawValue: window.seen }] : []; }
}`

// TestTheCameraReadsCodes scans codes: those of this service lead to their pages, all others lead nowhere. The camera is asked
// for after a tap and is off afterwards.
func TestTheCameraReadsCodes(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	shop := s.front(t, "Halden Electronics", "")
	id, reference := shop.issues(t, map[string]string{"gtin": "4242005273881", "serial_number": fmt.Sprint(time.Now().UnixNano())})
	code := shop.prints(t, id)
	plain := s.visitor(t)
	plain.mustOpen(t, "/")
	if eval[bool](t, plain, `!document.querySelector("[data-scan]").hidden`) {
		t.Fatal("a browser that cannot read codes has the button")
	}
	b := s.visitor(t)
	install := page.AddScriptToEvaluateOnNewDocumentParams{Source: reader}
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, install); err != nil {
		t.Fatal(err)
	}
	scan := func() {
		t.Helper()
		b.mustOpen(t, "/")
		b.until(t, `!document.querySelector("[data-scan]").hidden`)
		b.do(t, chromedp.Click(chromedp.CSS("[data-scan]")))
	}
	off := `!document.querySelector("#scanner video").srcObject && tracks.every((track) => track.readyState === "ended")`

	for name, says := range map[string]string{"NotAllowedError": "The camera is blocked", "NotFoundError": "could not be used"} {
		b.mustOpen(t, "/verify")
		eval[chromedp.Void](t, b, fmt.Sprintf(`sessionStorage.refused = %q`, name))
		scan()
		b.until(t, fmt.Sprintf(`document.querySelector("#scanner [role=status]").innerText.includes(%q)`, says))
	}
	eval[chromedp.Void](t, b, `sessionStorage.clear()`)
	for _, foreign := range []string{
		"https://evil.example/verify/" + reference, "javascript:alert(1)", "mailto:a@b.example", "just text", "//evil.example/verify/x",
		s.URL + "@evil.example/verify/" + reference, s.URL + "/sign-out", s.URL + ".evil.example/verify/" + reference,
		strings.Replace(s.URL, "http://", "http://user:password@", 1) + "/verify/" + reference, strings.Repeat("x", 5000),
	} {
		scan()
		b.until(t, `window.looks > 0`)
		eval[chromedp.Void](t, b, fmt.Sprintf(`window.seen = %q`, foreign))
		b.until(t, `document.querySelector("#scanner [role=status]").innerText.includes("not from this service")`)
		if !eval[bool](t, b, off) || b.path(t) != "/" {
			t.Errorf("%s: the camera is on, or it leads to %s", foreign, b.path(t))
		}
	}
	eval[chromedp.Void](t, b, `window.seen = "", document.querySelector("[data-again]").click()`)
	b.until(t, `document.querySelector("#scanner video").srcObject && document.querySelector("[data-again]").hidden`)
	b.do(t, chromedp.Click(chromedp.CSS("[data-stop]")))
	b.until(t, off)

	for seen, leads := range map[string]string{
		s.URL + "/verify/" + reference: "/verify/" + reference,
		reference:                      "/verify/" + reference,
		s.URL + "/01/04242005273881/21/none-of-these": "/01/04242005273881/21/none-of-these",
		s.URL + "/take#" + code:                       "/check",
	} {
		scan()
		eval[chromedp.Void](t, b, fmt.Sprintf(`window.seen = %q`, seen))
		b.until(t, fmt.Sprintf(`location.pathname === %q`, leads))
	}
	b.mustBeQuiet(t, http.StatusNotFound)
}
