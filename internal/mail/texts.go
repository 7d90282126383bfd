package mail

import (
	"fmt"
	"strings"
	"unicode"
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

on this page:

    %[2]s/verify-email

The code is valid for 24 hours and works once.

If you did not register, ignore this mail: without the code the
address stays unconfirmed.
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

    %[2]s/reset-password

The code is valid for 30 minutes and works once.

If you did not ask for this, ignore this mail: your password stays as
it is. Give the code to nobody, also not to someone who claims to be us.
`, greeting(name), publicURL, code)}
}

// greeting addresses the reader by name, unless the name looks like a message
// or a link. Anyone can register a stranger's address under any name, and the
// service must not carry their advertising.
func greeting(name string) string {
	name = strings.TrimSpace(name)
	tooLong := len([]rune(name)) > 60
	notPrintable := strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	if name == "" || tooLong || notPrintable || strings.ContainsAny(name, "/:@<>") || hasInnerDot(name) {
		return "Hello,"
	}
	return "Hello " + name + ","
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
