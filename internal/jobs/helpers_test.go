package jobs_test

import (
	"testing"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

type world = servertest.World

var equal = servertest.Equal

// eachStore runs a test on both databases, with the files in a folder and then in S3.
func eachStore(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	servertest.Each(t, test)
	for _, database := range servertest.Databases {
		t.Run(database.Name+" and S3", func(t *testing.T) {
			t.Parallel()
			test(t, servertest.New(t, database.Open(t), servertest.OnS3(t)))
		})
	}
}

// signedIn returns the principal of a person.
func signedIn(w *world, who servertest.Person) warranty.Principal {
	w.T.Helper()
	p, err := w.Service.Authenticate(w.T.Context(), who.Session, false)
	if err != nil {
		w.T.Fatal(err)
	}
	p.Door = warranty.DoorAPI
	return p
}

// actingFor returns a person acting for an organization.
func actingFor(w *world, who servertest.Person, organization warranty.ID) warranty.Principal {
	w.T.Helper()
	p, err := w.Service.ActFor(w.T.Context(), signedIn(w, who), organization)
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// shop is an organization and its admin, who acts for it.
type shop struct {
	*world
	admin servertest.Person
	warranty.Organization
	warranty.Principal
}

func newShop(w *world, name string) shop {
	w.T.Helper()
	admin := w.Verified(name)
	o, err := w.Service.CreateOrganization(w.T.Context(), signedIn(w, admin), warranty.CreateOrganization{Name: "Halden"})
	if err != nil {
		w.T.Fatal(err)
	}
	return shop{w, admin, o, actingFor(w, admin, o.ID)}
}

// prints returns the code of a slip.
func (s shop) prints(id warranty.ID) string {
	s.T.Helper()
	in := warranty.OfferHandover{ID: warranty.WarrantyKey{ID: id}}
	offer, err := s.Service.OfferHandover(s.T.Context(), s.Principal, in)
	if err != nil || offer.Code == nil {
		s.T.Fatalf("%+v, %v", offer, err)
	}
	return *offer.Code
}

// job returns a job of the shop.
func (s shop) job(id warranty.ID) warranty.Job {
	s.T.Helper()
	j, err := s.Jobs.Job(s.T.Context(), s.Principal, id)
	if err != nil {
		s.T.Fatal(err)
	}
	return j
}

// stored counts files.
func stored(w *world, places ...files.Place) (n int) {
	w.T.Helper()
	for _, place := range places {
		err := w.Service.Files.Keys(w.T.Context(), place, 100, func(keys []string) error { n += len(keys); return nil })
		if err != nil {
			w.T.Fatal(err)
		}
	}
	return n
}

// joins adds a member to the shop, who acts for it.
func (s shop) joins(name string, role warranty.MemberRole) warranty.Principal {
	s.T.Helper()
	who := s.Verified(name)
	in := warranty.CreateInvitation{ID: s.Organization.ID, Email: who.Email, Role: role}
	if _, err := s.Service.CreateInvitation(s.T.Context(), s.Principal, in); err != nil {
		s.T.Fatal(err)
	}
	accept := warranty.AcceptInvitation{Code: s.MailedCode(who.Email)}
	if _, err := s.Service.AcceptInvitation(s.T.Context(), signedIn(s.world, who), accept); err != nil {
		s.T.Fatal(err)
	}
	return actingFor(s.world, who, s.Organization.ID)
}
