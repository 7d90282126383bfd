package service_test

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
)

// TestStorageLimit exceeds the storage limit of a user with concurrent uploads to
// several warranties: exactly what fits is stored, and deletions free space.
func TestStorageLimit(t *testing.T) {
	const size, fit, uploads = 1000, 10, 16 // a user may send 16 at once
	whole := pdf + strings.Repeat("\x00", size-len(pdf))
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		olga, otto := w.Verified("Olga"), w.Verified("Otto")
		var records []string
		for range 8 {
			records = append(records, w.Warranty(olga.Session, nil).ID)
		}
		outcomes, _ := servertest.Flood(t, worlds, uploads, func(i int) request {
			return uploading(olga.Session, document(records[i%len(records)], "receipt.pdf", whole)...)
		})
		equal(t, "uploads at once", outcomes, map[string]int{"201": fit, "422 validation_failed": uploads - fit})
		equal(t, "documents", len(ids(t, w.Get("/api/v1/documents?limit=100", olga.Session))), fit)
		equal(t, "files", len(w.Stored()), fit)

		tooMuch := func(what, name, content string) {
			t.Helper()
			equal(t, what, wrongFields(t, w.Do(uploading(olga.Session, document(records[1], name, content)...))), []string{"file storage_full"})
		}
		tooMuch("one byte more", "more.txt", "x")
		w.SignedIn(t, olga).Get("/documents").Says(t, "the page", 200, "9 KiB of 9 KiB used")
		w.Upload(otto.Session, document(w.Warranty(otto.Session, nil).ID, "receipt.pdf", whole)...)

		listed := ids(t, w.Get("/api/v1/documents?limit=100", olga.Session))
		w.Must(204, made("DELETE", "/api/documents/"+listed[0], olga.Session, nil))
		tooMuch("a byte more than was removed", "more.pdf", whole+"\x00")
		w.Upload(olga.Session, document(records[0], "as much.pdf", whole)...)

		// Deleting a warranty frees the space of its documents once it has left the trash.
		kept := len(ids(t, w.Get("/api/v1/documents?limit=100&warranty_id="+records[0], olga.Session)))
		w.Must(204, made("DELETE", "/api/v1/warranties/"+records[0], olga.Session, nil))
		tooMuch("the trash", "more.txt", "x")
		w.execute(`UPDATE trash SET deleted_at = 1`)
		if err := w.Service.EmptyTrash(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "rows of the deleted warranty", w.Count(`SELECT count(*) FROM documents`), fit+1-kept)
		for range kept {
			w.Upload(olga.Session, document(records[1], "again.pdf", whole)...)
		}
		tooMuch("full again", "more.txt", "x")
	}, busy, func(s *server.Server) { s.Service.StorageLimit = size * fit })
}

// TestDeletedWarrantiesLeaveNoFiles deletes a warranty with uploads of several people.
func TestDeletedWarrantiesLeaveNoFiles(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		s := w.scenes()(cast{creator: me, seller: third, owner: me})
		for _, who := range []string{me, third} {
			s.Upload(s.who(who), document(s.record.ID, "receipt.pdf", pdf)...)
		}
		other := s.Upload(s.who(me), document(w.Warranty(s.who(me), nil).ID, "kept.pdf", pdf)...)
		s.Must(204, made("DELETE", "/api/v1/warranties/"+s.record.ID, s.who(me), nil))
		equal(t, "files with the trash", len(s.Stored()), 3)
		w.execute(`UPDATE trash SET deleted_at = 1`)
		if err := w.Service.EmptyTrash(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "files", len(s.Stored()), 1)
		equal(t, "remaining", s.Must(200, made("GET", "/api/documents/"+other.ID+"/file", s.who(me), nil)).Body, pdf)
	}, busy)
}
