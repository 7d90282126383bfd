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

// notify emails users about their own account. It skips unverified addresses, which may
// belong to someone else. The email follows the language of the request only if the user made it
// signed in: a notice must not be in the language of an intruder.
func (s *Service) notify(
	tx *store.Tx, p warranty.Principal, user warranty.User, write func(mail.Texts) mail.Message,
) error {
	if !user.EmailVerified || s.Silent {
		return nil
	}
	reader, err := tx.Locale(user.ID)
	if err != nil {
		return err
	}
	if p.User.ID == user.ID {
		reader = reader.Or(p.Locale)
	}
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return err
	}
	message := write(mail.In(reader).NotMe(code))
	if err := tx.InsertMail(s.outgoing(message)); err != nil || !message.NotMe {
		return err
	}
	return tx.InsertNotMe(
		store.NotMeCode{User: user.ID, Email: message.To, Ends: s.now().Add(warranty.NotMeLifetime)}, warranty.HashCode(code))
}

// notifyAdmins emails those who manage a locked account: a person, or the admins of an organization.
func (s *Service) notifyAdmins(
	tx *store.Tx, p warranty.Principal, account store.Account, message func(t mail.Texts, to warranty.User) mail.Message,
) error {
	admins, err := []warranty.User{account.User}, error(nil)
	if account.Kind == warranty.OrganizationKind {
		admins, err = tx.Admins(account.ID)
	}
	for _, admin := range admins {
		if err == nil {
			err = s.notify(tx, p, admin, func(t mail.Texts) mail.Message { return message(t, admin) })
		}
	}
	return err
}

// circumstances describes a request for an email about it.
func (s *Service) circumstances(p warranty.Principal, now time.Time) mail.Circumstances {
	program, system := deviceName(p.UserAgent)
	return mail.Circumstances{
		At:        now,
		Program:   program,
		System:    system,
		Network:   maskedNetwork(p.Address),
		PublicURL: s.PublicURL,
	}
}

// seeDevice records the device that a locked account is used on, and emails the user
// about a new one. The first device, used to register, is not new.
func (s *Service) seeDevice(tx *store.Tx, p warranty.Principal, user warranty.User, now time.Time) error {
	known, others, err := tx.RecordDevice(user.ID, deviceHash(p), now)
	if err != nil || known || !others {
		return err
	}
	return s.notify(tx, p, user, func(t mail.Texts) mail.Message {
		return t.NewSignIn(user.Email, user.Name, s.circumstances(p, now))
	})
}

// deviceHash identifies the caller's device: by the long-lived cookie of a browser, or
// else by the program's name and the network.
func deviceHash(p warranty.Principal) warranty.Hash {
	if p.Device != "" {
		return sha256.Sum256([]byte("browser " + p.Device))
	}
	program, _, _ := strings.Cut(p.UserAgent, "/")
	return sha256.Sum256([]byte("program " + program + " in " + network(p.Address).String()))
}

// network returns the /24 or, for IPv6, the /48 of an address.
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

// maskedNetwork formats an address for an email, without its last part.
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

// deviceName returns the program and the system of a User-Agent as fixed strings, because emails must not contain
// text of the caller's choice.
func deviceName(agent string) (program, system string) {
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
	program = found("Edg=Edge", "OPR/=Opera", "Firefox", "Chrome", "Safari", "curl", "svc-mcp", "svc/=svc",
		"python=Python", "Go-http-client=Go", "node=Node.js")
	if program == "" {
		return "", ""
	}
	return program, found("Android", "iPhone", "iPad", "Windows", "Mac OS X=macOS", "CrOS=ChromeOS", "Linux")
}
