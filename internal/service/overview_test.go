package service_test

import (
	"slices"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// checkOverview compares the overview of a user with the lists.
func (s *story) checkOverview(a *actor) {
	o, err := s.world.Service.Overview(ctx, a.Principal)
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
