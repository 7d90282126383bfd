package warranty_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

func day(text string) warranty.Date { return must(warranty.ParseDate(text)) }

// sample returns a warranty with a value in every field.
func sample() warranty.Warranty {
	return warranty.Warranty{
		ID: must(warranty.ParseID(sampleID)), ReferenceNumber: sampleReference, ProductName: "Washing machine",
		Description: new("Parts and labour."), SerialNumber: new("WGG244A20-0017"), Category: new("Appliances"),
		Supplier:   new("Bosch"),
		SellerName: new("Shop"), SellerEmail: new("ada@shop.example"), StartDate: day("2026-03-01"),
		EndDate: day("2028-02-29"),
		Status:  warranty.Active, DaysRemaining: new(7), Roles: warranty.NewRoles(warranty.Owner, warranty.Issuer),
		VerifyURL: "https://w.example/verify/" + sampleReference, WebURL: "https://w.example/warranties/" + sampleID,
		CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(2, 0), Standing: warranty.Active, Version: 3, Replay: true,
	}
}

func TestShow(t *testing.T) {
	const start, end = "2026-03-01", "2028-02-29"
	for _, tc := range []struct {
		name       string
		standing   warranty.Status
		start, end string
		today      string
		want       warranty.Status
		left       *int
	}{
		{"long before the start", warranty.Active, start, end, "0001-01-01", warranty.Upcoming, nil},
		{"day before the start", warranty.Active, start, end, "2026-02-28", warranty.Upcoming, nil},
		{"first day", warranty.Active, start, end, "2026-03-01", warranty.Active, new(730)},
		{"second day", warranty.Active, start, end, "2026-03-02", warranty.Active, new(729)},
		{"day before the last", warranty.Active, start, end, "2028-02-28", warranty.Active, new(1)},
		{"last day", warranty.Active, start, end, "2028-02-29", warranty.Active, new(0)},
		{"day after the last", warranty.Active, start, end, "2028-03-01", warranty.Expired, nil},
		{"long after", warranty.Active, start, end, "9999-12-31", warranty.Expired, nil},
		{"one day of cover, on it", warranty.Active, start, start, start, warranty.Active, new(0)},
		{"one day of cover, after it", warranty.Active, start, start, "2026-03-02", warranty.Expired, nil},
		{"for life, before", warranty.Active, start, "9999-12-31", "2026-02-28", warranty.Upcoming, nil},
		{"for life, within", warranty.Active, start, "9999-12-31", "2026-03-01", warranty.Active, nil},
		{"for life, on the last day of all", warranty.Active, start, "9999-12-31", "9999-12-31", warranty.Active, nil},
		{"nearly for life", warranty.Active, start, "9999-12-30", "9999-12-29", warranty.Active, new(1)},
		{"void before", warranty.Void, start, end, "2026-02-28", warranty.Void, nil},
		{"void within", warranty.Void, start, end, "2027-01-01", warranty.Void, nil},
		{"void after", warranty.Void, start, end, "2028-03-01", warranty.Void, nil},
		{"cancelled before", warranty.Cancelled, start, end, "2026-02-28", warranty.Cancelled, nil},
		{"cancelled within", warranty.Cancelled, start, end, "2027-01-01", warranty.Cancelled, nil},
		{"cancelled after", warranty.Cancelled, start, end, "2028-03-01", warranty.Cancelled, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := sample()
			got.Standing, got.StartDate, got.EndDate = tc.standing, day(tc.start), day(tc.end)
			got.Status, got.DaysRemaining = warranty.Expired, new(99) // what it showed yesterday
			want := got
			want.Status, want.DaysRemaining = tc.want, tc.left
			got.Show(day(tc.today))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

// TestShowAgreesWithCovers checks that a warranty is shown as active exactly on the days
// that it covers.
func TestShowAgreesWithCovers(t *testing.T) {
	testenv.Property(t, func(t *rapid.T) {
		w := sample()
		w.StartDate, w.EndDate = anyDate().Draw(t, "start"), anyDate().Draw(t, "end")
		w.Standing = rapid.SampledFrom([]warranty.Status{warranty.Active, warranty.Void, warranty.Cancelled}).Draw(t,
			"standing")
		today := anyDate().Draw(t, "today")
		w.Show(today)
		if w.StartDate <= w.EndDate && w.Covers(today) != (w.Status == warranty.Active) {
			t.Errorf("shown as %s, covers: %t", w.Status, w.Covers(today))
		}
		if d := w.DaysRemaining; d != nil && (*d < 0 || today+warranty.Date(*d) != w.EndDate) {
			t.Errorf("%d days are left on %s until %s", *d, today, w.EndDate)
		}
	})
}

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		name     string
		standing warranty.Status
		day      string
		want     bool
	}{
		{"day before", warranty.Active, "2026-02-28", false},
		{"first day", warranty.Active, "2026-03-01", true},
		{"last day", warranty.Active, "2028-02-29", true},
		{"day after", warranty.Active, "2028-03-01", false},
		{"void", warranty.Void, "2027-01-01", false},
		{"cancelled", warranty.Cancelled, "2027-01-01", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := sample()
			w.Standing = tc.standing
			if got := w.Covers(day(tc.day)); got != tc.want {
				t.Errorf("Covers(%s) = %t", tc.day, got)
			}
		})
	}
}

// moves lists all status changes of the contract.
var moves = map[[2]warranty.Status]bool{
	{warranty.Active, warranty.Void}:      true,
	{warranty.Active, warranty.Cancelled}: true,
	{warranty.Void, warranty.Active}:      true,
}

func TestApplyStatus(t *testing.T) {
	stored := []warranty.Status{warranty.Active, warranty.Void, warranty.Cancelled}
	for _, from := range stored {
		for _, to := range stored {
			for _, roles := range roleSets() {
				t.Run(fmt.Sprintf("%s to %s as %s", from, to, strings.Join(roles.Names(), "+")), func(t *testing.T) {
					verb := warranty.VoidOrReinstate
					if to == warranty.Cancelled {
						verb = warranty.Cancel
					}
					var want warranty.Code
					switch {
					case from == to: // setting the current value is a no-op
					case !allows(verb, roles):
						want = warranty.RoleNotAllowed
					case !moves[[2]warranty.Status{from, to}]:
						want = warranty.InvalidTransition
					}
					before := sample()
					before.Standing, before.Roles = from, roles
					applied(t, before, warranty.UpdateWarranty{Status: &to}, want, func(w *warranty.Warranty) { w.Standing = to })
				})
			}
		}
	}
}

// applied applies an update. It expects the error code or, if that is empty, the record
// with only the given change.
func applied(t *testing.T, before warranty.Warranty, in warranty.UpdateWarranty, code warranty.Code,
	change func(*warranty.Warranty)) error {
	t.Helper()
	kept := must(json.Marshal(before))
	got, err := in.Apply(before)
	if again := must(json.Marshal(before)); string(again) != string(kept) {
		t.Errorf("Apply modified its argument from %s to %s", kept, again)
	}
	if c := codeOf(t, err); c != code {
		t.Fatalf("Apply gave %q (%v), want %q", c, err, code)
	}
	if code == "" {
		want := before
		change(&want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("changed (-want +got):\n%s", diff)
		}
	}
	return err
}

func TestInvalidTransitionListsWhatIsAllowed(t *testing.T) {
	w := sample()
	w.Standing = warranty.Void
	_, err := warranty.UpdateWarranty{Status: new(warranty.Cancelled)}.Apply(w)
	if !strings.Contains(err.Error(), "It can only change to: active.") {
		t.Errorf("a void warranty: %v", err)
	}
	w.Standing = warranty.Cancelled
	_, err = warranty.UpdateWarranty{Status: new(warranty.Active)}.Apply(w)
	if !strings.Contains(err.Error(), "is cancelled and can no longer change") {
		t.Errorf("a cancelled warranty: %v", err)
	}
}

// fieldChanges lists all updates besides the status, with their effect on the record.
var fieldChanges = map[string]struct {
	in     warranty.UpdateWarranty
	change func(*warranty.Warranty)
}{
	"product_name": {warranty.UpdateWarranty{ProductName: new("Dryer")},
		func(w *warranty.Warranty) { w.ProductName = "Dryer" }},
	"start_date": {warranty.UpdateWarranty{StartDate: new(day("2026-03-02"))},
		func(w *warranty.Warranty) { w.StartDate = day("2026-03-02") }},
	"end_date": {warranty.UpdateWarranty{EndDate: new(warranty.Lifetime)},
		func(w *warranty.Warranty) { w.EndDate = warranty.Lifetime }},
	"category": {warranty.UpdateWarranty{Category: new("White goods")},
		func(w *warranty.Warranty) { w.Category = new("White goods") }},
	"no category": {warranty.UpdateWarranty{Category: new("")}, func(w *warranty.Warranty) { w.Category = nil }},
	"supplier": {warranty.UpdateWarranty{Supplier: new("Miele")},
		func(w *warranty.Warranty) { w.Supplier = new("Miele") }},
	"no supplier": {warranty.UpdateWarranty{Supplier: new("")}, func(w *warranty.Warranty) { w.Supplier = nil }},
}

func TestApplyFields(t *testing.T) {
	for name, tc := range fieldChanges {
		for _, roles := range roleSets() {
			for _, standing := range []warranty.Status{warranty.Active, warranty.Void, warranty.Cancelled} {
				t.Run(fmt.Sprintf("%s of %s as %s", name, standing, strings.Join(roles.Names(), "+")), func(t *testing.T) {
					var want warranty.Code
					verb := warranty.ChangePromise
					if strings.HasSuffix(name, "category") {
						verb = warranty.ChangeNotes
					}
					if !allows(verb, roles) {
						want = warranty.RoleNotAllowed
					}
					before := sample()
					before.Roles, before.Standing = roles, standing
					applied(t, before, tc.in, want, tc.change)
				})
			}
		}
	}
}

// TestApplyAllOrNothing sends, as a seller, an allowed change together with one that is
// not allowed.
func TestApplyAllOrNothing(t *testing.T) {
	w := sample()
	w.Roles = warranty.NewRoles(warranty.Seller)
	applied(t, w, warranty.UpdateWarranty{Status: new(warranty.Void), Category: new("x")}, warranty.RoleNotAllowed, nil)
	w.Roles = warranty.NewRoles(warranty.Issuer)
	applied(t, w, warranty.UpdateWarranty{Status: new(warranty.Void), Category: new("x")}, warranty.RoleNotAllowed, nil)
	applied(t, w, warranty.UpdateWarranty{Status: new(warranty.Void), Supplier: new("x")}, "", func(w *warranty.Warranty) {
		w.Standing, w.Supplier = warranty.Void, new("x")
	})
	w.Roles = warranty.NewRoles(warranty.Owner)
	applied(t, w, warranty.UpdateWarranty{EndDate: new(warranty.Lifetime), Category: new("x")}, warranty.RoleNotAllowed, nil)
	applied(t, w, warranty.UpdateWarranty{}, "", func(*warranty.Warranty) {})
}

func TestApplyDatesThatCross(t *testing.T) {
	for name, tc := range map[string]struct {
		start, end string // "" keeps the current 2026-03-01 to 2028-02-29
		field      string // "" means no error
	}{
		"start after the record's end":  {"2028-03-01", "", "start_date"},
		"end before the record's start": {"", "2026-02-28", "end_date"},
		"both, crossed":                 {"2027-01-02", "2027-01-01", "end_date"},
		"start on the record's end":     {"2028-02-29", "", ""},
		"end on the record's start":     {"", "2026-03-01", ""},
		"both beyond the old end":       {"2030-01-01", "2031-01-01", ""},
		"both before the old start":     {"2020-01-01", "2021-01-01", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := warranty.UpdateWarranty{}
			if tc.start != "" {
				in.StartDate = new(day(tc.start))
			}
			if tc.end != "" {
				in.EndDate = new(day(tc.end))
			}
			want := warranty.Code("")
			if tc.field != "" {
				want = warranty.ValidationFailed
			}
			err := applied(t, sample(), in, want, func(w *warranty.Warranty) {
				if in.StartDate != nil {
					w.StartDate = *in.StartDate
				}
				if in.EndDate != nil {
					w.EndDate = *in.EndDate
				}
			})
			if tc.field != "" {
				expectFaults(t, err, tc.field+" before_start")
			}
		})
	}
}

func TestUpdateCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		in   warranty.UpdateWarranty
		want []string
	}{
		"nothing":           {warranty.UpdateWarranty{}, nil},
		"emptied name":      {warranty.UpdateWarranty{ProductName: new(" ")}, []string{"product_name required"}},
		"emptied optionals": {warranty.UpdateWarranty{Category: new(""), Supplier: new(" ")}, nil},
		"emptied dates": {warranty.UpdateWarranty{StartDate: new(warranty.Date), EndDate: new(warranty.Date)},
			[]string{"start_date required", "end_date required"}},
		"emptied status": {warranty.UpdateWarranty{Status: new(warranty.Status)}, []string{"status required"}},
		"upcoming":       {warranty.UpdateWarranty{Status: new(warranty.Upcoming)}, []string{"status not_settable"}},
		"expired":        {warranty.UpdateWarranty{Status: new(warranty.Expired)}, []string{"status not_settable"}},
		"active":         {warranty.UpdateWarranty{Status: new(warranty.Active)}, nil},
		"void":           {warranty.UpdateWarranty{Status: new(warranty.Void)}, nil},
		"cancelled":      {warranty.UpdateWarranty{Status: new(warranty.Cancelled)}, nil},
		"crossed dates": {warranty.UpdateWarranty{StartDate: new(day("2026-03-02")), EndDate: new(day("2026-03-01"))},
			[]string{"end_date before_start"}},
		"one day": {warranty.UpdateWarranty{StartDate: new(day("2026-03-01")), EndDate: new(day("2026-03-01"))},
			nil},
		"all wrong at once": {warranty.UpdateWarranty{ProductName: new(""), Status: new(warranty.Expired),
			Category: new("\x1b"), StartDate: new(warranty.Date)}, []string{"product_name required", "status not_settable",
			"category forbidden_character", "start_date required"}},
		"too long to compare": {warranty.UpdateWarranty{IfMatch: `"` + strings.Repeat("x", 999) + `"`},
			[]string{"if_match too_long"}},
	} {
		t.Run(name, func(t *testing.T) { expectFaults(t, tc.in.Check(), tc.want...) })
	}
}

func TestUpdateCheckTrims(t *testing.T) {
	in := warranty.UpdateWarranty{ProductName: new(" a b\n"), Category: new("\tc "), Supplier: new("  ")}
	expectFaults(t, in.Check())
	if *in.ProductName != "a b" || *in.Category != "c" || *in.Supplier != "" {
		t.Errorf("trimmed to %q, %q, %q", *in.ProductName, *in.Category, *in.Supplier)
	}
}

func TestDeleteCheck(t *testing.T) {
	expectFaults(t, (&warranty.DeleteWarranty{IfMatch: `"3"`}).Check())
	expectFaults(t, (&warranty.DeleteWarranty{IfMatch: `"` + strings.Repeat("x", 999) + `"`}).Check(), "if_match too_long")
	expectFaults(t, (&warranty.DeleteWarranty{IfMatch: "3"}).Check(), "if_match invalid")
}

func newWarranty() warranty.CreateWarranty {
	return warranty.CreateWarranty{ProductName: "Dryer", StartDate: day("2026-03-01"), EndDate: day("2028-02-29")}
}

// TestCreateLengths checks the maximum lengths in the contract, section 4.
func TestCreateLengths(t *testing.T) {
	for field, tc := range map[string]struct {
		most int
		at   func(*warranty.CreateWarranty) *string
	}{
		"product_name":  {200, func(in *warranty.CreateWarranty) *string { return &in.ProductName }},
		"description":   {5000, func(in *warranty.CreateWarranty) *string { return &in.Description }},
		"serial_number": {120, func(in *warranty.CreateWarranty) *string { return &in.SerialNumber }},
		"category":      {80, func(in *warranty.CreateWarranty) *string { return &in.Category }},
		"supplier":      {200, func(in *warranty.CreateWarranty) *string { return &in.Supplier }},
		"seller_name":   {200, func(in *warranty.CreateWarranty) *string { return &in.SellerName }},
	} {
		for _, letter := range []string{"x", "é", "日", "🛠"} {
			t.Run(field+" in "+letter, func(t *testing.T) {
				in := newWarranty()
				*tc.at(&in) = "  " + strings.Repeat(letter, tc.most) + "\n"
				expectFaults(t, in.Check())
				if want := strings.Repeat(letter, tc.most); *tc.at(&in) != want {
					t.Errorf("trimmed to %d bytes, want %d", len(*tc.at(&in)), len(want))
				}
				*tc.at(&in) += letter
				expectFaults(t, in.Check(), field+" too_long")
			})
		}
	}
}

func TestCreateCheck(t *testing.T) {
	type in = warranty.CreateWarranty
	for name, tc := range map[string]struct {
		change func(*in)
		want   []string
	}{
		"as it should be": {func(*in) {}, nil},
		"nothing given": {func(w *in) { *w = in{} }, []string{"product_name required", "start_date required",
			"end_date required"}},
		"blank name":          {func(w *in) { w.ProductName = " \t\n" }, []string{"product_name required"}},
		"end before start":    {func(w *in) { w.EndDate = w.StartDate - 1 }, []string{"end_date before_start"}},
		"one day":             {func(w *in) { w.EndDate = w.StartDate }, nil},
		"for life":            {func(w *in) { w.EndDate = warranty.Lifetime }, nil},
		"many lines":          {func(w *in) { w.Description = "one\r\ntwo\n\tthree" }, nil},
		"two lines in a name": {func(w *in) { w.ProductName = "one\ntwo" }, []string{"product_name forbidden_character"}},
		"bad address":         {func(w *in) { w.SellerEmail = "nobody" }, []string{"seller_email invalid_email"}},
		"key":                 {func(w *in) { w.IdempotencyKey = new("order 17") }, nil},
		"quoted key":          {func(w *in) { w.IdempotencyKey = new(`"order 17"`) }, nil},
		"empty key":           {func(w *in) { w.IdempotencyKey = new("") }, []string{"idempotency_key invalid"}},
		"blank key":           {func(w *in) { w.IdempotencyKey = new("  ") }, []string{"idempotency_key invalid"}},
		"quoted nothing":      {func(w *in) { w.IdempotencyKey = new(`""`) }, []string{"idempotency_key invalid"}},
		"longest key":         {func(w *in) { w.IdempotencyKey = new(strings.Repeat("~", 255)) }, nil},
		"longest key, quoted": {func(w *in) { w.IdempotencyKey = new(`"` + strings.Repeat("~", 255) + `"`) }, nil},
		"too long key": {func(w *in) { w.IdempotencyKey = new(strings.Repeat("~", 256)) },
			[]string{"idempotency_key invalid"}},
		"key with a control": {func(w *in) { w.IdempotencyKey = new("a\tb") }, []string{"idempotency_key invalid"}},
		"key beyond ASCII":   {func(w *in) { w.IdempotencyKey = new("é") }, []string{"idempotency_key invalid"}},
		"everything wrong at once": {func(w *in) { *w = in{SellerEmail: "x", Category: "\x00", IdempotencyKey: new("")} },
			[]string{"product_name required", "start_date required", "end_date required", "seller_email invalid_email",
				"category forbidden_character", "idempotency_key invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := newWarranty()
			tc.change(&in)
			expectFaults(t, in.Check(), tc.want...)
		})
	}
}

func TestIdempotencyKeyQuotedOrNotIsTheSame(t *testing.T) {
	for _, key := range []string{`abc`, `"abc"`, ` "abc" `} {
		in := newWarranty()
		in.IdempotencyKey = &key
		expectFaults(t, in.Check())
		if *in.IdempotencyKey != "abc" {
			t.Errorf("%q is parsed as %q", key, *in.IdempotencyKey)
		}
	}
}

func TestPaging(t *testing.T) {
	for name, tc := range map[string]struct {
		in     warranty.Paging
		want   warranty.Paging
		offset int64
		faults []string
	}{
		"left out":    {warranty.Paging{}, warranty.Paging{Page: 1, Limit: 20}, 0, nil},
		"second page": {warranty.Paging{Page: 2, Limit: 7}, warranty.Paging{Page: 2, Limit: 7}, 7, nil},
		"largest": {warranty.Paging{Page: 1_000_000_000, Limit: 100}, warranty.Paging{Page: 1_000_000_000, Limit: 100},
			99_999_999_900, nil},
		"smallest": {warranty.Paging{Page: 1, Limit: 1}, warranty.Paging{Page: 1, Limit: 1}, 0, nil},
		"below": {warranty.Paging{Page: -1, Limit: -1}, warranty.Paging{Page: -1, Limit: -1}, 2,
			[]string{"page out_of_range", "limit out_of_range"}},
		"limit above": {warranty.Paging{Limit: 101}, warranty.Paging{Page: 1, Limit: 101}, 0, []string{"limit out_of_range"}},
		"page above": {warranty.Paging{Page: 1_000_000_001}, warranty.Paging{Page: 1_000_000_001, Limit: 20}, 20_000_000_000,
			[]string{"page out_of_range"}},
		"far beyond": {warranty.Paging{Page: math.MaxInt, Limit: 1}, warranty.Paging{Page: math.MaxInt, Limit: 1},
			math.MaxInt64 - 1, []string{"page out_of_range"}},
	} {
		t.Run(name, func(t *testing.T) {
			var c warranty.Checks
			tc.in.Check(&c)
			expectFaults(t, c.Err(), tc.faults...)
			if tc.in != tc.want || tc.in.Offset() != tc.offset {
				t.Errorf("%+v with offset %d, want %+v with %d", tc.in, tc.in.Offset(), tc.want, tc.offset)
			}
		})
	}
}

func TestPageOf(t *testing.T) {
	for _, tc := range []struct {
		limit        int
		total, pages int64
	}{
		{20, 0, 0}, {20, 1, 1}, {20, 19, 1}, {20, 20, 1}, {20, 21, 2}, {1, 5, 5}, {100, 100, 1}, {100, 101, 2},
		{100, 1 << 40, 10995116278},
	} {
		t.Run(fmt.Sprintf("%d by %d", tc.total, tc.limit), func(t *testing.T) {
			got := warranty.PageOf[int](nil, warranty.Paging{Page: 3, Limit: tc.limit}, tc.total)
			want := warranty.Pagination{Page: 3, Limit: tc.limit, Total: tc.total, TotalPages: tc.pages}
			if got.Paged() != want {
				t.Errorf("%+v, want %+v", got.Paged(), want)
			}
			if b := must(json.Marshal(got)); !strings.HasPrefix(string(b), `{"data":[],"pagination":{`) {
				t.Errorf("an empty list is encoded as %s", b)
			}
		})
	}
}

func TestListCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		in   warranty.ListWarranties
		want []string
	}{
		"nothing":   {warranty.ListWarranties{}, nil},
		"0 days":    {warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{ExpiringWithinDays: new(0)}}, nil},
		"3650 days": {warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{ExpiringWithinDays: new(3650)}}, nil},
		"3651 days": {warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{ExpiringWithinDays: new(3651)}},
			[]string{"expiring_within_days out_of_range"}},
		"-1 days": {warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{ExpiringWithinDays: new(-1)}}, []string{"expiring_within_days out_of_range"}},
		"all at once": {warranty.ListWarranties{Paging: warranty.Paging{Limit: 101}, WarrantyFilter: warranty.WarrantyFilter{Q: "\x00", ExpiringWithinDays: new(-1)}},
			[]string{"limit out_of_range", "q forbidden_character", "expiring_within_days out_of_range"}},
	} {
		t.Run(name, func(t *testing.T) { expectFaults(t, tc.in.Check(), tc.want...) })
	}
}

func TestMatches(t *testing.T) {
	w := warranty.Warranty{Version: 3}
	for ifMatch, want := range map[string]bool{
		``: true, `"3"`: true, `*`: true, `"1", "3"`: true, `"1","3"`: true, ` "3" `: true,
		`"4"`: false, `3`: false, `W/"3"`: false, `"33"`: false, `"1", "2"`: false, `""`: false,
	} {
		if got := w.Matches(ifMatch); got != want {
			t.Errorf("Matches(%s) = %t", ifMatch, got)
		}
	}
}

// TestWarrantyJSON compares the fields with the contract, sections 4 and 13.
func TestWarrantyJSON(t *testing.T) {
	want := strings.Fields("id reference_number product_name description serial_number external_id category supplier seller_name seller_email seller_confirmed " +
		"brand model gtin purchase_date price currency customer_name handover " +
		"start_date end_date status days_remaining roles verify_url web_url created_at updated_at")
	slices.Sort(want)
	for name, w := range map[string]warranty.Warranty{"full": sample(), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, keys(t, w)); diff != "" {
				t.Errorf("fields (-contract +got):\n%s", diff)
			}
		})
	}
}

// keys returns the sorted JSON names of a record.
func keys(t *testing.T, v any) []string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(must(json.Marshal(v)), &object); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(object))
}

// TestETagRoundTrip sets the ETag of a record from its own header.
func TestETagRoundTrip(t *testing.T) {
	want := warranty.Warranty{Version: 42, Replay: true}
	var got warranty.Warranty
	got.SetETag(want.ETag())
	got.SetReplayed(want.Replayed())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	for _, tag := range []string{"", `W/"7"`, `"x"`, "*"} {
		if got.SetETag(tag); got.Version != 42 {
			t.Errorf("%s is parsed as version %d", tag, got.Version)
		}
	}
}
