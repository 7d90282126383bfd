package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Roles as numbered in the database.
const (
	ownerBit  = 1
	sellerBit = 2
	issuerBit = 4
)

// check reads everything back and compares it with the model, while no client writes.
// Writes without a response are resolved by what exists. An error means that reading
// failed; it is not a finding.
func (l *workload) check(ctx context.Context, c *cluster) error {
	db, err := openDatabase(c.address())
	if err != nil {
		return err
	}
	defer db.Close()
	f, err := db.read(ctx)
	if err != nil {
		return err
	}
	if !c.onPostgres {
		if err := db.checkIntegrity(ctx); err != nil {
			l.find("corrupt", "database", "%v", err)
		}
	}
	emails := l.mailbox.all() // after the rows: emails that are no longer queued have arrived
	for _, check := range []func() error{
		func() error { return l.checkRecords(ctx, f) },
		func() error { return l.checkReminders(ctx, db) },
		func() error { return l.checkQueue(ctx, db, c.onPostgres) },
		func() error { return l.checkLists(ctx) },
		l.checkKeys,
		func() error { return l.checkTokens(ctx) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	l.checkMails(f, emails)
	return l.checkFiles(f, c.files())
}

// resolved counts a write without a response whose outcome is now known.
func (l *workload) resolved(made bool) {
	what := "were not made"
	if made {
		what = "were made"
	}
	l.figures.add(l.figures.Resolved, what, 1)
}

// roles returns the access rows that a record must have.
func (l *workload) roles(r *record) map[uuid]int {
	want := map[uuid]int{}
	want[uuid(l.model.accounts[r.owner].id)] |= ownerBit
	want[uuid(l.model.accounts[r.issuer].id)] |= issuerBit
	if r.seller >= 0 {
		want[uuid(l.model.accounts[r.seller].id)] |= sellerBit
	}
	return want
}

// checkRecords compares the records in the database with the model.
func (l *workload) checkRecords(ctx context.Context, f facts) error {
	byKey := map[string][]uuid{}
	for id, product := range f.live {
		byKey[keyOf(product)] = append(byKey[keyOf(product)], id)
	}
	for key, ids := range byKey {
		if l.model.records[key] == nil {
			l.find("unknown", key, "a record that no client created: %v", ids)
		}
		if len(ids) > 1 {
			l.find("doubled", key, "%d records: %v", len(ids), ids)
		}
	}
	for item, parent := range f.parents {
		if _, live := f.live[parent]; !live {
			l.find("half", string(item), "access rows of an item whose warranty %s is deleted", parent)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.model.records)) {
		l.figures.add(l.figures.Checked, "records", 1)
		if err := l.checkRecord(ctx, l.model.records[key], f, byKey[key]); err != nil {
			return err
		}
	}
	return nil
}

func (l *workload) checkRecord(ctx context.Context, r *record, f facts, ids []uuid) error {
	if r.id == "" {
		if len(ids) != 1 {
			return nil // the create without a response failed, and may be repeated
		}
		r.exist(string(ids[0]))
		l.resolved(true)
	}
	if !l.checkExistence(r, f, slices.Contains(ids, uuid(r.id))) {
		return nil
	}
	l.checkAccess(r, f)
	if ok, err := l.checkContent(ctx, r); err != nil || !ok {
		return err
	}
	if err := l.checkClaims(ctx, r, f); err != nil {
		return err
	}
	if err := l.checkDocuments(ctx, r, f); err != nil {
		return err
	}
	return l.checkHistory(ctx, r)
}

// checkExistence compares the deletion of a record, and reports whether it exists as it should.
func (l *workload) checkExistence(r *record, f facts, exists bool) bool {
	if r.pending != nil && r.pending.Kind == "delete" {
		r.pending, r.deleted = nil, !exists
		l.resolved(!exists)
	}
	access := f.access[uuid(r.id)]
	switch {
	case r.deleted && exists:
		l.find("revived", r.key, "a deleted record exists")
	case r.deleted && len(access) > 0:
		l.find("half", r.key, "a deleted record has access rows: %v", access)
	case !r.deleted && !exists:
		l.find("lost", r.key, "an acknowledged record does not exist")
	}
	return exists && !r.deleted
}

// checkAccess compares the access rows of a record, and resolves its transfer or confirmation.
func (l *workload) checkAccess(r *record, f facts) {
	access := f.access[uuid(r.id)]
	if pending := r.pending; pending != nil && pending.Kind == "transfer" {
		to := pending.N % len(l.model.accounts)
		made := access[uuid(l.model.accounts[to].id)]&ownerBit != 0
		if made {
			r.pass(to)
		}
		l.resolved(made)
		r.pending = nil
	}
	if r.named >= 0 && r.pending != nil && r.pending.Kind == "confirm" {
		made := access[uuid(l.model.accounts[r.named].id)]&sellerBit != 0
		if made {
			r.seller = r.named
			r.events = append(r.events, "seller.confirmed?")
		}
		if r.pending != nil && r.pending.Kind == "confirm" {
			l.resolved(made)
			r.pending = nil
		}
	}
	if want := l.roles(r); !maps.Equal(want, access) {
		l.find("half", r.key, "the access rows are %v, want %v", access, want)
	}
}

// checkContent reads a record as its owner, resolves its update, and reports whether the owner can
// read it.
func (l *workload) checkContent(ctx context.Context, r *record) (readable bool, err error) {
	a := l.api.call(ctx, http.MethodGet, "/api/v1/warranties/"+r.id, l.model.accounts[r.owner].session, nil)
	if a.err != nil || a.status >= 500 {
		return false, fmt.Errorf("read %s: %s", r.id, a)
	}
	if a.status != http.StatusOK {
		l.find("lost", r.key, "the owner gets %s", a)
		return false, nil
	}
	var got wireWarranty
	if err := a.data(&got); err != nil {
		return false, err
	}
	switch {
	case got.equals(r.content):
		if r.pending != nil && r.pending.Kind == "update" {
			l.resolved(false)
		}
	case r.pending != nil && got.equals(r.after):
		r.content = r.after
		r.events = append(r.events, "warranty.updated")
		l.resolved(true)
	case r.pending != nil:
		l.find("half", r.key, "it is %+v: neither %+v nor %+v", got, r.content, r.after)
	default:
		l.find("lost", r.key, "it is %+v, but %+v was acknowledged", got, r.content)
	}
	r.pending, r.etag = nil, a.header.Get("ETag")
	return true, nil
}

// list reads a whole list and compares its total with its length.
func list[T any](ctx context.Context, l *workload, a *account, subject, path string) ([]T, error) {
	items, total, err := all[T](ctx, l.api, path, a.session)
	if err == nil && total != len(items) {
		l.find("total", subject, "the total of %s is %d, but it has %d items", path, total, len(items))
	}
	return items, err
}

// children reads the claims or documents of a record by key, and compares their access rows.
func children[T any](
	ctx context.Context, l *workload, r *record, f facts, path string, identify func(T) (id, key string),
) (map[string][]T, error) {
	items, err := list[T](ctx, l, l.model.accounts[r.owner], r.key, path+"?warranty_id="+r.id)
	if err != nil {
		return nil, err
	}
	byKey := map[string][]T{}
	for _, item := range items {
		id, key := identify(item)
		byKey[key] = append(byKey[key], item)
		want, got := l.roles(r), f.access[uuid(id)]
		if strings.HasSuffix(path, "/documents") {
			// All are the owner's, and none is in a claim.
			maps.DeleteFunc(want, func(_ uuid, roles int) bool { return roles&ownerBit == 0 })
		}
		if !maps.Equal(want, got) {
			l.find("half", r.key, "the access rows of %s %s are %v, want %v", path, key, got, want)
		}
	}
	return byKey, nil
}

// wireClaim is a claim in a response.
type wireClaim struct {
	ID          string `json:"id"`
	Number      string `json:"claim_number"`
	Description string `json:"description"`
	Status      string `json:"status"`
}

// checkClaims compares the claims of a record.
func (l *workload) checkClaims(ctx context.Context, r *record, f facts) error {
	if len(r.claims) == 0 && f.children[uuid(r.id)] == 0 {
		return nil
	}
	keys := map[string]string{} // of an earlier owner's claims, whose descriptions the owner does not read
	for _, c := range r.claims {
		keys[c.id] = c.key
	}
	found, err := children(ctx, l, r, f, "/api/v1/claims",
		func(c wireClaim) (string, string) { return c.ID, cmp.Or(c.Description, keys[c.ID]) })
	if err != nil {
		return err
	}
	for _, c := range r.claims {
		l.figures.add(l.figures.Checked, "claims", 1)
		l.checkClaim(r, c, found[c.key])
		delete(found, c.key)
	}
	for key := range found {
		l.find("unknown", r.key, "a claim that no client filed: %s", key)
	}
	r.claims = slices.DeleteFunc(r.claims, func(c *claim) bool { return c.id == "" })
	return nil
}

func (l *workload) checkClaim(r *record, c *claim, got []wireClaim) {
	switch {
	case len(got) > 1:
		l.find("doubled", r.key, "the claim %s exists %d times", c.key, len(got))
	case len(got) == 0 && c.id != "":
		l.find("lost", r.key, "the claim %s does not exist", c.key)
	case len(got) == 0: // it was not filed
		l.resolved(false)
		c.pending = nil
	case c.id == "":
		c.id, c.number, c.status, c.pending = got[0].ID, got[0].Number, got[0].Status, nil
		r.events = append(r.events, "claim.filed")
		l.resolved(true)
	case got[0].Status == c.status:
		if c.pending != nil {
			l.resolved(false)
		}
		c.pending = nil
	case c.pending != nil && got[0].Status == c.after:
		c.status, c.pending = c.after, nil
		r.events = append(r.events, "claim.moved")
		l.resolved(true)
	default:
		l.find("lost", r.key, "the claim %s is %s, but %s was acknowledged", c.key, got[0].Status, c.status)
	}
}

// wireDocument is a document in a response.
type wireDocument struct {
	ID       string `json:"id"`
	FileName string `json:"file_name"`
	SHA256   string `json:"sha256"`
}

// checkDocuments compares the documents of a record and their files.
func (l *workload) checkDocuments(ctx context.Context, r *record, f facts) error {
	if len(r.docs) == 0 && f.children[uuid(r.id)] == 0 {
		return nil
	}
	found, err := children(ctx, l, r, f, "/api/v1/documents",
		func(d wireDocument) (string, string) { return d.ID, strings.TrimSuffix(d.FileName, ".pdf") })
	if err != nil {
		return err
	}
	for _, d := range r.docs {
		got := found[d.key]
		delete(found, d.key)
		if l.checkDocument(r, d, got) {
			if err := l.checkDownload(ctx, r, d, got[0]); err != nil {
				return err
			}
		}
	}
	for key := range found {
		l.find("unknown", r.key, "a document that no client uploaded: %s", key)
	}
	return nil
}

// checkDocument reports whether a document exists as it should.
func (l *workload) checkDocument(r *record, d *document, got []wireDocument) bool {
	switch {
	case len(got) > 1:
		l.find("doubled", r.key, "the document %s exists %d times", d.key, len(got))
		return false
	case d.deleted && len(got) > 0:
		l.find("revived", r.key, "the deleted document %s exists", d.key)
		return false
	case d.deleted:
		return false
	case len(got) == 0 && d.id != "" && d.pending != nil: // it was deleted
		d.deleted, d.pending = true, nil
		r.events = append(r.events, "document.deleted")
		l.resolved(true)
		return false
	case len(got) == 0 && d.id != "":
		l.find("lost", r.key, "the document %s does not exist", d.key)
		return false
	case len(got) == 0: // it was not uploaded
		l.resolved(false)
		d.deleted, d.pending = true, nil
		return false
	case d.id == "":
		d.id = got[0].ID
		r.events = append(r.events, "document.uploaded")
		l.resolved(true)
	case d.pending != nil:
		l.resolved(false)
	}
	d.pending = nil
	return true
}

// checkDownload compares the file of a document.
func (l *workload) checkDownload(ctx context.Context, r *record, d *document, got wireDocument) error {
	l.figures.add(l.figures.Checked, "files, by SHA-256", 1)
	a := l.api.call(ctx, http.MethodGet, "/api/documents/"+d.id+"/file", l.model.accounts[r.owner].session, nil)
	if a.err != nil || a.status >= 500 {
		return fmt.Errorf("download %s: %s", d.id, a)
	}
	sum := sha256.Sum256(a.body)
	if a.status != http.StatusOK || hex.EncodeToString(sum[:]) != d.sha || got.SHA256 != d.sha {
		l.find("lost", r.key, "the download of document %s (%d bytes) returned %d and %d bytes",
			d.key, d.size, a.status, len(a.body))
	}
	return nil
}

// checkHistory compares the actions in a record's history. Actions that end in "?" are optional.
func (l *workload) checkHistory(ctx context.Context, r *record) error {
	type wireEvent struct {
		ID     string `json:"id"`
		Action string `json:"action"`
	}
	events, err := list[wireEvent](ctx, l, l.model.accounts[r.owner], r.key, "/api/warranties/"+r.id+"/history")
	if err != nil {
		return err
	}
	least, most, got := map[string]int{}, map[string]int{"seller.linked": 1}, map[string]int{}
	for _, action := range r.events {
		name, optional := strings.CutSuffix(action, "?")
		most[name]++
		if !optional {
			least[name]++
		}
	}
	for _, e := range events {
		got[e.Action]++
		l.figures.add(l.figures.Checked, "history events", 1)
	}
	for action, n := range got {
		if n > most[action] {
			l.find("doubled", r.key, "the history has %s %d times, want at most %d", action, n, most[action])
		}
	}
	for action, n := range least {
		if got[action] < n {
			l.find("lost", r.key, "the history has %s %d times, want %d", action, got[action], n)
		}
	}
	return nil
}

// checkFiles compares the folder with the database. Files without a document come from
// uploads without a response, or from deleted documents, whose files are kept for a day.
func (l *workload) checkFiles(f facts, folder string) error {
	files, err := filesIn(folder)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for id, d := range f.documents {
		known[d.key] = true
		size, exists := files[d.key]
		if !exists || size != d.size {
			l.find("lost", string(id), "a document of %d bytes has a file of %d (exists: %v)", d.size, size, exists)
		}
		if _, live := f.live[d.warranty]; !live && len(f.access[id]) > 0 {
			l.find("half", string(id), "a document of a deleted warranty")
		}
	}
	orphaned, allowed := 0, l.model.orphansAllowed()
	for key := range files {
		if !known[key] {
			orphaned++
		}
	}
	if orphaned > allowed {
		l.find("file without a row", "folder",
			"%d files have no document, but only %d uploads had no response or were deleted", orphaned, allowed)
	}
	return nil
}

// orphansAllowed returns how many files may exist without a document.
func (m *model) orphansAllowed() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, r := range m.records {
		for _, s := range r.steps {
			if s.Kind == "upload" && s.Outcome == unanswered.String() || s.Kind == "remove" {
				n++
			}
			if s.Kind == "delete" {
				n += len(r.docs)
			}
		}
	}
	return n
}
