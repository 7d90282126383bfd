package operate

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/warranty"
)

// copyCommand moves everything to another database.
func copyCommand() *cobra.Command {
	var from, to, fromFiles, toFiles string
	cp := &cobra.Command{
		Use:   "copy --from DATABASE --to DATABASE",
		Short: "Copy everything to another database and compare all tables; stop the service first",
		Args:  NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if from == "" || to == "" {
				return UsageError{errors.New("give both databases: --from and --to, each a SQLite file or a postgres:// URL")}
			}
			c, err := Load(cmd)
			if err != nil {
				return err
			}
			source, err := withDatabase(c, "--from", from)
			if err != nil {
				return err
			}
			target, err := withDatabase(c, "--to", to)
			if err != nil {
				return err
			}
			fromPlace, err := placeOf("--from-files", fromFiles, filesBeside(source))
			if err != nil {
				return err
			}
			stay := fromPlace // with PostgreSQL the files stay where they are
			if !target.IsPostgres() && fromPlace.bucket == nil {
				stay = filesBeside(target)
			}
			toPlace, err := placeOf("--to-files", toFiles, stay)
			if err != nil {
				return err
			}
			return copyAll(cmd, source, target, fromPlace, toPlace)
		},
	}
	cp.Flags().StringVar(&from, "from", "", "database to read: SQLite file, or postgres://user:password@host/name")
	cp.Flags().StringVar(&to, "to", "",
		"database to make: SQLite file that does not exist, or an empty postgres:// database")
	cp.Flags().StringVar(&fromFiles, "from-files", "",
		"folder or s3:// URL of the document files (default: --files, files next to the SQLite file, or in --data)")
	cp.Flags().StringVar(&toFiles, "to-files", "",
		"folder or s3:// URL for the document files (default: files next to the SQLite file; otherwise they stay in place)")
	return cp
}

// withDatabase returns the settings with another database.
func withDatabase(c config.Config, flag, database string) (config.Config, error) {
	c, err := c.WithDatabase(database)
	if err != nil {
		return c, UsageError{fmt.Errorf("%s: %w", flag, err)}
	}
	if !c.IsPostgres() {
		c.Database = resolveLinks(c.Database)
	}
	return c, nil
}

func copyAll(cmd *cobra.Command, source, target config.Config, fromFiles, toFiles filesPlace) (err error) {
	ctx := cmd.Context()
	if source.Database == target.Database {
		return UsageError{errors.New("--from and --to are the same database")}
	}
	if !source.IsPostgres() {
		if !exists(source.Database) {
			return UsageError{fmt.Errorf("--from: no database at %s", source.Database)}
		}
		release, err := lockDatabase(source) // a server that writes meanwhile would lose its writes
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	st, from, closeSource, err := openSource(ctx, source, fromFiles)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	where := &toFiles
	if fromFiles.same(toFiles) {
		where, from = nil, nil // they stay where they are
	}
	place, err := openPlace(ctx, target, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.close()) }()
	row, err := st.Folder(ctx)
	if err != nil {
		return err
	}
	bar := newProgress(cmd.ErrOrStderr())
	defer bar.clear()
	to := place.target(ctx, row.Database)
	to.ID, to.KeepCredentials = warranty.ID{}, true // it stays the same database
	done, err := archive.Copy(ctx, st, from, to, bar.show)
	if err == nil {
		err = place.placeDatabase()
	}
	if err != nil {
		return place.discard(stoppedOr(ctx, err))
	}
	bar.clear()
	for _, t := range done.Tables {
		fmt.Fprintf(cmd.OutOrStdout(), "%-22s %10d rows  %.16s\n", t.Name, t.Rows, t.SHA256)
	}
	moved := fmt.Sprintf("%d files (%s) copied to %s", done.Files, size(done.FileBytes), toFiles)
	if where == nil {
		moved = "files stay in " + fromFiles.String()
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "copied %d rows, all checksums equal; %s\n", done.Rows, moved)
	if err != nil {
		return err
	}
	if source.SigningKey != "" && exists(source.SigningKey) {
		fmt.Fprintf(cmd.OutOrStdout(), "the signing key stays at %s; the new place needs it too\n", source.SigningKey)
	}
	if source.SecretsKey != "" && exists(source.SecretsKey) {
		fmt.Fprintf(cmd.OutOrStdout(), "the secrets key stays at %s; the new place needs it too\n", source.SecretsKey)
	}
	return reportFiles(cmd.ErrOrStderr(), done)
}
