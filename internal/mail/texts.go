package mail

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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

// circumstances formats the circumstances as indented lines.
func (t Texts) circumstances(c Circumstances) string {
	lines := t.get("when", t.get("format.when", t.date(t.local(c.At)), t.clock(c.At)))
	switch {
	case c.Program != "" && c.System != "":
		lines += "\n" + t.get("device_on", c.Program, c.System)
	case c.Program != "":
		lines += "\n" + t.get("device", c.Program)
	}
	if c.Network != "" {
		lines += "\n" + t.get("network", c.Network)
	}
	return lines
}

// notice tells users what happened to their account.
func (t Texts) notice(to, name, subject, what string, c Circumstances) Message {
	m := t.message("notice", to, "", t.greeting(name), what, t.circumstances(c), c.PublicURL)
	m.Subject = t.get(subject + ".subject")
	return m
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

// ClaimMoved tells the people on a warranty that a claim was filed or changed status.
func (t Texts) ClaimMoved(to, name string, c warranty.Claim, publicURL string) Message {
	what := t.get("claim_moved." + c.Status.String())
	m := t.message("claim_moved", to, "", t.greeting(name), c.ClaimNumber,
		t.plain(c.Warranty.ProductName, "claim.product"), c.Warranty.ReferenceNumber, what, publicURL, c.ID)
	m.Subject = t.get("claim_moved.subject", c.ClaimNumber, what)
	return m
}

// Offered is a warranty in an offer, with the code that takes it.
type Offered struct{ Product, Code string }

// HandoverOffered offers warranties that an organization issued to its customer. Another user chose the
// address, so the email contains no text that could be used to send spam. Anyone can use any name, so it says
// whether the issuer has a verified domain.
func (t Texts) HandoverOffered(to string, issuer warranty.Party, list []Offered, publicURL string) Message {
	issuer.Name = plainOr(issuer.Name, "")
	by := warranty.Backing{Role: warranty.Issuer, Party: &issuer}
	from, known := by.Who(t.language), wrapped(by.Note(t.language))
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
	var lines strings.Builder
	codes := make([]string, len(list))
	for i, o := range list {
		codes[i] = o.Code
		fmt.Fprintf(&lines, "    %s\n    %s/take#%s\n\n", t.plain(o.Product, "handovers_offered.product"), publicURL, o.Code)
	}
	m := t.message("handovers_offered", to, strings.Join(codes, " "), t.greeting(""), from, len(list), known,
		lines.String(), publicURL)
	m.Subject = t.get("handovers_offered.subject", len(list))
	return m
}

// HandoverCode sends the code that someone with a printed one asked for. It signs in, so it names what it is for. Another
// user chose the names, so those that could be used to send spam are left out.
func (t Texts) HandoverCode(to string, offer warranty.HandoverPreview, code, publicURL string) Message {
	from := t.plain(offer.From.Name, "handover_code.from")
	if offer.From.Domain != nil {
		from = *offer.From.Domain
	}
	return t.message("handover_code", to, code, t.greeting(""), publicURL, code,
		t.plain(offer.ProductName, "handover_offered.product"), from)
}

// ClaimMessage tells the people on a warranty that someone wrote a message about a claim. Its text is only on
// the page, because an email may be read by others.
func (t Texts) ClaimMessage(to, name string, c warranty.Claim, publicURL string) Message {
	m := t.message("claim_message", to, "", t.greeting(name), c.ClaimNumber,
		t.plain(c.Warranty.ProductName, "claim.product"), c.Warranty.ReferenceNumber, publicURL, c.ID)
	m.Subject = t.get("claim_message.subject", c.ClaimNumber)
	return m
}

// ClaimDigest lists claims whose changes were not emailed one by one; more counts
// the claims that are not listed.
func (t Texts) ClaimDigest(to, name string, claims []warranty.Claim, more int, publicURL string) Message {
	var list strings.Builder
	for _, c := range claims {
		fmt.Fprintf(&list, "    %s: %s\n    %s\n\n", c.ClaimNumber, t.get("claim_state."+c.Status.String()),
			t.plain(c.Warranty.ProductName, "claim.product"))
	}
	if more > 0 {
		list.WriteString(t.get("claim_digest.more", more) + "\n\n")
	}
	m := t.message("claim_digest", to, "", t.greeting(name), list.String(), publicURL)
	m.Subject = t.get("claim_digest.subject", len(claims)+more)
	if len(claims)+more == 1 {
		m.Subject = t.get("claim_digest.subject_one", claims[0].ClaimNumber)
	}
	return m
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
func (t Texts) endings(list []Ending, total int64) string {
	var b strings.Builder
	for _, w := range list {
		fmt.Fprintf(&b, "    %s: %s (%s)\n", t.date(w.Last), t.plain(w.Product, "endings.product"), w.Reference)
	}
	if more := total - int64(len(list)); more > 0 {
		b.WriteString(t.get("more", more) + "\n")
	}
	return b.String() + "\n"
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
	var b strings.Builder
	if len(w.Waiting) > 0 {
		b.WriteString(t.get("weekly.waiting") + "\n\n")
		for _, c := range w.Waiting {
			fmt.Fprintf(&b, "    %s: %s\n", c.ClaimNumber, t.plain(c.Warranty.ProductName, "claim.product"))
		}
		b.WriteString("\n")
	}
	if w.EndingTotal > 0 {
		b.WriteString(t.get("weekly.ending") + "\n\n" + t.endings(w.Ending, w.EndingTotal))
	}
	if w.EndedTotal > 0 {
		b.WriteString(t.get("weekly.ended") + "\n\n" + t.endings(w.Ended, w.EndedTotal))
	}
	return t.message("weekly", to, "", t.greeting(name), b.String(), publicURL)
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

// plainOr returns text if it is safe to put into an email, else otherwise. Long
// text, links and unprintable characters are not.
func plainOr(text, otherwise string) string {
	text = strings.TrimSpace(text)
	tooLong := len([]rune(text)) > 60
	notPrintable := strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
	if text == "" || tooLong || notPrintable || strings.ContainsAny(text, "/:@<>") || hasInnerDot(text) {
		return otherwise
	}
	return text
}

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

// wrapped breaks a text into lines of an email.
func wrapped(text string) string {
	const most = 72
	var b strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i > 0 && length+1+n > most:
			b.WriteString("\n")
			length = 0
		case i > 0:
			b.WriteString(" ")
			length++
		}
		b.WriteString(word)
		length += n
	}
	return b.String()
}
