package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// malformedBodies are bodies that are not a single JSON object in UTF-8 without duplicate
// names.
var malformedBodies = map[string]string{
	"nothing":                    ``,
	"spaces":                     "  \n",
	"null":                       `null`,
	"true":                       `true`,
	"a number":                   `17`,
	"a text":                     `"` + canary + `"`,
	"an array":                   `[{"name":"` + canary + `"}]`,
	"an empty array":             `[]`,
	"no JSON":                    canary,
	"a form":                     `name=` + canary,
	"XML":                        `<name>` + canary + `</name>`,
	"cut off":                    `{"name":"` + canary,
	"cut off behind a colon":     `{"name":`,
	"cut off behind a comma":     `{"name":"` + canary + `",`,
	"not closed":                 `{"name":"` + canary + `"`,
	"closed twice":               `{"name":"` + canary + `"}}`,
	"trailing comma":             `{"name":"` + canary + `",}`,
	"comma alone":                `{,}`,
	"two commas":                 `{"name":"a",,"email":"b"}`,
	"no comma":                   `{"name":"a" "email":"b"}`,
	"no colon":                   `{"name" "` + canary + `"}`,
	"no value":                   `{"name":}`,
	"bare name":                  `{name:"` + canary + `"}`,
	"single quotes":              `{'name':'` + canary + `'}`,
	"number for a name":          `{1:"` + canary + `"}`,
	"trailing document":          `{"name":"a"} {"name":"` + canary + `"}`,
	"trailing text":              `{"name":"a"} ` + canary,
	"trailing NUL":               `{"name":"a"}` + "\x00",
	"comment":                    `{"name":"a"} // ` + canary,
	"comment within":             `{/* ` + canary + ` */"name":"a"}`,
	"byte-order mark":            "\ufeff" + `{"name":"a"}`,
	"UTF-16":                     "\xff\xfe{\x00}\x00",
	"name twice":                 `{"name":"a","name":"` + canary + `"}`,
	"name twice, once escaped":   `{"name":"a","n\u0061me":"` + canary + `"}`,
	"unknown name twice":         `{"x":1,"x":2}`,
	"name twice, deep":           `{"x":{"y":[{"z":1,"z":2}]}}`,
	"invalid UTF-8":              `{"name":"` + canary + "\xff" + `"}`,
	"invalid UTF-8 in a name":    `{"na` + "\xff" + `me":"` + canary + `"}`,
	"overlong UTF-8":             `{"name":"` + "\xc0\x80" + `"}`,
	"surrogate in UTF-8":         `{"name":"` + "\xed\xa0\x80" + `"}`,
	"lone high surrogate":        `{"name":"` + canary + `\ud800"}`,
	"lone low surrogate":         `{"name":"` + canary + `\udc00"}`,
	"surrogates in wrong order":  `{"name":"` + canary + `\udc00\ud800"}`,
	"lone surrogate in a name":   `{"\ud800":1}`,
	"raw NUL":                    `{"name":"` + canary + "\x00" + `"}`,
	"raw newline":                `{"name":"` + canary + "\n" + `"}`,
	"raw escape":                 `{"name":"` + canary + "\x1b" + `"}`,
	"unknown escape":             `{"name":"\x41` + canary + `"}`,
	"short escape":               `{"name":"\u00zz` + canary + `"}`,
	"leading zero":               `{"name":01}`,
	"plus":                       `{"name":+1}`,
	"bare point":                 `{"name":.5}`,
	"hexadecimal":                `{"name":0x10}`,
	"NaN":                        `{"name":NaN}`,
	"Infinity":                   `{"name":-Infinity}`,
	"undefined":                  `{"name":undefined}`,
	"True":                       `{"name":True}`,
	"10^5 arrays":                `{"name":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
	"10^5 arrays, left open":     `{"name":` + strings.Repeat("[", 100_000),
	"10^5 objects":               strings.Repeat(`{"name":`, 100_000) + `1` + strings.Repeat("}", 100_000),
	"10^5 arrays in an unknown":  `{"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
	"10^5 brackets all the same": strings.Repeat("[", 100_000),
}

func TestMalformedBodies(t *testing.T) {
	for name, body := range malformedBodies {
		for _, s := range withBody() {
			t.Run(name+" for "+s.Name, func(t *testing.T) {
				if body == "" && s.BodyOptional {
					t.Skip("this one needs no body")
				}
				_, err := decodeBody(s, body)
				expect(t, err, warranty.MalformedRequest)
			})
		}
		for _, s := range api.Operations() {
			t.Run(name+" as arguments of "+s.Name, func(t *testing.T) {
				if body == "" {
					t.Skip("no arguments are allowed")
				}
				_, err := decodeArguments(s, body)
				expect(t, err, warranty.MalformedRequest)
			})
		}
	}
}

const goodWarranty = `"product_name":"Dryer","start_date":"2026-03-01","end_date":"2028-02-29"`

// wrongFields are well-formed bodies of warranties.create with invalid fields.
var wrongFields = map[string]struct {
	body string
	want []string
}{
	"nothing given": {`{}`, []string{"product_name required", "start_date required", "end_date required"}},
	"unknown":       {`{` + goodWarranty + `,"colour":"` + canary + `"}`, []string{"colour unknown_field"}},
	"two unknown": {`{` + goodWarranty + `,"colour":"red","size":{"` + canary + `":1}}`,
		[]string{"colour unknown_field", "size unknown_field"}},
	"unknown null":        {`{` + goodWarranty + `,"colour":null}`, []string{"colour unknown_field"}},
	"other case":          {`{` + goodWarranty + `,"Category":"x"}`, []string{"Category unknown_field"}},
	"Go's name":           {`{` + goodWarranty + `,"SerialNumber":"x"}`, []string{"SerialNumber unknown_field"}},
	"long s":              {`{` + goodWarranty + `,"ſupplier":"x"}`, []string{"?upplier unknown_field"}},
	"kelvin sign":         {`{` + goodWarranty + `,"\u212aey":"x"}`, []string{"?ey unknown_field"}},
	"empty name":          {`{` + goodWarranty + `,"":"x"}`, []string{" unknown_field"}},
	"name with a space":   {`{` + goodWarranty + `,"category ":"x"}`, []string{"category  unknown_field"}},
	"name with NUL":       {`{` + goodWarranty + `,"category\u0000":"x"}`, []string{"category? unknown_field"}},
	"name for a terminal": {`{` + goodWarranty + `,"\u001b[31m":"x"}`, []string{"?[31m unknown_field"}},
	"very long name": {`{` + goodWarranty + `,"` + strings.Repeat("n", 1<<16) + `":"x"}`,
		[]string{strings.Repeat("n", 64) + "… unknown_field"}},
	"a header's parameter": {`{` + goodWarranty + `,"idempotency_key":"` + canary + `"}`,
		[]string{"idempotency_key unknown_field"}},
	"number for a text": {`{` + goodWarranty + `,"category":17}`, []string{"category wrong_type"}},
	"bool for a text":   {`{` + goodWarranty + `,"category":true}`, []string{"category wrong_type"}},
	"array for a text":  {`{` + goodWarranty + `,"category":["` + canary + `"]}`, []string{"category wrong_type"}},
	"object for a text": {`{` + goodWarranty + `,"category":{"` + canary + `":1}}`, []string{"category wrong_type"}},
	"number for a date": {`{"product_name":"Dryer","start_date":20260301,"end_date":"2028-02-29"}`,
		[]string{"start_date wrong_type"}},
	"no such date": {`{"product_name":"Dryer","start_date":"2026-02-30","end_date":"` + canary + `"}`,
		[]string{"start_date invalid", "end_date invalid"}},
	"date with a time": {`{"product_name":"Dryer","start_date":"2026-02-03T00:00:00Z","end_date":"2028-02-29"}`,
		[]string{"start_date invalid"}},
	"empty required": {`{"product_name":"","start_date":"","end_date":""}`,
		[]string{"product_name required", "start_date required", "end_date required"}},
	"null required": {`{"product_name":null,"start_date":null,"end_date":null}`,
		[]string{"product_name required", "start_date required", "end_date required"}},
	"escaped NUL": {`{` + goodWarranty + `,"serial_number":"` + canary + `\u0000"}`,
		[]string{"serial_number forbidden_character"}},
	"escaped escape": {`{` + goodWarranty + `,"description":"\u001b[2J` + canary + `"}`,
		[]string{"description forbidden_character"}},
	"bad address": {`{` + goodWarranty + `,"seller_email":"` + canary + `"}`,
		[]string{"seller_email invalid_email"}},
	"end before start": {`{"product_name":"Dryer","start_date":"2026-03-02","end_date":"2026-03-01"}`,
		[]string{"end_date before_start"}},
	"two wrong, one missing": {`{"start_date":17,"end_date":"` + canary + `"}`,
		[]string{"start_date wrong_type", "end_date invalid", "product_name required"}},
	"of every kind at once": {`{"colour":1,"start_date":"2026-02-30","end_date":"2026-03-01","category":7,"supplier":"` +
		canary + `\u0000","seller_email":"x"}`,
		[]string{"colour unknown_field", "start_date invalid", "category wrong_type", "supplier forbidden_character",
			"seller_email invalid_email", "product_name required"}},
}

func TestWrongFields(t *testing.T) {
	for name, tc := range wrongFields {
		t.Run(name, func(t *testing.T) {
			_, err := decodeBody(api.CreateWarranty.Spec, tc.body)
			expect(t, err, warranty.ValidationFailed, tc.want...)
		})
	}
}

// TestWrongFieldsAsArguments checks that arguments of tools are decoded as strictly as
// bodies. Arguments may also contain header parameters.
func TestWrongFieldsAsArguments(t *testing.T) {
	for name, tc := range wrongFields {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(tc.body, "idempotency_key") {
				t.Skip("tools accept it")
			}
			_, err := decodeArguments(api.CreateWarranty.Spec, tc.body)
			expect(t, err, warranty.ValidationFailed, tc.want...)
		})
	}
}

func TestUnknownFieldIsToldWhatIsTaken(t *testing.T) {
	_, err := decodeBody(api.UpdateWarranty.Spec, `{"colour":1}`)
	const want = "Allowed fields: product_name, start_date, end_date, status, category, supplier, status_reason, external_id, brand, model, gtin, purchase_date, price, currency, customer_name."
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
}

// TestNumbers sends numbers, and values that are none, for integer parameters.
func TestNumbers(t *testing.T) {
	for value, code := range map[string]string{
		"1.5":                    "wrong_type",
		"1.0":                    "",
		"1e3":                    "",
		"1E0":                    "",
		"1e400":                  "wrong_type",
		"-1e400":                 "wrong_type",
		"1e-1":                   "wrong_type",
		"9223372036854775808":    "wrong_type",
		"-9223372036854775809":   "wrong_type",
		"18446744073709551616":   "wrong_type",
		strings.Repeat("9", 1e5): "wrong_type",
		`"1.5"`:                  "wrong_type",
		`"` + canary + `"`:       "wrong_type",
		`""`:                     "wrong_type",
		"true":                   "wrong_type",
		"[100]":                  "wrong_type",
		"{}":                     "wrong_type",
		"0":                      "out_of_range",
		"-0":                     "out_of_range",
		"-1":                     "out_of_range",
		"9223372036854775807":    "out_of_range",
		"1001":                   "out_of_range",
		"1000":                   "",
		"1":                      "",
		"null":                   "",
	} {
		t.Run(fmt.Sprintf("%.20s", value), func(t *testing.T) {
			body := `{"name":"ERP","scopes":["claims:read"],"rate_limit_per_minute":` + value + `}`
			for door, decode := range map[string]func(*api.Spec, string) (any, error){"body": decodeBody,
				"arguments": decodeArguments} {
				t.Run(door, func(t *testing.T) {
					_, err := decode(api.CreateToken.Spec, body)
					if code == "" {
						expect(t, err, "")
					} else {
						expect(t, err, warranty.ValidationFailed, "rate_limit_per_minute "+code)
					}
				})
			}
		})
	}
}

func TestBooleans(t *testing.T) {
	for value, want := range map[string]*bool{"true": new(true), "false": new(false)} {
		in, err := decodeBody(api.UpdateAccount.Spec, `{"mail_claims":`+value+`}`)
		if diff := cmp.Diff(any(&warranty.UpdateAccount{MailClaims: want}), in); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", value, err, diff)
		}
	}
	for _, value := range []string{`"true"`, `""`, `1`, `0`, `[]`, `{}`, `"` + canary + `"`} {
		_, err := decodeBody(api.UpdateAccount.Spec, `{"mail_claims":`+value+`}`)
		expect(t, err, warranty.ValidationFailed, "mail_claims wrong_type")
	}
}

func TestTokenBodies(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		want []string
	}{
		"nothing given":       {`{}`, []string{"name required", "scopes required"}},
		"scopes null":         {`{"name":"a","scopes":null}`, []string{"scopes required"}},
		"no scopes":           {`{"name":"a","scopes":[]}`, []string{"scopes required"}},
		"a text for scopes":   {`{"name":"a","scopes":"claims:read"}`, []string{"scopes wrong_type"}},
		"a number among them": {`{"name":"a","scopes":["claims:read",7]}`, []string{"scopes wrong_type"}},
		"a list among them":   {`{"name":"a","scopes":[["claims:read"]]}`, []string{"scopes wrong_type"}},
		"null among them":     {`{"name":"a","scopes":[null]}`, []string{"scopes unknown_scope"}},
		"an unknown one":      {`{"name":"a","scopes":["` + canary + `"]}`, []string{"scopes unknown_scope"}},
		"no instant": {`{"name":"a","scopes":["claims:read"],"expires_at":"` + canary + `"}`,
			[]string{"expires_at invalid"}},
		"a day for an instant": {`{"name":"a","scopes":["claims:read"],"expires_at":"2026-12-31"}`,
			[]string{"expires_at invalid"}},
		"no zone": {`{"name":"a","scopes":["claims:read"],"expires_at":"2026-12-31T00:00:00"}`,
			[]string{"expires_at invalid"}},
		"an empty instant": {`{"name":"a","scopes":["claims:read"],"expires_at":""}`, []string{"expires_at invalid"}},
		"a number for an instant": {`{"name":"a","scopes":["claims:read"],"expires_at":1798675200}`,
			[]string{"expires_at wrong_type"}},
		"in the past": {`{"name":"a","scopes":["claims:read"],"expires_at":"2020-01-01T00:00:00Z"}`,
			[]string{"expires_at in_the_past"}},
		"two wrong, one missing": {`{"rate_limit_per_minute":"` + canary + `","expires_at":7,"scopes":["claims:read"]}`,
			[]string{"rate_limit_per_minute wrong_type", "expires_at wrong_type", "name required"}},
		"wrong, missing, unknown": {`{"rate_limit_per_minute":1.5,"scopes":["` + canary + `"]}`,
			[]string{"rate_limit_per_minute wrong_type", "name required", "scopes unknown_scope"}},
		"a field that it has none": {`{"name":"a","scopes":["claims:read"],"secret":"` + canary + `"}`,
			[]string{"secret unknown_field"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeBody(api.CreateToken.Spec, tc.body)
			expect(t, err, warranty.ValidationFailed, tc.want...)
		})
	}
}

// TestNull checks the meaning of null: on create it counts as not given, on update it
// clears optional text and is an error for required fields, and in the arguments of a
// tool it counts as not given.
func TestNull(t *testing.T) {
	created := &warranty.CreateWarranty{ProductName: "Dryer", StartDate: must(warranty.ParseDate("2026-03-01")),
		EndDate: must(warranty.ParseDate("2028-02-29"))}
	for name, tc := range map[string]struct {
		decode func(*api.Spec) func([]byte) (any, error)
		spec   *api.Spec
		sent   string
		want   any
		faults []string
	}{
		"create": {asBody, api.CreateWarranty.Spec,
			`{` + goodWarranty + `,"description":null,"serial_number":null,"category":null,"supplier":null,"seller_name":null,"seller_email":null}`, created, nil},
		"create a token": {asBody, api.CreateToken.Spec,
			`{"name":"a","scopes":["claims:read"],"rate_limit_per_minute":null,"expires_at":null}`,
			&warranty.CreateToken{Name: "a", Scopes: []string{"claims:read"}}, nil},
		"update of an account": {asBody, api.UpdateAccount.Spec, `{"name":null}`, nil, []string{"name required"}},
		"update of a choice": {asBody, api.UpdateAccount.Spec, `{"mail_claims":null}`, nil,
			[]string{"mail_claims required"}}, // B11
		"rotate": {asBody, api.RotateToken.Spec, `{"overlap_seconds":null}`, &warranty.RotateToken{ID: someID},
			nil},
		"update optional texts": {asBody, api.UpdateWarranty.Spec, `{"category":null,"supplier":null}`,
			&warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: someID}, Category: new(""), Supplier: new("")}, nil},
		"update what must be": {asBody, api.UpdateWarranty.Spec,
			`{"product_name":null,"start_date":null,"end_date":null,"status":null}`, nil,
			[]string{"product_name required", "start_date required", "end_date required", "status required"}},
		"arguments of an update": {asArguments, api.UpdateWarranty.Spec,
			`{"id":"` + someID.String() +
				`","product_name":null,"start_date":null,"end_date":null,"status":null,"category":null,"supplier":null,"if_match":null}`,
			&warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: someID}}, nil},
		"empty arguments of an update": {asArguments, api.UpdateWarranty.Spec,
			`{"id":"` + someID.String() + `","category":"","supplier":""}`,
			&warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: someID}, Category: new(""), Supplier: new("")}, nil},
		"an empty condition": {asArguments, api.DeleteWarranty.Spec, `{"id":"` + someID.String() + `","if_match":""}`,
			nil, []string{"if_match empty"}}, // B11
		"arguments of a creation": {asArguments, api.CreateWarranty.Spec,
			`{` + goodWarranty + `,"category":null,"idempotency_key":null}`, created, nil},
		"arguments of a list": {asArguments, api.ListWarranties.Spec,
			`{"page":null,"limit":null,"status":null,"category":null,"role":null,"q":null,"expiring_within_days":null}`,
			&warranty.ListWarranties{}, nil},
		"required arguments": {asArguments, api.CreateWarranty.Spec,
			`{"product_name":null,"start_date":null,"end_date":null}`, nil,
			[]string{"product_name required", "start_date required", "end_date required"}},
		"a path's argument": {asArguments, api.GetWarranty.Spec, `{"id":null}`, nil, []string{"id required"}},
		"an unknown argument": {asArguments, api.ListClaims.Spec, `{"colour":null}`, nil,
			[]string{"colour unknown_field"}},
		"no arguments":               {asArguments, api.ListClaims.Spec, ``, &warranty.ListClaims{}, nil},
		"no arguments, one required": {asArguments, api.GetClaim.Spec, ``, nil, []string{"id required"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.decode(tc.spec)([]byte(tc.sent))
			if tc.faults != nil {
				_, err = checked(got, err)
				expect(t, err, warranty.ValidationFailed, tc.faults...)
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			expect(t, check(got), "")
		})
	}
}

func asBody(s *api.Spec) func([]byte) (any, error) {
	return func(b []byte) (any, error) { return s.Decode(parts(string(b))) }
}

func asArguments(s *api.Spec) func([]byte) (any, error) { return s.DecodeArguments }

// TestFieldsOfOtherVerbs sends fields of the record that the operation does not accept.
// They are rejected by name, never ignored.
func TestFieldsOfOtherVerbs(t *testing.T) {
	onUpdate := strings.Fields("description serial_number seller_name seller_email id owner owner_id issuer roles reference_number standing version " +
		"days_remaining verify_url web_url created_at updated_at if_match")
	onCreate := strings.Fields("status id owner owner_id issuer roles reference_number standing version days_remaining verify_url web_url created_at updated_at")
	for _, tc := range []struct {
		spec   *api.Spec
		others string
		fields []string
	}{
		{api.UpdateWarranty.Spec, `"category":"x"`, onUpdate},
		{api.CreateWarranty.Spec, goodWarranty, onCreate},
	} {
		for _, name := range tc.fields {
			t.Run(tc.spec.Name+" "+name, func(t *testing.T) {
				_, err := decodeBody(tc.spec, `{`+tc.others+`,"`+name+`":"`+canary+`"}`)
				expect(t, err, warranty.ValidationFailed, name+" unknown_field")
			})
		}
	}
}

// TestBodyOfAnOperationWithoutOne checks that an unexpected body is not ignored.
func TestBodyOfAnOperationWithoutOne(t *testing.T) {
	for _, s := range api.Operations() {
		if s.HasBody() {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			_, err := decodeBody(s, `{"force":true}`)
			expect(t, err, warranty.ValidationFailed, "force unknown_field")
			_, err = decodeBody(s, `{}`)
			expect(t, err, "")
			_, err = decodeBody(s, canary)
			expect(t, err, warranty.MalformedRequest)
		})
	}
}

func TestAppendJSON(t *testing.T) {
	got := must(api.AppendJSON([]byte("x"), map[string]any{"b": []int{}, "a": warranty.Lifetime}))
	if string(got) != `x{"a":"9999-12-31","b":[]}` {
		t.Errorf("AppendJSON = %s", got)
	}
}

func TestReadJSONIsStrict(t *testing.T) {
	var p warranty.Pagination
	for _, text := range []string{`{"page":1,"page":2}`, `{"page":1} {}`, `{"page":"1"}`, `{"page":1`} {
		if err := api.ReadJSON([]byte(text), &p); err == nil {
			t.Errorf("%s is decoded as %+v", text, p)
		}
	}
	if err := api.ReadJSON([]byte(`{"page":3,"more":1}`), &p); err != nil || p.Page != 3 {
		t.Errorf("clients must ignore unknown fields: %+v, %v", p, err)
	}
}
