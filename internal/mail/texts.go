package mail

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"warranty.example/svc/warranty"
)

// VerifyEmail asks a new user to confirm their email address with a one-time
// code. The code is separate from the page's URL because URLs end up in browser
// histories and logs.
func VerifyEmail(to, name, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "Confirm your email address", Text: fmt.Sprintf(`%s

Thanks for creating an account at
%s

To confirm that this email address is yours, enter this code:

    %s

on this page, after you sign in:

    %[2]s/verify-email

The code is valid for 24 hours and works once.

If you did not create an account, ignore this email and do not share the
code. The address cannot be confirmed without it.
`, greeting(name), publicURL, code)}
}

// ResetPassword sends the one-time code that sets a new password.
func ResetPassword(to, name, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "Reset your password", Text: fmt.Sprintf(`%s

Someone asked to reset the password for your account at
%s

To set a new password, enter this code:

    %s

on this page:

    %[2]s/reset-password/confirm

The code is valid for 1 hour and works once.

If you did not ask for this, ignore this email. Your password has not
changed. Never share the code, not even with someone who claims to
work for us.
`, greeting(name), publicURL, code)}
}

// SignInCode sends the one-time code for signing in without a password.
func SignInCode(to, name, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "Your sign-in code", Text: fmt.Sprintf(`%s

To sign in at
%s
enter this code:

    %s

on this page:

    %[2]s/sign-in/code

The code is valid for 1 hour and works once.

If you did not ask for this, ignore this email. No one can sign in
without the code. Never share it.
`, greeting(name), publicURL, code)}
}

// Circumstances says when and from where an account was used or changed. Device
// and Network never repeat the caller's own text; either may be empty.
type Circumstances struct {
	At              time.Time
	Device, Network string
	PublicURL       string
}

// String formats the circumstances as indented lines.
func (c Circumstances) String() string {
	text := "    When: " + c.At.UTC().Format("2 Jan 2006, 15:04 UTC")
	if c.Device != "" {
		text += "\n    Device: " + c.Device
	}
	if c.Network != "" {
		text += "\n    IP address: " + c.Network
	}
	return text
}

// notice tells users what happened to their account.
func notice(to, name, subject, what string, c Circumstances) Message {
	return Message{To: to, Subject: subject, Text: fmt.Sprintf(`%s

%s

%s

If this was you, you don't need to do anything. If it wasn't, reset
your password. This signs out all devices and revokes all tokens:

    %s/reset-password
`, greeting(name), what, c, c.PublicURL)}
}

// PasswordChanged tells users that their password was changed.
func PasswordChanged(to, name string, c Circumstances) Message {
	return notice(to, name, "Your password was changed", "Your account's password was changed.", c)
}

// PasswordWasReset tells users that their password was reset with an emailed code.
func PasswordWasReset(to, name string, c Circumstances) Message {
	return notice(to, name, "Your password was reset",
		"Your account's password was reset with a code sent to this address.\n"+
			"All devices were signed out, and all tokens and calendar feeds were revoked.", c)
}

// PasswordSetByOperator tells users that the operator set a new password.
func PasswordSetByOperator(to, name string, c Circumstances) Message {
	return notice(to, name, "Your password was reset",
		"An administrator of this service set a new password for your account.", c)
}

// TokenCreated tells users that an integration token was created.
func TokenCreated(to, name, token string, organization *string, c Circumstances) Message {
	where := "your account"
	if organization != nil {
		where = plainOr(*organization, "your organization")
	}
	return notice(to, name, "New integration token",
		"An integration token was created in "+where+": "+plainOr(token, "(name not shown)"), c)
}

// AppConnected tells users that an app was connected to an account of theirs.
func AppConnected(to, name, app string, organization *string, c Circumstances) Message {
	where := "your account"
	if organization != nil {
		where = plainOr(*organization, "your organization")
	}
	return notice(to, name, "New connected app",
		"An app was connected to "+where+". It calls itself: "+plainOr(app, "(name not shown)"), c)
}

// NewSignIn tells users about a sign-in from a new device.
func NewSignIn(to, name string, c Circumstances) Message {
	return notice(to, name, "New sign-in to your account", "Someone signed in to your account on a new device.", c)
}

// TransferOffered sends the code that makes its recipient the owner of a warranty.
// Another user chose the address, so the email contains no text that could be used
// to send spam.
func TransferOffered(to, from, product, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "You've been offered a warranty", Text: fmt.Sprintf(`Hello,

%s would like to transfer %s to you at
%s

To accept, sign in or create an account, and enter this code:

    %s

on this page:

    %[3]s/transfers/accept

The code is valid for 7 days and works once. If you don't want the
warranty, ignore this email. Nothing will change.
`, plainOr(from, "Someone"), plainOr(product, "a warranty"), publicURL, code)}
}

// ClaimMoved tells the people on a warranty that a claim was filed or changed status.
func ClaimMoved(to, name string, c warranty.Claim, publicURL string) Message {
	what := "is now " + strings.ReplaceAll(c.Status.String(), "_", " ")
	if c.Status == warranty.Submitted {
		what = "was filed"
	}
	return Message{To: to, Subject: fmt.Sprintf("Claim %s %s", c.ClaimNumber, what), Text: fmt.Sprintf(`%s

Claim %s for %s (%s) %s.

View the claim:

    %s/claims/%s

You get this email because you have a role on this warranty.
`, greeting(name), c.ClaimNumber, plainOr(c.Warranty.ProductName, "your warranty"), c.Warranty.ReferenceNumber, what,
		publicURL, c.ID)}
}

// HandoverOffered offers a warranty that an organization issued to its customer. Another user chose the
// address, so the email contains no text that could be used to send spam. Anyone can use any name, so it says
// whether the issuer has a verified domain.
func HandoverOffered(to string, issuer warranty.Party, product, code, publicURL string) Message {
	from, known := plainOr(issuer.Name, ""), "This name is not verified. Anyone can use it."
	switch {
	case issuer.Domain != nil:
		known = "The issuer is the verified business of " + *issuer.Domain + "."
	case from == "":
		known = "The business is not verified."
	default:
		from = "“" + from + "”"
	}
	from = cmp.Or(from, "A business")
	return Message{To: to, Code: code, Subject: "Your warranty is ready to register", Text: fmt.Sprintf(`Hello,

%s issued a warranty for %s to you.
%s

Register it, and you have it when you need it:

    %s/take#%s

Or enter this code on %[4]s/take:

    %[5]s

The code is valid for 30 days and works once. You need no password. If
you don't know about this, ignore this email. Nothing will change.
`, from, plainOr(product, "a product"), known, publicURL, code)}
}

// HandoverCode sends the code that registers an address with a printed warranty.
func HandoverCode(to, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "Your code to register a warranty", Text: fmt.Sprintf(`Hello,

enter this code to register your warranty at
%s

    %s

It is valid for 1 hour and works once. If you didn't ask for it, ignore
this email. Nothing will change.
`, publicURL, code)}
}

// WarrantyStatus tells the owner of a warranty that its issuer or seller voided, reinstated or cancelled
// it. reason may be empty.
func WarrantyStatus(to, name, by string, w warranty.Warranty, reason, publicURL string) Message {
	what := map[warranty.Status]string{
		warranty.Active:    "reinstated",
		warranty.Void:      "voided",
		warranty.Cancelled: "cancelled",
	}[w.Standing]
	if reason != "" {
		reason = "\nReason:\n\n    " + strings.ReplaceAll(reason, "\n", "\n    ") + "\n"
	}
	return Message{To: to, Subject: fmt.Sprintf("Warranty %s was %s", w.ReferenceNumber, what), Text: fmt.Sprintf(`%s

%s %s your warranty for %s (%s).
%s
View the warranty:

    %s/warranties/%s

If you don't agree, contact them. You get this email because you own
this warranty.
`, greeting(name), plainOr(by, "The issuer or seller"), what, plainOr(w.ProductName, "a product"), w.ReferenceNumber, reason,
		publicURL, w.ID)}
}

// WarrantyStatuses tells an owner that there were more changes than were emailed one by one.
func WarrantyStatuses(to, name, by, publicURL string) Message {
	by = plainOr(by, "An issuer or seller")
	return Message{To: to, Subject: "More of your warranties were changed", Text: fmt.Sprintf(`%s

%s voided, reinstated or cancelled more of your warranties
than we email one by one. View the latest changes:

    %s/warranties?sort=-updated_at

You get this email because you own these warranties.
`, greeting(name), by, publicURL)}
}

// ClaimMessage tells the people on a warranty that someone wrote a message about a claim. Its text is only on
// the page, because an email may be read by others.
func ClaimMessage(to, name string, c warranty.Claim, publicURL string) Message {
	return Message{To: to, Subject: fmt.Sprintf("Claim %s: new message", c.ClaimNumber), Text: fmt.Sprintf(`%s

There is a new message about claim %s for %s (%s).

Read it and reply:

    %s/claims/%s

You get this email because you have a role on this warranty.
`, greeting(name), c.ClaimNumber, plainOr(c.Warranty.ProductName, "your warranty"), c.Warranty.ReferenceNumber,
		publicURL, c.ID)}
}

// ClaimDigest lists claims whose changes were not emailed one by one; more counts
// the claims that are not listed.
func ClaimDigest(to, name string, claims []warranty.Claim, more int, publicURL string) Message {
	var list strings.Builder
	for _, c := range claims {
		fmt.Fprintf(&list, "    %s: %s\n    %s\n\n", c.ClaimNumber, strings.ReplaceAll(c.Status.String(), "_", " "),
			plainOr(c.Warranty.ProductName, "your warranty"))
	}
	if more > 0 {
		fmt.Fprintf(&list, "    and %d more.\n\n", more)
	}
	subject := fmt.Sprintf("%d claims were updated", len(claims)+more)
	if len(claims)+more == 1 {
		subject = fmt.Sprintf("Claim %s was updated", claims[0].ClaimNumber)
	}
	return Message{To: to, Subject: subject, Text: fmt.Sprintf(`%s

These claims were filed or updated since our last email:

%sView all claims:

    %s/claims

You get this email because you have a role on these warranties.
`, greeting(name), list.String(), publicURL)}
}

// Ending is a warranty in a reminder.
type Ending struct {
	ID        warranty.ID
	Product   string
	Reference warranty.Reference
	Last      time.Time // the last day
}

// WarrantyEnds reminds an account that a warranty ends soon.
func WarrantyEnds(to, name string, w Ending, publicURL string) Message {
	subject := "Your warranty ends " + w.Last.Format(shortDate)
	product := plainOr(w.Product, "")
	if product != "" {
		subject = product + ": warranty ends " + w.Last.Format(shortDate)
	}
	return Message{To: to, Subject: subject, Text: fmt.Sprintf(`%s

Your warranty for %s (%s) ends on %s.
If something is wrong with it, file a claim before then:

    %s/warranties/%s

Choose when to be reminded:

    %[5]s/settings/email
`, greeting(name), cmp.Or(product, "your product"), w.Reference, w.Last.Format(longDate), publicURL, w.ID)}
}

// WarrantiesEnd reminds an account of several warranties that end soon. total includes those that are not listed.
func WarrantiesEnd(to, name string, list []Ending, total int64, publicURL string) Message {
	return Message{To: to, Subject: fmt.Sprintf("%d warranties end soon", total), Text: fmt.Sprintf(`%s

These warranties end soon. If something is wrong, file a claim before
then:

%sView all warranties:

    %s/warranties?expiring_within_days=365&sort=end_date

Choose when to be reminded:

    %[3]s/settings/email
`, greeting(name), endings(list, total), publicURL)}
}

// endings lists warranties with their last day.
func endings(list []Ending, total int64) string {
	var b strings.Builder
	for _, w := range list {
		fmt.Fprintf(&b, "    %s: %s (%s)\n", w.Last.Format(longDate), plainOr(w.Product, "Warranty"), w.Reference)
	}
	if more := total - int64(len(list)); more > 0 {
		fmt.Fprintf(&b, "    and %d more\n", more)
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
func WeeklyDigest(to, name string, w Week, publicURL string) Message {
	var b strings.Builder
	if len(w.Waiting) > 0 {
		b.WriteString("Claims that wait for you:\n\n")
		for _, c := range w.Waiting {
			fmt.Fprintf(&b, "    %s: %s\n", c.ClaimNumber, plainOr(c.Warranty.ProductName, "your warranty"))
		}
		b.WriteString("\n")
	}
	if w.EndingTotal > 0 {
		b.WriteString("Warranties that end in the next four weeks:\n\n" + endings(w.Ending, w.EndingTotal))
	}
	if w.EndedTotal > 0 {
		b.WriteString("Warranties that ended last week:\n\n" + endings(w.Ended, w.EndedTotal))
	}
	return Message{To: to, Subject: "Your warranties this week", Text: fmt.Sprintf(`%s

%sOpen your overview:

    %s/

Choose when to be reminded:

    %[3]s/settings/email
`, greeting(name), b.String(), publicURL)}
}

// TokenExpires reminds a user that an integration token expires soon.
func TokenExpires(to, name, token string, at time.Time, publicURL string) Message {
	at = at.UTC()
	token = plainOr(token, "")
	subject := "Your integration token expires " + at.Format(shortDate)
	if token != "" {
		subject = fmt.Sprintf("Integration token \"%s\" expires %s", token, at.Format(shortDate))
	}
	return Message{To: to, Subject: subject, Text: fmt.Sprintf(`%s

Your integration token "%s" expires on %s at %s.
Programs that use it will stop working then. Create a new token in time:

    %s/settings/api
`, greeting(name), cmp.Or(token, "(name not shown)"), at.Format(longDate), at.Format("15:04 UTC"), publicURL)}
}

// Date formats for subjects and for the text of an email.
const (
	shortDate = "2 Jan"
	longDate  = "2 Jan 2006"
)

// greeting addresses the reader by name, unless the name looks like a message or a
// link. Anyone can register any address under any name, and the service must not
// deliver their advertising.
func greeting(name string) string {
	if name = plainOr(name, ""); name == "" {
		return "Hello,"
	}
	return "Hello " + name + ","
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
