package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// plant is a fault that is built into the service to test whether the harness finds
// it. One build contains all of them; SVC_PLANTED enables one.
type plant struct {
	name     string
	what     string
	scenario string   // the scenario that must find it
	finds    []string // the kinds of finding that are correct
	edits    []edit
}

// edit replaces a text that occurs once in a file of the service.
type edit struct{ file, old, now string }

// on returns the condition of a planted fault: it is enabled, and this is the nth call.
func on(name string, every int) string { return fmt.Sprintf("planted.Every(%q, %d)", name, every) }

var plants = []plant{
	{"file-sync", "a document's file is not synced", "sqlite/power", []string{"lost"}, []edit{
		{"internal/files/files.go", "		err = file.Sync()\n", "		if !" + on("file-sync", 1) + " {\n			err = file.Sync()\n		}\n"}}},
	{"sync-error", "an error of a file's sync is ignored", "sqlite/eio", []string{"lost"}, []edit{
		{"internal/files/files.go", "	if closing := file.Close(); err == nil {", "	if " + on("sync-error", 1) + " {\n		err = nil\n	}\n	if closing := file.Close(); err == nil {"}}},
	{"mail-stuck", "emails except verifications are never sent", "sqlite/kill", []string{"lost mail"}, []edit{
		{"internal/store/mails.go", "AND claimed_until <= $1\n			ORDER BY claimed_until, id LIMIT $3", "AND claimed_until <= $1 ` + planted.Choose(\"mail-stuck\", \"AND subject LIKE 'Confirm%'\", \"\") + `\n			ORDER BY claimed_until, id LIMIT $3"}}},
	{"reminders-stop", "reminders are never sent", "sqlite/kill", []string{"lost mail"}, []edit{
		{"internal/service/reminders.go", "	if done, err := s.Store.ReachedMilestone(ctx, milestone); err != nil || done {", "	if done, err := s.Store.ReachedMilestone(ctx, milestone); err != nil || done || " + on("reminders-stop", 1) + " {"}}},
	{"folder-sync", "the folder of a document's file is not synced", "sqlite/power", []string{"lost"}, []edit{
		{"internal/files/files.go", "	if err := d.disk.sync(string(Complete)); err != nil {", "	if " + on("folder-sync", 1) + " {\n		return nil\n	}\n	if err := d.disk.sync(string(Complete)); err != nil {"}}},
	{"wal-sync", "SQLite does not sync its log", "sqlite/power", []string{"lost", "half", "corrupt", "down"}, []edit{
		{"internal/store/engine/sqlite.go", `cmp.Or(f.synchronous, "FULL")`, `cmp.Or(f.synchronous, planted.Choose("wal-sync", "OFF", "FULL"))`}}},
	{"access-row", "a seller's access row is sometimes missing", "sqlite/kill", []string{"half", "lost", "doubled"}, []edit{
		{"internal/store/sellers.go", "	return true, t.grant(account, id, warranty.NewRoles(warranty.Seller))", "	if " + on("access-row", 9) + " {\n		return true, nil\n	}\n	return true, t.grant(account, id, warranty.NewRoles(warranty.Seller))"}}},
	{"access-stays", "a deleted record keeps its access rows", "sqlite/kill", []string{"half"}, []edit{
		{"internal/store/warranties.go", "	return t.dropAccess(w.ID)\n}", "	if " + on("access-stays", 3) + " {\n		return nil\n	}\n	return t.dropAccess(w.ID)\n}"}}},
	{"access-late", "an update does not change the lists", "sqlite/kill", []string{"total", "stale", "half"}, []edit{
		{"internal/store/warranties.go", "	return t.syncAccess(w)\n}", "	if " + on("access-late", 5) + " {\n		return nil\n	}\n	return t.syncAccess(w)\n}"}}},
	{"mail-twice", "an email is sent twice", "sqlite/kill", []string{"doubled mail"}, []edit{
		{"internal/service/worker.go", "			err = s.Mail.Send(ctx, message)", "			if " + on("mail-twice", 7) + " {\n				_ = s.Mail.Send(ctx, mail.Message{To: m.To, Subject: m.Subject, Text: m.Text, Code: m.Code})\n			}\n			err = s.Mail.Send(ctx, message)"}}},
	{"mail-lost", "an email is removed without being sent", "sqlite/kill", []string{"lost mail"}, []edit{
		{"internal/service/worker.go", "	if !s.finished.has(m.ID) {\n", "	if !s.finished.has(m.ID) && !" + on("mail-lost", 7) + " {\n"}}},
	{"reminder-twice", "a reminder is written twice", "sqlite/kill", []string{"doubled mail"}, []edit{
		{"internal/service/reminders.go", "		if err := tx.InsertMail(s.outgoingTo(to, kind, *m)); err != nil {\n", "		if " + on("reminder-twice", 1) + " {\n			if err := tx.InsertMail(s.outgoingTo(to, kind, *m)); err != nil {\n				return err\n			}\n		}\n		if err := tx.InsertMail(s.outgoingTo(to, kind, *m)); err != nil {\n"}}},
	{"total", "a total is one too many", "sqlite/kill", []string{"total"}, []edit{
		{"internal/store/lists/page.go", "\n	return rows, total, err\n", "\n	if total > 5 && " + on("total", 4) + " {\n		total++\n	}\n	return rows, total, err\n"}}},
	{"key-twice", "an idempotency key is forgotten", "sqlite/kill", []string{"doubled"}, []edit{
		{"internal/store/idempotency.go", "	n, err := t.exec(`INSERT INTO idempotency", "	if " + on("key-twice", 5) + " {\n		return nil, nil\n	}\n	n, err := t.exec(`INSERT INTO idempotency"}}},
	{"file-left", "an upload stores a second file", "sqlite/kill", []string{"file without a row"}, []edit{
		{"internal/service/uploads.go", "	return StoredFile{key: key, ContentType", "	if " + on("file-left", 2) + " {\n		if other, err := files.NewKey(s.Random); err == nil {\n			_ = s.Files.Put(ctx, other, strings.NewReader(key))\n		}\n	}\n	return StoredFile{key: key, ContentType"},
		{"internal/service/uploads.go", "	\"time\"\n", "	\"strings\"\n	\"time\"\n"}}},
	{"file-short", "a file loses its last bytes", "sqlite/kill", []string{"lost"}, []edit{
		{"internal/files/files.go", "	_, err = io.Copy(file, from)\n", "	_, err = io.Copy(file, from)\n	if " + on("file-short", 5) + " {\n		_ = file.(interface{ Truncate(int64) error }).Truncate(100)\n	}\n"}}},
	{"revoke-late", "a revocation is acknowledged before it is made", "sqlite/kill", []string{"late"}, []edit{
		{"internal/service/tokens.go", "	return warranty.None{}, s.manage(ctx, p, func(tx *store.Tx, _ store.Account) error {\n		token, err := tx.LockToken(p.Account.ID, in.ID)",
			"	write := s.manage\n	if " + on("revoke-late", 1) + " {\n		write = func(ctx context.Context, p warranty.Principal, fn func(*store.Tx, store.Account) error) error {\n			time.AfterFunc(300*time.Millisecond, func() { _ = s.manage(context.WithoutCancel(ctx), p, fn) })\n			return nil\n		}\n	}\n	return warranty.None{}, write(ctx, p, func(tx *store.Tx, _ store.Account) error {\n		token, err := tx.LockToken(p.Account.ID, in.ID)"}}},
	{"revoke-forgotten", "another replica still accepts a revoked token", "replicas/kill", []string{"late"}, []edit{
		{"internal/store/tokens.go", "	if err := t.tokenChanged(id); err != nil {\n		return err\n	}\n	return t.exactlyOne(`UPDATE tokens SET revoked_at = COALESCE(revoked_at, $2)", "	if !" + on("revoke-forgotten", 1) + " {\n		if err := t.tokenChanged(id); err != nil {\n			return err\n		}\n	}\n	return t.exactlyOne(`UPDATE tokens SET revoked_at = COALESCE(revoked_at, $2)"}}},
	{"event-lost", "an event is missing in the history", "sqlite/kill", []string{"lost"}, []edit{
		{"internal/store/history.go", "	changes, err := json.Marshal(e.Changes)", "	if " + on("event-lost", 11) + " {\n		return nil\n	}\n	changes, err := json.Marshal(e.Changes)"}}},
	{"commit-lost", "a write is acknowledged and rolled back", "sqlite/kill", []string{"lost", "revived", "refused", "stale", "late"}, []edit{
		{"internal/store/store.go", "		err := fn(t)\n		ended = t.ended\n		return err\n	})\n	if err != nil {\n		return err\n	}", "		err := fn(t)\n		ended = t.ended\n		if err == nil && " + on("commit-lost", 40) + " {\n			return errRolledBack\n		}\n		return err\n	})\n	if err == errRolledBack {\n		return nil\n	}\n	if err != nil {\n		return err\n	}"},
		{"internal/store/store.go", "// IsDuplicate reports", "var errRolledBack error = &warranty.Error{Message: \"rolled back\"}\n\n// IsDuplicate reports"}}},
	{"owner-twice", "a transferred record also stays with its old owner", "sqlite/kill", []string{"half"}, []edit{
		{"internal/store/owners.go", "	if err := t.removeRoles(id, from, warranty.NewRoles(warranty.Owner, warranty.Issuer, warranty.Seller)); err != nil {", "	if " + on("owner-twice", 1) + " {\n		return t.grant(to, id, warranty.NewRoles(warranty.Owner, warranty.Issuer))\n	}\n	if err := t.removeRoles(id, from, warranty.NewRoles(warranty.Owner, warranty.Issuer, warranty.Seller)); err != nil {"}}},
	{"clock", "the machine's clock is wrong", "", nil, []edit{
		{"internal/store/engine/engine.go", "db.Clock = time.Now", "db.Clock = planted.Clock"}}},
}

// plantedPackage is the package that the edits use.
const plantedPackage = `// Package planted enables faults for e2e/torture.
package planted

import (
	"os"
	"strings"
	"sync/atomic"
	"time"
)

var (
	active = os.Getenv("SVC_PLANTED")
	count  atomic.Int64
)

// Every reports whether a fault is enabled and this is an nth call.
func Every(name string, n int64) bool { return active == name && count.Add(1)%n == 0 }

// Choose returns planted if the fault is enabled.
func Choose(name, planted, otherwise string) string {
	if active == name {
		return planted
	}
	return otherwise
}

// Clock returns the current time, shifted by a clock fault.
func Clock() time.Time {
	if shift, ok := strings.CutPrefix(active, "clock:"); ok {
		if d, err := time.ParseDuration(shift); err == nil {
			return time.Now().Add(d)
		}
	}
	return time.Now()
}
`

// buildPlanted builds svcd with all planted faults from the sources in root.
func buildPlanted(root, scratch, out string) error {
	dir, err := os.MkdirTemp(scratch, "planted")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	changed := map[string]string{}
	for _, p := range plants {
		for _, e := range p.edits {
			text, ok := changed[e.file]
			if !ok {
				source, err := os.ReadFile(filepath.Join(root, e.file))
				if err != nil {
					return err
				}
				text = string(source)
			}
			if strings.Count(text, e.old) != 1 {
				return fmt.Errorf("the planted fault %s no longer applies to %s: %q occurs %d times",
					p.name, e.file, e.old, strings.Count(text, e.old))
			}
			changed[e.file] = strings.Replace(text, e.old, e.now, 1)
		}
	}
	overlay := map[string]map[string]string{"Replace": {}}
	add := func(file, text string) error {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		overlay["Replace"][filepath.Join(root, file)] = copied
		return os.WriteFile(copied, []byte(text), 0o644)
	}
	if err := add("internal/planted/planted.go", plantedPackage); err != nil {
		return err
	}
	for file, text := range changed {
		if strings.Contains(text, "planted.") {
			text = strings.Replace(text, "\nimport (\n", "\nimport (\n\t\"warranty.example/svc/internal/planted\"\n", 1)
		}
		if err := add(file, text); err != nil {
			return err
		}
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, list, 0o644); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-overlay="+file, "-o", out, "./cmd/svcd")
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build with planted faults: %w: %s", err, output)
	}
	return nil
}
