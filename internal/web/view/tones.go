package view

import (
	"net/http"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// httpTone returns the CSS class of an HTTP status.
func httpTone(status int) string {
	switch {
	case status >= http.StatusInternalServerError:
		return "expired"
	case status >= http.StatusBadRequest:
		return "expiring"
	}
	return "active"
}

// Tone returns the CSS class of a status.
func Tone(status warranty.Status, daysRemaining *int) string {
	switch {
	case status == warranty.Active && daysRemaining != nil && *daysRemaining <= EndingSoon:
		return "expiring"
	case status == warranty.Active:
		return "active"
	case status == warranty.Void:
		return "expired"
	}
	return "quiet"
}

// claimTone returns the CSS class of a claim's status.
func claimTone(s warranty.ClaimStatus) string {
	switch s {
	case warranty.Approved, warranty.Resolved:
		return "active"
	case warranty.InfoRequested:
		return "expiring"
	case warranty.Rejected, warranty.Withdrawn:
		return "quiet"
	}
	return "open"
}

// EndingSoon is the number of days before its end from which a warranty ends soon.
const EndingSoon = service.EndingSoonDays

// InForce returns the key of the text that says whether a record is in force, and who says so unless a verified business
// does.
func InForce(v warranty.Verification) string {
	switch {
	case v.Status != warranty.Active || v.By.Backing().Verified():
		return "verify." + v.Status.String()
	case v.Issuer != nil:
		return "verify.by_issuer"
	}
	return "verify.by_owner"
}
