package warranty_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestCreateTokenCheck(t *testing.T) {
	const maxRate = 1000
	fiveYears := time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC)
	type in = warranty.CreateToken
	for name, tc := range map[string]struct {
		change func(*in)
		want   []string
	}{
		"as it should be": {func(*in) {}, nil},
		"nothing given":   {func(x *in) { *x = in{} }, []string{"name required", "scopes required"}},
		"blank name":      {func(x *in) { x.Name = " " }, []string{"name required"}},
		"longest name":    {func(x *in) { x.Name = strings.Repeat("é", 80) }, nil},
		"too long a name": {func(x *in) { x.Name = strings.Repeat("é", 81) }, []string{"name too_long"}},
		"control in name": {func(x *in) { x.Name = "a\x1b[31m" }, []string{"name forbidden_character"}},
		"no scope":        {func(x *in) { x.Scopes = []string{} }, []string{"scopes required"}},
		"all scopes": {func(x *in) {
			x.Scopes = []string{"documents:read", "claims:read", "warranties:write", "warranties:read"}
		}, nil},
		"unknown scope": {func(x *in) { x.Scopes = []string{"claims:read", "claims:write"} },
			[]string{"scopes unknown_scope"}},
		"scope, other case": {func(x *in) { x.Scopes = []string{"Claims:Read"} }, []string{"scopes unknown_scope"}},
		"scope with space":  {func(x *in) { x.Scopes = []string{"claims:read "} }, []string{"scopes unknown_scope"}},
		"empty scope":       {func(x *in) { x.Scopes = []string{""} }, []string{"scopes unknown_scope"}},
		"every scope":       {func(x *in) { x.Scopes = []string{"*"} }, []string{"scopes unknown_scope"}},
		"scope twice": {func(x *in) { x.Scopes = []string{"claims:read", "claims:read"} },
			[]string{"scopes duplicate"}},
		"scope thrice": {func(x *in) { x.Scopes = []string{"claims:read", "claims:read", "claims:read"} },
			[]string{"scopes duplicate", "scopes duplicate"}},
		"rate 0": {func(x *in) { x.RateLimitPerMinute = new(0) }, []string{"rate_limit_per_minute out_of_range"}},
		"rate -1": {func(x *in) { x.RateLimitPerMinute = new(-1) },
			[]string{"rate_limit_per_minute out_of_range"}},
		"rate 1":   {func(x *in) { x.RateLimitPerMinute = new(1) }, nil},
		"rate max": {func(x *in) { x.RateLimitPerMinute = new(maxRate) }, nil},
		"rate max+1": {func(x *in) { x.RateLimitPerMinute = new(maxRate + 1) },
			[]string{"rate_limit_per_minute out_of_range"}},
		"rate 10^9": {func(x *in) { x.RateLimitPerMinute = new(1_000_000_000) },
			[]string{"rate_limit_per_minute out_of_range"}},
		"expiry long ago":   {func(x *in) { x.ExpiresAt = new(time.Time{}) }, []string{"expires_at in_the_past"}},
		"expiry now":        {func(x *in) { x.ExpiresAt = &now }, []string{"expires_at in_the_past"}},
		"expiry soon":       {func(x *in) { x.ExpiresAt = new(now.Add(time.Second)) }, nil},
		"expiry in 5 years": {func(x *in) { x.ExpiresAt = &fiveYears }, nil},
		"expiry beyond": {func(x *in) { x.ExpiresAt = new(fiveYears.Add(time.Nanosecond)) },
			[]string{"expires_at too_far"}},
		"expiry, other zone": {func(x *in) { x.ExpiresAt = new(now.In(time.FixedZone("", -5*60*60))) },
			[]string{"expires_at in_the_past"}},
		"all at once": {func(x *in) { *x = in{Scopes: []string{"x"}, RateLimitPerMinute: new(0), ExpiresAt: &now} },
			[]string{"name required", "scopes unknown_scope", "rate_limit_per_minute out_of_range", "expires_at in_the_past"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := warranty.CreateToken{Name: "ERP", Scopes: []string{"warranties:read"}}
			tc.change(&in)
			expectFaults(t, in.Check(now, maxRate), tc.want...)
		})
	}
}

func TestCreateTokenDefaults(t *testing.T) {
	for _, tc := range []struct{ maxRate, want int }{{1000, 100}, {100, 100}, {60, 60}} {
		t.Run(fmt.Sprintf("server allows %d", tc.maxRate), func(t *testing.T) {
			in := warranty.CreateToken{Name: " ERP ", Scopes: []string{"warranties:read"}}
			expectFaults(t, in.Check(now, tc.maxRate))
			want := warranty.CreateToken{Name: "ERP", Scopes: []string{"warranties:read"},
				RateLimitPerMinute: &tc.want, ExpiresAt: new(now.Add(365 * 24 * time.Hour))}
			if diff := cmp.Diff(want, in); diff != "" {
				t.Errorf("filled in (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCreateTokenShape checks that CheckShape finds the same faults as Check.
func TestCreateTokenShape(t *testing.T) {
	in := warranty.CreateToken{Name: "\x00", Scopes: []string{"x"}}
	expectFaults(t, in.CheckShape(), "name forbidden_character", "scopes unknown_scope")
	expectFaults(t, (&warranty.CreateToken{}).CheckShape(), "name required", "scopes required")
	expectFaults(t, (&warranty.CreateToken{Name: "ERP", Scopes: []string{"claims:read"}}).CheckShape())
}

func TestScopeSetIsInFixedOrder(t *testing.T) {
	in := warranty.CreateToken{Scopes: []string{"documents:read", "warranties:read"}}
	if got := in.ScopeSet(); !slices.Equal(got, warranty.Scopes{warranty.WarrantiesRead, warranty.DocumentsRead}) {
		t.Errorf("ScopeSet = %v", got)
	}
}

func TestScopeNames(t *testing.T) {
	want := warranty.Scopes{"warranties:read", "warranties:write", "claims:read", "documents:read"}
	if diff := cmp.Diff(want, warranty.AllScopes); diff != "" {
		t.Errorf("scopes (-interface.md +got):\n%s", diff)
	}
}

func TestTokenShow(t *testing.T) {
	earlier, later := now.Add(-time.Nanosecond), now.Add(time.Nanosecond)
	for name, tc := range map[string]struct {
		token warranty.Token
		want  warranty.TokenStatus
	}{
		"before its end":       {warranty.Token{ExpiresAt: later}, warranty.TokenIsActive},
		"at its end":           {warranty.Token{ExpiresAt: now}, warranty.TokenIsExpired},
		"after its end":        {warranty.Token{ExpiresAt: earlier}, warranty.TokenIsExpired},
		"revoked":              {warranty.Token{ExpiresAt: later, RevokedAt: &earlier}, warranty.TokenIsRevoked},
		"revoked, then ended":  {warranty.Token{ExpiresAt: earlier, RevokedAt: &earlier}, warranty.TokenIsRevoked},
		"was shown as expired": {warranty.Token{ExpiresAt: later, Status: warranty.TokenIsExpired}, warranty.TokenIsActive},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.token.Show(now); tc.token.Status != tc.want {
				t.Errorf("shown as %s, want %s", tc.token.Status, tc.want)
			}
		})
	}
}

func TestRotateCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		overlap *int
		want    []string
	}{
		"left out": {nil, nil}, "none": {new(0), nil}, "a day": {new(86400), nil},
		"more than a day": {new(86401), []string{"overlap_seconds out_of_range"}},
		"negative":        {new(-1), []string{"overlap_seconds out_of_range"}},
	} {
		t.Run(name, func(t *testing.T) {
			expectFaults(t, (&warranty.RotateToken{OverlapSeconds: tc.overlap}).Check(), tc.want...)
		})
	}
}

// TestTokenJSON compares the fields with the contract, section 7. Only NewToken has the
// secret.
func TestTokenJSON(t *testing.T) {
	want := strings.Fields("id name prefix scopes rate_limit_per_minute status expires_at last_used_at revoked_at created_at created_by usage")
	slices.Sort(want)
	if diff := cmp.Diff(want, keys(t, warranty.Token{})); diff != "" {
		t.Errorf("fields (-contract +got):\n%s", diff)
	}
	want = append(want, "secret")
	slices.Sort(want)
	if diff := cmp.Diff(want, keys(t, warranty.NewToken{})); diff != "" {
		t.Errorf("fields of a new token (-contract +got):\n%s", diff)
	}
}
