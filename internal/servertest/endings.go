package servertest

import "slices"

// Ending is what an event does to a credential or code.
type Ending string

// What an event does.
const (
	Works  Ending = "" // it works as before
	Ends   Ending = "ends"
	Waits  Ending = "waits" // it works again when the event is undone, which is the next event of the table
	Absent Ending = "–"     // the event does not happen to an account that can have it
)

// EndingTable says what events do to credentials and codes.
type EndingTable struct {
	Name   string // of the table in SECURITY.md
	Events []string
	Rows   []EndingRow
}

// EndingRow is a credential or code, with what each event does to it.
type EndingRow struct {
	What  string
	Cells []Ending
}

// row returns a row of letters: e for Ends, w for Waits, - for Absent and . for Works.
func row(what, letters string) EndingRow {
	r := EndingRow{What: what}
	for _, letter := range letters {
		r.Cells = append(r.Cells, map[rune]Ending{'.': Works, 'e': Ends, 'w': Waits, '-': Absent}[letter])
	}
	return r
}

// Endings returns what ends what. TestEndings makes every credential and code, causes every event and tries them;
// SECURITY.md has the tables.
func Endings() []EndingTable {
	person := personEndings().
		with("passkey added, others signed out", "other sessions ended", nil).
		with("passkey removed", "password changed", map[string]Ending{
			"session": Works, "import or export in progress": Works, "import or export in progress in an organization": Works,
		})
	// What was emailed to the old address is for whoever has that: an offer makes them another account.
	person = person.with("address changed", "password changed", map[string]Ending{
		"invitation received": Ends, "sign-in with the email of an offer": Works,
		"link that unsubscribes": Ends, "link that mutes a claim": Ends,
	}).
		with("this was not me", "password reset", map[string]Ending{"code of a notice": Ends}).
		with("deleted by its person", "deleted", nil).
		with("restored by its person", "enabled again after that", nil)
	return []EndingTable{person, organizationEndings(), recordEndings()}
}

// with returns the table with another event, which does what an earlier one does, except to some rows.
func (t EndingTable) with(event, like string, except map[string]Ending) EndingTable {
	column := slices.Index(t.Events, like)
	t.Events = append(slices.Clone(t.Events), event)
	t.Rows = slices.Clone(t.Rows)
	for i, r := range t.Rows {
		ending, differs := except[r.What]
		if !differs {
			ending = r.Cells[column]
		}
		t.Rows[i].Cells = append(slices.Clone(r.Cells), ending)
	}
	return t
}

// personEndings are events of a person, who is also an admin of an organization.
func personEndings() EndingTable {
	return EndingTable{
		Name: "endings of a person",
		Events: []string{
			"sign-out", "sign-out everywhere", "other sessions ended", "new sign-in in the same browser", "password changed",
			"password changed, tokens revoked", "two-step sign-in turned on", "authenticator app removed",
			"authenticator app added", "authenticator app added, other sessions ended", "second factors reset by the operator",
			"password reset", "password set by the operator, tokens kept",
			"disabled", "enabled again", "deleted", "enabled again after that", "becomes an organization",
			"backup restored",
		},
		Rows: []EndingRow{
			row("session", "ee.eee....eeeeeee.e"),
			row("another session", ".ee.eeee.eeeeeeeeee"),
			row("integration token", ".....e.....e.eeee.e"),
			row("token made in an organization", ".............eeee-e"),
			row("calendar feed", ".....e.....e.eeee.e"),
			row("calendar feed made in an organization", ".....e.....e.eeee-e"),
			row("connected app: access and refresh token", ".....e.....e.eeee.e"),
			row("app connected to an organization", ".....e.....e.eeee-e"),
			row("code of an app that is being connected", ".....e.....e.eeee.e"),
			row("transfer offer", "...........e.eeee.e"),
			row("transfer offer of an organization's record", "...........e.eeee-e"),
			row("hand-over offered by email", ".................-."),
			row("printed hand-over code", ".................-."),
			row("link that a customer asked for with a printed code", ".................-e"),
			row("six digits that a customer asked for with a printed code", ".................-e"),
			row("invitation sent", "...........e.eeee-e"),
			row("invitation received", ".............w.w.ee"),
			row("sign-in that waits for its second step", ".ee.eeee.eeeeeeeeee"),
			row("emailed sign-in code", "....eeee..eeeeeeeee"),
			row("sign-in with the email of an offer", ".ee.eeee.eeeeeeeeee"),
			row("emailed reset code", "....eeee..eeeeeeeee"),
			row("emailed verification code", "....eeee..eeeeeeeee"),
			row("code for an address of an organization", ".................-e"),
			row("code that makes the account an organization", "....eeee..eeeeeeeee"),
			row("code that stops this", "....eeee..eeeeeeeee"),
			row("import or export in progress", "ee.eee....eeeeeee.e"),
			row("import or export in progress in an organization", "ee.eee....eeeeeee-e"),
			row("file of an export", ".............w.w.e."),
			row("file of an export of an organization", ".............w.w.-."),
			row("link that unsubscribes", ".............w.w.ee"),
			row("link that mutes a claim", ".............w.w.ee"),
			row("code of a notice", ".................ee"),
		},
	}
}

// organizationEndings are events in an organization, to what an admin made there.
func organizationEndings() EndingTable {
	return EndingTable{
		Name: "endings in an organization",
		Events: []string{
			"removed", "removed, tokens kept", "removed, printed codes ended", "left", "demoted to member",
			"demoted to viewer", "demoted to member, tokens kept", "organization disabled", "enabled again",
			"organization deleted", "restored",
		},
		Rows: []EndingRow{
			row("session", "..........."),
			row("token made in an organization", "e.eeee.eeee"),
			row("calendar feed made in an organization", "eeeeeeeeeee"),
			row("app connected to an organization", "eeee...eeee"),
			row("transfer offer of an organization's record", "eeee.e.eeee"),
			row("hand-over offered by email", ".......w.w."),
			row("printed hand-over code", "..e....w.w."),
			row("link that a customer asked for with a printed code", "..e....w.w."),
			row("six digits that a customer asked for with a printed code", "..e....w.w."),
			row("invitation sent", "eeeeeeeeeee"),
			row("code for an address of an organization", ".......eeee"),
			row("import or export in progress in an organization", "eeee.e.eeee"),
			row("file of an export of an organization", "eeee...w.w."),
			row("link that mutes a claim of an organization", "eeee...w.w."),
		},
	}
}

// recordEndings are events of the warranty that a code gives.
func recordEndings() EndingTable {
	return EndingTable{
		Name:   "endings of a warranty",
		Events: []string{"deleted", "restored", "voided", "reinstated", "cancelled"},
		Rows: []EndingRow{
			row("transfer offer", "w.w.e"),
			row("hand-over offered by email", "w.w.e"),
			row("printed hand-over code", "w.w.e"),
			row("link that a customer asked for with a printed code", "w.w.e"),
			row("six digits that a customer asked for with a printed code", "w.w.e"),
		},
	}
}
