package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// listFilter is a filter of the list of warranties, and the records that match.
type listFilter struct {
	query   string
	matches func(r *record, roles int) bool
}

var listFilters = func() (all []listFilter) {
	add := func(query string, matches func(r *record, roles int) bool) {
		all = append(all, listFilter{query, matches})
	}
	for _, status := range []string{"active", "void", "cancelled", "upcoming", "expired"} {
		add("status="+status, func(r *record, _ int) bool { return statusOf(r.content) == status })
		add("role=owner&status="+status, func(r *record, roles int) bool {
			return roles&ownerBit != 0 && statusOf(r.content) == status
		})
	}
	for role, bit := range map[string]int{"owner": ownerBit, "seller": sellerBit, "issuer": issuerBit} {
		add("role="+role, func(_ *record, roles int) bool { return roles&bit != 0 })
	}
	for n := range 4 {
		category := fmt.Sprint("Category ", n)
		add("category="+url.QueryEscape(category), func(r *record, _ int) bool { return r.content.Category == category })
	}
	return all
}()

// checkLists compares the list of every account, and its total with every filter.
func (l *workload) checkLists(ctx context.Context) error {
	for _, a := range l.model.accounts {
		visible, roles := map[string]*record{}, map[string]int{}
		for _, r := range l.model.records {
			if mask := l.roles(r)[uuid(a.id)]; r.exists() && mask != 0 {
				visible[r.id], roles[r.id] = r, mask
			}
		}
		if err := l.checkList(ctx, a, visible); err != nil {
			return err
		}
		for _, f := range listFilters {
			want := 0
			for id, r := range visible {
				if f.matches(r, roles[id]) {
					want++
				}
			}
			got := l.api.call(ctx, http.MethodGet, "/api/v1/warranties?limit=1&"+f.query, a.session, nil)
			var p page[wireWarranty]
			if err := decode(got, &p); err != nil {
				return err
			}
			l.figures.add(l.figures.Checked, "totals", 1)
			if p.Pagination.Total != want {
				l.find("total", fmt.Sprint("account ", a.n), "the total with %s is %d, but %d records match",
					f.query, p.Pagination.Total, want)
			}
		}
	}
	return nil
}

// checkList compares the list of an account with the records that are visible to it.
func (l *workload) checkList(ctx context.Context, a *account, visible map[string]*record) error {
	items, total, err := all[wireWarranty](ctx, l.api, "/api/v1/warranties", a.session)
	if err != nil {
		return err
	}
	l.figures.add(l.figures.Checked, "list entries", len(items))
	seen := map[string]bool{}
	for _, item := range items {
		r := visible[item.ID]
		switch {
		case seen[item.ID]:
			l.find("doubled", keyOf(item.Product), "the list of account %d has it twice", a.n)
		case r == nil:
			l.find("leaked", keyOf(item.Product), "account %d sees it", a.n)
		case !item.equals(r.content):
			l.find("stale", r.key, "the list of account %d has %+v", a.n, item)
		}
		seen[item.ID] = true
	}
	for id, r := range visible {
		if !seen[id] {
			l.find("lost", r.key, "the list of account %d does not have it", a.n)
		}
	}
	if total != len(visible) {
		l.find("total", fmt.Sprint("account ", a.n), "the total is %d, but %d records exist", total, len(visible))
	}
	return nil
}

// repeatedCreates is how many creates each check repeats.
const repeatedCreates = 30

// checkKeys repeats some creates, which must return the same record.
func (l *workload) checkKeys() error {
	n := 0
	for _, r := range l.model.records {
		if n == repeatedCreates {
			break
		}
		if !r.exists() || len(r.steps) == 0 || r.steps[0].Kind != "create" {
			continue
		}
		n++
		l.figures.add(l.figures.Checked, "idempotency keys", 1)
		a := l.repeatCreate(r)
		if a.outcome() != acknowledged {
			return fmt.Errorf("repeat a create: %s", a)
		}
		l.checkReplay(r, a)
	}
	return nil
}

// wireToken is a token in a response.
type wireToken struct{ ID, Name, Status string }

// checkTokens compares the lists of tokens, and uses every token.
func (l *workload) checkTokens(ctx context.Context) error {
	listed := map[string]wireToken{}
	for _, a := range l.model.accounts {
		tokens, err := list[wireToken](ctx, l, a, fmt.Sprint("account ", a.n), "/api/integration-tokens")
		if err != nil {
			return err
		}
		for _, k := range tokens {
			if _, twice := listed[k.Name]; twice {
				l.find("doubled", k.Name, "the token exists twice")
			}
			listed[k.Name] = k
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.model.tokens)) {
		l.figures.add(l.figures.Checked, "tokens", 1)
		if err := l.checkToken(ctx, l.model.tokens[key], listed[key]); err != nil {
			return err
		}
		delete(listed, key)
	}
	for key := range listed {
		l.find("unknown", key, "a token that no client created")
	}
	return nil
}

func (l *workload) checkToken(ctx context.Context, k *token, got wireToken) error {
	if pending := k.pending; pending != nil {
		k.pending = nil
		if pending.Kind == "token" { // its secret is unknown, so it cannot be used
			l.resolved(got.ID != "")
			if got.ID == "" {
				delete(l.model.tokens, k.key)
				return nil
			}
			k.id = got.ID
		}
		k.revoked = got.Status == "revoked"
		l.resolved(k.revoked)
	}
	want := "active"
	if k.revoked {
		want = "revoked"
	}
	if got.Status != want {
		l.find("lost", k.key, "the token is %q, want %q", got.Status, want)
	}
	if k.secret == "" {
		return nil
	}
	a := l.api.call(ctx, http.MethodGet, "/api/v1/auth/status", k.secret, nil)
	switch {
	case a.err != nil || a.status >= 500:
		return fmt.Errorf("use a token: %s", a)
	case k.revoked && a.status == http.StatusOK:
		l.find("late", k.key, "a revoked token works")
	case !k.revoked && a.status != http.StatusOK:
		l.find("lost", k.key, "a token does not work: %s", a)
	}
	return nil
}

// readAll reads the list of an account like a client.
func (l *workload) readAll() error {
	_, _, err := all[wireWarranty](l.ctx, l.api, "/api/v1/warranties", l.model.accounts[0].session)
	return err
}
