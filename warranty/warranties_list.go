package warranty

import (
	"time"
)

// WarrantyFilter selects warranties. Its zero value selects all.
type WarrantyFilter struct {
	Q                  string    `json:"q,omitzero" in:"query" max:"200" doc:"Words to search for, in any order. Each must be the start of a word in the product name, brand, model, serial number, reference number, external ID, category, supplier, seller name or description, or, in warranties that you issued, the customer's name or email, or, from 3 characters on, part of a serial number, reference number or external ID. Case and accents are ignored." tool:"Words in any order. Each is the start of a word in the product, category, supplier, seller, description, the name or email of the shop's customer, serial number, reference or external ID, or 3+ characters inside one of the last three."`
	Status             Status    `json:"status,omitzero" in:"query" doc:"Only warranties with this status."`
	Category           string    `json:"category,omitzero" in:"query" max:"80" doc:"Only warranties in this category. Case-insensitive." tool:"Only warranties in this category."`
	Supplier           string    `json:"supplier,omitzero" in:"query" max:"200" doc:"Only warranties with this supplier. Case-insensitive." tool:"Only warranties with this supplier."`
	Seller             string    `json:"seller,omitzero" in:"query" max:"254" doc:"Only warranties that were bought from this shop: with this seller name, seller email or supplier. Case-insensitive." tool:"Only warranties bought from this shop: its whole name or email, as seller or supplier. For a part of the name use q."`
	Role               Role      `json:"role,omitzero" in:"query" doc:"Only warranties on which you have this role."`
	EndsFrom           Date      `json:"ends_from,omitzero" in:"query" doc:"Only warranties that end on or after this date."`
	EndsTo             Date      `json:"ends_to,omitzero" in:"query" doc:"Only warranties that end on or before this date."`
	CoveredOn          Date      `json:"covered_on,omitzero" in:"query" doc:"Only warranties that covered the product on this date."`
	ExpiringWithinDays *int      `json:"expiring_within_days,omitempty" in:"query" min:"0" max:"3650" doc:"Only active warranties that end within this many days."`
	HasOpenClaim       *bool     `json:"has_open_claim,omitempty" in:"query" doc:"Only warranties with (true) or without (false) an open claim."`
	Assurance          Assurance `json:"assurance,omitzero" in:"query" doc:"Only warranties with this assurance: an issuer or a confirmed seller with a verified domain stands behind them, or nobody who is verified." tool:"Who stands behind the warranty."`
	ExternalID         string    `json:"external_id,omitzero" in:"query" max:"120" doc:"Only the warranty that you issued with this external ID."`
	Customer           string    `json:"customer,omitzero" in:"query" max:"254" doc:"Only warranties that you issued to this customer: the id of a customer, an email address or its start, or words, each the start of a word in the customer's name or email. Case and accents are ignored." tool:"Only warranties that the user's shop issued to this customer: ID, words of the name, or email."`
	PurchasedFrom      Date      `json:"purchased_from,omitzero" in:"query" doc:"Only warranties of products that were bought on or after this date." tool:"Bought on or after."`
	PurchasedTo        Date      `json:"purchased_to,omitzero" in:"query" doc:"Only warranties of products that were bought on or before this date." tool:"Bought on or before."`
}

// check validates the filter.
func (f *WarrantyFilter) check(c *Checks) {
	f.Q = c.query(f.Q)
	f.Category = c.text("category", f.Category, 0, MaxCategory)
	f.Supplier = c.text("supplier", f.Supplier, 0, MaxSupplier)
	f.Seller = c.text("seller", f.Seller, 0, MaxEmail)
	f.ExternalID = c.text("external_id", f.ExternalID, 0, MaxExternalID)
	f.Customer = c.text("customer", f.Customer, 0, MaxEmail)
	if d := f.ExpiringWithinDays; d != nil && (*d < 0 || *d > maxDays) {
		c.Add("expiring_within_days", "out_of_range", "Must be between 0 and 3650 days.")
	}
	if !f.EndsFrom.IsZero() && !f.EndsTo.IsZero() && f.EndsTo < f.EndsFrom {
		c.Add("ends_to", "before_start", "Must be on or after ends_from.")
	}
	if !f.PurchasedFrom.IsZero() && !f.PurchasedTo.IsZero() && f.PurchasedTo < f.PurchasedFrom {
		c.Add("purchased_to", "before_start", "Must be on or after purchased_from.")
	}
}

// WarrantySort is the order of a list of warranties.
type WarrantySort string

// The orders. Records that are equal in the order are listed newest first.
const (
	ByCreatedAtDesc WarrantySort = "-created_at"
	ByEndDate       WarrantySort = "end_date"
	ByEndDateDesc   WarrantySort = "-end_date"
	ByProductName   WarrantySort = "product_name"
	ByUpdatedAt     WarrantySort = "updated_at"
	ByUpdatedAtDesc WarrantySort = "-updated_at"
)

var sortNames = namesOf(ByCreatedAtDesc, ByEndDate, ByEndDateDesc, ByProductName, ByUpdatedAt, ByUpdatedAtDesc)

// Values lists the known orders.
func (WarrantySort) Values() []string { return sortNames }

// String returns the order's name.
func (s WarrantySort) String() string { return string(s) }

// ListWarranties is the input of warranties.list.
type ListWarranties struct {
	Paging
	WarrantyFilter
	Sort WarrantySort `json:"sort,omitzero" in:"query" default:"-created_at" doc:"Order of the list."`
	Selection

	UpdatedSince *time.Time    `json:"updated_since,omitempty" in:"query" doc:"List what was added or changed for you at or after this time, oldest change first. Cannot be combined with filters. Use the synced_to of an earlier response." example:"2026-03-01T12:00:00Z" tool:"What changed since then, oldest change first. No other filters."`
	After        *FeedPosition `json:"after,omitempty" in:"query" doc:"With updated_since, the next of the previous page." tool:"next of the previous page."`
}

// Check validates the input.
func (in *ListWarranties) Check() error {
	var c Checks
	in.checkFeed(&c)
	in.Paging.Check(&c)
	if in.IsFeed() {
		in.Page = 0
	}
	in.WarrantyFilter.check(&c)
	return c.Err()
}

// SummaryGroup is what a summary groups warranties by.
type SummaryGroup string

// The groupings.
const (
	GroupByStatus   SummaryGroup = "status"
	GroupByCategory SummaryGroup = "category"
	GroupBySupplier SummaryGroup = "supplier"
	GroupByBrand    SummaryGroup = "brand"
	GroupByEndMonth SummaryGroup = "end_month"
)

var summaryGroupNames = namesOf(GroupByStatus, GroupByCategory, GroupBySupplier, GroupByBrand, GroupByEndMonth)

// Values lists the known groupings.
func (SummaryGroup) Values() []string { return summaryGroupNames }

// String returns the grouping's name.
func (g SummaryGroup) String() string { return string(g) }

// SummarizeWarranties is the input of warranties.summarize.
type SummarizeWarranties struct {
	WarrantyFilter
	GroupBy SummaryGroup `json:"group_by,omitzero" in:"query" default:"status" doc:"What to count by."`
	Limit   int          `json:"limit,omitzero" in:"query" default:"100" min:"1" max:"500" doc:"Groups to return, 1 to 500. The rest is counted in other."`
}

// Limits of a summary.
const (
	DefaultGroups = 100
	MaxGroups     = 500
)

// Check sets defaults and validates the input.
func (in *SummarizeWarranties) Check() error {
	var c Checks
	in.WarrantyFilter.check(&c)
	if in.GroupBy == "" {
		in.GroupBy = GroupByStatus
	}
	if in.Limit == 0 {
		in.Limit = DefaultGroups
	}
	if in.Limit < 1 || in.Limit > MaxGroups {
		c.Add("limit", "out_of_range", "Must be between 1 and 500.")
	}
	return c.Err()
}

// Summary counts warranties per group.
type Summary struct {
	Today   Date         `json:"today" doc:"The day on which statuses were computed."`
	GroupBy SummaryGroup `json:"group_by" doc:"What was counted by."`
	Total   int64        `json:"total" doc:"Exact number of warranties that the filters select."`
	Groups  []Group      `json:"groups" doc:"The groups: months in order of time, those nearest to today if there are more than the limit; all others largest first."`
	Other   OtherGroups  `json:"other" doc:"The groups beyond the limit."`
}

// Group is one group of a summary.
type Group struct {
	Value *string `json:"value" doc:"The status, category, supplier, brand or month (YYYY-MM; 9999-12 means lifetime); null for warranties without one."`
	Count int64   `json:"count" doc:"Exact number of warranties in the group."`
}

// OtherGroups counts the groups that a summary leaves out.
type OtherGroups struct {
	Groups int64 `json:"groups" doc:"Number of groups."`
	Count  int64 `json:"count" doc:"Number of warranties in them."`
}
