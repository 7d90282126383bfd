package main

import (
	"math"
	"time"
)

// record is a warranty as stored and returned.
type record struct {
	ID            string   `json:"id"`
	Reference     string   `json:"reference_number"`
	OwnerID       string   `json:"-"`
	IssuerID      string   `json:"-"`
	SellerID      *string  `json:"-"`
	ProductName   string   `json:"product_name"`
	Description   *string  `json:"description"`
	SerialNumber  *string  `json:"serial_number"`
	Category      *string  `json:"category"`
	Supplier      *string  `json:"supplier"`
	SellerName    *string  `json:"seller_name"`
	SellerEmail   *string  `json:"seller_email"`
	StartDate     string   `json:"start_date"`
	EndDate       string   `json:"end_date"`
	Status        string   `json:"status"`
	DaysRemaining *int     `json:"days_remaining"`
	Roles         []string `json:"roles"`
	CreatedAt     string   `json:"created_at"`
	UpdatedAt     string   `json:"updated_at"`
}

// scan reads the columns of a record, and more columns after them.
func (r *record) scan(scan func(...any) error, more ...any) error {
	return scan(append([]any{&r.ID, &r.Reference, &r.OwnerID, &r.IssuerID, &r.SellerID, &r.ProductName, &r.Description,
		&r.SerialNumber, &r.Category, &r.Supplier, &r.SellerName, &r.SellerEmail, &r.StartDate, &r.EndDate, &r.Status,
		&r.CreatedAt, &r.UpdatedAt}, more...)...)
}

// show sets the fields that depend on the date and the user.
func (r *record) show(user string, now time.Time) {
	today := now.Format(time.DateOnly)
	switch {
	case r.Status != "active":
	case today < r.StartDate:
		r.Status = "upcoming"
	case today > r.EndDate:
		r.Status = "expired"
	default:
		if end, err := time.Parse(time.DateOnly, r.EndDate); err == nil {
			days := int(math.Ceil(end.Sub(now).Hours() / 24))
			r.DaysRemaining = &days
		}
	}
	r.Roles = []string{}
	for _, role := range []struct{ id, name string }{
		{r.OwnerID, "owner"},
		{value(r.SellerID), "seller"},
		{r.IssuerID, "issuer"},
	} {
		if role.id == user {
			r.Roles = append(r.Roles, role.name)
		}
	}
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
