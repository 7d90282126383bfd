package service_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// keep keeps a file of a form for a person.
func (w *world) keep(who warranty.Principal, name, content string, use service.DraftFor) (service.Draft, error) {
	w.T.Helper()
	stored, err := w.Service.StoreFile(context.Background(), strings.NewReader(content))
	if err != nil {
		w.T.Fatal(err)
	}
	in := warranty.UploadDocument{Type: warranty.Receipt, FileName: name}
	return w.Service.KeepDraft(context.Background(), service.AuthorOf(who), stored, in, use)
}

// TestDraftsBelongToOnePerson keeps a file: only its person sees it and makes it a document, once, and it counts as
// storage.
func TestDraftsBelongToOnePerson(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		olga, otto := w.person("Olga", true), w.person("Otto", true)
		record, foreign := w.record(olga, ""), w.record(otto, "")
		kept, err := w.keep(olga.Principal, "إيصال.pdf", pdf, service.DraftFor{})
		if err != nil {
			t.Fatal(err)
		}
		attach := func(who person, to warranty.ID) (warranty.Document, error) {
			return w.Service.AttachDraft(t.Context(), who.Principal, kept.ID,
				warranty.UploadDocument{WarrantyID: warranty.WarrantyKey{ID: to}, Type: warranty.Receipt})
		}
		names := func(who person) int {
			list, err := w.Service.Drafts(t.Context(), who.Principal, []string{kept.ID.String(), "nonsense"})
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
		if err := w.Service.DropDrafts(t.Context(), otto.Principal, []string{kept.ID.String()}); err != nil {
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

// TestDraftsOfOneClaim attaches kept files to claims: the same file once, and none that another claim has.
func TestDraftsOfOneClaim(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		record := w.record(olga, "")
		first, second := w.claim(olga, record.ID), w.claim(olga, record.ID)
		attach := func(claim warranty.Claim, id warranty.ID) (warranty.Document, error) {
			return w.Service.AttachDraft(t.Context(), olga.Principal, id, warranty.UploadDocument{
				WarrantyID: warranty.WarrantyKey{ID: record.ID}, ClaimID: warranty.ClaimKey{ID: claim.ID}, Type: warranty.ClaimEvidence})
		}
		var ids []warranty.ID
		for range 2 { // the form was sent twice, with its file
			kept, err := w.keep(olga.Principal, "a.pdf", pdf, service.DraftFor{})
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
		equal(t, "drafts", w.Count(`SELECT count(*) FROM drafts`), 0)
	})
}

// TestDraftsExpire keeps files that nobody uses: they are deleted after a day, and not by the sweep before.
func TestDraftsExpire(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		dropped, err := w.keep(olga.Principal, "a.pdf", pdf, service.DraftFor{})
		if err != nil {
			t.Fatal(err)
		}
		kept, err := w.keep(olga.Principal, "b.pdf", pdf, service.DraftFor{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Service.DropDrafts(t.Context(), olga.Principal, []string{dropped.ID.String()}); err != nil {
			t.Fatal(err)
		}
		used, err := w.Store.Uploaded(t.Context(), olga.User.ID)
		if err != nil || used != int64(len(pdf)) {
			t.Errorf("%d bytes are used, %v", used, err)
		}
		expire := func() {
			if err := w.Service.ExpireDrafts(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.sweepFor(23 * time.Hour)
		expire()
		equal(t, "after 23 hours", w.Count(`SELECT count(*) FROM drafts`), 1)
		w.sweepFor(2 * time.Hour)
		// Expired rows are refused whether or not they were removed.
		list, err := w.Service.Drafts(t.Context(), olga.Principal, []string{kept.ID.String()})
		if err != nil || len(list) != 0 {
			t.Errorf("expired: %v, %v", list, err)
		}
		expire()
		equal(t, "after a day", w.Count(`SELECT count(*) FROM drafts`), 0)
		if !strings.Contains(w.Log.String(), "deleted files of forms and messages") {
			t.Error("the log does not say so")
		}
		w.sweepFor(26 * time.Hour)
		equal(t, "files", w.in(files.Complete)+w.in(files.Trash), 0)
	})
}

// TestDraftsAreBounded keeps as many files as a person may, and more: the oldest one of this person goes.
func TestDraftsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, otto := w.person("Olga", true), w.person("Otto", true)
		if _, err := w.keep(otto.Principal, "a.txt", "x", service.DraftFor{}); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := range 51 {
			kept, err := w.keep(olga.Principal, "a.txt", "x", service.DraftFor{})
			if err != nil {
				t.Fatalf("file %d: %v", i, err)
			}
			ids = append(ids, kept.ID.String())
		}
		list, err := w.Service.Drafts(t.Context(), olga.Principal, ids)
		if err != nil || len(list) != 50 || list[0].ID.String() != ids[1] {
			t.Errorf("%d files are kept, %v", len(list), err)
		}
		equal(t, "files", w.Count(`SELECT count(*) FROM drafts`), 51)

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
		equal(t, "files", w.Count(`SELECT count(*) FROM drafts`), 51)
		w.Service.StorageLimit = 60
		if _, err := w.keep(otto.Principal, "a.txt", strings.Repeat("x", 61), service.DraftFor{}); err == nil {
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

// TestDraftsAtOnce attaches, drops and expires the same draft at the same time: its file belongs to one document, or it
// is deleted. A form that is sent twice at the same time attaches its file once.
func TestDraftsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		for round := range 20 {
			record := w.record(olga, "")
			var ids []warranty.ID
			for range 2 {
				kept, err := w.keep(olga.Principal, "a.pdf", pdf, service.DraftFor{})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, kept.ID)
			}
			attach := func(id warranty.ID) func() error {
				return func() error {
					_, err := w.Service.AttachDraft(t.Context(), olga.Principal, id,
						warranty.UploadDocument{WarrantyID: warranty.WarrantyKey{ID: record.ID}, Type: warranty.Receipt})
					if errors.Is(err, warranty.ErrNotFound) && round%2 == 1 {
						return nil // it was dropped before
					}
					return err
				}
			}
			at := []func() error{attach(ids[0]), attach(ids[round/2%2])} // one draft, or one for each time that a form was sent
			if round%2 == 1 {
				at = append(at, func() error {
					return w.Service.DropDrafts(t.Context(), olga.Principal, []string{ids[0].String()})
				}, func() error {
					return w.Store.Write(t.Context(), func(tx *store.Tx) error {
						_, err := tx.ExpireDrafts(w.Clock.Now().Add(time.Minute), w.Clock.Now())
						return err
					})
				})
			}
			var group sync.WaitGroup
			for _, do := range at {
				group.Go(func() {
					if err := do(); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				})
			}
			group.Wait()
			if err := w.Service.DropDrafts(t.Context(), olga.Principal, []string{ids[1].String()}); err != nil {
				t.Fatal(err)
			}
			if round%2 == 0 {
				equal(t, "documents", w.Count(`SELECT count(*) FROM documents WHERE warranty_id IN (
					SELECT id FROM warranties ORDER BY id DESC LIMIT 1)`), 1)
			}
			equal(t, "drafts", w.Count(`SELECT count(*) FROM drafts`), 0)
			equal(t, "files in use and deleted", w.Count(`SELECT count(*) FROM stored_files`)+
				w.Count(`SELECT count(*) FROM unused_files WHERE state = 1`), 2*(round+1))
			equal(t, "files both in use and deleted", w.Count(`SELECT count(*) FROM stored_files f
				JOIN unused_files u ON u.storage_key = f.storage_key`), 0)
		}
	})
}
