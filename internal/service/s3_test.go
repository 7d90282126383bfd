package service_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// withS3 is a server on the world's database with its files in S3.
func (w *world) withS3(where string) (*service.Service, *servertest.Buffer) {
	w.T.Helper()
	log := &servertest.Buffer{}
	s := service.New(w.Store, slog.New(slog.NewJSONHandler(log, nil)))
	s.Now = w.Clock.Now
	parsed, err := files.ParseS3(where)
	if err == nil {
		s.Files, err = parsed.Connect()
	}
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = s.Files.Close() })
	return s, log
}

// TestOutageOfS3 stops S3. Records and /readyz are not affected, files return 503 without
// a row or a file left behind, and everything works again afterwards.
func TestOutageOfS3(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		server := testenv.NewS3Server(t, "")
		proxy, address := testenv.NewProxy(t, "http://"+server.Address)
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		where := server.URL("files", u.Host)
		_ = w.Service.Files.Close()
		parsed, err := files.ParseS3(where)
		if err == nil {
			w.Service.Files, err = parsed.Connect()
		}
		if err == nil {
			err = w.Service.BindFolder(t.Context(), false, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		check := func(s *service.Service) {
			t.Helper()
			if err := s.CheckFolder(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ready := func(want string) {
			t.Helper()
			equal(t, "/readyz", w.Must(200, made("GET", "/readyz", "", nil)).Body, want)
		}
		me := w.Verified("Mia")
		record := w.Warranty(me.Session, nil)
		d := w.Upload(me.Session, document(record.ID, "a.pdf", pdf)...)
		gone := w.Upload(me.Session, document(record.ID, "gone.pdf", pdf)...)
		ready(`{"status":"ok","writes":"ok"}`)

		proxy.Cut()
		w.Unchanged(t, "uploads without S3", func() {
			for _, content := range []string{pdf, mebibytes(6)} {
				refused(t, "an upload", w.Do(uploading(me.Session, document(record.ID, "b.pdf", content)...)), warranty.Unavailable)
			}
		})
		refused(t, "a download", w.Get("/api/documents/"+d.ID+"/file", me.Session), warranty.Unavailable)
		w.Warranty(me.Session, nil)
		w.Must(204, made("DELETE", "/api/documents/"+gone.ID, me.Session, nil)) // its file is removed a day later
		check(w.Service)
		check(w.Service)
		ready(`{"status":"ok","writes":"ok","files":"failing"}`)
		if err := w.Service.SweepFiles(t.Context()); err != nil {
			t.Error(err)
		}

		// A replica that starts meanwhile serves everything else.
		late, lateLog := w.withS3(where)
		if err := late.BindFolder(t.Context(), false, false); err != nil || late.FolderError() != nil || !late.FilesFail() {
			t.Errorf("a start without S3: %v, %v", err, late.FolderError())
		}
		check(late)

		proxy.Restore()
		if _, err := late.StoreFile(t.Context(), strings.NewReader("text")); codeOf(err) != warranty.Unavailable {
			t.Errorf("a file was taken before the bucket was checked: %v", err)
		}
		check(w.Service)
		check(late)
		ready(`{"status":"ok","writes":"ok"}`)
		equal(t, "the file", w.Get("/api/documents/"+d.ID+"/file", me.Session).Body, pdf)
		w.Upload(me.Session, document(record.ID, "b.pdf", mebibytes(6))...)
		if late.FilesFail() || late.FolderError() != nil {
			t.Errorf("the late replica: %v", late.FolderError())
		}
		for _, log := range []string{w.Log.String(), lateLog.String()} {
			for line, want := range map[string]int{"document files are unavailable": 1, "document files are available again": 1} {
				equal(t, line, strings.Count(log, line), want)
			}
		}
	}, busy)
}

// TestBucketOfAnotherDatabase is refused, unless it is adopted; its owner notices.
func TestBucketOfAnotherDatabase(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		where := testenv.S3(t)
		other := newWorld(t, servertest.SQLite(t), busy)
		owner, _ := other.withS3(where)
		bind := func(s *service.Service, adopt bool) error {
			return s.BindFolder(context.Background(), false, adopt)
		}
		if err := bind(owner, true); err != nil {
			t.Fatal(err)
		}
		mine, _ := w.withS3(where)
		var foreign service.ForeignFolderError
		if err := bind(mine, false); !errors.As(err, &foreign) || !strings.Contains(err.Error(), "s3://") ||
			!strings.Contains(err.Error(), "--adopt-files") {
			t.Fatalf("another database's bucket: %v", err)
		}
		if err := owner.CheckFolder(t.Context()); err != nil || owner.FolderError() != nil {
			t.Errorf("the owner after a refusal: %v, %v", err, owner.FolderError())
		}
		if err := bind(mine, true); err != nil || mine.FolderError() != nil {
			t.Fatalf("adopted: %v, %v", err, mine.FolderError())
		}
		if err := owner.CheckFolder(t.Context()); err != nil || owner.FolderError() == nil {
			t.Errorf("the former owner: %v, %v", err, owner.FolderError())
		}
		if _, err := owner.StoreFile(t.Context(), strings.NewReader("text")); codeOf(err) != warranty.Unavailable {
			t.Errorf("the former owner took a file: %v", err)
		}
	}, busy)
}
