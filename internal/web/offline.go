package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// The offline page shows the list that a browser has last seen. The service worker keeps the page itself, which says
// nothing about a person; static/list.js keeps the list, and static/seen.js deletes it.

// offline shows the page for browsers without a connection.
func (web *Web) offline(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	return web.showBare(w, r, http.StatusOK, "offline", view.Page{Title: web.t(r, "offline.title"), NoIndex: true})
}

// offlineFiles are the static files of the offline page.
var offlineFiles = []string{"app.css", "theme.js", "offline.js", "icon.svg", "geist-latin-wght-normal.woff2"}

// serviceWorker serves the script of the service worker, which is at the root because it handles all pages. A new
// release has another text, which replaces the old one at once.
func (web *Web) serviceWorker() (http.Handler, error) {
	paths := []string{"/offline"}
	for _, name := range offlineFiles {
		paths = append(paths, web.views.Static.Path(name))
	}
	list, err := json.Marshal(paths)
	if err != nil {
		return nil, err
	}
	version, err := json.Marshal("static-" + web.views.Static.Hash() + "-" + web.Version)
	if err != nil {
		return nil, err
	}
	body := strings.NewReplacer(`"static-VERSION"`, string(version), "FILES", string(list)).
		Replace(web.views.Static.File("sw.js"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.CallerOf(r.Context()).Door = warranty.DoorWeb
		h := w.Header()
		h.Set("Content-Type", "text/javascript; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'")
		_, _ = w.Write([]byte(body)) // the client may be gone
	}), nil
}
