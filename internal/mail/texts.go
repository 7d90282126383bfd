package mail

import (
	"strings"
	"time"
	"unicode"

	"warranty.example/svc/warranty"
)

// VerifyEmail asks a new user to confirm their email address with a one-time
// code. The code is separate from the page's URL because URLs end up in browser
// histories and logs.
func (t Texts) VerifyEmail(to, name, code, publicURL string) Message {
	return t.message("verify_email", to, code, t.greeting(name), publicURL, code)
}

// ResetPassword sends the one-time code that sets a new password.
func (t Texts) ResetPassword(to, name, code, publicURL string) Message {
	return t.message("reset_password", to, code, t.greeting(name), publicURL, code)
}

// SignInCode sends the one-time code for signing in without a password.
func (t Texts) SignInCode(to, name, code, publicURL string) Message {
	return t.message("sign_in_code", to, code, t.greeting(name), publicURL, code)
}

// Circumstances says when and from where an account was used or changed. Program,
// System and Network never repeat the caller's own text; each may be empty.
type Circumstances struct {
	At                       time.Time
	Program, System, Network string
	PublicURL                string
}

// circumstances are facts about when and from where.
func (t Texts) circumstances(c Circumstances) blocks {
	list := t.facts(nil, "when", t.get("format.when", t.date(t.local(c.At)), t.clock(c.At)))
	switch {
	case c.Program != "" && c.System != "":
		list = t.facts(list, "device", t.get("device_on", c.Program, c.System))
	case c.Program != "":
		list = t.facts(list, "device", c.Program)
	}
	if c.Network != "" {
		list = t.facts(list, "network", c.Network)
	}
	return list
}

// facts adds a fact with the label of a key to a list.
func (t Texts) facts(list blocks, key, value string) blocks {
	if len(list) == 0 {
		list = blocks{{kind: facts}}
	}
	list[0].rows = append(list[0].rows, row{t.say(key), typed(value)})
	return list
}

// records returns a block that lists records and, at the end, how many more there are.
func (t Texts) records(list []row, more int) blocks {
	if more > 0 {
		list = append(list, row{label: t.say("more", more)})
	}
	return blocks{{kind: items, rows: list}}
}

// notice tells users what happened to their account.
func (t Texts) notice(to, name, subject, what string, c Circumstances) Message {
	m := t.message("notice", to, "", t.greeting(name), what, t.circumstances(c), c.PublicURL, t.notMe)
	m.Subject, m.NotMe = t.get(subject+".subject"), true
	return m
}

// ConfirmEmail sends the code that gives an account another address.
func (t Texts) ConfirmEmail(to, code, publicURL string) Message {
	return t.message("confirm_email", to, code, t.greeting(""), publicURL, code)
}

// EmailTaken tells the owner of an address that someone wanted to have it for another account.
func (t Texts) EmailTaken(to, publicURL string) Message {
	return t.message("email_taken", to, "", t.greeting(""), publicURL)
}

// EmailChangeAsked tells the present address of an account that someone asked to change it.
func (t Texts) EmailChangeAsked(to, name, email string, c Circumstances) Message {
	return t.notice(to, name, "email_change_asked", t.get("email_change_asked.what", email), c)
}

// EmailChanged tells the old and the new address of an account that it was changed.
func (t Texts) EmailChanged(to, name, email string, c Circumstances) Message {
	return t.notice(to, name, "email_changed", t.get("email_changed.what", email), c)
}

// AccountDeleted tells users that their account was deleted, and when it is erased.
func (t Texts) AccountDeleted(to, name string, erased time.Time, c Circumstances) Message {
	return t.notice(to, name, "account_deleted", t.get("account_deleted.what", t.date(t.local(erased))), c)
}

// AccountRestored tells users that the deletion of their account was taken back.
func (t Texts) AccountRestored(to, name string, c Circumstances) Message {
	return t.notice(to, name, "account_restored", t.get("account_restored.what"), c)
}

// NotMeDone tells users what ended because they said that it was not them.
func (t Texts) NotMeDone(to, name string, c Circumstances) Message {
	return t.message("not_me_done", to, "", t.greeting(name), t.circumstances(c), c.PublicURL)
}

// PasswordChanged tells users that their password was changed.
func (t Texts) PasswordChanged(to, name string, c Circumstances) Message {
	return t.notice(to, name, "password_changed", t.get("password_changed.what"), c)
}

// PasswordWasReset tells users that their password was reset with an emailed code.
func (t Texts) PasswordWasReset(to, name string, c Circumstances) Message {
	return t.notice(to, name, "password_was_reset", t.get("password_was_reset.what"), c)
}

// PasswordSetByOperator tells users that the operator set a new password.
func (t Texts) PasswordSetByOperator(to, name string, c Circumstances) Message {
	return t.notice(to, name, "password_was_reset", t.get("password_set.what"), c)
}

// TestMail shows whether the mail server sends emails.
func (t Texts) TestMail(to, publicURL string) Message {
	return t.message("test_mail", to, "", t.greeting(""), publicURL)
}

// SetUp tells the first administrator that the service is set up.
func (t Texts) SetUp(to, name string, c Circumstances) Message {
	return t.notice(to, name, "set_up", t.get("set_up.what"), c)
}

// TokenCreated tells users that an integration token was created.
func (t Texts) TokenCreated(to, name, token string, organization *string, c Circumstances) Message {
	token = t.plain(token, "hidden_name")
	what := t.get("token_created.what", token)
	if organization != nil {
		what = t.get("token_created.what_somewhere", token)
		if known := plainOr(*organization, ""); known != "" {
			what = t.get("token_created.what_in", token, known)
		}
	}
	return t.notice(to, name, "token_created", what, c)
}

// AppConnected tells users that an app was connected to an account of theirs.
func (t Texts) AppConnected(to, name, app string, organization *string, c Circumstances) Message {
	app = t.plain(app, "hidden_name")
	what := t.get("app_connected.what", app)
	if organization != nil {
		what = t.get("app_connected.what_somewhere", app)
		if known := plainOr(*organization, ""); known != "" {
			what = t.get("app_connected.what_in", app, known)
		}
	}
	return t.notice(to, name, "app_connected", what, c)
}

// NewSignIn tells users about a sign-in from a new device.
func (t Texts) NewSignIn(to, name string, c Circumstances) Message {
	return t.notice(to, name, "new_sign_in", t.get("new_sign_in.what"), c)
}

// PasskeyAdded tells users that a passkey was added to their account.
func (t Texts) PasskeyAdded(to, name, passkey string, c Circumstances) Message {
	return t.notice(to, name, "passkey_added", t.get("passkey_added.what", t.plain(passkey, "hidden_name")), c)
}

// PasskeyRemoved tells users that a passkey was removed from their account.
func (t Texts) PasskeyRemoved(to, name, passkey string, c Circumstances) Message {
	return t.notice(to, name, "passkey_removed", t.get("passkey_removed.what", t.plain(passkey, "hidden_name")), c)
}

// PasskeyCopied tells users that someone has a copy of a passkey.
func (t Texts) PasskeyCopied(to, name, passkey string, c Circumstances) Message {
	m := t.message("passkey_copied", to, "", t.greeting(name), t.plain(passkey, "hidden_name"), t.circumstances(c), c.PublicURL)
	m.Subject = t.get("passkey_copied.subject")
	return m
}

// TwoStepOn tells users that two-step sign-in was turned on.
func (t Texts) TwoStepOn(to, name string, c Circumstances) Message {
	return t.notice(to, name, "two_step_on", t.get("two_step_on.what"), c)
}

// TwoStepOff tells users that two-step sign-in was turned off.
func (t Texts) TwoStepOff(to, name string, c Circumstances) Message {
	return t.notice(to, name, "two_step_off", t.get("two_step_off.what"), c)
}

// AuthenticatorAdded tells users that an authenticator app was added.
func (t Texts) AuthenticatorAdded(to, name string, c Circumstances) Message {
	return t.notice(to, name, "authenticator_added", t.get("authenticator_added.what"), c)
}

// AuthenticatorRemoved tells users that their authenticator app was removed.
func (t Texts) AuthenticatorRemoved(to, name string, c Circumstances) Message {
	return t.notice(to, name, "authenticator_removed", t.get("authenticator_removed.what"), c)
}

// RecoveryCodesMade tells users that new recovery codes were made.
func (t Texts) RecoveryCodesMade(to, name string, c Circumstances) Message {
	return t.notice(to, name, "recovery_codes_made", t.get("recovery_codes_made.what"), c)
}

// RecoveryCodeUsed tells users that a recovery code was used, and how many are left.
func (t Texts) RecoveryCodeUsed(to, name string, left int, c Circumstances) Message {
	return t.notice(to, name, "recovery_code_used", t.get("recovery_code_used.what", left), c)
}

// SecondStepsFailed tells users that someone with a right first step sent many wrong codes.
func (t Texts) SecondStepsFailed(to, name string, wrong int, c Circumstances) Message {
	return t.notice(to, name, "second_steps_failed", t.get("second_steps_failed.what", wrong), c)
}

// FactorsReset tells users that the operator removed their second factors.
func (t Texts) FactorsReset(to, name string, c Circumstances) Message {
	return t.notice(to, name, "factors_reset", t.get("factors_reset.what"), c)
}

// TransferOffered sends the code that makes its recipient the owner of a warranty.
// Another user chose the address, so the email contains no text that could be used
// to send spam.
func (t Texts) TransferOffered(to, from, product, code, publicURL string) Message {
	return t.message("transfer_offered", to, code, t.greeting(""), t.plain(from, "transfer_offered.from"),
		t.plain(product, "transfer_offered.product"), publicURL, code)
}

// TransferAccepted tells former owners that a warranty which they offered has a new owner.
func (t Texts) TransferAccepted(to, name string, w warranty.Warranty, publicURL string) Message {
	return t.message("transfer_accepted", to, "", t.greeting(name), t.plain(w.ProductName, "claim.product"), w.ReferenceNumber, publicURL)
}

// Offered is a warranty in an offer, with the code that takes it.
type Offered struct{ Product, Code string }

// HandoverOffered offers warranties that an organization issued to its customer. Another user chose the
// address, so the email contains no text that could be used to send spam. Anyone can use any name, so it says
// whether the issuer has a verified domain.
func (t Texts) HandoverOffered(to string, issuer warranty.Party, list []Offered, publicURL string) Message {
	issuer.Name = plainOr(issuer.Name, "")
	by := warranty.Backing{Role: warranty.Issuer, Party: &issuer}
	from, known := by.Who(t.language), by.Note(t.language)
	if issuer.Name == "" { // it could be used to send spam
		from, known = t.get("handover_offered.from"), t.get("handover_offered.unnamed")
		if issuer.Domain != nil {
			from, known = *issuer.Domain, t.get("handover_offered.verified")
		}
	}
	if len(list) == 1 {
		return t.message("handover_offered", to, list[0].Code, t.greeting(""), from,
			t.plain(list[0].Product, "handover_offered.product"), known, publicURL, list[0].Code)
	}
	var all blocks
	codes := make([]string, len(list))
	for i, o := range list {
		codes[i] = o.Code
		all = append(all, block{kind: heading, text: typed(t.plain(o.Product, "handovers_offered.product"))})
		all = append(all, t.part("handovers_offered.open", publicURL, o.Code)...)
	}
	m := t.message("handovers_offered", to, strings.Join(codes, " "), t.greeting(""), from, len(list), known, all, publicURL)
	m.Subject = t.get("handovers_offered.subject", len(list))
	return m
}

// HandoverCode sends the six digits and the link that someone with a printed code asked for. They sign in, so it names what
// they are for. Another user chose the names, so those that could be used to send spam are left out.
func (t Texts) HandoverCode(to string, offer warranty.HandoverPreview, digits, link, publicURL string) Message {
	from := t.plain(offer.From.Name, "handover_code.from")
	if offer.From.Domain != nil {
		from = *offer.From.Domain
	}
	return t.message("handover_code", to, digits+" "+link, t.greeting(""), publicURL, digits,
		t.plain(offer.ProductName, "handover_offered.product"), from, link)
}

// Ending is a warranty in a reminder.
type Ending struct {
	ID        warranty.ID
	Product   string
	Reference warranty.Reference
	Last      time.Time // the last day
}

// WarrantyEnds reminds an account that a warranty ends soon.
func (t Texts) WarrantyEnds(to, name string, w Ending, publicURL string) Message {
	m := t.message("warranty_ends", to, "", t.greeting(name), t.plain(w.Product, "warranty_ends.product"), w.Reference,
		t.date(w.Last), publicURL, w.ID)
	m.Subject = t.get("warranty_ends.subject_unnamed", t.shortDate(w.Last))
	if product := plainOr(w.Product, ""); product != "" {
		m.Subject = t.get("warranty_ends.subject", product, t.shortDate(w.Last))
	}
	return m
}

// WarrantiesEnd reminds an account of several warranties that end soon. total includes those that are not listed.
func (t Texts) WarrantiesEnd(to, name string, list []Ending, total int64, publicURL string) Message {
	m := t.message("warranties_end", to, "", t.greeting(name), t.endings(list, total), publicURL)
	m.Subject = t.get("warranties_end.subject", total)
	return m
}

// endings lists warranties with their last day.
func (t Texts) endings(list []Ending, total int64) blocks {
	rows := make([]row, len(list))
	for i, w := range list {
		rows[i] = row{typed(t.plain(w.Product, "endings.product")), t.say("endings.detail", t.date(w.Last), w.Reference)}
	}
	return t.records(rows, int(total)-len(list))
}

// Week is what happened and what comes up, for a weekly email. Each list may be empty; the totals include what
// is not listed.
type Week struct {
	Ending, Ended           []Ending
	EndingTotal, EndedTotal int64
	Waiting                 []warranty.Claim
}

// WeeklyDigest is the email of an account that gets no single reminders.
func (t Texts) WeeklyDigest(to, name string, w Week, publicURL string) Message {
	var all blocks
	if len(w.Waiting) > 0 {
		rows := make([]row, len(w.Waiting))
		for i, c := range w.Waiting {
			rows[i] = row{typed(t.claimTitle(c, true)), t.say("weekly.claim", t.get("claim_state."+c.Status.String()), c.ClaimNumber)}
		}
		all = append(append(all, t.part("weekly.waiting")...), t.records(rows, 0)...)
	}
	if w.EndingTotal > 0 {
		all = append(append(all, t.part("weekly.ending")...), t.endings(w.Ending, w.EndingTotal)...)
	}
	if w.EndedTotal > 0 {
		all = append(append(all, t.part("weekly.ended")...), t.endings(w.Ended, w.EndedTotal)...)
	}
	return t.message("weekly", to, "", t.greeting(name), all, publicURL)
}

// TokenExpires reminds a user that an integration token expires soon.
func (t Texts) TokenExpires(to, name, token string, at time.Time, publicURL string) Message {
	day := t.local(at)
	m := t.message("token_expires", to, "", t.greeting(name), t.plain(token, "hidden_name"), t.date(day), t.clock(at), publicURL)
	m.Subject = t.get("token_expires.subject_unnamed", t.shortDate(day))
	if known := plainOr(token, ""); known != "" {
		m.Subject = t.get("token_expires.subject", known, t.shortDate(day))
	}
	return m
}

// maxPlain is the length of a text of someone else in an email, in characters.
const maxPlain = 60

// plainOr returns text if it is safe to put into an email, else otherwise. Long
// text, links and unprintable characters are not.
func plainOr(text, otherwise string) string {
	text = strings.TrimSpace(text)
	tooLong := len([]rune(text)) > maxPlain
	notPrintable := strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
	if text == "" || tooLong || notPrintable || strings.ContainsAny(text, "/:@<>") || hasInnerDot(text) {
		return otherwise
	}
	return text
}

// SenderName returns the name of an organization for the sender of an email, or "" if it could be taken for something
// else, such as the service: by the name that it has, or by that of the program.
func SenderName(name, service string) string {
	if name = plainOr(name, ""); warranty.PassesFor(name, Service) || warranty.PassesFor(name, service) {
		return ""
	}
	return name
}

// IsPlain reports whether a text is safe to put into an email.
func IsPlain(text string) bool { return plainOr(text, "") != "" }

// hasInnerDot reports whether a word contains a dot that is not at its start or
// end, as in host names, which mail programs turn into links.
func hasInnerDot(s string) bool {
	for word := range strings.FieldsSeq(s) {
		if strings.Contains(strings.Trim(word, "."), ".") {
			return true
		}
	}
	return false
}
