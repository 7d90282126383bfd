package service_test

import (
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// verb is a row of the table of roles in section 4 of the contract.
type verb struct {
	name    string
	allowed func(cast) bool
	// attempt creates what the verb needs and returns the request of "me".
	attempt func(s scene) request
	// hides means that who may not do it does not see what it is about.
	hides bool
}

func anyRole(c cast) bool    { return c.roles() != (warranty.Roles{}) }
func ownersOnly(c cast) bool { return c.owner == me }
func mayVoid(c cast) bool    { return c.creator == me || c.seller == me }

// seesOwners reports whether "me" sees what the owner uploaded.
func seesOwners(c cast) bool { return c.owner == me }

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
	{"read", anyRole, reading("/api/v1/warranties/{id}"), false},
	{"list history", anyRole, reading("/api/warranties/{id}/history"), false},
	{"read a claim", anyRole, func(s scene) request { return made("GET", "/api/v1/claims/"+s.claimAt("submitted"), s.who(me), nil) }, false},
	{"upload", anyRole, func(s scene) request { return uploading(s.who(me), document(s.record.ID, "a.pdf", pdf)...) }, false},
	{"upload to a claim", anyRole, func(s scene) request {
		return uploading(s.who(me), append(document(s.record.ID, "a.pdf", pdf), field("claim_id", s.claimAt("submitted")))...)
	}, false},
	{"read a document of a claim", anyRole, func(s scene) request {
		parts := append(document(s.record.ID, "a.pdf", pdf), field("claim_id", s.claimAt("submitted")))
		return made("GET", "/api/v1/documents/"+s.Upload(s.ownerSession(), parts...).ID, s.who(me), nil)
	}, false},
	{"read a business's document", anyRole, func(s scene) request {
		who := s.creator // the owner of a self-recorded warranty without a seller is no business
		if s.seller != nobody {
			who = s.seller
		} else if s.creator == s.owner {
			who = s.owner
		}
		return made("GET", "/api/v1/documents/"+s.Upload(s.who(who), document(s.record.ID, "a.pdf", pdf)...).ID, s.who(me), nil)
	}, false},
	{"read the owner's document", seesOwners, func(s scene) request {
		return made("GET", "/api/v1/documents/"+s.Upload(s.ownerSession(), document(s.record.ID, "a.pdf", pdf)...).ID, s.who(me), nil)
	}, true},
	{"download the owner's document", seesOwners, func(s scene) request {
		return made("GET", "/api/documents/"+s.Upload(s.ownerSession(), document(s.record.ID, "a.pdf", pdf)...).ID+"/file", s.who(me), nil)
	}, true},
	{"delete a document of one's own", anyRole, func(s scene) request { return deletion(s, me) }, false},
	{"delete a document of another's", ownersOnly, func(s scene) request { return deletion(s, another) }, false},
	{"change the product", cast.promises, setting(fields{"product_name": "Pot"}), false},
	{"extend it", cast.promises, setting(fields{"end_date": "2099-12-30"}), false},
	{"change the supplier and the status", cast.promises, setting(fields{"supplier": "ACME", "status": "active"}), false},
	{"change the category", ownersOnly, setting(fields{"category": "Kitchen"}), false},
	{"void", mayVoid, setting(fields{"status": "void", "status_reason": "Returned."}), false},
	{"reinstate", mayVoid, func(s scene) request {
		s.Must(200, made("PUT", s.path(), s.who(s.creator), fields{"status": "void"}))
		return made("PUT", s.path(), s.who(me), fields{"status": "active"})
	}, false},
	{"transfer", ownersOnly, func(s scene) request {
		s.Must(200, made("PUT", s.path(), s.who(s.creator), fields{"status": "active"}))
		return made("POST", "/api/warranties/"+s.record.ID+"/transfer", s.who(me), fields{"email": "new@people.example"})
	}, false},
	{"cancel a transfer", ownersOnly, func(s scene) request {
		s.Must(201, made("POST", "/api/warranties/"+s.record.ID+"/transfer", s.ownerSession(), fields{"email": "new@people.example"}))
		return made("DELETE", "/api/warranties/"+s.record.ID+"/transfer", s.who(me), nil)
	}, false},
	{"file a claim", ownersOnly, func(s scene) request { return made("POST", "/api/claims", s.who(me), claimOn(s.record.ID)) }, false},
	{"answer", ownersOnly, move("info_requested", "under_review"), false},
	{"appeal", ownersOnly, move("rejected", "under_review"), false},
	{"withdraw at once", ownersOnly, move("submitted", "withdrawn"), false},
	{"withdraw under review", ownersOnly, move("under_review", "withdrawn"), false},
	{"withdraw when asked", ownersOnly, move("info_requested", "withdrawn"), false},
	{"review", cast.mayDecide, move("submitted", "under_review"), false},
	{"ask", cast.mayDecide, move("under_review", "info_requested"), false},
	{"approve", cast.mayDecide, move("under_review", "approved"), false},
	{"reject", cast.mayDecide, move("under_review", "rejected"), false},
	{"reject when asked", cast.mayDecide, move("info_requested", "rejected"), false},
	{"begin", cast.mayDecide, move("approved", "in_progress"), false},
	{"resolve at once", cast.mayDecide, move("approved", "resolved"), false},
	{"resolve", cast.mayDecide, move("in_progress", "resolved"), false},
	{"cancel", cast.promises, setting(fields{"status": "cancelled"}), false},
	{"delete, or remove from the account", ownersOnly, func(s scene) request { return made("DELETE", s.path()+"?force=true", s.who(me), nil) }, false},
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
			s.Transfer(s.record.ID, s.people[third], s.people[me], d.ID)
			return made("DELETE", "/api/documents/"+d.ID, s.who(me), nil)
		}
	}
	parts := append(document(s.record.ID, "a.pdf", pdf), field("claim_id", s.claimAt("submitted"))) // everyone sees it
	if uploader == me && s.roles() == (warranty.Roles{}) {
		s.Transfer(s.record.ID, s.people[s.owner], s.people[me])
		defer s.Transfer(s.record.ID, s.people[me], s.people[s.owner])
	}
	d := s.Upload(session, parts...)
	return made("DELETE", "/api/documents/"+d.ID, s.who(me), nil)
}

// TestPeopleDoWhatTheirRolesAllow tries every verb with every cast.
// Allowed verbs add one event to the history; refused ones change no row and no file.
func TestPeopleDoWhatTheirRolesAllow(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		stage := w.scenes()
		for i, c := range casts {
			if i%4 != 0 && w.samples() {
				continue
			}
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
				files, code := w.Stored(), notAllowed(c.roles())
				if v.hides {
					code = warranty.NotFound
				}
				w.Unchanged(t, what, func() { refused(t, what, w.Do(r), code) })
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

// TestOwnersKeepALogUntilASellerConfirms: on a self-recorded warranty the owner moves a claim, until there is
// a confirmed seller who decides. Whether the address belongs to someone changes nothing before.
func TestOwnersKeepALogUntilASellerConfirms(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller := w.Verified("Olga"), w.Verified("Sami")
		record := w.Warranty(owner.Session, fields{"seller_email": seller.Email})
		first, second := w.Claim(owner.Session, record.ID), w.Claim(owner.Session, record.ID)
		managed := func(who servertest.Person) string {
			var c struct {
				ManagedBy string `json:"managed_by"`
			}
			w.Must(200, made("GET", "/api/v1/claims/"+first, who.Session, nil)).Into(t, &c)
			return c.ManagedBy
		}
		equal(t, "before a seller confirms", managed(owner), "owner")
		for _, status := range []string{"under_review", "approved", "in_progress", "resolved"} {
			w.Must(200, moving(first, owner.Session, moveTo(status)))
		}
		w.Confirm(seller, record.ID)
		equal(t, "after the seller confirmed", managed(owner), "business")
		equal(t, "for the seller", managed(seller), "business")
		a := w.Do(moving(second, owner.Session, moveTo("under_review")))
		refused(t, "a claim of one's own beside a seller", a, warranty.RoleNotAllowed)
		if !strings.Contains(a.Body, "only its seller can decide") {
			t.Errorf("the refusal does not say who decides: %s", a.Body)
		}
		w.Must(200, moving(second, seller.Session, moveTo("under_review")))
		w.Must(204, made("DELETE", "/api/v1/warranties/"+record.ID+"/seller", seller.Session, nil))
		equal(t, "after the seller left", managed(owner), "owner")
		w.Must(200, moving(second, owner.Session, moveTo("approved")))

		// The issuer of an issued warranty decides, and the owner does not.
		recipient := w.Person("Hedi")
		w.Issue(record.ID, owner, recipient)
		third := w.Claim(recipient.Session, record.ID)
		refused(t, "a decision of the new owner's", w.Do(moving(third, recipient.Session, moveTo("under_review"))), warranty.RoleNotAllowed)
		w.Must(200, moving(third, owner.Session, moveTo("under_review")))
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
