package service

import (
	"context"
	"slices"

	"warranty.example/svc/warranty"
)

// EndingSoonDays is how many days before its end date a warranty counts as ending soon.
const EndingSoonDays = 60

const (
	overviewDays     = 396 // 13 months
	overviewEndings  = 8
	overviewActivity = 6
	overviewEvents   = 200 // that are read and gathered
	overviewWaiting  = 5
)

// Overview summarizes the records that a user can see.
type Overview struct {
	Today                             warranty.Date
	Total, InForce, EndingSoon, Ended int64 // warranties
	OpenClaims                        int64
	ToConfirm                         int64 // warranties that name the account as their seller
	// EndDates counts the active warranties that end in the next 13 months, per end date.
	EndDates map[warranty.Date]int64
	// Ending lists the active warranties that end within EndingSoonDays, soonest first.
	Ending []warranty.Warranty
	// Waiting lists the claims that wait for the account, those that wait longest first.
	Waiting []warranty.Claim
	// Failing lists the domains whose DNS record is missing, for those who can put it back.
	Failing []warranty.Domain
	// Activity lists the latest events of the newest records, those of an import in one line.
	Activity []Gathered
}

// Gathered is an event and how many more there are, just before it, of the same person doing the same to other
// warranties.
type Gathered struct {
	warranty.Activity
	More int64
	// AndOlder says that older events, which were not read, may belong to it.
	AndOlder bool
}

// gather puts the events of an import or a bulk change in one line.
func gather(events []warranty.Activity, limit int) (list []Gathered) {
	for i, a := range events {
		switch {
		case i > 0 && isRepeated(events[i-1], a):
			list[len(list)-1].More++
		case len(list) == limit:
			return list
		default:
			list = append(list, Gathered{Activity: a})
		}
	}
	if len(events) == overviewEvents {
		list[len(list)-1].AndOlder = true
	}
	return list
}

// isRepeated tells whether one person did the same to two warranties.
func isRepeated(a, b warranty.Activity) bool {
	same := a.Action == b.Action && a.Actor == b.Actor && derefText(a.Account) == derefText(b.Account) &&
		a.Door == b.Door && derefText(a.TokenName) == derefText(b.TokenName)
	switch a.Action {
	case warranty.WarrantyCreated, warranty.WarrantyUpdated, warranty.WarrantyDeleted:
		return same && a.WarrantyID != b.WarrantyID && newStatus(a) == newStatus(b)
	}
	return false
}

func newStatus(a warranty.Activity) string {
	for _, c := range a.Changes {
		if c.Field == "status" {
			return derefText(c.To)
		}
	}
	return ""
}

// Overview returns the principal's overview. Each figure and list is exact when it is read, but
// concurrent writes may come between them.
func (s *Service) Overview(ctx context.Context, p warranty.Principal) (Overview, error) {
	user, o := p.Account.ID, Overview{Today: s.today()}
	counts, err := s.Store.CountStatuses(ctx, user, o.Today)
	if err != nil {
		return o, err
	}
	o.Total, o.InForce, o.Ended = counts.Total, counts.Active, counts.Expired
	if o.OpenClaims, err = s.Store.OpenClaims(ctx, user); err != nil {
		return o, err
	}
	if o.EndDates, err = s.Store.EndDates(ctx, user, o.Today, o.Today+overviewDays); err != nil {
		return o, err
	}
	for day, n := range o.EndDates {
		if day-o.Today <= EndingSoonDays {
			o.EndingSoon += n
		}
	}
	if o.Ending, err = s.Store.Ending(ctx, user, o.Today, o.Today+EndingSoonDays, overviewEndings); err != nil {
		return o, err
	}
	for i := range o.Ending {
		s.showListed(&o.Ending[i])
	}
	if o.ToConfirm, err = s.Store.CountConfirmations(ctx, user); err != nil {
		return o, err
	}
	if o.Waiting, err = s.Store.WaitingClaims(ctx, user, overviewWaiting); err != nil {
		return o, err
	}
	if p.ActsForOrganization() && p.Account.Role.Includes(warranty.Admin) {
		domains, _, err := s.Store.Domains(ctx, user, warranty.Paging{Page: 1, Limit: warranty.MaxLimit})
		if err != nil {
			return o, err
		}
		o.Failing = slices.DeleteFunc(domains, func(d warranty.Domain) bool { return d.Status != warranty.DomainFailing })
	}
	events, err := s.Store.Activity(ctx, user, overviewEvents)
	o.Activity = gather(events, overviewActivity)
	return o, err
}
