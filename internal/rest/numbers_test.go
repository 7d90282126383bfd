package rest_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// numbered is the part of a claim that these tests read.
type numbered struct {
	ID          string
	Status      string
	ClaimNumber string `json:"claim_number"`
	WarrantyID  string `json:"warranty_id"`
	WebURL      string `json:"web_url"`
}

// spellings returns a number as people type it.
func spellings(number string) []string {
	return []string{
		number,
		strings.ToLower(number),
		strings.ReplaceAll(number, "-", ""),
		number[3:],
		url.PathEscape(strings.ReplaceAll(number, "-", " ")),
		strings.NewReplacer("0", "o", "1", "l").Replace(number[3:]),
	}
}

// TestNumbersAreIDs uses the reference number of a warranty and the number of a claim
// wherever their ids go.
func TestNumbersAreIDs(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		owner, seller := w.Verified("Olga"), w.Verified("Sami")
		record := w.Warranty(owner.Session, fields{"seller_email": seller.Email})
		w.Confirm(seller, record.ID)
		reference := record.ReferenceNumber
		read := w.Must(200, made("GET", "/api/v1/warranties/"+record.ID, owner.Session, nil))
		for _, typed := range spellings(reference) {
			got := w.Must(200, made("GET", "/api/v1/warranties/"+typed, owner.Session, nil))
			equal(t, typed, got.Body, read.Body)
			equal(t, typed+": ETag", got.Header.Get("ETag"), read.Header.Get("ETag"))
		}
		refused(t, "a change of another version", w.Send("PUT", "/api/v1/warranties/"+reference, owner.Session,
			fields{"category": "Kitchen"}, "If-Match", `"7"`), warranty.PreconditionFailed)
		var changed servertest.Record
		w.Must(200, made("PUT", "/api/v1/warranties/"+reference, owner.Session, fields{"category": "Kitchen"},
			"If-Match", `"2"`)).Into(t, &changed)
		equal(t, "the changed record", changed.ID, record.ID)

		var claim numbered
		w.Must(201, made("POST", "/api/claims", owner.Session, servertest.ClaimOn(strings.ToLower(reference)))).Into(t, &claim)
		equal(t, "the claim's warranty", claim.WarrantyID, record.ID)
		equal(t, "the claim's page", claim.WebURL, servertest.PublicURL+"/claims/"+claim.ID)
		stored := w.Must(200, made("GET", "/api/v1/claims/"+claim.ID, owner.Session, nil))
		for _, typed := range spellings(claim.ClaimNumber) {
			equal(t, typed, w.Must(200, made("GET", "/api/v1/claims/"+typed, owner.Session, nil)).Body, stored.Body)
		}
		var moved numbered
		w.Must(200, made("POST", "/api/claims/"+claim.ClaimNumber+"/status", seller.Session,
			fields{"status": "under_review"})).Into(t, &moved)
		equal(t, "the moved claim", moved, numbered{claim.ID, "under_review", claim.ClaimNumber, record.ID, claim.WebURL})

		paper := w.Upload(owner.Session, append(document(reference, "a.pdf", pdf),
			servertest.Field("claim_id", claim.ClaimNumber))...)
		equal(t, "the document's warranty and claim", []string{paper.WarrantyID, *paper.ClaimID}, []string{record.ID, claim.ID})
		var page struct {
			WebURL string `json:"web_url"`
		}
		w.Must(200, made("GET", "/api/v1/documents/"+paper.ID, owner.Session, nil)).Into(t, &page)
		equal(t, "the document's page", page.WebURL, servertest.PublicURL+"/documents/"+paper.ID)

		w.Warranty(owner.Session, nil)
		equal(t, "claims of it", ids(t, w.Get("/api/v1/claims?warranty_id="+reference, owner.Session)), []string{claim.ID})
		equal(t, "documents of it", ids(t, w.Get("/api/v1/documents?warranty_id="+reference, owner.Session)),
			[]string{paper.ID})

		w.Must(201, made("POST", "/api/warranties/"+reference+"/transfer", owner.Session, fields{"email": "k@k.example"}))
		w.Must(204, made("DELETE", "/api/warranties/"+reference+"/transfer", owner.Session, nil))
		history := w.Must(200, made("GET", "/api/warranties/"+reference+"/history", owner.Session, nil))
		equal(t, "history", history.Body, w.Get("/api/warranties/"+record.ID+"/history", owner.Session).Body)
		equal(t, "subjects of the history", subjects(t, history),
			[]string{record.ID, record.ID, paper.ID, claim.ID, claim.ID, record.ID, record.ID, record.ID})

		w.Must(204, made("DELETE", "/api/v1/warranties/"+reference+"?force=true", owner.Session, nil))
		refused(t, "deleted", w.Get("/api/v1/warranties/"+reference, owner.Session), warranty.NotFound)
		refused(t, "its claim", w.Get("/api/v1/claims/"+claim.ClaimNumber, owner.Session), warranty.NotFound)
	})
}

// subjects lists the ids of the records that a history is about.
func subjects(t *testing.T, a answer) (list []string) {
	t.Helper()
	var page struct {
		Data []struct {
			SubjectID string `json:"subject_id"`
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &page); err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Data {
		list = append(list, e.SubjectID)
	}
	return list
}

// TestNumbersThatAreNone sends numbers with a typo, and of the wrong kind.
func TestNumbersThatAreNone(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		record := w.Warranty(owner.Session, nil)
		var claim numbered
		w.Must(201, made("POST", "/api/claims", owner.Session, servertest.ClaimOn(record.ID))).Into(t, &claim)
		last := record.ReferenceNumber[len(record.ReferenceNumber)-1:]
		other := "2"
		if last == other {
			other = "3"
		}
		typo := strings.TrimSuffix(record.ReferenceNumber, last) + other
		zero := "00000000-0000-0000-0000-000000000000"
		for _, key := range []string{typo, claim.ClaimNumber, record.ReferenceNumber + "0", zero} {
			refused(t, key, w.Get("/api/v1/warranties/"+key, owner.Session), warranty.NotFound)
			for _, list := range []string{"claims", "documents"} {
				a := w.Get("/api/v1/"+list+"?warranty_id="+key, owner.Session)
				refused(t, list+" of "+key, a, warranty.ValidationFailed)
				equal(t, list+" of "+key, wrongFields(t, a), []string{"warranty_id invalid"})
			}
			a := w.Send("POST", "/api/claims", owner.Session, servertest.ClaimOn(key))
			equal(t, "a claim on "+key, wrongFields(t, a), []string{"warranty_id invalid"})
		}
		for _, key := range []string{record.ReferenceNumber, claim.ClaimNumber[:20], zero} {
			refused(t, key, w.Get("/api/v1/claims/"+key, owner.Session), warranty.NotFound)
		}
	})
}
