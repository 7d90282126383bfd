package service_test

import (
	"fmt"
	"testing"

	"warranty.example/svc/warranty"
)

// TestViewsAreLimited: an account with as many views as it may have can still change them.
func TestViewsAreLimited(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		save := func(name, query string) error {
			return w.Service.SaveView(t.Context(), olga.Principal, warranty.SavedView{Name: name, Query: query})
		}
		for i := range warranty.MaxViews {
			if err := save(fmt.Sprint("View ", i), "status=active"); err != nil {
				t.Fatal(err)
			}
		}
		if err := save("view 0", "status=expired"); err != nil {
			t.Errorf("changing a view: %v", err)
		}
		if err := save("One more", "status=expired"); warranty.AsError(err).Code != warranty.InUse {
			t.Errorf("one more view: %v", err)
		}
		views, err := w.Service.Views(t.Context(), olga.Principal)
		if err != nil || len(views) != warranty.MaxViews {
			t.Errorf("%d views, %v", len(views), err)
		}
	})
}
