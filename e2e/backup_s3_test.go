package e2e

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// TestFilesInS3AreBackedUp backs up files in S3, restores them to another prefix and to a folder, and
// copies them back to S3.
func TestFilesInS3AreBackedUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, second, third := "--files="+testenv.S3(t), "--files="+testenv.S3(t), testenv.S3(t)
	p, _ := withDocuments(t, dir, 3, "--data=data", source)
	mustSvcd(t, dir, "backup", "b.tar", source)
	p.mustStop(t)
	healthy := func(args ...string) {
		t.Helper()
		out := mustSvcd(t, dir, append([]string{"doctor", "--deep"}, args...)...)
		if strings.Contains(out, "failed") || !strings.Contains(out, "3 files (2.9 KiB), all checksums right") {
			t.Errorf("%s", out)
		}
	}
	mustSvcd(t, dir, "restore", "b.tar", "--data=new", second)
	healthy("--data=new", second)
	refuseSvcd(t, 2, "is not empty and is not overwritten", dir, "restore", "b.tar", "--data=other", second)
	refuseSvcd(t, 2, "belong to another database", dir, "backup", "c.tar", "--data=new", source)
	mustSvcd(t, dir, "restore", "b.tar", "--data=folder")
	healthy("--data=folder")
	out := mustSvcd(t, dir, "copy", "--from=folder/svc.db", "--to=moved/svc.db", "--to-files="+third)
	if !strings.Contains(out, "all checksums equal; 3 files") || strings.Contains(out, "@") {
		t.Error(out)
	}
	healthy("--data=moved", "--files="+third)
	startIn(t, dir, "--data=moved", "--files="+third).mustStop(t)
}
