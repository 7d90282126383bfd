package view

import (
	"time"

	"warranty.example/svc/warranty"
)

// Page is the data of a page's template.
type Page struct {
	Title string
	// Service is the name of the service.
	Service string
	Nav     string // the current item of the navigation
	Who     warranty.Principal
	Flash   string // the key of the message about what was just done
	Undo    string // the address of the form that undoes what was just done
	Body    any    // the data of the page itself
	Next    string // where to go after the email address was verified, if not to the overview
	// In is the language of the page, and Zone the time zone of its times.
	In   *Texts
	Zone *time.Location
	// Here is the address of the page, and Languages are those to choose from. Pages of signed-in users have none.
	Here      string
	Languages []LanguageChoice
	// Holds means that the page holds a form that would be lost with it, so that other links open in a new tab.
	Holds bool
	// NoIndex keeps the page out of search engines.
	NoIndex bool
	// Refresh loads the page again every few seconds in browsers without scripts.
	Refresh bool
	// Acting is the account that the browser acts for, also on the person's own pages. Accounts are
	// those that the person can act for.
	Acting   warranty.Acting
	Accounts []warranty.AccountChoice
	// MustVerify means that the user must verify the email address before creating a token
	// or a calendar feed.
	MustVerify bool
}

// SignedIn reports whether the user is signed in.
func (v Page) SignedIn() bool { return v.Who.Credential == warranty.BySession }

// MayWrite reports whether the person may change records of the account.
func (v Page) MayWrite() bool { return v.Who.Account.Role.Includes(warranty.Member) }

// MayManage reports whether the person may manage the account.
func (v Page) MayManage() bool { return v.Who.Account.Role.Includes(warranty.Admin) }

// Others returns a few accounts besides the current one.
func (v Page) Others() (list []warranty.Acting) {
	for _, a := range v.Accounts {
		if a.ID != v.Acting.ID && len(list) < 5 {
			list = append(list, a.Acting)
		}
	}
	return list
}

// Current returns the account that the browser acts for, to show it.
func (v Page) Current() warranty.AccountChoice { return warranty.AccountChoice{Acting: v.Acting} }

// Waiting returns the number of claims that wait for the account that the browser acts for.
func (v Page) Waiting() int64 {
	for _, a := range v.Accounts {
		if a.ID == v.Acting.ID {
			return a.Waiting
		}
	}
	return 0
}

// Personal reports whether the page is the person's own while the browser acts for an organization.
func (v Page) Personal() bool { return v.Acting.ID != v.Who.Account.ID }
