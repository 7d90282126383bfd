package operate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/store"
)

// sourceOptions are the flags of commands that read a backup.
type sourceOptions struct{ fromFile, identity string }

func (o *sourceOptions) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.fromFile, "from-file", "", "file with the place of the backup, for an s3:// URL with keys")
	cmd.Flags().StringVar(&o.identity, "identity", "",
		"file with the age identity or SSH private key of an encrypted backup")
}

// source is an open backup.
type source struct {
	content   io.Reader
	name      string
	encrypted bool
	close     func()
}

// open opens the backup that the arguments name, and decrypts it.
func (o sourceOptions) open(cmd *cobra.Command, args []string) (s source, err error) {
	place, err := chosenPlace("--from", "", o.fromFile, args,
		"give one backup: a file, an s3:// URL, or - for standard input")
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			_ = place.close() // closes idle connections
		}
	}()
	identities, err := o.identities()
	if err != nil {
		return s, err
	}
	s.close = func() { _ = place.close() } // see above
	var from io.Reader = cmd.InOrStdin()
	s.name = "the backup"
	if place.shelf != nil {
		if place.name == "" {
			return s, notOneBackup(cmd.Context(), place.shelf)
		}
		file, err := place.shelf.open(cmd.Context(), place.name)
		if err != nil {
			return s, UsageError{err}
		}
		s.name, from = place.shelf.path(place.name), bufio.NewReaderSize(file, 1<<20)
		s.close = func() { _, _ = file.Close(), place.close() } // only read
	}
	s.content, s.encrypted, err = archive.Decrypt(from, identities)
	if errors.Is(err, archive.ErrEncrypted) || errors.Is(err, archive.ErrIdentity) {
		err = UsageError{err}
	}
	if err != nil {
		s.close()
	}
	return s, err
}

func (o sourceOptions) identities() (archive.Identities, error) {
	if o.identity == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.identity)
	if err == nil {
		var list archive.Identities
		if list, err = archive.ParseIdentities(text); err == nil {
			return list, nil
		}
		err = fmt.Errorf("%s: %w", o.identity, err)
	}
	return nil, UsageError{fmt.Errorf("--identity: %w", err)}
}

// notOneBackup explains that a folder is not a backup, and names the newest one in it.
func notOneBackup(ctx context.Context, place shelf) error {
	names, err := place.names(ctx)
	if err != nil {
		return UsageError{err}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, "svcd-") || !strings.HasSuffix(name, ".tar") && !strings.HasSuffix(name, ".tar.age")
	})
	if len(names) == 0 {
		return UsageError{fmt.Errorf("%s has no backups", place.path(""))}
	}
	return UsageError{fmt.Errorf("give one backup, such as the newest: %s", place.path(slices.Max(names)))}
}

// verifyCommand checks a backup.
func verifyCommand() *cobra.Command {
	var o sourceOptions
	cmd := &cobra.Command{
		Use:   "verify FILE|s3://BUCKET/NAME|-",
		Short: "Check that a backup is complete and unchanged, without restoring it; exits with 3 if it is not",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := o.open(cmd, args)
			if err != nil {
				return badOr(err)
			}
			defer from.close()
			bar := newProgress(cmd.ErrOrStderr())
			defer bar.clear()
			h, found, err := archive.Verify(cmd.Context(), from.content, bar.show)
			bar.clear()
			if err != nil {
				return badOr(stoppedOr(cmd.Context(), err))
			}
			if err := printVerified(cmd.OutOrStdout(), from, h, found); err != nil {
				return err
			}
			if err := reportFiles(cmd.ErrOrStderr(), found); err != nil {
				return exitError{err, badBackup}
			}
			return nil
		},
	}
	o.add(cmd)
	return cmd
}

// badOr gives errors about the content of a backup their exit code.
func badOr(err error) error {
	if archive.IsBad(err) {
		return exitError{fmt.Errorf("%w; use another backup", err), badBackup}
	}
	return err
}

func printVerified(w io.Writer, from source, h archive.Header, found archive.Summary) error {
	kind := ""
	if from.encrypted {
		kind = "encrypted, "
	}
	_, err := fmt.Fprintf(w, "%s is complete and unchanged: %sof %s, by svcd %s, %d rows in %d tables, %d files (%s)\n",
		from.name, kind, h.CreatedAt.Format("2006-01-02 15:04:05 UTC"), printable(h.Svcd),
		found.Rows, len(found.Tables), found.Files, size(found.FileBytes))
	if err != nil {
		return err
	}
	latest, err := store.LatestSchema()
	if err == nil && h.Schema > latest {
		_, err = fmt.Fprintf(w, "this svcd cannot restore it: it has schema %d, and this svcd knows schemas up to %d\n",
			h.Schema, latest)
	}
	return err
}
