package mail

// Invited asks a person to join an organization. by is the admin who invites.
func (t Texts) Invited(to, by, organization, code, publicURL string) Message {
	m := t.message("invited", to, code, t.greeting(""), t.plain(by, "invited.by"),
		t.plain(organization, "invited.organization"), publicURL, code)
	m.Subject = t.get("invited.subject_unnamed")
	if by, organization = plainOr(by, ""), plainOr(organization, ""); by != "" && organization != "" {
		m.Subject = t.get("invited.subject", by, organization)
	}
	return m
}

// VerifyAddress sends the code with which an organization proves that an address is its own.
func (t Texts) VerifyAddress(to, organization, code, publicURL string) Message {
	return t.message("verify_address", to, code, t.greeting(""), t.plain(organization, "verify_address.organization"), publicURL, code)
}

// ConfirmConversion sends the code that turns a person's account into an organization.
func (t Texts) ConfirmConversion(to, name, organization, code, publicURL string) Message {
	return t.message("confirm_conversion", to, code, t.greeting(name), publicURL, t.plain(organization, "hidden_name"), code)
}

// ConversionAsked tells the present address of an account that someone asked to turn it into an organization, with the
// code that stops it.
func (t Texts) ConversionAsked(to, name, organization, email, code string, c Circumstances) Message {
	return t.message("conversion_asked", to, code, t.greeting(name), t.plain(organization, "hidden_name"), email,
		c.PublicURL, code, t.circumstances(c))
}

// AccountConverted tells the old address of an account that it became an organization.
func (t Texts) AccountConverted(to, organization string, c Circumstances) Message {
	return t.message("account_converted", to, "", t.greeting(""), t.plain(organization, "hidden_name"), t.circumstances(c), c.PublicURL)
}

// MemberReset lists the tokens that a member made to an admin, after the member's password was reset.
func (t Texts) MemberReset(to, name, organization, member string, tokens []string, c Circumstances) Message {
	return t.message("member_reset", to, "", t.aboutTokens(name, organization, member, tokens, c)...)
}

// MemberDisabled lists the tokens that a member made to an admin, after the operator disabled the member's account.
func (t Texts) MemberDisabled(to, name, organization, member string, tokens []string, c Circumstances) Message {
	return t.message("member_disabled", to, "", t.aboutTokens(name, organization, member, tokens, c)...)
}

// aboutTokens are the arguments of emails about the tokens of a member.
func (t Texts) aboutTokens(name, organization, member string, tokens []string, c Circumstances) []any {
	rows := make([]row, len(tokens))
	for i, token := range tokens {
		rows[i].label = typed(t.plain(token, "hidden_name"))
	}
	return []any{t.greeting(name), t.plain(member, "member_reset.member"), t.plain(organization, "hidden_name"), t.records(rows, 0),
		c.PublicURL, t.circumstances(c)}
}

// OrganizationRenamed tells an admin that an organization with a verified domain changed its name.
func (t Texts) OrganizationRenamed(to, name, domain, before, after string, c Circumstances) Message {
	names := t.facts(nil, "organization_renamed.before", t.plain(before, "hidden_name"))
	names = t.facts(names, "organization_renamed.now", t.plain(after, "hidden_name"))
	return t.message("organization_renamed", to, "", t.greeting(name), domain, names, c.PublicURL, t.circumstances(c))
}
