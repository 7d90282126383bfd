package api_test

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

var (
	snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	braces    = regexp.MustCompile(`\{([^}]*)\}`)
)

func TestOperationsAreDescribed(t *testing.T) {
	seen := make(map[string]string)
	unique := func(t *testing.T, what, value, name string) {
		if other, ok := seen[what+value]; ok && value != "" {
			t.Errorf("the %s %s is also that of %s", what, value, other)
		}
		seen[what+value] = name
	}
	for _, s := range api.Operations() {
		t.Run(s.Name, func(t *testing.T) {
			unique(t, "name", s.Name, s.Name)
			unique(t, "tool", s.Tool, s.Name)
			unique(t, "route", s.Method+" "+s.Route(), s.Name)
			if !regexp.MustCompile(`^[a-z]+(_[a-z]+)?\.[a-z_]+$`).MatchString(s.Name) {
				t.Error("the name is not noun.verb")
			}
			if s.Tool != "" && !snakeCase.MatchString(s.Tool) {
				t.Errorf("the tool %s is not verb_noun", s.Tool)
			}
			if len(s.Summary) < 5 || !strings.HasSuffix(s.Summary, ".") {
				t.Errorf("the summary %q is not a sentence", s.Summary)
			}
			if s.Base != api.V1 && s.Base != api.Host || !strings.HasPrefix(s.Path, "/") || s.Auth == 0 {
				t.Errorf("base %q, path %q, auth %d", s.Base, s.Path, s.Auth)
			}
			if s.Scope != "" && (!warranty.AllScopes.Has(s.Scope) || s.Auth != api.Credential) {
				t.Errorf("scope %q with auth %d", s.Scope, s.Auth)
			}
			bodyless := s.Method == http.MethodGet || s.Method == http.MethodDelete
			// Deleting an account repeats its address, which does not belong into a URL.
			if bodyless && s.HasBody() && s.Name != api.DeleteAccount.Name {
				t.Errorf("%s has a body", s.Method)
			}
			// 202 says that an email will follow, some with what the page that asked needs.
			if noAnswer := s.Out == reflect.TypeFor[warranty.None](); s.Status != 202 && noAnswer != (s.Status == 204) {
				t.Errorf("the result %s has status %d", s.Out, s.Status)
			}
		})
	}
}

func TestParametersAreDescribed(t *testing.T) {
	for _, s := range api.Operations() {
		var inPath []string
		for _, match := range braces.FindAllStringSubmatch(s.Path, -1) {
			inPath = append(inPath, match[1])
		}
		names := make(map[string]bool)
		for _, p := range s.Params {
			t.Run(s.Name+" "+p.Name, func(t *testing.T) {
				if names[p.Name] {
					t.Error("duplicate")
				}
				names[p.Name] = true
				if !snakeCase.MatchString(p.Name) {
					t.Errorf("%q is not snake_case", p.Name)
				}
				if p.Doc == "" || !strings.HasSuffix(p.Doc, ".") {
					t.Errorf("the description %q is not a sentence", p.Doc)
				}
				if !slices.Contains([]api.Where{api.Path, api.Query, api.Header, api.Body}, p.In) {
					t.Errorf("is in %q", p.In)
				}
				if slices.Contains(inPath, p.Name) != (p.In == api.Path) {
					t.Errorf("is in %s, but the path is %s", p.In, s.Path)
				}
				if p.In == api.Path && !p.Required {
					t.Error("path parameters must be required")
				}
				if isText(p) && p.In != api.Path && p.Max == nil {
					t.Error("text needs a max tag")
				}
			})
			inPath = slices.DeleteFunc(inPath, func(name string) bool { return name == p.Name })
		}
		if len(inPath) > 0 {
			t.Errorf("%s has no parameter for %v of its path", s.Name, inPath)
		}
	}
}

// TestSeedParameters compares the parameters with interface.md, where a star means
// required. Additions of the contract are in parentheses.
func TestSeedParameters(t *testing.T) {
	for route, want := range map[string]string{
		"GET /api/v1/warranties": "page limit status category " +
			"(role) (q) (external_id) (expiring_within_days) (supplier) (seller) (ends_from) (ends_to) (covered_on) (has_open_claim) (assurance) (customer) (purchased_from) (purchased_to) (sort) (updated_since) (after) (fields)",
		"POST /api/v1/warranties": "product_name* start_date* end_date* description serial_number category supplier seller_name seller_email " +
			"(external_id) (brand) (model) (gtin) (purchase_date) (price) (currency) (customer_email) (customer_name) (idempotency_key)",
		"GET /api/v1/warranties/{id}":         "id* (fields)",
		"PUT /api/v1/warranties/{id}":         "id* product_name start_date end_date status category supplier (status_reason) (external_id) (brand) (model) (gtin) (purchase_date) (price) (currency) (customer_name) (if_match)",
		"DELETE /api/v1/warranties/{id}":      "id* (if_match) (force)",
		"GET /api/v1/claims":                  "page limit status warranty_id (waiting_for) (queue) (assignee) (replied) (age) (q) (customer) (updated_since) (sort) (fields)",
		"GET /api/v1/claims/{id}":             "id* (fields)",
		"GET /api/v1/documents":               "page limit warranty_id q (fields)",
		"GET /api/v1/documents/{id}":          "id* (fields)",
		"POST /api/integration-tokens":        "name* scopes* rate_limit_per_minute (expires_at)",
		"DELETE /api/integration-tokens/{id}": "id*",
	} {
		t.Run(route, func(t *testing.T) {
			i := slices.IndexFunc(api.Operations(), func(s *api.Spec) bool { return s.Method+" "+s.Route() == route })
			if i < 0 {
				t.Fatal("no such operation")
			}
			var got []string
			for _, p := range api.Operations()[i].Params {
				name := p.Name
				if p.Required {
					name += "*"
				}
				got = append(got, name)
			}
			wanted := strings.Fields(strings.NewReplacer("(", "", ")", "").Replace(want))
			slices.Sort(got)
			slices.Sort(wanted)
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("parameters (-interface.md +got):\n%s", diff)
			}
		})
	}
}

// TestTools checks that the name of a tool follows from that of its operation:
// warranties.list is list_warranties, warranties.get is get_warranty.
func TestTools(t *testing.T) {
	others := map[string]string{
		"confirmations.decide":       "confirm_warranty",
		"warranties.cancel_handover": "cancel_hand_over",
		"warranties.changes":         "list_changes",
	}
	for _, s := range api.Operations() {
		if s.Tool == "" {
			continue
		}
		noun, verb, _ := strings.Cut(s.Name, ".")
		if verb != "list" && verb != "summarize" && verb != "lookup" {
			noun = strings.TrimSuffix(strings.Replace(noun, "ies", "ys", 1), "s")
		}
		want := verb + "_" + noun
		if other := others[s.Name]; other != "" {
			want = other
		}
		if s.Tool != want {
			t.Errorf("%s has the tool %s, want %s", s.Name, s.Tool, want)
		}
	}
}

// TestRequiredIsRequired omits each parameter of a valid input: it is an error exactly if
// the parameter is required.
func TestRequiredIsRequired(t *testing.T) {
	for _, s := range api.Operations() {
		for _, p := range s.Params {
			t.Run(s.Name+" without "+p.Name, func(t *testing.T) {
				in := sample(s)
				field(in, p).SetZero()
				_, err := decodeArguments(s, arguments(s, in))
				switch s.Name + " " + p.Name {
				case "warranties.issue product_id":
					expect(t, err, warranty.ValidationFailed, "product_name required", "start_date required", "end_date required")
				case "products.create length_months", "warranties.issue customer_email": // or lifetime, or print
					expect(t, err, warranty.ValidationFailed, p.Name+" required")
				default:
					if p.Required {
						expect(t, err, warranty.ValidationFailed, p.Name+" required")
					} else {
						expect(t, err, "")
					}
				}
			})
		}
	}
}

// arguments encodes an input as the arguments of a tool.
func arguments(s *api.Spec, in any) string {
	given := make(map[string]any)
	for _, p := range s.Params {
		if f := field(in, p); !f.IsZero() {
			given[p.Name] = f.Interface()
		}
	}
	return string(must(api.AppendJSON(nil, given)))
}

// textOf returns valid text of n characters for a parameter.
func textOf(p api.Param, n int) string {
	switch {
	case p.Format == "email":
		const local = "a23456789012345678901234567890123456789012345678901234567890123@"
		domain := strings.Repeat(strings.Repeat("d", 63)+".", 3) + "example"
		return local + domain[len(domain)-(n-len(local)):]
	case p.Format == "uri":
		return "https://shop.example/" + varied(n-len("https://shop.example/"), "abcdefghijklmnopqrstuvwxyz0123456789")
	case p.Name == "gtin":
		return strings.Repeat("0", n)
	case p.Name == "price":
		return strings.Repeat("1", n-5) + ".0000"
	case p.Name == "currency":
		return "EURO"[:n]
	case p.Name == "if_match":
		return `"` + varied(n-2, "abcdefghijklmnopqrstuvwxyz0123456789") + `"`
	case p.In == api.Header:
		return varied(n, "abcdefghijklmnopqrstuvwxyz0123456789")
	case p.Name == "logo":
		return strings.Repeat("A", n-1) + "="
	case p.Name == "color":
		return "#1d3f8f0123456789"[:n]
	case p.Name == "name", p.Name == "organization_name", p.Name == "sender_name", p.Name == "postal_address": // of an organization it contains no symbols
		return varied(n, "abcdefghijklmnopqrstuvwxyzäöüß日本語保修")
	default: // characters are counted, not bytes
		return varied(n, "abcdefghijklmnopqrstuvwxyzäöüß日本語保修🛠")
	}
}

// TestTextLimits checks that every input enforces the documented lengths.
func TestTextLimits(t *testing.T) {
	eachText(t, func(t *testing.T, s *api.Spec, p api.Param) {
		try := func(n int) error {
			in, text := roomy(s), textOf(p, n)
			if got := utf8.RuneCountInString(text); got != n {
				t.Fatalf("textOf returned %d characters, want %d", got, n)
			}
			setText(in, p, text)
			return check(in)
		}
		if err := try(int(*p.Max)); err != nil {
			t.Errorf("%d characters: %v", *p.Max, err)
		}
		if err := try(int(*p.Max) + 1); err == nil || refusal(t, err).Fields[0].Field != p.Name {
			t.Errorf("%d characters: %v", *p.Max+1, err)
		}
		if p.Min != nil {
			if err := try(int(*p.Min)); err != nil {
				t.Errorf("%d characters: %v", *p.Min, err)
			}
			if err := try(int(*p.Min) - 1); err == nil {
				t.Errorf("%d characters are accepted", *p.Min-1)
			}
		}
	})
}

// eachText runs a test for every text parameter of every operation whose characters are free.
func eachText(t *testing.T, test func(t *testing.T, s *api.Spec, p api.Param)) {
	for _, s := range api.Operations() {
		for _, p := range s.Params {
			if isText(p) && p.Max != nil && p.Name != "language" && p.Name != "time_zone" { // these have known values
				t.Run(s.Name+" "+p.Name, func(t *testing.T) { test(t, s, p) })
			}
		}
	}
}

func TestTextsHoldNoForbiddenCharacters(t *testing.T) {
	eachText(t, func(t *testing.T, s *api.Spec, p api.Param) {
		if p.Format == "password" {
			t.Skip("passwords are never shown and may contain anything but NUL: see package warranty")
		}
		for _, char := range []string{"\x00", "\x1b", "\x7f", "\u009b", "\u200b", "\u2060", "\ufeff", "\u202e", "\u2066",
			"\u200f", "\u061c", "\u2028", "\xff"} {
			in := roomy(s)
			setText(in, p, "a"+char+"b")
			if err := check(in); err == nil || refusal(t, err).Fields[0].Field != p.Name {
				t.Errorf("%q is accepted, or rejected for another field: %v", char, err)
			}
		}
		for _, char := range []string{"\n", "\t"} {
			in := roomy(s)
			setText(in, p, "a"+char+"b")
			if err := check(in); (err == nil) != slices.Contains(manyLines, s.Name+" "+p.Name) {
				t.Errorf("%q: %v. If line breaks are allowed, add %q to manyLines in api/helpers_test.go", char, err,
					s.Name+" "+p.Name)
			}
		}
	})
}

// TestTextsAreTrimmed checks that surrounding spaces are removed.
func TestTextsAreTrimmed(t *testing.T) {
	eachText(t, func(t *testing.T, s *api.Spec, p api.Param) {
		if p.Format == "password" || p.Name == "code" {
			t.Skip("passwords are not trimmed, and codes ignore spaces")
		}
		in, plain := roomy(s), roomy(s)
		text := textOf(p, int(*p.Max))
		setText(plain, p, text)
		setText(in, p, " \t\r\n"+text+" \n")
		if err := check(in); err != nil {
			t.Fatal(err)
		}
		if err := check(plain); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, in, asSent); diff != "" {
			t.Errorf("trimmed (-want +got):\n%s", diff)
		}
	})
}

// TestNumberLimits checks that decoding and checking enforce the bounds of every number.
func TestNumberLimits(t *testing.T) {
	for _, s := range api.Operations() {
		for _, p := range s.Params {
			if base(p).Kind() != reflect.Int {
				continue
			}
			t.Run(s.Name+" "+p.Name, func(t *testing.T) {
				most := int64(maxRate)
				if p.Max != nil {
					most = *p.Max
				}
				for n, code := range map[int64]warranty.Code{*p.Min: "", most: "", *p.Min - 1: warranty.ValidationFailed,
					most + 1: warranty.ValidationFailed} {
					in := sample(s)
					field(in, p).SetZero()
					given := strings.TrimSuffix(arguments(s, in), "}")
					if len(given) > 1 {
						given += ","
					}
					_, err := decodeArguments(s, given+fmt.Sprintf(`"%s":%d}`, p.Name, n))
					if code == "" {
						expect(t, err, "")
					} else {
						expect(t, err, code, p.Name+" out_of_range")
					}
				}
			})
		}
	}
}

// TestExamplesAreGood checks that every example in the tags is valid.
func TestExamplesAreGood(t *testing.T) {
	for _, s := range api.Operations() {
		in := sample(s)
		given := make(map[string]any)
		for _, p := range s.Params {
			switch {
			case p.Example == "":
			case base(p).Kind() == reflect.Int:
				given[p.Name] = must(strconv.Atoi(p.Example))
			case base(p).Kind() == reflect.Slice:
				given[p.Name] = []string{p.Example}
			default:
				given[p.Name] = p.Example
			}
			if _, ok := given[p.Name]; !ok && p.Required {
				given[p.Name] = field(in, p).Interface()
			}
		}
		t.Run(s.Name, func(t *testing.T) {
			_, err := decodeArguments(s, string(must(api.AppendJSON(nil, given))))
			expect(t, err, "")
			if r, ok := given["reference"].(string); ok {
				if _, err := warranty.ParseReference(r); err != nil {
					t.Errorf("the example %s is not a valid reference: %v", r, err)
				}
			}
		})
	}
}

// TestRefusals checks that the documented codes are known, sorted and unique.
func TestRefusals(t *testing.T) {
	place := make(map[warranty.Code]int)
	for i, info := range warranty.Codes() {
		place[info.Code] = i + 1
	}
	for _, s := range api.Operations() {
		t.Run(s.Name, func(t *testing.T) {
			got := s.Refusals()
			for i, code := range got {
				if place[code] == 0 || i > 0 && place[got[i-1]] >= place[code] {
					t.Errorf("%v: %s is unknown or out of order", got, code)
				}
			}
			for code, want := range map[warranty.Code]bool{
				warranty.MissingCredential: s.Auth != api.Public,
				warranty.SessionRequired:   s.Auth == api.SessionOnly,
				warranty.InsufficientScope: s.Scope != "",
				warranty.NotFound:          strings.Contains(s.Path, "{") || slices.Contains(s.Errors, warranty.NotFound),
				warranty.BodyTooLarge:      s.HasBody(),
				warranty.MalformedRequest:  true, // any operation can be asked with a query
				warranty.ValidationFailed:  true, // that it does not take, or that is none
				warranty.Internal:          true,
			} {
				if slices.Contains(got, code) != want {
					t.Errorf("%s is documented: %t", code, !want)
				}
			}
			for _, code := range s.Errors {
				if !slices.Contains(got, code) {
					t.Errorf("%s is declared but not documented", code)
				}
			}
		})
	}
}

func TestPaged(t *testing.T) {
	for _, s := range api.Operations() {
		// A person has at most 50 sessions and 20 passkeys.
		if want := strings.HasSuffix(s.Name, ".list") && s.Name != "sessions.list" && s.Name != "passkeys.list" || strings.HasSuffix(s.Name, ".history") ||
			s.Name == "warranties.deleted" || s.Name == "claims.messages" || s.Name == "claims.notes" || s.Name == "tokens.requests"; s.Paged() != want {
			t.Errorf("%s is paged: %t", s.Name, s.Paged())
		}
		takesPages := slices.ContainsFunc(s.Params, func(p api.Param) bool { return p.Name == "page" || p.Name == "after" })
		if takesPages != s.Paged() {
			t.Errorf("%s has paging parameters: %t", s.Name, takesPages)
		}
	}
}

// TestLocation checks that every Location is the path of a GET operation.
func TestLocation(t *testing.T) {
	for _, s := range api.Operations() {
		if s.Location == "" {
			continue
		}
		if !slices.ContainsFunc(api.Operations(), func(get *api.Spec) bool {
			return get.Method == http.MethodGet && get.Route() == string(s.Base)+s.Location
		}) {
			t.Errorf("%s has the Location %s, which no operation gets", s.Name, string(s.Base)+s.Location)
		}
		if _, ok := reflect.Zero(s.Out).Interface().(interface{ RecordID() warranty.ID }); !ok {
			t.Errorf("%s returns %s, which has no RecordID", s.Name, s.Out)
		}
	}
}

func TestCaller(t *testing.T) {
	if got := api.CallerOf(t.Context()); got.Credential != warranty.Anonymous {
		t.Errorf("without a caller: %+v", got)
	}
	caller := &api.Caller{RequestID: "r1"}
	if got := api.CallerOf(api.WithCaller(t.Context(), caller)); got != caller {
		t.Errorf("the caller is %+v", got)
	}
}

func TestHeaderName(t *testing.T) {
	for name, want := range map[string]string{"idempotency_key": "Idempotency-Key", "if_match": "If-Match"} {
		if got := (api.Param{Name: name}).HeaderName(); got != want {
			t.Errorf("HeaderName of %s = %s", name, got)
		}
	}
}
