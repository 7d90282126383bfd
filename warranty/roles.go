package warranty

import (
	"encoding/json"
	"strings"
)

// Role is what a person is to a warranty.
type Role string

// The roles.
const (
	Owner  Role = "owner"
	Seller Role = "seller"
	Issuer Role = "issuer"
)

var roleNames = namesOf(Owner, Seller, Issuer)

// Values lists the names a Role may have.
func (Role) Values() []string { return roleNames }

// String is the role's name.
func (r Role) String() string { return string(r) }

// Roles are what a person is to a warranty; one person may be several things.
// Roles can be compared. The zero value is none.
type Roles struct {
	mask uint8
	// unknown are the names that this version does not know, as JSON, each after a
	// comma. Only a client of a newer service has any.
	unknown string
}

// NewRoles is the set of some roles.
func NewRoles(roles ...Role) (set Roles) {
	for _, r := range roles {
		set = set.With(r)
	}
	return set
}

// RolesOf reads the stored bits.
func RolesOf(mask int64) Roles { return Roles{mask: uint8(mask & 7)} }

// Mask is the set as the bits that are stored.
func (r Roles) Mask() int64 { return int64(r.mask) }

// With is the set with one more role.
func (r Roles) With(role Role) Roles {
	if n := EnumNumber(role); n > 0 {
		r.mask |= 1 << (n - 1)
		return r
	}
	var name strings.Builder
	e := json.NewEncoder(&name)
	e.SetEscapeHTML(false)
	if e.Encode(string(role)) == nil { // a text always has a JSON form
		r.unknown += "," + strings.TrimSuffix(name.String(), "\n")
	}
	return r
}

// Has tells whether the role is held.
func (r Roles) Has(role Role) bool {
	n := EnumNumber(role)
	return n > 0 && r.mask&(1<<(n-1)) != 0
}

// Equal tells whether both sets hold the same roles.
func (r Roles) Equal(other Roles) bool { return r == other }

// Names lists the roles in a fixed order, those that this version does not know last.
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

// rolesJSON holds the eight sets of known roles, written once.
var rolesJSON = func() (t [8]string) {
	for mask := range t {
		t[mask] = "[]"
		if names := RolesOf(int64(mask)).Names(); len(names) > 0 {
			t[mask] = `["` + strings.Join(names, `","`) + `"]`
		}
	}
	return t
}()

// MarshalJSON writes the roles as an array of their names.
func (r Roles) MarshalJSON() ([]byte, error) { return []byte(r.JSON()), nil }

// JSON is the list of the roles' names as JSON.
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

// UnmarshalJSON reads what MarshalJSON wrote, and keeps names that it does not know.
func (r *Roles) UnmarshalJSON(b []byte) error {
	var names []Role
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	*r = NewRoles(names...)
	return nil
}

// Verb is something a person may do with a warranty that they can see.
type Verb uint8

// The verbs of the role table.
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

// verbs says who may do what. DecideClaim has a further rule: see MayDecide.
var verbs = [...]struct {
	allowed Roles
	what    string
}{
	UpdateFields:    {NewRoles(Owner, Issuer), "change the fields of a warranty"},
	VoidOrReinstate: {NewRoles(Owner, Seller, Issuer), "void or reinstate a warranty"},
	Cancel:          {NewRoles(Owner, Issuer), "cancel a warranty"},
	Delete:          {NewRoles(Owner, Issuer), "delete a warranty"},
	Transfer:        {NewRoles(Owner), "transfer a warranty"},
	FileAClaim:      {NewRoles(Owner), "file, answer or withdraw a claim"},
	DecideClaim:     {NewRoles(Seller, Issuer), "decide a claim"},
	Upload:          {NewRoles(Owner, Seller, Issuer), "upload a document"},
	SetExternalID:   {NewRoles(Issuer), "set the external id of a warranty"},
}

// May is nil when one of the roles allows the verb, else the refusal that names those who may.
func (r Roles) May(v Verb) error {
	if r.mask&verbs[v].allowed.mask != 0 {
		return nil
	}
	return Refuse(RoleNotAllowed, "Only the "+strings.Join(verbs[v].allowed.Names(), " or ")+" may "+verbs[v].what+
		"; you are its "+strings.Join(r.Names(), " and ")+".")
}

// MayDecide is May(DecideClaim) with its further rule: an issuer who is also the
// owner would decide a claim of their own, so a linked seller does it for them.
func (r Roles) MayDecide(sellerLinked bool) error {
	if r.Has(Owner) && r.Has(Issuer) && !r.Has(Seller) && sellerLinked {
		return Refuse(RoleNotAllowed, "You own this warranty, so its seller decides the claim.")
	}
	return r.May(DecideClaim)
}
