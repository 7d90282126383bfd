package lists

import (
	"slices"
	"testing"

	"warranty.example/svc/warranty"
)

// TestConditionsNumberTheirArguments: the arguments of conditions follow those of every list, in the order in which the
// conditions were added.
func TestConditionsNumberTheirArguments(t *testing.T) {
	t.Parallel()
	user := warranty.ID{1}
	l := Of(user, Claims)
	l.Narrow(`a.parent_id = ?`, warranty.ID{2})
	l.And(`a.status = ? OR a.end_date < ?`, 3, 4)
	l.Narrow(`a.roles <> 0`)
	if got, want := l.narrowed.String(), ` AND (a.parent_id = $5) AND (a.roles <> 0)`; got != want {
		t.Errorf("narrowed is %q, want %q", got, want)
	}
	if got, want := l.filter.String(), ` AND (a.status = $6 OR a.end_date < $7)`; got != want {
		t.Errorf("filter is %q, want %q", got, want)
	}
	want := []any{user, Claims, warranty.ID{}, newest, warranty.ID{2}, 3, 4, 5}
	if got := l.values(5); !slices.Equal(got, want) {
		t.Errorf("values are %v, want %v", got, want)
	}
}

// TestOnlyWholeListsAskTheIndex: the index knows filters, but no narrowing conditions.
func TestOnlyWholeListsAskTheIndex(t *testing.T) {
	t.Parallel()
	l := Of(warranty.ID{1}, Claims)
	l.And(`a.status = ?`, 1)
	l.OfWarranty(warranty.WarrantyKey{})
	if !l.isWhole() {
		t.Error("a list with a filter is not whole")
	}
	if l.OfWarranty(warranty.WarrantyKey{ID: warranty.ID{1}}); l.isWhole() {
		t.Error("a list that is narrowed is whole")
	}
}
