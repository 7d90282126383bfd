package warranty

import (
	"slices"
	"strings"
	"time"
)

// ClaimQueue is where a claim is in the work of the account that reads it. Every claim is in exactly one.
type ClaimQueue string

// The queues. "Us" is the account that reads the claim, "them" is the other side.
const (
	WaitingForUs   ClaimQueue = "waiting_for_us"
	WorkInProgress ClaimQueue = "in_progress"
	WaitingForThem ClaimQueue = "waiting_for_them"
	WorkDone       ClaimQueue = "done"
)

var claimQueueNames = namesOf(WaitingForUs, WorkInProgress, WaitingForThem, WorkDone)

// Values lists the known queues.
func (ClaimQueue) Values() []string { return claimQueueNames }

// String returns the queue's name.
func (q ClaimQueue) String() string { return string(q) }

// QueueFor returns the queue of a claim for an account with these roles on its warranty.
func (c Claim) QueueFor(roles Roles) ClaimQueue {
	side := BusinessSide
	if roles.Has(Owner) {
		side = OwnerSide
	}
	switch waiting := c.Waiting(); {
	case !slices.Contains(OpenClaimStatuses, c.Status):
		return WorkDone
	case waiting == nil:
		return WorkInProgress
	case *waiting == side:
		return WaitingForUs
	}
	return WaitingForThem
}

// MaxFault is the maximum length of Claim.Fault, in characters.
const MaxFault = 140

// Fault returns the first line of a description, shortened.
func Fault(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	return excerpt(strings.TrimSpace(line), MaxFault)
}

// ClaimPhotos are the pictures of a claim.
type ClaimPhotos struct {
	First MessageDocument
	Count int64
}

// Words for ListClaims.Assignee, which is the ID of a member otherwise.
const (
	AssignedToMe   = "me"
	AssignedToNone = "none"
)

// maxAssignee is the length of an ID.
const maxAssignee = 36

// AssigneeOf returns the member whose claims are wanted, for a person who asks; nil for any, and the zero ID for nobody.
func (in ListClaims) AssigneeOf(person ID) (*ID, error) {
	switch in.Assignee {
	case "":
		return nil, nil
	case AssignedToMe:
		return &person, nil
	case AssignedToNone:
		return new(ID), nil
	}
	id, err := ParseID(in.Assignee)
	if err != nil {
		var c Checks
		c.Add("assignee", "invalid", "Use me, none or the ID of a member.")
		return nil, c.Err()
	}
	return &id, nil
}

// maxDays limits filters by a number of days.
const maxDays = 3650

// CountClaims is the input of claims.count.
type CountClaims struct{}

// ClaimCounts is how many claims an account has in each queue.
type ClaimCounts struct {
	WaitingForUs   int64 `json:"waiting_for_us" doc:"Claims that wait for your account."`
	InProgress     int64 `json:"in_progress" doc:"Open claims that wait for nobody, such as approved ones."`
	WaitingForThem int64 `json:"waiting_for_them" doc:"Claims that wait for the other side: for a business its customers, for an owner the business."`
	Done           int64 `json:"done" doc:"Claims that are resolved, rejected or withdrawn."`
	// Mine, Unassigned and Replied count those that wait for the account.
	Mine       int64 `json:"mine" doc:"Those waiting for your account that you work on."`
	Unassigned int64 `json:"unassigned" doc:"Those waiting for your account that nobody works on."`
	Replied    int64 `json:"replied" doc:"Those waiting for your account in which the other side wrote last."`
	// Oldest is since when the oldest of them waits.
	Oldest *time.Time `json:"oldest" doc:"Since when the one that waits longest waits for your account."`
}

// In returns the number of claims in a queue.
func (n ClaimCounts) In(q ClaimQueue) int64 {
	switch q {
	case WaitingForUs:
		return n.WaitingForUs
	case WorkInProgress:
		return n.InProgress
	case WaitingForThem:
		return n.WaitingForThem
	}
	return n.Done
}

// Place is where a claim is in a list: At of Of, from 1, between its neighbours. At is 0 for one that is not in the list, and
// Next is then the first.
type Place struct {
	At, Of         int64
	Previous, Next *ID
}
