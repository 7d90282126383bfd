// Package lists reads pages and totals of the lists of records that accounts have access to. Short lists are read by
// SQL; long ones have an index in segments (package find), which answers every question about them.
//
// A List says which records are wanted: those of one kind that an account has access to, with conditions. Page reads
// a page in the usual order, Search one for any question, and Index.Count counts per group. Totals are always exact.
//
// Reading every record of a list takes a second for 200,000 of them, so lists of more than Limits.Long records are
// indexed. Index.Maintain, a background task, makes the segments and keeps them up to date.
//
// A transaction that changes what a question sees of a record notes the record in index_pending, for every indexed
// list that contains it (NoteChanged). A claim or document is found by the words of its warranty, so a change of the
// warranty is a change of both. A question reads the segments and the pending records in one snapshot and takes the
// pending ones from the tables, so its answer is exact no matter how far behind the segments are.
//
// Merging replaces a segment and removes the pending rows that it includes, in one transaction. Another change of such
// a record changes n, so its row stays. Segments are prepared from a snapshot and written only if their version is
// still the same, so replicas may merge at the same time.
package lists

import (
	"fmt"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// Kind is the kind of record that an access row gives access to.
type Kind uint8

// The kinds of records.
const (
	Warranties Kind = iota + 1
	Claims
	Documents
)

// SQLWarranties, SQLClaims and SQLDocuments are the kinds as literals in SQL, and SQLOwner the bit of the owner in
// access.roles. They are literals, not arguments, because partial indexes are used only for literals.
const (
	SQLWarranties = "1"
	SQLClaims     = "2"
	SQLDocuments  = "3"
	SQLOwner      = "1"
)

// Key identifies a list: the records of one kind that an account has access to.
type Key struct {
	User warranty.ID
	Kind Kind
}

// List is a query for records that a user has access to. The user is required: there is no query without one.
type List struct {
	Key
	// filter uses only columns of access.
	filter strings.Builder
	// narrowed uses another index of the database, so that few records are left.
	narrowed strings.Builder
	args     []any
}

// listArgs is the number of arguments before those of the conditions: the user, the kind, and the
// two ids that delimit the page.
const listArgs = 4

// Of returns the list of all records of a kind that a user has access to.
func Of(user warranty.ID, k Kind) *List { return &List{Key: Key{user, k}} }

// And adds a condition on the access row a. ? marks an argument.
func (l *List) And(condition string, args ...any) { l.add(&l.filter, condition, args) }

// Narrow adds a condition that uses another index of the database, so that few records are left.
func (l *List) Narrow(condition string, args ...any) { l.add(&l.narrowed, condition, args) }

// OfWarranty keeps the claims or documents of a warranty, if the key is set.
func (l *List) OfWarranty(k warranty.WarrantyKey) {
	switch {
	case k.Reference != "":
		l.Narrow(`a.parent_id = (SELECT w.id FROM warranties w WHERE w.reference = ?)`, k.Reference)
	case !k.ID.IsZero():
		l.Narrow(`a.parent_id = ?`, k.ID)
	}
}

func (l *List) add(to *strings.Builder, condition string, args []any) {
	for _, arg := range args {
		l.args = append(l.args, arg)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", listArgs+len(l.args)), 1)
	}
	to.WriteString(` AND (` + condition + `)`)
}

// isWhole reports whether the list has no narrowing condition, so that its index can answer.
func (l *List) isWhole() bool { return l.narrowed.Len() == 0 }

// values returns the arguments of the statement.
func (l *List) values(others ...any) []any {
	return slices.Concat([]any{l.User, l.Kind, warranty.ID{}, newest}, l.args, others)
}

// newest is an id above all others.
var newest = func() (id warranty.ID) {
	for i := range id {
		id[i] = 0xFF
	}
	return id
}()
