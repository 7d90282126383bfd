package servertest

import (
	"context"
	"fmt"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Transfer moves a record from its owner to another person.
func (w *World) Transfer(id string, from, to Person, along ...string) {
	w.T.Helper()
	var offer struct{ Code string }
	w.Must(201, NewRequest("POST", "/api/warranties/"+id+"/transfer", from.Session, Fields{"email": to.Email, "documents": along})).
		Into(w.T, &offer)
	w.Must(200, NewRequest("POST", "/api/transfers/accept", to.Session, Fields{"code": offer.Code}))
}

// Confirm confirms a record as its seller.
func (w *World) Confirm(seller Person, id string) {
	w.T.Helper()
	w.Must(200, NewRequest("POST", "/api/v1/confirmations/"+id, seller.Session, Fields{"decision": "confirm"},
		"If-Match", w.Waiting(seller.Session, id)))
}

// Waiting returns the etag of a record in the list of what waits for a seller's confirmation.
func (w *World) Waiting(session, id string) string {
	w.T.Helper()
	for page := 1; ; page++ {
		var list []warranty.Confirmation
		w.Must(200, NewRequest("GET", fmt.Sprintf("/api/v1/confirmations?limit=100&page=%d", page), session, nil)).
			Into(w.T, &list)
		for _, c := range list {
			if c.WarrantyID.String() == id {
				return c.ETag
			}
		}
		if len(list) == 0 {
			w.T.Fatalf("%s does not wait for confirmation", id)
		}
	}
}

// Issue makes a record that a person created an issued one: another person owns it. Only organizations can
// hand over, but people who did so before there were organizations are still issuers.
func (w *World) Issue(id string, from, to Person) {
	w.T.Helper()
	var ids [3]warranty.ID
	for i, text := range []string{id, from.ID, to.ID} {
		parsed, err := warranty.ParseID(text)
		if err != nil {
			w.T.Fatal(err)
		}
		ids[i] = parsed
	}
	if err := w.Store.Write(context.Background(), func(tx *store.Tx) error {
		return tx.MoveOwner(ids[0], ids[1], ids[2])
	}); err != nil {
		w.T.Fatal(err)
	}
}

// Incident is a date that the default record of World.Warranty covers.
const Incident = "2024-05-17"

// ClaimOn returns the body of a claim on a record.
func ClaimOn(record string) Fields {
	return Fields{"warranty_id": record, "type": "repair", "description": "It broke.", "incident_date": Incident}
}

// Claim files a claim and returns its id.
func (w *World) Claim(session, record string) string {
	w.T.Helper()
	var c struct{ ID string }
	w.Must(201, NewRequest("POST", "/api/claims", session, ClaimOn(record))).Into(w.T, &c)
	return c.ID
}

// ClaimStatus reads the status of a claim.
func (w *World) ClaimStatus(id, session string) string {
	w.T.Helper()
	var c struct{ Status string }
	w.Must(200, NewRequest("GET", "/api/v1/claims/"+id, session, nil)).Into(w.T, &c)
	return c.Status
}
