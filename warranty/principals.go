package warranty

import (
	"slices"
	"time"
)

// Scope is a permission of an integration token.
type Scope string

// The scopes.
const (
	WarrantiesRead  Scope = "warranties:read"
	WarrantiesWrite Scope = "warranties:write"
	ClaimsRead      Scope = "claims:read"
	DocumentsRead   Scope = "documents:read"
)

// Scopes is a set of scopes in a fixed order.
type Scopes []Scope

// AllScopes lists every scope. A session has all of them.
var AllScopes = Scopes{WarrantiesRead, WarrantiesWrite, ClaimsRead, DocumentsRead}

// Has reports whether the set contains scope.
func (s Scopes) Has(scope Scope) bool { return slices.Contains(s, scope) }

// Mask returns the bit mask to store.
func (s Scopes) Mask() int64 {
	var mask int64
	for i, scope := range AllScopes {
		if s.Has(scope) {
			mask |= 1 << i
		}
	}
	return mask
}

// ScopesOf decodes the stored bit mask.
func ScopesOf(mask int64) Scopes {
	s := make(Scopes, 0, len(AllScopes))
	for i, scope := range AllScopes {
		if mask&(1<<i) != 0 {
			s = append(s, scope)
		}
	}
	return s
}

// Door is the interface through which a request was made.
type Door string

// The doors. They are stored by position, so new ones must go at the end.
const (
	DoorWeb Door = "web"
	DoorAPI Door = "api"
	DoorCLI Door = "cli"
	DoorMCP Door = "mcp"
	// DoorOperator is a command of the server's operator.
	DoorOperator Door = "operator"
)

var doorNames = namesOf(DoorWeb, DoorAPI, DoorCLI, DoorMCP, DoorOperator)

// Values lists the known doors.
func (Door) Values() []string { return doorNames }

// String returns the door's name.
func (d Door) String() string { return string(d) }

// CredentialKind is how a caller authenticated.
type CredentialKind uint8

// The kinds of credential. Anonymous callers can only use public operations.
const (
	Anonymous CredentialKind = iota
	ByToken
	BySession
)

// Principal is the authenticated caller of an operation.
type Principal struct {
	// User is the person: who is signed in, or who made the token. Account is whose records are read
	// and changed.
	User       User
	Account    Acting
	Credential CredentialKind
	// CredentialID is the ID of the token or session. SecretHash is the hash of the
	// secret that was used: during a rotation a token has two.
	CredentialID ID
	SecretHash   Hash
	TokenName    string
	// Client is the id of the connected app whose access token was used, if it was one.
	Client    string
	Scopes    Scopes
	RateLimit int
	ExpiresAt time.Time
	// Admin means that a session may open the admin page. SignedInAt is when it started. Tokens have
	// neither.
	Admin      bool
	SignedInAt time.Time
	// Method is how the person of a session signed in. Tokens have none.
	Method SignInMethod
	// ConfirmedAt is when the person of a session last proved who they are. Tokens have none.
	ConfirmedAt time.Time
	// LacksTwoStep means that the service requires two-step sign-in of the person of a session, who has not turned it on.
	LacksTwoStep bool
	// Address is the network by which the caller is throttled: an IPv4 address or an
	// IPv6 /64.
	Address string
	Door    Door
	// UserAgent is the caller's User-Agent header and Device is a long-lived browser
	// cookie. Both are only used to detect sign-ins from new devices.
	UserAgent, Device string
	// Browser is the cookie of a browser that is signing in. A sign-in that is not complete continues only in the browser
	// that began it.
	Browser string
	// Locale is that of the page for a person in the web app; before, it is what they chose in their profile. Of a token, it is
	// the language that its maker chose.
	Locale Locale
}

// Self returns the principal acting for the person's own account.
func (p Principal) Self() Principal {
	p.Account = OwnAccount(p.User)
	return p
}

// Window names the principal's rate limit: that of a token, or of a person, whichever account they act for.
func (p Principal) Window() string {
	if p.Credential == ByToken {
		return "token:" + p.CredentialID.String()
	}
	return "user:" + p.User.ID.String()
}

// ActsForOrganization reports whether the principal acts for an organization.
func (p Principal) ActsForOrganization() bool { return p.Account.Kind == OrganizationKind }
