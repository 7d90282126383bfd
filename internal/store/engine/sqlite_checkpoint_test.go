package engine

import (
	"context"
	"os"
	"strings"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// TestTheLogIsCopied writes much more than the log may hold, without a pause, and then waits until the
// log is copied without a further write.
func TestTheLogIsCopied(t *testing.T) {
	path := newFile(t)
	db := withScratch(t, open(t, path))
	const page = 4096
	text := strings.Repeat("x", duePages/2*page)
	for k := range 4 * mostPages / (duePages / 2) {
		if err := db.Write(context.Background(), put(k+1, text)); err != nil {
			t.Fatal(err)
		}
	}
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size() / page
	}
	if log := size(path + "-wal"); log > 2*mostPages {
		t.Errorf("the log has %d pages, and the limit is %d", log, mostPages)
	}
	testenv.Wait(t, "the copy of the log", func() bool { return size(path) > 4*mostPages })
	checkIntegrity(t, db)
}
