package service_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// --- people and their roles ------------------------------------------------------

// cast assigns the roles on a warranty to me, another, a third person, or nobody.
type cast struct{ creator, seller, owner string }

const me, another, third, nobody = "me", "another", "third", ""

// casts are all combinations of roles that "me" can have on a warranty: by creating it,
// as its seller, and by a transfer.
var casts = []cast{
	{creator: another, seller: nobody, owner: me},
	{creator: another, seller: third, owner: me},
	{creator: me, seller: nobody, owner: another},
	{creator: me, seller: third, owner: another},
	{creator: another, seller: me, owner: another},
	{creator: another, seller: me, owner: me},
	{creator: me, seller: nobody, owner: me},
	{creator: me, seller: third, owner: me},
	{creator: me, seller: me, owner: me},
	{creator: me, seller: me, owner: another},
	{creator: another, seller: third, owner: another},
}

// roles returns the roles of "me".
func (c cast) roles() (r warranty.Roles) {
	if c.owner == me {
		r = r.With(warranty.Owner)
	}
	if c.seller == me {
		r = r.With(warranty.Seller)
	}
	if c.creator == me {
		r = r.With(warranty.Issuer)
	}
	return r
}

// mayDecide is the rule in section 4 of the contract: sellers may decide, and issuers that do not own the
// warranty. If there is nobody to decide, the owner keeps a log.
func (c cast) mayDecide() bool {
	if c.owner == me && c.creator == me && c.seller == nobody {
		return true
	}
	return c.seller == me || c.creator == me && c.owner != me
}

// promises are the casts in which "me" may change the promise, and owns those in which "me" may change the
// rest.
func (c cast) promises() bool { return c.creator == me }

func (c cast) String() string {
	name := strings.Join(c.roles().Names(), "+")
	if name == "" {
		name = "stranger"
	}
	if c.seller == third {
		name += " beside a seller"
	}
	return name
}

// scene is a warranty and the people with roles on it.
type scene struct {
	*world
	cast
	people map[string]servertest.Person
	record servertest.Record
}

// scenes registers the people once and returns a function that creates a warranty for a cast.
func (w *world) scenes() func(c cast) scene {
	people := map[string]servertest.Person{me: w.Verified("Mia"), another: w.Verified("Anton"), third: w.Verified("Thea")}
	return func(c cast) scene {
		w.T.Helper()
		s := scene{world: w, cast: c, people: people}
		given := fields{"product_name": "Kettle of " + people[c.owner].Name, "serial_number": "SN-1"}
		if c.seller != nobody {
			given["seller_email"] = people[c.seller].Email
		}
		s.record = w.Warranty(people[c.creator].Session, given)
		if c.seller != nobody && c.seller != c.creator {
			w.Confirm(people[c.seller], s.record.ID)
		}
		if c.owner != c.creator {
			w.Issue(s.record.ID, people[c.creator], people[c.owner])
		}
		return s
	}
}

// who returns the session of a person in the scene.
func (s scene) who(name string) string { return s.people[name].Session }

// ownerSession and deciderSession return sessions of people who hold these roles, "me" or not.
func (s scene) ownerSession() string { return s.who(s.owner) }

func (s scene) deciderSession() string {
	if s.seller != nobody {
		return s.who(s.seller)
	}
	return s.who(s.creator)
}

func (s scene) path() string { return "/api/v1/warranties/" + s.record.ID }

func moving(id, secret string, body fields) request {
	return made("POST", "/api/claims/"+id+"/status", secret, body)
}

// moveTo returns the body of a status change with its required fields.
func moveTo(status string) fields {
	body := fields{"status": status}
	switch status {
	case "rejected", "info_requested":
		body["reason"] = "Because."
	case "resolved":
		body["resolution"] = "repaired"
	}
	return body
}

// claimPaths lists the status changes that lead to a status; those with ! are made by the owner.
var claimPaths = map[string]string{
	"submitted": "", "under_review": "under_review", "info_requested": "under_review info_requested", "approved": "under_review approved",
	"rejected": "under_review rejected", "in_progress": "under_review approved in_progress", "resolved": "under_review approved resolved", "withdrawn": "!withdrawn",
}

// claimAt files a claim and moves it to a status.
func (s scene) claimAt(status string) string {
	s.T.Helper()
	id := s.Claim(s.ownerSession(), s.record.ID)
	for step := range strings.FieldsSeq(claimPaths[status]) {
		session := s.deciderSession()
		if step, owners := strings.CutPrefix(step, "!"); owners {
			s.Must(200, moving(id, s.ownerSession(), moveTo(step)))
			continue
		}
		s.Must(200, moving(id, session, moveTo(step)))
	}
	return id
}

func sum(content string) string {
	hash := sha256.Sum256([]byte(content))
	return hex.EncodeToString(hash[:])
}

// --- history ---------------------------------------------------------------------

// event is a history entry in a response.
type event struct {
	Actor, Door, Action string
	At                  time.Time
	TokenName           *string `json:"token_name"`
	SubjectID           string  `json:"subject_id"`
	Changes             []warranty.Change
}

// history reads the whole history of a warranty, newest first.
func (w *world) history(record, session string) []event {
	w.T.Helper()
	var list []event
	w.Must(200, made("GET", "/api/warranties/"+record+"/history?limit=100", session, nil)).Into(w.T, &list)
	return list
}

// --- answers ---------------------------------------------------------------------

// notAllowed returns the error code for roles that do not allow an operation: not_found
// for people without any role.
func notAllowed(roles warranty.Roles) warranty.Code {
	if roles == (warranty.Roles{}) {
		return warranty.NotFound
	}
	return warranty.RoleNotAllowed
}

// succeeded fails the test unless the response is a success.
func succeeded(t testing.TB, what string, a answer) {
	t.Helper()
	if a.Status >= http.StatusBadRequest {
		t.Errorf("%s: got %d %s", what, a.Status, a.Body)
	}
}
