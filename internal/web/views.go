package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/warranty"
)

// listColumns are the columns of the list that can be hidden, and those that are shown unless chosen.
var listColumns = []string{"numbers", "supplier", "brand", "starts", "status", "coverage", "ends"}

var usualColumns = []string{"numbers", "status", "coverage", "ends"}

// columnsLifetime is how long the choice of columns is remembered after it was made.
const columnsLifetime = 365 * 24 * time.Hour

func (web *Web) columnsCookie() string {
	return strings.Replace(web.cookieName(), "session", "columns", 1)
}

// columnsOf returns the columns of the list that the person has chosen. Unknown ones are ignored.
func (web *Web) columnsOf(r *http.Request) map[string]bool {
	chosen := usualColumns
	if cookie, err := r.Cookie(web.columnsCookie()); err == nil {
		chosen = strings.Split(cookie.Value, ".")
	}
	shown := map[string]bool{exportShown: slices.Contains(chosen, exportShown)}
	for _, name := range listColumns {
		shown[name] = slices.Contains(chosen, name)
	}
	return shown
}

// exportShown is the choice to export only the shown columns.
const exportShown = "export"

// columnFields are the fields of a warranty that a column shows.
var columnFields = map[string][]string{
	"numbers":  {"reference_number", "serial_number"},
	"supplier": {"supplier"},
	"brand":    {"brand", "model"},
	"starts":   {"start_date"},
	"status":   {"status"},
	"coverage": {"days_remaining"},
	"ends":     {"end_date"},
}

// exportedFields returns the fields to export: those that the list shows if the person has chosen so, or nil for all.
func (web *Web) exportedFields(r *http.Request) (fields []string) {
	shown := web.columnsOf(r)
	if !shown[exportShown] {
		return nil
	}
	fields = []string{"product_name", "category", "seller_name"} // the first column
	for _, name := range listColumns {
		if shown[name] {
			fields = append(fields, columnFields[name]...)
		}
	}
	return fields
}

// chooseColumns remembers the columns of the list in a cookie.
func (web *Web) chooseColumns(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	chosen := []string{"none"}
	for _, name := range append([]string{exportShown}, listColumns...) {
		if f.Has("column", name) {
			chosen = append(chosen, name)
		}
	}
	web.setHostCookie(w, web.columnsCookie(), strings.Join(chosen, "."), web.Service.Now().Add(columnsLifetime))
	return redirect(w, r, listPath(f.Values))
}

// listPath returns the list with the filters and the order of a form.
func listPath(values url.Values) string {
	return strings.TrimSuffix("/warranties?"+queryOf(values).Encode(), "?")
}

// saveView saves the filters and the order of the list under a name.
func (web *Web) saveView(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	query := queryOf(f.Values)
	v := warranty.SavedView{Name: f.Value("name"), Query: query.Encode()}
	if err := web.Service.SaveView(r.Context(), who, v); err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		f.Wrong = cmp.Or(f.Wrong, f.Error("query"))
		shown := r.Clone(r.Context()) // the list that the person was on
		shown.URL = &url.URL{Path: "/warranties", RawQuery: query.Encode()}
		return web.showWarranties(w, shown, who, f)
	}
	query.Set("done", "view_saved")
	return redirect(w, r, "/warranties?"+query.Encode())
}

func (web *Web) deleteView(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/warranties?done=view_deleted", warranty.ParseID, func(id warranty.ID) error {
		return web.Service.DeleteView(r.Context(), who, id)
	})
}
