package service

import (
	"crypto/sha256"
	"net/netip"
	"strings"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// notify mails an account holder what happened to their account. Only a verified
// address is theirs; another one could be a stranger's.
func (s *Service) notify(tx *store.Tx, user warranty.User, m mail.Message) error {
	if !user.EmailVerified || s.Silent {
		return nil
	}
	return tx.InsertMail(s.outgoing(m))
}

// circumstances are when and from where something was done, for a mail about it.
func (s *Service) circumstances(p warranty.Principal, now time.Time) mail.Circumstances {
	return mail.Circumstances{At: now, Device: deviceName(p.UserAgent), Network: maskedNetwork(p.Address), PublicURL: s.PublicURL}
}

// seeDevice notes where a locked account is used, and mails its holder about a place
// where it never was before. The first one is where they registered.
func (s *Service) seeDevice(tx *store.Tx, p warranty.Principal, user warranty.User, now time.Time) error {
	known, others, err := tx.RecordDevice(user.ID, deviceHash(p), now)
	if err != nil || known || !others {
		return err
	}
	return s.notify(tx, user, mail.NewSignIn(user.Email, user.Name, s.circumstances(p, now)))
}

// deviceHash names the caller's device: the long-lived cookie of a browser, or else
// the kind of program in the network that it comes from.
func deviceHash(p warranty.Principal) warranty.Hash {
	if p.Device != "" {
		return sha256.Sum256([]byte("browser " + p.Device))
	}
	program, _, _ := strings.Cut(p.UserAgent, "/")
	return sha256.Sum256([]byte("program " + program + " in " + network(p.Address).String()))
}

// network is the part of an address that a provider gives to a region or a customer.
func network(address string) netip.Prefix {
	address, _, _ = strings.Cut(address, "/")
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	bits := 24
	if ip = ip.Unmap(); ip.Is6() {
		bits = 48
	}
	prefix, _ := ip.Prefix(bits) // within the length of either kind
	return prefix
}

// maskedNetwork is an address as a mail shows it: enough to recognize, without its end.
func maskedNetwork(address string) string {
	prefix := network(address)
	if !prefix.IsValid() {
		return ""
	}
	text := prefix.Addr().String()
	if prefix.Addr().Is4() {
		return strings.TrimSuffix(text, "0") + "x"
	}
	return text + "x"
}

// deviceName says what a User-Agent claims to be in words of our own: it is the
// caller's text, and a mail carries none of that.
func deviceName(agent string) string {
	found := func(names ...string) string {
		for _, name := range names {
			token, shown, renamed := strings.Cut(name, "=")
			if strings.Contains(agent, token) {
				if renamed {
					return shown
				}
				return token
			}
		}
		return ""
	}
	program := found("Edg=Edge", "OPR/=Opera", "Firefox", "Chrome", "Safari", "curl", "svc-mcp", "svc/=svc", "python=Python", "Go-http-client=a Go program", "node=Node.js")
	if program == "" {
		return ""
	}
	if system := found("Android", "iPhone", "iPad", "Windows", "Mac OS X=macOS", "CrOS=ChromeOS", "Linux"); system != "" {
		return program + " on " + system
	}
	return program
}
