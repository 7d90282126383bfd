package warranty

// Right is a row of the table of roles: what the roles on a warranty permit. Tests try every row on every door, and
// docs/api.md takes its table from here.
type Right struct {
	Name string // what it permits
	Note string // what the columns cannot say
	// allows reports whether an account with some roles has the right.
	allows func(Roles) bool
}

// Allows reports whether an account with some roles has the right.
func (r Right) Allows(roles Roles) bool { return r.allows(roles) }

// Rights lists the rights in the order of the documentation.
func Rights() []Right {
	anyRole := func(r Roles) bool { return r != Roles{} }
	may := func(v Verb) func(Roles) bool { return func(r Roles) bool { return r.May(v) == nil } }
	decide := func(r Roles) bool { return r.MayDecide(ManagedByBusiness) == nil }
	return []Right{
		{"read the record, its claims and its history", "", anyRole},
		{"read the owner's documents", "Issuer and seller read what a business uploaded and what is attached to a claim.",
			func(r Roles) bool { return r.Has(Owner) }},
		{"upload a document", "", may(Upload)},
		{"change the promise", "Product, brand, model, GTIN, dates, supplier; and corrections.", may(ChangePromise)},
		{"change the category", "", may(ChangeNotes)},
		{"read and set the external id", "", may(SetExternalID)},
		{"void or reinstate", "The owner is emailed.", may(VoidOrReinstate)},
		{"cancel", "The owner is emailed.", may(Cancel)},
		{"delete", "The owner of an issued warranty removes it from their account; its issuer keeps it.", may(Delete)},
		{"transfer", "A self-recorded warranty moves with all roles; of an issued one, the owner alone changes.", may(Transfer)},
		{"hand over to a customer", "Organizations only.", may(HandOver)},
		{"file, reply to or withdraw a claim", "", may(FileAClaim)},
		{"decide a claim", "If nobody else can decide, the owner keeps a log.", decide},
		{"leave as the seller", "", may(LeaveSeller)},
	}
}
