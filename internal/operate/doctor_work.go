package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/store"
)

// onLatestSchema runs a check of what older schemas do not have.
func onLatestSchema(ctx context.Context, st *store.Store, check func() (string, error)) (string, error) {
	have, err := st.SchemaVersion(ctx)
	if err != nil {
		return "", err
	}
	if latest, err := store.LatestSchema(); err != nil || have < latest {
		return "not known before the migration", err
	}
	return check()
}

// checkBackup says how old the last good backup is, and why a later one failed.
func checkBackup(ctx context.Context, st *store.Store) (string, error) {
	return onLatestSchema(ctx, st, func() (string, error) {
		b, err := st.BackupStatus(ctx)
		if err != nil {
			return "", err
		}
		text := "never; make one with svcd backup and schedule it"
		if !b.LastSuccess.IsZero() {
			text = fmt.Sprintf("%s old: %s, %s", age(st.Now().Sub(b.LastSuccess)), size(b.Bytes), b.Place)
		}
		if b.LostFiles > 0 {
			text += fmt.Sprintf("; it lacks %d files of documents", b.LostFiles)
		}
		switch {
		case b.Failing():
			return "", fmt.Errorf("the last attempt failed %s ago: %s; the last good backup: %s",
				age(st.Now().Sub(b.LastFailure)), b.Error, text)
		case b.Overdue(st.Now()) || b.LostFiles > 0:
			return "", warning{errors.New(text)}
		}
		return text, nil
	})
}

// backupFolder returns the folder of the last backup, or "" if it is not on this machine.
func backupFolder(ctx context.Context, st *store.Store) string {
	b, err := st.BackupStatus(ctx)
	if err != nil || !filepath.IsAbs(b.Place) {
		return "" // an older schema, standard output or a bucket
	}
	folder := filepath.Dir(b.Place)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return ""
	}
	return folder
}

// checkAddress says which address people use, if it is not the public URL.
func checkAddress(ctx context.Context, st *store.Store, c config.Config) (string, error) {
	return onLatestSchema(ctx, st, func() (string, error) {
		other, err := st.OtherAddress(ctx, c.PublicURL, st.Now())
		if err != nil {
			return "", err
		}
		if other != "" {
			return "", warning{fmt.Errorf("--public-url is %s, but people use %s; set it to the address in their browsers, "+
				"or let the proxy redirect", c.PublicURL, printable(other))}
		}
		return "nobody was seen to use another address than " + c.PublicURL, nil
	})
}

// checkMails counts the outbox.
func checkMails(ctx context.Context, st *store.Store) (string, error) {
	return onLatestSchema(ctx, st, func() (string, error) {
		q, err := st.CountMailQueue(ctx)
		if err != nil {
			return "", err
		}
		text := fmt.Sprintf("%d waiting, %d of them after an error; %d given up", q.Waiting, q.Retrying, q.Failed)
		if q.Failed > 0 {
			return "", warning{errors.New(text + "; retry or delete them on /admin/mails")}
		}
		return text, nil
	})
}

// checkJobs counts imports and exports.
func checkJobs(ctx context.Context, st *store.Store) (string, error) {
	return onLatestSchema(ctx, st, func() (string, error) {
		q, err := st.CountJobs(ctx, st.Now())
		if err != nil {
			return "", err
		}
		text := fmt.Sprintf("%d waiting, %d running; %d given up in 30 days", q.Waiting, q.Running, q.Failed)
		if q.Stuck(st.Now()) {
			return "", warning{fmt.Errorf("%s; the oldest last made progress %s ago; is a server running? its log says more",
				text, age(st.Now().Sub(q.Stalled)))}
		}
		return text, nil
	})
}
