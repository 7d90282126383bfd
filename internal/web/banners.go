package web

import (
	"net/http"
	"strings"
)

// bannerKind is what a banner says of what was just done. It is the CSS class of the banner.
type bannerKind string

// The kinds of banners. Only success is green and has a tick.
const (
	success bannerKind = "success"
	failure bannerKind = "error" // it was not done, or not all of it
	info    bannerKind = "info"
)

// icon returns the name of the icon of a kind.
func (k bannerKind) icon() string {
	return map[bannerKind]string{success: "check", failure: "warning"}[k]
}

// banner is a message above a page.
type banner struct {
	Kind bannerKind
	Text string
}

// Icon returns the name of the banner's icon, or "" if it has none.
func (b banner) Icon() string { return b.Kind.icon() }

// Role returns the ARIA role of the banner.
func (b banner) Role() string {
	if b.Kind == failure {
		return "alert"
	}
	return "status"
}

// flash returns the key of the message for the done parameter of a redirect. Unknown values
// are ignored, so a link cannot put text on a page.
func flash(r *http.Request) string {
	done := r.URL.Query().Get("done")
	if _, known := flashes[done]; known && !ownFlashes[done] {
		return "done." + done
	}
	return ""
}

// ownFlashes are the messages that pages show themselves. Links cannot show them.
var ownFlashes = map[string]bool{"kept": true, "taken": true}

// Banner returns the message of a page about what was just done.
func (v view) Banner() banner {
	return banner{flashes[strings.TrimPrefix(v.Flash, "done.")], v.In.get(v.Flash)}
}

// flashes has the kind of each message about what was just done.
var flashes = map[string]bannerKind{
	"accepted":              success,
	"account_lost":          info,
	"address_removed":       success,
	"address_verified":      success,
	"app_disconnected":      success,
	"app_updated":           success,
	"assigned":              success,
	"called_off":            success,
	"code_sent":             success,
	"confirmed":             success,
	"confirmed_several":     success,
	"converted":             success,
	"corrected":             success,
	"created":               success,
	"declined":              success,
	"deleted":               success,
	"disabled":              success,
	"domain_added":          success,
	"domain_checked":        failure,
	"domain_removed":        success,
	"domain_verified":       success,
	"duplicate":             info,
	"enabled":               success,
	"erased":                success,
	"filed":                 success,
	"filed_without":         failure,
	"invitation_cancelled":  success,
	"invited":               success,
	"joined":                success,
	"kept":                  info,
	"left":                  success,
	"mail_given_up":         success,
	"mail_gone":             info,
	"mail_retried":          success,
	"mailed":                success,
	"mails_none":            info,
	"mails_retried":         success,
	"codes_ended":           success,
	"member_removed":        success,
	"moved":                 success,
	"offer_cancelled":       success,
	"organization_created":  success,
	"organization_deleted":  success,
	"organization_restored": success,
	"password":              success,
	"product_added":         success,
	"product_deleted":       success,
	"removed":               success,
	"renamed":               success,
	"replaced":              success,
	"reply_deleted":         success,
	"reply_saved":           success,
	"restored":              success,
	"revoked":               success,
	"role_changed":          success,
	"saved":                 success,
	"seller_left":           success,
	"set_up":                success,
	"sent":                  success,
	"sign_in_again":         info,
	"signed_out":            failure,
	"taken":                 success,
	"unchanged":             info,
	"undeleted":             success,
	"updated":               success,
	"uploaded":              success,
	"verified":              success,
	"view_deleted":          success,
	"view_saved":            success,
}
