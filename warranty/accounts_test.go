package warranty_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// varied returns n characters without a pattern.
func varied(n int, letters string) string {
	source, runes := random(), []rune(letters)
	var b strings.Builder
	for range n {
		b.WriteRune(runes[source.Uint64()%uint64(len(runes))])
	}
	return b.String()
}

func TestPassword(t *testing.T) {
	const ascii, wide = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789 !?", "äöüßéèàñ日本語保修🛠🔧"
	for name, tc := range map[string]struct{ password, code string }{
		"nothing":                          {"", "required"},
		"1 character":                      {"x", "too_short"},
		"11 characters":                    {varied(11, ascii), "too_short"},
		"12 characters":                    {varied(12, ascii), ""},
		"64 characters":                    {varied(64, ascii), ""},
		"73 characters":                    {varied(73, ascii), ""},
		"256 characters":                   {varied(256, ascii), ""},
		"257 characters":                   {varied(257, ascii), "too_long"},
		"11 wide characters":               {varied(11, wide), "too_short"},
		"12 wide characters":               {varied(12, wide), ""},
		"256 wide characters":              {varied(256, wide), ""},
		"257 wide characters":              {varied(257, wide), "too_long"},
		"a few words":                      {"correct horse battery", ""},
		"no composition rules":             {"justlowercaseletters", ""},
		"spaces count and are kept":        {" a b c d e f", ""},
		"control characters are allowed":   {"tab\tand\x1bescape", ""},
		"NUL":                              {"with a \x00 in it", "forbidden_character"},
		"invalid UTF-8":                    {"with a \xff in it", "forbidden_character"},
		"on the list":                      {"passwordpassword", "well_known"},
		"on the list, capitals":            {"PasswordPassword", "well_known"},
		"on the list with digits behind":   {"Administrator2026!", "well_known"},
		"a known word drawn out by digits": {"password1234", "well_known"},
		"one letter over and over":         {"aaaaaaaaaaaa", "well_known"},
		"a wide letter over and over":      {strings.Repeat("é", 12), "well_known"},
		"two over and over":                {"abababababab", "well_known"},
		"eight over and over":              {"x7f9q2m1x7f9q2m1", "well_known"},
		"over and over, cut off":           {"abcabcabcabca", "well_known"},
		"the alphabet":                     {"abcdefghijkl", "well_known"},
		"the alphabet, capitals":           {"ABCDEFGHIJKLM", "well_known"},
		"the alphabet backwards":           {"zyxwvutsrqpo", "well_known"},
		"digits":                           {"123456789012", "well_known"},
		"digits backwards":                 {"987654321098", "well_known"},
		"20 digits from 1":                 {"12345678901234567890", "well_known"},
		"26 digits from 0":                 {"01234567890123456789012345", "well_known"},
		"keyboard rows":                    {"qwertyuiopas", "well_known"},
		"keyboard rows backwards":          {"sapoiuytrewq", "well_known"},
		"keyboard columns":                 {"1qaz2wsx3edc", "well_known"},
		"own address":                      {"ada.moreno@shop.example", "well_known"},
		"own address, capitals":            {"ADA.Moreno@Shop.Example", "well_known"},
		"own address and a little more":    {"ada.moreno@shop.example!x7", "well_known"},
		"own address and much more":        {"ada.moreno@shop.example likes tea", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			if tc.code != "" {
				want = []string{"password " + tc.code}
			}
			in := warranty.Register{Name: "Ada", Email: "Ada.Moreno@shop.example", Password: tc.password}
			expectFaults(t, in.Check(), want...)
			if in.Password != tc.password {
				t.Errorf("the password was changed from %q to %q", tc.password, in.Password)
			}
		})
	}
}

// TestGuessablePasswords covers the passwords that a review could register with (B9),
// similar ones, and passwords that must stay allowed.
func TestGuessablePasswords(t *testing.T) {
	for password, refused := range map[string]bool{
		"P@ssw0rd1234": true, "p455w0rd!!!!": true, "Passw0rd2026!": true, "2026P@$$word": true, "Pa55word Pa55word": true,
		"warrantyrecords": true, "WarrantyRecords1": true, "my warranty records": true, "W@rr@nty2026": true,
		"warranty-service":        true,
		"ada.moreno@shop.example": true, "adamoreno2026": true, "Ada Moreno 1987": true, "moreno.shop.1": true,
		"iloveada2026":  true,
		"Welcome2026!!": true, "letmeinletmein1": true, "Summer2026Summer": true, "changeme12345": true,
		"adm1n1str4t0r": true,
		"qwerty-asdfgh": true, "Administrator!": true, "monkey.dragon": true,

		"correct horse battery": false, "justlowercaseletters": false, "tea kettle on a blue shelf": false,
		"password 8302975619283": false,
		"Xq7!mZ2#pL9v":           false, "my dog ate 3 receipts": false, "mühlrad zwischen tannen": false,
		"a-moreno-of-many-rivers": false,
	} {
		in := warranty.Register{Name: "Ada Moreno", Email: "ada.moreno@shop.example", Password: password}
		if got := faults(t, in.Check()); (len(got) > 0) != refused {
			t.Errorf("%q: %v", password, got)
		}
		user := warranty.User{Name: in.Name, Email: in.Email}
		if err := warranty.CheckPassword("password", password, user); (err != nil) != refused {
			t.Errorf("%q of a known account: %v", password, err)
		}
	}
}

// TestWellKnownPasswords tries every password on the list that is long enough.
func TestWellKnownPasswords(t *testing.T) {
	tried, all := 0, 0
	for line := range strings.Lines(string(must(os.ReadFile("passwords.txt")))) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		all++
		if utf8.RuneCountInString(line) < warranty.MinPassword {
			continue
		}
		tried++
		for _, password := range []string{line, strings.ToUpper(line)} {
			in := warranty.ResetPassword{Code: "x", Password: password}
			if got := faults(t, in.Check()); len(got) != 1 || got[0] != "password well_known" {
				t.Errorf("%q: %v", password, got)
			}
		}
	}
	if all < 3000 || tried < 100 {
		t.Errorf("the list has %d passwords, %d of them long enough", all, tried)
	}
}

// signInWhole runs CheckWhole as Check.
type signInWhole struct{ *warranty.SignIn }

func (s signInWhole) Check() error { return s.CheckWhole() }

func TestAccountChecks(t *testing.T) {
	const good = "correct horse battery"
	long := varied(257, "abcdefghij")
	for name, tc := range map[string]struct {
		in   interface{ Check() error }
		want []string
	}{
		"register": {&warranty.Register{Name: "Ada", Email: "ada@shop.example", Password: good}, nil},
		"register, nothing given": {&warranty.Register{}, []string{"name required", "email required",
			"password required"}},
		"register, all wrong": {&warranty.Register{Name: "a\nb", Email: "x", Password: "short"},
			[]string{"name forbidden_character", "email invalid_email", "password too_short"}},
		"sign in": {&warranty.SignIn{Email: "ada@shop.example", Password: "short, but who knows"},
			nil},
		"sign in with an old short one": {&warranty.SignIn{Email: "ada@shop.example", Password: "x"}, nil},
		"sign in, nothing given":        {signInWhole{&warranty.SignIn{}}, []string{"email required", "password required"}},
		"sign in, no secret given": {signInWhole{&warranty.SignIn{Email: "ada@shop.example"}},
			[]string{"password required"}},
		"sign in, all given":         {signInWhole{&warranty.SignIn{Email: "ada@shop.example", Code: "0"}}, nil},
		"second step":                {signInWhole{&warranty.SignIn{Flow: "svf_x", TOTP: "123456"}}, nil},
		"second step, recovery code": {signInWhole{&warranty.SignIn{Flow: "svf_x", RecoveryCode: "0"}}, nil},
		"second step without a code": {signInWhole{&warranty.SignIn{Flow: "svf_x"}}, []string{"totp required"}},
		"second step with both":      {signInWhole{&warranty.SignIn{Flow: "svf_x", TOTP: "1", RecoveryCode: "0"}}, []string{"recovery_code not_both"}},
		"second step with a first one": {signInWhole{&warranty.SignIn{Flow: "svf_x", Email: "ada@shop.example", TOTP: "1"}},
			[]string{"flow not_both"}},
		"second step without a flow": {signInWhole{&warranty.SignIn{Email: "ada@shop.example", Password: "x", TOTP: "1"}},
			[]string{"flow required"}},
		"sign in by code": {&warranty.SignIn{Email: "ada@shop.example", Code: "0123-4567"}, nil},
		"sign in with a flooded code": {&warranty.SignIn{Email: "ada@shop.example", Code: strings.Repeat("0", 101)},
			[]string{"code too_long"}},
		"sign in with both": {&warranty.SignIn{Email: "ada@shop.example", Password: good, Code: "0123-4567"},
			[]string{"code not_both"}},
		"ask for a code":                {&warranty.RequestSignInCode{Email: "ada@shop.example"}, nil},
		"ask for a code, nothing given": {&warranty.RequestSignInCode{}, []string{"email required"}},
		"sign in with too long a one": {&warranty.SignIn{Email: "ada@shop.example", Password: long},
			[]string{"password too_long"}},
		"verify":                {&warranty.VerifyEmail{Code: "0123-4567"}, nil},
		"verify, nothing given": {&warranty.VerifyEmail{}, []string{"code required"}},
		"verify, flooded":       {&warranty.VerifyEmail{Code: strings.Repeat("0", 101)}, []string{"code too_long"}},
		"reset":                 {&warranty.ResetPassword{Code: "0", Password: good}, nil},
		"reset, nothing given":  {&warranty.ResetPassword{}, []string{"code required", "password required"}},
		"reset to a well-known one": {&warranty.ResetPassword{Code: "0", Password: "passwordpassword"},
			[]string{"password well_known"}},
		"request":                {&warranty.RequestPasswordReset{Email: "ada@shop.example"}, nil},
		"request, nothing given": {&warranty.RequestPasswordReset{}, []string{"email required"}},
		"change":                 {&warranty.ChangePassword{CurrentPassword: "x", NewPassword: good}, nil},
		"change, nothing given": {&warranty.ChangePassword{},
			[]string{"current_password required", "new_password required"}},
		"change to a well-known one": {&warranty.ChangePassword{CurrentPassword: "x", NewPassword: "passwordpassword"},
			[]string{"new_password well_known"}},
		"account, nothing given":  {&warranty.UpdateAccount{}, nil},
		"account, emptied name":   {&warranty.UpdateAccount{Name: new(" ")}, []string{"name required"}},
		"transfer, nothing given": {&warranty.OfferTransfer{}, []string{"email required"}},
		"accept, nothing given":   {&warranty.TakeHandover{}, []string{"code required"}},
		"change with too long a current": {&warranty.ChangePassword{CurrentPassword: long, NewPassword: good},
			[]string{"current_password too_long"}},
	} {
		t.Run(name, func(t *testing.T) { expectFaults(t, tc.in.Check(), tc.want...) })
	}
}

func TestUpdateAccountApply(t *testing.T) {
	before := warranty.Account{User: warranty.User{Name: "Ada", Email: "ada@shop.example"},
		Mails: warranty.MailChoices{WarrantyEnd: true, Claims: true}}
	want := before
	want.Name, want.Mails = "Ada Moreno", warranty.MailChoices{WarrantyEnd: true, TokenExpiry: true}
	got := warranty.UpdateAccount{Name: new("Ada Moreno"), MailClaims: new(false),
		MailTokenExpiry: new(true)}.Apply(before)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, (warranty.UpdateAccount{}).Apply(before)); diff != "" {
		t.Errorf("nothing given changed (-want +got):\n%s", diff)
	}
}

func TestMergeKeepsTheFirstWord(t *testing.T) {
	var c, other warranty.Checks
	c.Add("a", "first", "First.")
	other.Add("a", "second", "Second.")
	other.Add("b", "third", "Third.")
	c.Merge(other.Err())
	c.Merge(nil)
	expectFaults(t, c.Err(), "a first", "b third")
}
