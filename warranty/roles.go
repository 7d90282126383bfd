package warranty

import "strings"

// Roles are what a person is to a warranty; one person may be several things.
type Roles uint8

// The roles.
const (
	Owner Roles = 1 << iota
	Seller
	Issuer
)

var roleNames = []string{"owner", "seller", "issuer"}

// Has tells whether all of the given roles are held.
func (r Roles) Has(role Roles) bool { return r&role == role }

// Names lists the roles in a fixed order.
func (r Roles) Names() []string {
	names := make([]string, 0, len(roleNames))
	for i, name := range roleNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// rolesJSON holds the eight possible sets, written once.
var rolesJSON = func() (t [8]string) {
	for r := range t {
		t[r] = "[]"
		if names := Roles(r).Names(); len(names) > 0 {
			t[r] = `["` + strings.Join(names, `","`) + `"]`
		}
	}
	return t
}()

// MarshalJSON writes the roles as an array of their names.
func (r Roles) MarshalJSON() ([]byte, error) { return []byte(r.JSON()), nil }

// JSON is the list of the roles' names as JSON.
func (r Roles) JSON() string { return rolesJSON[r&7] }

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Roles) UnmarshalJSON(b []byte) error {
	*r = 0
	for i, name := range roleNames {
		if strings.Contains(string(b), `"`+name+`"`) {
			*r |= 1 << i
		}
	}
	return nil
}

// Role is one role, as a filter names it.
type Role uint8

// The roles as filters.
const (
	AsOwner Role = 1 + iota
	AsSeller
	AsIssuer
)

// Roles is the filter's role as a set.
func (r Role) Roles() Roles {
	if r == 0 {
		return 0
	}
	return 1 << (r - 1)
}

// Values lists the names a Role may have.
func (Role) Values() []string { return roleNames }

// String is the role's name.
func (r Role) String() string { return enumName(roleNames, r) }

// MarshalText writes the role's name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the role's name.
func (r *Role) UnmarshalText(b []byte) error { return enumValue(roleNames, b, r) }

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
)

// verbs says who may do what. DecideClaim has a further rule: see MayDecide.
var verbs = [...]struct {
	allowed Roles
	what    string
}{
	UpdateFields:    {Owner | Issuer, "change the fields of a warranty"},
	VoidOrReinstate: {Owner | Issuer | Seller, "void or reinstate a warranty"},
	Cancel:          {Owner | Issuer, "cancel a warranty"},
	Delete:          {Owner | Issuer, "delete a warranty"},
	Transfer:        {Owner, "transfer a warranty"},
	FileAClaim:      {Owner, "file, answer or withdraw a claim"},
	DecideClaim:     {Issuer | Seller, "decide a claim"},
	Upload:          {Owner | Issuer | Seller, "upload a document"},
}

// May is nil when one of the roles allows the verb, else the refusal that names those who may.
func (r Roles) May(v Verb) error {
	if r&verbs[v].allowed != 0 {
		return nil
	}
	return Refuse(RoleNotAllowed, "Only the "+strings.Join(verbs[v].allowed.Names(), " or ")+" may "+verbs[v].what+
		"; you are its "+strings.Join(r.Names(), " and ")+".")
}

// MayDecide is May(DecideClaim) with its further rule: an issuer who is also the
// owner would decide a claim of their own, so a linked seller does it for them.
func (r Roles) MayDecide(sellerLinked bool) error {
	if r.Has(Owner|Issuer) && !r.Has(Seller) && sellerLinked {
		return Refuse(RoleNotAllowed, "You own this warranty, so its seller decides the claim.")
	}
	return r.May(DecideClaim)
}
