package service_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// keep keeps a file for a person, for a message about a claim unless it is nil.
func (w *world) keep(who warranty.Principal, name, content string, claim *warranty.Claim) (service.KeptFile, error) {
	w.T.Helper()
	stored, err := w.Service.StoreFile(context.Background(), strings.NewReader(content))
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Service.KeepFile(context.Background(), who, stored, warranty.UploadDocument{Type: warranty.Receipt, FileName: name}, claim)
}

// TestKeptFilesBelongToOnePerson keeps a file: only its person sees it and makes it a document, once, and it counts as
// storage.
func TestKeptFilesBelongToOnePerson(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		olga, otto := w.person("Olga", true), w.person("Otto", true)
		record, foreign := w.record(olga, ""), w.record(otto, "")
		kept, err := w.keep(olga.Principal, "إيصال.pdf", pdf, nil)
		if err != nil {
			t.Fatal(err)
		}
		attach := func(who person, to warranty.ID) (warranty.Document, error) {
			return w.Service.AttachKept(t.Context(), who.Principal, kept.ID,
				warranty.UploadDocument{WarrantyID: warranty.WarrantyKey{ID: to}, Type: warranty.Receipt})
		}
		names := func(who person) int {
			list, err := w.Service.KeptFiles(t.Context(), who.Principal, []string{kept.ID.String(), "nonsense"})
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		equal(t, "of Olga", names(olga), 1)
		equal(t, "of Otto", names(otto), 0)
		if _, err := attach(otto, foreign.ID); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("another person's file: %v", err)
		}
		if _, err := attach(olga, foreign.ID); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("to another person's warranty: %v", err)
		}
		if err := w.Service.DropKept(t.Context(), otto.Principal, kept.ID); err != nil {
			t.Fatal(err)
		}
		equal(t, "after Otto tried", names(olga), 1)
		used, err := w.Store.Uploaded(t.Context(), olga.User.ID)
		if err != nil || used != int64(len(pdf)) {
			t.Errorf("%d bytes are used, %v", used, err)
		}
		d, err := attach(olga, record.ID)
		if err != nil || d.ID != kept.ID || d.FileName != "إيصال.pdf" {
			t.Fatalf("attached: %+v, %v", d, err)
		}
		if again, err := attach(olga, record.ID); err != nil || again.ID != d.ID {
			t.Errorf("sent twice: %v", err)
		}
		equal(t, "files", w.in(files.Complete), 1)
		equal(t, "documents", w.Count(`SELECT count(*) FROM documents`), 1)
	})
}

// TestKeptFilesOfOneClaim attaches kept files to claims: the same file once, and none that another claim has.
func TestKeptFilesOfOneClaim(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		record := w.record(olga, "")
		first, second := w.claim(olga, record.ID), w.claim(olga, record.ID)
		attach := func(claim warranty.Claim, id warranty.ID) (warranty.Document, error) {
			return w.Service.AttachKept(t.Context(), olga.Principal, id, warranty.UploadDocument{
				WarrantyID: warranty.WarrantyKey{ID: record.ID}, ClaimID: warranty.ClaimKey{ID: claim.ID}, Type: warranty.ClaimEvidence})
		}
		var ids []warranty.ID
		for range 2 { // the form was sent twice, with its file
			kept, err := w.keep(olga.Principal, "a.pdf", pdf, nil)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, kept.ID)
			if d, err := attach(first, kept.ID); err != nil || d.ID != ids[0] {
				t.Errorf("attached: %v, %v", d.ID, err)
			}
		}
		if d, err := attach(first, ids[0]); err != nil || d.ID != ids[0] {
			t.Errorf("again: %v, %v", d.ID, err)
		}
		if _, err := attach(second, ids[0]); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("a file of another claim: %v", err)
		}
		equal(t, "documents", w.Count(`SELECT count(*) FROM documents`), 1)
		equal(t, "kept files", w.Count(`SELECT count(*) FROM held_files`), 0)
	})
}

// TestKeptFilesExpire keeps files that nobody uses: they are deleted after a day, and not by the sweep before.
func TestKeptFilesExpire(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		dropped, err := w.keep(olga.Principal, "a.pdf", pdf, nil)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := w.keep(olga.Principal, "b.pdf", pdf, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Service.DropKept(t.Context(), olga.Principal, dropped.ID); err != nil {
			t.Fatal(err)
		}
		used, err := w.Store.Uploaded(t.Context(), olga.User.ID)
		if err != nil || used != int64(len(pdf)) {
			t.Errorf("%d bytes are used, %v", used, err)
		}
		expire := func() {
			if err := w.Service.ExpireKept(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.sweepFor(23 * time.Hour)
		expire()
		equal(t, "after 23 hours", w.Count(`SELECT count(*) FROM held_files`), 1)
		w.sweepFor(2 * time.Hour)
		// Expired rows are refused whether or not they were removed.
		list, err := w.Service.KeptFiles(t.Context(), olga.Principal, []string{kept.ID.String()})
		if err != nil || len(list) != 0 {
			t.Errorf("expired: %v, %v", list, err)
		}
		expire()
		equal(t, "after a day", w.Count(`SELECT count(*) FROM held_files`), 0)
		if !strings.Contains(w.Log.String(), "deleted files of forms and messages") {
			t.Error("the log does not say so")
		}
		w.sweepFor(26 * time.Hour)
		equal(t, "files", w.in(files.Complete)+w.in(files.Trash), 0)
	})
}

// TestKeptFilesAreBounded keeps as many files as a person may, and more: the oldest one of this person goes.
func TestKeptFilesAreBounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, otto := w.person("Olga", true), w.person("Otto", true)
		if _, err := w.keep(otto.Principal, "a.txt", "x", nil); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := range 51 {
			kept, err := w.keep(olga.Principal, "a.txt", "x", nil)
			if err != nil {
				t.Fatalf("file %d: %v", i, err)
			}
			ids = append(ids, kept.ID.String())
		}
		list, err := w.Service.KeptFiles(t.Context(), olga.Principal, ids)
		if err != nil || len(list) != 50 || list[0].ID.String() != ids[1] {
			t.Errorf("%d files are kept, %v", len(list), err)
		}
		equal(t, "files", w.Count(`SELECT count(*) FROM held_files`), 51)

		// A program deletes its drafts itself, so that none is dropped for another.
		record := w.record(olga, "")
		claim := w.claim(olga, record.ID)
		stored, err := w.Service.StoreFile(t.Context(), strings.NewReader("y"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Service.UploadDocument(t.Context(), olga.Principal, stored, warranty.UploadDocument{Draft: true,
			WarrantyID: warranty.WarrantyKey{ID: record.ID}, ClaimID: warranty.ClaimKey{ID: claim.ID},
			Type: warranty.ClaimEvidence, FileName: "draft.txt"})
		if refusal := warranty.AsError(err); len(refusal.Fields) != 1 || refusal.Fields[0].Code != "too_many" {
			t.Errorf("a draft beyond the limit: %v", err)
		}
		equal(t, "files", w.Count(`SELECT count(*) FROM held_files`), 51)
		w.Service.StorageLimit = 60
		if _, err := w.keep(otto.Principal, "a.txt", strings.Repeat("x", 61), nil); err == nil {
			t.Error("more than the storage limit is kept")
		}
	})
}

// TestAttachmentsAreSeenWhenTheirMessageIsSent uploads files for a message: the other side sees neither the file nor
// its name before.
func TestAttachmentsAreSeenWhenTheirMessageIsSent(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		owner, seller := w.Verified("Olga"), w.Verified("Sven")
		record := w.Warranty(owner.Session, fields{"seller_email": seller.Email})
		w.Confirm(seller, record.ID)
		claim := w.Claim(owner.Session, record.ID)
		draft := func(name string) string {
			parts := append(document(record.ID, name, pdf), field("claim_id", claim), field("draft", "true"))
			return w.Upload(owner.Session, parts...).ID
		}
		sent, never := draft("plate.pdf"), draft("secret.pdf")
		hidden := func(what string, secrets ...string) {
			t.Helper()
			for _, who := range []string{seller.Session, owner.Session} {
				for _, path := range []string{"/api/v1/documents", "/api/v1/claims/" + claim, "/api/v1/claims/" + claim + "/messages",
					"/api/warranties/" + record.ID + "/history", "/api/v1/documents/" + sent, "/api/documents/" + sent + "/file"} {
					a := w.Get(path, who)
					for _, secret := range secrets {
						if strings.Contains(a.Body, secret) {
							t.Errorf("%s: %s has %s", what, path, secret)
						}
					}
				}
			}
		}
		hidden("before", "plate.pdf", "secret.pdf", pdf)
		message := fields{"body": "Here.", "documents": []string{sent}}
		want(t, "the other side sends it", w.Do(made("POST", "/api/claims/"+claim+"/messages", seller.Session, message)), 422, "validation_failed")
		hidden("after the other side tried", "plate.pdf", "secret.pdf", pdf)
		w.Must(201, made("POST", "/api/claims/"+claim+"/messages", owner.Session, message))
		hidden("after", "secret.pdf")
		equal(t, "the file", w.Get("/api/documents/"+sent+"/file", seller.Session).Body, pdf)
		if a := w.Get("/api/v1/claims/"+claim+"/messages", seller.Session); !strings.Contains(a.Body, "plate.pdf") {
			t.Error("the message has no file")
		}
		w.Must(204, made("DELETE", "/api/documents/"+never, owner.Session, nil))
		want(t, "deleted twice", w.Do(made("DELETE", "/api/documents/"+never, owner.Session, nil)), 404, "not_found")
		want(t, "a draft without a claim", w.Do(uploading(owner.Session, append(document(record.ID, "a.pdf", pdf), field("draft", "true"))...)), 422, "validation_failed")
	})
}
