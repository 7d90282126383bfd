package warranty

import "strings"

// Mailbox returns the address that emails to an address arrive at, as far as it can be told: without what follows a
// plus sign, and for Gmail without dots. Emails are counted by it, and sent to the address itself.
func Mailbox(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	local, domain := strings.ToLower(address[:at]), strings.ToLower(address[at+1:])
	if plus := strings.IndexByte(local, '+'); plus > 0 {
		local = local[:plus]
	}
	if domain == "gmail.com" || domain == "googlemail.com" {
		local, domain = strings.ReplaceAll(local, ".", ""), "gmail.com"
	}
	return local + "@" + domain
}
