package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/testenv"
)

// TestFilesMoveToS3AndBack copies an installation from a folder to S3, serves, checks, backs up and
// restores it there, and copies it to another prefix and back into a folder.
func TestFilesMoveToS3AndBack(t *testing.T) {
	t.Parallel()
	s3, dir := testenv.NewS3Server(t, ""), t.TempDir()
	one, two, three := s3.URL("one", ""), s3.URL("two", ""), s3.URL("three", "")
	p, session := withDocuments(t, dir, 5, "--data=data")
	p.MustStop(t)
	key := "--config=keys.toml"
	writeFile(t, filepath.Join(dir, "keys.toml"), "signing-key = \"data/signing-key.pem\"\nsecrets-key = \"data/secrets.key\"\n")
	right := func(files string, args ...string) {
		t.Helper()
		report := mustSvcd(t, dir, append([]string{"doctor", "--deep"}, args...)...)
		if strings.Contains(report, "failed") || !strings.Contains(report, files) || !strings.Contains(report, "all checksums right") {
			t.Error(report)
		}
	}
	mustSvcd(t, dir, "copy", "--from=data/svc.db", "--to=new/svc.db", "--to-files="+one)
	right("5 files", "--data=new", "--files="+one, key)

	p = lab.StartIn(t, dir, "--data=new", "--files="+one, key)
	record := p.Want(t, 201, lab.Create(session, "Toaster", "")).Must(t, "data.id")
	if a, err := upload(p, session, record, 99, 6<<20); err != nil || a.Status != 201 {
		t.Fatalf("upload: %d %s %v", a.Status, a.Body, err)
	}
	for id := range documents(t, p, session) {
		p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/documents/" + id + "/file", Secret: session})
	}
	mustSvcd(t, dir, "backup", "b.tar", "--data=new", "--files="+one, key)
	p.MustStop(t)
	if line := refusedStart(t, dir, "--data=another", "--files="+one); !strings.HasPrefix(line, "svcd: --files: ") ||
		!strings.Contains(line, "belongs to another database") {
		t.Error(line)
	}

	mustSvcd(t, dir, "restore", "b.tar", "--data=restored", "--files="+two)
	right("6 files", "--data=restored", "--files="+two)
	refuseSvcd(t, 2, "", dir, "restore", "b.tar", "--data=again", "--files="+two) // it is not empty
	mustSvcd(t, dir, "restore", "b.tar", "--data=local")
	right("6 files", "--data=local")

	database := testenv.Postgres(t)
	mustSvcd(t, dir, "copy", "--from=new/svc.db", "--from-files="+one, "--to="+database, "--to-files="+three)
	right("6 files", "--database="+database, "--files="+three, key)
	mustSvcd(t, dir, "copy", "--from="+database, "--from-files="+three, "--to=back/svc.db", "--to-files=back/files")
	right("6 files", "--data=back", key)
	p = lab.StartIn(t, dir, "--data=back", key)
	for id := range documents(t, p, session) {
		p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/documents/" + id + "/file", Secret: session})
	}
}

// TestARestoreClaimsItsBucket starts a restore while another one fills the same prefix. It is refused, and the other one
// ends well.
func TestARestoreClaimsItsBucket(t *testing.T) {
	t.Parallel()
	s3, dir := testenv.NewS3Server(t, ""), t.TempDir()
	bucket := s3.URL("one", "")
	p, _ := withDocuments(t, dir, 3, "--data=data")
	mustSvcd(t, dir, "backup", "b.tar", "--data=data")
	p.MustStop(t)
	backup, err := os.ReadFile(filepath.Join(dir, "b.tar"))
	if err != nil {
		t.Fatal(err)
	}
	beforeFiles := 0 // tar entries start at multiples of 512
	for !bytes.HasPrefix(backup[beforeFiles:], []byte("files/")) {
		beforeFiles += 512
	}
	slow := exec.CommandContext(t.Context(), lab.Svcd(), "restore", "-", "--data=slow", "--files="+bucket)
	slow.Dir, slow.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
	var said strings.Builder
	slow.Stderr = &said
	in, err := slow.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(backup[:beforeFiles]); err != nil {
		t.Fatal(err)
	}
	// The prefix belongs to it from now on.
	place, err := files.ParseS3(bucket)
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := place.Connect()
	if err != nil {
		t.Fatal(err)
	}
	testenv.Wait(t, "the restore marks its prefix", func() bool {
		_, err := prefix.ID(t.Context())
		return err == nil
	})
	refuseSvcd(t, 2, "is not empty and is not overwritten", dir, "restore", "b.tar", "--data=fast", "--files="+bucket)
	if _, err := in.Write(backup[beforeFiles:]); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := slow.Wait(); err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
	if report := mustSvcd(t, dir, "doctor", "--deep", "--data=slow", "--files="+bucket); !strings.Contains(report, "3 files") {
		t.Error(report)
	}
}
