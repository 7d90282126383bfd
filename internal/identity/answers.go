package identity

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"
)

// ClonedError is returned for a valid answer whose counter did not grow: there is a copy of the authenticator. It is an
// ErrRejected, and the owner has to be told.
type ClonedError struct {
	Stored, Received uint32
}

func (e *ClonedError) Error() string {
	return "identity: rejected: the counter of the passkey did not grow; it was copied"
}

// Is makes a ClonedError an ErrRejected.
func (*ClonedError) Is(target error) bool { return target == ErrRejected }

// FinishRegistration verifies the answer to RegistrationOptions and returns the passkey to store. The caller makes sure
// that the challenge was not used and the id belongs to no account, in the transaction that stores it.
func (rp *RelyingParty) FinishRegistration(b Bound, answer []byte, now time.Time) (Passkey, Used, error) {
	if len(answer) > MaxAnswer {
		return Passkey{}, Used{}, reject("the answer is too long")
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return Passkey{}, Used{}, reject("%s", reason(err))
	}
	client := parsed.Response.CollectedClientData
	used, err := rp.checkChallenge(client.Challenge, Register, b, now)
	if err != nil {
		return Passkey{}, Used{}, err
	}
	if err := rp.checkOrigin(client); err != nil {
		return Passkey{}, Used{}, err
	}
	if err := checkAttestation(parsed); err != nil {
		return Passkey{}, Used{}, err
	}
	made, err := rp.lib.CreateCredential(owner{handle: b.Handle}, webauthn.SessionData{
		Challenge:        client.Challenge, // checkChallenge verified it
		RelyingPartyID:   rp.ID,
		Origin:           rp.Origin,
		UserID:           b.Handle,
		UserVerification: protocol.VerificationRequired,
		CredParams:       credentialParameters(),
		Extensions:       protocol.SessionExtensions{Requested: []string{credProps}},
	}, parsed)
	if err != nil {
		return Passkey{}, Used{}, reject("%s", reason(err))
	}
	return Passkey{
		ID:         made.ID,
		Handle:     b.Handle,
		PublicKey:  made.PublicKey,
		Counter:    made.Authenticator.SignCount,
		Transports: knownTransports(made.Transport),
		Eligible:   made.Flags.BackupEligible,
		BackedUp:   made.Flags.BackupState,
	}, used, nil
}

// checkAttestation rejects what the service did not ask for, and keys that it cannot use.
func checkAttestation(parsed *protocol.ParsedCredentialCreationData) error {
	object := parsed.Response.AttestationObject
	_, certificate := object.AttStatement["x5c"]
	switch { // browsers pass a self attestation on, even if asked for none
	case object.Format != "none" && (object.Format != "packed" || certificate):
		return reject("an attestation that was not asked for")
	case len(object.AuthData.AttData.CredentialID) == 0 || len(object.AuthData.AttData.CredentialID) > MaxCredentialID:
		return reject("the id of the passkey has a wrong length")
	}
	if props := parsed.ClientExtensionResults.CredProps; props != nil && props.RK != nil && !*props.RK {
		return reject("the passkey cannot be found without its id")
	}
	if ext := object.AuthData.Ext; ext != nil { // security keys add credProtect and hmac-secret by themselves
		if len(ext.Extra) > 0 || ext.MinPinLength != nil || ext.CredBlobSet != nil || ext.CredBlob != nil ||
			ext.HMACSecretOutput != nil || ext.UVM != nil {
			return reject("an output of an extension that was not asked for")
		}
	}
	return checkKey(object.AuthData.AttData.CredentialPublicKey)
}

// checkKey rejects keys of other algorithms, and curves that do not belong to the algorithm.
func checkKey(cose []byte) error {
	if len(cose) > maxPublicKey {
		return reject("the public key is too long")
	}
	parsed, err := webauthncose.ParsePublicKey(cose)
	if err != nil {
		return reject("not a public key")
	}
	ok := false
	switch key := parsed.(type) {
	case webauthncose.EC2PublicKeyData:
		ok = key.Algorithm == int64(webauthncose.AlgES256) && key.Curve == int64(webauthncose.P256)
	case webauthncose.OKPPublicKeyData:
		ok = key.Algorithm == int64(webauthncose.AlgEdDSA) && key.Curve == int64(webauthncose.Ed25519)
	case webauthncose.RSAPublicKeyData:
		ok = key.Algorithm == int64(webauthncose.AlgRS256) && len(key.Modulus) >= 256
	}
	if !ok {
		return reject("the algorithm of the key is not accepted")
	}
	return nil
}

// checkOrigin compares bytes, because browsers write an origin in exactly one way; the library is less strict.
func (rp *RelyingParty) checkOrigin(client protocol.CollectedClientData) error {
	if client.Origin != rp.Origin {
		return reject("the answer is of another origin")
	}
	return nil
}

// Assertion is the answer of a passkey, whose challenge is verified and whose signature is not.
type Assertion struct {
	ID     []byte // of the passkey
	Handle []byte // of the account, as the authenticator says; required for SignIn
	Used   Used

	rp       *RelyingParty
	ceremony Ceremony
	bound    Bound
	parsed   *protocol.ParsedCredentialAssertionData
}

// ReadAssertion reads an answer to SignInOptions or RequestOptions and verifies its challenge. The caller finds the
// passkey with the id and calls Verify, also if there is none.
func (rp *RelyingParty) ReadAssertion(c Ceremony, b Bound, answer []byte, now time.Time) (*Assertion, error) {
	if len(answer) > MaxAnswer {
		return nil, reject("the answer is too long")
	}
	if c != SignIn && c != SecondStep && c != Confirm {
		return nil, reject("not a ceremony with an assertion")
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return nil, reject("%s", reason(err))
	}
	client := parsed.Response.CollectedClientData
	used, err := rp.checkChallenge(client.Challenge, c, b, now)
	if err != nil {
		return nil, err
	}
	if err := rp.checkOrigin(client); err != nil {
		return nil, err
	}
	handle := parsed.Response.UserHandle
	switch {
	case len(parsed.RawID) > MaxCredentialID:
		return nil, reject("the id of the passkey is too long")
	case c == SignIn && len(handle) != HandleSize, c != SignIn && len(handle) > 0 && !bytes.Equal(handle, b.Handle):
		return nil, reject("the user handle is missing or of another account")
	case parsed.Response.AuthenticatorData.Flags.HasExtensions():
		return nil, reject("an output of an extension that was not asked for")
	}
	return &Assertion{parsed.RawID, handle, used, rp, c, b, parsed}, nil
}

// Verify verifies the answer with the stored passkey. It returns the passkey with its new counter and backup flag; the
// caller stores both with Used, on condition that the counter is still the one that it passed in. Without a passkey (nil),
// or with one of another account, it does the same work and returns an ErrRejected. A *ClonedError means that the answer
// is right and the counter is not.
func (a *Assertion) Verify(stored *Passkey) (Passkey, error) {
	usable := stored != nil && bytes.Equal(stored.Handle, a.account()) && checkKey(stored.PublicKey) == nil
	if !usable {
		stored = &Passkey{ID: a.ID, Handle: a.account(), PublicKey: nobodysKey}
	}
	credential, err := a.validate(stored)
	switch {
	case !usable:
		return Passkey{}, reject("there is no such passkey, or it belongs to another account")
	case err != nil:
		return Passkey{}, reject("%s", reason(err))
	}
	counter := a.parsed.Response.AuthenticatorData.Counter
	if stored.Counter != 0 && counter <= stored.Counter {
		return Passkey{}, &ClonedError{stored.Counter, counter}
	}
	now := *stored
	now.Counter, now.BackedUp = counter, credential.Flags.BackupState
	return now, nil
}

// account returns the handle of the account that the answer is about.
func (a *Assertion) account() []byte {
	if a.ceremony == SignIn {
		return a.Handle
	}
	return a.bound.Handle
}

func (a *Assertion) validate(stored *Passkey) (*webauthn.Credential, error) {
	who := owner{stored.Handle, []webauthn.Credential{{
		ID:            stored.ID,
		PublicKey:     stored.PublicKey,
		Flags:         webauthn.CredentialFlags{BackupEligible: stored.Eligible, BackupState: stored.BackedUp},
		Authenticator: webauthn.Authenticator{SignCount: stored.Counter},
	}}}
	session := webauthn.SessionData{
		Challenge:        a.parsed.Response.CollectedClientData.Challenge, // ReadAssertion verified it
		RelyingPartyID:   a.rp.ID,
		Origin:           a.rp.Origin,
		UserVerification: protocol.VerificationRequired,
	}
	if a.ceremony == SignIn {
		return a.rp.lib.ValidateDiscoverableLogin(func(_, _ []byte) (webauthn.User, error) { return who, nil }, session, a.parsed)
	}
	session.UserID, session.AllowedCredentialIDs = stored.Handle, [][]byte{stored.ID}
	return a.rp.lib.ValidateLogin(who, session, a.parsed)
}

// owner is an account as the library wants it.
type owner struct {
	handle   []byte
	passkeys []webauthn.Credential
}

func (o owner) WebAuthnID() []byte                         { return o.handle }
func (o owner) WebAuthnName() string                       { return "" }
func (o owner) WebAuthnDisplayName() string                { return "" }
func (o owner) WebAuthnCredentials() []webauthn.Credential { return o.passkeys }

// nobodysKey is a P-256 key, the generator of the curve. Its private half is 1, so a right signature proves nothing: Verify
// rejects the answer whatever the library says.
var nobodysKey = func() []byte {
	key, err := webauthncbor.Marshal(map[int]any{
		1: 2, 3: -7, -1: 1,
		-2: []byte("\x6b\x17\xd1\xf2\xe1\x2c\x42\x47\xf8\xbc\xe6\xe5\x63\xa4\x40\xf2\x77\x03\x7d\x81\x2d\xeb\x33\xa0\xf4\xa1\x39\x45\xd8\x98\xc2\x96"),
		-3: []byte("\x4f\xe3\x42\xe2\xfe\x1a\x7f\x9b\x8e\xe7\xeb\x4a\x7c\x0f\x9e\x16\x2b\xce\x33\x57\x6b\x31\x5e\xce\xcb\xb6\x40\x68\x37\xbf\x51\xf5"),
	})
	if err != nil {
		panic(err)
	}
	return key
}()

func credentialParameters() (list []protocol.CredentialParameter) {
	for _, alg := range algorithms {
		list = append(list, protocol.CredentialParameter{Type: protocol.PublicKeyCredentialType, Algorithm: alg})
	}
	return list
}

// knownTransports returns the known ones, sorted and each once.
func knownTransports(given []protocol.AuthenticatorTransport) []string {
	known := map[string]bool{}
	for _, t := range given {
		if slices.Contains(transports, string(t)) {
			known[string(t)] = true
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// reason returns the library's description of an error, without its details, which repeat parts of the answer.
func reason(err error) string {
	var known *protocol.Error
	if errors.As(err, &known) && known.Details != "" {
		return known.Details
	}
	return "not an answer of a passkey"
}
