// Package web serves the HTML pages. Every action on a page is an operation of the
// service, authenticated by a session cookie.
package web

import (
	"context"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// Web serves the HTML pages.
type Web struct {
	Service   *service.Service
	Jobs      *jobs.Jobs
	Log       *slog.Logger
	PublicURL string
	Version   string
	// OAuth means that apps can ask for access.
	OAuth bool
	// Redis returns the state of Redis and the number of servers that share it. It is nil without
	// Redis.
	Redis func() (up bool, servers int)
	// CertificateExpires returns the end of the certificate's validity, or the zero time if there is
	// none yet. It is nil without TLS.
	CertificateExpires func() time.Time

	views     *view.Views
	reference func() (reference, error) // made when it is first shown
	kept      sync.Map                  // of language and group: the keptPage of /docs
	guard     *http.CrossOriginProtection
	forms     *http.ServeMux // the routes of resumable forms; see drafts.go
	confirmed *http.ServeMux // the routes of forms that may need a confirmed session; see confirm.go
}

// page handles a request for a page. A returned error is shown as an error page.
type page func(w http.ResponseWriter, r *http.Request, who warranty.Principal) error

// route is a pattern and its handler.
type route struct {
	pattern string
	page    page
	open    bool // no session required
	// personal means that the page is the person's own, whichever account they act for.
	personal bool
	// needs is the role that the form on the page needs, if any.
	needs warranty.MemberRole
	// checks means that the page checks the account of its form itself.
	checks bool
	// anyOrigin means that forms of other sites and of mail programs are accepted: the path has a token that
	// names the person, and the session changes nothing.
	anyOrigin bool
	// popup means that the page may be in a window that another site opened and waits for: no opener policy.
	popup bool
	// setup means that the page is shown before the service is set up.
	setup bool
}

// Handlers returns the handlers of all pages and their files, by their patterns.
func (web *Web) Handlers() (handlers map[string]http.Handler, err error) {
	if web.views, err = view.Embedded(); err != nil {
		return nil, err
	}
	web.reference = sync.OnceValues(func() (reference, error) { return newReference(web.PublicURL) })
	web.guard = http.NewCrossOriginProtection()
	// Behind a proxy, the Host header may differ from the public address.
	if err := web.guard.AddTrustedOrigin(web.PublicURL); err != nil {
		return nil, err
	}
	web.guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.Refuse(w, r, warranty.Refuse(warranty.RoleNotAllowed, "%s", web.t(r, "error.cross_origin")))
	}))
	worker, err := web.serviceWorker()
	if err != nil {
		return nil, err
	}
	handlers = map[string]http.Handler{"GET /static/{hash}/{name}": web.views.Static, "GET /sw.js": worker,
		"GET /logos/{file}": http.HandlerFunc(web.logo)}
	web.forms, web.confirmed = http.NewServeMux(), http.NewServeMux()
	for _, r := range web.routes() {
		page := web.serve(r)
		if strings.HasPrefix(r.pattern, "POST ") && !r.open && !strings.HasPrefix(r.pattern+"/", "POST "+confirmPath+"/") {
			web.confirmed.Handle(r.pattern, page)
		}
		if !r.anyOrigin {
			page = web.guard.Handler(page)
		}
		handlers[r.pattern] = page
		again := http.NotFoundHandler()
		if slices.Contains(resumable, r.pattern) {
			again = web.serveResumed(r)
		}
		web.forms.Handle(r.pattern, again)
	}
	return handlers, nil
}

// routes lists all pages.
func (web *Web) routes() []route {
	return []route{
		{pattern: "GET /{$}", page: web.overview},
		{pattern: "GET /verify", page: web.verifyForm, open: true},
		{pattern: "POST /check", page: web.check, open: true},
		{pattern: "GET /verify/{reference}", page: web.verify, open: true},
		{pattern: "GET /01/{gtin}/21/{number}", page: web.verifyProduct, open: true},

		{pattern: "GET /take", page: web.take, open: true},
		{pattern: "POST /take", page: web.previewTake, open: true},
		{pattern: "POST /take/email", page: web.emailTake, open: true},
		{pattern: "POST /take/register", page: web.registerTake, open: true},
		{pattern: "POST /take/sign-in", page: web.signInToTake, open: true},
		{pattern: "POST /take/confirm", page: web.confirmTake},
		{pattern: "POST /take/verify", page: web.verifyTake, personal: true},
		{pattern: "POST /take/resend", page: web.resendTake, personal: true},
		{pattern: "POST /take/sign-out", page: web.signOutToTake, personal: true},
		{pattern: "GET /take/done/{id}", page: web.taken},

		{pattern: "GET /stop-conversion/{token}", page: web.stopConversion, open: true},
		{pattern: "POST /stop-conversion/{token}", page: web.doStopConversion, open: true, checks: true},
		{pattern: "POST " + restoreForm, page: web.restoreAccount, open: true, popup: true},
		{pattern: "GET /not-me/{token}", page: web.notMe, open: true},
		{pattern: "POST /not-me/{token}", page: web.doNotMe, open: true, checks: true},
		{pattern: "GET /unsubscribe/{token}", page: web.unsubscribe, open: true},
		{pattern: "POST /unsubscribe/{token}", page: web.doUnsubscribe, open: true, checks: true, anyOrigin: true},

		{pattern: "POST /language", page: web.setLanguage, open: true, setup: true},

		{pattern: "GET /setup", page: web.setup, open: true, setup: true},
		{pattern: "POST /setup", page: web.doSetup, open: true, setup: true},
		{pattern: "POST /setup/test", page: web.testSetupMail, open: true, setup: true},

		{pattern: "GET /offline", page: web.offline, open: true},
		{pattern: "GET /help", page: web.help, open: true},
		{pattern: "GET /shortcuts", page: web.shortcuts, personal: true},
		{pattern: "GET /docs", page: web.docs, open: true},
		{pattern: "GET /docs/{group}", page: web.docsOf, open: true},
		{pattern: "GET /docs/errors", page: web.errorCodes, open: true},

		{pattern: "GET /oauth/authorize", page: web.authorize, open: true, popup: true},
		{pattern: "POST /oauth/authorize", page: web.decide, personal: true, checks: true, popup: true},
		{pattern: "GET /sign-in", page: web.signIn, open: true, popup: true},
		{pattern: "POST /sign-in", page: web.doSignIn, open: true, popup: true},
		{pattern: "POST /sign-in/codes", page: web.mailSignInCode, open: true, popup: true},
		{pattern: "POST /sign-in/password", page: web.signInByPassword, open: true, popup: true},
		{pattern: "GET /sign-in/code", page: web.signInCode, open: true, popup: true},
		{pattern: "POST /sign-in/code", page: web.doSignIn, open: true, popup: true},
		{pattern: "POST " + passkeySignIn, page: web.doPasskeySignIn, open: true, popup: true},
		{pattern: "POST " + secondStepForm, page: web.doSecondStep, open: true, popup: true},
		{pattern: "POST " + passkeySecondStep, page: web.doPasskeySecondStep, open: true, popup: true},
		{pattern: "POST /sign-out", page: web.doSignOut, personal: true},
		{pattern: "GET /register", page: web.register, open: true, popup: true},
		{pattern: "POST /register", page: web.doRegister, open: true, popup: true},
		{pattern: "GET /verify-email", page: web.verifyEmail, personal: true, popup: true},
		{pattern: "POST /verify-email", page: web.doVerifyEmail, personal: true, popup: true},
		{pattern: "POST /verify-email/resend", page: web.resendVerification, personal: true, popup: true},
		{pattern: "GET /reset-password", page: web.reset, open: true, popup: true},
		{pattern: "POST /reset-password", page: web.resetPassword, open: true, popup: true},
		{pattern: "GET /reset-password/confirm", page: web.newPassword, open: true, popup: true},
		{pattern: "POST /reset-password/confirm", page: web.confirmReset, open: true, popup: true},

		{pattern: "GET /search", page: web.search},
		{pattern: "GET /warranties", page: web.warranties},
		{pattern: "POST /warranties", page: web.withFiles(web.createWarranty), checks: true},
		{pattern: "GET /warranties/new", page: web.newWarranty, needs: warranty.Member},
		{pattern: "GET /warranties/export.csv", page: web.downloadWarranties},
		{pattern: "POST /warranties/export", page: web.exportWarranties},
		{pattern: "GET /warranties/import", page: web.importForm, needs: warranty.Member},
		{pattern: "POST /warranties/import", page: web.importSheet, checks: true},
		{pattern: "GET /warranties/import/samples", page: web.importSamples, needs: warranty.Member},
		{pattern: "GET /warranties/import/template.csv", page: web.importTemplate},
		{pattern: "GET /warranties/{id}", page: web.warranty},
		{pattern: "POST /warranties/{id}", page: web.updateWarranty},
		{pattern: "GET /warranties/{id}/edit", page: web.editWarranty, needs: warranty.Member},
		{pattern: "POST /warranties/{id}/delete", page: web.deleteWarranty},
		{pattern: "POST /warranties/bulk", page: web.bulk},
		{pattern: "POST /claims/bulk", page: web.bulkClaims},
		{pattern: "POST /warranties/columns", page: web.chooseColumns},
		{pattern: "POST /warranties/views", page: web.saveView},
		{pattern: "POST /warranties/views/{id}/delete", page: web.deleteView},
		{pattern: "GET /handed-over", page: web.handedOver},
		{pattern: "GET /trash", page: web.trash},
		{pattern: "POST /trash/{id}/restore", page: web.restoreWarranty},
		{pattern: "GET /warranties/{id}/certificate", page: web.certificate},
		{pattern: "GET /warranties/{id}/certificate.pdf", page: web.certificateFile},
		{pattern: "POST /warranties/{id}/transfer", page: web.offerTransfer},
		{pattern: "POST /warranties/{id}/transfer/cancel", page: web.cancelTransfer},
		{pattern: "POST /warranties/{id}/reminders", page: web.updateWarrantyReminders},
		{pattern: "POST /warranties/{id}/leave", page: web.leaveWarranty},
		{pattern: "GET /warranties/{id}/handover", page: web.handover, needs: warranty.Member},
		{pattern: "POST /warranties/{id}/handover", page: web.offerHandover},
		{pattern: "POST /warranties/{id}/slip.pdf", page: web.slipFile},
		{pattern: "POST /warranties/{id}/handover/cancel", page: web.cancelHandover},
		{pattern: "GET /jobs", page: web.jobs},
		{pattern: "GET /jobs/{id}", page: web.job},
		{pattern: "GET /jobs/{id}/file", page: web.exportFile},
		{pattern: "GET /jobs/{id}/not-imported.csv", page: web.jobLeftOut},
		{pattern: "POST /jobs/{id}/undo", page: web.undoJob},
		{pattern: "GET /customers", page: web.customers},
		{pattern: "GET /customers/export.csv", page: web.exportCustomers},
		{pattern: "GET /customers/suggest", page: web.suggestCustomers},
		{pattern: "GET /customers/new", page: web.newCustomer, needs: warranty.Member},
		{pattern: "POST /customers", page: web.addCustomer},
		{pattern: "GET /customers/{id}", page: web.customer},
		{pattern: "POST /customers/{id}", page: web.updateCustomer},
		{pattern: "GET /customers/{id}/edit", page: web.editCustomer, needs: warranty.Member},
		{pattern: "GET /customers/{id}/merge", page: web.mergeCustomer, needs: warranty.Member},
		{pattern: "POST /customers/{id}/merge", page: web.mergeCustomers},
		{pattern: "POST /customers/{id}/unmerge", page: web.unmergeCustomer},
		{pattern: "GET /labels", page: web.labels},
		{pattern: "POST /labels", page: web.printLabels},
		{pattern: "POST /labels.pdf", page: web.labelsFile},
		{pattern: "GET /issue", page: web.issue, needs: warranty.Member},
		{pattern: "POST /issue", page: web.doIssue},
		{pattern: "GET /products", page: issuing(web.products)},
		{pattern: "POST /products", page: web.createProduct},
		{pattern: "GET /products/new", page: issuing(web.newProduct), needs: warranty.Member},
		{pattern: "GET /products/import", page: issuing(web.productsForm), needs: warranty.Member},
		{pattern: "POST /products/import", page: web.importProducts, checks: true},
		{pattern: "GET /products/{id}", page: web.editProduct, needs: warranty.Member},
		{pattern: "POST /products/{id}", page: web.updateProduct},
		{pattern: "POST /products/{id}/delete", page: web.deleteProduct},
		{pattern: "GET /confirmations", page: web.confirmations},
		{pattern: "POST /confirmations", page: web.decideSeveral},
		{pattern: "POST /confirmations/{id}", page: web.decideConfirmation},
		{pattern: "GET /claims", page: web.claims},
		{pattern: "POST /claims", page: web.withFiles(web.fileClaim), checks: true},
		{pattern: "GET /claims/new", page: web.newClaim, needs: warranty.Member},
		{pattern: "GET /claims/{id}", page: empty(web.showClaim)},
		{pattern: "POST /claims/{id}/status", page: web.moveClaim},
		{pattern: "POST /claims/{id}/messages", page: web.withFiles(web.sendMessage), checks: true},
		{pattern: "POST /claims/{id}/assignee", page: web.assignClaim},
		{pattern: "POST /claims/{id}/notes", page: web.noteClaim},
		{pattern: "POST /claims/{id}/muted", page: web.muteClaim},
		{pattern: "POST /claims/{id}/documents/{document}/remove", page: web.detachDocument},
		{pattern: newsPattern, page: web.claimNews},
		{pattern: "GET /settings/replies", page: empty(web.showReplies)},
		{pattern: "POST /settings/replies", page: web.createReply},
		{pattern: "POST /settings/replies/{id}", page: web.updateReply},
		{pattern: "POST /settings/replies/{id}/delete", page: web.deleteReply},
		{pattern: "GET /documents", page: web.documents},
		{pattern: "POST /documents", page: web.withFiles(web.uploadDocument), checks: true},
		{pattern: "GET /documents/new", page: web.newDocument, needs: warranty.Member},
		{pattern: "GET /documents/versions", page: web.versions},
		{pattern: "POST /documents/versions/{id}/erase", page: web.eraseVersion},
		{pattern: "GET /documents/{id}", page: empty(web.showDocument)},
		{pattern: "GET /documents/{id}/file", page: web.downloadDocument},
		{pattern: "GET /documents/{id}/view", page: web.viewDocument},
		{pattern: "GET /documents/{id}/thumbnail", page: web.thumbnail},
		{pattern: "POST /documents/{id}/rename", page: web.renameDocument},
		{pattern: "POST /documents/{id}/replace", page: web.withFiles(web.replaceDocument), checks: true},
		{pattern: "POST /documents/{id}/versions/{version}/restore", page: web.restoreVersion},
		{pattern: "POST /documents/{id}/delete", page: web.deleteDocument},
		{pattern: "GET /settings", page: web.settings},
		{pattern: "GET /settings/profile", page: web.profile, personal: true},
		{pattern: "POST /settings/profile", page: web.updateProfile, personal: true},
		{pattern: "GET /settings/security", page: web.security, personal: true},
		{pattern: "POST /settings/security/password", page: web.changePassword, personal: true},
		{pattern: "POST /settings/security/sessions/{id}/end", page: web.endSession, personal: true},
		{pattern: "POST /settings/security/sign-out-others", page: web.endOtherSessions, personal: true},
		{pattern: "POST /settings/security/sign-out-everywhere", page: web.signOutEverywhere, personal: true},
		{pattern: "GET " + addressPath, page: web.changeAddress, personal: true},
		{pattern: "POST " + addressPath, page: web.mailAddressCode, personal: true},
		{pattern: "POST " + addressPath + "/confirm", page: web.confirmAddress, personal: true},
		{pattern: "GET " + deletePath, page: web.deleteAccount, personal: true},
		{pattern: "POST " + deletePath, page: web.doDeleteAccount, personal: true},
		{pattern: "POST " + passkeysPath, page: web.addPasskey, personal: true},
		{pattern: "GET " + passkeysPath + "/new", page: web.newPasskey, personal: true},
		{pattern: "GET " + passkeysPath + "/{id}", page: web.passkey, personal: true},
		{pattern: "POST " + passkeysPath + "/{id}", page: web.renamePasskey, personal: true},
		{pattern: "POST " + passkeysPath + "/{id}/remove", page: web.removePasskey, personal: true},
		{pattern: "POST /settings/security/totp", page: web.addApp, personal: true},
		{pattern: "POST /settings/security/totp/confirm", page: web.confirmApp, personal: true},
		{pattern: "POST /settings/security/totp/remove", page: web.removeApp, personal: true},
		{pattern: "POST /settings/security/two-step/on", page: web.turnOnTwoStep, personal: true},
		{pattern: "POST /settings/security/two-step/off", page: web.turnOffTwoStep, personal: true},
		{pattern: "POST /settings/security/recovery-codes", page: web.newRecoveryCodes, personal: true},
		{pattern: "POST /settings/security/recovery-codes/file", page: web.recoveryCodesFile, personal: true},
		{pattern: "POST /settings/profile/restore", page: web.restoreSetAside, personal: true},
		{pattern: "GET /.well-known/change-password", page: web.toPassword, open: true},
		{pattern: "POST /switch", page: web.switchAccount, personal: true, checks: true},
		{pattern: "GET /settings/organizations", page: web.organizations, personal: true},
		{pattern: "POST /settings/organizations", page: web.createOrganization, personal: true},
		{pattern: "GET /settings/organizations/new", page: web.newOrganization, personal: true},
		{pattern: "POST /settings/organizations/{id}/restore", page: web.restoreOrganization, personal: true},
		{pattern: "GET " + confirmPath, page: web.confirm, personal: true},
		{pattern: "POST " + confirmPath, page: web.doConfirm, personal: true},
		{pattern: "POST " + passkeyConfirm, page: web.doPasskeyConfirm, personal: true},
		{pattern: "POST " + confirmPath + "/code", page: web.mailConfirmCode, personal: true},
		{pattern: "GET /settings/convert", page: web.convert, personal: true},
		{pattern: "POST /settings/convert", page: web.convertAccount, personal: true},
		{pattern: "POST /settings/convert/code", page: web.mailConvertCode, personal: true},
		{pattern: "POST /settings/convert/confirm", page: web.confirmConversion, personal: true},
		{pattern: "GET /invitations/accept", page: empty(web.showAcceptInvitation), personal: true},
		{pattern: "POST /invitations/accept", page: web.acceptInvitation, personal: true},
		{pattern: "GET /settings/organization", page: inOrganization(web.organization)},
		{pattern: "POST /settings/organization", page: inOrganization(web.updateOrganization)},
		{pattern: "POST /settings/organization/delete", page: inOrganization(web.deleteOrganization)},
		{pattern: "GET /settings/members", page: inOrganization(web.members)},
		{pattern: "GET /settings/members/invite", page: inOrganization(web.newInvitation), needs: warranty.Admin},
		{pattern: "POST /settings/members/invite", page: inOrganization(web.invite)},
		{pattern: "POST /settings/invitations/{invitation_id}/cancel", page: inOrganization(web.cancelInvitation)},
		{pattern: "GET /settings/members/{user_id}", page: inOrganization(empty(web.showMember))},
		{pattern: "POST /settings/members/{user_id}", page: inOrganization(web.updateMember)},
		{pattern: "POST /settings/members/{user_id}/remove", page: inOrganization(web.removeMember)},
		{pattern: "GET /settings/addresses", page: inOrganization(web.addresses)},
		{pattern: "POST /settings/addresses", page: inOrganization(web.addAddress)},
		{pattern: "POST /settings/addresses/verify", page: inOrganization(web.verifyAddress)},
		{pattern: "POST /settings/addresses/{address_id}/remove", page: inOrganization(web.removeAddress)},
		{pattern: "GET /settings/printed-codes", page: inOrganization(web.printedCodes)},
		{pattern: "POST /settings/printed-codes/end", page: inOrganization(web.endPrintedCodes)},
		{pattern: "GET /settings/domains", page: inOrganization(web.domains)},
		{pattern: "POST /settings/domains", page: inOrganization(web.addDomain)},
		{pattern: "POST /settings/domains/{domain_id}/check", page: inOrganization(web.checkDomain)},
		{pattern: "POST /settings/domains/{domain_id}/remove", page: inOrganization(web.removeDomain)},
		{pattern: "GET /settings/brand", page: inOrganization(web.brand)},
		{pattern: "POST /settings/brand", page: inOrganization(web.updateBrand), checks: true},
		{pattern: "GET /settings/api", page: web.settingsAPI},
		{pattern: "GET /settings/api/new", page: empty(web.showTokenForm), needs: warranty.Admin},
		{pattern: "GET /settings/api/tokens", page: web.toTokens},
		{pattern: "POST /settings/api/tokens", page: web.createToken},
		{pattern: "GET /settings/api/tokens/{id}", page: empty(web.showToken)},
		{pattern: "GET /settings/api/tokens/{id}/first", page: web.firstRequest},
		{pattern: "GET /settings/api/tokens/{id}/rotate", page: web.toToken},
		{pattern: "POST /settings/api/tokens/{id}/rotate", page: web.rotateToken},
		{pattern: "POST /settings/api/tokens/{id}/revoke", page: web.revokeToken},
		{pattern: "GET /settings/api/requests", page: web.requests},
		{pattern: "GET /settings/email", page: web.emailSettings},
		{pattern: "POST /settings/email", page: web.updateReminders},
		{pattern: "POST /settings/email/choices", page: web.updateMailChoices},
		{pattern: "GET /settings/apps", page: web.apps},
		{pattern: "POST /settings/apps/{id}", page: web.updateApp},
		{pattern: "POST /settings/apps/{id}/disconnect", page: web.disconnectApp},
		{pattern: "GET /settings/calendar", page: web.calendar},
		{pattern: "POST /settings/calendar", page: web.newCalendar},
		{pattern: "POST /settings/calendar/delete", page: web.dropCalendar},
		{pattern: "GET /calendar/{file}", page: web.feed, open: true},
		{pattern: "GET /admin", page: web.operators(web.admin), personal: true},
		{pattern: "GET /admin/users", page: web.operators(web.adminUsers), personal: true},
		{pattern: "GET /admin/users/{id}", page: web.operators(web.adminUser), personal: true},
		{pattern: "POST /admin/users/{id}/disable", page: web.operators(web.adminDisable), personal: true},
		{pattern: "POST /admin/users/{id}/enable", page: web.operators(web.adminEnable), personal: true},
		{pattern: "GET /admin/mails", page: web.operators(web.adminMails), personal: true},
		{pattern: "POST /admin/mails/retry", page: web.operators(web.adminRetryMails), personal: true},
		{pattern: "POST /admin/mails/{id}/retry", page: web.operators(web.adminRetryMail), personal: true},
		{pattern: "POST /admin/mails/{id}/give-up", page: web.operators(web.adminGiveUpMail), personal: true},
		{pattern: "GET /admin/errors", page: web.operators(web.adminErrors), personal: true},
		{pattern: "GET /admin/settings", page: web.operators(web.adminSettings), personal: true},
		{pattern: "POST /admin/settings", page: web.operators(web.changeAdminSettings), personal: true},
		{pattern: "GET /admin/history", page: web.operators(web.adminHistory), personal: true},
	}
}

// serve authenticates the request, calls the page and shows its error, if any.
func (web *Web) serve(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		pageHeaders(w.Header())
		if r.popup {
			w.Header().Del("Cross-Origin-Opener-Policy")
		}
		who, err := web.principal(w, req)
		if err == nil && !r.setup && who.Credential == warranty.Anonymous {
			err = web.checkSetUp(req)
		}
		switch {
		case errors.Is(err, errAccountLost) && !r.open && req.Method == http.MethodGet && !isPart(req):
			_ = redirect(w, req, "/?done=account_lost")
			return
		case errors.Is(err, errAccountLost):
			err = nil // the form says so, or the page is for everyone
		case err == nil && who.Credential == warranty.Anonymous && !r.open:
			err = errSignIn
		}
		if err == nil && who.LacksTwoStep && !mayLackTwoStep(r, req.URL.Path) {
			err = api.ErrTwoStepRequired
		}
		acting := who.Account
		if err == nil && who.Credential != warranty.Anonymous {
			if who, err = web.forPage(w, req, r, who); !r.personal && !r.open {
				acting = who.Account
			}
		}
		api.CallerOf(req.Context()).Principal = who // for the log
		req = req.WithContext(context.WithValue(req.Context(), actingKey{}, acting))
		req, who = web.read(req, who)
		if err == nil {
			err = r.page(w, req, who)
		}
		if err != nil {
			web.refuse(w, req, who, err)
		}
	})
}

// WantsHTML reports whether the request names HTML among the types that it accepts, as browsers do, and does not prefer
// JSON.
func WantsHTML(r *http.Request) bool {
	quality := map[string]float64{}
	for item := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, params, err := mime.ParseMediaType(strings.TrimSpace(item))
		if err != nil {
			continue
		}
		q, err := strconv.ParseFloat(params["q"], 64)
		if err != nil {
			q = 1
		}
		quality[kind] = max(quality[kind], q)
	}
	return quality["text/html"] > 0 && quality["text/html"] >= quality["application/json"]
}

// pageHeaders sets the security headers of all pages.
func pageHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "+
		"manifest-src 'self'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

// redirect leads to a page after a form or a button.
func redirect(w http.ResponseWriter, r *http.Request, path string) error {
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}
