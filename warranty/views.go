package warranty

// MaxViews is the number of views that an account can save.
const MaxViews = 50

// SavedView is a saved view of an account's list of warranties in the web app.
type SavedView struct {
	ID    ID
	Name  string
	Query string // of the page's URL
}

// Path returns the page of the view.
func (v SavedView) Path() string {
	if v.Query == "" {
		return "/warranties"
	}
	return "/warranties?" + v.Query
}

// Check validates the view.
func (v *SavedView) Check() error {
	var c Checks
	v.Name = c.text("name", v.Name, 1, 60)
	v.Query = c.text("query", v.Query, 0, 2000)
	return c.Err()
}
