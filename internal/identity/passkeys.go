package identity

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"warranty.example/svc/internal/netaddr"
)

// Limits of passkeys.
const (
	MaxAnswer       = 16 << 10 // bytes of an answer
	MaxCredentialID = 1023     // bytes, by the standard
	maxPublicKey    = 1100     // bytes; RSA with 8192 bits has 1035
)

// algorithms are the signatures that are accepted, the preferred one first.
var algorithms = []webauthncose.COSEAlgorithmIdentifier{
	webauthncose.AlgES256, webauthncose.AlgEdDSA, webauthncose.AlgRS256,
}

// transports are the ones that are stored and repeated to browsers.
var transports = []string{"ble", "hybrid", "internal", "nfc", "smart-card", "usb"}

// RelyingParty is the service as authenticators know it.
type RelyingParty struct {
	ID     string // the host
	Origin string // scheme, host and port, as browsers write it
	name   string
	key    []byte
	lib    *webauthn.WebAuthn
}

// NewRelyingParty returns the relying party at the public URL, which authenticates its challenges with a key that all
// replicas have. If the URL cannot have passkeys, the error is an Unavailable.
func NewRelyingParty(publicURL, name string, key []byte) (*RelyingParty, error) {
	u, err := url.Parse(publicURL)
	if err != nil {
		return nil, NeedsDomain
	}
	host := strings.ToLower(u.Hostname())
	local := host == "localhost"
	switch {
	case len(key) < 32:
		return nil, reject("the key of challenges is too short")
	case u.Scheme != "https" && (u.Scheme != "http" || !local):
		return nil, NeedsHTTPS
	case netaddr.IsIP(host) || !netaddr.IsName(host) || strings.HasSuffix(host, "."):
		return nil, NeedsDomain
	}
	origin := u.Scheme + "://" + host
	if port := u.Port(); port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		origin += ":" + port
	}
	lib, err := webauthn.New(&webauthn.Config{
		RPID:                              host,
		RPDisplayName:                     name,
		RPOrigins:                         []string{origin},
		RPAllowCrossOrigin:                false,
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyReject,
	})
	if err != nil { // a domain that browsers do not accept
		return nil, NeedsDomain
	}
	return &RelyingParty{ID: host, Origin: origin, name: name, key: slices.Clone(key), lib: lib}, nil
}

// Passkey is what is stored of a passkey.
type Passkey struct {
	ID         []byte   // unique among all accounts
	Handle     []byte   // of the account that it belongs to; not stored with the passkey
	PublicKey  []byte   // COSE
	Counter    uint32   // 0 if the authenticator has none
	Transports []string // hints for browsers
	Eligible   bool     // it can be copied to other devices; never changes
	BackedUp   bool     // it has been copied
}

// Person is the account that a passkey is made for. Name and Display are shown when a passkey is chosen.
type Person struct {
	Handle  []byte
	Name    string // the email address
	Display string
}

// RegistrationOptions returns the JSON for PublicKeyCredential.parseCreationOptionsFromJSON. existing are the passkeys
// of the account, which an authenticator does not replace. b.Handle is the handle of the person.
func (rp *RelyingParty) RegistrationOptions(b Bound, p Person, existing []Passkey, now time.Time) ([]byte, error) {
	b.Handle = p.Handle
	challenge, err := rp.newChallenge(Register, b, now)
	if err != nil {
		return nil, err
	}
	return json.Marshal(creationOptions{
		RP:        entity{ID: rp.ID, Name: rp.name},
		User:      userEntity{ID: encode(p.Handle), Name: p.Name, DisplayName: p.Display},
		Challenge: encode(challenge),
		Algorithms: []parameter{
			{"public-key", int(algorithms[0])}, {"public-key", int(algorithms[1])}, {"public-key", int(algorithms[2])},
		},
		Timeout:   ChallengeLife.Milliseconds(),
		Exclude:   descriptors(existing),
		Selection: selection{ResidentKey: "required", RequireResidentKey: true, UserVerification: "required"},

		Attestation: "none",
		Extensions:  map[string]bool{credProps: true},
	})
}

// credProps is the extension that says whether a passkey can be found without its id.
const credProps = "credProps"

// SignInOptions returns the JSON for PublicKeyCredential.parseRequestOptionsFromJSON, for any passkey of this service.
// It is used by conditional mediation and by a button.
func (rp *RelyingParty) SignInOptions(browser string, now time.Time) ([]byte, error) {
	return rp.requestOptions(SignIn, Bound{Browser: browser}, nil, now)
}

// RequestOptions is SignInOptions for an account that is known, with its passkeys: the ceremony is SecondStep or
// Confirm.
func (rp *RelyingParty) RequestOptions(c Ceremony, b Bound, allow []Passkey, now time.Time) ([]byte, error) {
	if c != SecondStep && c != Confirm || len(allow) == 0 {
		return nil, reject("the ceremony needs the passkeys of an account")
	}
	return rp.requestOptions(c, b, allow, now)
}

func (rp *RelyingParty) requestOptions(c Ceremony, b Bound, allow []Passkey, now time.Time) ([]byte, error) {
	challenge, err := rp.newChallenge(c, b, now)
	if err != nil {
		return nil, err
	}
	return json.Marshal(requestOptions{
		Challenge:        encode(challenge),
		Timeout:          ChallengeLife.Milliseconds(),
		RPID:             rp.ID,
		Allow:            descriptors(allow),
		UserVerification: "required",
	})
}

// The options as the standard's dictionaries ...OptionsJSON have them.
type (
	creationOptions struct {
		RP          entity          `json:"rp"`
		User        userEntity      `json:"user"`
		Challenge   string          `json:"challenge"`
		Algorithms  []parameter     `json:"pubKeyCredParams"`
		Timeout     int64           `json:"timeout"`
		Exclude     []descriptor    `json:"excludeCredentials"`
		Selection   selection       `json:"authenticatorSelection"`
		Attestation string          `json:"attestation"`
		Extensions  map[string]bool `json:"extensions"`
	}
	requestOptions struct {
		Challenge        string       `json:"challenge"`
		Timeout          int64        `json:"timeout"`
		RPID             string       `json:"rpId"`
		Allow            []descriptor `json:"allowCredentials"`
		UserVerification string       `json:"userVerification"`
	}
	entity struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	userEntity struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		DisplayName string `json:"displayName"`
	}
	parameter struct {
		Type string `json:"type"`
		Alg  int    `json:"alg"`
	}
	descriptor struct {
		Type       string   `json:"type"`
		ID         string   `json:"id"`
		Transports []string `json:"transports,omitempty"`
	}
	selection struct {
		ResidentKey        string `json:"residentKey"`
		RequireResidentKey bool   `json:"requireResidentKey"`
		UserVerification   string `json:"userVerification"`
	}
)

func descriptors(passkeys []Passkey) []descriptor {
	list := make([]descriptor, len(passkeys))
	for i, p := range passkeys {
		list[i] = descriptor{"public-key", encode(p.ID), p.Transports}
	}
	return list
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
