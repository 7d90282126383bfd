package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
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

// mayDecide is the rule in section 4 of the contract: sellers may decide, and issuers
// unless they are also the owner and a seller is linked.
func (c cast) mayDecide() bool {
	return c.seller == me || c.creator == me && !(c.owner == me && c.seller != nobody)
}

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
		if c.owner != c.creator {
			w.transfer(s.record.ID, people[c.creator], people[c.owner])
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

// transfer moves a record from its owner to another person.
func (w *world) transfer(id string, from, to servertest.Person) {
	w.T.Helper()
	var offer struct{ Code string }
	w.Must(201, made("POST", "/api/warranties/"+id+"/transfer", from.Session, fields{"email": to.Email})).Into(w.T, &offer)
	w.Must(200, made("POST", "/api/transfers/accept", to.Session, fields{"code": offer.Code}))
}

// --- claims ----------------------------------------------------------------------

const incident = "2024-05-17" // covered by the default record of World.Warranty

func claimOn(record string) fields {
	return fields{"warranty_id": record, "type": "repair", "description": "It broke.", "incident_date": incident}
}

// claim files a claim and returns its id.
func (w *world) claim(session, record string) string {
	w.T.Helper()
	var c struct{ ID string }
	w.Must(201, made("POST", "/api/claims", session, claimOn(record))).Into(w.T, &c)
	return c.ID
}

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
	id := s.claim(s.ownerSession(), s.record.ID)
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

// claimStatus reads the status of a claim.
func (w *world) claimStatus(id, session string) string {
	w.T.Helper()
	var c struct{ Status string }
	w.Must(200, made("GET", "/api/v1/claims/"+id, session, nil)).Into(w.T, &c)
	return c.Status
}

// --- documents -------------------------------------------------------------------

// Small files of every accepted type.
var (
	pdf  = "%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj\x00endobj"
	jpeg = "\xFF\xD8\xFF\xE0\x00\x10JFIF\x00\x01"
	png  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	webp = "RIFF\x24\x00\x00\x00WEBPVP8 "
	text = "Terms: none.\nGrüße, 保証書\n"
)

// part is a part of a multipart form. disposition overrides the header that the names produce.
type part struct{ name, fileName, value, disposition string }

const boundary = "--------boundary"

// form encodes parts without validating or escaping them.
func form(parts ...part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.disposition == "" {
			p.disposition = `form-data; name="` + p.name + `"`
			if p.fileName != "" {
				p.disposition += `; filename="` + p.fileName + `"`
			}
		}
		b.WriteString("--" + boundary + "\r\nContent-Disposition: " + p.disposition + "\r\nContent-Type: application/octet-stream\r\n\r\n" + p.value + "\r\n")
	}
	return b.String() + "--" + boundary + "--\r\n"
}

func field(name, value string) part { return part{name: name, value: value} }

func file(name, content string) part { return part{name: "file", fileName: name, value: content} }

// document returns the parts of an ordinary upload.
func document(record, name, content string) []part {
	return []part{field("warranty_id", record), field("type", "receipt"), file(name, content)}
}

func uploading(secret string, parts ...part) request {
	return made("POST", "/api/documents", secret, form(parts...), "Content-Type", `multipart/form-data; boundary="`+boundary+`"`)
}

// uploaded is a document in a response.
type uploaded struct {
	ID, Type, SHA256 string
	WarrantyID       string  `json:"warranty_id"`
	ClaimID          *string `json:"claim_id"`
	FileName         string  `json:"file_name"`
	ContentType      string  `json:"content_type"`
	SizeBytes        int64   `json:"size_bytes"`
}

func (w *world) upload(secret string, parts ...part) uploaded {
	w.T.Helper()
	var d uploaded
	w.Must(201, uploading(secret, parts...)).Into(w.T, &d)
	return d
}

func sum(content string) string {
	hash := sha256.Sum256([]byte(content))
	return hex.EncodeToString(hash[:])
}

// stored lists the files on disk, except those of deleted documents, which are kept
// for a day.
func (w *world) stored() []string {
	w.T.Helper()
	deleted := w.rows(`SELECT storage_key FROM unused_files WHERE state = 1`)
	list := []string{}
	err := filepath.WalkDir(w.Folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != "id" && !slices.Contains(deleted, entry.Name()) {
			path, err = filepath.Rel(w.Folder, path)
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	slices.Sort(list)
	return list
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

// ok fails the test unless the response is a success.
func ok(t testing.TB, what string, a answer) {
	t.Helper()
	if a.Status >= http.StatusBadRequest {
		t.Errorf("%s: got %d %s", what, a.Status, a.Body)
	}
}
