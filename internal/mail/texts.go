package mail

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"warranty.example/svc/warranty"
)

// VerifyEmail is the mail to someone who registered, with the code that proves
// that the address is theirs. The code stands beside the address of the page,
// never in it: URLs end in histories and logs.
func VerifyEmail(to, name, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "Confirm your e-mail address", Text: fmt.Sprintf(`%s

An account was registered with this e-mail address at
%s

To confirm that the address is yours, enter this code:

    %s

on this page, after you sign in:

    %[2]s/verify-email

The code is valid for 24 hours and works once.

If you did not register, ignore this mail and keep the code to yourself:
nobody can confirm the address without it.
`, greeting(name), publicURL, code)}
}

// ResetPassword is the mail to someone who forgot their password, with the code
// that lets them set a new one.
func ResetPassword(to, name, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "Reset your password", Text: fmt.Sprintf(`%s

Someone asked to reset the password of your account at
%s

To set a new password, enter this code:

    %s

on this page:

    %[2]s/reset-password/confirm

The code is valid for 1 hour and works once.

If you did not ask for this, ignore this mail: your password stays as
it is. Give the code to nobody, also not to someone who claims to be us.
`, greeting(name), publicURL, code)}
}

// SignInCode is the mail to someone who wants to sign in without a password.
func SignInCode(to, name, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "Your sign-in code", Text: fmt.Sprintf(`%s

To sign in at
%s
enter this code:

    %s

on this page:

    %[2]s/sign-in/code

The code is valid for 1 hour and works once.

If you did not ask for this, ignore this mail: nobody can sign in
without the code. Never share it.
`, greeting(name), publicURL, code)}
}

// Circumstances are when and from where something was done to an account. Device and
// Network are in our words; each may be empty.
type Circumstances struct {
	At              time.Time
	Device, Network string
	PublicURL       string
}

// String is a block of lines.
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

// notice is a mail to an account holder about what happened to their account.
func notice(to, name, subject, what string, c Circumstances) Message {
	return Message{To: to, Subject: subject, Text: fmt.Sprintf(`%s

%s

%s

If this was you, there is nothing to do. If it was not, reset your
password. That also signs out every device and revokes every token:

    %s/reset-password
`, greeting(name), what, c, c.PublicURL)}
}

// PasswordChanged tells an account holder that their password was changed.
func PasswordChanged(to, name string, c Circumstances) Message {
	return notice(to, name, "Your password was changed", "The password of your account was changed.", c)
}

// PasswordWasReset tells an account holder that their password was reset.
func PasswordWasReset(to, name string, c Circumstances) Message {
	return notice(to, name, "Your password was reset", "The password of your account was reset with a code mailed to this address.\n"+
		"Every device was signed out, and every token and calendar feed was revoked.", c)
}

// PasswordSetByOperator tells an account holder that the operator set a new password.
func PasswordSetByOperator(to, name string, c Circumstances) Message {
	return notice(to, name, "Your password was reset", "The operator of the service set a new password for your account.", c)
}

// TokenCreated tells an account holder of a new integration token.
func TokenCreated(to, name, token string, c Circumstances) Message {
	return notice(to, name, "New integration token", fmt.Sprintf("An integration token was created in your account: %s", plainOr(token, "(name not shown)")), c)
}

// NewSignIn tells an account holder of a sign-in on a device that is new.
func NewSignIn(to, name string, c Circumstances) Message {
	return notice(to, name, "New sign-in to your account", "Someone signed in to your account on a new device.", c)
}

// TransferOffered is the mail to somebody who may become the owner of a
// warranty, with the code that makes them so. It goes to an address that another
// person chose, so it says nothing that this person could use for advertising.
func TransferOffered(to, from, product, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "A warranty is offered to you", Text: fmt.Sprintf(`Hello,

%s offers you the ownership of %s at
%s

To accept it, sign in or create an account, and enter this code:

    %s

on this page:

    %[3]s/transfers/accept

The code is valid for 7 days and works once. If you do not want it,
ignore this mail: nothing changes.
`, plainOr(from, "Somebody"), plainOr(product, "a warranty"), publicURL, code)}
}

// ClaimMoved is the mail to people on a warranty when a claim is filed or moves.
func ClaimMoved(to, name string, c warranty.Claim, publicURL string) Message {
	what := "is now " + strings.ReplaceAll(c.Status.String(), "_", " ")
	if c.Status == warranty.Submitted {
		what = "was filed"
	}
	return Message{To: to, Subject: fmt.Sprintf("Claim %s %s", c.ClaimNumber, what), Text: fmt.Sprintf(`%s

The claim %s on %s (%s) %s.

See what it says and what you can do:

    %s/claims/%s

You get this mail because you have a role on this warranty. You can
switch such mails off in your profile.
`, greeting(name), c.ClaimNumber, plainOr(c.Warranty.ProductName, "your warranty"), c.Warranty.ReferenceNumber, what, publicURL, c.ID)}
}

// ClaimDigest is the mail to someone on warranties whose claims changed more often
// than we mail about them. more are claims beyond those listed.
func ClaimDigest(to, name string, claims []warranty.Claim, more int, publicURL string) Message {
	var list strings.Builder
	for _, c := range claims {
		fmt.Fprintf(&list, "    %s: %s\n    %s\n\n", c.ClaimNumber, strings.ReplaceAll(c.Status.String(), "_", " "), plainOr(c.Warranty.ProductName, "your warranty"))
	}
	if more > 0 {
		fmt.Fprintf(&list, "    and %d more.\n\n", more)
	}
	subject := fmt.Sprintf("%d claims were updated", len(claims)+more)
	if len(claims)+more == 1 {
		subject = fmt.Sprintf("Claim %s was updated", claims[0].ClaimNumber)
	}
	return Message{To: to, Subject: subject, Text: fmt.Sprintf(`%s

These claims were filed or updated since our last mail:

%sSee them all:

    %s/claims

You get this mail because you have a role on these warranties. You can
switch such mails off in your profile.
`, greeting(name), list.String(), publicURL)}
}

// WarrantyEnds is the mail to an owner some days before the cover ends.
func WarrantyEnds(to, name, product string, reference warranty.Reference, last time.Time, publicURL string) Message {
	return Message{To: to, Subject: "A warranty of yours ends on " + last.Format(time.DateOnly), Text: fmt.Sprintf(`%s

The cover of %s (%s) ends on %s. If something is wrong
with it, this is the time to file a claim:

    %s/warranties

You can switch such mails off in your profile.
`, greeting(name), plainOr(product, "your product"), reference, last.Format(time.DateOnly), publicURL)}
}

// TokenExpires is the mail to somebody whose integration token expires soon.
func TokenExpires(to, name, token string, at time.Time, publicURL string) Message {
	return Message{To: to, Subject: "An integration token of yours expires soon", Text: fmt.Sprintf(`%s

Your integration token "%s" stops working on %s.
Whatever uses it will be refused from then on. Generate a new one in time:

    %s/settings/api

You can switch such mails off in your profile.
`, greeting(name), plainOr(token, "(unnamed)"), at.UTC().Format("2006-01-02 15:04 UTC"), publicURL)}
}

// greeting addresses the reader by name, unless the name looks like a message
// or a link. Anyone can register a stranger's address under any name, and the
// service must not carry their advertising.
func greeting(name string) string {
	if name = plainOr(name, ""); name == "" {
		return "Hello,"
	}
	return "Hello " + name + ","
}

// plainOr is a text of somebody's that is fit for a mail, or else the other.
func plainOr(text, otherwise string) string {
	text = strings.TrimSpace(text)
	tooLong := len([]rune(text)) > 60
	notPrintable := strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
	if text == "" || tooLong || notPrintable || strings.ContainsAny(text, "/:@<>") || hasInnerDot(text) {
		return otherwise
	}
	return text
}

// hasInnerDot is whether a dot stands between two other characters, as in the
// names of hosts that mail programs turn into links.
func hasInnerDot(s string) bool {
	for word := range strings.FieldsSeq(s) {
		if strings.Contains(strings.Trim(word, "."), ".") {
			return true
		}
	}
	return false
}
