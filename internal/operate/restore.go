package operate

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/config"
)

// restoreCommand makes a database and files from a backup.
func restoreCommand() *cobra.Command {
	var keep bool
	var o sourceOptions
	restore := &cobra.Command{
		Use:   "restore FILE|s3://BUCKET/NAME|-",
		Short: "Restore a backup into an empty database and folder; ends all sessions and tokens",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			c, err := Load(cmd)
			if err != nil {
				return err
			}
			from, err := o.open(cmd, args)
			if err != nil {
				return explainTarget(err)
			}
			defer from.close()
			key, err := placedKey(c)
			if err != nil {
				return err
			}
			secrets, err := placedSecretsKey(c)
			if err != nil {
				return err
			}
			where := filesOf(c)
			place, err := openPlace(cmd.Context(), c, &where)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, place.close()) }()
			bar := newProgress(cmd.ErrOrStderr())
			defer bar.clear()
			// A restored database is another one: it must not use the folder of the original by mistake.
			target := place.target(cmd.Context(), newID())
			target.KeepCredentials, target.SigningKey, target.SecretsKey = keep, key, secrets
			done, err := archive.Restore(cmd.Context(), from.content, target, bar.show)
			if err == nil {
				err = place.placeDatabase()
			}
			if err != nil {
				return place.discard(explainTarget(stoppedOr(cmd.Context(), err)))
			}
			bar.clear()
			fmt.Fprintf(cmd.OutOrStdout(), "restored %d rows and %d files (%s)\n", done.Rows, done.Files, size(done.FileBytes))
			if err := printCredentials(cmd.OutOrStdout(), keep); err != nil {
				return err
			}
			if err := printSigningKey(cmd.OutOrStdout(), c, done, keep, key); err != nil {
				return err
			}
			if err := printSecretsKey(cmd.OutOrStdout(), c, done, keep, secrets); err != nil {
				return err
			}
			return reportFiles(cmd.ErrOrStderr(), done)
		},
	}
	o.add(restore)
	restore.Flags().BoolVar(&keep, "keep-credentials", false,
		"keep sessions, tokens, codes, transfers, calendar feeds and unsent emails as they were at the time of the backup")
	return restore
}

func printCredentials(w io.Writer, keep bool) (err error) {
	if keep {
		_, err = fmt.Fprintln(w, "credentials are as they were at the time of the backup, including those revoked since")
	} else {
		_, err = fmt.Fprintln(w, "all sessions, tokens, codes, transfers and calendar feeds have ended; passwords still work")
	}
	return err
}

// printSigningKey says with which key certificates will be signed, if the backup is of a service that had one.
func printSigningKey(w io.Writer, c config.Config, done archive.Summary, keep bool, placed string) (err error) {
	switch {
	case !hadKey(done, "signing_keys"):
	case keep && placed == "":
		_, err = fmt.Fprintf(w, "copy the signing key, which is not in backups, to %s before the start\n", c.SigningKey)
	case placed == "":
		_, err = fmt.Fprintln(w, "the signing key is not in backups: "+
			"the next start makes a new one; earlier certificates stay valid")
	default:
		_, err = fmt.Fprintf(w, "certificates are signed with the key at %s\n", c.SigningKey)
	}
	return err
}

// printSecretsKey says the same of the key that seals secrets.
func printSecretsKey(w io.Writer, c config.Config, done archive.Summary, keep bool, placed string) (err error) {
	switch {
	case !hadKey(done, "secrets_keys") || placed != "":
	case keep:
		_, err = fmt.Fprintf(w, "copy the secrets key, which is not in backups, to %s before the start\n", c.SecretsKey)
	default:
		_, err = fmt.Fprintln(w, "the secrets key is not in backups: the next start makes a new one, "+
			"and authenticator apps and providers have to be set up again")
	}
	return err
}

// hadKey reports whether the backup is of a service that had a key.
func hadKey(done archive.Summary, table string) bool {
	return slices.ContainsFunc(done.Tables, func(t archive.TableSum) bool { return t.Name == table && t.Rows > 0 })
}

// explainTarget adds what to do to errors about the target.
func explainTarget(err error) error {
	if archive.IsBad(err) {
		return fmt.Errorf("%w; nothing was restored, use another backup", err)
	}
	return err
}
