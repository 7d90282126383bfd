package view

import (
	"net/http"
	"strings"
)

// BannerKind is what a banner says of what was just done. It is the CSS class of the banner.
type BannerKind string

// The kinds of banners. Only success is green and has a tick.
const (
	Success BannerKind = "success"
	Failure BannerKind = "error" // it was not done, or not all of it
	Info    BannerKind = "info"
)

// icon returns the name of the icon of a kind.
func (k BannerKind) icon() string {
	return map[BannerKind]string{Success: "check", Failure: "warning"}[k]
}

// Banner is a message above a page.
type Banner struct {
	Kind BannerKind
	Text string
}

// Icon returns the name of the banner's icon, or "" if it has none.
func (b Banner) Icon() string { return b.Kind.icon() }

// Role returns the ARIA role of the banner.
func (b Banner) Role() string {
	if b.Kind == Failure {
		return "alert"
	}
	return "status"
}

// Flash returns the key of the message for the done parameter of a redirect. Unknown values
// are ignored, so a link cannot put text on a page.
func Flash(r *http.Request) string {
	done := r.URL.Query().Get("done")
	if _, known := flashes[done]; known && !ownFlashes[done] {
		return "done." + done
	}
	return ""
}

// ownFlashes are the messages that pages show themselves. Links cannot show them.
var ownFlashes = map[string]bool{"kept": true, "taken": true}

// Banner returns the message of a page about what was just done.
func (v Page) Banner() Banner {
	return Banner{flashes[strings.TrimPrefix(v.Flash, "done.")], v.In.Text(v.Flash)}
}

// flashes has the kind of each message about what was just done.
var flashes = map[string]BannerKind{
	"accepted":              Success,
	"account_deleted":       Success,
	"account_lost":          Info,
	"address":               Success,
	"address_removed":       Success,
	"address_verified":      Success,
	"app_added":             Success,
	"app_disconnected":      Success,
	"app_removed":           Success,
	"app_updated":           Success,
	"assigned":              Success,
	"called_off":            Success,
	"code_sent":             Success,
	"confirmed":             Success,
	"converted":             Success,
	"corrected":             Success,
	"created":               Success,
	"customer_added":        Success,
	"decided_next":          Success,
	"declined":              Success,
	"deleted":               Success,
	"disabled":              Success,
	"brand_saved":           Success,
	"domain_added":          Success,
	"domain_checked":        Failure,
	"domain_removed":        Success,
	"domain_verified":       Success,
	"duplicate":             Info,
	"enabled":               Success,
	"erased":                Success,
	"filed":                 Success,
	"invitation_cancelled":  Success,
	"invited":               Success,
	"joined":                Success,
	"kept":                  Info,
	"left":                  Success,
	"mail_given_up":         Success,
	"mail_gone":             Info,
	"mail_retried":          Success,
	"mailed":                Success,
	"mails_none":            Info,
	"mails_retried":         Success,
	"codes_ended":           Success,
	"member_removed":        Success,
	"merged":                Success,
	"moved":                 Success,
	"muted":                 Success,
	"noted":                 Success,
	"offer_cancelled":       Success,
	"organization_created":  Success,
	"settings_saved":        Success,
	"organization_deleted":  Success,
	"organization_restored": Success,
	"passkey_added":         Success,
	"passkey_removed":       Success,
	"passkey_renamed":       Success,
	"password":              Success,
	"product_added":         Success,
	"product_deleted":       Success,
	"removed":               Success,
	"renamed":               Success,
	"replaced":              Success,
	"reply_deleted":         Success,
	"reply_saved":           Success,
	"restored":              Success,
	"revoked":               Success,
	"role_changed":          Success,
	"saved":                 Success,
	"session_ended":         Success,
	"sessions_ended":        Success,
	"two_step_off":          Success,
	"two_step_required":     Info,
	"seller_left":           Success,
	"set_up":                Success,
	"sent":                  Success,
	"unmerged":              Success,
	"undo_kept":             Failure,
	"undo_late":             Failure,
	"undone":                Success,
	"unmuted":               Success,
	"detached":              Success,
	"sign_in_again":         Info,
	"signed_out":            Failure,
	"taken":                 Success,
	"unchanged":             Info,
	"undeleted":             Success,
	"updated":               Success,
	"uploaded":              Success,
	"verified":              Success,
	"view_deleted":          Success,
	"view_saved":            Success,
}
