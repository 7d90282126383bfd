package warranty_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

func newKey(t testing.TB) warranty.SigningKey {
	t.Helper()
	key, err := warranty.NewSigningKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

var sampleCertificate = func() warranty.CertificateClaims {
	text := func(s string) *string { return &s }
	w := warranty.Warranty{
		ReferenceNumber: "WR-7K2M-9QXT-4D8P-HV3A",
		ProductName:     "Wäscherei <Pro> & 洗衣机",
		Brand:           text("Halden"),
		SerialNumber:    text("WGG-244A20/0017 ä"),
		StartDate:       warranty.NewDate(2026, 1, 1),
		EndDate:         warranty.Lifetime,
		Status:          warranty.Active,
	}
	by := warranty.Standing{
		Issuer: warranty.NewParty("Halden", text("halden.example")),
		Seller: warranty.NewParty("Apple", nil),
	}
	c, _ := w.Certified(by, "https://warranty.example.com", time.Unix(1_794_000_000, 0))
	return c
}()

func sign(t testing.TB, key warranty.SigningKey) (string, warranty.KeySet) {
	t.Helper()
	text, err := key.Sign(sampleCertificate)
	if err != nil {
		t.Fatal(err)
	}
	return text, warranty.KeySet{Issuer: sampleCertificate.Service, Keys: []warranty.PublicKey{key.Public()}}
}

func TestCertificateSaysOnlyWhatIsVerified(t *testing.T) {
	key := newKey(t)
	text, keys := sign(t, key)
	got, err := keys.Verify(text + "\n")
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("wgg244a20/0017ä"))
	want := `{"iss":"https://warranty.example.com","iat":1794000000,"reference_number":"WR-7K2M-9QXT-4D8P-HV3A",` +
		`"product_name":"Wäscherei \u003cPro\u003e \u0026 洗衣机","brand":"Halden","model":null,"gtin":null,` +
		`"serial_sha256":"` + fmt.Sprintf("%x", sum) + `","start_date":"2026-01-01","end_date":"9999-12-31","status":"active",` +
		`"assurance":"issuer_verified","issuer":{"name":"Halden","domain":"halden.example"},"seller":null}`
	if string(encoded) != want {
		t.Errorf("got  %s\nwant %s", encoded, want)
	}
	for _, by := range []warranty.Standing{{}, {Issuer: warranty.NewParty("Apple", nil)}, {Seller: warranty.NewParty("Apple", nil)}} {
		if c, ok := (warranty.Warranty{}).Certified(by, "", time.Now()); ok {
			t.Errorf("a certificate for %+v: %+v", by, c)
		}
	}
}

func TestSerialHashIgnoresHowItIsTyped(t *testing.T) {
	want := warranty.SerialHash("wgg244a20")
	for _, typed := range []string{"WGG-244A20", " wgg 244a20", "Wgg–244‑A20", "WGG 244 A20"} {
		if got := warranty.SerialHash(typed); got != want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
	}
	if got := warranty.SerialHash(" - "); got != "" {
		t.Errorf("nothing is left, but the hash is %s", got)
	}
}

// TestOneFlippedBitFails flips every bit of a certificate, replaces every character by every other one, and cuts
// it at every place. The lengths of the parts differ modulo 3, so that the unused bits of base64 are flipped too.
func TestOneFlippedBitFails(t *testing.T) {
	key := newKey(t)
	unused := map[int]bool{}
	for i := range 3 {
		claims := sampleCertificate
		claims.ProductName += strings.Repeat("x", i)
		text, err := key.Sign(claims)
		if err != nil {
			t.Fatal(err)
		}
		keys := warranty.KeySet{Keys: []warranty.PublicKey{key.Public()}}
		if _, err := keys.Verify(text); err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(text, ".") {
			unused[len(part)%4] = true
		}
		for at := range len(text) {
			for bit := range 8 {
				changed := []byte(text)
				changed[at] ^= 1 << bit
				if _, err := keys.Verify(string(changed)); err == nil {
					t.Fatalf("bit %d of byte %d is not checked", bit, at)
				}
			}
			if _, err := keys.Verify(text[:at]); err == nil {
				t.Fatalf("valid after %d bytes", at)
			}
			for _, added := range []string{"\n", "\r", " ", "=", ".", "A"} {
				if _, err := keys.Verify(text[:at] + added + text[at:]); err == nil {
					t.Fatalf("valid with %q at %d", added, at)
				}
			}
		}
		for _, added := range []string{" ", "\n\n", "\x00", "A", ".", "=", "\r", "\r\r\n"} {
			if _, err := keys.Verify(text + added); err == nil {
				t.Errorf("valid with %q at the end", added)
			}
		}
	}
	if !unused[2] || !unused[3] {
		t.Errorf("no part has unused bits: %v", unused)
	}
}

// TestForgedCertificates signs with what an attacker has.
func TestForgedCertificates(t *testing.T) {
	ours, theirs := newKey(t), newKey(t)
	text, keys := sign(t, ours)
	parts := strings.Split(text, ".")
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	foreign, _ := sign(t, theirs)
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	// own signs with a key of the attacker, or with ours if the attack is on what follows the signature.
	own := func(header, claims string) string {
		signed := encode(header) + "." + encode(claims)
		return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, []byte(signed)))
	}
	mac := func(header string, secret []byte) string {
		signed := encode(header) + "." + parts[1]
		m := hmac.New(sha256.New, secret)
		m.Write([]byte(signed))
		return signed + "." + encode(string(m.Sum(nil)))
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	id, x := ours.Public().ID, base64.RawURLEncoding.EncodeToString(ours.Public().Key)
	jwk := `"jwk":{"kty":"OKP","crv":"Ed25519","x":"` + base64.RawURLEncoding.EncodeToString(private.Public().(ed25519.PublicKey)) + `"}`
	head := func(alg, more string) string {
		return `{"alg":"` + alg + `","typ":"warranty+jwt","kid":"` + id + `"` + more + `}`
	}
	for name, forged := range map[string]string{
		"another key":             foreign,
		"another key, our kid":    own(head("EdDSA", ""), string(claims)),
		"no signature":            parts[0] + "." + parts[1] + ".",
		"none":                    encode(head("none", "")) + "." + parts[1] + ".",
		"None":                    encode(head("None", "")) + "." + parts[1] + "." + parts[2],
		"HS256, public key":       mac(head("HS256", ""), ours.Public().Key),
		"HS256, x":                mac(head("HS256", ""), []byte(x)),
		"HS256 as EdDSA":          mac(head("EdDSA", ""), ours.Public().Key),
		"its own key":             own(head("EdDSA", ","+jwk), string(claims)),
		"its own key, no kid":     own(`{"alg":"EdDSA","typ":"warranty+jwt",`+jwk+`}`, string(claims)),
		"address of a key":        own(head("EdDSA", `,"jku":"https://evil.example/jwks.json"`), string(claims)),
		"crit":                    own(head("EdDSA", `,"crit":["b64"],"b64":false`), string(claims)),
		"two signatures":          text + "." + parts[2],
		"empty":                   "",
		"dots":                    "..",
		"JSON form":               `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"too long":                text + strings.Repeat("A", warranty.MaxCertificate),
		"kid twice":               own(`{"alg":"EdDSA","typ":"warranty+jwt","kid":"x","kid":"`+id+`"}`, string(claims)),
		"other claims":            parts[0] + "." + encode(strings.Replace(string(claims), "9999", "9998", 1)) + "." + parts[2],
		"typ of another":          encode(strings.Replace(head("EdDSA", ""), "warranty+jwt", "JWT", 1)) + "." + parts[1] + "." + parts[2],
		"something after the end": text + " x",
	} {
		if c, err := keys.Verify(forged); err == nil {
			t.Errorf("%s: valid: %+v", name, c)
		}
	}
	keys.Keys = nil
	if _, err := keys.Verify(text); err == nil {
		t.Error("valid without keys")
	}
}

// TestWhatAKeySignedIsReadStrictly signs invalid content with the right key: other programs that have it, or a
// mistake, must not give two meanings to one certificate.
func TestWhatAKeySignedIsReadStrictly(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := warranty.NewPublicKey(public)
	keys := warranty.KeySet{Issuer: "https://w.example", Keys: []warranty.PublicKey{key}}
	header := `{"alg":"EdDSA","typ":"warranty+jwt","kid":"` + key.ID + `"}`
	good := `{"iss":"https://w.example","iat":1,"reference_number":"WR-7K2M-9QXT-4D8P-HV3A"}`
	verify := func(header, claims string) error {
		encode := func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
		signed := encode([]byte(header)) + "." + encode([]byte(claims))
		_, err := keys.Verify(signed + "." + encode(ed25519.Sign(private, []byte(signed))))
		return err
	}
	if err := verify(header, good); err != nil {
		t.Fatal(err)
	}
	if err := verify(header, strings.Replace(good, `{`, `{"later":{"a":[1,{"b":2}]},`, 1)); err != nil {
		t.Errorf("a claim of a later release: %v", err)
	}
	change := func(text, from, to string) string { return strings.Replace(text, from, to, 1) }
	for name, pair := range map[string][2]string{
		"a claim twice":               {header, change(good, `{`, `{"iat":2,`)},
		"a claim twice, by case":      {header, change(good, `{`, `{"IAT":2,`)},
		"a nested name twice":         {header, change(good, `{`, `{"issuer":{"name":"a","domain":"b","name":"c"},`)},
		"a name twice in a list":      {header, change(good, `{`, `{"x":[{"a":1,"a":2}],`)},
		"two objects":                 {header, good + good},
		"text after the claims":       {header, good + "x"},
		"no object":                   {header, `["` + "a" + `"]`},
		"not UTF-8":                   {header, change(good, "w.example", "w\xff")},
		"another service":             {header, change(good, "w.example", "evil.example")},
		"no date":                     {header, change(good, `"iat":1`, `"iat":0`)},
		"a date as text":              {header, change(good, `"iat":1`, `"iat":"1"`)},
		"no reference":                {header, change(good, "WR-7", "WR-8")},
		"a header twice":              {change(header, "{", `{"alg":"none",`), good},
		"a header twice, by case":     {change(header, "{", `{"ALG":"none",`), good},
		"another member":              {change(header, "{", `{"cty":"x",`), good},
		"an algorithm in other case":  {change(header, "EdDSA", "eddsa"), good},
		"a type in other case":        {change(header, "warranty+jwt", "Warranty+JWT"), good},
		"a general type":              {change(header, "warranty+jwt", "JWT"), good},
		"no type":                     {change(header, `"typ":"warranty+jwt",`, ""), good},
		"a numeric kid":               {change(header, `"`+key.ID+`"`, "1"), good},
		"text after the header":       {header + " {}", good},
		"unfinished claims":           {header, strings.TrimSuffix(good, "}")},
		"unfinished claims in a list": {header, `{"x":[`},
	} {
		if err := verify(pair[0], pair[1]); err == nil {
			t.Errorf("%s: valid", name)
		}
	}
}

// TestKeysAfterARotation: what the old key signed stays valid with the set that has both.
func TestKeysAfterARotation(t *testing.T) {
	older, newer := newKey(t), newKey(t)
	first, _ := sign(t, older)
	second, before := sign(t, newer)
	set := warranty.KeySet{Issuer: sampleCertificate.Service, Keys: []warranty.PublicKey{newer.Public(), older.Public()}}
	encoded, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	read, err := warranty.ParseKeySet(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{first, second} {
		if _, err := read.Verify(text); err != nil {
			t.Error(err)
		}
	}
	if _, err := before.Verify(first); err == nil {
		t.Error("valid with a set that does not have its key")
	}
}

func TestKeySetsAreReadStrictly(t *testing.T) {
	encoded, err := json.Marshal(warranty.KeySet{Keys: []warranty.PublicKey{newKey(t).Public()}})
	if err != nil {
		t.Fatal(err)
	}
	good := string(encoded)
	for name, text := range map[string]string{
		"empty":            "",
		"no object":        "[]",
		"no keys":          "{}",
		"keys twice":       strings.Replace(good, "{", `{"keys":[],`, 1),
		"a short key":      strings.Replace(good, `"x":"`, `"x":"","y":"`, 1),
		"no kid":           strings.Replace(good, `"kid":"`, `"kid":"","k":"`, 1),
		"one kid twice":    strings.Replace(good, "]", ","+good[strings.Index(good, "[")+1:strings.Index(good, "]")]+"]", 1),
		"text after it":    good + "x",
		"a page":           "<!doctype html>",
		"far too long":     good + strings.Repeat(" ", warranty.MaxKeySet),
		"a certificate":    "e30.e30.e30",
		"keys of a number": `{"keys":1}`,
	} {
		if set, err := warranty.ParseKeySet([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, set)
		}
	}
	set, err := warranty.ParseKeySet([]byte(`{"keys":[{"kty":"RSA","n":"x","e":"AQAB","kid":"1"},` +
		`{"kty":"OKP","crv":"X25519","x":"x","kid":"2"},{"kty":"OKP","crv":"Ed25519","x":"x","kid":"3","use":"enc"}]}`))
	if err != nil || len(set.Keys) != 0 {
		t.Errorf("keys of other kinds: %+v, %v", set, err)
	}
}

func TestSigningKeyFiles(t *testing.T) {
	key := newKey(t)
	text, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	read, err := warranty.ParseSigningKey(text)
	if err != nil || read.Public().ID != key.Public().ID {
		t.Errorf("%v, %v", read, err)
	}
	for name, content := range map[string]string{
		"empty":          "",
		"text":           "secret",
		"two keys":       string(text) + string(text),
		"text behind it": string(text) + "x",
		"a public key":   strings.ReplaceAll(string(text), "PRIVATE", "PUBLIC"),
		"cut":            string(text[:60]) + "\n-----END PRIVATE KEY-----\n",
	} {
		if _, err := warranty.ParseSigningKey([]byte(content)); err == nil {
			t.Errorf("%s: read", name)
		}
	}
	// openssl genpkey -algorithm ed25519; the id by RFC 8037, A.3, has the public key d75a9801….
	const known = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n"
	read, err = warranty.ParseSigningKey([]byte(known))
	if err != nil || read.Public().ID != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Errorf("the key of RFC 8037: %v, %v", read, err)
	}
	seed := strings.Split(string(text), "\n")[1]
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(format, key); got != "signing key "+key.Public().ID {
			t.Errorf("%s prints %s", format, got)
		}
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "key", key, "in", struct{ K *warranty.SigningKey }{&key})
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "key", key)
	if strings.Contains(log.String(), seed[20:40]) || strings.Contains(log.String(), "rivate") {
		t.Errorf("the log has the key: %s", &log)
	}
}

// FuzzVerifyCertificate: nothing but the certificate itself is valid, and nothing panics.
func FuzzVerifyCertificate(f *testing.F) {
	text, keys := sign(f, newKey(f))
	f.Add(text, text)
	f.Add("e30.e30.", `{"keys":[]}`)
	f.Add(strings.Replace(text, ".", ".A", 1), `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","kid":"a"}]}`)
	f.Fuzz(func(t *testing.T, input, set string) {
		if c, err := keys.Verify(input); err == nil && strings.TrimRight(input, "\r\n") != text {
			t.Errorf("%q is valid: %+v", input, c)
		}
		if other, err := warranty.ParseKeySet([]byte(set)); err == nil {
			if _, err := other.Verify(text); err == nil {
				t.Errorf("valid with %q", set)
			}
		}
	})
}
