package operate

import (
	"context"
	"fmt"
	"io"
	"time"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/warranty"
)

// deleteSurplus deletes the older backups that the policy does not keep. It touches no other files, no backups
// of other databases, none that it cannot recognize, and never the new one, even if the clock was ahead
// earlier. It deletes nothing if the new one lacks files: an older one may have them.
func (b backup) deleteSurplus(ctx context.Context, notes io.Writer, done written) error {
	if len(done.Missing)+len(done.Damaged) > 0 {
		fmt.Fprintln(notes, "svcd: kept all older backups, which may have the files that this one lacks")
		return nil
	}
	shelf := b.place.shelf
	found, err := shelf.names(ctx)
	if err != nil {
		return err
	}
	var names []string
	var times []time.Time
	unknown := 0
	for _, name := range found {
		at, ours := archive.ParseName(name, done.Database)
		if !ours {
			continue
		}
		if name != done.name {
			if err := inspect(ctx, shelf, name, done.Database); err != nil {
				if unknown++; unknown <= maxNamed {
					fmt.Fprintf(notes, "svcd: kept %s: %s\n", shelf.path(name), plain(err))
				}
				continue
			}
		}
		names, times = append(names, name), append(times, at)
	}
	for _, i := range b.policy.Surplus(times) {
		if names[i] == done.name {
			continue
		}
		if err := shelf.remove(ctx, names[i]); err != nil {
			return err
		}
		fmt.Fprintf(notes, "deleted %s\n", shelf.path(names[i]))
	}
	return nil
}

// inspect returns an error unless a file looks like a complete backup of a database. An encrypted one is known
// by its name alone.
func inspect(ctx context.Context, shelf shelf, name string, database warranty.ID) error {
	file, err := shelf.open(ctx, name)
	if err != nil {
		return err
	}
	defer file.Close()
	h, encrypted, err := archive.Inspect(file)
	if err == nil && !encrypted && h.Database != database {
		err = fmt.Errorf("it is a backup of another database")
	}
	return err
}
