package warranty_test

import (
	"encoding/json"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

const sampleNumber = "CL-3F9B-T6WZ-0QKN-58R5"

func TestWarrantyKey(t *testing.T) {
	id, _ := warranty.ParseID(sampleID)
	for text, want := range map[string]warranty.WarrantyKey{
		"":                                    {},
		sampleID:                              {ID: id},
		strings.ToUpper(sampleID):             {ID: id},
		"WR-7K2M-9QXT-4D8P-HV3A":              {Reference: sampleReference},
		"wr 7k2m 9qxt 4d8p hv3a":              {Reference: sampleReference},
		"7K2M9QXT4D8PHV3A":                    {Reference: sampleReference},
		"W R - 7K2M - 9QXT - 4D8P - H V 3 A ": {Reference: sampleReference},
	} {
		var got warranty.WarrantyKey
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
		if got.IsZero() != (text == "") {
			t.Errorf("%q: IsZero = %t", text, got.IsZero())
		}
		var again warranty.WarrantyKey
		if encoded := must(json.Marshal(want)); text != "" &&
			(json.Unmarshal(encoded, &again) != nil || again != want || string(encoded) != `"`+want.String()+`"`) {
			t.Errorf("%q: encoded as %s and decoded as %+v", text, encoded, again)
		}
	}
	for _, text := range []string{
		"WR-7K2M-9QXT-4D8P-HV3B", sampleNumber, "WR-7K2M", sampleID[:35],
		"00000000-0000-0000-0000-000000000000", " ", "x", "\xff", strings.Repeat("-", 300) + "7K2M9QXT4D8PHV3A",
	} {
		got := warranty.WarrantyKey{ID: id}
		if err := got.UnmarshalText([]byte(text)); err == nil || !got.IsZero() {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func TestClaimKey(t *testing.T) {
	id, _ := warranty.ParseID(sampleID)
	for text, want := range map[string]warranty.ClaimKey{
		"":                       {},
		sampleID:                 {ID: id},
		"CL-3F9B-T6WZ-0QKN-58R5": {Reference: sampleNumber},
		"cl3f9bt6wzoqkn58r5":     {Reference: sampleNumber},
		"3F9B T6WZ 0QKN 58R5":    {Reference: sampleNumber},
	} {
		var got warranty.ClaimKey
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.IsZero() != (text == "") {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
		if text != "" && string(must(got.MarshalText())) != want.String() {
			t.Errorf("%q is formatted as %s", text, must(got.MarshalText()))
		}
	}
	for _, text := range []string{sampleReference, "CL-3F9B-T6WZ-0QKN-58R6", "CL"} {
		if got, err := warranty.ParseClaimKey(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
