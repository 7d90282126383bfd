// Package terminal reads input that can be interrupted, and secrets without showing them.
package terminal

import (
	"context"
	"os"

	"golang.org/x/term"
)

// Is reports whether a file is a terminal.
func Is(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Width returns the width of the first of the files that is a terminal, and 0 if none is.
func Width(files ...*os.File) int {
	for _, f := range files {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// ReadSecret reads a line from a terminal without echo. On interruption it restores the terminal.
func ReadSecret(ctx context.Context, f *os.File) (string, error) {
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	return Interruptible(ctx, func() (string, error) {
		line, err := term.ReadPassword(fd)
		return string(line), err
	}, func() { _ = term.Restore(fd, before) }) // failures do not matter
}

// Interruptible waits for a read that cannot be canceled, or until ctx is done; then it calls undo.
func Interruptible[T any](ctx context.Context, read func() (T, error), undo func()) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case got := <-done:
		return got.value, got.err
	case <-ctx.Done():
		undo()
		var none T
		return none, ctx.Err()
	}
}
