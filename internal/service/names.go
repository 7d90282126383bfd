package service

import (
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// reservedDomains are top-level domains that are not in the list of public suffixes but look like domains.
var reservedDomains = []string{"example", "test", "invalid", "localhost", "local", "internal", "onion", "home"}

// notDomains are abbreviations of companies that are spelled like domains.
var notDomains = []string{"co.ltd", "co.inc", "pty.ltd", "pvt.ltd", "pte.ltd", "s.co", "u.co", "&.co"}

// checkNamedDomains returns an error if the name of an organization has a domain that is not one of its verified ones.
func checkNamedDomains(field, name string, own []string) error {
	for _, word := range warranty.DomainsIn(name) {
		if isDomain(word) && !slices.ContainsFunc(own, func(d string) bool { return ownDomain(word, d) }) {
			var c warranty.Checks
			c.Add(field, "other_domain", "A name can contain a domain only after the organization has verified it. "+
				"If it is not a domain, add a space after the dot.")
			return c.Err()
		}
	}
	return nil
}

// isDomain reports whether a word with dots in it is a domain or begins like one, as apple.com.evil does.
func isDomain(word string) bool {
	if slices.Contains(notDomains, word) {
		return false
	}
	labels := strings.Split(word, ".")
	return labels[0] == "www" || slices.ContainsFunc(labels[1:], isTopLevel)
}

// isTopLevel reports whether a label is a top-level domain.
func isTopLevel(label string) bool {
	if ascii, err := lookupProfile.ToASCII(label); err == nil {
		label = ascii
	}
	_, listed := publicsuffix.PublicSuffix(label)
	return listed || slices.Contains(reservedDomains, label)
}

// ownDomain reports whether a word is a verified domain, in ASCII, or belongs to it.
func ownDomain(word, own string) bool {
	ascii, err := lookupProfile.ToASCII(word)
	return err == nil && (ascii == own || strings.HasSuffix(ascii, "."+own))
}

// rename is part of an update of a locked organization that changes its name. Readers see the former name for a while, and
// if it has a verified domain, its admins are emailed.
func (s *Service) rename(tx *store.Tx, p warranty.Principal, account store.Account, name string) error {
	own, err := tx.VerifiedDomains(account.ID)
	if err != nil {
		return err
	}
	if err := checkNamedDomains("name", name, own); err != nil {
		return err
	}
	former, err := tx.FormerNames(account.ID)
	if err != nil {
		return err
	}
	now := s.now()
	former = slices.DeleteFunc(former, func(f warranty.FormerName) bool { return !f.Until.After(now.Add(-warranty.RenameShown)) })
	if len(former) >= warranty.MaxRenames {
		return warranty.Refuse(warranty.InUse, "The organization changed its name 5 times in the last 30 days, which is the limit.")
	}
	former = append([]warranty.FormerName{{Name: account.Name, Until: now}}, former...)
	if err := tx.SetFormerNames(account.ID, former); err != nil || len(own) == 0 {
		return err
	}
	return s.notifyAdmins(tx, p, account, func(t mail.Texts, to warranty.User) mail.Message {
		return t.OrganizationRenamed(to.Email, to.Name, own[0], account.Name, name, s.circumstances(p, now))
	})
}
