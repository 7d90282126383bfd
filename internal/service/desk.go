package service

import (
	"context"
	"slices"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// LateDays is after how many days a claim waits too long.
const LateDays = 3

const (
	deskMonths   = 6 // with the current one
	deskProducts = 4
	deskDays     = 30
)

// Desk is the work of an organization and its figures.
type Desk struct {
	Claims warranty.ClaimCounts
	Late   int64           // claims that wait for the organization for LateDays
	Oldest *warranty.Claim // the one of them that waits longest
	// Failing lists the domains whose DNS record is missing, for those who can put it back.
	Failing []warranty.Domain
	// Months are the last ones, the current one at the end.
	Months []DeskMonth
	// Products are those with the most claims in 30 days.
	Products []store.ProductClaims
	Steps    []FirstStep
}

// DeskMonth has the figures of a month.
type DeskMonth struct {
	First      warranty.Date
	Issued     int64 // warranties that start in it
	Registered int64 // those of them that belong to the customer
	Filed      int64 // claims
	// ToDecide is how long it took on average to decide those claims. Only the last two months have it.
	ToDecide time.Duration
	Decided  int64
}

// FirstStep is a step of a new organization.
type FirstStep struct {
	Name string
	Done bool
	May  bool // the person may do it
}

// firstSteps are the steps of a new organization, in order, and who may do them.
var firstSteps = []struct {
	name  string
	needs warranty.MemberRole
}{{"profile", warranty.Admin}, {"domain", warranty.Admin}, {"logo", warranty.Admin}, {"product", warranty.Member}, {"import", warranty.Member},
	{"colleague", warranty.Admin}}

// desk returns the work and the figures of the principal's organization.
func (s *Service) desk(ctx context.Context, p warranty.Principal, zone *time.Location) (d *Desk, err error) {
	d = &Desk{}
	if d.Claims, err = s.Store.ClaimCounts(ctx, p.Account.ID, p.User.ID); err != nil {
		return nil, err
	}
	if err := s.lateClaims(ctx, p, d); err != nil {
		return nil, err
	}
	if d.Failing, err = s.failingDomains(ctx, p); err != nil {
		return nil, err
	}
	now := s.now().In(zone)
	if d.Months, err = s.deskFigures(ctx, p.Account.ID, now); err != nil {
		return nil, err
	}
	if d.Products, err = s.Store.MostClaims(ctx, p.Account.ID, now.AddDate(0, 0, -deskDays), deskProducts); err != nil {
		return nil, err
	}
	d.Steps, err = s.firstSteps(ctx, p)
	return d, err
}

// lateClaims finds the claims that wait for the organization too long.
func (s *Service) lateClaims(ctx context.Context, p warranty.Principal, d *Desk) error {
	if d.Claims.Oldest == nil || s.now().Sub(*d.Claims.Oldest) < LateDays*24*time.Hour {
		return nil
	}
	days := LateDays
	page, err := s.ListClaims(ctx, p, warranty.ListClaims{
		Paging: warranty.Paging{Page: 1, Limit: 1},
		Queue:  warranty.WaitingForUs, Age: &days, Sort: warranty.ClaimsByWaiting,
	})
	if len(page.Data) > 0 {
		d.Late, d.Oldest = page.Pagination.Total, &page.Data[0]
	}
	return err
}

func (s *Service) failingDomains(ctx context.Context, p warranty.Principal) ([]warranty.Domain, error) {
	if !p.Account.Role.Includes(warranty.Admin) {
		return nil, nil
	}
	domains, _, err := s.Store.Domains(ctx, p.Account.ID, warranty.Paging{Page: 1, Limit: warranty.MaxLimit})
	return slices.DeleteFunc(domains, func(d warranty.Domain) bool { return d.Status != warranty.DomainFailing }), err
}

// deskFigures returns the figures of the last months.
func (s *Service) deskFigures(ctx context.Context, account warranty.ID, now time.Time) ([]DeskMonth, error) {
	months, starts := make([]DeskMonth, deskMonths), make([]time.Time, deskMonths+1)
	for i := range starts {
		starts[i] = time.Date(now.Year(), now.Month()-deskMonths+1+time.Month(i), 1, 0, 0, 0, 0, now.Location())
	}
	days, err := s.Store.Issued(ctx, account, firstOf(starts[0]), s.today())
	if err != nil {
		return nil, err
	}
	filed, err := s.Store.ClaimsFiled(ctx, account, starts[:deskMonths])
	if err != nil {
		return nil, err
	}
	for i := range months {
		m := &months[i]
		m.First, m.Filed = firstOf(starts[i]), filed[i]
		for day, n := range days {
			if day >= m.First && day < firstOf(starts[i+1]) {
				m.Issued, m.Registered = m.Issued+n.All, m.Registered+n.Taken
			}
		}
		if i < deskMonths-2 || m.Filed == 0 {
			continue
		}
		if m.ToDecide, m.Decided, err = s.Store.TimeToDecide(ctx, account, starts[i], starts[i+1]); err != nil {
			return nil, err
		}
	}
	return months, nil
}

// firstOf returns the first day of a month.
func firstOf(month time.Time) warranty.Date { return warranty.NewDate(month.Year(), month.Month(), 1) }

// newFor is how long an organization is new: then the steps that it did not take end, too.
const newFor = 60 * 24 * time.Hour

// firstSteps returns the steps of the principal's organization, or none if all are done or it is no longer new.
func (s *Service) firstSteps(ctx context.Context, p warranty.Principal) ([]FirstStep, error) {
	if !p.Account.Role.Includes(warranty.Member) {
		return nil, nil
	}
	f, err := s.Store.FirstSteps(ctx, p.Account.ID, s.now())
	if err != nil {
		return nil, err
	}
	done := map[string]bool{
		"profile": f.Profile, "domain": f.Domain, "logo": f.Logo, "product": f.Product, "import": f.Record, "colleague": f.Colleague,
	}
	var steps []FirstStep
	open := false
	for _, step := range firstSteps {
		steps = append(steps, FirstStep{step.name, done[step.name], p.Account.Role.Includes(step.needs)})
		open = open || !done[step.name]
	}
	if !open || s.now().Sub(f.Created) > newFor {
		return nil, nil
	}
	return steps, nil
}
