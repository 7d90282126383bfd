package testenv

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Patience is the timeout for anything that takes a fraction of a second on an idle machine. It only ends
// tests that hang; no test asserts on it.
const Patience = 5 * time.Minute

// Wait polls until holds returns true, and fails the test after Patience with what it waited for.
func Wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up after %v waiting for: %s", Patience, what)
		}
	}
}

// Receive returns the next value from a channel, or the zero value when it is closed. It fails the test
// after Patience.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Patience):
		t.Fatalf("gave up after %v waiting for: %s", Patience, what)
		panic("unreachable")
	}
}

// Together runs fn n times concurrently and waits for all calls to return. After Patience it panics, so
// that the stack traces show where they hang.
func Together(n int, fn func(i int)) {
	var all sync.WaitGroup
	start, done := make(chan struct{}), make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	go func() {
		defer close(done)
		all.Wait()
	}()
	select {
	case <-done:
	case <-time.After(Patience):
		panic(fmt.Sprintf("gave up after %v waiting for %d goroutines", Patience, n))
	}
}
