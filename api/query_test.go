package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

func TestQuery(t *testing.T) {
	for name, tc := range map[string]struct {
		query string
		want  warranty.ListWarranties // before defaults
	}{
		"nothing":        {"", warranty.ListWarranties{}},
		"the basic form": {"page=2&limit=50", warranty.ListWarranties{Paging: warranty.Paging{Page: 2, Limit: 50}}},
		"filters": {"status=expired&category=White+goods&role=seller&q=%C3%A9",
			warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Status: warranty.Expired, Category: "White goods", Role: warranty.Seller, Q: "é"}}},
		"zero days":          {"expiring_within_days=0", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{ExpiringWithinDays: new(0)}}},
		"wildcards are text": {"q=%25_*", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Q: "%_*"}}},
		"largest": {"page=1000000000&limit=100",
			warranty.ListWarranties{Paging: warranty.Paging{Page: 1_000_000_000, Limit: 100}}},
		"leading zeros": {"page=007", warranty.ListWarranties{Paging: warranty.Paging{Page: 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts("")
			p.Query = tc.query
			got, err := api.ListWarranties.Decode(p)
			if diff := cmp.Diff(any(&tc.want), got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestQueryRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		query string
		want  []string // none is a malformed request
	}{
		"unknown": {"colour=" + canary, []string{"colour unknown_parameter"}},
		"two unknown": {"size=1&colour=" + canary, []string{"colour unknown_parameter",
			"size unknown_parameter"}},
		"other case":              {"Page=1", []string{"Page unknown_parameter"}},
		"array style":             {"status[]=active", []string{"status[] unknown_parameter"}},
		"no name":                 {"=" + canary, []string{" unknown_parameter"}},
		"name for a terminal":     {"%1b[31m=" + canary, []string{"?[31m unknown_parameter"}},
		"invalid UTF-8 in a name": {"%ff=1", []string{"? unknown_parameter"}},
		"of another operation":    {"warranty_id=" + someID.String(), []string{"warranty_id unknown_parameter"}},
		"twice":                   {"page=1&page=2", []string{"page duplicate"}},
		"twice the same":          {"status=active&status=active", []string{"status duplicate"}},
		"empty":                   {"status=", []string{"status empty"}},
		"empty without =":         {"category", []string{"category empty"}},
		"page 0":                  {"page=0", []string{"page out_of_range"}},
		"page -0":                 {"page=-0", []string{"page out_of_range"}},
		"page -1":                 {"page=-1", []string{"page out_of_range"}},
		"page 1.5":                {"page=1.5", []string{"page wrong_type"}},
		"page 1e3":                {"page=1e3", []string{"page wrong_type"}},
		"page +1":                 {"page=%2B1", []string{"page wrong_type"}},
		"page with a space":       {"page=+1", []string{"page wrong_type"}},
		"page in hexadecimal":     {"page=0x10", []string{"page wrong_type"}},
		"page with underscores":   {"page=1_000", []string{"page wrong_type"}},
		"page in arabic digits":   {"page=%D9%A1", []string{"page wrong_type"}},
		"page 10^9+1":             {"page=1000000001", []string{"page out_of_range"}},
		"page max int":            {"page=9223372036854775807", []string{"page out_of_range"}},
		"page huge":               {"page=" + strings.Repeat("9", 1000), []string{"page wrong_type"}},
		"page a word":             {"page=" + canary, []string{"page wrong_type"}},
		"limit 0":                 {"limit=0", []string{"limit out_of_range"}},
		"limit 101":               {"limit=101", []string{"limit out_of_range"}},
		"limit 10^9":              {"limit=1000000000", []string{"limit out_of_range"}},
		"unknown status":          {"status=" + canary, []string{"status invalid"}},
		"status, other case":      {"status=Active", []string{"status invalid"}},
		"status, long s":          {"%C5%BFtatus=active", []string{"?tatus unknown_parameter"}},
		"unknown role":            {"role=" + canary, []string{"role invalid"}},
		"invalid UTF-8":           {"q=" + canary + "%ff", []string{"q invalid"}},
		"NUL":                     {"q=" + canary + "%00", []string{"q forbidden_character"}},
		"escape":                  {"category=%1b" + canary, []string{"category forbidden_character"}},
		"too long":                {"q=" + strings.Repeat("x", 201), []string{"q too_long"}},
		"-1 days":                 {"expiring_within_days=-1", []string{"expiring_within_days out_of_range"}},
		"3651 days":               {"expiring_within_days=3651", []string{"expiring_within_days out_of_range"}},
		"all at once": {"page=0&limit=x&status=" + canary + "&colour=1&q=%00",
			[]string{"page out_of_range", "limit wrong_type", "status invalid", "colour unknown_parameter",
				"q forbidden_character"}},

		"bad percent-encoding":    {"q=%zz" + canary, nil},
		"cut off":                 {"q=%4", nil},
		"bad encoding of a name":  {"%zz=1", nil},
		"semicolons":              {"page=1;limit=" + canary, nil},
		"a credential":            {"api_key=" + canary, nil},
		"a credential, no value":  {"api_key=", nil},
		"a credential among all":  {"page=1&colour=1&zebra=1&token=" + canary, nil},
		"a credential, capitals":  {"API_KEY=" + canary, nil},
		"a credential, joined":    {"apikey=" + canary, nil},
		"a credential's header":   {"x-api-key=" + canary, nil},
		"a session":               {"access_token=" + canary, nil},
		"a credential, other key": {"key=" + canary, nil},
	} {
		t.Run(name, func(t *testing.T) {
			code := warranty.ValidationFailed
			if tc.want == nil {
				code = warranty.MalformedRequest
			}
			_, err := decodeQuery(api.ListWarranties.Spec, tc.query)
			expect(t, err, code, tc.want...)
		})
	}
}

// TestQueryOfEveryOperation checks that no operation ignores an unknown parameter or
// accepts a credential in the query.
func TestQueryOfEveryOperation(t *testing.T) {
	for _, s := range api.Operations() {
		t.Run(s.Name, func(t *testing.T) {
			body := ""
			if s.HasBody() {
				body = string(must(s.Request(sample(s))).Body)
			}
			p := parts(body)
			p.Query = "colour=" + canary
			_, err := checked(s.Decode(p))
			expect(t, err, warranty.ValidationFailed, "colour unknown_parameter")
			p.Query = "api_key=" + canary
			_, err = checked(s.Decode(p))
			expect(t, err, warranty.MalformedRequest)
		})
	}
}

// TestBodyFieldsAreNotTakenFromTheQuery checks that body parameters are rejected in the
// query.
func TestBodyFieldsAreNotTakenFromTheQuery(t *testing.T) {
	for _, s := range api.Operations() {
		for _, p := range s.Params {
			if p.In == api.Query {
				continue
			}
			t.Run(s.Name+" "+p.Name, func(t *testing.T) {
				in := parts(string(must(s.Request(sample(s))).Body))
				in.Query = url.Values{p.Name: {canary}}.Encode()
				_, err := checked(s.Decode(in))
				expect(t, err, warranty.ValidationFailed, p.Name+" unknown_parameter")
			})
		}
	}
}

func TestHeaders(t *testing.T) {
	for name, tc := range map[string]struct {
		values []string
		code   warranty.Code
		want   []string
	}{
		"none":          {nil, "", nil},
		"one":           {[]string{"order-17"}, "", nil},
		"quoted":        {[]string{`"order-17"`}, "", nil},
		"two":           {[]string{canary, "b"}, warranty.MalformedRequest, nil},
		"empty":         {[]string{""}, warranty.ValidationFailed, []string{"idempotency_key invalid"}},
		"beyond ASCII":  {[]string{canary + "é"}, warranty.ValidationFailed, []string{"idempotency_key invalid"}},
		"invalid UTF-8": {[]string{canary + "\xff"}, warranty.ValidationFailed, []string{"idempotency_key invalid"}},
		"too long":      {[]string{strings.Repeat("x", 256)}, warranty.ValidationFailed, []string{"idempotency_key invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts(`{` + goodWarranty + `}`)
			p.Header = http.Header{"Idempotency-Key": tc.values, "If-Match": {`"3"`}, "X-Other": {canary}}
			in, err := checked(api.CreateWarranty.Decode(p))
			expect(t, err, tc.code, tc.want...)
			if name == "one" && *in.(*warranty.CreateWarranty).IdempotencyKey != "order-17" {
				t.Errorf("decoded as %v", in)
			}
		})
	}
}

// TestWhatIsDecodedIsText checks that decoding rejects invalid UTF-8 in every input, even
// if its check would not.
func TestWhatIsDecodedIsText(t *testing.T) {
	p := parts("")
	p.Query = "serial=%ff"
	_, err := api.VerifyWarranty.Decode(p)
	expect(t, err, warranty.ValidationFailed, "serial invalid")
	p.Query, p.Path = "", func(string) string { return canary + "\xff" }
	_, err = api.VerifyWarranty.Decode(p)
	expect(t, err, warranty.NotFound)
}

// TestIfMatchHeader // B11: several If-Match headers form one list, and an empty or
// malformed one is rejected.
func TestIfMatchHeader(t *testing.T) {
	decode := func(values ...string) (any, error) {
		return api.DeleteWarranty.Decode(api.Parts{Path: func(string) string { return someID.String() },
			Header: http.Header{"If-Match": values}})
	}
	for _, c := range []struct {
		values []string
		want   string
	}{{nil, ""}, {[]string{`"1"`}, `"1"`}, {[]string{`"1"`, `W/"2", "3"`}, `"1", W/"2", "3"`}, {[]string{`*`}, `*`},
		{[]string{"", `"1"`}, `, "1"`}} {
		in, err := decode(c.values...)
		if diff := cmp.Diff(any(&warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: someID}, IfMatch: c.want}), in); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", c.values, err, diff)
		}
	}
	for _, values := range [][]string{{""}, {" "}, {"", ""}, {"1"}, {`"1`}, {`"1" "2"`}, {"*", `"1"`}, {"\"a\x7f\""}, {canary}} {
		_, err := decode(values...)
		expect(t, err, warranty.MalformedRequest)
	}
}
