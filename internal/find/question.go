package find

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// Record is what a search looks at in one warranty, claim or document, for one account. Claims and
// documents have an id, roles, texts and a time; the category of a claim is its status, and the name of a document that
// of its file.
type Record struct {
	ID       warranty.ID
	Roles    warranty.Roles
	Standing warranty.Status // active, void or cancelled
	Start    warranty.Date
	End      warranty.Date
	// Category, Supplier, Seller and SellerEmail are as they were entered.
	Category, Supplier, Seller, SellerEmail string
	Name                                    string // of the product
	Updated                                 int64  // in microseconds
	OpenClaim                               bool
	Brand                                   string
	// Issuer stands behind the record until StandsUntil, in microseconds, and ConfirmedBy as its seller,
	// if they are verified.
	Issuer, ConfirmedBy warranty.ID
	StandsUntil         int64
	// Purchased is the date of the purchase, or zero.
	Purchased warranty.Date
	// Customer is the name and the email address of the customer, as CustomerOf returns them, for the issuer only.
	Customer string
	// Text is everything that is searched by words, including the codes. Lines separate fields.
	Text string
	// Work is in which queue a claim is, and Waits, for ByWaiting, since when; see the function Waits.
	Work  Work
	Waits int64
	// Rank is how well the query fits; see Question.Rank.
	Rank Rank
	// Codes are the serial number, the reference, the number of a claim and, for its issuer only, the
	// external id, each as Code returns it, separated by lines.
	Codes string
}

// Question selects records and their order. The zero values of its fields select everything, newest
// first.
type Question struct {
	Today      warranty.Date
	Query      *Query // nil without a query
	Status     warranty.Status
	Role       warranty.Role
	ExpiringBy *warranty.Date // active today, and the last day is not later
	// Category, Supplier and Seller are compared as a whole, without case. People enter the shop as either
	// seller or supplier, so that Seller finds both.
	Category, Supplier, Seller string
	EndsFrom, EndsTo           warranty.Date
	CoveredOn                  warranty.Date
	PurchasedFrom, PurchasedTo warranty.Date
	Customer                   *Customer // nil for any
	OpenClaim                  *bool
	Claims                     ClaimFilter
	Assurance                  warranty.Assurance
	// Verified are the accounts that give an assurance, and Now is the time, in microseconds.
	Verified map[warranty.ID]bool
	Now      int64
	Sort     warranty.WarrantySort
	// Best orders what Query finds by how well it fits, instead of Sort; see BestFirst.
	Best *terms
}

// QuestionOf returns the question of a filter and an order.
func QuestionOf(f warranty.WarrantyFilter, sort warranty.WarrantySort, today warranty.Date) *Question {
	q := &Question{
		Today:     today,
		Status:    f.Status,
		Role:      f.Role,
		Category:  warranty.Fold(f.Category),
		Supplier:  warranty.Fold(f.Supplier),
		Seller:    warranty.Fold(f.Seller),
		EndsFrom:  f.EndsFrom,
		EndsTo:    f.EndsTo,
		CoveredOn: f.CoveredOn,
		OpenClaim: f.HasOpenClaim,
		Assurance: f.Assurance,
		Customer:  NewCustomer(f.Customer),
		Sort:      sort,

		PurchasedFrom: f.PurchasedFrom,
		PurchasedTo:   f.PurchasedTo,
	}
	if f.Q != "" {
		query := NewQuery(f.Q)
		q.Query = &query
	}
	if days := f.ExpiringWithinDays; days != nil {
		last := min(today+warranty.Date(*days), warranty.Lifetime-1)
		q.ExpiringBy = &last
	}
	return q
}

// key identifies what the question selects, or is empty if that does not depend on the records alone.
func (q *Question) key() string {
	if q.Assurance != "" {
		return ""
	}
	key := fmt.Appendf(nil, "%d %d %d %d %d %d %q", q.Today, q.EndsFrom, q.EndsTo, q.CoveredOn, q.PurchasedFrom, q.PurchasedTo,
		[]string{q.Status.String(), q.Role.String(), q.Category, q.Supplier, q.Seller})
	if q.ExpiringBy != nil {
		key = fmt.Appendf(key, " by %d", *q.ExpiringBy)
	}
	if q.OpenClaim != nil {
		key = fmt.Appendf(key, " open %t", *q.OpenClaim)
	}
	if c := q.Claims; c != (ClaimFilter{}) {
		assignee := "any"
		if c.Assignee != nil {
			assignee = c.Assignee.String()
		}
		key = fmt.Appendf(key, " claims %q %q %t %s %d %d", c.Queue, c.For, c.Replied, assignee, c.WaitsBy, c.ChangedFrom)
	}
	if q.Customer != nil {
		key = fmt.Appendf(key, " customer %q %q", q.Customer.email, q.Customer.words)
	}
	if q.Query != nil {
		key = fmt.Appendf(key, " query %q", q.Query.readings)
	}
	return string(key)
}

// Matches reports whether the question selects a record.
func (q *Question) Matches(r *Record) bool {
	return q.matchesDates(r) &&
		(q.Role == "" || r.Roles.Has(q.Role)) &&
		(q.Category == "" || warranty.Fold(r.Category) == q.Category) &&
		(q.Supplier == "" || warranty.Fold(r.Supplier) == q.Supplier) &&
		(q.Seller == "" || isAny(q.Seller, r.Seller, r.SellerEmail, r.Supplier)) &&
		(q.OpenClaim == nil || *q.OpenClaim == r.OpenClaim) &&
		(q.Assurance == "" || q.assured(r) == q.Assurance) &&
		(q.Customer == nil || q.Customer.matches(r.Customer)) &&
		q.Claims.matches(r) &&
		(q.Query == nil || q.Query.Matches(r.Text, r.Codes))
}

// isAny reports whether one of the texts is the folded text, without case.
func isAny(folded string, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return warranty.Fold(text) == folded })
}

// assured returns the assurance of a record.
func (q *Question) assured(r *Record) warranty.Assurance {
	switch {
	case q.Verified[r.Issuer] && r.StandsUntil > q.Now:
		return warranty.IssuerVerified
	case q.Verified[r.ConfirmedBy]:
		return warranty.SellerConfirmed
	}
	return warranty.Unverified
}

func (q *Question) matchesDates(r *Record) bool {
	return (q.Status == "" || shown(r, q.Today) == q.Status) &&
		(q.ExpiringBy == nil || shown(r, q.Today) == warranty.Active && r.End <= *q.ExpiringBy) &&
		(q.EndsFrom.IsZero() || r.End >= q.EndsFrom) &&
		(q.EndsTo.IsZero() || r.End <= q.EndsTo) &&
		(q.PurchasedFrom.IsZero() || !r.Purchased.IsZero() && r.Purchased >= q.PurchasedFrom) &&
		(q.PurchasedTo.IsZero() || !r.Purchased.IsZero() && r.Purchased <= q.PurchasedTo) &&
		(q.CoveredOn.IsZero() || r.Standing == warranty.Active && r.Start <= q.CoveredOn && r.End >= q.CoveredOn)
}

// shown returns the status that a record shows on a day.
func shown(r *Record, day warranty.Date) warranty.Status {
	w := warranty.Warranty{Standing: r.Standing, StartDate: r.Start, EndDate: r.End}
	w.Show(day)
	return w.Status
}

// Compare orders two records as the question wants them. Equal ones are ordered by age, newest
// first.
func (q *Question) Compare(a, b *Record) int {
	order := 0
	if q.Best != nil {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(b.Updated, a.Updated), slices.Compare(b.ID[:], a.ID[:]))
	}
	switch q.Sort {
	case warranty.ByEndDate:
		order = cmp.Compare(a.End, b.End)
	case warranty.ByEndDateDesc:
		order = cmp.Compare(b.End, a.End)
	case warranty.ByProductName:
		order = strings.Compare(Fold(a.Name), Fold(b.Name))
	case warranty.ByUpdatedAt:
		order = cmp.Compare(a.Updated, b.Updated)
	case warranty.ByUpdatedAtDesc:
		order = cmp.Compare(b.Updated, a.Updated)
	case ByWaiting:
		order = cmp.Compare(a.Waits, b.Waits)
	}
	return cmp.Or(order, slices.Compare(b.ID[:], a.ID[:]))
}
