package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// ExternalIDs returns the warranties that an issuer has with some external ids.
func (s *Store) ExternalIDs(ctx context.Context, issuer warranty.ID, ids []string) (map[string]warranty.ID, error) {
	used := map[string]warranty.ID{}
	if len(ids) == 0 {
		return used, nil
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	err = s.db.Query(ctx, `SELECT w.external_id, w.id FROM warranties w WHERE w.issuer_id = $1 AND w.deleted_at IS NULL
		AND w.external_id IN (SELECT /*pg: value FROM json_array_elements_text($2) */ /*sqlite: value FROM json_each($2) */)`,
		func(r *engine.Row) error { used[r.Text()] = r.ID(); return nil }, issuer, string(param))
	return used, err
}

// ExternalID returns the warranty that an account issued with an external id.
func (s *Store) ExternalID(ctx context.Context, issuer warranty.ID, externalID string) (warranty.ID, error) {
	var id warranty.ID
	err := queryRow(ctx, s.db, `SELECT id FROM warranties
		WHERE issuer_id = $1 AND external_id = $2 AND deleted_at IS NULL`,
		func(r *engine.Row) { id = r.ID() }, issuer, externalID)
	return id, err
}

// identity is what a record is matched by if not by its reference. Equal items are looked up once.
type identity struct {
	External string `json:"x"`
	Serial   string `json:"s"`
	Product  string `json:"p"`
	Start    int64  `json:"d"`
	End      int64  `json:"e"`
	Supplier string `json:"u"`
}

func identityOf(item warranty.LookupItem) identity {
	switch matchKind(item) {
	case warranty.ByExternalID:
		return identity{External: item.ExternalID}
	case warranty.BySerialNumber:
		return identity{
			Serial:  warranty.SerialKey(item.SerialNumber),
			Product: item.ProductName,
			Start:   day(item.StartDate),
			End:     day(item.EndDate),
		}
	}
	return identity{
		Product:  item.ProductName,
		Start:    day(item.StartDate),
		End:      day(item.EndDate),
		Supplier: item.Supplier,
	}
}

// anyDay is a day that no record has. It marks a date that does not matter.
const anyDay = -1 << 31

func day(d warranty.Date) int64 {
	if d.IsZero() {
		return anyDay
	}
	return d.EpochDay()
}

// idsOf begins a subquery whose ids are joined into one text.
const idsOf = `(SELECT /*pg: string_agg(i.id::text, ',') */ /*sqlite: group_concat(hex(i.id), ',') */
	FROM (SELECT w.id FROM warranties w WHERE `

// byIdentity finds the records of each identity, each kind by its own index, up to a limit.
var byIdentity = `SELECT j.k, CASE
	WHEN j.x <> '' THEN ` + idsOf + `w.issuer_id = $1 AND w.external_id = j.x AND w.deleted_at IS NULL LIMIT 1) i)
	WHEN j.s <> '' THEN ` + idsOf + `w.issuer_id = $1 AND ` + serialKey(`w`) + ` = j.s
		AND j.p IN ('', w.product_name /*pg: COLLATE "C" */) AND w.serial_number IS NOT NULL AND w.deleted_at IS NULL
		AND j.d IN ($4, w.start_date) AND j.e IN ($4, w.end_date) LIMIT $3) i)
	ELSE ` + idsOf + `w.issuer_id = $1 AND w.start_date = j.d
		AND w.product_name /*pg: COLLATE "C" */ = j.p AND w.serial_number IS NULL
		AND w.external_id IS NULL AND w.end_date = j.e AND COALESCE(w.supplier, '') = j.u
		AND w.deleted_at IS NULL LIMIT $3) i) END
	FROM /*pg: (SELECT ordinality - 1 AS k, value ->> 'x' AS x, value ->> 's' AS s, value ->> 'p' AS p,
		(value ->> 'd')::integer AS d, (value ->> 'e')::integer AS e, value ->> 'u' AS u
		FROM json_array_elements($2) WITH ORDINALITY) j */
	/*sqlite: (SELECT key AS k, value ->> 'x' AS x, value ->> 's' AS s, value ->> 'p' AS p,
		value ->> 'd' AS d, value ->> 'e' AS e, value ->> 'u' AS u FROM json_each($2)) j */`

// lookupReferences finds the references that the user has access to.
const lookupReferences = `SELECT w.reference, w.id FROM
	/*pg: json_array_elements_text($2) j */ /*sqlite: json_each($2) j */
	CROSS JOIN warranties w WHERE w.reference = j.value AND w.deleted_at IS NULL
	AND EXISTS (SELECT 1 FROM access a WHERE a.user_id = $1 AND a.kind = ` + kindWarranty + ` AND a.item_id = w.id)`

// Lookup finds which of the items the account has. The result has one element per item.
func (s *Store) Lookup(
	ctx context.Context, user warranty.ID, items []warranty.LookupItem, today warranty.Date,
) ([]warranty.Lookup, error) {
	references, err := s.references(ctx, user, items)
	if err != nil {
		return nil, err
	}
	others, err := s.identities(ctx, user, items)
	if err != nil {
		return nil, err
	}
	if err := s.addReceived(ctx, user, items, references, others); err != nil {
		return nil, err
	}
	found := make([]warranty.Lookup, len(items))
	for i, item := range items {
		by := matchKind(item)
		id, known := references[canonical(item)]
		if known {
			by = warranty.ByReference
		} else if list := others[identityOf(item)]; item.Nth <= len(list) {
			id, known = list[item.Nth-1], true
		}
		found[i].MatchedFields = []string{}
		if known {
			found[i] = warranty.Lookup{MatchedBy: &by, MatchedFields: item.Matched(by), WarrantyID: &id}
		}
	}
	return found, s.describeFound(ctx, found, today)
}

// canonical returns the reference of an item as it is stored, or "".
func canonical(item warranty.LookupItem) warranty.Reference {
	reference, err := warranty.ParseReference(item.ReferenceNumber)
	if err != nil {
		return ""
	}
	return reference
}

// addReceived adds the records that the user has but did not issue to those of serial numbers without a product name.
// No index finds them, so that one statement looks at all of them, whatever the number of items.
func (s *Store) addReceived(
	ctx context.Context, user warranty.ID, items []warranty.LookupItem, references map[warranty.Reference]warranty.ID,
	others map[identity][]warranty.ID,
) error {
	wanted := map[string][]identity{}
	for _, item := range items {
		of := identityOf(item)
		_, known := references[canonical(item)]
		if !known && of.Serial != "" && of.Product == "" && len(others[of]) < item.Nth && !slices.Contains(wanted[of.Serial], of) {
			wanted[of.Serial] = append(wanted[of.Serial], of)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	param, err := json.Marshal(slices.Collect(maps.Keys(wanted)))
	if err != nil {
		return err
	}
	release, err := s.lists.Scans.Acquire(ctx, user)
	if err != nil {
		return err
	}
	defer release()
	return s.db.Query(ctx, `SELECT w.id, `+serialKey(`w`)+`, w.start_date, w.end_date FROM access a `+lists.JoinWarranty+`
		WHERE a.user_id = $1 AND a.kind = `+kindWarranty+` AND a.roles & `+roleIssuer+` = 0 AND w.deleted_at IS NULL
		AND `+serialKey(`w`)+` IN
			(SELECT /*pg: value FROM json_array_elements_text($2) */ /*sqlite: value FROM json_each($2) */)
		ORDER BY w.id`,
		func(r *engine.Row) error {
			id, serial, start, end := r.ID(), r.Text(), day(r.Date()), day(r.Date())
			for _, of := range wanted[serial] {
				if (of.Start == anyDay || of.Start == start) && (of.End == anyDay || of.End == end) {
					others[of] = append(others[of], id)
				}
			}
			return nil
		}, user, string(param))
}

// references returns the records of the items' references.
func (s *Store) references(
	ctx context.Context, user warranty.ID, items []warranty.LookupItem,
) (map[warranty.Reference]warranty.ID, error) {
	var list []string
	for _, item := range items {
		if reference := canonical(item); reference != "" {
			list = append(list, string(reference))
		}
	}
	found := map[warranty.Reference]warranty.ID{}
	if len(list) == 0 {
		return found, nil
	}
	param, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return found, s.db.Query(ctx, lookupReferences, func(r *engine.Row) error {
		reference := warranty.Reference(r.Text())
		found[reference] = r.ID()
		return nil
	}, user, string(param))
}

// identities returns the records of each identity among the items.
func (s *Store) identities(
	ctx context.Context, user warranty.ID, items []warranty.LookupItem,
) (map[identity][]warranty.ID, error) {
	found, limit := map[identity][]warranty.ID{}, 1
	var list []identity
	for _, item := range items {
		of := identityOf(item)
		if _, known := found[of]; !known {
			found[of] = nil
			list = append(list, of)
		}
		limit = max(limit, item.Nth)
	}
	param, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return found, s.db.Query(ctx, byIdentity, func(r *engine.Row) error {
		of := list[r.Int()]
		for text := range strings.FieldsFuncSeq(r.Text(), func(c rune) bool { return c == ',' }) {
			var id warranty.ID
			if _, err := hex.Decode(id[:], []byte(strings.ReplaceAll(text, "-", ""))); err != nil {
				return err
			}
			found[of] = append(found[of], id)
		}
		return nil
	}, user, string(param), limit, anyDay)
}

// matchKind returns what an item is matched by if its reference is not found.
func matchKind(item warranty.LookupItem) warranty.MatchedBy {
	switch {
	case item.ExternalID != "":
		return warranty.ByExternalID
	case item.SerialNumber != "":
		return warranty.BySerialNumber
	}
	return warranty.ByContent
}

// describeFound adds the status and dates of the found records.
func (s *Store) describeFound(ctx context.Context, found []warranty.Lookup, today warranty.Date) error {
	ids := []warranty.ID{}
	for _, f := range found {
		if f.WarrantyID != nil {
			ids = append(ids, *f.WarrantyID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	records := map[warranty.ID]warranty.Warranty{}
	err = s.db.Query(ctx, `SELECT w.id, w.reference, w.product_name, w.standing, w.start_date, w.end_date
		FROM warranties w WHERE w.id IN
		/*pg: (SELECT n.value::uuid FROM json_array_elements_text($1) n) */
		/*sqlite: (SELECT unhex(value, '-') FROM json_each($1)) */`,
		func(r *engine.Row) error {
			w := warranty.Warranty{
				ID:              r.ID(),
				ReferenceNumber: warranty.Reference(r.Text()),
				ProductName:     r.Text(),
				Standing:        enum[warranty.Status](r),
				StartDate:       r.Date(),
				EndDate:         r.Date(),
			}
			w.Show(today)
			records[w.ID] = w
			return nil
		}, string(param))
	for i := range found {
		if id := found[i].WarrantyID; id != nil {
			w := records[*id]
			found[i].ReferenceNumber, found[i].ProductName = &w.ReferenceNumber, &w.ProductName
			found[i].Status, found[i].StartDate, found[i].EndDate = &w.Status, &w.StartDate, &w.EndDate
		}
	}
	return err
}
