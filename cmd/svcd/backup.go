package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/version"
)

// backupCommand writes a backup while the service runs.
func backupCommand() *cobra.Command {
	var keep int
	backup := &cobra.Command{
		Use:   "backup FILE|FOLDER|-",
		Short: "Write the database and the document files to a file, while the service runs",
		Args:  oneArgument("give the file or folder to write the backup to, or - for standard output"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			c, err := load(cmd)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("keep") && (keep < 1 || !isFolder(args[0])) {
				return usageError{errors.New("--keep needs a number from 1, and an existing folder to write the backup to")}
			}
			st, files, closeSource, err := openSource(cmd.Context(), c, filesOf(c))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeSource()) }()
			bar := newProgress(cmd.ErrOrStderr())
			defer bar.clear()
			var done archive.Summary
			path, err := writeNew(cmd, args[0], func(w io.Writer) (err error) {
				done, err = archive.Backup(cmd.Context(), st, files, w, version.String(), time.Now(), bar.show)
				return err
			})
			if err != nil {
				return stoppedOr(cmd.Context(), err)
			}
			bar.clear()
			fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s: %d rows, %d files (%s)\n",
				path, done.Rows, done.Files, size(done.FileBytes))
			err = reportFiles(cmd.ErrOrStderr(), done)
			if keep > 0 {
				err = errors.Join(err, rotate(cmd.ErrOrStderr(), path, keep, done))
			}
			return err
		},
	}
	backup.Flags().IntVar(&keep, "keep", 0, "then delete older backups in the folder, except this number of the newest ones")
	return backup
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func oneArgument(missing string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return usageError{errors.New(missing)}
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

// some lists the first few of many.
func some(list []string) string {
	if len(list) > 3 {
		return strings.Join(list[:3], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}

// writeNew writes a new file, readable only by its owner. It is written under another name and appears
// when it is complete. A folder gets a file named by the time.
func writeNew(cmd *cobra.Command, to string, write func(io.Writer) error) (path string, err error) {
	if to == "-" {
		if isTerminal(cmd.OutOrStdout()) {
			return "", usageError{errors.New("standard output is a terminal; give a file or redirect it")}
		}
		return "the backup to standard output", write(cmd.OutOrStdout())
	}
	path = to
	if isFolder(to) {
		path = filepath.Join(to, backupName(time.Now()))
	} else if strings.HasSuffix(to, "/") {
		return path, usageError{fmt.Errorf("the folder %s does not exist", to)}
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return path, usageError{err}
		}
		return path, usageError{fmt.Errorf("%s already exists and is not overwritten", path)}
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial") // mode 0600
	if err != nil {
		return path, usageError{err}
	}
	defer os.Remove(file.Name()) // it has its final name then, or is not needed
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return path, err
	}
	if err := moveNew(file.Name(), path); err != nil {
		return path, err
	}
	return path, syncFolder(filepath.Dir(path))
}

// moveNew gives a file its final name and never replaces another file.
func moveNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// The file system has no hard links.
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}
