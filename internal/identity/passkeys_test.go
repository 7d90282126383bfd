package identity_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/identity/identitytest"
)

var (
	start = time.Date(2026, 11, 19, 20, 0, 0, 0, time.UTC)
	key   = bytes.Repeat([]byte{7}, 32)
)

const (
	origin  = "https://warranty.example"
	browser = "cookie of the browser"
)

func relyingParty(t *testing.T, publicURL string) *identity.RelyingParty {
	t.Helper()
	rp, err := identity.NewRelyingParty(publicURL, "Warranties", key)
	if err != nil {
		t.Fatal(err)
	}
	return rp
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// desk is a person with a browser, an authenticator and the service.
type desk struct {
	rp     *identity.RelyingParty
	phone  *identitytest.Authenticator
	person identity.Person
	bound  identity.Bound // for ceremonies of the account
	stored identity.Passkey
}

// newDesk returns a desk without a passkey.
func newDesk(t *testing.T) *desk {
	t.Helper()
	handle := identity.NewHandle()
	return &desk{
		rp:     relyingParty(t, origin),
		phone:  &identitytest.Authenticator{Origin: origin},
		person: identity.Person{Handle: handle, Name: "ada@example.com", Display: "Ada"},
		bound:  identity.Bound{Browser: browser, Handle: handle},
	}
}

// registered returns a desk with a passkey.
func registered(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.stored = must(d.register(start))(t)
	return d
}

func (d *desk) register(now time.Time, change ...func(*identitytest.Answer)) (identity.Passkey, error) {
	options, err := d.rp.RegistrationOptions(d.bound, d.person, nil, start)
	if err != nil {
		return identity.Passkey{}, err
	}
	answer, err := d.phone.Create(options, change...)
	if err != nil {
		return identity.Passkey{}, err
	}
	p, _, err := d.rp.FinishRegistration(d.bound, answer, now)
	return p, err
}

// signIn answers a page without a user name.
func (d *desk) signIn(now time.Time, change ...func(*identitytest.Answer)) (identity.Passkey, error) {
	options, err := d.rp.SignInOptions(browser, start)
	if err != nil {
		return identity.Passkey{}, err
	}
	answer, err := d.phone.Get(options, change...)
	if err != nil {
		return identity.Passkey{}, err
	}
	a, err := d.rp.ReadAssertion(identity.SignIn, identity.Bound{Browser: browser}, answer, now)
	if err != nil {
		return identity.Passkey{}, err
	}
	return a.Verify(&d.stored)
}

func rejected(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, identity.ErrRejected) {
		t.Errorf("the answer is accepted, or the error is of another kind: %v", err)
	}
}

func TestPasskeysNeedADomain(t *testing.T) {
	for _, c := range []struct {
		url, id, origin string
		err             error
	}{
		{url: "https://warranty.example", id: "warranty.example", origin: "https://warranty.example"},
		{url: "https://warranty.example:443", id: "warranty.example", origin: "https://warranty.example"},
		{url: "https://Warranty.example:8443", id: "warranty.example", origin: "https://warranty.example:8443"},
		{url: "http://localhost:8080", id: "localhost", origin: "http://localhost:8080"},
		{url: "http://localhost:80", id: "localhost", origin: "http://localhost"},
		{url: "https://localhost", id: "localhost", origin: "https://localhost"},
		{url: "http://warranty.example", err: identity.NeedsHTTPS},
		{url: "http://127.0.0.1:8080", err: identity.NeedsHTTPS},
		{url: "http://app.localhost:8080", err: identity.NeedsHTTPS},
		{url: "https://127.0.0.1", err: identity.NeedsDomain},
		{url: "https://[::1]:8443", err: identity.NeedsDomain},
		{url: "https://warranty.example.", err: identity.NeedsDomain},
		{url: "https://", err: identity.NeedsDomain},
		{url: "", err: identity.NeedsHTTPS},
	} {
		rp, err := identity.NewRelyingParty(c.url, "W", key)
		if !errors.Is(err, c.err) || err == nil && (rp.ID != c.id || rp.Origin != c.origin) {
			t.Errorf("%q: %+v, %v", c.url, rp, err)
		}
	}
	if _, err := identity.NewRelyingParty(origin, "W", key[:31]); err == nil {
		t.Error("a short key is accepted")
	}
}

// TestOptions checks what the page gets: nothing weaker may be asked for.
func TestOptions(t *testing.T) {
	d := registered(t)
	var made struct {
		RP          struct{ ID, Name string }
		User        struct{ ID, Name, DisplayName string }
		Challenge   string
		Params      []struct{ Alg int }         `json:"pubKeyCredParams"`
		Excluded    []struct{ ID, Type string } `json:"excludeCredentials"`
		Selection   map[string]any              `json:"authenticatorSelection"`
		Attestation string
	}
	text := must(d.rp.RegistrationOptions(d.bound, d.person, []identity.Passkey{d.stored}, start))(t)
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	if made.RP.ID != "warranty.example" || made.User.ID != encode(d.person.Handle) || made.Attestation != "none" ||
		made.Selection["residentKey"] != "required" || made.Selection["userVerification"] != "required" ||
		len(made.Excluded) != 1 || made.Excluded[0].ID != encode(d.stored.ID) || made.Excluded[0].Type != "public-key" ||
		len(made.Params) != 3 || made.Params[0].Alg != -7 || made.Params[1].Alg != -8 || made.Params[2].Alg != -257 {
		t.Errorf("registration: %s", text)
	}
	again := must(d.rp.RegistrationOptions(d.bound, d.person, nil, start))(t)
	if bytes.Contains(again, []byte(made.Challenge)) {
		t.Error("two pages have one challenge")
	}
	if !bytes.Contains(again, []byte(`"excludeCredentials":[]`)) {
		t.Errorf("no list: %s", again)
	}
	text = must(d.rp.SignInOptions(browser, start))(t)
	if !bytes.Contains(text, []byte(`"allowCredentials":[]`)) || !bytes.Contains(text, []byte(`"userVerification":"required"`)) {
		t.Errorf("sign-in: %s", text)
	}
	text = must(d.rp.RequestOptions(identity.Confirm, d.bound, []identity.Passkey{d.stored}, start))(t)
	if !bytes.Contains(text, []byte(encode(d.stored.ID))) || !bytes.Contains(text, []byte(`"userVerification":"required"`)) {
		t.Errorf("confirmation: %s", text)
	}
	for what, bound := range map[string]identity.Bound{
		"no browser": {Handle: d.person.Handle}, "no account": {Browser: browser}, "short": {Browser: browser, Handle: []byte("x")},
	} {
		if _, err := d.rp.RequestOptions(identity.Confirm, bound, []identity.Passkey{d.stored}, start); err == nil {
			t.Errorf("%s: options without what they are bound to", what)
		}
	}
	if _, err := d.rp.SignInOptions("", start); err == nil {
		t.Error("options for a browser without a cookie")
	}
	if _, err := d.rp.RequestOptions(identity.Confirm, d.bound, nil, start); err == nil {
		t.Error("options for any passkey where the account is known")
	}
}

// TestEveryAlgorithm registers and uses a passkey of every accepted algorithm, and of one that is not.
func TestEveryAlgorithm(t *testing.T) {
	for _, alg := range []int{identitytest.ES256, identitytest.EdDSA, identitytest.RS256} {
		d := newDesk(t)
		d.phone.Algorithm = alg
		d.stored = must(d.register(start))(t)
		used := must(d.signIn(start.Add(time.Minute)))(t)
		if !bytes.Equal(used.ID, d.stored.ID) || !bytes.Equal(used.Handle, d.person.Handle) {
			t.Errorf("%d: another passkey", alg)
		}
	}
	d := newDesk(t)
	d.phone.Algorithm = identitytest.ES384
	_, err := d.register(start)
	rejected(t, err)

	// A key of another algorithm that reached the database is not used either.
	other := registered(t)
	if _, err := d.phone.Create(must(d.rp.RegistrationOptions(d.bound, d.person, nil, start))(t), func(a *identitytest.Answer) {
		other.stored.PublicKey = a.Key
	}); err != nil {
		t.Fatal(err)
	}
	d.stored = identity.Passkey{ID: d.phone.Passkeys[1].ID, Handle: d.person.Handle, PublicKey: other.stored.PublicKey}
	_, err = d.signIn(start)
	rejected(t, err)
}

// flip changes a character in the middle.
func flip(s string) string {
	b := []byte(s)
	if b[20]++; b[20] < 'B' || b[20] > 'Z' {
		b[20] = 'A'
	}
	return string(b)
}

type change = func(*identitytest.Answer)

// common returns answers with one field changed; every one must be rejected.
func common() map[string]change {
	return map[string]change{
		"type": func(a *identitytest.Answer) {
			a.Type = map[bool]string{true: "webauthn.get", false: "webauthn.create"}[a.Format != ""]
		},
		"challenge":         func(a *identitytest.Answer) { a.Challenge = flip(a.Challenge) },
		"no challenge":      func(a *identitytest.Answer) { a.Challenge = "" },
		"long challenge":    func(a *identitytest.Answer) { a.Challenge += "AA" },
		"padded challenge":  func(a *identitytest.Answer) { a.Challenge += "=" },
		"foreign origin":    func(a *identitytest.Answer) { a.Origin = "https://evil.example" },
		"other scheme":      func(a *identitytest.Answer) { a.Origin = "http://warranty.example" },
		"other port":        func(a *identitytest.Answer) { a.Origin = "https://warranty.example:8443" },
		"default port":      func(a *identitytest.Answer) { a.Origin = "https://warranty.example:443" },
		"subdomain":         func(a *identitytest.Answer) { a.Origin = "https://evil.warranty.example" },
		"parent domain":     func(a *identitytest.Answer) { a.Origin = "https://example" },
		"suffix":            func(a *identitytest.Answer) { a.Origin = "https://warranty.example.evil.example" },
		"user in origin":    func(a *identitytest.Answer) { a.Origin = "https://x@warranty.example" },
		"origin in capital": func(a *identitytest.Answer) { a.Origin = "https://WARRANTY.example" },
		"origin with path":  func(a *identitytest.Answer) { a.Origin = "https://warranty.example/" },
		"no origin":         func(a *identitytest.Answer) { a.Origin = "" },
		"frame":             func(a *identitytest.Answer) { a.More = map[string]any{"crossOrigin": true} },
		"frame of another": func(a *identitytest.Answer) {
			a.More = map[string]any{"crossOrigin": true, "topOrigin": "https://evil.example"}
		},
		"top origin":        func(a *identitytest.Answer) { a.More = map[string]any{"topOrigin": origin} },
		"relying party":     func(a *identitytest.Answer) { a.RPID = "evil.example" },
		"parent party":      func(a *identitytest.Answer) { a.RPID = "example" },
		"not present":       func(a *identitytest.Answer) { a.Flags &^= identitytest.Present },
		"not verified":      func(a *identitytest.Answer) { a.Flags &^= identitytest.Verified },
		"no flags":          func(a *identitytest.Answer) { a.Flags = 0 },
		"backed up only":    func(a *identitytest.Answer) { a.Flags |= identitytest.BackedUp },
		"id":                func(a *identitytest.Answer) { a.ID = []byte("another") },
		"raw id":            func(a *identitytest.Answer) { a.RawID = []byte("another") },
		"no id":             func(a *identitytest.Answer) { a.ID, a.RawID = nil, nil },
		"client extension":  func(a *identitytest.Answer) { a.Extensions = map[string]any{"appid": true} },
		"unknown extension": func(a *identitytest.Answer) { a.Extensions = map[string]any{"x": true} },
		"output":            func(a *identitytest.Answer) { a.Outputs = []byte("\xa1\x61x\xf5") },
		"broken output":     func(a *identitytest.Answer) { a.Outputs = []byte("\xa1\x61") },
		"too long":          func(a *identitytest.Answer) { a.More = map[string]any{"x": strings.Repeat("x", identity.MaxAnswer)} },
	}
}

func TestChangedRegistrationsAreRejected(t *testing.T) {
	changes := common()
	for name, c := range map[string]change{
		"attested id":     func(a *identitytest.Answer) { a.AttestedID = []byte("another") },
		"no attested id":  func(a *identitytest.Answer) { a.AttestedID, a.ID, a.RawID = nil, nil, nil },
		"long id":         func(a *identitytest.Answer) { a.AttestedID = make([]byte, 1024); a.ID = a.AttestedID; a.RawID = a.ID },
		"key":             func(a *identitytest.Answer) { a.Key = a.Key[:len(a.Key)-1] },
		"point":           func(a *identitytest.Answer) { a.Key[20] ^= 1 },
		"algorithm":       func(a *identitytest.Answer) { a.Key = bytes.Replace(a.Key, []byte{3, 0x26}, []byte{3, 0x27}, 1) },
		"attestation":     func(a *identitytest.Answer) { a.Format = "fido-u2f" },
		"format":          func(a *identitytest.Answer) { a.Format = "x" },
		"self signature":  func(a *identitytest.Answer) { a.Format = "packed"; a.Sign = func([]byte) []byte { return []byte("x") } },
		"not to be found": func(a *identitytest.Answer) { a.Extensions = map[string]any{"credProps": map[string]any{"rk": false}} },
	} {
		changes[name] = c
	}
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			_, err := newDesk(t).register(start, c)
			rejected(t, err)
		})
	}
	for name, c := range map[string]change{
		"nothing":          func(*identitytest.Answer) {},
		"self attestation": func(a *identitytest.Answer) { a.Format = "packed" },
		"credProps":        func(a *identitytest.Answer) { a.Extensions = map[string]any{"credProps": map[string]any{"rk": true}} },
		"credProtect":      func(a *identitytest.Answer) { a.Outputs = []byte("\xa1\x6bcredProtect\x02") },
		"copied":           func(a *identitytest.Answer) { a.Flags |= identitytest.Eligible | identitytest.BackedUp },
		"new member":       func(a *identitytest.Answer) { a.More = map[string]any{"other_keys_can_be_added_here": "x"} },
		"transports":       func(a *identitytest.Answer) { a.Transports = []string{"usb", "<script>", "nfc", "usb"} },
	} {
		t.Run("right: "+name, func(t *testing.T) {
			p, err := newDesk(t).register(start, c)
			if err != nil || p.Eligible != (name == "copied") || p.BackedUp != (name == "copied") {
				t.Errorf("%+v, %v", p, err)
			}
			if name == "transports" && strings.Join(p.Transports, " ") != "nfc usb" {
				t.Errorf("transports: %q", p.Transports)
			}
		})
	}
}

func TestChangedSignInsAreRejected(t *testing.T) {
	changes := common()
	for name, c := range map[string]change{
		"signature":    func(a *identitytest.Answer) { a.Sign = func([]byte) []byte { return []byte("bogus") } },
		"no signature": func(a *identitytest.Answer) { a.Sign = func([]byte) []byte { return nil } },
		"signed others": func(a *identitytest.Answer) {
			sign := a.Sign
			a.Sign = func([]byte) []byte { return sign([]byte("x")) }
		},
		"no handle":       func(a *identitytest.Answer) { a.Handle = nil },
		"empty handle":    func(a *identitytest.Answer) { a.Handle = []byte{} },
		"another handle":  func(a *identitytest.Answer) { a.Handle = identity.NewHandle() },
		"short handle":    func(a *identitytest.Answer) { a.Handle = a.Handle[:31] },
		"eligible now":    func(a *identitytest.Answer) { a.Flags |= identitytest.Eligible },
		"credential flag": func(a *identitytest.Answer) { a.Flags |= 1 << 6 },
		"credProtect":     func(a *identitytest.Answer) { a.Outputs = []byte("\xa1\x6bcredProtect\x02") },
		"credProps":       func(a *identitytest.Answer) { a.Extensions = map[string]any{"credProps": map[string]any{"rk": true}} },
	} {
		changes[name] = c
	}
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			_, err := registered(t).signIn(start, c)
			rejected(t, err)
		})
	}
	if _, err := registered(t).signIn(start, func(*identitytest.Answer) {}); err != nil {
		t.Error("right:", err)
	}
}

// TestNotAnAnswer reads texts that are not answers.
func TestNotAnAnswer(t *testing.T) {
	d := registered(t)
	for _, text := range []string{"", "{", "null", "[]", "{}", `{"id":"AA","rawId":"AA","type":"public-key"}`,
		`{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"bnVsbA","authenticatorData":"","signature":""}}`,
		`{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"bnVsbA","attestationObject":"oA"}}`,
		strings.Repeat("[", 10000)} {
		_, err := d.rp.ReadAssertion(identity.SignIn, identity.Bound{Browser: browser}, []byte(text), start)
		rejected(t, err)
		_, _, err = d.rp.FinishRegistration(d.bound, []byte(text), start)
		rejected(t, err)
	}
}

// TestChallengesBelongToOneCeremony answers the challenge of every ceremony in every other, in another browser, of another
// account, with another key, and late.
func TestChallengesBelongToOneCeremony(t *testing.T) {
	d := registered(t)
	mine := []identity.Passkey{d.stored}
	options := map[identity.Ceremony][]byte{
		identity.SignIn:     must(d.rp.SignInOptions(browser, start))(t),
		identity.SecondStep: must(d.rp.RequestOptions(identity.SecondStep, d.bound, mine, start))(t),
		identity.Confirm:    must(d.rp.RequestOptions(identity.Confirm, d.bound, mine, start))(t),
		identity.Register:   must(d.rp.RegistrationOptions(d.bound, d.person, nil, start))(t),
	}
	bound := func(c identity.Ceremony) identity.Bound {
		if c == identity.SignIn {
			return identity.Bound{Browser: browser}
		}
		return d.bound
	}
	try := func(c identity.Ceremony, b identity.Bound, challenge []byte, now time.Time) error {
		var o struct{ Challenge string }
		if err := json.Unmarshal(challenge, &o); err != nil {
			t.Fatal(err)
		}
		replace := func(a *identitytest.Answer) { a.Challenge = o.Challenge }
		if c == identity.Register {
			answer := must(d.phone.Create(options[c], replace))(t)
			_, _, err := d.rp.FinishRegistration(b, answer, now)
			d.phone.Passkeys = d.phone.Passkeys[:1]
			return err
		}
		answer := must(d.phone.Get(options[c], replace))(t)
		a, err := d.rp.ReadAssertion(c, b, answer, now)
		if err == nil {
			_, err = a.Verify(&d.stored)
		}
		return err
	}
	other := identity.NewHandle()
	forged, err := identity.NewRelyingParty(origin, "W", bytes.Repeat([]byte{8}, 32))
	if err != nil {
		t.Fatal(err)
	}
	for c := range options {
		for from, challenge := range options {
			if err := try(c, bound(c), challenge, start); (err == nil) != (c == from) {
				t.Errorf("ceremony %d with the challenge of %d: %v", c, from, err)
			}
		}
		rejected(t, try(c, identity.Bound{Browser: "another browser", Handle: bound(c).Handle}, options[c], start))
		rejected(t, try(c, identity.Bound{Handle: bound(c).Handle}, options[c], start))
		if c != identity.SignIn {
			rejected(t, try(c, identity.Bound{Browser: browser, Handle: other}, options[c], start))
			rejected(t, try(c, identity.Bound{Browser: browser}, options[c], start))
		}
		for after, right := range map[time.Duration]bool{
			-time.Second: true, -2 * time.Minute: false, // a replica with a wrong clock
			identity.ChallengeLife - time.Second: true, identity.ChallengeLife: false, 24 * time.Hour: false,
		} {
			if err := try(c, bound(c), options[c], start.Add(after)); (err == nil) != right {
				t.Errorf("ceremony %d after %v: %v", c, after, err)
			}
		}
	}
	rejected(t, try(identity.SignIn, bound(identity.SignIn), must(forged.SignInOptions(browser, start))(t), start))
}

// TestReplaysHaveOneHash checks what the caller stores to accept an answer once.
func TestReplaysHaveOneHash(t *testing.T) {
	d := registered(t)
	seen := map[[32]byte]bool{}
	for range 3 {
		options := must(d.rp.SignInOptions(browser, start))(t)
		var first identity.Used
		for i := range 2 { // a new signature of the same challenge is a replay too
			answer := must(d.phone.Get(options))(t)
			a := must(d.rp.ReadAssertion(identity.SignIn, identity.Bound{Browser: browser}, answer, start.Add(time.Minute)))(t)
			if i == 0 {
				first = a.Used
			}
			if a.Used != first || !a.Used.Until.Equal(start.Add(identity.ChallengeLife)) {
				t.Errorf("%+v is not %+v", a.Used, first)
			}
		}
		seen[first.Hash] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d hashes of 3 challenges", len(seen))
	}
}

// TestPasskeysOfOthers tries the passkey of one account for another one.
func TestPasskeysOfOthers(t *testing.T) {
	a, b := registered(t), registered(t)
	b.rp = a.rp
	// A's passkey with B's handle, which is what the signature does not cover.
	_, err := a.signIn(start, func(x *identitytest.Answer) { x.Handle = b.person.Handle })
	rejected(t, err)
	// The database says that the passkey is B's.
	stolen := a.stored
	stolen.Handle = b.person.Handle
	options := must(a.rp.SignInOptions(browser, start))(t)
	answer := must(a.phone.Get(options))(t)
	read := must(a.rp.ReadAssertion(identity.SignIn, identity.Bound{Browser: browser}, answer, start))(t)
	_, err = read.Verify(&stolen)
	rejected(t, err)
	_, err = read.Verify(&b.stored)
	rejected(t, err)
	_, unknown := read.Verify(nil)
	rejected(t, unknown)
	// In B's session, with and without a handle.
	for _, handle := range [][]byte{nil, a.person.Handle, b.person.Handle} {
		options = must(a.rp.RequestOptions(identity.Confirm, b.bound, []identity.Passkey{a.stored}, start))(t)
		answer = must(a.phone.Get(options, func(x *identitytest.Answer) { x.Handle = handle }))(t)
		read, err := a.rp.ReadAssertion(identity.Confirm, b.bound, answer, start)
		if err == nil {
			_, err = read.Verify(&a.stored)
		}
		rejected(t, err)
	}
	// B's own passkey works there, also without a handle.
	options = must(a.rp.RequestOptions(identity.Confirm, b.bound, []identity.Passkey{b.stored}, start))(t)
	answer = must(b.phone.Get(options, func(x *identitytest.Answer) { x.Handle = nil }))(t)
	read = must(a.rp.ReadAssertion(identity.Confirm, b.bound, answer, start))(t)
	if _, err := read.Verify(&b.stored); err != nil {
		t.Error(err)
	}
}

// TestHandlesAreCheckedFirst: a caller can believe Handle before it asks for the passkey.
func TestHandlesAreCheckedFirst(t *testing.T) {
	d := registered(t)
	for _, c := range []struct {
		ceremony identity.Ceremony
		bound    identity.Bound
		handle   []byte
		right    bool
	}{
		{identity.SignIn, identity.Bound{Browser: browser}, d.person.Handle, true},
		{identity.SignIn, identity.Bound{Browser: browser}, nil, false},
		{identity.SignIn, identity.Bound{Browser: browser}, d.person.Handle[1:], false},
		{identity.Confirm, d.bound, nil, true},
		{identity.Confirm, d.bound, d.person.Handle, true},
		{identity.Confirm, d.bound, identity.NewHandle(), false},
	} {
		options := must(d.rp.SignInOptions(browser, start))(t)
		if c.ceremony == identity.Confirm {
			options = must(d.rp.RequestOptions(c.ceremony, c.bound, []identity.Passkey{d.stored}, start))(t)
		}
		answer := must(d.phone.Get(options, func(a *identitytest.Answer) { a.Handle = c.handle }))(t)
		if _, err := d.rp.ReadAssertion(c.ceremony, c.bound, answer, start); (err == nil) != c.right {
			t.Errorf("%d with the handle %x: %v", c.ceremony, c.handle, err)
		}
	}
}

// TestUnknownPasskeysNeverVerify signs with the key that is used in place of an unknown one, which everybody can know.
func TestUnknownPasskeysNeverVerify(t *testing.T) {
	one, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), append(make([]byte, 31), 1))
	if err != nil {
		t.Fatal(err)
	}
	d := registered(t)
	answer := must(d.phone.Get(must(d.rp.SignInOptions(browser, start))(t), func(a *identitytest.Answer) {
		a.Sign = func(signed []byte) []byte {
			sum := sha256.Sum256(signed)
			return must(ecdsa.SignASN1(rand.Reader, one, sum[:]))(t)
		}
	}))(t)
	read := must(d.rp.ReadAssertion(identity.SignIn, identity.Bound{Browser: browser}, answer, start))(t)
	_, err = read.Verify(nil)
	rejected(t, err)
}

// TestAttestationsAreNotRead: certificates and formats that were not asked for are rejected unread.
func TestAttestationsAreNotRead(t *testing.T) {
	for _, format := range []string{"fido-u2f", "tpm", "android-key", "apple", "compound", "packed x5c"} {
		_, err := newDesk(t).register(start, func(a *identitytest.Answer) { a.Format = format })
		var why *identity.RejectedError
		if !errors.As(err, &why) || why.Reason != "an attestation that was not asked for" {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestCounters(t *testing.T) {
	for _, c := range []struct {
		stored, received uint32
		cloned           bool
	}{
		{0, 0, false}, {0, 1, false}, {0, 100, false}, {1, 2, false}, {5, 6, false}, {5, 1 << 31, false},
		{1, 0, true}, {5, 5, true}, {5, 4, true}, {5, 0, true}, {1 << 31, 5, true},
	} {
		d := registered(t)
		d.stored.Counter = c.stored
		p, err := d.signIn(start, func(a *identitytest.Answer) { a.Counter = c.received })
		var clone *identity.ClonedError
		if errors.As(err, &clone) != c.cloned || err == nil && p.Counter != c.received {
			t.Errorf("%d, then %d: %+v, %v", c.stored, c.received, p, err)
		}
		if c.cloned {
			rejected(t, err)
		}
		// A bogus signature is no sign of a copy: anyone can make one.
		_, err = d.signIn(start, func(a *identitytest.Answer) {
			a.Counter, a.Sign = c.received, func([]byte) []byte { return []byte("x") }
		})
		if rejected(t, err); errors.As(err, &clone) {
			t.Error("a bogus signature is reported as a copy")
		}
	}
}

func TestBackupFlags(t *testing.T) {
	d := newDesk(t)
	d.phone.Flags = identitytest.Present | identitytest.Verified | identitytest.Eligible
	d.stored = must(d.register(start))(t)
	if !d.stored.Eligible || d.stored.BackedUp {
		t.Fatalf("%+v", d.stored)
	}
	p := must(d.signIn(start, func(a *identitytest.Answer) { a.Flags |= identitytest.BackedUp }))(t)
	if !p.BackedUp || !p.Eligible {
		t.Errorf("the copy is not noticed: %+v", p)
	}
	_, err := d.signIn(start, func(a *identitytest.Answer) { a.Flags &^= identitytest.Eligible })
	rejected(t, err)
}
