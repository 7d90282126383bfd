package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/version"
	"warranty.example/svc/warranty"
)

// backupCommand writes a backup while the service runs.
func backupCommand() *cobra.Command {
	var o backupOptions
	cmd := &cobra.Command{
		Use:   "backup FOLDER|FILE|s3://BUCKET/PREFIX|-",
		Short: "Write the database and the document files to a file or to S3, while the service runs",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := chosenPlace("--to", o.to, o.toFile, args,
				"give one place for the backup: a file, a folder, an s3:// URL, or - for standard output")
			if err != nil {
				return err
			}
			b, err := o.parse(cmd, place)
			if err != nil {
				return err
			}
			defer place.close() // closes idle connections
			return b.run(cmd)
		},
	}
	cmd.Flags().StringVar(&o.to, "to", "",
		"folder, file or s3://bucket/prefix?endpoint=… to write the backup to, like the argument")
	cmd.Flags().StringVar(&o.toFile, "to-file", "", "file with the place, for an s3:// URL with keys")
	cmd.Flags().StringVar(&o.keep, "keep", "",
		"then delete older backups, except these: last=N, daily=N, weekly=N and monthly=N, separated by commas")
	cmd.Flags().StringArrayVar(&o.encryptTo, "encrypt-to", nil,
		"encrypt for an age recipient (age1…), an SSH key (ssh-ed25519 …) or a file of them; can be repeated")
	cmd.AddCommand(verifyCommand())
	return cmd
}

// chosenPlace returns the place that an argument, a flag or a file names; exactly one of them must.
func chosenPlace(flag, given, file string, args []string, missing string) (backupPlace, error) {
	all := slices.DeleteFunc(append([]string{given, file}, args...), func(s string) bool { return s == "" })
	if len(all) != 1 {
		return backupPlace{}, UsageError{errors.New(missing)}
	}
	where := all[0]
	if file != "" {
		flag += "-file"
		var err error
		if where, err = config.ReadSecret(file); err != nil {
			return backupPlace{}, UsageError{fmt.Errorf("%s: %w", flag, err)}
		}
	}
	return parsePlace(flag+":", where)
}

type backupOptions struct {
	to, toFile, keep string
	encryptTo        []string
}

// backup is what a backup command does.
type backup struct {
	config     config.Config
	place      backupPlace
	recipients archive.Recipients
	policy     *archive.Policy // nil to delete nothing
}

// parse checks the options before anything is read.
func (o backupOptions) parse(cmd *cobra.Command, place backupPlace) (b backup, err error) {
	if b.config, err = Load(cmd); err != nil {
		return b, err
	}
	b.place = place
	for _, text := range o.encryptTo {
		list, err := readRecipients(text)
		if err != nil {
			return b, UsageError{fmt.Errorf("--encrypt-to: %w", err)}
		}
		b.recipients = append(b.recipients, list...)
	}
	if cmd.Flags().Changed("keep") {
		policy, err := archive.ParsePolicy(o.keep)
		if err != nil {
			return b, UsageError{fmt.Errorf("--keep %w", err)}
		}
		if place.shelf == nil || place.name != "" {
			return b, UsageError{errors.New("--keep needs a folder, or an s3:// URL of a prefix, to write the backup to")}
		}
		b.policy = &policy
	}
	if place.shelf == nil && isTerminal(cmd.OutOrStdout()) {
		return b, UsageError{errors.New("standard output is a terminal; give a file or redirect it")}
	}
	return b, nil
}

// readRecipients reads recipients, or a file of them.
func readRecipients(text string) (archive.Recipients, error) {
	if archive.IsRecipient(text) {
		return archive.ParseRecipients(text)
	}
	content, err := os.ReadFile(text)
	if err != nil {
		return nil, err
	}
	list, err := archive.ParseRecipients(string(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return list, nil
}

func (b backup) run(cmd *cobra.Command) (err error) {
	ctx := cmd.Context()
	st, files, closeSource, err := openSource(ctx, b.config, filesOf(b.config))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	bar := newProgress(cmd.ErrOrStderr())
	defer bar.clear()
	w := backupWriter{
		backup:   b,
		store:    st,
		files:    files,
		progress: bar.show,
		out:      cmd.OutOrStdout(),
		notes:    cmd.ErrOrStderr(),
	}
	done, err := w.write(ctx)
	if err != nil {
		err = stoppedOr(ctx, err)
		recordFailure(ctx, st, err)
		return err
	}
	bar.clear()
	fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s: %s, %d rows, %d files (%s)\n",
		done.path, size(done.bytes), done.Rows, done.Files, size(done.FileBytes))
	if hadKey(done.Summary, "secrets_keys") {
		fmt.Fprintln(cmd.ErrOrStderr(), "the files of --signing-key and --secrets-key are not in backups; keep copies elsewhere")
	}
	err = errors.Join(done.record(ctx, st), reportFiles(cmd.ErrOrStderr(), done.Summary))
	if b.policy != nil {
		err = errors.Join(err, b.deleteSurplus(ctx, cmd.ErrOrStderr(), done))
	}
	return err
}

// backupWriter writes one backup.
type backupWriter struct {
	backup
	store      *store.Store
	files      archive.Source
	progress   archive.Progress
	out, notes io.Writer
}

// written is a complete backup.
type written struct {
	archive.Summary
	name, path     string
	bytes          int64
	started, ended time.Time
}

func (w backupWriter) write(ctx context.Context) (done written, err error) {
	source, err := w.store.Folder(ctx)
	if err != nil {
		return done, err
	}
	done.started = w.store.Now()
	fill := func(to io.Writer) (err error) {
		count := &countingWriter{to: to}
		defer func() { done.bytes = count.n }()
		if len(w.recipients) == 0 {
			done.Summary, err = w.fill(ctx, count, done.started)
			return err
		}
		encrypted, err := archive.Encrypt(count, w.recipients)
		if err != nil {
			return err
		}
		if done.Summary, err = w.fill(ctx, encrypted, done.started); err != nil {
			return err
		}
		return encrypted.Close()
	}
	if w.place.shelf == nil {
		done.path = "standard output"
		err = fill(w.out)
	} else {
		done.name = w.place.name
		if done.name == "" {
			done.name = archive.Name(done.started, source.Database, len(w.recipients) > 0)
		}
		done.path = w.place.shelf.path(done.name)
		err = w.shelve(ctx, source.Database, done.name, fill)
	}
	done.ended = w.store.Now()
	return done, err
}

func (w backupWriter) fill(ctx context.Context, to io.Writer, at time.Time) (archive.Summary, error) {
	return archive.Backup(ctx, w.store, w.files, to, version.String(), at, w.progress)
}

// shelve writes a backup to a folder or a bucket, after removing what killed backups of the database left.
func (w backupWriter) shelve(ctx context.Context, database warranty.ID, name string, fill func(io.Writer) error) error {
	removed, err := w.place.shelf.sweep(ctx, func(found string) bool {
		_, ours := archive.ParseName(found, database)
		return ours || found == name
	})
	for _, left := range removed {
		fmt.Fprintf(w.notes, "removed %s, which an interrupted backup left\n", w.place.shelf.path(left))
	}
	var usage UsageError
	if errors.As(err, &usage) {
		return err
	}
	if err != nil { // the backup matters more
		fmt.Fprintf(w.notes, "svcd: cannot remove what interrupted backups left: %s\n", plain(err))
	}
	rows, documents, err := w.store.DataSize(ctx)
	if err != nil {
		return err
	}
	return w.place.shelf.write(ctx, name, rows/rowsShare+documents, fill)
}

// rowsShare is the part of a database that its rows take in a backup: without indexes, and compressed. It was a
// tenth with made-up records; the guard of the disk stops a backup that takes more.
const rowsShare = 4

// countingWriter counts bytes.
type countingWriter struct {
	to io.Writer
	n  int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// recordTime bounds recording a backup in the database.
const recordTime = 30 * time.Second

// record records a good backup, so that all servers know its age.
func (w written) record(ctx context.Context, st *store.Store) error {
	if !slices.ContainsFunc(w.Tables, func(t archive.TableSum) bool { return t.Name == store.BackupTable }) {
		return nil // an older schema
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	err := st.RecordBackup(ctx, store.BackupStatus{
		LastSuccess: w.ended,
		Duration:    w.ended.Sub(w.started),
		Bytes:       w.bytes,
		LostFiles:   int64(len(w.Missing) + len(w.Damaged)),
		Place:       w.path,
	})
	if err != nil {
		err = fmt.Errorf("the backup is complete, but its time could not be recorded in the database: %w", err)
	}
	return err
}

// maxReason is the number of bytes of a recorded reason.
const maxReason = 500

// recordFailure records that a backup failed. If that fails too, only the age of the last good one tells.
func recordFailure(ctx context.Context, st *store.Store, reason error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	text := plain(reason)
	_ = st.RecordBackupFailure(ctx, strings.ToValidUTF8(text[:min(len(text), maxReason)], ""), st.Now()) // see above
}

func oneArgument(missing string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return UsageError{errors.New(missing)}
		}
		return nil
	}
}

// stoppedOr explains the error of a command that was interrupted.
func stoppedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

// maxNamed is the number of files that a command names.
const maxNamed = 100

// reportFiles names the files that are missing or damaged in the source, and returns an error if there are
// any. What was made is complete except for them.
func reportFiles(w io.Writer, s archive.Summary) error {
	lines := make([]string, 0, len(s.Missing)+len(s.Damaged))
	for _, key := range s.Missing {
		lines = append(lines, "the file "+key+" is missing; it was lost earlier")
	}
	for _, key := range slices.Sorted(maps.Keys(s.Damaged)) {
		lines = append(lines, "the file "+key+" differs from the checksum of its document; it was copied as it is")
	}
	for i, line := range lines {
		if i == maxNamed {
			fmt.Fprintf(w, "svcd: and %d more\n", len(lines)-i)
			break
		}
		fmt.Fprintln(w, "svcd: "+line)
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("everything else is complete, but files of documents are missing (%d) or damaged (%d); "+
		"restore them from an older backup", len(s.Missing), len(s.Damaged))
}
