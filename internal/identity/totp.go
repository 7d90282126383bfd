package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6238, as authenticator apps have it; HMAC does not need collision resistance
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// One-time passwords as authenticator apps have them (RFC 6238).
const (
	totpSecretSize = 20
	totpDigits     = 6
	totpModulus    = 1_000_000
	totpPeriod     = 30 // seconds
)

// NewTOTPSecret returns a random secret of 160 bits.
func NewTOTPSecret() []byte {
	secret := make([]byte, totpSecretSize)
	_, _ = rand.Read(secret) // never fails
	return secret
}

// TOTPText returns a secret in base 32, for people to type into an app.
func TOTPText(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}

// TOTPURL returns a secret as the address that apps read from a QR code. A colon separates issuer and account, so neither
// keeps one.
func TOTPURL(issuer, account string, secret []byte) string {
	clean := func(s string) string {
		return strings.ReplaceAll(url.QueryEscape(strings.ReplaceAll(s, ":", " ")), "+", "%20")
	}
	return fmt.Sprintf("otpauth://totp/%s:%s?secret=%s&issuer=%s&algorithm=SHA1&digits=%d&period=%d",
		clean(issuer), clean(account), TOTPText(secret), clean(issuer), totpDigits, totpPeriod)
}

// Step verifies a code: exactly six ASCII digits, because bytes are compared, of now or of one step before or after. step is the time step that
// matched. The caller accepts it by one conditional update, if it is later than the last accepted step of the account;
// otherwise the code is used.
func Step(secret []byte, code string, now time.Time) (step int64, ok bool) {
	if len(secret) != totpSecretSize {
		return 0, false
	}
	current := now.Unix() / totpPeriod
	for _, s := range []int64{current + 1, current - 1, current} { // all three, so that the time says nothing
		if subtle.ConstantTimeCompare([]byte(totpCode(secret, s)), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

// totpCode returns the code of a time step.
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash never fails
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0xF
	return fmt.Sprintf("%0*d", totpDigits, (binary.BigEndian.Uint32(sum[at:])&0x7FFFFFFF)%totpModulus)
}
