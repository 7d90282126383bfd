package service_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// --- Which folder belongs to the database --------------------------------------------

// on is a second server on the world's database, with its own folder and log.
func (w *world) on(folder string) (*service.Service, *servertest.Buffer) {
	w.T.Helper()
	log := &servertest.Buffer{}
	s := service.New(w.Store, slog.New(slog.NewJSONHandler(log, nil)))
	s.Now = w.Clock.Now
	var err error
	if s.Files, err = files.Open(folder); err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = s.Files.Close() })
	return s, log
}

// unbind removes the folder ids.
func (w *world) unbind() {
	w.T.Helper()
	w.execute(`UPDATE installation SET folder_id = NULL`)
	if err := os.Remove(filepath.Join(w.Folder, "id")); err != nil {
		w.T.Fatal(err)
	}
}

// plant creates files that no document uses.
func (w *world) plant(place files.Place, count int) (keys []string) {
	w.T.Helper()
	for range count {
		key, err := files.NewKey(rand.Reader)
		if err == nil {
			err = os.WriteFile(filepath.Join(w.Folder, string(place), key), []byte("x"), 0o600)
		}
		if err != nil {
			w.T.Fatal(err)
		}
		keys = append(keys, key)
	}
	return keys
}

// in counts the files in a place.
func (w *world) in(place files.Place) int {
	w.T.Helper()
	count := 0
	if err := w.Service.Files.Keys(place, 100, func(keys []string) error { count += len(keys); return nil }); err != nil {
		w.T.Fatal(err)
	}
	return count
}

// TestFolderIsBoundOrRefused covers all states of a folder at startup. // A1, D4
func TestFolderIsBoundOrRefused(t *testing.T) {
	t.Parallel()
	const good, unready, refused = "good", "not ready", "refused"
	damage := func(w *world, size int64) {
		if err := os.Truncate(filepath.Join(w.Folder, "id"), size); err != nil {
			w.T.Fatal(err)
		}
	}
	foreign := func(w *world) {
		if err := w.Service.Files.SetID(files.ID{Database: warranty.ID{1}, Folder: warranty.ID{2}}); err != nil {
			w.T.Fatal(err)
		}
	}
	elsewhere := func(w *world) { // the database's files are in another folder
		if err := os.Rename(w.Folder, w.Folder+" away"); err != nil {
			w.T.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		documents    int
		prepare      func(w *world)
		alone, adopt bool
		want         string
	}{
		"the same again":                          {1, func(*world) {}, false, false, good},
		"the same again, adopted":                 {1, func(*world) {}, false, true, good},
		"a crash before the database knew it":     {1, func(w *world) { w.execute(`UPDATE installation SET folder_id = NULL`) }, false, false, good},
		"another database's":                      {0, foreign, true, false, refused},
		"another database's, with our files":      {3, foreign, true, false, refused},
		"another database's, adopted":             {0, foreign, true, true, good},
		"upgrade without documents":               {0, (*world).unbind, false, false, good},
		"upgrade":                                 {3, (*world).unbind, false, false, good},
		"upgrade with SQLite":                     {3, (*world).unbind, true, false, good},
		"upgrade with some orphans":               {3, func(w *world) { w.unbind(); w.plant(files.Complete, 2) }, false, false, good},
		"upgrade with as many orphans":            {3, func(w *world) { w.unbind(); w.plant(files.Complete, 3) }, true, false, refused},
		"upgrade to an empty database":            {0, func(w *world) { w.unbind(); w.plant(files.Complete, 10) }, true, false, refused},
		"upgrade to an empty database, adopted":   {0, func(w *world) { w.unbind(); w.plant(files.Complete, 10) }, true, true, good},
		"upgrade without the files":               {3, func(w *world) { w.unbind(); elsewhere(w) }, true, false, unready},
		"a replica with a folder of its own":      {0, elsewhere, false, false, unready},
		"the same, adopted":                       {2, elsewhere, false, true, good},
		"SQLite with another folder":              {2, elsewhere, true, false, unready},
		"SQLite with another folder, no document": {0, elsewhere, true, false, good},
		"an empty id":                             {2, func(w *world) { damage(w, 0) }, false, false, good},
		"a damaged id":                            {2, func(w *world) { damage(w, 100) }, false, false, good},
		"a damaged id and unknown files":          {0, func(w *world) { damage(w, 100); w.plant(files.Complete, 1) }, true, false, refused},
		"a lost id with SQLite":                   {2, func(w *world) { _ = os.Remove(filepath.Join(w.Folder, "id")) }, true, false, good},
		"SQLite with an older copy put back":      {2, func(w *world) { w.execute(`UPDATE installation SET folder_id = id`) }, true, false, good},
		"the same with replicas":                  {2, func(w *world) { w.execute(`UPDATE installation SET folder_id = id`) }, false, false, unready},
		"a lost id with replicas":                 {2, func(w *world) { _ = os.Remove(filepath.Join(w.Folder, "id")) }, false, false, unready},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A single server uses SQLite, and replicas use PostgreSQL.
			database := servertest.SQLite
			if !c.alone {
				database = testenv.Postgres
			}
			w := newWorld(t, database(t))
			if c.documents > 0 {
				olga := w.person("Olga", true)
				record := w.record(olga, "")
				for range c.documents {
					w.document(olga, record.ID)
				}
			}
			c.prepare(w)
			before, _ := os.ReadFile(filepath.Join(w.Folder, "id"))
			s, log := w.on(w.Folder)
			err := s.BindFolder(t.Context(), c.alone, c.adopt)
			got := good
			var foreign service.ForeignFolderError
			switch {
			case errors.As(err, &foreign):
				got = refused
			case err != nil:
				t.Fatal(err)
			case s.FolderError() != nil:
				got = unready
			}
			if got != c.want {
				t.Fatalf("%s, want %s: %v", got, c.want, err)
			}
			if lines := strings.Count(log.String(), `"level":"ERROR"`); (got == unready) != (lines == 1) {
				t.Errorf("%d lines in the log: %s", lines, log)
			}
			if got != good { // nothing was changed
				if after, _ := os.ReadFile(filepath.Join(w.Folder, "id")); string(after) != string(before) {
					t.Errorf("the id became %q", after)
				}
				if _, err := s.StoreFile(strings.NewReader("text")); got == unready && codeOf(err) != warranty.Unavailable {
					t.Errorf("a file was taken into the wrong folder: %v", err)
				}
				return
			}
			for range 2 { // it stays good for later checks
				if err := s.CheckFolder(t.Context()); err != nil || s.FolderError() != nil {
					t.Errorf("later: %v, %v", err, s.FolderError())
				}
				s, _ = w.on(w.Folder)
				if err := s.BindFolder(t.Context(), c.alone, false); err != nil || s.FolderError() != nil {
					t.Errorf("again: %v, %v", err, s.FolderError())
				}
			}
		})
	}
}

// TestReplicasThatStartTogether bind one folder. Of replicas with separate folders, all
// but one report it. // D4
func TestReplicasThatStartTogether(t *testing.T) {
	const replicas = 6
	t.Parallel()
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprintf("shared %t", shared), func(t *testing.T) {
			database := testenv.Postgres(t)
			folder := filepath.Join(t.TempDir(), "files")
			troubles := make(chan error, replicas)
			together(replicas, func(i int) {
				st, err := store.Open(context.Background(), database)
				if err != nil {
					t.Error(err)
					return
				}
				defer st.Close()
				s, mine := service.New(st, slog.New(slog.DiscardHandler)), folder
				if !shared {
					mine = fmt.Sprint(folder, i)
				}
				if s.Files, err = files.Open(mine); err != nil {
					t.Error(err)
					return
				}
				defer s.Files.Close()
				if err := s.BindFolder(context.Background(), false, false); err != nil {
					t.Error(err)
				}
				if err := s.CheckFolder(context.Background()); err != nil {
					t.Error(err)
				}
				troubles <- s.FolderError()
			})
			close(troubles)
			ready := 0
			for trouble := range troubles {
				if trouble == nil {
					ready++
				}
			}
			want := 1
			if shared {
				want = replicas
			}
			if ready != want {
				t.Errorf("%d replicas are ready, want %d", ready, want)
			}
		})
	}
}

// TestFolderTroubleShowsAndEnds removes the folder while the service runs, and restores
// it: /readyz shows the reason, and each change is logged once. // D4
func TestFolderTroubleShowsAndEnds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		check := func() {
			t.Helper()
			if err := w.Service.CheckFolder(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		olga := w.person("Olga", true)
		d := w.document(olga, w.record(olga, "").ID)
		w.Must(200, request{Method: "GET", Path: "/readyz"})
		if err := os.Rename(w.Folder, w.Folder+" away"); err != nil {
			t.Fatal(err)
		}
		check()
		check()
		a := w.Must(503, request{Method: "GET", Path: "/readyz"})
		if !strings.Contains(a.Body, "is not the one of its database") || strings.Contains(a.Body, w.Folder) {
			t.Error(a.Body)
		}
		w.Must(200, request{Method: "GET", Path: "/healthz"})
		if err := os.Rename(w.Folder+" away", w.Folder); err != nil {
			t.Fatal(err)
		}
		check()
		w.Must(200, request{Method: "GET", Path: "/readyz"})
		for line, want := range map[string]int{"cannot use the files folder": 1, "files folder is usable again": 1} {
			if got := strings.Count(w.Log.String(), line); got != want {
				t.Errorf("%q is in the log %d times", line, got)
			}
		}
		// Another database adopts the folder: nothing is swept any more.
		if err := w.Service.Files.SetID(files.ID{}); err != nil {
			t.Fatal(err)
		}
		check()
		if a := w.Must(503, request{Method: "GET", Path: "/readyz"}); !strings.Contains(a.Body, "belongs to another database") {
			t.Error(a.Body)
		}
		w.plant(files.Complete, 1)
		w.sweepFor(48 * time.Hour)
		if w.in(files.Complete) != 2 {
			t.Error("another database's folder was swept")
		}
		_, file, err := w.Service.OpenDocument(t.Context(), olga.Principal, warranty.GetDocument{ID: d.ID})
		if err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	})
}

// --- Sweeping
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
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		record := w.record(olga, "")
		for range 5 {
			w.document(olga, record.ID)
		}
		orphans := w.plant(files.Complete, 3)
		halves := w.plant(files.Arriving, 2)
		for i, key := range orphans {
			then := time.Now().Add(time.Duration(i-1) * 1000 * day) // written by a machine with a wrong clock
			if err := os.Chtimes(filepath.Join(w.Folder, "complete", key), then, then); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(when string, complete, arriving, trash int) {
			t.Helper()
			if c, a, b := w.in(files.Complete), w.in(files.Arriving), w.in(files.Trash); c != complete || a != arriving || b != trash {
				t.Errorf("%s: %d complete, %d arriving, %d in the trash; want %d, %d, %d", when, c, a, b, complete, arriving, trash)
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
	})
}

// TestFilesAreLeftAloneIfMostAreUnknown, as with the wrong database. // A1
func TestFilesAreLeftAloneIfMostAreUnknown(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
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
	})
}

// TestTrashedFilesComeBack restores the documents of files in the trash, like a
// restored backup: they can be read immediately, and are moved back. // A1
func TestTrashedFilesComeBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
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
		if w.in(files.Trash) != 0 || w.in(files.Complete) != 2 {
			t.Error("the file is not back")
		}
		read()
		w.sweepFor(48 * time.Hour)
		read()
	})
}

// TestDeletedDocumentsKeepTheirFilesForADay, so that a backup that copies the database
// first has every file. // D4
func TestDeletedDocumentsKeepTheirFilesForADay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		first, second := w.record(olga, ""), w.record(olga, "")
		d := w.document(olga, first.ID)
		for range 2 {
			w.document(olga, second.ID)
		}
		kept := w.document(olga, first.ID)
		if _, err := w.Service.DeleteDocument(t.Context(), olga.Principal, warranty.DeleteDocument{ID: d.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.DeleteWarranty(t.Context(), olga.Principal, warranty.DeleteWarranty{ID: second.ID}); err != nil {
			t.Fatal(err)
		}
		w.sweepFor(23 * time.Hour)
		if got := w.in(files.Complete); got != 4 {
			t.Errorf("%d files are left of 4 within a day", got)
		}
		w.sweepFor(2 * time.Hour)
		if got, trash := w.in(files.Complete), w.in(files.Trash); got != 1 || trash != 0 {
			t.Errorf("%d files are left and %d in the trash after a day, want 1 and none", got, trash)
		}
		_, file, err := w.Service.OpenDocument(t.Context(), olga.Principal, warranty.GetDocument{ID: kept.ID})
		if err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	})
}

// TestDeletedFilesAreBounded uploads and deletes in turn: the deleted files kept for a
// user never exceed the storage limit.
func TestDeletedFilesAreBounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const size = int64(len("A receipt, in plain text."))
		w.Service.StorageLimit = 2 * size
		olga := w.person("Olga", true)
		record := w.record(olga, "")
		taken := 0
		for range 8 {
			d, err := w.upload(olga, record.ID, "receipt.txt")
			if err != nil {
				if codeOf(err) != warranty.ValidationFailed || !strings.Contains(err.Error(), "tomorrow") {
					t.Fatal(err)
				}
				break
			}
			taken++
			if _, err := w.Service.DeleteDocument(t.Context(), olga.Principal, warranty.DeleteDocument{ID: d.ID}); err != nil {
				t.Fatal(err)
			}
		}
		if taken != 4 || w.in(files.Complete) != 4 {
			t.Errorf("%d files were taken and %d are kept, want 4", taken, w.in(files.Complete))
		}
		w.sweepFor(25 * time.Hour)
		w.document(w.session(olga.User, time.Hour), record.ID)
	})
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
	})
}

// --- Clocks
// ----------------------------------------------------------------------------

// TestIdsGoByTheDatabasesClock creates records on replicas with wrong clocks: lists are
// in the order of ids. // D3
func TestIdsGoByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	database := testenv.Postgres(t)
	w := newWorld(t, database)
	olga := w.person("Olga", true)
	for _, off := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
		st, err := store.Open(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		st.SetClock(func() time.Time { return time.Now().Add(off) })
		if err := st.SyncClock(t.Context()); err != nil {
			t.Fatal(err)
		}
		now := func() time.Time {
			return time.UnixMicro(w.number(`SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`))
		}
		before := now()
		made, err := service.New(st, slog.New(slog.DiscardHandler)).CreateWarranty(t.Context(), olga.Principal,
			warranty.CreateWarranty{ProductName: "Kettle", StartDate: date("2020-01-01"), EndDate: date("2099-12-31")})
		if err != nil {
			t.Fatal(err)
		}
		// The offset is measured over a network, so a minute is allowed; the error is
		// two hours.
		if at := idTime(made.ID); at.Before(before.Add(-time.Minute)) || at.After(now().Add(time.Minute)) {
			t.Errorf("a clock that is %v off: the id says %v, and it is %v", off, at, before)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// idTime returns when an id was made.
func idTime(id warranty.ID) time.Time {
	ms := int64(0)
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms)
}

// TestIdsAreInOrder makes many ids at one time, and while the clock is set back
// slightly. If it is set back by more, ids follow it.
func TestIdsAreInOrder(t *testing.T) {
	s := service.New(&store.Store{}, slog.New(slog.DiscardHandler))
	now := time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)
	s.Now = func() time.Time { return now }
	last := warranty.ID{}
	next := func() warranty.ID {
		t.Helper()
		id := s.NewID()
		if id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("%s is not a UUID of version 7", id)
		}
		return id
	}
	for i := range 10_000 {
		id := next()
		if string(id[:]) <= string(last[:]) {
			t.Fatalf("%s comes after %s", id, last)
		}
		last = id
		if i%100 == 0 {
			now = now.Add(-time.Millisecond)
		}
	}
	now = now.Add(-2 * time.Hour)
	if id := next(); idTime(id).UnixMilli() != now.UnixMilli() {
		t.Errorf("%s was made at %v, want %v", id, idTime(id).UTC(), now)
	}
}
