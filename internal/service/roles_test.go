package service_test

import (
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// verb is a row of the table of roles in section 4 of the contract.
type verb struct {
	name    string
	allowed func(cast) bool
	// attempt creates what the verb needs and returns the request of "me".
	attempt func(s scene) request
}

func anyRole(c cast) bool      { return c.roles() != (warranty.Roles{}) }
func ownersOnly(c cast) bool   { return c.owner == me }
func ownersIssuer(c cast) bool { return c.owner == me || c.creator == me }

func setting(body fields) func(scene) request {
	return func(s scene) request { return made("PUT", s.path(), s.who(me), body) }
}

func reading(path string) func(scene) request {
	return func(s scene) request {
		return made("GET", strings.ReplaceAll(path, "{id}", s.record.ID), s.who(me), nil)
	}
}

// verbs is the table. Verbs that end the record come last.
var verbs = []verb{
	{"read", anyRole, reading("/api/v1/warranties/{id}")},
	{"list history", anyRole, reading("/api/warranties/{id}/history")},
	{"read a claim", anyRole, func(s scene) request { return made("GET", "/api/v1/claims/"+s.claimAt("submitted"), s.who(me), nil) }},
	{"upload", anyRole, func(s scene) request { return uploading(s.who(me), document(s.record.ID, "a.pdf", pdf)...) }},
	{"upload to a claim", anyRole, func(s scene) request {
		return uploading(s.who(me), append(document(s.record.ID, "a.pdf", pdf), field("claim_id", s.claimAt("submitted")))...)
	}},
	{"read a document", anyRole, func(s scene) request {
		return made("GET", "/api/v1/documents/"+s.Upload(s.ownerSession(), document(s.record.ID, "a.pdf", pdf)...).ID, s.who(me), nil)
	}},
	{"download", anyRole, func(s scene) request {
		return made("GET", "/api/documents/"+s.Upload(s.ownerSession(), document(s.record.ID, "a.pdf", pdf)...).ID+"/file", s.who(me), nil)
	}},
	{"delete a document of one's own", anyRole, func(s scene) request { return deletion(s, me) }},
	{"delete a document of another's", ownersOnly, func(s scene) request { return deletion(s, another) }},
	{"update fields", ownersIssuer, setting(fields{"product_name": "Pot"})},
	{"update a field and the status", ownersIssuer, setting(fields{"supplier": "ACME", "status": "active"})},
	{"void", anyRole, setting(fields{"status": "void"})},
	{"reinstate", anyRole, setting(fields{"status": "active"})},
	{"transfer", ownersOnly, func(s scene) request {
		return made("POST", "/api/warranties/"+s.record.ID+"/transfer", s.who(me), fields{"email": "new@people.example"})
	}},
	{"cancel a transfer", ownersOnly, func(s scene) request {
		s.Must(201, made("POST", "/api/warranties/"+s.record.ID+"/transfer", s.ownerSession(), fields{"email": "new@people.example"}))
		return made("DELETE", "/api/warranties/"+s.record.ID+"/transfer", s.who(me), nil)
	}},
	{"file a claim", ownersOnly, func(s scene) request { return made("POST", "/api/claims", s.who(me), claimOn(s.record.ID)) }},
	{"answer", ownersOnly, move("info_requested", "under_review")},
	{"appeal", ownersOnly, move("rejected", "under_review")},
	{"withdraw at once", ownersOnly, move("submitted", "withdrawn")},
	{"withdraw under review", ownersOnly, move("under_review", "withdrawn")},
	{"withdraw when asked", ownersOnly, move("info_requested", "withdrawn")},
	{"review", cast.mayDecide, move("submitted", "under_review")},
	{"ask", cast.mayDecide, move("under_review", "info_requested")},
	{"approve", cast.mayDecide, move("under_review", "approved")},
	{"reject", cast.mayDecide, move("under_review", "rejected")},
	{"reject when asked", cast.mayDecide, move("info_requested", "rejected")},
	{"begin", cast.mayDecide, move("approved", "in_progress")},
	{"resolve at once", cast.mayDecide, move("approved", "resolved")},
	{"resolve", cast.mayDecide, move("in_progress", "resolved")},
	{"cancel", ownersIssuer, setting(fields{"status": "cancelled"})},
	{"delete", ownersIssuer, func(s scene) request { return made("DELETE", s.path(), s.who(me), nil) }},
}

func move(from, to string) func(scene) request {
	return func(s scene) request { return moving(s.claimAt(from), s.who(me), moveTo(to)) }
}

// deletion is a request by "me" to delete a document. If "me" uploaded it but has no
// role, "me" is a former owner.
func deletion(s scene, uploader string) request {
	session := s.who(uploader)
	if uploader == another && s.roles() != (warranty.Roles{}) && s.owner != another && s.creator != another {
		session = s.who(third) // another has no role on the warranty
		if s.seller != third { // no other person has one: a former owner uploaded it
			s.Transfer(s.record.ID, s.people[me], s.people[third])
			d := s.Upload(session, document(s.record.ID, "a.pdf", pdf)...)
			s.Transfer(s.record.ID, s.people[third], s.people[me])
			return made("DELETE", "/api/documents/"+d.ID, s.who(me), nil)
		}
	}
	if uploader == me && s.roles() == (warranty.Roles{}) {
		s.Transfer(s.record.ID, s.people[s.owner], s.people[me])
		defer s.Transfer(s.record.ID, s.people[me], s.people[s.owner])
	}
	d := s.Upload(session, document(s.record.ID, "a.pdf", pdf)...)
	return made("DELETE", "/api/documents/"+d.ID, s.who(me), nil)
}

// TestPeopleDoWhatTheirRolesAllow tries every verb with every cast on both databases.
// Allowed verbs add one event to the history; refused ones change no row and no file.
func TestPeopleDoWhatTheirRolesAllow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		stage := w.scenes()
		for _, c := range casts {
			s := stage(c)
			for _, v := range verbs {
				what := v.name + " as " + c.String()
				r := v.attempt(s)
				if v.allowed(c) {
					events := w.Count(`SELECT count(*) FROM history`)
					if r.Method != http.MethodGet {
						events++
					}
					succeeded(t, what, w.Do(r))
					equal(t, what+": events in the history", w.Count(`SELECT count(*) FROM history`), events)
					continue
				}
				files := w.Stored()
				w.Unchanged(t, what, func() { refused(t, what, w.Do(r), notAllowed(c.roles())) })
				equal(t, what+" changed the files", w.Stored(), files)
			}
		}
	}, busy)
}

// TestPeopleSeeChildrenByTheSameRoles lists and reads claims and documents with every
// cast: lists of strangers are empty, even when they filter by the warranty.
func TestPeopleSeeChildrenByTheSameRoles(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		stage := w.scenes()
		for _, c := range casts {
			s := stage(c)
			claim := s.claimAt("submitted")
			d := s.Upload(s.ownerSession(), append(document(s.record.ID, "a.pdf", pdf), field("claim_id", claim))...)
			seen := []string{claim, d.ID}
			if c.roles() == (warranty.Roles{}) {
				seen = nil
			}
			for i, list := range []string{"claims", "documents"} {
				want := []string{}
				if seen != nil {
					want = seen[i : i+1]
				}
				equal(t, list+" as "+c.String(), ids(t, w.Get("/api/v1/"+list+"?warranty_id="+s.record.ID, s.who(me))), want)
				if seen == nil {
					foreign := w.Get("/api/v1/"+list+"?warranty_id="+s.record.ID, s.who(me)).Body
					equal(t, list+" of a foreign warranty", foreign, w.Get("/api/v1/"+list+"?warranty_id="+unknownID, s.who(me)).Body)
				}
			}
		}
	}, busy)
}

// TestPeopleDecideTheirOwnClaimsOnlyWithoutASeller checks the rule that is not in the
// table: ownersOnly decide their own claims until a seller is linked.
func TestPeopleDecideTheirOwnClaimsOnlyWithoutASeller(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller := w.Verified("Olga"), w.Person("Sami")
		record := w.Warranty(owner.Session, fields{"seller_email": seller.Email})
		first, second := w.Claim(owner.Session, record.ID), w.Claim(owner.Session, record.ID)
		w.Must(200, moving(first, owner.Session, moveTo("under_review"))) // no seller is linked yet
		w.Must(200, made("POST", "/api/auth/verify-email", seller.Session, fields{"code": w.MailedCode(seller.Email)}))
		a := w.Do(moving(second, owner.Session, moveTo("under_review")))
		refused(t, "a claim of one's own beside a seller", a, warranty.RoleNotAllowed)
		if !strings.Contains(a.Body, "only its seller can decide") {
			t.Errorf("the refusal does not say who decides: %s", a.Body)
		}
		w.Must(200, moving(second, seller.Session, moveTo("under_review")))
		w.Must(200, moving(second, owner.Session, moveTo("withdrawn")))

		// A former owner is only the issuer, and decides alongside the seller.
		recipient := w.Person("Hedi")
		w.Transfer(record.ID, owner, recipient)
		third := w.Claim(recipient.Session, record.ID)
		w.Must(200, moving(third, owner.Session, moveTo("under_review")))
		w.Must(200, moving(third, seller.Session, moveTo("approved")))
		refused(t, "a decision of the new owner's", w.Do(moving(third, recipient.Session, moveTo("resolved"))), warranty.RoleNotAllowed)
	}, busy)
}

// TestPeopleCallsTakeNoToken sends every session-only request with a token that has
// every scope and whose owner has every role.
func TestPeopleCallsTakeNoToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scenes()(cast{me, me, me})
		claim, d := s.claimAt("under_review"), s.Upload(s.who(me), document(s.record.ID, "a.pdf", pdf)...)
		key, token := w.Token(s.people[me])
		calls := []request{
			made("POST", "/api/claims", key, claimOn(s.record.ID)),
			moving(claim, key, moveTo("approved")),
			uploading(key, document(s.record.ID, "b.pdf", pdf)...),
			made("GET", "/api/documents/"+d.ID+"/file", key, nil),
			made("HEAD", "/api/documents/"+d.ID+"/file", key, nil),
			made("DELETE", "/api/documents/"+d.ID, key, nil),
			made("POST", "/api/warranties/"+s.record.ID+"/transfer", key, fields{"email": "new@people.example"}),
			made("DELETE", "/api/warranties/"+s.record.ID+"/transfer", key, nil),
			made("POST", "/api/transfers/accept", key, fields{"code": "7K2M-9QXT-4D8P-HV3E-0AB1"}),
			made("GET", "/api/warranties/"+s.record.ID+"/history", key, nil),
			made("GET", "/api/account", key, nil),
			made("PUT", "/api/account", key, fields{"name": "Mallory"}),
		}
		known := map[string]bool{}
		for _, r := range calls {
			known[r.Method+" "+r.Path] = true
		}
		for _, op := range api.Operations() { // and all other session-only operations
			if op.Auth != api.SessionOnly {
				continue
			}
			id := s.record.ID
			if strings.Contains(op.Route(), "integration-tokens") {
				id = token
			}
			r := made(op.Method, strings.ReplaceAll(op.Route(), "{id}", id), key, nil)
			if op.HasBody() {
				r.Body = fields{}
			}
			if !known[r.Method+" "+r.Path] {
				calls = append(calls, r)
			}
		}
		before := w.Contents()
		for _, r := range calls {
			a := w.Do(r)
			if r.Method == "HEAD" {
				equal(t, r.Method+" "+r.Path, a.Status, http.StatusForbidden)
				continue
			}
			refused(t, r.Method+" "+r.Path+" with a token", a, warranty.SessionRequired)
		}
		equal(t, "changes by tokens", w.Contents(), before)
		if len(calls) < 18 {
			t.Errorf("found only %d requests", len(calls))
		}
	}, busy)
}
