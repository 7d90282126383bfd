package warranty_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// filled sets a field of a record to a value that depends on n.
func filled(t *testing.T, field reflect.Value, n int) {
	t.Helper()
	switch at := field.Addr().Interface().(type) {
	case *string:
		*at = strings.Repeat("x", n)
	case **string:
		*at = warranty.Optional(strings.Repeat("x", n))
	case *warranty.Date:
		*at = warranty.Date(20000 + n)
	case **warranty.Date:
		day := warranty.Date(20000 + n)
		*at = &day
	case *warranty.Status:
		*at = []warranty.Status{warranty.Active, warranty.Void, warranty.Cancelled}[n%3]
	default:
		t.Fatalf("how is a %s filled?", field.Type())
	}
}

// TestEveryFieldIsInTheHistory changes each field of a warranty: its history says so, without the value if later owners
// must not read it.
func TestEveryFieldIsInTheHistory(t *testing.T) {
	// What is never changed, derived, or has events of its own.
	without := []string{"ID", "ReferenceNumber", "SellerConfirmed", "Handover", "Status", "DaysRemaining", "Roles", "VerifyURL",
		"WebURL", "CreatedAt", "UpdatedAt", "ClaimCount", "ClaimURL", "UploadURL", "Seller", "Offer", "Version", "Replay"}
	kind := reflect.TypeFor[warranty.Warranty]()
	for i := range kind.NumField() {
		if slices.Contains(without, kind.Field(i).Name) {
			continue
		}
		var before, after warranty.Warranty
		filled(t, reflect.ValueOf(&before).Elem().Field(i), 1)
		filled(t, reflect.ValueOf(&after).Elem().Field(i), 2)
		if len(warranty.Differences(before, after)) == 0 {
			t.Errorf("a change of %s is not in the history", kind.Field(i).Name)
		}
	}
}

// TestEveryFieldIsUpdatedByABatch changes each field of an item whose external ID is known: the record is updated, or the
// item is refused because of that field.
func TestEveryFieldIsUpdatedByABatch(t *testing.T) {
	kind := reflect.TypeFor[warranty.CreateWarranty]()
	for i := range kind.NumField() {
		name := kind.Field(i).Name
		if name == "ExternalID" || name == "IdempotencyKey" { // the first finds the record
			continue
		}
		var in warranty.CreateWarranty
		filled(t, reflect.ValueOf(&in).Elem().Field(i), 1)
		var known warranty.Warranty
		known.Roles = warranty.NewRoles(warranty.Owner, warranty.Issuer)
		update, err := in.UpdateOf(known)
		if err == nil && reflect.ValueOf(update).FieldByName(name).IsZero() {
			t.Errorf("a batch forgets %s", name)
		}
	}
}

// TestEveryFieldIsIssued sets each field of a warranty to create in an input that issues it: it is checked, kept, and
// taken over, and the input has the same limits.
func TestEveryFieldIsIssued(t *testing.T) {
	kind, issue := reflect.TypeFor[warranty.CreateWarranty](), reflect.TypeFor[warranty.IssueWarranty]()
	for i := range kind.NumField() {
		field := kind.Field(i)
		issued, ok := issue.FieldByName(field.Name)
		if !ok || issued.Type != field.Type || issued.Tag.Get("json") != field.Tag.Get("json") ||
			issued.Tag.Get("max") != field.Tag.Get("max") || issued.Tag.Get("format") != field.Tag.Get("format") {
			t.Errorf("%s is not the same in both inputs", field.Name)
			continue
		}
		in := warranty.IssueWarranty{ProductID: new(warranty.ID)}
		filled(t, reflect.ValueOf(&in).Elem().FieldByIndex(issued.Index), 1)
		_ = in.Check() // sets the fields; what is filled in may be wrong
		want := reflect.ValueOf(in).FieldByIndex(issued.Index)
		if got := reflect.ValueOf(in.From(nil, 0)).Field(i); want.IsZero() || !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Errorf("%s becomes %v, want %v", field.Name, got, want)
		}
	}
}
