package web

import (
	"net/http"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// shortcuts shows the keyboard shortcuts, which the key ? also shows in a dialog.
func (web *Web) shortcuts(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.show(w, r, http.StatusOK, "shortcuts", view.Page{Title: web.t(r, "shortcuts.title"), Nav: "settings", Who: who})
}
