package identity_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/identity"
)

// TestStepAgreesWithRFC6238 uses the vectors of its appendix B, whose codes have eight digits: ours are the last six.
func TestStepAgreesWithRFC6238(t *testing.T) {
	secret := []byte("12345678901234567890")
	for unix, code := range map[int64]string{
		59: "94287082", 1111111109: "07081804", 1111111111: "14050471", 1234567890: "89005924",
		2000000000: "69279037", 20000000000: "65353130",
	} {
		step, ok := identity.Step(secret, code[2:], time.Unix(unix, 0))
		if !ok || step != unix/30 {
			t.Errorf("%d: %d, %t", unix, step, ok)
		}
	}
}

// oathtool returns the code that oathtool makes at a time.
func oathtool(t *testing.T, secret []byte, at time.Time) string {
	t.Helper()
	path, err := exec.LookPath("oathtool")
	if err != nil {
		t.Skip("oathtool is not installed")
	}
	out, err := exec.Command(path, "--totp", "-b", "-N", at.UTC().Format("2006-01-02 15:04:05 UTC"), identity.TOTPText(secret)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestStepAgreesWithOathtool compares with another implementation, for random secrets.
func TestStepAgreesWithOathtool(t *testing.T) {
	for i := range 20 {
		secret, at := identity.NewTOTPSecret(), start.Add(time.Duration(i)*1234567*time.Second)
		code := oathtool(t, secret, at)
		for away, right := range map[int64]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
			now := at.Add(time.Duration(away) * 30 * time.Second)
			step, ok := identity.Step(secret, code, now)
			if ok != right || ok && step != at.Unix()/30 {
				t.Errorf("%s, %d steps later: step %d, %t", code, away, step, ok)
			}
		}
	}
}

func TestStepWantsSixDigits(t *testing.T) {
	secret, now := []byte("12345678901234567890"), time.Unix(59, 0)
	const right = "287082"
	if _, ok := identity.Step(secret, right, now); !ok {
		t.Fatal("the right code is refused")
	}
	for _, code := range []string{
		"", "28708", "2870820", "0287082", " 287082", "287082 ", "287 082", "287082\n", "28708２", "٢٨٧٠٨٢", "+87082", "-87082",
		"28708x", "287083", "94287082", "000000",
	} {
		if _, ok := identity.Step(secret, code, now); ok {
			t.Errorf("%q is accepted", code)
		}
	}
	for _, other := range [][]byte{nil, secret[:19], append(secret, 'x')} { // a row without a secret lets nobody in
		mac := hmac.New(sha1.New, other)
		mac.Write([]byte{0, 0, 0, 0, 0, 0, 0, 1})
		sum := mac.Sum(nil)
		code := binary.BigEndian.Uint32(sum[sum[19]&0xF:]) & 0x7FFFFFFF % 1_000_000
		if _, ok := identity.Step(other, fmt.Sprintf("%06d", code), now); ok {
			t.Errorf("a secret of %d bytes is accepted", len(other))
		}
	}
}

func TestTOTPURL(t *testing.T) {
	secret := []byte("12345678901234567890")
	address := identity.TOTPURL("Halden: Service & Co", "ada+x@example.com", secret)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Halden  Service & Co:ada+x@example.com" ||
		q.Get("secret") != "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" || q.Get("issuer") != "Halden  Service & Co" ||
		q.Get("algorithm") != "SHA1" || q.Get("digits") != "6" || q.Get("period") != "30" {
		t.Error(address)
	}
}
