package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// calendarPage is the page /settings/calendar.
type calendarPage struct {
	Since   *time.Time // when the feed was created; nil if there is none
	Address string     // the address of a new feed, shown once
}

func (web *Web) calendar(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showCalendar(w, r, who, http.StatusOK)
}

func (web *Web) showCalendar(w http.ResponseWriter, r *http.Request, who warranty.Principal, status int) error {
	since, err := web.Service.CalendarSince(r.Context(), who)
	if err != nil {
		return err
	}
	return web.show(w, r, status, "calendar", view.Page{
		Title: web.t(r, "calendar.title"),
		Nav:   "settings",
		Who:   who,
		Flash: view.Flash(r),
		Body:  calendarPage{Since: since},
	})
}

func (web *Web) newCalendar(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	secret, err := web.Service.NewCalendar(r.Context(), who)
	if warranty.AsError(err).Code == warranty.EmailNotVerified {
		return web.showCalendar(w, r, who, http.StatusForbidden) // the page asks to verify the address
	}
	if err != nil {
		return err
	}
	now := web.Service.Now()
	return web.show(w, r, http.StatusOK, "calendar", view.Page{Title: web.t(r, "calendar.title"), Nav: "settings", Who: who,
		Body: calendarPage{Since: &now, Address: web.PublicURL + "/calendar/" + secret + ".ics"}})
}

func (web *Web) dropCalendar(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if err := web.Service.DropCalendar(r.Context(), who); err != nil {
		return err
	}
	return redirect(w, r, "/settings/calendar?done=saved")
}

// feed serves the calendar (RFC 5545): an all-day event on the end date of each
// warranty. The address is the credential, because calendar apps send no other.
func (web *Web) feed(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	secret, ok := strings.CutSuffix(r.PathValue("file"), ".ics")
	if !ok {
		return warranty.ErrNotFound
	}
	list, err := web.Service.Calendar(r.Context(), secret)
	if err != nil {
		return err
	}
	var b strings.Builder
	line := func(name, value string) { b.WriteString(fold(name + ":" + value)) }
	line("BEGIN", "VCALENDAR")
	line("VERSION", "2.0")
	line("PRODID", "-//Warranty Records//"+web.Version+"//EN")
	line("X-WR-CALNAME", escapeICS(web.t(r, "calendar.name")))
	line("REFRESH-INTERVAL;VALUE=DURATION", "PT12H")
	for _, w := range list {
		line("BEGIN", "VEVENT")
		line("UID", w.ID.String()+"@warranty-records")
		line("DTSTAMP", w.UpdatedAt.UTC().Format("20060102T150405Z"))
		line("DTSTART;VALUE=DATE", w.EndDate.Time().Format("20060102"))
		line("DTEND;VALUE=DATE", w.EndDate.Time().AddDate(0, 0, 1).Format("20060102"))
		line("SUMMARY", escapeICS(web.t(r, "calendar.event", w.ProductName)))
		line("DESCRIPTION", escapeICS(string(w.ReferenceNumber)))
		line("URL", web.PublicURL+"/warranties/"+w.ID.String())
		line("TRANSP", "TRANSPARENT")
		line("END", "VEVENT")
	}
	line("END", "VCALENDAR")
	w.Header().Set("Content-Type", "text/calendar; charset=utf-8")
	w.Header().Set("X-Robots-Tag", "noindex")
	_, _ = fmt.Fprint(w, b.String()) // the client may be gone
	return nil
}

// escapeICS escapes text (RFC 5545, 3.3.11), so that it cannot add properties.
func escapeICS(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", "").Replace(text)
}

// fold ends a line and folds it between characters to at most 75 bytes (RFC 5545, 3.1).
func fold(line string) string {
	var b strings.Builder
	width := 0
	for _, r := range line {
		if n := len(string(r)); width+n > 73 {
			b.WriteString("\r\n ")
			width = 1 + n
		} else {
			width += n
		}
		b.WriteRune(r)
	}
	return b.String() + "\r\n"
}
