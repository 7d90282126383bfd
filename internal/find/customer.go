package find

import "strings"

// CustomerOf returns the name and the email address of a customer as Customer compares them.
func CustomerOf(name, email string) string {
	if name == "" && email == "" {
		return ""
	}
	return Fold(name) + "\n" + Fold(email)
}

// Customer selects records by their customer: by the start of an email address if the text has an @, and
// otherwise by words, each the start of a word in the name or the address.
type Customer struct {
	email string // folded
	words []string
}

// NewCustomer returns nil for an empty text.
func NewCustomer(text string) *Customer {
	switch {
	case text == "":
		return nil
	case strings.Contains(text, "@"):
		return &Customer{email: Fold(text)}
	}
	return &Customer{words: Words(text)}
}

// matches reports whether a customer in the form of CustomerOf is selected.
func (c *Customer) matches(customer string) bool {
	if c.email != "" {
		_, email, _ := strings.Cut(customer, "\n")
		return strings.HasPrefix(email, c.email)
	}
	return len(c.words) > 0 && matchesAll(c.words, customer, "")
}
