package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// This file searches the customers of organizations. A search compares the texts of every customer once, in the order of an
// index. Everything else is kept out of that statement, because on SQLite it takes longer than comparing: the serial numbers
// and what was merged are looked up first, and what was found is sorted here.

// searchedCustomers is shownCustomers for a search. The index has all that a search compares.
var searchedCustomers = strings.Replace(shownCustomers, ` h `, ` h /*sqlite: INDEXED BY customers_by_contact */ `, 1)

// customersSearch selects some of the customers of an account.
type customersSearch struct {
	account  warranty.ID
	readings [][]find.CustomerTerm // nil for all customers
	name     string                // of who is searched
	more     string                // a condition on customers h
	byName   bool
}

// customerSearch returns the search for what matches in. It is false if nothing can match.
func customerSearch(account warranty.ID, in warranty.ListCustomers, claims bool) (c customersSearch, ok bool) {
	c = customersSearch{account: account, byName: in.Sort == warranty.CustomersByName}
	if in.Q != "" {
		if c.readings = find.CustomerQuery(in.Q); c.readings == nil {
			return c, false
		}
		c.name = find.CustomerName(in.Q)
	}
	if !claims {
		c.more = hasWarranties
	}
	return c, true
}

// foundCustomer is a customer that a search found, with what sorts it.
type foundCustomer struct {
	id          warranty.ID
	rank        int64
	recent      int64
	name, email string
}

// compare sorts the best first, of equals those of the latest contact, or by name.
func (f *foundCustomer) compare(g *foundCustomer, byName bool) int {
	if !byName {
		return cmp.Or(cmp.Compare(f.rank, g.rank), cmp.Compare(g.recent, f.recent), bytes.Compare(g.id[:], f.id[:]))
	}
	if (f.name == "") != (g.name == "") {
		return len(g.name) - len(f.name)
	}
	return cmp.Or(cmp.Compare(f.name, g.name), cmp.Compare(f.email, g.email), bytes.Compare(f.id[:], g.id[:]))
}

// find reads a page of what the search finds, and its total.
func (c customersSearch) find(
	ctx context.Context, q engine.Querier, in warranty.ListCustomers, list *[]warranty.CustomerRecord, total *int64,
) error {
	code, heads, err := c.lookUp(ctx, q)
	if err != nil {
		return err
	}
	match, args := c.matching(`h`, []any{c.account}, code)
	found, err := c.read(ctx, q, nil, searchedCustomers+match, args)
	if err != nil {
		return err
	}
	if len(heads) > 0 {
		for _, f := range found {
			delete(heads, f.id)
		}
		some := shownCustomers + ` AND h.id IN ` + idsIn(`$2`)
		if found, err = c.read(ctx, q, found, some, []any{c.account, jsonOf(heads)}); err != nil {
			return err
		}
	}
	*total = int64(len(found))
	slices.SortFunc(found, func(a, b foundCustomer) int { return a.compare(&b, c.byName) })
	found = found[min(in.Offset(), *total):]
	for some := range slices.Chunk(found[:min(in.Limit, len(found))], mostCounted) {
		if err := readCustomers(ctx, q, some, list); err != nil {
			return err
		}
	}
	return nil
}

// lookUp returns how the statement that compares the texts of customers finds codes, and the customers that are found in
// other ways: by what was merged into them, and by their serial numbers.
func (c customersSearch) lookUp(ctx context.Context, q engine.Querier) (code codeCondition, heads map[warranty.ID]bool, err error) {
	heads = map[warranty.ID]bool{}
	if c.readings == nil {
		return nil, heads, nil
	}
	add := func(r *engine.Row) error { heads[r.ID()] = true; return nil }
	byCode, few, err := c.codes(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	code = soldTo
	if few {
		code = nil
		if all := unionOf(byCode); len(all) > 0 {
			match, args := c.matching(`r`, []any{c.account, jsonOf(all)}, func(text string, args []any) (string, []any) {
				return idsIn(fmt.Sprintf(`$%d`, len(args)+1)), append(args, jsonOf(byCode[text]))
			})
			if err := q.Query(ctx, `SELECT r.head_id FROM customers r WHERE r.account_id = $1 AND r.id IN `+idsIn(`$2`)+match,
				add, args...); err != nil {
				return nil, nil, err
			}
		}
	}
	match, args := c.matching(`r`, []any{c.account}, code)
	err = q.Query(ctx, `SELECT r.head_id FROM customers r WHERE r.account_id = $1 AND r.merged_into IS NOT NULL`+match, add, args...)
	return code, heads, err
}

// fewSold is the most warranties with a code whose customers are looked up before texts are compared.
const fewSold = 2000

// codes returns the customers that warranties with the codes of the search were issued to, if these are few.
func (c customersSearch) codes(ctx context.Context, q engine.Querier) (byCode map[string]map[warranty.ID]bool, few bool, err error) {
	byCode = map[string]map[warranty.ID]bool{}
	for _, terms := range c.readings {
		for _, t := range terms {
			if t.Code != "" {
				byCode[t.Code] = map[warranty.ID]bool{}
			}
		}
	}
	for code := range byCode {
		if slices.ContainsFunc(slices.Collect(maps.Keys(byCode)), func(k string) bool { return k != code && strings.Contains(code, k) }) {
			continue // serial numbers with it are read with a part of it
		}
		rows := 0
		err := q.Query(ctx, `SELECT w.customer_id, w.serial_number`+sold(`$2`)+` LIMIT $3`, func(r *engine.Row) error {
			id, key := r.ID(), find.Code(r.Text())
			for code, ids := range byCode {
				if strings.Contains(key, code) {
					ids[id] = true
				}
			}
			rows++
			return nil
		}, c.account, code, fewSold+1)
		if err != nil || rows > fewSold {
			return nil, false, err
		}
	}
	return byCode, true, nil
}

// sold are the warranties w that the issuer $1 issued to customers and whose serial numbers have a code, as find.Code returns
// it but for rare letters and signs. SQLite has most of the work done in its index; PostgreSQL computes the key of every number.
func sold(code string) string {
	return strings.ReplaceAll(` FROM warranties w /*sqlite: INDEXED BY warranties_by_serial_key */
		WHERE w.issuer_id = $1 AND w.serial_number IS NOT NULL AND w.deleted_at IS NULL AND w.customer_id IS NOT NULL
		AND /*pg: strpos(lower(translate(w.serial_number, ' -/.', '') COLLATE "C"), CODE) > 0 */
		/*sqlite: (instr(w.serial_key, CODE) > 0 OR w.serial_key GLOB '*[/.]*'
			AND instr(replace(replace(w.serial_key, '/', ''), '.', ''), CODE) > 0) */`, `CODE`, code)
}

// codeCondition selects the ids of the customers with a code. It returns its arguments after the given ones. nil finds none.
type codeCondition func(code string, args []any) (string, []any)

// soldTo selects them while texts are compared.
func soldTo(code string, args []any) (string, []any) {
	return `(SELECT w.customer_id` + sold(fmt.Sprintf(`$%d`, len(args)+1)) + `)`, append(args, code)
}

// matching is the condition on some customers of the account $1 that the search finds by their texts, and by codes. It
// returns its arguments after the given ones.
func (c customersSearch) matching(table string, args []any, code codeCondition) (string, []any) {
	if c.readings == nil {
		return ``, args
	}
	ways := make([]string, 0, len(c.readings))
	for _, terms := range c.readings {
		all := make([]string, 0, len(terms))
		for _, t := range terms {
			fields := []string{`1 = 0`}
			field := func(column, text string) {
				if text != "" {
					args = append(args, text)
					fields = append(fields, has(column, len(args)))
				}
			}
			field(table+`.search`, t.Word)
			if t.Digits != t.Word {
				field(table+`.search`, t.Digits)
			}
			field(`lower(`+table+`.email)`, t.Email)
			if t.Code != "" && code != nil {
				var ids string
				ids, args = code(t.Code, args)
				fields = append(fields, table+`.id IN `+ids)
			}
			all = append(all, `(`+strings.Join(fields, ` OR `)+`)`)
		}
		ways = append(ways, strings.Join(all, ` AND `))
	}
	return ` AND (` + strings.Join(ways, ` OR `) + `)`, args
}

// has reports whether a text has the argument with a number.
func has(text string, n int) string {
	return fmt.Sprintf(`/*pg: strpos *//*sqlite: instr */(%s, $%d) > 0`, text, n)
}

// bestOf is the rank of a customer h in a search: whole names are first, then those in which words start with the terms,
// then the rest. It returns its arguments after the given ones.
func bestOf(terms []find.CustomerTerm, name string, args []any) (string, []any) {
	args = append(slices.Clone(args), name)
	whole, starts := fmt.Sprintf(`$%d`, len(args)), make([]string, 0, len(terms))
	for _, t := range terms {
		args = append(args, t.Start)
		starts = append(starts, has(`h.search`, len(args)))
	}
	return `CASE WHEN h.folded_name = ` + whole + ` THEN 0 WHEN ` + strings.Join(starts, ` AND `) + ` THEN 1 ELSE 2 END`, args
}

// read adds the customers that a statement selects to those that were found.
func (c customersSearch) read(
	ctx context.Context, q engine.Querier, found []foundCustomer, from string, args []any,
) ([]foundCustomer, error) {
	sorts := `h.folded_name, h.email`
	if !c.byName {
		rank := `0`
		if c.readings != nil {
			rank, args = bestOf(c.readings[0], c.name, args)
		}
		sorts = rank + `, h.recent_at`
	}
	err := q.Query(ctx, `SELECT h.id, `+sorts+from+c.more, func(r *engine.Row) error {
		f := foundCustomer{id: r.ID()}
		if c.byName {
			f.name, f.email = r.Text(), r.Text()
		} else {
			f.rank, f.recent = r.Int(), r.Int()
		}
		found = append(found, f)
		return nil
	}, args...)
	return found, err
}

// unionOf returns all ids of some sets.
func unionOf(sets map[string]map[warranty.ID]bool) map[warranty.ID]bool {
	all := map[warranty.ID]bool{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	return all
}

// jsonOf returns ids for idsIn.
func jsonOf(ids map[warranty.ID]bool) string {
	text, _ := json.Marshal(slices.AppendSeq(make([]warranty.ID, 0, len(ids)), maps.Keys(ids))) // ids are always texts
	return string(text)
}
