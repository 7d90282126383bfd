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
	"warranty.example/svc/warranty"
)

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

// inS3 reports whether the files are in S3.
func (w *world) inS3() bool {
	_, remote := w.Service.Files.(*files.Bucket)
	return remote
}

// plant creates files that no document uses.
func (w *world) plant(place files.Place, count int) (keys []string) {
	w.T.Helper()
	for range count {
		key, err := files.NewKey(rand.Reader)
		switch {
		case err != nil:
		case w.inS3() && place == files.Arriving: // an upload whose server was killed
			w.abandon(key)
		case w.inS3():
			err = w.Service.Files.Put(context.Background(), key, strings.NewReader("x"))
		default:
			err = os.WriteFile(filepath.Join(w.Folder, string(place), key), []byte("x"), 0o600)
		}
		if err != nil {
			w.T.Fatal(err)
		}
		keys = append(keys, key)
	}
	return keys
}

// abandon leaves an upload to S3 behind after its first part.
func (w *world) abandon(key string) {
	w.T.Helper()
	died := errors.New("the process ended here")
	defer func() {
		if p := recover(); p != died {
			w.T.Fatal(p)
		}
	}()
	err := w.Service.Files.Put(context.Background(), key,
		io.MultiReader(strings.NewReader(strings.Repeat("x", 6<<20)), dying{died}))
	w.T.Fatalf("the upload ended: %v", err)
}

// dying is a reader that panics.
type dying struct{ with error }

func (d dying) Read([]byte) (int, error) { panic(d.with) }

// in counts the files in a place.
func (w *world) in(place files.Place) int {
	w.T.Helper()
	count := 0
	if err := w.Service.Files.Keys(context.Background(), place, 100,
		func(keys []string) error { count += len(keys); return nil }); err != nil {
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
		if err := w.Service.Files.SetID(context.Background(), files.ID{Database: warranty.ID{1}, Folder: warranty.ID{2}}); err != nil {
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
				database = servertest.Postgres
			}
			w := newWorld(t, database(t), busy)
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
				if _, err := s.StoreFile(t.Context(), strings.NewReader("text")); got == unready &&
					codeOf(err) != warranty.Unavailable {
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
			database := servertest.Postgres(t)
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
	eachInTurn(t, func(t *testing.T, w *world) {
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
		if err := w.Service.Files.SetID(t.Context(), files.ID{}); err != nil {
			t.Fatal(err)
		}
		check()
		ready := w.Must(503, request{Method: "GET", Path: "/readyz"})
		if !strings.Contains(ready.Body, "belongs to another database") {
			t.Error(ready.Body)
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
	}, busy)
}
