package service_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestPapersAreMadeInTurn: an account makes one PDF at a time and a process two. Whoever waits too long is told when to try
// again, and whoever leaves stops waiting at once.
func TestPapersAreMadeInTurn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const short = 50 * time.Millisecond
		ann, ben, kim := w.person("Ann", true), w.person("Ben", true), w.person("Kim", true)
		turn := func(p person) func() {
			t.Helper()
			done, err := w.Service.PaperTurn(ctx, p.Principal)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		refused := func(p person, code warranty.Code) {
			t.Helper()
			w.Service.WaitForPapers(short)
			defer w.Service.WaitForPapers(time.Minute)
			done, err := w.Service.PaperTurn(ctx, p.Principal)
			if err == nil {
				done()
			}
			if codeOf(err) != code || warranty.AsError(err).Wait <= 0 {
				t.Errorf("got %v, want %s with a time to wait", err, code)
			}
		}
		first := turn(ann)
		refused(ann, warranty.RateLimited)
		second := turn(ben)
		refused(kim, warranty.Unavailable)
		refused(person{}, warranty.Unavailable)

		w.Service.WaitForPapers(time.Minute)
		left, leave := context.WithCancel(ctx)
		leave()
		if _, err := w.Service.PaperTurn(left, kim.Principal); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that ended: %v", err)
		}
		next := make(chan func())
		go func() { next <- turn(kim) }()
		first()
		third := <-next
		second()
		third()
		turn(ann)()
	}, busy)
}
