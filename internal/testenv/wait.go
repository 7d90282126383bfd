package testenv

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Patience is how long a test waits for something that takes a fraction of a second on an idle machine.
// It ends a test that hangs; no test compares it with anything.
const Patience = time.Minute

// Wait asks until something holds. A test that waited in vain ends with the words of what it waited for.
func Wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up after %v waiting for this: %s", Patience, what)
		}
	}
}

// Receive takes the next value from a channel, or what a closed one gives.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Patience):
		t.Fatalf("gave up after %v waiting for this: %s", Patience, what)
		panic("unreachable")
	}
}

// Together runs fn n times at once and waits for all. When some never end it panics, so that the stacks
// tell where they are.
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
		panic(fmt.Sprintf("gave up after %v waiting for %d goroutines of a test to end", Patience, n))
	}
}
