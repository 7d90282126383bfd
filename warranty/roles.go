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
	UpdateFields Verb = iota
	VoidOrReinstate
	Cancel
	Delete
	Transfer
	FileAClaim
	DecideClaim
	Upload
	SetExternalID
)

// verbs maps each verb to the roles that permit it. DecideClaim has an extra rule:
// see MayDecide.
var verbs = [...]struct {
	allowed Roles
	what    string
}{
	UpdateFields:    {NewRoles(Owner, Issuer), "change the fields of a warranty"},
	VoidOrReinstate: {NewRoles(Owner, Seller, Issuer), "void or reinstate a warranty"},
	Cancel:          {NewRoles(Owner, Issuer), "cancel a warranty"},
	Delete:          {NewRoles(Owner, Issuer), "delete a warranty"},
	Transfer:        {NewRoles(Owner), "transfer a warranty"},
	FileAClaim:      {NewRoles(Owner), "file, reply to or withdraw a claim"},
	DecideClaim:     {NewRoles(Seller, Issuer), "decide a claim"},
	Upload:          {NewRoles(Owner, Seller, Issuer), "upload a document"},
	SetExternalID:   {NewRoles(Issuer), "set the external id of a warranty"},
}

// May returns nil if one of the roles permits the verb, and otherwise an error that
// names the roles that do.
func (r Roles) May(v Verb) error {
	if r.mask&verbs[v].allowed.mask != 0 {
		return nil
	}
	return Refuse(RoleNotAllowed, "Only the "+strings.Join(verbs[v].allowed.Names(), " or ")+" can "+verbs[v].what+
		". Your role: "+strings.Join(r.Names(), " and ")+".")
}

// MayDecide is May(DecideClaim) with one extra rule: an issuer who also owns the
// warranty cannot decide their own claim if a seller is linked.
func (r Roles) MayDecide(sellerLinked bool) error {
	if r.Has(Owner) && r.Has(Issuer) && !r.Has(Seller) && sellerLinked {
		return Refuse(RoleNotAllowed, "You own this warranty, so only its seller can decide the claim.")
	}
	return r.May(DecideClaim)
}
