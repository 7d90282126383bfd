package engine

import (
	"os"
	"strings"
	"testing"
)

const logPage = 4096

// pagesOf returns the size of a file in pages.
func pagesOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Size() / logPage)
}

// TestTheLogIsCopied writes much more than the log may hold, without a pause, and expects that all but the last
// pages are in the database without a further write, and that the log was reused.
func TestTheLogIsCopied(t *testing.T) {
	path := newFile(t)
	db := withScratch(t, open(t, path))
	const each, count = duePages / 2, 32
	text := strings.Repeat("x", each*logPage)
	for k := range count {
		if err := db.Write(background, put(k+1, text)); err != nil {
			t.Fatal(err)
		}
	}
	// The writer copies after it answered: another transaction waits for that.
	if err := db.Write(background, put(count+1, "")); err != nil {
		t.Fatal(err)
	}
	if n := pagesOf(t, path); n < each*count-duePages {
		t.Errorf("%d of %d pages are in the database", n, each*count)
	}
	if n := pagesOf(t, path+"-wal"); n > 3*duePages {
		t.Errorf("the log has %d pages", n)
	}
	checkIntegrity(t, db)
}

// TestALogThatAReaderNeeds is copied once the reader has ended, and only its new pages while it reads.
func TestALogThatAReaderNeeds(t *testing.T) {
	path := newFile(t)
	db := withScratch(t, open(t, path))
	log := db.backend.(*sqliteBackend).log
	const each, count = duePages / 2, 8
	text := strings.Repeat("x", each*logPage)
	copies := 0
	err := db.Read(background, func(q Querier) error {
		if err := q.Query(background, `SELECT count(*) FROM scratch`, func(*Row) error { return nil }); err != nil {
			return err
		}
		for k := range count {
			before := log.copied
			if err := db.Write(background, put(k+1, text)); err != nil {
				return err
			}
			if err := db.Write(background, put(100+k, "")); err != nil { // waits for the copy
				return err
			}
			if log.copied != before {
				copies++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := pagesOf(t, path); n > each*count/2 {
		t.Errorf("%d pages were copied while a reader needed what was there before", n)
	}
	if copies == 0 || copies > count/2+1 {
		t.Errorf("the log was copied %d times for %d new pages", copies, each*count)
	}
	for k := range 2 {
		if err := db.Write(background, put(1000+k, text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Write(background, put(2000, "")); err != nil {
		t.Fatal(err)
	}
	if n := pagesOf(t, path); n < each*count {
		t.Errorf("%d of %d pages are in the database after the reader ended", n, each*(count+2))
	}
	checkIntegrity(t, db)
}
