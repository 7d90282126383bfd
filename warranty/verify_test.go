package warranty_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

func TestVerifiedShowsOnlyWhatAnyoneMayKnow(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := sample()
	want := warranty.Verification{ReferenceNumber: sampleReference, ProductName: "Washing machine",
		Category: new("Appliances"), Status: warranty.Active,
		StartDate: w.StartDate, EndDate: w.EndDate, SerialNumber: new("••••0017"), Registered: true,
		Assurance: warranty.Unverified, Issuer: &warranty.Party{Name: "Bosch", FormerNames: []warranty.FormerName{}},
		Statement: "Issued by “Bosch”, which has not verified its website.", CheckedAt: at}
	want.By.Issuer = want.Issuer
	got := w.Verified(warranty.Standing{Issuer: warranty.NewParty("Bosch", nil)}, "", at)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verification (-want +got):\n%s", diff)
	}
	// Section 10 of the contract allows only these.
	names := strings.Fields("reference_number product_name category status start_date end_date serial_number serial_matches registered assurance issuer seller statement checked_at")
	slices.Sort(names)
	if diff := cmp.Diff(names, keys(t, got)); diff != "" {
		t.Errorf("fields (-contract +got):\n%s", diff)
	}
	text := string(must(json.Marshal(got)))
	for what, secret := range map[string]string{"id": sampleID, "serial": "WGG244A20", "seller": "shop.example", "email": "@",
		"description": "Parts", "role": "owner"} {
		if strings.Contains(text, secret) {
			t.Errorf("the %s is shown: %s", what, text)
		}
	}
}

func TestVerifiedMasksSerial(t *testing.T) {
	for name, tc := range map[string]struct{ serial, want *string }{
		"none":                {nil, nil},
		"1 character":         {new("7"), new("••••")},
		"7 characters":        {new("1234567"), new("••••")},
		"8 characters":        {new("12345678"), new("••••5678")},
		"9 characters":        {new("123456789"), new("••••6789")},
		"7 unicode letters":   {new("ÄÖÜäöüß"), new("••••")},
		"8 unicode letters":   {new("ÄÖÜäöüß日"), new("••••öüß日")},
		"120 characters":      {new(strings.Repeat("x", 116) + "tail"), new("••••tail")},
		"7 in far more bytes": {new("🛠🛠🛠🛠🛠🛠🛠"), new("••••")},
	} {
		t.Run(name, func(t *testing.T) {
			got := warranty.Warranty{SerialNumber: tc.serial}.Verified(warranty.Standing{}, "", time.Time{}).SerialNumber
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("masked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVerifiedComparesSerial(t *testing.T) {
	for name, tc := range map[string]struct {
		serial *string
		asked  string
		want   *bool
	}{
		"not asked":             {new("WGG244A20-0017"), "", nil},
		"asked for nothing":     {new("WGG244A20-0017"), " - ", nil},
		"the same":              {new("WGG244A20-0017"), "WGG244A20-0017", new(true)},
		"lower case":            {new("WGG244A20-0017"), "wgg244a20-0017", new(true)},
		"without the hyphen":    {new("WGG244A20-0017"), "WGG244A200017", new(true)},
		"with spaces":           {new("WGG244A20-0017"), " WGG 244 A20 0017 ", new(true)},
		"record has spaces":     {new("WGG 244 A20 0017"), "wgg244a20–0017", new(true)},
		"umlauts, other case":   {new("ÄÖÜ-1"), "äöü1", new(true)},
		"the tail alone":        {new("WGG244A20-0017"), "0017", new(false)},
		"the mask":              {new("WGG244A20-0017"), "••••0017", new(false)},
		"one character other":   {new("WGG244A20-0017"), "WGG244A20-0018", new(false)},
		"record has none":       {nil, "WGG244A20-0017", new(false)},
		"record has a hyphen":   {new("-"), "1", new(false)},
		"wildcards mean naught": {new("WGG244A20-0017"), "%", new(false)},
	} {
		t.Run(name, func(t *testing.T) {
			got := warranty.Warranty{SerialNumber: tc.serial}.Verified(warranty.Standing{}, tc.asked, time.Time{}).SerialMatches
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("matches (-want +got):\n%s", diff)
			}
		})
	}
}
