package servertest

// Transfer moves a record from its owner to another person.
func (w *World) Transfer(id string, from, to Person) {
	w.T.Helper()
	var offer struct{ Code string }
	w.Must(201, NewRequest("POST", "/api/warranties/"+id+"/transfer", from.Session, Fields{"email": to.Email})).
		Into(w.T, &offer)
	w.Must(200, NewRequest("POST", "/api/transfers/accept", to.Session, Fields{"code": offer.Code}))
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
