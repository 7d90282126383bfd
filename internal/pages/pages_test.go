package pages

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"warranty.example/svc/warranty"
)

// TestNothingIsMissed walks lists while records are added, removed and moved between the pages, often
// without a change of the total: every record that stays is listed once.
func TestNothingIsMissed(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		size, changes := random.IntN(1200), random.IntN(40)
		var list []string
		stays := map[string]bool{}
		for i := range size {
			list = append(list, fmt.Sprint(seed, "-", i))
			stays[list[i]] = true
		}
		listed, w, n := map[string]int{}, Walk{}, size
		for requests := 0; ; requests++ {
			if requests > 4*size+100 {
				t.Fatalf("seed %d: the walk does not end", seed)
			}
			p := w.Paging()
			from := min(int(p.Offset()), len(list))
			page := list[from:min(from+p.Limit, len(list))]
			fresh, done := w.Add(page, int64(len(list)))
			for _, i := range fresh {
				listed[page[i]]++
			}
			if done {
				break
			}
			for range changes { // remove one and add one, each anywhere
				if len(list) > 0 {
					i := random.IntN(len(list))
					delete(stays, list[i])
					list = slices.Delete(list, i, i+1)
				}
				n++
				list = slices.Insert(list, random.IntN(len(list)+1), fmt.Sprint(seed, "-", n))
			}
		}
		for id := range stays {
			if listed[id] != 1 {
				t.Errorf("seed %d: %s is listed %d times", seed, id, listed[id])
			}
		}
	}
}

// TestEach reads an unchanged list once, with few more requests than it has pages.
func TestEach(t *testing.T) {
	for _, size := range []int{0, 1, 50, 99, 100, 101, 198, 199, 5000, 100_000} {
		requests, listed := 0, 0
		list := func(_ context.Context, in warranty.ListWarranties) (warranty.Page[warranty.Warranty], error) {
			requests++
			var data []warranty.Warranty
			for i := int(in.Offset()); i < min(int(in.Offset())+in.Limit, size); i++ {
				id := warranty.ID{0xFF - byte(i>>16), 0xFF - byte(i>>8), 0xFF - byte(i)}
				data = append(data, warranty.Warranty{ID: id})
			}
			return warranty.PageOf(data, in.Paging, int64(size)), nil
		}
		if err := Each(t.Context(), list, warranty.ListWarranties{},
			func(_ warranty.Page[warranty.Warranty], fresh []int) error {
				listed += len(fresh)
				return nil
			}); err != nil {
			t.Fatal(err)
		}
		if most := size/80 + 2; listed != size || requests > most {
			t.Errorf("%d of %d records in %d requests, want at most %d", listed, size, requests, most)
		}
	}
	failed := errors.New("failed")
	list := func(context.Context, warranty.ListWarranties) (p warranty.Page[warranty.Warranty], err error) {
		return p, failed
	}
	if err := Each(t.Context(), list, warranty.ListWarranties{}, nil); !errors.Is(err, failed) {
		t.Error(err)
	}
}
