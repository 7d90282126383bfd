package mail

import "fmt"

// Invited asks a person to join an organization. by is the admin who invites.
func Invited(to, by, organization, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "You've been invited to an organization", Text: fmt.Sprintf(`Hello,

%s invites you to work for %s at
%s

To accept, sign in or create an account with this email address, and
enter this code:

    %s

on this page:

    %[3]s/invitations/accept

The code is valid for 7 days and works once, for this address only. If
you don't want to join, ignore this email.
`, plainOr(by, "Someone"), plainOr(organization, "an organization"), publicURL, code)}
}

// VerifyAddress sends the code with which an organization proves that an address is its own.
func VerifyAddress(to, organization, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "Confirm your organization's email address", Text: fmt.Sprintf(`Hello,

An admin of %s wants to use this email address as the organization's
own at
%s

To confirm, an admin enters this code:

    %s

on this page:

    %[2]s/settings/addresses

The code is valid for 24 hours and works once.

If you did not ask for this, ignore this email and do not share the
code. The address cannot be used without it.
`, plainOr(organization, "an organization"), publicURL, code)}
}

// ConfirmConversion sends the code that turns a person's account into an organization.
func ConfirmConversion(to, name, organization, code, publicURL string) Message {
	return Message{To: to, Code: code, Subject: "Turn your account into an organization", Text: fmt.Sprintf(`%s

Someone asked to turn an account at
%s
into the organization %s, with you as its admin. From then on you sign
in with this email address.

To confirm, enter this code:

    %s

on this page, signed in to the account:

    %[2]s/settings/convert

The code is valid for 24 hours and works once.

If you did not ask for this, ignore this email and do not share the
code. Nothing will change.
`, greeting(name), publicURL, plainOr(organization, "(name not shown)"), code)}
}

// AccountConverted tells the old address of an account that it became an organization.
func AccountConverted(to, organization string, c Circumstances) Message {
	return Message{To: to, Subject: "Your account is now an organization", Text: fmt.Sprintf(`Hello,

The account with this email address is now the organization
%s. Its records and integration tokens are unchanged. Nobody signs in
with this address any more: its admin signs in with another one and can
invite members.

%s

If you don't know about this, contact the administrator of
%s
`, plainOr(organization, "(name not shown)"), c, c.PublicURL)}
}

// MemberReset lists the tokens that a member made to an admin, after the member's password was reset.
func MemberReset(to, name, organization, member string, tokens []string, c Circumstances) Message {
	list := ""
	for _, t := range tokens {
		list += "    " + plainOr(t, "(name not shown)") + "\n"
	}
	return Message{To: to, Subject: "A member's password was reset", Text: fmt.Sprintf(`%s

The password of %s, a member of
%s, was reset. Their sessions have ended.

These integration tokens, which they made, belong to the organization
and keep working:

%s
If the password may have been stolen, revoke or rotate them:

    %s/settings/api

%s
`, greeting(name), plainOr(member, "a member"), plainOr(organization, "(name not shown)"), list, c.PublicURL, c)}
}
