package operate

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/files"
)

// disk returns a spaceCheck of a disk with free bytes.
func disk(free *uint64, total uint64) spaceCheck {
	return spaceCheck{func(string) (uint64, uint64, error) { return *free, total, nil }}
}

func left(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestABackupDoesNotFillTheDisk: a backup that does not fit is refused before anything is written, and one that
// becomes larger than expected is stopped before the disk is full.
func TestABackupDoesNotFillTheDisk(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for _, test := range []struct {
		name        string
		free, total uint64
		expected    int64
		refused     string
	}{
		{"fits", 3 * gib, 100 * gib, 2 * gib, ""},
		{"does not fit", 1 * gib, 100 * gib, 2 * gib, "the backup needs about 2.0 GiB, and 256.0 MiB of the disk must stay free, but "},
		{"would leave less than the reserve", 2*gib + 255<<20, 100 * gib, 2 * gib, "has only 2.2 GiB; free some space"},
		{"leaves the reserve of a small disk", 60 << 20, 1 * gib, 8 << 20, ""},
		{"full", 0, gib, 0, "the backup needs about"},
	} {
		folder := t.TempDir()
		f := folderShelf{folder, disk(&test.free, test.total)}
		filled := false
		err := f.write(context.Background(), "b.tar", test.expected, func(w io.Writer) error {
			filled = true
			_, err := io.WriteString(w, "content")
			return err
		})
		if test.refused == "" {
			if err != nil || !slices.Equal(left(t, folder), []string{"b.tar"}) {
				t.Errorf("%s: %v, left %v", test.name, err, left(t, folder))
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.refused) || filled || len(left(t, folder)) > 0 {
			t.Errorf("%s: %v, filled %v, left %v", test.name, err, filled, left(t, folder))
		}
	}

	free, folder := uint64(gib), t.TempDir()
	f := folderShelf{folder, disk(&free, gib)}
	wrote := 0
	err := f.write(context.Background(), "b.tar", 0, func(w io.Writer) error {
		block := make([]byte, 1<<20)
		for range 200 {
			free -= min(free, 16<<20) // another program writes too
			n, err := w.Write(block)
			if wrote += n; err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "so the backup was stopped") || wrote > checkEvery || len(left(t, folder)) > 0 {
		t.Errorf("%v after %d bytes, left %v", err, wrote, left(t, folder))
	}
	unknown := spaceCheck{func(string) (uint64, uint64, error) { return 0, 0, errors.ErrUnsupported }}
	if _, err := unknown.guard(folder, io.Discard, gib); err != nil {
		t.Errorf("on a system without the check: %v", err)
	}
}

// TestMain can be a process that writes a backup and never ends.
func TestMain(m *testing.M) {
	if folder := os.Getenv("SVCD_TEST_WRITES_TO"); folder != "" {
		err := newFolderShelf(folder).write(context.Background(), "svcd.tar", 0, func(w io.Writer) error {
			if _, err := io.WriteString(w, "content"); err != nil {
				return err
			}
			_, _ = os.Stdout.WriteString("writing\n")
			select {}
		})
		panic(err)
	}
	os.Exit(m.Run())
}

// TestOnlyPartsOfKilledBackupsAreRemoved: the file of a running process stays, and is removed once it was killed.
func TestOnlyPartsOfKilledBackupsAreRemoved(t *testing.T) {
	t.Parallel()
	ctx, folder := context.Background(), t.TempDir()
	f := newFolderShelf(folder)
	others := []string{"notes.partial", "svcd.tar.partial", "other.tar.77.partial"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SVCD_TEST_WRITES_TO="+folder)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("writing\n"))); err != nil {
		t.Fatal(err)
	}
	ours := func(name string) bool { return name == "svcd.tar" }
	if removed, err := f.sweep(ctx, ours); err != nil || len(removed) > 0 {
		t.Errorf("removed %v of a running process, %v", removed, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if names := left(t, folder); slices.Contains(names, "svcd.tar") || len(names) != 4 {
		t.Errorf("a killed backup left %v", names)
	}
	removed, err := f.sweep(ctx, ours)
	if err != nil || len(removed) != 1 || !strings.HasPrefix(removed[0], "svcd.tar.") {
		t.Errorf("removed %v, %v", removed, err)
	}
	if names := left(t, folder); len(names) != 3 {
		t.Errorf("left %v", names)
	}
}

// TestAPartThatIsTakenForDeadIsMadeAgain: between creating and locking its file, another process may remove it.
func TestAPartThatIsTakenForDeadIsMadeAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	f := newFolderShelf(folder)
	stop, ended := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
				if _, err := f.sweep(context.Background(), func(string) bool { return true }); err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	for range 300 {
		file, err := createPartial(filepath.Join(folder, "b.tar"))
		if err != nil {
			t.Fatal(err)
		}
		if !isAt(file, file.Name()) {
			t.Fatal("the file of a running process was removed")
		}
		if locked, err := files.LockOpen(file); err != nil || !locked {
			t.Fatal("the file is not locked", err)
		}
		if err := errors.Join(os.Remove(file.Name()), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
