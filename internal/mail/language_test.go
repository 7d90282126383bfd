package mail

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

var (
	usedKey  = regexp.MustCompile(`(?:\.get|\.say|\.part|t\.plain|t\.facts)\((?:nil, |list, |names, |changes, )?"([a-z_.]+)"[,)]|\.plain\([^"()]+(?:\(\))?, "([a-z_.]+)"\)|dateIn\("([a-z_.]+)"`)
	usedName = regexp.MustCompile(`t\.message\("([a-z_]+)"|t\.notice\(to, name, "([a-z_]+)"`)
	argument = regexp.MustCompile(`%[^\[%]?(\[\d\])?[a-z]`)
)

// TestEveryTextIsTranslated compares the keys and arguments of the languages.
func TestEveryTextIsTranslated(t *testing.T) {
	arguments := func(text text) []string {
		list := argument.FindAllString(string(text), -1)
		slices.Sort(list)
		return slices.Compact(list)
	}
	all := catalogues()
	for lang, c := range all {
		for key, english := range all["en"].texts {
			translated, ok := c.texts[key]
			if !ok || translated == "" {
				t.Errorf("%s has no text %q", lang, key)
			}
			if got, want := arguments(translated), arguments(english); !slices.Equal(got, want) {
				t.Errorf("%s: %s has the arguments %q, want %q", lang, key, got, want)
			}
		}
		for key := range c.texts {
			base := key[:max(0, strings.LastIndexByte(key, '.'))] // of a plural form
			if !all["en"].has(key) && !all["en"].has(base) {
				t.Errorf("%s: %q is not in en", lang, key)
			}
		}
	}
}

// TestEveryTextIsUsed finds the keys in the code.
func TestEveryTextIsUsed(t *testing.T) {
	used := map[string]bool{"zone.CET": true, "zone.CEST": true}
	for _, kind := range append(warranty.ClaimStatus("").Values(), "message", "replied", "appealed") {
		used["claim_subject."+kind], used["claim_news."+kind] = true, true
	}
	for _, status := range warranty.ClaimStatus("").Values() {
		used["claim_state."+status] = true
	}
	for _, how := range warranty.Resolution("").Values() {
		used["claim_resolution."+how] = true
	}
	for _, end := range []string{"claim_news.owner", "claim_news.business", "claim_because.owner", "claim_because.seller",
		"claim_because.issuer", "claim_fact.status", "claim_fact.decision"} {
		used[end] = true
	}
	for _, standing := range []warranty.Status{warranty.Active, warranty.Void, warranty.Cancelled} {
		used["warranty_state."+standing.String()] = true
	}
	for _, c := range changed().Changes {
		used["promise_field."+c.Field] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range usedKey.FindAllStringSubmatch(string(raw), -1) {
			used[m[1]+m[2]+m[3]] = true
		}
		for _, m := range usedName.FindAllStringSubmatch(string(raw), -1) {
			used[m[1]+m[2]+".subject"] = true
			if m[1] != "" {
				used[m[1]+".text"] = true
			}
		}
	}
	delete(used, "notice.subject") // each has its own
	delete(used, "claim_news.subject")
	words := catalogues()["en"].texts
	for key := range used {
		if _, ok := words[key]; !ok {
			t.Errorf("missing text %q", key)
		}
	}
	for key := range words {
		if !used[key] {
			t.Errorf("unused text %q", key)
		}
	}
}

// everyMail returns every email.
func everyMail(t Texts) []Message {
	const to, base = "ann@example.com", "https://w.example.com"
	c := Circumstances{
		At: time.Date(2026, 7, 1, 22, 30, 0, 0, time.UTC), Program: "Firefox", System: "Linux", Network: "203.0.113.x", PublicURL: base,
	}
	last := time.Date(2027, 3, 2, 0, 0, 0, 0, time.UTC)
	ending := Ending{Product: "Pan", Reference: "WR-1", Last: last}
	list := []Message{
		t.VerifyEmail(to, "Ann", "CODE", base), t.ResetPassword(to, "Ann", "CODE", base), t.SignInCode(to, "", "CODE", base),
		t.PasswordChanged(to, "Ann", c), t.PasswordWasReset(to, "Ann", c), t.PasswordSetByOperator(to, "Ann", c), t.SetUp(to, "Ann", c), t.TestMail(to, base),
		t.TokenCreated(to, "Ann", "till", nil, c), t.TokenCreated(to, "Ann", "", new("Halden"), c),
		t.AppConnected(to, "Ann", "Assistant", nil, c), t.AppConnected(to, "Ann", "", new("Halden"), c), t.AppConnected(to, "Ann", "Assistant", new("http://spam"), c),
		t.TokenCreated(to, "Ann", "till", new("http://spam"), c), t.NewSignIn(to, "Ann", Circumstances{At: c.At, Program: "curl"}),
		t.TwoStepOn(to, "Ann", c), t.TwoStepOff(to, "Ann", c), t.AuthenticatorAdded(to, "Ann", c), t.AuthenticatorRemoved(to, "Ann", c),
		t.RecoveryCodesMade(to, "Ann", c), t.RecoveryCodeUsed(to, "Ann", 9, c), t.SecondStepsFailed(to, "Ann", 10, c), t.FactorsReset(to, "Ann", c),
		t.TransferOffered(to, "Nora", "Pan", "CODE", base), t.TransferOffered(to, "", "", "CODE", base),
		t.HandoverOffered(to, warranty.Party{Name: "Halden"}, []Offered{{Product: "Pan", Code: "CODE"}}, base),
		t.HandoverOffered(to, warranty.Party{}, []Offered{{Code: "CODE"}}, base),
		t.HandoverOffered(to, warranty.Party{Name: "Halden", Domain: new("halden.example")}, []Offered{{Product: "Pan", Code: "CODE"}}, base),
		t.HandoverOffered(to, warranty.Party{}, []Offered{{Product: "Pan", Code: "CODE"}, {Code: "CODE"}}, base),
		t.HandoverCode(to, warranty.HandoverPreview{ProductName: "Pan", From: warranty.Party{Name: "Shop"}}, "123456", "CODE", base),
		t.WarrantyEnds(to, "Ann", ending, base), t.WarrantyEnds(to, "Ann", Ending{Reference: "WR-1", Last: last}, base),
		t.WarrantiesEnd(to, "Ann", []Ending{ending, {Reference: "WR-2", Last: last}}, 12, base),
		t.WeeklyDigest(to, "Ann", Week{Ending: []Ending{ending}, EndingTotal: 3, Ended: []Ending{ending}, EndedTotal: 1,
			Waiting: []warranty.Claim{{ClaimNumber: "CL-1", Status: warranty.Submitted}}}, base),
		t.TokenExpires(to, "Ann", "till", c.At, base), t.TokenExpires(to, "Ann", "", c.At, base),
		t.Invited(to, "Nora", "Halden", "CODE", base), t.Invited(to, "", "", "CODE", base),
		t.VerifyAddress(to, "Halden", "CODE", base), t.VerifyAddress(to, "", "CODE", base),
		t.ConfirmConversion(to, "Ann", "Halden", "CODE", base), t.AccountConverted(to, "Halden", c),
		t.ConversionAsked(to, "Ann", "Halden", "nora@people.example", "CODE", c),
		t.MemberReset(to, "Ann", "Halden", "Ivo", []string{"till"}, c), t.MemberReset(to, "Ann", "", "", nil, c),
		t.MemberDisabled(to, "Ann", "Halden", "Ivo", []string{"till"}, c),
		t.OrganizationRenamed(to, "Ann", "halden.example", "Halden", "Halden Electronics", c),
		t.ConfirmEmail(to, "CODE", base), t.EmailTaken(to, base), t.EmailChangeAsked(to, "Ann", "ann@home.example", c),
		t.EmailChanged(to, "Ann", "ann@home.example", c), t.AccountDeleted(to, "Ann", last, c), t.AccountRestored(to, "Ann", c),
		t.NotMeDone(to, "Ann", c),
	}
	for _, status := range warranty.ClaimStatus("").Values() {
		for _, side := range []warranty.ClaimSide{warranty.OwnerSide, warranty.BusinessSide} {
			roles := warranty.NewRoles(warranty.Seller)
			if side == warranty.BusinessSide {
				roles = warranty.NewRoles(warranty.Owner)
			}
			list = append(list, t.ClaimNews(to, "Ann", roles, ClaimNews{Claim: claimIn(warranty.ClaimStatus(status)), Moved: true,
				By: "Halden", Side: side, Message: "Eins\n\nzwei"}, base))
		}
	}
	appealed := ClaimNews{Claim: claimIn(warranty.UnderReview), Moved: true, From: warranty.Rejected, Side: warranty.OwnerSide, Message: "Nein"}
	list = append(list, t.ClaimNews(to, "", warranty.NewRoles(warranty.Issuer), appealed, base),
		t.ClaimNews(to, "", warranty.NewRoles(warranty.Owner), ClaimNews{Side: warranty.BusinessSide, Message: "Ja"}, base),
		t.ClaimDigest(to, "Ann", gathered(), 3, base), t.ClaimDigest(to, "Ann", gathered()[:1], 0, base))
	return append(list, t.PromiseChanged(to, "Ann", []Changed{changed()}, 0, base),
		t.PromiseChanged(to, "Ann", []Changed{changed(), {Changes: changed().Changes[:1]}}, 3, base))
}

// claimIn returns a claim with a status.
func claimIn(status warranty.ClaimStatus) warranty.Claim {
	c := warranty.Claim{ClaimNumber: "CL-1", Status: status, Description: "leckt", Warranty: warranty.WarrantyName{ProductName: "Pan", ReferenceNumber: "WR-1"}}
	if status == warranty.Resolved {
		how := warranty.Replaced
		c.Resolution, c.ResolutionNote, c.ReplacementSerialNumber = &how, new("Neu"), new("SN 2")
	}
	return c
}

func gathered() []GatheredClaim {
	return []GatheredClaim{
		{Claim: claimIn(warranty.Approved), Messages: []warranty.Message{{Author: warranty.Author{Role: warranty.OwnerSide, Name: "Ann"}, Body: "Eins\nzwei"}}},
		{Claim: claimIn(warranty.Submitted)},
	}
}

// changed returns a warranty with a change of every field of a promise.
func changed() Changed {
	c := Changed{Warranty: warranty.Warranty{ProductName: "Pan", ReferenceNumber: "WR-1"}, By: "Halden", Reason: "One\ntwo"}
	for _, f := range [][3]string{
		{"status", "active", "void"}, {"status", "active", "cancelled"}, {"start_date", "2026-01-01", "2026-02-01"},
		{"end_date", "9999-12-31", "2028-12-31"}, {"product_name", "Pan", "Pot"}, {"brand", "", "A"}, {"model", "A", ""},
		{"gtin", "1", "2"}, {"serial_number", "http://spam", "1"}, {"supplier", "A", "B"},
	} {
		c.Changes = append(c.Changes, warranty.Change{Field: f[0], From: warranty.Optional(f[1]), To: warranty.Optional(f[2])})
	}
	return c
}

// TestEveryMailIsComplete writes every email in every language. None has a gap, and none of another language has an
// English word.
func TestEveryMailIsComplete(t *testing.T) {
	english := regexp.MustCompile(`(?i)\b(the|you|your|this|these|is valid|expires|someone|warranty|claim|hello)\b`)
	for _, lang := range warranty.Languages() {
		texts := In(warranty.Locale{Language: lang, Zone: "Europe/Berlin"})
		for _, m := range everyMail(texts) {
			m = texts.Finish(m, Links{Unsubscribe: "https://w.example.com/unsubscribe/x", Mute: "https://w.example.com/unsubscribe/y"})
			if err := m.check(); err != nil || m.Subject == "" || m.Language != lang {
				t.Errorf("%s: %+v, %v", lang, m, err)
			}
			if strings.Contains(m.Subject+m.Text, "%!") || strings.Contains(m.Text, "\n\n\n\n") || !strings.HasSuffix(m.Text, "\n") {
				t.Errorf("%s: %s\n%s", lang, m.Subject, m.Text)
			}
			for line := range strings.SplitSeq(m.Text, "\n") {
				if len([]rune(line)) > 80 {
					t.Errorf("%s: %s: long line %q", lang, m.Subject, line)
				}
				if words := regexp.MustCompile(`https?://\S+`).ReplaceAllString(m.Subject+" "+line, ""); lang != "en" && english.MatchString(words) {
					t.Errorf("English in %q", words)
				}
			}
			for code := range strings.FieldsSeq(m.Code) {
				if !strings.Contains(m.Text, code) {
					t.Errorf("%s has no code", m.Subject)
				}
			}
		}
	}
}

// TestFormats writes dates and times as in the language, and times in the reader's zone.
func TestFormats(t *testing.T) {
	at := time.Date(2027, 3, 31, 22, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		reader warranty.Locale
		want   string
	}{
		{warranty.Locale{}, "31 Mar 2027 at 22:30 UTC"},
		{warranty.Locale{Language: "xx", Zone: "Nowhere"}, "31 Mar 2027 at 22:30 UTC"},
		{warranty.Locale{Language: "de"}, "am 31. März 2027 um 22:30 UTC"},
		{warranty.Locale{Language: "de", Zone: "Europe/Berlin"}, "1. Apr. 2027 um 00:30 MESZ"},
	} {
		if m := In(c.reader).TokenExpires("ann@example.com", "Ann", "till", at, "https://w.example.com"); !strings.Contains(m.Text, c.want) {
			t.Errorf("%v: no %q in\n%s", c.reader, c.want, m.Text)
		}
	}
	// The end of a warranty is a date, and the same for everyone.
	m := In(warranty.Locale{Language: "de", Zone: "America/New_York"}).WarrantyEnds("ann@example.com", "Ann",
		Ending{Product: "Pan", Reference: "WR-1", Last: time.Date(2027, 9, 2, 0, 0, 0, 0, time.UTC)}, "https://w.example.com")
	if m.Subject != "Pan: Garantie endet am 2. Sept." || !strings.Contains(m.Text, "endet am 2. Sept. 2027.") {
		t.Errorf("%s\n%s", m.Subject, m.Text)
	}
}
