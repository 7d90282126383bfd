package operate

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"warranty.example/svc/warranty"
)

// UsageError is an error that the operator can fix on the command line or in the settings.
type UsageError struct{ Err error }

// Error returns the text of the cause.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e UsageError) Unwrap() error { return e.Err }

// exitError is an error with an exit code of its own.
type exitError struct {
	error
	code int
}

// Unwrap returns the cause.
func (e exitError) Unwrap() error { return e.error }

// badBackup is the exit code for a backup that is not good.
const badBackup = 3

// Exit prints the error of a command and returns the exit code: 0 without an error, 2 for usage errors, 3 for a backup
// that is not good, 1 for other errors.
func Exit(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(w, "svcd: "+plain(err))
	var usage UsageError
	var coded exitError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &usage):
		return 2
	}
	return 1
}

// oneLine joins the lines of an error.
var oneLine = strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ")

// plain returns an error in one line, without what a refusal of the service says to its clients.
func plain(err error) string {
	text := err.Error()
	var refusal *warranty.Error
	if errors.As(err, &refusal) {
		lines := []string{}
		for _, f := range refusal.Fields {
			lines = append(lines, f.Field+": "+f.Message)
		}
		if len(lines) == 0 {
			lines = append(lines, refusal.Message)
		}
		text = strings.Replace(text, refusal.Error()+": ", "", 1) // the cause says more
		text = strings.Replace(text, refusal.Error(), strings.Join(lines, "; "), 1)
	}
	return oneLine.Replace(text)
}
