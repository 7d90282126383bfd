package service_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// --------------------------------------------------------------------------

// sweepFor advances the clock and sweeps every hour.
func (w *world) sweepFor(d time.Duration) {
	w.T.Helper()
	for ; d > 0; d -= time.Hour {
		w.Clock.Advance(min(d, time.Hour))
		if err := w.Service.SweepFiles(context.Background()); err != nil {
			w.T.Fatal(err)
		}
	}
}

// TestOrphanedFilesGoThroughTheTrash leaves orphaned files alone for a day, regardless
// of their file times, keeps them in the trash for 30 days, and never touches a file
// that a document uses. // A1, D1, D3
func TestOrphanedFilesGoThroughTheTrash(t *testing.T) {
	const day = 24 * time.Hour
	eachStore(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		record := w.record(olga, "")
		for range 5 {
			w.document(olga, record.ID)
		}
		orphans := w.plant(files.Complete, 3)
		halves := w.plant(files.Arriving, 2)
		for i, key := range orphans {
			if w.inS3() {
				break // the server sets the times
			}
			then := time.Now().Add(time.Duration(i-1) * 1000 * day) // written by a machine with a wrong clock
			if err := os.Chtimes(filepath.Join(w.Folder, "complete", key), then, then); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(when string, complete, arriving, trash int) {
			t.Helper()
			c, a, b := w.in(files.Complete), w.in(files.Arriving), w.in(files.Trash)
			if c != complete || a != arriving || b != trash {
				t.Errorf("%s: %d complete, %d arriving, %d in the trash; want %d, %d, %d", when, c, a, b, complete,
					arriving, trash)
			}
		}
		w.sweepFor(time.Hour)
		expect("at first", 8, 2, 0)
		w.sweepFor(day - time.Hour)
		expect("after 23 hours", 8, 2, 0)
		w.sweepFor(time.Hour)
		expect("after a day", 5, 0, 3)
		for _, key := range orphans {
			if !strings.Contains(w.Log.String(), key) {
				t.Error("the log does not list an orphaned file")
			}
		}
		for _, key := range halves {
			if strings.Contains(w.Log.String(), key) {
				t.Error("the log lists half a file")
			}
		}
		w.Clock.Advance(30*day - 2*time.Hour)
		w.sweepFor(time.Hour)
		expect("29 days and 23 hours later", 5, 0, 3)
		w.sweepFor(time.Hour)
		expect("30 days later", 5, 0, 0)
		if n := w.number(`SELECT count(*) FROM unused_files`); n != 0 {
			t.Errorf("%d files are still noted", n)
		}
	}, busy)
}

// TestFilesAreLeftAloneIfMostAreUnknown, as with the wrong database. // A1
func TestFilesAreLeftAloneIfMostAreUnknown(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		record := w.record(olga, "")
		for range 3 {
			w.document(olga, record.ID)
		}
		w.plant(files.Complete, 4)
		w.sweepFor(30 * time.Hour)
		if got := w.in(files.Complete); got != 7 {
			t.Errorf("%d files are left of 7", got)
		}
		if !strings.Contains(w.Log.String(), "most files are unknown to this database") {
			t.Error("the log does not say so")
		}
		w.document(w.session(olga.User, time.Hour), record.ID) // now half of them are known
		w.sweepFor(time.Hour)
		if got := w.in(files.Trash); got != 4 {
			t.Errorf("%d files are in the trash, want 4", got)
		}
	}, busy)
}

// TestTrashedFilesComeBack restores the documents of files in the trash, like a
// restored backup: they can be read immediately, and are moved back. // A1
func TestTrashedFilesComeBack(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		d := w.document(olga, w.record(olga, "").ID)
		w.execute(`CREATE TABLE backup AS SELECT * FROM documents`)
		defer w.execute(`DROP TABLE backup`)
		w.document(olga, d.WarrantyID)
		w.execute(`DELETE FROM documents WHERE id = $1`, w.key(d.ID))
		w.sweepFor(25 * time.Hour)
		if w.in(files.Trash) != 1 {
			t.Fatal("the file is not in the trash")
		}
		w.execute(`INSERT INTO documents SELECT * FROM backup`)
		read := func() {
			t.Helper()
			_, file, err := w.Service.OpenDocument(t.Context(), olga.Principal, warranty.GetDocument{ID: d.ID})
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if text, err := io.ReadAll(file); err != nil || string(text) != "A receipt, in plain text." {
				t.Errorf("%q, %v", text, err)
			}
		}
		read()
		w.sweepFor(time.Hour)
		left := 0
		if w.inS3() { // a copy stays there for its 30 days
			left = 1
		}
		if w.in(files.Trash) != left || w.in(files.Complete) != 2 {
			t.Error("the file is not back")
		}
		read()
		w.sweepFor(48 * time.Hour)
		if w.in(files.Trash) != left || w.in(files.Complete) != 2 {
			t.Error("the file is not back after two days")
		}
		read()
		w.Clock.Advance(28 * 24 * time.Hour)
		w.sweepFor(2 * time.Hour)
		if w.in(files.Trash) != 0 || w.in(files.Complete) != 2 {
			t.Error("the copy in the trash is not removed")
		}
		read()
		if n := w.number(`SELECT count(*) FROM unused_files`); n != 0 {
			t.Errorf("%d files are still noted", n)
		}
	}, busy)
}

// TestDeletedDocumentsKeepTheirFilesForADay, so that a backup that copies the database
// first has every file. // D4
func TestDeletedDocumentsKeepTheirFilesForADay(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		first, second := w.record(olga, ""), w.record(olga, "")
		d := w.document(olga, first.ID)
		e := w.document(olga, second.ID)
		w.document(olga, second.ID)
		kept := w.document(olga, first.ID)
		if _, err := w.Service.DeleteDocument(t.Context(), olga.Principal,
			warranty.DeleteDocument{ID: d.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.DeleteDocument(t.Context(), olga.Principal,
			warranty.DeleteDocument{ID: e.ID}); err != nil {
			t.Fatal(err)
		}
		w.trash(olga, second.ID)
		w.sweepFor(23 * time.Hour)
		if got := w.in(files.Complete); got != 4 {
			t.Errorf("%d files are left of 4 within a day", got)
		}
		w.sweepFor(2 * time.Hour)
		if got, trash := w.in(files.Complete), w.in(files.Trash); got != 2 || trash != 0 {
			t.Errorf("%d files are left and %d in the trash after a day, want 2 and none", got, trash)
		}
		_, file, err := w.Service.OpenDocument(t.Context(), olga.Principal, warranty.GetDocument{ID: kept.ID})
		if err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	}, busy)
}

// TestDeletedFilesAreBounded uploads and deletes in turn: the deleted files kept for a
// user never exceed the storage limit.
func TestDeletedFilesAreBounded(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		const size = int64(len("A receipt, in plain text."))
		w.Service.StorageLimit = 2 * size
		olga := w.person("Olga", true)
		record := w.record(olga, "")
		taken := 0
		for range 8 {
			d, err := w.upload(olga, record.ID, "receipt.txt")
			if err != nil {
				if codeOf(err) != warranty.ValidationFailed || !strings.Contains(err.Error(), "Deleted documents use storage") {
					t.Fatal(err)
				}
				break
			}
			taken++
			if _, err := w.Service.DeleteDocument(t.Context(), olga.Principal,
				warranty.DeleteDocument{ID: d.ID}); err != nil {
				t.Fatal(err)
			}
		}
		if taken != 4 || w.in(files.Complete) != 4 {
			t.Errorf("%d files were taken and %d are kept, want 4", taken, w.in(files.Complete))
		}
		w.sweepFor(25 * time.Hour)
		w.document(w.session(olga.User, time.Hour), record.ID)
	}, busy)
}

// TestOneReplicaSweepsAnHour lets replicas try as often as they like.
func TestOneReplicaSweepsAnHour(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other, _ := w.on(w.Folder)
		sweeps := func() (n int64) {
			for _, s := range []*service.Service{w.Service, other, w.Service} {
				if err := s.SweepFiles(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return w.number(`SELECT files_swept_at FROM installation`)
		}
		first := sweeps()
		w.Clock.Advance(59 * time.Minute)
		if sweeps() != first {
			t.Error("swept again within the hour")
		}
		w.Clock.Advance(time.Minute)
		if sweeps() == first {
			t.Error("not swept after an hour")
		}
		w.Clock.Advance(-48 * time.Hour) // the clock was wrong and was corrected
		if later := sweeps(); later > first {
			t.Error("not swept until the old time comes again")
		}
	}, busy)
}
