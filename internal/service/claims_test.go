package service_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// claimMoves are all status changes in section 5 of the contract, with the role that makes each.
var claimMoves = map[string]string{
	"submitted":      "under_review:decider info_requested:decider approved:decider rejected:decider withdrawn:owner",
	"under_review":   "info_requested:decider approved:decider rejected:decider withdrawn:owner",
	"info_requested": "under_review:owner rejected:decider withdrawn:owner",
	"approved":       "in_progress:decider resolved:decider",
	"in_progress":    "resolved:decider",
	"rejected":       "under_review:owner",
	"resolved":       "",
	"withdrawn":      "",
}

// TestPeopleMoveClaimsAsTheContractSays tries all 64 status changes as the owner and
// as the decider.
func TestPeopleMoveClaimsAsTheContractSays(t *testing.T) {
	statuses := slices.Sorted(maps.Keys(claimMoves))
	eachInTurn(t, func(t *testing.T, w *world) {
		s := w.scenes()(cast{creator: another, seller: nobody, owner: me})
		sessions := map[string]string{"owner": s.ownerSession(), "decider": s.deciderSession()}
		for _, from := range statuses {
			mover := map[string]string{} // the role that may change to a status, if any
			var names []string
			for move := range strings.FieldsSeq(claimMoves[from]) {
				to, who, _ := strings.Cut(move, ":")
				mover[to], names = who, append(names, to)
			}
			says := "The claim is " + from + ". It can only change to: " + strings.Join(names, ", ") + "."
			if len(names) == 0 {
				says = "The claim is " + from + " and can no longer change status."
			}
			standing := s.claimAt(from)
			before := w.Contents()
			for _, to := range statuses {
				for _, who := range []string{"owner", "decider"} {
					what := from + " to " + to + " by the " + who
					if mover[to] == who {
						continue // below
					}
					a := w.Do(moving(standing, sessions[who], moveTo(to)))
					if mover[to] != "" {
						refused(t, what, a, warranty.RoleNotAllowed)
						continue
					}
					refused(t, what, a, warranty.InvalidTransition)
					equal(t, what+": detail", problemOf(t, a).Detail, says)
				}
			}
			equal(t, "changes by refused moves from "+from, w.Contents(), before)
			for to, who := range mover {
				w.allowedMove(t, s, from, to, sessions[who])
			}
		}
	}, busy)
}

// claimSeen returns the fields of a claim.
func claimSeen(t *testing.T, a servertest.Answer) (fields map[string]any) {
	t.Helper()
	a.Into(t, &fields)
	return fields
}

// movedClaim is a claim in a response after a status change.
type movedClaim struct {
	Status                  string
	StatusReason            *string    `json:"status_reason"`
	Resolution              *string    `json:"resolution"`
	ResolutionNote          *string    `json:"resolution_note"`
	ReplacementSerialNumber *string    `json:"replacement_serial_number"`
	ResolvedAt              *time.Time `json:"resolved_at"`
	UpdatedAt               time.Time  `json:"updated_at"`
	CreatedAt               time.Time  `json:"created_at"`
}

// allowedMove changes the status of a claim and checks the claim as each reader sees it.
func (w *world) allowedMove(t *testing.T, s scene, from, to, session string) {
	t.Helper()
	what := from + " to " + to
	id := s.claimAt(from)
	body := moveTo(to)
	body["reason"] = " Two lines\nof reason. "
	if to == "resolved" {
		maps.Copy(body, fields{"resolution": "replaced", "resolution_note": "New one sent.", "replacement_serial_number": "SN-2"})
	}
	a := w.Do(moving(id, session, body))
	want(t, what, a, 200, "")
	var got movedClaim
	a.Into(t, &got)
	wanted := movedClaim{Status: to, StatusReason: new("Two lines\nof reason."), UpdatedAt: got.UpdatedAt, CreatedAt: got.CreatedAt}
	if to == "resolved" {
		wanted.Resolution, wanted.ResolutionNote, wanted.ReplacementSerialNumber, wanted.ResolvedAt = new("replaced"), new("New one sent."), new("SN-2"), &got.UpdatedAt
	}
	equal(t, what, got, wanted)
	if !got.UpdatedAt.After(got.CreatedAt) {
		t.Errorf("%s: updated_at is %v", what, got.UpdatedAt)
	}
	for _, session := range []string{s.ownerSession(), s.deciderSession()} {
		seen, made := claimSeen(t, w.Get("/api/v1/claims/"+id, session)), claimSeen(t, a)
		equal(t, what+", customer", seen["customer"] != nil, session == s.deciderSession())
		for _, own := range []string{"customer", "assignee", "queue"} { // of the reader's side
			delete(seen, own)
			delete(made, own)
		}
		equal(t, what+", read", seen, made)
		if list := ids(t, w.Get("/api/v1/claims?limit=100&status="+to+"&warranty_id="+s.record.ID, session)); !slices.Contains(list, id) {
			t.Errorf("%s: the list of %s claims lacks the claim", what, to)
		}
		if list := ids(t, w.Get("/api/v1/claims?limit=100&status="+from+"&warranty_id="+s.record.ID, session)); slices.Contains(list, id) {
			t.Errorf("%s: the list of %s claims still has the claim", what, from)
		}
	}
}

// TestPeopleSayWhyAndHow checks the required fields of each status change: a reason to
// reject and to ask for information, a resolution for the final statuses only.
func TestPeopleSayWhyAndHow(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		s := w.scenes()(cast{creator: another, seller: nobody, owner: me})
		at := map[string]string{}
		for _, status := range []string{"submitted", "under_review", "info_requested", "approved", "in_progress", "rejected"} {
			at[status] = s.claimAt(status)
		}
		long := strings.Repeat("é", 5001)
		type try struct {
			from  string
			body  fields
			wrong []string
		}
		tries := []try{
			{"submitted", fields{}, []string{"status required"}},
			{"submitted", fields{"status": nil}, []string{"status required"}},
			{"submitted", fields{"status": "done"}, []string{"status invalid"}},
			{"submitted", fields{"status": 2}, []string{"status wrong_type"}},
			{"submitted", fields{"status": "under_review", "reson": "x"}, []string{"reson unknown_field"}},
			{"submitted", fields{"status": "under_review", "reason": long}, []string{"reason too_long"}},
			{"submitted", fields{"status": "under_review", "reason": "\u202e"}, []string{"reason forbidden_character"}},
			{"under_review", fields{"status": "rejected"}, []string{"reason required"}},
			{"under_review", fields{"status": "rejected", "reason": " \n "}, []string{"reason required"}},
			{"under_review", fields{"status": "info_requested"}, []string{"reason required"}},
			{"info_requested", fields{"status": "rejected", "reason": nil}, []string{"reason required"}},
			{"approved", fields{"status": "resolved"}, []string{"resolution required"}},
			{"in_progress", fields{"status": "resolved", "resolution": "given up"}, []string{"resolution invalid"}},
			{"in_progress", fields{"status": "resolved", "resolution": "repaired", "resolution_note": long, "replacement_serial_number": strings.Repeat("1", 121)},
				[]string{"replacement_serial_number too_long", "resolution_note too_long"}},
			{"in_progress", fields{"status": "resolved", "resolution_note": "x", "reason": "\x00"}, []string{"reason forbidden_character", "resolution required"}},
		}
		for _, status := range []string{"under_review", "info_requested", "approved", "rejected", "in_progress", "withdrawn", "submitted"} {
			body := moveTo(status)
			maps.Copy(body, fields{"resolution": "repaired", "resolution_note": "x", "replacement_serial_number": "1"})
			tries = append(tries, try{"under_review", body,
				[]string{"replacement_serial_number not_accepted", "resolution not_accepted", "resolution_note not_accepted"}})
		}
		w.Unchanged(t, "moves without required fields", func() {
			for _, c := range tries {
				what := fmt.Sprintf("%s, %v", c.from, c.body)
				a := w.Do(moving(at[c.from], s.deciderSession(), c.body))
				refused(t, what, a, warranty.ValidationFailed)
				wrong := wrongFields(t, a)
				slices.Sort(wrong)
				equal(t, what, wrong, c.wrong)
			}
		})
		// Optional fields may be omitted and are then null.
		w.Must(200, moving(at["under_review"], s.deciderSession(), fields{"status": "approved"}))
		var got movedClaim
		w.Must(200, moving(at["in_progress"], s.deciderSession(), fields{"status": "resolved", "resolution": "store_credit"})).Into(t, &got)
		equal(t, "resolved in short", got, movedClaim{Status: "resolved", Resolution: new("store_credit"), ResolvedAt: &got.UpdatedAt, UpdatedAt: got.UpdatedAt, CreatedAt: got.CreatedAt})
		// An appeal replaces the reason.
		w.Must(200, moving(at["rejected"], s.ownerSession(), fields{"status": "under_review"})).Into(t, &got)
		if got.StatusReason != nil {
			t.Errorf("the reason of the rejection is still there: %s", *got.StatusReason)
		}
	}, busy)
}

// TestPeopleAreCoveredOnTheDayOfTheIncident checks that coverage depends on the date of
// the incident, not on today's date.
func TestPeopleAreCoveredOnTheDayOfTheIncident(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		clock.SetTo(t, "2026-06-15T23:59:59Z")
		owner := w.Verified("Olga")
		records := map[string]servertest.Record{
			"running":  w.Warranty(owner.Session, fields{"start_date": "2026-01-01", "end_date": "2026-12-31"}),
			"ended":    w.Warranty(owner.Session, fields{"start_date": "2025-01-01", "end_date": "2026-06-14"}),
			"last day": w.Warranty(owner.Session, fields{"start_date": "2025-01-01", "end_date": "2026-06-15"}),
			"to come":  w.Warranty(owner.Session, fields{"start_date": "2026-06-16", "end_date": "2027-06-15"}),
			"for life": w.Warranty(owner.Session, fields{"start_date": "2000-02-29", "end_date": "9999-12-31"}),
			"one day":  w.Warranty(owner.Session, fields{"start_date": "2026-03-01", "end_date": "2026-03-01"}),
			"void":     w.Warranty(owner.Session, nil), "cancelled": w.Warranty(owner.Session, nil),
		}
		for _, status := range []string{"void", "cancelled"} {
			w.Must(200, made("PUT", "/api/v1/warranties/"+records[status].ID, owner.Session, fields{"status": status}))
		}
		for _, c := range []struct{ record, day, wrong string }{
			{"running", "2026-06-15", ""},
			{"running", "2026-01-01", ""},
			{"running", "2025-12-31", "incident_date not_covered"},
			{"running", "2026-06-16", "incident_date in_the_future"},
			{"running", "2026-12-31", "incident_date in_the_future"},
			{"ended", "2026-06-14", ""},
			{"ended", "2025-01-01", ""},
			{"ended", "2024-12-31", "incident_date not_covered"},
			{"ended", "2026-06-15", "incident_date not_covered"},
			{"last day", "2026-06-15", ""},
			{"to come", "2026-06-15", "incident_date not_covered"},
			{"to come", "2026-06-16", "incident_date in_the_future"},
			{"for life", "2000-02-29", ""},
			{"for life", "2026-06-15", ""},
			{"for life", "2000-02-28", "incident_date not_covered"},
			{"one day", "2026-03-01", ""},
			{"one day", "2026-02-28", "incident_date not_covered"},
			{"one day", "2026-03-02", "incident_date not_covered"},
			{"void", incident, "warranty_id not_covered"},
			{"cancelled", incident, "warranty_id not_covered"},
			{"void", "2026-06-16", "warranty_id not_covered, incident_date in_the_future"},
		} {
			what := c.record + " on " + c.day
			body := claimOn(records[c.record].ID)
			body["incident_date"] = c.day
			if c.wrong == "" {
				a := w.Must(201, made("POST", "/api/claims", owner.Session, body))
				var claim struct {
					ID, Status   string
					ClaimNumber  string `json:"claim_number"`
					IncidentDate string `json:"incident_date"`
					Warranty     struct {
						ReferenceNumber string `json:"reference_number"`
					}
				}
				a.Into(t, &claim)
				equal(t, what+": status", claim.Status, "submitted")
				equal(t, what+": day", claim.IncidentDate, c.day)
				equal(t, what+": warranty", claim.Warranty.ReferenceNumber, records[c.record].ReferenceNumber)
				equal(t, what+": Location", a.Header.Get("Location"), servertest.PublicURL+"/api/v1/claims/"+claim.ID)
				if !strings.HasPrefix(claim.ClaimNumber, "CL-") {
					t.Errorf("%s: the claim number is %s", what, claim.ClaimNumber)
				}
				equal(t, what+", read", w.Get("/api/v1/claims/"+claim.ID, owner.Session).Body, a.Body)
				continue
			}
			w.Unchanged(t, what, func() {
				a := w.Send("POST", "/api/claims", owner.Session, body)
				refused(t, what, a, warranty.ValidationFailed)
				equal(t, what, strings.Join(wrongFields(t, a), ", "), c.wrong)
			})
		}
		// A reinstated warranty covers again, and a claim is possible from the incident date on.
		w.Must(200, made("PUT", "/api/v1/warranties/"+records["void"].ID, owner.Session, fields{"status": "active"}))
		w.Claim(owner.Session, records["void"].ID)
		clock.SetTo(t, "2026-06-16T00:00:00Z")
		body := claimOn(records["to come"].ID)
		body["incident_date"] = "2026-06-16"
		w.Must(201, made("POST", "/api/claims", owner.Session, body))
	}, busy)
}

// TestPeopleFileClaimsWithAllFields expects all field errors in one response.
func TestPeopleFileClaimsWithAllFields(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		record := w.Warranty(owner.Session, nil)
		for _, c := range []struct {
			change fields
			wrong  []string
		}{
			{fields{"warranty_id": nil, "type": nil, "description": nil, "incident_date": nil},
				[]string{"description required", "incident_date required", "type required", "warranty_id required"}},
			{fields{"warranty_id": "x", "type": "theft", "description": " ", "incident_date": "17.5.2024"},
				[]string{"description required", "incident_date invalid", "type invalid", "warranty_id invalid"}},
			{fields{"description": strings.Repeat("x", 5001)}, []string{"description too_long"}},
			{fields{"description": "\x1b[2J"}, []string{"description forbidden_character"}},
			{fields{"status": "approved"}, []string{"status unknown_field"}},
			{fields{"claim_number": "CL-1", "id": unknownID}, []string{"claim_number unknown_field", "id unknown_field"}},
		} {
			body := claimOn(record.ID)
			maps.Copy(body, c.change)
			w.Unchanged(t, fmt.Sprint(c.change), func() {
				a := w.Send("POST", "/api/claims", owner.Session, body)
				refused(t, fmt.Sprint(c.change), a, warranty.ValidationFailed)
				wrong := wrongFields(t, a)
				slices.Sort(wrong)
				equal(t, fmt.Sprint(c.change), wrong, c.wrong)
			})
		}
		body := claimOn(unknownID)
		refused(t, "an unknown warranty", w.Send("POST", "/api/claims", owner.Session, body), warranty.NotFound)
		refused(t, "an unknown claim", w.Do(moving(unknownID, owner.Session, moveTo("withdrawn"))), warranty.NotFound)
	}, busy)
}

// TestPeopleWhoDecideAtOnce lets two people decide the same claim concurrently, on
// different replicas if there are any: one succeeds, the other gets a conflict.
func TestPeopleWhoDecideAtOnce(t *testing.T) {
	const rounds = 25
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		s := w.scenes()(cast{creator: another, seller: third, owner: me})
		for _, pair := range []struct{ from, one, other, by string }{
			{"under_review", "approved", "rejected", another},
			{"under_review", "approved", "withdrawn", me},
			{"under_review", "info_requested", "approved", another},
			{"approved", "resolved", "resolved", another},
		} {
			for range rounds {
				id := s.claimAt(pair.from)
				events := w.Count(`SELECT count(*) FROM history`)
				count, answers := servertest.Flood(t, worlds, 2, func(i int) request {
					if i == 0 {
						return moving(id, s.who(third), moveTo(pair.one))
					}
					return moving(id, s.who(pair.by), moveTo(pair.other))
				})
				what := pair.from + " to " + pair.one + " and " + pair.other + " at once"
				equal(t, what, count, map[string]int{"200": 1, "409 invalid_transition": 1})
				winner := pair.one
				if answers[1].Status == 200 {
					winner = pair.other
				}
				equal(t, what+": status", w.ClaimStatus(id, s.who(me)), winner)
				equal(t, what+": events", w.Count(`SELECT count(*) FROM history`), events+1)
				if t.Failed() {
					return
				}
			}
		}
	}, busy)
}
