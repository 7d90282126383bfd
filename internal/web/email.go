package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

const emailPage = "/settings/email"

// emailSettings is the page /settings/email: the reminders of the account, and which emails the person gets.
type emailSettings struct {
	Reminders, Mails form
	Days             string // what the account chose
}

// daysText formats days for a form: 30, 7.
func daysText(d warranty.ReminderDays) string { return strings.ReplaceAll(d.String(), ",", ", ") }

func (web *Web) emailSettings(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showEmail(w, r, who, http.StatusOK, emailSettings{})
}

// showEmail shows the settings. A form without values is filled from them.
func (web *Web) showEmail(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p emailSettings,
) error {
	chosen, err := web.Service.GetReminders(r.Context(), who, warranty.GetReminders{})
	if err != nil {
		return err
	}
	p.Days = daysText(chosen.Days)
	if p.Reminders.Values == nil {
		p.Reminders.Values = url.Values{"days": {p.Days}, "weekly": {strconv.FormatBool(chosen.Weekly)}}
	}
	if p.Mails.Values == nil {
		mails, err := web.mailChoices(r, who)
		if err != nil {
			return err
		}
		p.Mails.Values = url.Values{
			"mail_warranty_end": {strconv.FormatBool(mails.WarrantyEnd)},
			"mail_claims":       {strconv.FormatBool(mails.Claims)},
			"mail_token_expiry": {strconv.FormatBool(mails.TokenExpiry)},
		}
	}
	v := view.Page{Title: web.t(r, "email.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: p}
	return web.show(w, r, status, "email", v)
}

// mailChoices returns which emails the person gets for the account that they act for.
func (web *Web) mailChoices(r *http.Request, who warranty.Principal) (warranty.MailChoices, error) {
	if who.ActsForOrganization() {
		o, err := web.Service.GetOrganization(r.Context(), who, warranty.GetOrganization{ID: who.Account.ID})
		return o.Mails, err
	}
	a, err := web.Service.GetAccount(r.Context(), who, warranty.GetAccount{})
	return a.Mails, err
}

func (web *Web) updateReminders(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.UpdateReminders, warranty.Reminders]{
		op: api.UpdateReminders,
		do: web.Service.UpdateReminders,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showEmail(w, r, who, f.status, emailSettings{Reminders: f})
		},
		next: func(form, warranty.Reminders) string { return emailPage + "?done=saved" },
	})
}

// updateMailChoices sets which emails the person gets for the account that they act for.
func (web *Web) updateMailChoices(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	again := func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
		return web.showEmail(w, r, who, f.status, emailSettings{Mails: f})
	}
	if !who.ActsForOrganization() {
		return submit(web, w, r, who, action[warranty.UpdateAccount, warranty.Account]{
			op:    api.UpdateAccount,
			do:    web.Service.UpdateAccount,
			again: again,
			next:  func(form, warranty.Account) string { return emailPage + "?done=saved" },
		})
	}
	r.SetPathValue("id", who.Account.ID.String())
	return submit(web, w, r, who, action[warranty.UpdateOrganization, warranty.Organization]{
		op:    api.UpdateOrganization,
		do:    web.Service.UpdateOrganization,
		again: again,
		next:  func(form, warranty.Organization) string { return emailPage + "?done=saved" },
	})
}

// remindPart is the part of a warranty's page that chooses its reminders.
type remindPart struct {
	warranty.WarrantyReminders
	form
	Text string // what was chosen
}

// reminders returns the part of a warranty's page with the form f, or nil if the warranty needs no reminders.
func (web *Web) reminders(
	r *http.Request, who warranty.Principal, w warranty.Warranty, f form,
) (*remindPart, error) {
	if w.EndDate == warranty.Lifetime || w.Status != warranty.Active && w.Status != warranty.Upcoming {
		return nil, nil
	}
	in := warranty.GetWarrantyReminders{ID: warranty.WarrantyKey{ID: w.ID}}
	chosen, err := web.Service.GetWarrantyReminders(r.Context(), who, in)
	if err != nil {
		return nil, err
	}
	account, err := web.Service.GetReminders(r.Context(), who, warranty.GetReminders{})
	if err != nil {
		return nil, err
	}
	p := &remindPart{WarrantyReminders: chosen, form: f, Text: web.t(r, "remind.none")}
	switch {
	case len(chosen.Days) > 0:
		p.Text = web.t(r, "remind.days", daysText(chosen.Days))
	case chosen.Choice == warranty.AccountReminders && account.Weekly && w.Roles.Has(warranty.Owner):
		p.Text = web.t(r, "remind.weekly")
	}
	if p.Values == nil {
		p.Values = url.Values{"choice": {chosen.Choice.String()}}
		if chosen.Choice == warranty.OwnReminders {
			p.Values.Set("days", daysText(chosen.Days))
		}
	}
	return p, nil
}

func (web *Web) updateWarrantyReminders(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.UpdateWarrantyReminders, warranty.WarrantyReminders]{
		op: api.UpdateWarrantyReminders,
		do: web.Service.UpdateWarrantyReminders,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showWarranty(w, r, who, warrantyForms{remind: f})
		},
		next: func(form, warranty.WarrantyReminders) string {
			return "/warranties/" + r.PathValue("id") + "?done=saved"
		},
	})
}

// unsubscribePage is the page of an address in an email that turns emails like it off.
type unsubscribePage struct {
	Kind    string             // the end of the keys of its texts
	Account string             // the organization that the emails are about, if any
	Claim   warranty.Reference // the claim that they are about, if any
	Wanted  bool
	Done    bool
	Token   string
}

// unsubscribe asks before it turns emails off, because programs that scan emails follow links.
func (web *Web) unsubscribe(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	s, err := web.Service.Subscription(r.Context(), who, r.PathValue("token"))
	if err != nil {
		return web.refuseUnsubscribe(w, r, who, err)
	}
	return web.showUnsubscribe(w, r, who, http.StatusOK, unsubscribePage{
		Kind: s.Kind.String(), Account: s.Account, Claim: s.Claim, Wanted: s.Wanted, Done: !s.Wanted,
	})
}

// doUnsubscribe turns emails off at once, or on again. Mail programs send the form without a cookie (RFC 8058); a
// cookie changes nothing, because the token names the person.
func (web *Web) doUnsubscribe(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	values, err := formValues(w, r)
	if err != nil {
		return err
	}
	wanted := values.Get("subscribe") == "true"
	s, err := web.Service.Subscribe(r.Context(), who, r.PathValue("token"), wanted)
	if err != nil {
		return web.refuseUnsubscribe(w, r, who, err)
	}
	return web.showUnsubscribe(w, r, who, http.StatusOK, unsubscribePage{
		Kind: s.Kind.String(), Account: s.Account, Claim: s.Claim, Wanted: s.Wanted, Done: true,
	})
}

// refuseUnsubscribe shows the same page for every token that is not valid.
func (web *Web) refuseUnsubscribe(w http.ResponseWriter, r *http.Request, who warranty.Principal, err error) error {
	if warranty.AsError(err).Code != warranty.NotFound {
		return err
	}
	return web.showUnsubscribe(w, r, who, http.StatusNotFound, unsubscribePage{})
}

func (web *Web) showUnsubscribe(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p unsubscribePage,
) error {
	p.Token = r.PathValue("token")
	v := view.Page{Title: web.t(r, "unsubscribe.title"), Who: who, NoIndex: true, Body: p}
	return web.show(w, r, status, "unsubscribe", v)
}
