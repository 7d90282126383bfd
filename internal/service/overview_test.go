package service_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// checkOverview compares the overview of a user with the lists.
func (s *story) checkOverview(a *actor) {
	o, err := s.world.Service.Overview(ctx, a.Principal, time.UTC)
	if err != nil {
		s.Fatal(err)
	}
	days := service.EndingSoonDays
	for name, c := range map[string]struct {
		got int64
		in  warranty.ListWarranties
	}{
		"all":         {o.Total, warranty.ListWarranties{}},
		"in force":    {o.InForce, warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Status: warranty.Active}}},
		"ended":       {o.Ended, warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Status: warranty.Expired}}},
		"ending soon": {o.EndingSoon, warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{ExpiringWithinDays: &days}}},
	} {
		c.in.Paging = warranty.Paging{Page: 1, Limit: 1}
		list, err := s.world.Service.ListWarranties(ctx, a.Principal, c.in)
		if err != nil {
			s.Fatal(err)
		}
		if c.got != list.Pagination.Total {
			s.Fatalf("%s: the overview counts %d, the list %d", name, c.got, list.Pagination.Total)
		}
	}
	open := int64(0)
	for _, c := range s.claims {
		closed := []warranty.ClaimStatus{warranty.Rejected, warranty.Resolved, warranty.Withdrawn}
		if c.on.roles(a) != (warranty.Roles{}) && !slices.Contains(closed, c.status) {
			open++
		}
	}
	if o.OpenClaims != open {
		s.Fatalf("the overview counts %d open claims, want %d", o.OpenClaims, open)
	}
	if !slices.IsSortedFunc(o.Ending, func(a, b warranty.Warranty) int { return int(a.EndDate - b.EndDate) }) {
		s.Fatalf("the endings are not in order: %v", o.Ending)
	}
	if int64(len(o.Ending)) != min(o.EndingSoon, 8) || len(o.Activity) > 6 {
		s.Fatalf("the overview lists %d endings of %d and %d events", len(o.Ending), o.EndingSoon, len(o.Activity))
	}
}

// TestActivityGathersImports creates many warranties, changes one and creates more: what a person does on a day has a line
// for each kind of event, and one that was not read to its end says so. An import has a line of its own, and what happened
// before it is still there.
func TestActivityGathersImports(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		ann, bo, cem := w.person("Ann", true), w.person("Bo", true), w.person("Cem", true)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		create := func(p person, n int) (last warranty.Warranty) {
			for range n {
				var err error
				last, err = w.Service.CreateWarranty(ctx, p.Principal, warranty.CreateWarranty{
					ProductName: "Kettle", StartDate: 20000, EndDate: 21000})
				must(err)
			}
			return last
		}
		lines := func(p person) (list []string) {
			o, err := w.Service.Overview(ctx, p.Principal, time.UTC)
			must(err)
			for _, a := range o.Activity {
				if a.Job != nil {
					list = append(list, fmt.Sprint(a.Job.Kind, " ", a.Job.State, " ", a.Job.Name))
					continue
				}
				list = append(list, fmt.Sprint(a.Action, " ", a.More, " ", a.AndOlder))
			}
			return list
		}
		changed := create(ann, 30)
		name := "Cooker"
		_, err := w.Service.UpdateWarranty(ctx, ann.Principal,
			warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: changed.ID}, ProductName: &name})
		must(err)
		create(ann, 2)
		equal(t, "two imports", lines(ann), []string{"warranty.created 31 false", "warranty.updated 0 false"})
		create(bo, 201)
		equal(t, "a long import", lines(bo), []string{"warranty.created 199 true"})

		create(cem, 2)
		id := w.Service.NewID()
		w.write(func(tx *store.Tx) error {
			return tx.InsertJob(warranty.Job{ID: id, Account: cem.User.ID, User: cem.User.ID, Session: id, Kind: "import",
				State: warranty.JobRunning, Total: 210, CreatedAt: w.Service.Now()})
		})
		create(cem, 210)
		w.execute(`UPDATE jobs SET state = 2, ended_at = $1, updated_at = $1`, w.Service.Now().UnixMicro())
		equal(t, "an import", lines(cem), []string{"import done Cem", "warranty.created 1 false"})
		w.execute(`UPDATE jobs SET state = 3`)
		o, err := w.Service.Overview(ctx, cem.Principal, time.UTC)
		must(err)
		equal(t, "stopped jobs", len(o.Stopped), 1)
	})
}
