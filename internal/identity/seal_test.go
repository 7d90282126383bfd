package identity_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"warranty.example/svc/internal/identity"
)

func TestSealedSecretsBelongToOneOwner(t *testing.T) {
	k, other := must(identity.NewSecretsKey())(t), must(identity.NewSecretsKey())(t)
	plain := []byte("12345678901234567890")
	sealed := must(k.Seal(identity.TOTPSecret, "ada", plain))(t)
	if bytes.Contains(sealed, plain[:4]) || bytes.Equal(sealed, must(k.Seal(identity.TOTPSecret, "ada", plain))(t)) {
		t.Error("the secret is not encrypted, or twice in the same way")
	}
	if got, err := k.Open(identity.TOTPSecret, "ada", sealed); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%q, %v", got, err)
	}
	refused := func(what string, k identity.SecretsKey, p identity.Purpose, owner string, sealed []byte) {
		t.Helper()
		if got, err := k.Open(p, owner, sealed); !errors.Is(err, identity.ErrSealed) || got != nil {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	refused("another owner", k, identity.TOTPSecret, "bob", sealed)
	refused("no owner", k, identity.TOTPSecret, "", sealed)
	refused("another purpose", k, identity.WebhookSecret, "ada", sealed)
	refused("another purpose of the same length", k, identity.FlowState, "ada", sealed)
	refused("a shifted border", k, identity.TOTPSecret+"a", "da", sealed)
	refused("another key", other, identity.TOTPSecret, "ada", sealed)
	refused("no key", identity.SecretsKey{}, identity.TOTPSecret, "ada", sealed)
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		refused(fmt.Sprint("byte ", i), k, identity.TOTPSecret, "ada", changed)
		refused(fmt.Sprint("first bytes ", i), k, identity.TOTPSecret, "ada", sealed[:i])
	}
	if _, err := (identity.SecretsKey{}).Seal(identity.TOTPSecret, "ada", plain); err == nil {
		t.Error("sealed without a key")
	}
	if _, err := k.Seal(identity.TOTPSecret, "", plain); err == nil {
		t.Error("sealed without an owner")
	}
}

func TestSecretsKeyFile(t *testing.T) {
	k := must(identity.NewSecretsKey())(t)
	text := k.Text()
	again := must(identity.ParseSecretsKey(append([]byte(" "), append(text, "\r\n"...)...)))(t)
	sealed := must(k.Seal(identity.TOTPSecret, "ada", []byte("x")))(t)
	if _, err := again.Open(identity.TOTPSecret, "ada", sealed); err != nil || again.ID() != k.ID() {
		t.Error("a key that is read again is another key")
	}
	if !bytes.Equal(must(k.Derive("a"))(t), must(again.Derive("a"))(t)) || bytes.Equal(must(k.Derive("a"))(t), must(k.Derive("b"))(t)) {
		t.Error("derived keys are not those of their use")
	}
	if must(identity.NewSecretsKey())(t).ID() == k.ID() || len(k.ID()) < 20 {
		t.Error("two keys have one id")
	}
	secret := strings.TrimSpace(strings.Split(string(text), ":")[1])
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
		if got, want := fmt.Sprintf(verb, k), "secrets key "+k.ID(); got != want || fmt.Sprintf(verb, &k) != want {
			t.Errorf("%s prints %q", verb, got)
		}
	}
	for _, wrong := range []string{"", "x", secret, string(text[:len(text)-3]), string(text) + "x", strings.ToUpper(string(text))} {
		if _, err := identity.ParseSecretsKey([]byte(wrong)); err == nil || strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
