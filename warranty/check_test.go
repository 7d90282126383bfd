package warranty_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// Text is checked through the two kinds that a warranty has: a single-line name and a
// multi-line description. Package api tests that all operations use the same rules.
func TestForbiddenCharacters(t *testing.T) {
	const oneLine, manyLines = "product_name forbidden_character", "description forbidden_character"
	for name, tc := range map[string]struct {
		char string
		want []string
	}{
		"NUL":                           {"\x00", []string{oneLine, manyLines}},
		"backspace":                     {"\b", []string{oneLine, manyLines}},
		"escape":                        {"\x1b", []string{oneLine, manyLines}},
		"delete":                        {"\x7f", []string{oneLine, manyLines}},
		"C1 control sequence":           {"\u009b", []string{oneLine, manyLines}},
		"next line":                     {"\u0085", []string{oneLine, manyLines}},
		"vertical tab":                  {"\v", []string{oneLine, manyLines}},
		"line feed":                     {"\n", []string{oneLine}},
		"carriage return":               {"\r", []string{oneLine}},
		"tab":                           {"\t", []string{oneLine}},
		"line separator":                {"\u2028", []string{oneLine, manyLines}},
		"paragraph separator":           {"\u2029", []string{oneLine, manyLines}},
		"zero-width space":              {"\u200b", []string{oneLine, manyLines}},
		"word joiner":                   {"\u2060", []string{oneLine, manyLines}},
		"byte-order mark":               {"\ufeff", []string{oneLine, manyLines}},
		"soft hyphen":                   {"\u00ad", nil},
		"mongolian vowel separator":     {"\u180e", []string{oneLine, manyLines}},
		"invisible times":               {"\u2062", []string{oneLine, manyLines}},
		"left-to-right mark":            {"\u200e", []string{oneLine, manyLines}},
		"right-to-left mark":            {"\u200f", []string{oneLine, manyLines}},
		"arabic letter mark":            {"\u061c", []string{oneLine, manyLines}},
		"left-to-right embedding":       {"\u202a", []string{oneLine, manyLines}},
		"right-to-left override":        {"\u202e", []string{oneLine, manyLines}},
		"left-to-right isolate":         {"\u2066", []string{oneLine, manyLines}},
		"pop directional isolate":       {"\u2069", []string{oneLine, manyLines}},
		"tag letter, unseen by all":     {"\U000e0041", []string{oneLine, manyLines}},
		"interlinear annotation":        {"\ufff9", []string{oneLine, manyLines}},
		"zero-width joiner (emoji)":     {"\u200d", nil},
		"zero-width non-joiner (فارسی)": {"\u200c", nil},
		"emoji variation selector":      {"\ufe0f", nil},
		"arabic number sign":            {"\u0600", nil},
		"no-break space":                {"\u00a0", nil},
		"umlaut":                        {"ü", nil},
		"combining accent":              {"e\u0301", nil},
		"chinese":                       {"保修", nil},
		"emoji":                         {"👩‍🔧", nil},
		"markup":                        {"<b>&'\"", nil},
		"replacement character":         {"\ufffd", nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := newWarranty()
			in.ProductName, in.Description = "a"+tc.char+"b", "a"+tc.char+"b"
			expectFaults(t, in.Check(), tc.want...)
		})
	}
}

func TestInvalidUTF8(t *testing.T) {
	in := newWarranty()
	in.ProductName, in.Description = "a\xffb", "a\xc3"
	expectFaults(t, in.Check(), "product_name invalid", "description invalid")
}

// address checks a required email address.
func address(text string) (string, error) {
	in := warranty.RequestPasswordReset{Email: text}
	err := in.Check()
	return in.Email, err
}

// longAddress returns a valid address of n characters.
func longAddress(n int) string {
	const local = "a23456789012345678901234567890123456789012345678901234567890123@"
	label := strings.Repeat("d", 63) + "."
	domain := strings.Repeat(label, 3) + "example"
	return local + domain[len(domain)-(n-len(local)):]
}

func TestEmail(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"plain":             {"ada@shop.example", "ada@shop.example"},
		"upper case":        {"Ada.Moreno@SHOP.Example", "ada.moreno@shop.example"},
		"spaces around":     {" \tada@shop.example\n", "ada@shop.example"},
		"plus":              {"ada+warranty@shop.example", "ada+warranty@shop.example"},
		"every sign":        {"!#$%&'*+-/=?^_`{|}~@shop.example", "!#$%&'*+-/=?^_`{|}~@shop.example"},
		"digits":            {"1@2.example", "1@2.example"},
		"many labels":       {"a@b.c.d.e.example", "a@b.c.d.e.example"},
		"hyphens":           {"a@my-shop.ex-ample", "a@my-shop.ex-ample"},
		"punycode":          {"a@xn--mnchen-3ya.example", "a@xn--mnchen-3ya.example"},
		"64 before the at":  {strings.Repeat("a", 64) + "@shop.example", strings.Repeat("a", 64) + "@shop.example"},
		"63 in a label":     {"a@" + strings.Repeat("b", 63) + ".example", "a@" + strings.Repeat("b", 63) + ".example"},
		"254 all in all":    {longAddress(254), longAddress(254)},
		"one letter before": {"a@shop.example", "a@shop.example"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := address(tc.text)
			expectFaults(t, err)
			if got != tc.want {
				t.Errorf("parsed as %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEmailRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ text, code string }{
		"nothing":               {"", "required"},
		"blank":                 {" \n", "required"},
		"255 all in all":        {longAddress(255), "too_long"},
		"no at":                 {"ada.shop.example", "invalid_email"},
		"two ats":               {"ada@home@shop.example", "invalid_email"},
		"nothing before":        {"@shop.example", "invalid_email"},
		"nothing behind":        {"ada@", "invalid_email"},
		"one label":             {"ada@localhost", "invalid_email"},
		"dot first":             {".ada@shop.example", "invalid_email"},
		"dot last":              {"ada.@shop.example", "invalid_email"},
		"two dots":              {"a..da@shop.example", "invalid_email"},
		"domain's dot first":    {"ada@.shop.example", "invalid_email"},
		"domain's dot last":     {"ada@shop.example.", "invalid_email"},
		"domain's hyphen first": {"ada@-shop.example", "invalid_email"},
		"domain's hyphen last":  {"ada@shop-.example", "invalid_email"},
		"65 before the at":      {strings.Repeat("a", 65) + "@shop.example", "invalid_email"},
		"64 in a label":         {"a@" + strings.Repeat("b", 64) + ".example", "invalid_email"},
		"space within":          {"ada moreno@shop.example", "invalid_email"},
		"display name":          {"Ada <ada@shop.example>", "invalid_email"},
		"mailto":                {"mailto:ada@shop.example", "invalid_email"},
		"quoted":                {`"ada"@shop.example`, "invalid_email"},
		"comment":               {"ada(x)@shop.example", "invalid_email"},
		"address literal":       {"ada@[127.0.0.1]", "invalid_email"},
		"header injection":      {"ada@shop.example\r\nBcc: eve@evil.example", "invalid_email"},
		"NUL":                   {"ada@shop.example\x00", "invalid_email"},
		"zero-width space":      {"ada\u200b@shop.example", "invalid_email"},
		"umlaut":                {"äda@shop.example", "invalid_email"},
		"cyrillic а":            {"\u0430da@shop.example", "invalid_email"},
		"full-width letters":    {"ａda@shop.example", "invalid_email"},
		"full-width at":         {"ada＠shop.example", "invalid_email"},
		"ideographic full stop": {"ada@shop。example", "invalid_email"},
		// The lower case of the first two, and the upper case of the next two, is ASCII.
		"kelvin sign for k":  {"\u212aelly@shop.example", "invalid_email"},
		"kelvin in a domain": {"ada@boo\u212a.example", "invalid_email"},
		"dotted capital I":   {"\u0130da@shop.example", "invalid_email"},
		"long s":             {"\u017fam@shop.example", "invalid_email"},
		"dotless i":          {"\u0131da@shop.example", "invalid_email"},
		"invalid UTF-8":      {"ada\xff@shop.example", "invalid_email"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := address(tc.text)
			expectFaults(t, err, "email "+tc.code)
		})
	}
}

func TestEmailOptional(t *testing.T) {
	in := newWarranty()
	in.SellerEmail = "  "
	expectFaults(t, in.Check())
	if diff := cmp.Diff("", in.SellerEmail); diff != "" {
		t.Error(diff)
	}
	in.SellerEmail = " Ada@Shop.Example "
	expectFaults(t, in.Check())
	if diff := cmp.Diff("ada@shop.example", in.SellerEmail); diff != "" {
		t.Error(diff)
	}
}

func TestRefusalsDoNotRepeatTheValue(t *testing.T) {
	const canary = "CANARY"
	in := warranty.CreateWarranty{ProductName: canary + "\x00", Description: canary + "\x1b",
		Category:    canary + strings.Repeat("x", 80),
		SellerEmail: canary, IdempotencyKey: new(canary + "\t")}
	if err := in.Check(); strings.Contains(strings.ToUpper(err.Error()), canary) {
		t.Errorf("the error repeats the input: %v", err)
	}
	register := warranty.Register{Name: canary + "\n" + canary, Email: canary, Password: canary}
	if err := register.Check(); strings.Contains(strings.ToUpper(err.Error()), canary) {
		t.Errorf("the error repeats the input: %v", err)
	}
}
