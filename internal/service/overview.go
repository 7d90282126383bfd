package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"warranty.example/svc/internal/store"
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
	overviewJobs     = 3
	overviewStopped  = 7 * 24 * time.Hour
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
	// Activity lists what happened last to the newest records.
	Activity []Gathered
	// Stopped are jobs that failed in the last days.
	Stopped []store.ActivityJob
	// Desk is what an organization has in place of OpenClaims, Ending and Waiting.
	Desk *Desk
}

// Gathered is an event and how many more there are of the same person doing the same to others on the same day, or a job.
type Gathered struct {
	warranty.Activity
	More int64
	// AndOlder says that older events, which were not read, may belong to it.
	AndOlder bool
	Job      *store.ActivityJob
}

// gather puts what a person did on a day, in a time zone, in one line for each kind of event.
func gather(events []warranty.Activity, zone *time.Location) (list []Gathered) {
	lines := map[string]int{}
	for i, a := range events {
		key := lineOf(a, zone)
		at, known := lines[key]
		if !known {
			at = len(list)
			lines[key], list = at, append(list, Gathered{Activity: a})
		} else {
			list[at].More++
		}
		if i+1 == overviewEvents {
			list[at].AndOlder = true
		}
	}
	return list
}

// lineOf identifies the line of an event.
func lineOf(a warranty.Activity, zone *time.Location) string {
	return fmt.Sprintf("%s %q %q %q %s %s %s", a.Action, a.Actor, derefText(a.Account), derefText(a.TokenName), a.Door,
		newStatus(a), a.At.In(zone).Format(time.DateOnly))
}

func newStatus(a warranty.Activity) string {
	for _, c := range a.Changes {
		if c.Field == "status" {
			return derefText(c.To)
		}
	}
	return ""
}

// activity returns the latest lines of the activity.
func (s *Service) activity(
	ctx context.Context, p warranty.Principal, jobs []store.ActivityJob, zone *time.Location,
) ([]Gathered, error) {
	events, err := s.Store.Activity(ctx, p.Account.ID, jobs, overviewEvents)
	list := gather(events, zone)
	for i := range jobs {
		line := Gathered{Job: &jobs[i]}
		line.At = jobs[i].Ends
		list = append(list, line)
	}
	slices.SortStableFunc(list, func(a, b Gathered) int { return b.At.Compare(a.At) })
	return list[:min(len(list), overviewActivity)], err
}

// Overview returns the principal's overview. Each figure and list is exact when it is read, but
// concurrent writes may come between them. Days are those of a time zone.
func (s *Service) Overview(ctx context.Context, p warranty.Principal, zone *time.Location) (Overview, error) {
	user, o := p.Account.ID, Overview{Today: s.today()}
	counts, err := s.Store.CountStatuses(ctx, user, o.Today)
	if err != nil {
		return o, err
	}
	o.Total, o.InForce, o.Ended = counts.Total, counts.Active, counts.Expired
	if o.EndDates, err = s.Store.EndDates(ctx, user, o.Today, o.Today+overviewDays); err != nil {
		return o, err
	}
	for day, n := range o.EndDates {
		if day-o.Today <= EndingSoonDays {
			o.EndingSoon += n
		}
	}
	if o.ToConfirm, err = s.Store.CountConfirmations(ctx, user); err != nil {
		return o, err
	}
	jobs, err := s.Store.ActivityJobs(ctx, user, overviewJobs)
	if err != nil {
		return o, err
	}
	for _, j := range jobs {
		if j.State == warranty.JobFailed && s.now().Sub(j.Ends) < overviewStopped {
			o.Stopped = append(o.Stopped, j)
		}
	}
	if o.Activity, err = s.activity(ctx, p, jobs, zone); err != nil {
		return o, err
	}
	if p.ActsForOrganization() {
		o.Desk, err = s.desk(ctx, p, zone)
	} else {
		err = s.ownOverview(ctx, user, &o)
	}
	return o, err
}

// ownOverview adds what only the overview of a person has.
func (s *Service) ownOverview(ctx context.Context, user warranty.ID, o *Overview) (err error) {
	if o.OpenClaims, err = s.Store.OpenClaims(ctx, user); err != nil {
		return err
	}
	if o.Ending, err = s.Store.Ending(ctx, user, o.Today, o.Today+EndingSoonDays, overviewEndings); err != nil {
		return err
	}
	for i := range o.Ending {
		s.showListed(&o.Ending[i])
	}
	if o.Waiting, err = s.Store.WaitingClaims(ctx, user, overviewWaiting); err != nil {
		return err
	}
	return nil
}
