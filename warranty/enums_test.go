package warranty_test

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// enums are the enumerations with the names that the contract gives them.
var enums = []struct {
	zero  interface{ Values() []string }
	names string
}{
	{warranty.Status(0), "active void cancelled upcoming expired"},
	{warranty.ClaimType(0), "repair replacement refund inspection other"},
	{warranty.ClaimStatus(0), "submitted under_review info_requested approved rejected in_progress resolved withdrawn"},
	{warranty.Resolution(0), "repaired replaced refunded store_credit other"},
	{warranty.DocumentType(0), "receipt invoice certificate terms manual photo claim_evidence other"},
	{warranty.TokenStatus(0), "active expired revoked"},
	{warranty.Role(0), "owner seller issuer"},
	{warranty.Door(0), "web api cli mcp"},
	{warranty.Action(0), "warranty.created warranty.updated warranty.deleted seller.linked claim.filed claim.moved document.uploaded " +
		"document.deleted transfer.offered transfer.cancelled transfer.accepted token.created token.rotated token.revoked"},
}

func TestEnums(t *testing.T) {
	for _, e := range enums {
		t.Run(fmt.Sprintf("%T", e.zero), func(t *testing.T) {
			names := strings.Fields(e.names)
			if diff := cmp.Diff(names, e.zero.Values()); diff != "" {
				t.Fatalf("names (-want +got):\n%s", diff)
			}
			for i, name := range append([]string{""}, names...) { // "" is zero: not given
				v := reflect.New(reflect.TypeOf(e.zero))
				if err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(name)); err != nil {
					t.Errorf("%q: %v", name, err)
				}
				text := must(v.Elem().Interface().(encoding.TextMarshaler).MarshalText())
				if v.Elem().Uint() != uint64(i) || string(text) != name || fmt.Sprint(v.Elem().Interface()) != name {
					t.Errorf("%q is read as %d and written %q", name, v.Elem().Uint(), text)
				}
			}
			refuseSpellings(t, e.zero, names[0])
		})
	}
}

// refuseSpellings tries what looks like the name but is not.
func refuseSpellings(t *testing.T, zero any, name string) {
	t.Helper()
	for _, text := range []string{strings.ToUpper(name), " " + name, name + "\n", name + "\x00", name[:2], strings.Replace(name, "s", "ſ", 1) + "ſ", "1", "CANARY"} {
		v := reflect.New(reflect.TypeOf(zero))
		err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
		if err == nil {
			t.Errorf("%q is read as %v", text, v.Elem())
			continue
		}
		if !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("the refusal of %q should list the names and not repeat it: %v", text, err)
		}
	}
}

func TestEnumOutOfRangeHasNoName(t *testing.T) {
	if s := warranty.Status(200).String(); s != "" {
		t.Errorf("Status(200) is called %q", s)
	}
}
