package warranty

import (
	"net/url"
	"strings"
)

// PublicFacts is what the public page of a warranty shows besides its verification.
type PublicFacts struct {
	// Contact is how to reach the verified business that stands behind the warranty; nil without one.
	Contact *Contact
	// Reductions are what its issuer took away since a customer took it, newest first.
	Reductions []Reduction
}

// Moved returns how the start or the end of a warranty moved from where it was best to where it is now, or nil.
func (f PublicFacts) Moved(field string, start, end Date) (found *Reduction) {
	now := end.String()
	if field == "start_date" {
		now = start.String()
	}
	for _, r := range f.Reductions {
		// Dates sort as text.
		if r.Field == field && (found == nil || (field == "end_date") == (*r.From > *found.From)) {
			r.To = &now
			found = &r
		}
	}
	return found
}

// Withdrawn returns the change that made the warranty void or cancelled, or nil.
func (f PublicFacts) Withdrawn() *Reduction {
	for i, r := range f.Reductions {
		if r.Field == "status" {
			return &f.Reductions[i]
		}
	}
	return nil
}

// Contact is how customers reach a business.
type Contact struct{ Website, Email, Phone string }

// NewContact returns how to reach a business with a verified domain. Its website is left out unless it is on that domain:
// nobody has verified where it leads.
func NewContact(domain string, website, email, phone *string) *Contact {
	c := &Contact{}
	set(&c.Email, email)
	set(&c.Phone, phone)
	if website == nil {
		return c
	}
	u, err := url.Parse(*website)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" {
		return c
	}
	if host := strings.ToLower(u.Hostname()); host == domain || strings.HasSuffix(host, "."+domain) {
		c.Website = u.String()
	}
	return c
}

// Empty reports whether there is no way to reach the business.
func (c *Contact) Empty() bool { return c == nil || *c == Contact{} }

// Dial returns the phone number as the address of a link has it, or "" if it is not a plain number.
func (c *Contact) Dial() string {
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -./()\u00a0\u2011\u2013", r) {
			return -1
		}
		return r
	}, c.Phone)
	plain := strings.TrimPrefix(digits, "+")
	if len(plain) < 3 || len(plain) > 20 || strings.Trim(plain, "0123456789") != "" {
		return ""
	}
	return digits
}
