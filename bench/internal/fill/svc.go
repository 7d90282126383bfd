package fill

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/warranty"
)

// tokenRate is practically unlimited, so that no request is refused.
const tokenRate = 1_000_000_000

// Svc returns everything that svcd would have written: the users with a token and a session each,
// the records, the access rows, and the history; of claims and documents without their history.
func Svc(set data.Set) []Table {
	tables := []Table{svcUsers(set), svcTokens(set), svcSecrets(set), svcSessions(set), svcWarranties(set), svcAccess(set), svcHistory(set)}
	if set.Giant {
		tables = append(tables, svcClaims(set), svcDocuments(set), svcChildAccess(set))
	}
	return tables
}

func svcUsers(set data.Set) Table {
	at := micros(set.Record(0).Created)
	return Table{"users", []string{"id", "email", "name", "password_hash", "verified_at", "created_at", "mail_choices"},
		rowsOf(set.People(), func(u int) []any {
			// No passwords, and no reminders during the measurement.
			return []any{id(data.UserID(u)), data.Email(u), data.Name(u), "-", at, at, int64(0)}
		})}
}

func svcTokens(set data.Set) Table {
	at, scopes := micros(set.Record(0).Created), warranty.AllScopes.Mask()
	end := micros(time.Date(2099, time.January, 1, 0, 0, 0, 0, time.UTC))
	return Table{"tokens", []string{"id", "user_id", "name", "prefix", "scopes", "rate_limit", "expires_at", "created_at"},
		rowsOf(set.People(), func(u int) []any {
			prefix := data.Secret(u)[:warranty.PrefixLength]
			return []any{id(data.TokenID(u)), id(data.UserID(u)), "bench", prefix, scopes, int64(tokenRate), end, at}
		})}
}

func svcSecrets(set data.Set) Table {
	return Table{"token_secrets", []string{"secret_hash", "token_id"}, rowsOf(set.People(), func(u int) []any {
		return []any{hash(data.Secret(u)), id(data.TokenID(u))}
	})}
}

func svcSessions(set data.Set) Table {
	at, end := micros(set.Record(0).Created), micros(time.Date(2099, time.January, 1, 0, 0, 0, 0, time.UTC))
	return Table{"sessions", []string{"id", "secret_hash", "user_id", "expires_at", "created_at"},
		rowsOf(set.People(), func(u int) []any {
			return []any{id(data.TokenID(u)), hash(data.Session(u)), id(data.UserID(u)), end, at}
		})}
}

func svcWarranties(set data.Set) Table {
	return Table{"warranties", []string{"id", "reference", "issuer_id", "product_name", "description", "serial_number",
		"category", "folded_category", "supplier", "seller_name", "seller_email", "start_date", "end_date", "standing",
		"version", "created_at", "updated_at"},
		rowsOf(set.Records, func(i int) []any {
			r := set.Record(i)
			t := r.Texts()
			return []any{id(r.ID()), t.Reference, id(data.UserID(r.Owner)), t.Product, optional(t.Description), t.Serial,
				r.Category, warranty.Fold(r.Category), t.Supplier, optional(t.SellerName), optional(t.SellerEmail),
				r.Start.EpochDay(), r.End.EpochDay(), warranty.EnumNumber(r.Standing), int64(1), micros(r.Created), micros(r.Updated)}
		})}
}

// accessRow is the access of a user to a record.
type accessRow struct {
	user, record int
	roles        warranty.Roles
}

func svcAccess(set data.Set) Table {
	return Table{"access", []string{"user_id", "kind", "item_id", "parent_id", "roles", "status", "start_date", "end_date",
		"category", "changed_at"},
		func(yield func([]any) bool) {
			for _, s := range accessRows(set) {
				if !yield(svcAccessRow(set, s)) {
					return
				}
			}
		}}
}

func svcAccessRow(set data.Set, s accessRow) []any {
	r := set.Record(s.record)
	record := id(r.ID())
	return []any{id(data.UserID(s.user)), int64(1), record, record, s.roles.Mask(), warranty.EnumNumber(r.Standing),
		r.Start.EpochDay(), r.End.EpochDay(), warranty.Fold(r.Category), micros(r.Updated)}
}

// claimedRows returns a row for each record that has a claim and a document.
func claimedRows(set data.Set, row func(data.Record) []any) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for i := range set.Records {
			if r := set.Record(i); set.Claimed(r) && !yield(row(r)) {
				return
			}
		}
	}
}

func svcClaims(set data.Set) Table {
	return Table{"claims", []string{"id", "claim_number", "warranty_id", "type", "description", "incident_date", "status",
		"created_at", "updated_at"},
		claimedRows(set, func(r data.Record) []any {
			return []any{id(r.ClaimID()), data.ClaimNumber(r.Number), id(r.ID()), warranty.EnumNumber(warranty.Repair),
				data.ClaimDescription, r.Start.EpochDay(), claimStatus(r), micros(r.Created), micros(r.Updated)}
		})}
}

// claimStatus returns the number of the status of a record's claim.
func claimStatus(r data.Record) int64 {
	return 1 + int64(r.Number/5%len(warranty.ClaimStatus("").Values()))
}

func svcDocuments(set data.Set) Table {
	return Table{"documents", []string{"id", "warranty_id", "uploader_id", "file_name", "type", "content_type", "size_bytes",
		"sha256", "storage_key", "search", "created_at", "business"},
		claimedRows(set, func(r data.Record) []any {
			return []any{id(r.DocumentID()), id(r.ID()), id(data.UserID(r.Owner)), data.FileName,
				warranty.EnumNumber(warranty.Receipt), "application/pdf", int64(1), hash(data.FileName), r.DocumentID().String(),
				warranty.Fold(data.FileName + "\n" + warranty.Receipt.String()), micros(r.Created), int64(0)}
		})}
}

func svcChildAccess(set data.Set) Table {
	return Table{"access", []string{"user_id", "kind", "item_id", "parent_id", "roles", "status", "start_date", "end_date",
		"category"},
		func(yield func([]any) bool) {
			for _, s := range accessRows(set) {
				r := set.Record(s.record)
				if !set.Claimed(r) {
					continue
				}
				for kind, item := range map[int64]warranty.ID{2: r.ClaimID(), 3: r.DocumentID()} {
					status := int64(0)
					if kind == 2 {
						status = claimStatus(r)
					}
					if !yield([]any{id(data.UserID(s.user)), kind, id(item), id(r.ID()), s.roles.Mask(), status,
						int64(0), int64(0), ""}) {
						return
					}
				}
			}
		}}
}

// SvcSQLite is Svc with the column that only SQLite has: access has the rowid of the
// record, which starts at 1 in insertion order.
func SvcSQLite(set data.Set) []Table {
	tables := Svc(set)
	for i, t := range tables {
		if slices.Contains(t.Columns, "changed_at") { // access to records
			tables[i] = Table{t.Name, append(t.Columns, "item_row"), func(yield func([]any) bool) {
				for _, s := range accessRows(set) {
					if !yield(append(svcAccessRow(set, s), int64(s.record+1))) {
						return
					}
				}
			}}
		}
	}
	return tables
}

// accessRows returns all access rows of a set in the order of the table's key.
func accessRows(set data.Set) []accessRow {
	var list []accessRow
	for i := range set.Records {
		r := set.Record(i)
		if set.Giant {
			list = append(list, accessRow{set.GiantUser(), i, warranty.NewRoles(warranty.Seller)})
		}
		if r.Seller == r.Owner {
			list = append(list, accessRow{r.Owner, i, warranty.NewRoles(warranty.Owner, warranty.Issuer, warranty.Seller)})
			continue
		}
		list = append(list, accessRow{r.Owner, i, warranty.NewRoles(warranty.Owner, warranty.Issuer)})
		if r.Seller != data.NoSeller {
			list = append(list, accessRow{r.Seller, i, warranty.NewRoles(warranty.Seller)})
		}
	}
	slices.SortFunc(list, func(a, b accessRow) int {
		return cmp.Or(cmp.Compare(a.user, b.user), cmp.Compare(a.record, b.record))
	})
	return list
}

func svcHistory(set data.Set) Table {
	return Table{"history", []string{"thread_id", "id", "at", "actor_id", "account_id", "actor", "door", "token_name", "action",
		"subject_id", "changes"},
		rowsOf(set.Records, func(i int) []any {
			r := set.Record(i)
			return []any{id(r.ID()), id(r.EventID()), micros(r.Created), id(data.UserID(r.Owner)), id(data.UserID(r.Owner)), data.Name(r.Owner),
				warranty.EnumNumber(warranty.DoorAPI), "bench", warranty.EnumNumber(warranty.WarrantyCreated), id(r.ID()), "[]"}
		})}
}

func id(id warranty.ID) []byte { return id[:] }

func hash(secret string) []byte {
	h := warranty.HashSecret(secret)
	return h[:]
}

func micros(at time.Time) int64 { return at.UnixMicro() }
