package service_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// TestDocumentsAreRenamedAndReplaced renames and replaces documents: by those who may, with the earlier file kept for
// 30 days, in the history, and never if they belong to a claim.
func TestDocumentsAreRenamedAndReplaced(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		olga, otto := w.person("Olga", true), w.person("Otto", true)
		record := w.record(olga, "")
		of := warranty.WarrantyKey{ID: record.ID}
		upload := func(content, name string, claim warranty.ClaimKey) warranty.Document {
			stored, err := w.Service.StoreFile(t.Context(), strings.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			d, err := w.Service.UploadDocument(t.Context(), olga.Principal, stored,
				warranty.UploadDocument{WarrantyID: of, ClaimID: claim, Type: warranty.Receipt, FileName: name})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		d := upload(pdf, "scan.pdf", warranty.ClaimKey{})
		rename := func(who person, id warranty.ID, name string) (warranty.Document, error) {
			return w.Service.RenameDocument(t.Context(), who.Principal, warranty.RenameDocument{ID: id, FileName: name})
		}
		replace := func(who person, id warranty.ID, name, content string) (warranty.Document, error) {
			draft, err := w.keep(who.Principal, name, content, service.DraftFor{Replaces: id})
			if err != nil {
				return warranty.Document{}, err
			}
			d, err := w.Service.ReplaceDocument(t.Context(), who.Principal, id, draft.ID)
			if err != nil {
				err = errors.Join(err, w.Service.DropDrafts(t.Context(), who.Principal, []string{draft.ID.String()}))
			}
			return d, err
		}
		if got, err := rename(olga, d.ID, "فاتورة"); err != nil || got.FileName != "فاتورة.pdf" {
			t.Errorf("renamed: %s, %v", got.FileName, err)
		}
		for _, name := range []string{"", "../a.pdf", "a.exe", "a\u202Efdp.pdf", strings.Repeat("x", 201)} {
			if _, err := rename(olga, d.ID, name); warranty.AsError(err).Code != warranty.ValidationFailed {
				t.Errorf("renamed to %q: %v", name, err)
			}
		}
		if _, err := rename(otto, d.ID, "mine.pdf"); warranty.AsError(err).Code != warranty.NotFound {
			t.Errorf("renamed by someone else: %v", err)
		}
		if _, err := replace(otto, d.ID, "mine.txt", text); warranty.AsError(err).Code != warranty.NotFound {
			t.Errorf("replaced by someone else: %v", err)
		}
		if _, err := replace(olga, d.ID, "again.pdf", pdf); warranty.AsError(err).Code != warranty.ValidationFailed {
			t.Errorf("replaced by itself: %v", err)
		}
		found, err := w.Service.ListDocuments(t.Context(), olga.Principal, warranty.ListDocuments{Paging: warranty.Paging{Page: 1, Limit: 10}, Q: "فاتورة"})
		if err != nil || len(found.Data) != 1 {
			t.Errorf("found by the new name: %v, %v", found.Data, err)
		}
		got, err := replace(olga, d.ID, "bill.txt", "paid") // shorter than the first file
		if err != nil || got.ID != d.ID || got.ContentType != "text/plain" {
			t.Fatalf("replaced: %+v, %v", got, err)
		}
		content := func() string {
			_, file, err := w.Service.OpenDocument(t.Context(), olga.Principal, warranty.GetDocument{ID: d.ID})
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			var b strings.Builder
			buffer := make([]byte, 1000)
			n, _ := file.Read(buffer)
			b.Write(buffer[:n])
			return b.String()
		}
		equal(t, "the new file", content(), "paid")
		w.sweepFor(3 * time.Hour)
		page, err := w.Service.DocumentPage(t.Context(), olga.Principal, d.ID)
		if err != nil || len(page.Versions) != 1 || page.Versions[0].FileName != "فاتورة.pdf" {
			t.Fatalf("versions: %+v, %v", page.Versions, err)
		}
		if _, err := w.Service.RestoreVersion(t.Context(), otto.Principal, d.ID, page.Versions[0].ID); warranty.AsError(err).Code != warranty.NotFound {
			t.Errorf("restored by someone else: %v", err)
		}
		w.Service.StorageLimit = int64(len(pdf)) - 1
		if _, err := w.Service.RestoreVersion(t.Context(), olga.Principal, d.ID, page.Versions[0].ID); warranty.AsError(err).Code != warranty.ValidationFailed {
			t.Errorf("restored beyond the limit of %d bytes: %v", len(pdf)-1, err)
		}
		w.Service.StorageLimit = int64(len(pdf))
		if _, err := w.Service.RestoreVersion(t.Context(), olga.Principal, d.ID, page.Versions[0].ID); err != nil {
			t.Fatal(err)
		}
		equal(t, "the restored file", content(), pdf)

		// Earlier versions take storage until they are erased.
		_, err = replace(olga, d.ID, "another.txt", strings.Repeat("x", len(pdf)))
		if refusal := warranty.AsError(err); len(refusal.Fields) != 1 || !strings.Contains(refusal.Fields[0].Message, "1 MiB of earlier versions") {
			t.Errorf("replaced beyond twice the limit: %v", err)
		}
		held, err := w.Service.EarlierVersions(t.Context(), olga.Principal)
		if err != nil || len(held.Versions) != 1 || held.Storage.Earlier != 4 || !held.Storage.Erased.Equal(held.Versions[0].ErasedAt()) {
			t.Fatalf("earlier versions: %+v, %v", held, err)
		}
		if err := w.Service.EraseVersion(t.Context(), otto.Principal, held.Versions[0].ID); warranty.AsError(err).Code != warranty.NotFound {
			t.Errorf("erased by someone else: %v", err)
		}
		if err := w.Service.EraseVersion(t.Context(), olga.Principal, held.Versions[0].ID); err != nil {
			t.Fatal(err)
		}
		if err := w.Service.EraseVersion(t.Context(), olga.Principal, held.Versions[0].ID); warranty.AsError(err).Code != warranty.NotFound {
			t.Errorf("erased twice: %v", err)
		}
		w.execute(`UPDATE sessions SET expires_at = expires_at * 2`)
		w.sweepFor(26 * time.Hour)
		equal(t, "files after erasing", w.in(files.Complete), 1)
		w.Service.StorageLimit = int64(len(pdf)) // exactly one of the same size takes its place
		if d, err = replace(olga, d.ID, "another.txt", strings.Repeat("x", len(pdf))); err != nil {
			t.Fatalf("replaced by a file of the same size: %v", err)
		}
		w.Service.StorageLimit = 0
		history, err := w.Service.ListHistory(t.Context(), olga.Principal, warranty.ListHistory{ID: of, Paging: warranty.Paging{Page: 1, Limit: 10}})
		if err != nil {
			t.Fatal(err)
		}
		var actions []string
		for _, e := range history.Data {
			actions = append(actions, e.Action.String())
		}
		equal(t, "history", actions, []string{"document.replaced", "document.version_erased", "document.replaced", "document.replaced", "document.renamed", "document.uploaded", "warranty.created"})

		// Earlier versions go with their document.
		second := upload(text, "second.txt", warranty.ClaimKey{})
		if _, err := replace(olga, second.ID, "second.txt", "other"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.DeleteDocument(t.Context(), olga.Principal, warranty.DeleteDocument{ID: second.ID}); err != nil {
			t.Fatal(err)
		}
		equal(t, "versions of documents", w.Count(`SELECT count(*) FROM document_versions`), 1)

		// A former owner may erase their earlier version, which the new owner does not hear of.
		mine := of
		given := w.record(olga, "")
		of = warranty.WarrantyKey{ID: given.ID}
		third := upload(text, "third.txt", warranty.ClaimKey{})
		if _, err := replace(olga, third.ID, "third.txt", "other"); err != nil {
			t.Fatal(err)
		}
		w.transfer(given.ID, olga, otto)
		left, err := w.Service.EarlierVersions(t.Context(), olga.Principal)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range left.Versions {
			if v.WarrantyID == given.ID {
				if err := w.Service.EraseVersion(t.Context(), olga.Principal, v.ID); err != nil {
					t.Errorf("erased by a former owner: %v", err)
				}
			}
		}
		told, err := w.Service.ListHistory(t.Context(), otto.Principal, warranty.ListHistory{ID: of, Paging: warranty.Paging{Page: 1, Limit: 10}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range told.Data {
			if e.Action == warranty.DocumentVersionErased {
				t.Error("the new owner hears of it")
			}
		}
		of = mine

		// Evidence stays as it is.
		claim, err := w.Service.FileClaim(t.Context(), olga.Principal, warranty.FileClaim{WarrantyID: of, Type: warranty.Repair,
			Description: "Broken.", IncidentDate: record.StartDate})
		if err != nil {
			t.Fatal(err)
		}
		evidence := upload(pdf, "plate.pdf", warranty.ClaimKey{ID: claim.ID})
		if _, err := w.Service.WriteMessage(t.Context(), olga.Principal, warranty.WriteMessage{ID: warranty.ClaimKey{ID: claim.ID},
			Body: "Here.", Documents: []string{evidence.ID.String()}}); err != nil {
			t.Fatal(err)
		}
		if _, err := rename(olga, evidence.ID, "other.pdf"); warranty.AsError(err).Code != warranty.InUse {
			t.Errorf("evidence renamed: %v", err)
		}
		if _, err := replace(olga, evidence.ID, "other.txt", text); warranty.AsError(err).Code != warranty.InUse {
			t.Errorf("evidence replaced: %v", err)
		}

		w.Clock.Advance(31 * 24 * time.Hour)
		if err := w.Service.ExpireVersions(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.sweepFor(26 * time.Hour)
		equal(t, "files", w.in(files.Complete), 3)

		same, err := w.Service.SameDocument(t.Context(), olga.Principal, of, d.SHA256)
		if err != nil || same.ID != d.ID {
			t.Errorf("the same file: %v", err)
		}
		if _, err := w.Service.SameDocument(t.Context(), otto.Principal, of, d.SHA256); err == nil {
			t.Error("someone else learns that a file exists")
		}
	})
}
