//go:build browser

package browser

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// pagePatience is the timeout of one step on a page. A step takes a fraction of a second, but the
// machine may be busy with other tests.
const pagePatience = 3 * time.Minute

// The users of the demo.
const (
	nora   = "owner@demo.example"
	halden = "seller@demo.example"
	// The address at which records name the demo's shop, and its name.
	haldenSells = "service@halden.example"
	haldenName  = "Halden Electronics"
	ivar        = "issuer@demo.example"
	brandt      = "issuer@demo.example"
)

// site is the demo with a browser. The tests share one, because both take a while to start, so
// each test creates the records that it changes.
type site struct {
	*lab.Process
	passwords map[string]string // of the demo's users
	browser   context.Context

	gather sync.Once
	people map[string]*tab // see company
	pages  []visit         // see visits

	checked seen // by axe
}

var shared struct {
	once sync.Once
	site *site
	err  error
}

// openSite starts the demo and the browser on the first call, and returns them.
func openSite(t testing.TB) *site {
	t.Helper()
	chromium := testenv.Chromium(t)
	shared.once.Do(func() { shared.site, shared.err = newSite(t, chromium) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.site
}

var undrawn struct {
	once sync.Once
	site *site
	err  error
}

// openUndrawn is openSite with a browser that draws nothing, which takes a third less, for tests that look at many pages:
// they are laid out and scripts run, but no element gets the focus by itself and no image is loaded late. In a long run it
// draws.
func openUndrawn(t testing.TB) *site {
	t.Helper()
	s := openSite(t)
	if os.Getenv("SVC_SCREENSHOTS") != "" || testenv.Long() {
		return s
	}
	undrawn.once.Do(func() {
		undrawn.site = &site{Process: s.Process, passwords: s.passwords}
		undrawn.site.browser, undrawn.err = startBrowser(testenv.Chromium(t), filepath.Join(s.Dir, "profile of the undrawn"),
			chromedp.Flag("disable-threaded-compositing", true))
	})
	if undrawn.err != nil {
		t.Fatal(undrawn.err)
	}
	return undrawn.site
}

func newSite(t testing.TB, chromium string) (*site, error) {
	dir, err := os.MkdirTemp(lab.Binaries, "site")
	if err != nil {
		return nil, err
	}
	p, err := lab.Launch(dir, nil, lab.Svcd(), "--demo", "--listen="+lab.FreeAddress(t), "--rate-limit=1000000", "--ip-rate-limit=0",
		"--sign-in-rate-limit=0", "--sign-up-rate-limit=0", "--verify-rate-limit=0")
	if err != nil {
		return nil, err
	}
	lab.AtExit(p.Kill)
	s := &site{Process: p, passwords: map[string]string{}}
	for _, m := range regexp.MustCompile(`(\S+@demo\.example) +password (\S+)`).FindAllStringSubmatch(p.Output(), -1) {
		s.passwords[m[1]] = m[2]
	}
	if len(s.passwords) != 3 {
		return nil, fmt.Errorf("the demo printed no passwords:\n%s", p.Output())
	}
	if s.browser, err = startBrowser(chromium, filepath.Join(dir, "profile")); err != nil {
		return nil, err
	}
	return s, nil
}

// startBrowser starts a browser that ends after the tests.
func startBrowser(chromium, profile string, flags ...chromedp.ExecAllocatorOption) (context.Context, error) {
	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium), chromedp.UserDataDir(profile), chromedp.NoFirstRun,
		chromedp.Env("TZ=UTC", "LANG=en_US.UTF-8"), chromedp.Flag("use-fake-device-for-media-stream", true),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	}, flags)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	browser, closeBrowser := chromedp.NewContext(allocator)
	lab.AtExit(func() { closeBrowser(); stop() })
	return browser, chromedp.Do(browser)
}

// tab is a browser tab with the errors of its console.
type tab struct {
	site  *site
	ctx   context.Context
	close func()

	mu         sync.Mutex
	complaints []string
	marks      map[string]bool
}

// visitor opens a tab without cookies.
func (s *site) visitor(t testing.TB) *tab {
	t.Helper()
	b := s.newTab(t, s.browser, chromedp.WithNewBrowserContext())
	t.Cleanup(b.close)
	return b
}

// person opens a tab that is signed in as a user of the demo.
func (s *site) person(t testing.TB, email string) *tab {
	t.Helper()
	b := s.visitor(t)
	b.signIn(t, email, s.passwords[email])
	return b
}

// another opens a second tab with the same session.
func (b *tab) another(t testing.TB) *tab {
	t.Helper()
	other := b.site.newTab(t, b.ctx)
	t.Cleanup(other.close)
	return other
}

// watchScript logs violations of the Content-Security-Policy to the console.
const watchScript = `addEventListener("securitypolicyviolation",
	e => console.error("policy violation: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample))`

func (s *site) newTab(t testing.TB, parent context.Context, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(parent, options...)
	b := &tab{site: s, ctx: ctx, close: closeTab, marks: map[string]bool{}}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	console, dialogs := chromedp.Console(ctx), chromedp.Events(ctx, page.JavascriptDialogOpening)
	go func() {
		for message, err := range console {
			if err != nil {
				return
			}
			b.heard(message)
		}
	}()
	go func() {
		for dialog, err := range dialogs {
			if err != nil {
				return
			}
			b.complain("a dialog opened: " + dialog.Message)
			_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) // otherwise the page hangs
		}
	}()
	watch := page.AddScriptToEvaluateOnNewDocumentParams{Source: watchScript}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, watch); err != nil {
		t.Fatal(err)
	}
	b.look(t, "light", 1280)
	return b
}

func (b *tab) complain(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, what)
}

func (b *tab) heard(message chromedp.ConsoleMessage) {
	switch {
	case message.Type == chromedp.ConsoleError || message.IsException():
		b.complain(message.String() + " (" + message.URL + ")")
	case strings.HasPrefix(message.Text, "mark "):
		b.mu.Lock()
		defer b.mu.Unlock()
		b.marks[message.Text] = true
	}
}

// noise returns the console errors since the last call. It writes a mark to the console and waits
// for it, so that earlier messages have arrived.
func (b *tab) noise(t testing.TB) []string {
	t.Helper()
	mark := fmt.Sprint("mark ", time.Now().UnixNano())
	eval[chromedp.Void](t, b, fmt.Sprintf("console.debug(%q)", mark))
	var complaints []string
	testenv.Wait(t, "the mark is in the console", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.marks[mark] {
			return false
		}
		complaints, b.complaints = b.complaints, nil
		delete(b.marks, mark)
		return true
	})
	return complaints
}

// mustBeQuiet fails if the console has errors, except for responses with an expected status.
func (b *tab) mustBeQuiet(t testing.TB, expected ...int) {
	t.Helper()
	for _, complaint := range b.noise(t) {
		if !slices.ContainsFunc(expected, func(status int) bool {
			return strings.Contains(complaint, fmt.Sprintf("the server responded with a status of %d", status))
		}) {
			t.Errorf("%s: %s", b.path(t), complaint)
		}
	}
}

// do performs steps and fails the test if one fails.
func (b *tab) do(t testing.TB, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("%v\n%s", err, b.describe())
	}
}

// describe returns the address and the text of the tab, for failure messages.
func (b *tab) describe() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText.slice(0, 1500)`))
	if err != nil {
		return err.Error()
	}
	return text
}

// eval evaluates an expression on the page.
func eval[T any](t testing.TB, b *tab, expression string, options ...chromedp.EvaluateOption) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		t.Fatalf("%s: %v\n%s", shorten(expression), err, b.describe())
	}
	return v
}

func shorten(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

// until waits for an expression to become true, also across navigations.
func (b *tab) until(t testing.TB, expression string) {
	t.Helper()
	pause := 10 * time.Millisecond
	for deadline := time.Now().Add(pagePatience); ; pause = min(pause*3/2, 200*time.Millisecond) {
		ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		cancel()
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never true: %s (%v)\n%s", expression, err, b.describe())
		}
		time.Sleep(pause) // pages ask the same processor
	}
}

// open navigates to a path and returns the status of the response.
func (b *tab) open(t testing.TB, path string) int {
	t.Helper()
	return b.leads(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.Navigate, page.NavigateParams{URL: b.site.URL + path})
		return err
	}))
}

// mustOpen is open for a page that must return 200.
func (b *tab) mustOpen(t testing.TB, path string) {
	t.Helper()
	if status := b.open(t, path); status != http.StatusOK {
		t.Fatalf("%s: %d\n%s", path, status, b.describe())
	}
}

// leads performs steps that navigate, waits for the new page and returns its status.
func (b *tab) leads(t testing.TB, steps ...chromedp.Action[chromedp.Void]) int {
	t.Helper()
	eval[bool](t, b, "window.leaving = true")
	b.do(t, steps...)
	b.until(t, `!window.leaving && document.readyState === "complete"`)
	return eval[int](t, b, `performance.getEntriesByType("navigation")[0].responseStatus`)
}

// click clicks a link or a submit button and waits for the new page.
func (b *tab) click(t testing.TB, selector string) int {
	t.Helper()
	return b.leads(t, chromedp.Click(chromedp.CSS(selector)))
}

// press clicks the button or link with this text.
func (b *tab) press(t testing.TB, text string) int {
	t.Helper()
	return b.leads(t, chromedp.Click(buttonNamed(text), chromedp.NodeVisible))
}

// buttonNamed is the XPath of a button or link with this text.
func buttonNamed(text string) string {
	return fmt.Sprintf(`//*[self::button or self::a][normalize-space()=%q]`, text)
}

// fill fills fields of the page. pairs are selectors and values; the value of a checkbox is
// "true" or "false".
func (b *tab) fill(t testing.TB, pairs ...string) {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		kind := eval[string](t, b, fmt.Sprintf(`(() => {
			const e = document.querySelector(%q);
			e.scrollIntoView({block: "center"});
			e.focus();
			e.select?.();
			return e.type;
		})()`, pairs[i]))
		switch kind {
		case "date", "number", "select-one":
			b.do(t, chromedp.SetValue(chromedp.CSS(pairs[i]), pairs[i+1]))
		case "checkbox", "radio":
			if fmt.Sprint(eval[bool](t, b, fmt.Sprintf("document.querySelector(%q).checked", pairs[i]))) != pairs[i+1] {
				b.do(t, chromedp.Click(chromedp.CSS(pairs[i])))
			}
		case "file":
			b.do(t, chromedp.SetUploadFiles(chromedp.CSS(pairs[i]), []string{pairs[i+1]}))
		default:
			ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
			_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: pairs[i+1]})
			cancel()
			if err != nil {
				t.Fatalf("%s: %v", pairs[i], err)
			}
		}
	}
}

// keys types text. Unlike chromedp.KeyEvent, it inserts no character if the page prevents the
// default action of the key.
func keys(text string, modifiers ...chromedp.Modifier) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, r := range text {
			var written string
			for _, event := range kb.Encode(r) {
				if event.Type == kb.KeyChar {
					written = event.Text
				}
			}
			for _, event := range kb.Encode(r) {
				if event.Type == kb.KeyChar {
					continue
				}
				if event.Type == kb.KeyDown {
					event.Text = written
				}
				for _, m := range modifiers {
					event.Modifiers |= m.Int64()
				}
				if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, *event); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// signIn signs in with a password.
func (b *tab) signIn(t testing.TB, email, password string) {
	t.Helper()
	b.mustOpen(t, "/sign-in")
	b.fill(t, "#email", email, "#password", password)
	if status := b.press(t, "Sign in"); status != http.StatusOK || b.path(t) != "/" {
		t.Fatalf("%s cannot sign in: %d\n%s", email, status, b.describe())
	}
}

// signOut signs out with the button that pages have beside the person's name.
func (b *tab) signOut(t testing.TB) {
	t.Helper()
	b.mustOpen(t, "/settings/profile")
	if b.click(t, `.me form[action="/sign-out"] button`); b.path(t) != "/sign-in" {
		t.Fatalf("signing out\n%s", b.describe())
	}
}

// path returns the path and query of the tab.
func (b *tab) path(t testing.TB) string {
	t.Helper()
	return eval[string](t, b, "location.pathname + location.search")
}

// text returns the visible text of the page.
func (b *tab) text(t testing.TB) string {
	t.Helper()
	return eval[string](t, b, "document.body.innerText")
}

// mustShow fails unless the page shows all of the texts.
func (b *tab) mustShow(t testing.TB, wanted ...string) {
	t.Helper()
	text := b.text(t)
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not show %q:\n%s", b.path(t), want, text)
		}
	}
}

// links returns the paths of the links that match a selector.
func (b *tab) links(t testing.TB, selector string) []string {
	t.Helper()
	return eval[[]string](t, b, fmt.Sprintf("[...document.querySelectorAll(%q)].map(a => a.pathname + a.search)", selector))
}

// look sets the color scheme and the width of the tab.
func (b *tab) look(t testing.TB, scheme string, width int64) {
	t.Helper()
	height := int64(860)
	if width < 500 {
		height = 700
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.EmulateViewport(width, height))
}
