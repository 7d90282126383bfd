package warranty

import (
	"slices"
	"time"
)

// Scope is what an integration token may be allowed to do.
type Scope string

// The four scopes.
const (
	WarrantiesRead  Scope = "warranties:read"
	WarrantiesWrite Scope = "warranties:write"
	ClaimsRead      Scope = "claims:read"
	DocumentsRead   Scope = "documents:read"
)

// Scopes is a set of scopes in their fixed order.
type Scopes []Scope

// AllScopes are the scopes of a signed-in person.
var AllScopes = Scopes{WarrantiesRead, WarrantiesWrite, ClaimsRead, DocumentsRead}

// Has tells whether the set holds the scope.
func (s Scopes) Has(scope Scope) bool { return slices.Contains(s, scope) }

// Mask is the set as the bits that are stored.
func (s Scopes) Mask() int64 {
	var mask int64
	for i, scope := range AllScopes {
		if s.Has(scope) {
			mask |= 1 << i
		}
	}
	return mask
}

// ScopesOf reads the stored bits.
func ScopesOf(mask int64) Scopes {
	s := make(Scopes, 0, len(AllScopes))
	for i, scope := range AllScopes {
		if mask&(1<<i) != 0 {
			s = append(s, scope)
		}
	}
	return s
}

// Door is the way by which a request came in; the history names it.
type Door string

// The doors.
const (
	DoorWeb Door = "web"
	DoorAPI Door = "api"
	DoorCLI Door = "cli"
	DoorMCP Door = "mcp"
)

var doorNames = namesOf(DoorWeb, DoorAPI, DoorCLI, DoorMCP)

// Values lists the names a Door may have.
func (Door) Values() []string { return doorNames }

// String is the door's name.
func (d Door) String() string { return string(d) }

// CredentialKind is what a caller showed to be let in.
type CredentialKind uint8

// The kinds of credential. Anonymous callers reach the public operations only.
const (
	Anonymous CredentialKind = iota
	ByToken
	BySession
)

// Principal is who is asking: every operation takes it as a parameter.
type Principal struct {
	User       User
	Credential CredentialKind
	// CredentialID is the token's or the session's id, and SecretHash is of the
	// secret that was shown: a token may have two while it is rotated.
	CredentialID ID
	SecretHash   Hash
	TokenName    string
	Scopes       Scopes
	RateLimit    int
	ExpiresAt    time.Time
	// Address is the network the caller is throttled by: an IPv4 address or an IPv6 /64.
	Address string
	Door    Door
	// UserAgent is what the caller says it is, and Device the long-lived cookie of a
	// browser: both only serve to tell a new device from a known one.
	UserAgent, Device string
}
