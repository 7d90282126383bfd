package find

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
)

// TestOddQueriesTakeLittle compares the CPU time of odd queries with that of a plain one, which reads
// the same records. Only this thread's time counts, so other processes and tests do not matter.
func TestOddQueriesTakeLittle(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var texts, codes []string
	for i := range 500 {
		texts = append(texts, fmt.Sprintf("Kettle %d O'Neil 東芝洗濯機 شركة e\u0301\n", i)+
			strings.Repeat("a b c d e f g h 0 00 aaaaaaaaaaaaaa WR- !\"#$%& 洗洗洗洗洗洗洗洗洗 ", 8))
		codes = append(codes, fmt.Sprintf("sn%05d0000000000000000000\nwr00000000000000000000", i))
	}
	search := func(q string) time.Duration {
		query, before := NewQuery(q), threadTime()
		for i := range texts {
			query.Matches(texts[i], codes[i])
		}
		return threadTime() - before
	}
	search("kettle")
	plain := max(search("kettle"), search("kettle"), time.Millisecond)
	for _, q := range testenv.OddQueries() {
		if took := min(search(q), search(q)); took > 10*plain {
			t.Errorf("%q takes %v of CPU, a plain query %v", q, took, plain)
		}
	}
}

// threadTime returns the CPU time of this thread.
func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	_ = syscall.Getrusage(thread, &usage) // cannot fail
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
