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

// Statuses of claims.
const (
	claimSubmitted     = "1"
	claimUnderReview   = "2"
	claimInfoRequested = "3"
	claimApproved      = "4"
	claimInProgress    = "6"
)

// Sides of claims. A status followed by a side is Claim.Spoke.
const (
	sideOwner    = "1"
	sideBusiness = "2"
)

// The queues of claims for an account, as access.queue.
const (
	queueForUs      = "1"
	queueInProgress = "2"
	queueForThem    = "3"
	queueDone       = "4"
)

// Who decides claims.
const (
	managedByBusiness = "1"
	managedByOwner    = "2"
)

// standingActive is the stored status of warranties that are neither void nor cancelled.
const standingActive = "1"

// States of jobs. openJobs are those that a worker has to work on.
const (
	openJobs  = "1, 4"
	jobFailed = "3"
)

// fileDeleted is FileDeleted.
const fileDeleted = "1"

// The actions of operators are consecutive numbers.
const (
	firstOperatorAction = "15"
	lastOperatorAction  = "24"
	doorOperator        = "5"
)
