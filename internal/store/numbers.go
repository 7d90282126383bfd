package store

import "warranty.example/svc/internal/store/lists"

// This file names the numbers of enums that are literals in SQL. They are literals, not arguments, because partial
// indexes are used only for literals. TestNumbersAreThoseOfTheEnums compares them with the values in Go.

// Kinds of access rows.
const (
	kindWarranty = lists.SQLWarranties
	kindClaim    = lists.SQLClaims
	kindDocument = lists.SQLDocuments
)

// Bits of access.roles.
const (
	roleOwner        = lists.SQLOwner
	roleSeller       = "2"
	roleIssuer       = "4"
	rolesOwnerIssuer = "5" // both
)

// Kinds of accounts.
const (
	kindPerson       = "1"
	kindOrganization = "2"
)

// Roles of members. PostgreSQL keeps the row of a removed member until nobody holds it.
const (
	memberRemoved = "0"
	memberAdmin   = "1"
)
