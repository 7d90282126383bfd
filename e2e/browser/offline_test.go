//go:build browser

package browser

import (
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
)

// TestOfflineShowsTheLastList stops the service: the browser shows the list that it saw last. After signing out, it
// shows nothing of the person, nor after its session ended elsewhere, nor after a day. A new service worker replaces an
// older one.
func TestOfflineShowsTheLastList(t *testing.T) {
	t.Parallel()
	p := lab.Start(t, lab.Unthrottled...)
	s := &site{Process: p, browser: openSite(t).browser}
	b := s.visitor(t)
	email := s.account(t, "traveller")
	b.signIn(t, email, lab.Password)
	b.openNew(t)
	b.fill(t, "#product_name", "Kettle <b>", "#start_date", "2024-01-01", "#end_date", "2099-12-31")
	b.press(t, "Save warranty")
	b.mustOpen(t, "/warranties")
	b.until(t, `navigator.serviceWorker.controller !== null`)
	// value returns the value of an expression that waits.
	value := func(expression string) string {
		t.Helper()
		eval[bool](t, b, `(delete window.got, (async () => String(`+expression+`))().then((v) => { window.got = v; }, (e) => { window.got = "error: " + e; }), true)`)
		b.until(t, `window.got !== undefined`)
		return eval[string](t, b, `window.got`)
	}
	settled := func(expression, want string) {
		t.Helper()
		if got := value(expression); got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
	}
	settled(`(await caches.keys()).filter((name) => name.startsWith("seen-")).length`, "1")
	caches := value(`(await Promise.all((await caches.keys()).map(async (name) =>
		(await (await caches.open(name)).keys()).map((request) => request.url).join(" ")))).join(" ")`)
	for _, address := range strings.Fields(caches) {
		if path := strings.TrimPrefix(address, s.URL); path != "/offline" && path != "/offline/list" && !strings.HasPrefix(path, "/static/") {
			t.Errorf("the browser keeps %s", path)
		}
	}
	settled(`await (async () => {
		const m = await (await fetch(document.querySelector("link[rel=manifest]").href)).json();
		const icons = await Promise.all(m.icons.map(async (i) => {
			const picture = new Image();
			picture.src = new URL(i.src, document.querySelector("link[rel=manifest]").href);
			await picture.decode();
			return picture.naturalWidth + "x" + picture.naturalHeight === i.sizes;
		}));
		return [m.name, m.start_url, m.display, icons.join()].join(" ");
	})()`, "Warranty Records / standalone true,true,true")

	// The service worker of an older release, and what it kept.
	settled(`await (await caches.open("static-old")).put("/x", new Response("x")) ?? await (await navigator.serviceWorker.ready).unregister()`, "true")
	b.mustOpen(t, "/warranties")
	b.until(t, `navigator.serviceWorker.controller !== null`)
	settled(`await caches.has("static-old")`, "false")

	// With a connection, the server decides what is shown.
	b.mustOpen(t, "/offline")
	b.until(t, `document.querySelector("#seen").dataset.connected === "true"`)
	settled(`await caches.keys() && document.querySelector("#seen").hidden`, "true")

	// Another browser, whose person has signed out.
	left := s.visitor(t)
	left.signIn(t, email, lab.Password)
	left.mustOpen(t, "/warranties")
	left.until(t, `navigator.serviceWorker.controller !== null`)
	left.signOut(t)

	// A browser that kept its list for too long, and one whose session is ended elsewhere.
	kept := func() *tab {
		other := s.visitor(t)
		other.signIn(t, email, lab.Password)
		other.mustOpen(t, "/warranties")
		other.until(t, `navigator.serviceWorker.controller !== null`)
		return other
	}
	forgotten := func(tab *tab) {
		t.Helper()
		tab.until(t, `(caches.keys().then((names) => { window.names = names.join(); }), !/seen-/.test(window.names ?? "seen-"))`)
	}
	ended := kept()
	b.mustOpen(t, "/settings/security")
	eval[bool](t, b, `(document.querySelector("form[action$=sign-out-everywhere]").requestSubmit(), true)`)
	b.until(t, `location.pathname === "/sign-in"`)
	b.signIn(t, email, lab.Password)
	b.mustOpen(t, "/warranties")
	settled(`(await caches.keys()).filter((name) => name.startsWith("seen-")).length`, "1")
	ended.mustOpen(t, "/offline")
	forgotten(ended)
	old := kept()
	eval[bool](t, old, `((async () => {
		for (const name of (await caches.keys()).filter((name) => name.startsWith("seen-"))) {
			const cache = await caches.open(name), list = await (await cache.match("/offline/list")).json();
			window.hours = (list.until - list.at) / 3600000;
			await cache.put("/offline/list", new Response(JSON.stringify({ ...list, until: Date.now() - 1 })));
		}
	})(), true)`)
	old.until(t, `window.hours > 23 && window.hours <= 24`)

	p.Kill()
	for _, tab := range []*tab{b, left, ended, old} {
		if status := tab.open(t, "/claims"); status != http.StatusServiceUnavailable {
			t.Errorf("offline: %d", status)
		}
		tab.mustShow(t, "You're offline")
	}
	b.until(t, `document.querySelector("#seen")?.hidden === false`)
	b.mustShow(t, "Kettle <b>", "Read-only")
	for what, tab := range map[string]*tab{"after signing out": left, "after its session was ended": ended, "after a day": old} {
		forgotten(tab)
		if strings.Contains(tab.text(t), "Kettle") {
			t.Errorf("the list is shown %s", what)
		}
	}
}
