package warranty

import (
	"net/netip"
	"strings"
	"time"
)

// Limits of domains.
const (
	MaxDomains = 20
	MaxDomain  = 253
	// DomainGrace is how long a domain stays verified while its checks fail.
	DomainGrace = 3 * 24 * time.Hour
	// DomainCheckEvery is how often a verified domain is checked.
	DomainCheckEvery = 24 * time.Hour
)

// DomainRecord is the label of the DNS record that verifies a domain, and the start of its text.
const (
	DomainLabel  = "_warranty."
	DomainPrefix = "warranty-verification="
)

// DomainStatus is whether a domain is verified.
type DomainStatus string

// The statuses of a domain.
const (
	DomainWaiting  DomainStatus = "waiting"
	DomainVerified DomainStatus = "verified"
	DomainFailing  DomainStatus = "failing" // verified, but the last checks failed
)

var domainStatusNames = namesOf(DomainWaiting, DomainVerified, DomainFailing)

// Values lists the known statuses.
func (DomainStatus) Values() []string { return domainStatusNames }

// String returns the status's name.
func (s DomainStatus) String() string { return string(s) }

// Domain is a domain that an organization wants to have verified.
type Domain struct {
	ID         ID           `json:"id" doc:"Identifier of the domain."`
	Domain     string       `json:"domain" doc:"The domain, in ASCII."`
	Status     DomainStatus `json:"status" doc:"waiting for the DNS record, verified, or failing: verified, but the record is missing."`
	RecordName string       `json:"record_name" doc:"Name of the DNS record to create, of type TXT."`
	RecordText string       `json:"record_text" doc:"Text of the DNS record."`
	ByOperator bool         `json:"by_operator" doc:"Whether the operator of the service verified it. Then it is not checked."`
	VerifiedAt *time.Time   `json:"verified_at" doc:"Since when it is verified."`
	CheckedAt  *time.Time   `json:"checked_at" doc:"When it was last checked."`
	Found      *string      `json:"found" doc:"What the last check found, if it was not the record."`
	LostAt     *time.Time   `json:"lost_at" doc:"When it is no longer verified if the record stays missing."`
	CreatedAt  time.Time    `json:"created_at" doc:"When it was added."`
}

// RecordID returns the ID used in the Location header of a created record.
func (d Domain) RecordID() ID { return d.ID }

// ListDomains is the input of domains.list.
type ListDomains struct {
	Paging
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
}

// Check validates the input.
func (in *ListDomains) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// AddDomain is the input of domains.add.
type AddDomain struct {
	ID     ID     `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	Domain string `json:"domain,omitzero" required:"true" max:"253" doc:"Domain of the organization." example:"halden.example"`
}

// Check normalizes the domain: lower case, without a final dot. The service converts it to ASCII.
func (in *AddDomain) Check() error {
	var c Checks
	in.Domain = strings.TrimSuffix(strings.ToLower(c.text("domain", in.Domain, 1, MaxDomain)), ".")
	if _, err := netip.ParseAddr(in.Domain); err == nil {
		c.Add("domain", "invalid_domain", "Must be a domain name, not an IP address.")
	}
	return c.Err()
}

// CheckDomain is the input of domains.check.
type CheckDomain struct {
	ID       ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	DomainID ID `json:"domain_id" in:"path" required:"true" doc:"Identifier of the domain."`
}

// RemoveDomain is the input of domains.remove.
type RemoveDomain struct {
	ID       ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	DomainID ID `json:"domain_id" in:"path" required:"true" doc:"Identifier of the domain."`
}
