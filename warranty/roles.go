package warranty

import (
	"encoding/json"
	"strings"
)

// Role is a user's relationship to a warranty.
type Role string

// The roles.
const (
	Owner  Role = "owner"
	Seller Role = "seller"
	Issuer Role = "issuer"
)

var roleNames = namesOf(Owner, Seller, Issuer)

// Values lists the known roles.
func (Role) Values() []string { return roleNames }

// String returns the role's name.
func (r Role) String() string { return string(r) }

// Roles is the set of roles that a user has on a warranty. It is comparable; the
// zero value is the empty set.
type Roles struct {
	mask uint8
	// unknown holds role names from a newer service, as JSON strings with a comma
	// before each. It is empty in the service itself.
	unknown string
}

// NewRoles returns the set of the given roles.
func NewRoles(roles ...Role) (set Roles) {
	for _, r := range roles {
		set = set.With(r)
	}
	return set
}

// RolesOf decodes the stored bit mask.
func RolesOf(mask int64) Roles { return Roles{mask: uint8(mask & 7)} }

// Mask returns the bit mask to store.
func (r Roles) Mask() int64 { return int64(r.mask) }

// With returns the set with role added.
func (r Roles) With(role Role) Roles {
	if n := EnumNumber(role); n > 0 {
		r.mask |= 1 << (n - 1)
		return r
	}
	var name strings.Builder
	e := json.NewEncoder(&name)
	e.SetEscapeHTML(false)
	if e.Encode(string(role)) == nil { // strings always encode
		r.unknown += "," + strings.TrimSuffix(name.String(), "\n")
	}
	return r
}

// Has reports whether the set contains role.
func (r Roles) Has(role Role) bool {
	n := EnumNumber(role)
	return n > 0 && r.mask&(1<<(n-1)) != 0
}

// Equal reports whether both sets contain the same roles.
func (r Roles) Equal(other Roles) bool { return r == other }

// Names lists the roles in a fixed order, unknown ones last.
func (r Roles) Names() []string {
	names := make([]string, 0, len(roleNames))
	for i, name := range roleNames {
		if r.mask&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	var unknown []string
	if r.unknown != "" && json.Unmarshal([]byte("["+r.unknown[1:]+"]"), &unknown) == nil {
		names = append(names, unknown...)
	}
	return names
}

// rolesJSON holds the JSON encoding of each of the eight sets of known roles.
var rolesJSON = func() (t [8]string) {
	for mask := range t {
		t[mask] = "[]"
		if names := RolesOf(int64(mask)).Names(); len(names) > 0 {
			t[mask] = `["` + strings.Join(names, `","`) + `"]`
		}
	}
	return t
}()

// MarshalJSON encodes the roles as an array of names.
func (r Roles) MarshalJSON() ([]byte, error) { return []byte(r.JSON()), nil }

// JSON returns the roles as a JSON array of names.
func (r Roles) JSON() string {
	known := rolesJSON[r.mask&7]
	switch {
	case r.unknown == "":
		return known
	case r.mask == 0:
		return "[" + r.unknown[1:] + "]"
	}
	return known[:len(known)-1] + r.unknown + "]"
}

// UnmarshalJSON decodes an array of names. Unknown names are kept.
func (r *Roles) UnmarshalJSON(b []byte) error {
	var names []Role
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	*r = NewRoles(names...)
	return nil
}

// Verb is an action on a warranty that is permitted by role.
type Verb uint8

// The verbs.
const (
	ChangePromise Verb = iota
	ChangeNotes
	VoidOrReinstate
	Cancel
	Delete
	Transfer
	HandOver
	FileAClaim
	DecideClaim
	Upload
	SetExternalID
	LeaveSeller
)

// verbs is the table of permissions: the sets of roles, any of which permits the verb. A warranty whose
// owner is also its issuer is self-recorded, and one whose owner is another account is issued: the promise
// belongs to its issuer, so that nobody can extend a warranty that someone else stands behind.
// DecideClaim has an extra rule: see MayDecide.
var verbs = [...]struct {
	allowed []Roles
	who     string
	what    string
}{
	ChangePromise:   {anyOf(Issuer), "the issuer", "change the product, the dates or the supplier of a warranty"},
	ChangeNotes:     {anyOf(Owner), "the owner", "change the category or the purchase of a warranty"},
	VoidOrReinstate: {anyOf(Issuer, Seller), "the issuer or a confirmed seller", "void or reinstate a warranty"},
	Cancel:          {anyOf(Issuer), "the issuer", "cancel a warranty"},
	Delete:          {anyOf(Owner), "the owner", "delete a warranty"},
	Transfer:        {anyOf(Owner), "the owner", "transfer a warranty"},
	HandOver:        {[]Roles{NewRoles(Owner, Issuer)}, "an issuer that still owns it", "hand over a warranty"},
	FileAClaim:      {anyOf(Owner), "the owner", "file, reply to or withdraw a claim"},
	DecideClaim:     {anyOf(Issuer, Seller), "the issuer or a confirmed seller", "decide a claim"},
	Upload:          {anyOf(Owner, Seller, Issuer), "the owner, issuer or a confirmed seller", "upload a document"},
	SetExternalID:   {anyOf(Issuer), "the issuer", "set the external id of a warranty"},
	LeaveSeller:     {anyOf(Seller), "a confirmed seller", "leave a warranty as its seller"},
}

func anyOf(roles ...Role) []Roles {
	sets := make([]Roles, len(roles))
	for i, r := range roles {
		sets[i] = NewRoles(r)
	}
	return sets
}

// May returns nil if the roles permit the verb, and otherwise an error that names the
// roles that do.
func (r Roles) May(v Verb) error {
	for _, set := range verbs[v].allowed {
		if r.mask&set.mask == set.mask {
			return nil
		}
	}
	return Refuse(RoleNotAllowed,
		"Only %s can %s. Your role: %s.", verbs[v].who, verbs[v].what, strings.Join(r.Names(), " and "))
}

// SelfRecorded reports whether an account with these roles recorded the warranty for
// itself: it is the owner and the issuer.
func (r Roles) SelfRecorded() bool { return r.Has(Owner) && r.Has(Issuer) }

// MayDecide is May(DecideClaim) with one extra rule: owners never decide their own claims as issuers. If
// nobody else can decide, the claim is a log that the owner keeps.
func (r Roles) MayDecide(by ManagedBy) error {
	if by == ManagedByOwner && r.Has(Owner) {
		return nil
	}
	if r.Has(Owner) && r.Has(Issuer) && !r.Has(Seller) {
		return Refuse(RoleNotAllowed, "You own this warranty, so only its seller can decide the claim.")
	}
	return r.May(DecideClaim)
}
