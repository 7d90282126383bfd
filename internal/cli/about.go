package cli

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

func (r *run) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version of this program", Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			about := struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{r.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return r.showLocal(about, func() string { return fmt.Sprintf("svc %s (%s, %s)\n", about.Version, about.Go, about.Platform) })
		}}
}

// exitCodes explains the codes, for people and for the man page.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "Success."},
	{exitServer, "The service failed (5xx), or something on this machine did."},
	{exitUsage, "The command line or a value is invalid, and nothing was changed; or rows of an import failed; or a confirmation was declined."},
	{exitNotFound, "The record does not exist, or you may not see it."},
	{exitCredential, "The key is missing, invalid, expired or revoked, or not allowed to do this: its scopes, or your role on the warranty."},
	{exitRateLimited, "Too many requests; the message says when to try again. --wait waits."},
	{exitConflict, "A conflict: a status that cannot follow the current one, a record that has changed (--if-match), a reused idempotency key."},
	{exitNetwork, "The service was not reached, or something else answered, such as a proxy."},
	{exitNotInForce, "svc verify: the warranty exists but is not in force today, or the serial number does not match."},
	{exitInterrupted, "Interrupted with Ctrl-C."},
}

func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("The exit code says how a command ended. When it is not 0, standard output has no\ndata, but for 10, for an import of which rows failed, and for an export that was\ncut off.\n\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, strings.ReplaceAll(wrap(e.meaning, 72), "\n", "\n       "))
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: strings.TrimRight(b.String(), "\n")}
}

// wrap breaks a text into lines of at most so many columns.
func wrap(s string, columns int) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(s) {
		switch {
		case at == 0:
		case at+1+width(word) > columns:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += width(word)
	}
	return b.String()
}
