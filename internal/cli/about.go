package cli

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/man"
)

func (r *run) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of svc",
		Args:  arguments(),
		RunE: func(*cobra.Command, []string) error {
			about := struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{r.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return r.showLocal(about, func() string {
				return fmt.Sprintf("svc %s (%s, %s)\n", about.Version, about.Go, about.Platform)
			})
		},
	}
}

// exitCodes describes the exit codes, for the help and the man page.
var exitCodes = []man.Exit{
	{Code: exitOK, Meaning: "Success."},
	{Code: exitServer, Meaning: "Internal error of the service (5xx) or of this machine; svc verify: the certificate is not valid."},
	{Code: exitUsage, Meaning: "Usage error: the command line or a value is invalid and nothing was changed, some rows of an import " +
		"failed, or a confirmation was declined."},
	{Code: exitNotFound, Meaning: "The record does not exist, or you cannot access it."},
	{Code: exitCredential, Meaning: "The key is missing, invalid, expired or revoked, or its scopes or your role on the warranty do " +
		"not allow this."},
	{Code: exitRateLimited, Meaning: "Too many requests. The message says when to try again. --wait sets how long svc waits."},
	{Code: exitConflict, Meaning: "Conflict: an invalid status change, a record that changed (--if-match), or a reused idempotency key."},
	{Code: exitNetwork, Meaning: "The service is unreachable, or something else responded, such as a proxy."},
	{Code: exitNotInForce, Meaning: "svc verify: the warranty exists but is not in force today, or the serial number does not match."},
	{Code: exitInterrupted, Meaning: "Interrupted with Ctrl-C."},
}

func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString(`If the exit code is not 0, there is no data on standard output, except with code
10, after an import with failed rows, and after an interrupted export.

`)
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", e.Code, strings.ReplaceAll(wrap(e.Meaning, 72), "\n", "\n       "))
	}
	return &cobra.Command{Use: "exit-codes", Short: "Exit codes of svc", Long: strings.TrimRight(b.String(), "\n")}
}

// wrap breaks a text into lines of at most the given columns.
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
