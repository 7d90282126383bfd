package main

import (
	"errors"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/man"
	"warranty.example/svc/internal/operate"
	"warranty.example/svc/internal/version"
)

// manCommand writes the man pages of svcd, for "make man".
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write the man pages to a directory",
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return operate.UsageError{Err: errors.New("give a directory")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := man.Manual{
				Program: "svcd", Version: version.String(), Section: 8,
				Files: []man.File{
					{Path: "/etc/svcd/svcd.toml", Meaning: "Settings of the service that a package installs: svcd --config /etc/svcd/svcd.toml."},
					{Path: "/var/lib/svcd", Meaning: "Its records and documents."},
					{Path: "/var/lib/svcd-backups", Meaning: "Backups of svcd-backup.timer."},
					{Path: "/usr/share/doc/svcd/docs/operations.md", Meaning: "The guide for operators."},
				},
				ExitCodes: []man.Exit{
					{Code: 0, Meaning: "Success; for the server: stopped by a signal."},
					{Code: 1, Meaning: "Any other error."},
					{Code: 2, Meaning: "Usage error: a setting or an argument is invalid."},
					{Code: 3, Meaning: "svcd backup verify: the backup is damaged or incomplete."},
				},
			}.Write(args[0], cmd.Root())
			return err
		},
	}
}

// addCompletion adds the commands that print shell completions.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(*cobra.Command, []string) error {
				return operate.UsageError{Err: errors.New("give a shell: bash, zsh, fish or powershell")}
			}
		}
	}
}
