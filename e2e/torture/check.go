package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Roles as the database numbers them.
const (
	ownerBit  = 1
	sellerBit = 2
	issuerBit = 4
)

// check reads everything back and holds it against the model. Nobody writes
// meanwhile. What was not answered is settled by what is there: made or not made,
// and after this it is known. The error is one of reading, not a finding.
func (t *town) check(ctx context.Context, c *cluster) error {
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
		if err := db.sound(ctx); err != nil {
			t.find("corrupt", "database", "%v", err)
		}
	}
	letters := t.mailbox.all() // after the rows: what is not there any more has arrived
	if err := t.checkRecords(ctx, f); err != nil {
		return err
	}
	if err := t.checkReminders(ctx, db); err != nil {
		return err
	}
	if err := t.checkQueue(ctx, db, c.onPostgres); err != nil {
		return err
	}
	if err := t.checkLists(ctx); err != nil {
		return err
	}
	if err := t.checkKeys(ctx); err != nil {
		return err
	}
	if err := t.checkTokens(ctx); err != nil {
		return err
	}
	t.checkMails(f, letters)
	return t.checkFiles(ctx, f, c.files())
}

// settled counts a write without an answer that is now known.
func (t *town) settled(made bool) {
	what := "were not made"
	if made {
		what = "were made"
	}
	t.figures.add(t.figures.Resolved, what, 1)
}

// roles are the access rows that a record must have.
func (t *town) roles(r *record) map[uuid]int {
	want := map[uuid]int{}
	want[uuid(t.model.accounts[r.owner].id)] |= ownerBit
	want[uuid(t.model.accounts[r.issuer].id)] |= issuerBit
	if r.seller >= 0 {
		want[uuid(t.model.accounts[r.seller].id)] |= sellerBit
	}
	return want
}

// keyOf is the key of a record, which its product's name begins with.
func keyOf(product string) string { return strings.SplitN(product, " ", 2)[0] }

// checkRecords compares what the database holds.
func (t *town) checkRecords(ctx context.Context, f facts) error {
	byKey := map[string][]uuid{}
	for id, product := range f.live {
		byKey[keyOf(product)] = append(byKey[keyOf(product)], id)
	}
	for key, ids := range byKey {
		if t.model.records[key] == nil {
			t.find("unknown", key, "there is a record that nobody made: %v", ids)
		}
		if len(ids) > 1 {
			t.find("doubled", key, "there are %d records: %v", len(ids), ids)
		}
	}
	for item, parent := range f.parents {
		if _, live := f.live[parent]; !live {
			t.find("half", string(item), "access rows of an item whose warranty %s is gone", parent)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.model.records)) {
		r := t.model.records[key]
		t.figures.add(t.figures.Checked, "records", 1)
		if err := t.checkRecord(ctx, r, f, byKey[key]); err != nil {
			return err
		}
	}
	return nil
}

func (t *town) checkRecord(ctx context.Context, r *record, f facts, ids []uuid) error {
	if r.id == "" {
		if len(ids) == 1 { // the create that was not answered was made
			r.id, r.content, r.pending = string(ids[0]), r.after, nil
			r.remind = r.content.End == day(20) && r.content.Start <= day(0)
			r.events = append(r.events, "warranty.created")
			t.settled(true)
		} else {
			return nil // or may still be, under its key
		}
	}
	present := slices.Contains(ids, uuid(r.id))
	if pending := r.pending; pending != nil && pending.Kind == "delete" {
		r.pending, r.deleted = nil, !present
		t.settled(!present)
	}
	switch {
	case r.deleted && present:
		t.find("revived", r.key, "a deleted record is there")
		return nil
	case r.deleted:
		if len(f.access[uuid(r.id)]) > 0 {
			t.find("half", r.key, "a deleted record has access rows: %v", f.access[uuid(r.id)])
		}
		return nil
	case !present:
		t.find("lost", r.key, "an acknowledged record is gone")
		return nil
	}
	access := f.access[uuid(r.id)]
	if pending := r.pending; pending != nil && pending.Kind == "transfer" {
		to := pending.N % len(t.model.accounts)
		made := access[uuid(t.model.accounts[to].id)]&ownerBit != 0
		if made {
			r.owner = to
			r.events = append(r.events, "transfer.accepted")
		}
		t.settled(made)
		r.pending = nil
	}
	if want := t.roles(r); !maps.Equal(want, access) {
		t.find("half", r.key, "the access rows are %v, not %v", access, want)
	}
	// As the owner sees it.
	a := t.front.call(ctx, http.MethodGet, "/api/v1/warranties/"+r.id, t.model.accounts[r.owner].session, nil)
	if a.err != nil || a.status >= 500 {
		return fmt.Errorf("read %s: %s", r.id, a)
	}
	var got wireWarranty
	if a.status != http.StatusOK {
		t.find("lost", r.key, "its owner is told %s", a)
		return nil
	}
	if err := a.data(&got); err != nil {
		return err
	}
	switch {
	case got.equals(r.content):
		if r.pending != nil && r.pending.Kind == "update" {
			t.settled(false)
		}
	case r.pending != nil && got.equals(r.after):
		r.content = r.after
		r.events = append(r.events, "warranty.updated")
		t.settled(true)
	case r.pending != nil:
		t.find("half", r.key, "it is %+v: neither %+v nor %+v", got, r.content, r.after)
	default:
		t.find("lost", r.key, "it is %+v, and %+v was acknowledged", got, r.content)
	}
	r.pending, r.etag = nil, a.header.Get("ETag")
	if err := t.checkClaims(ctx, r, f); err != nil {
		return err
	}
	if err := t.checkDocuments(ctx, r, f); err != nil {
		return err
	}
	return t.checkHistory(ctx, r)
}

// checkClaims compares the claims on a record.
func (t *town) checkClaims(ctx context.Context, r *record, f facts) error {
	if len(r.claims) == 0 && f.children[uuid(r.id)] == 0 {
		return nil
	}
	type wireClaim struct {
		ID          string `json:"id"`
		Number      string `json:"claim_number"`
		Description string `json:"description"`
		Status      string `json:"status"`
	}
	list, total, err := all[wireClaim](ctx, t.front, "/api/v1/claims?warranty_id="+r.id, t.model.accounts[r.owner].session)
	if err != nil {
		return err
	}
	if total != len(list) {
		t.find("total", r.key, "the total of claims is %d, and there are %d", total, len(list))
	}
	found := map[string][]wireClaim{}
	for _, c := range list {
		found[c.Description] = append(found[c.Description], c)
		if want, got := t.roles(r), f.access[uuid(c.ID)]; !maps.Equal(want, got) {
			t.find("half", r.key, "the access rows of claim %s are %v, not %v", c.Description, got, want)
		}
	}
	for _, c := range r.claims {
		t.figures.add(t.figures.Checked, "claims", 1)
		got := found[c.key]
		delete(found, c.key)
		switch {
		case len(got) > 1:
			t.find("doubled", r.key, "the claim %s is there %d times", c.key, len(got))
		case len(got) == 0 && c.id != "":
			t.find("lost", r.key, "the claim %s is gone", c.key)
		case len(got) == 0: // it was not answered, and not made
			t.settled(false)
			c.pending = nil
		case c.id == "":
			c.id, c.number, c.status, c.pending = got[0].ID, got[0].Number, got[0].Status, nil
			r.events = append(r.events, "claim.filed")
			t.settled(true)
		case got[0].Status == c.status:
			if c.pending != nil {
				t.settled(false)
			}
			c.pending = nil
		case c.pending != nil && got[0].Status == c.after:
			c.status, c.pending = c.after, nil
			r.events = append(r.events, "claim.moved")
			t.settled(true)
		default:
			t.find("lost", r.key, "the claim %s is %s, and %s was acknowledged", c.key, got[0].Status, c.status)
		}
	}
	for key := range found {
		t.find("unknown", r.key, "there is a claim that nobody filed: %s", key)
	}
	r.claims = slices.DeleteFunc(r.claims, func(c *claim) bool { return c.id == "" })
	return nil
}

// checkDocuments compares the documents of a record, and reads their files.
func (t *town) checkDocuments(ctx context.Context, r *record, f facts) error {
	if len(r.docs) == 0 && f.children[uuid(r.id)] == 0 {
		return nil
	}
	type wireDocument struct {
		ID       string `json:"id"`
		FileName string `json:"file_name"`
		SHA256   string `json:"sha256"`
	}
	session := t.model.accounts[r.owner].session
	list, total, err := all[wireDocument](ctx, t.front, "/api/v1/documents?warranty_id="+r.id, session)
	if err != nil {
		return err
	}
	if total != len(list) {
		t.find("total", r.key, "the total of documents is %d, and there are %d", total, len(list))
	}
	found := map[string][]wireDocument{}
	for _, d := range list {
		key := strings.TrimSuffix(d.FileName, ".pdf")
		found[key] = append(found[key], d)
		if want, got := t.roles(r), f.access[uuid(d.ID)]; !maps.Equal(want, got) {
			t.find("half", r.key, "the access rows of document %s are %v, not %v", key, got, want)
		}
	}
	for _, d := range r.docs {
		got := found[d.key]
		delete(found, d.key)
		switch {
		case len(got) > 1:
			t.find("doubled", r.key, "the document %s is there %d times", d.key, len(got))
			continue
		case d.deleted && len(got) > 0:
			t.find("revived", r.key, "the deleted document %s is there", d.key)
			continue
		case d.deleted:
			continue
		case len(got) == 0 && d.id != "" && d.pending != nil: // its removal was not answered, and was made
			d.deleted, d.pending = true, nil
			r.events = append(r.events, "document.deleted")
			t.settled(true)
			continue
		case len(got) == 0 && d.id != "":
			t.find("lost", r.key, "the document %s is gone", d.key)
			continue
		case len(got) == 0: // it was not answered, and not made
			t.settled(false)
			d.deleted, d.pending = true, nil
			continue
		case d.id == "":
			d.id = got[0].ID
			r.events = append(r.events, "document.uploaded")
			t.settled(true)
		case d.pending != nil:
			t.settled(false)
		}
		d.pending = nil
		t.figures.add(t.figures.Checked, "files, by SHA-256", 1)
		a := t.front.call(ctx, http.MethodGet, "/api/documents/"+d.id+"/file", session, nil)
		if a.err != nil || a.status >= 500 {
			return fmt.Errorf("download %s: %s", d.id, a)
		}
		sum := sha256.Sum256(a.body)
		if a.status != http.StatusOK || hex.EncodeToString(sum[:]) != d.sha || got[0].SHA256 != d.sha {
			t.find("lost", r.key, "the file of document %s (%d bytes) is answered with %d and %d bytes", d.key, d.size, a.status, len(a.body))
		}
	}
	for key := range found {
		t.find("unknown", r.key, "there is a document that nobody uploaded: %s", key)
	}
	return nil
}

// checkHistory compares the actions in a record's history. Some may be there or not.
func (t *town) checkHistory(ctx context.Context, r *record) error {
	type wireEvent struct {
		ID     string `json:"id"`
		Action string `json:"action"`
	}
	events, total, err := all[wireEvent](ctx, t.front, "/api/warranties/"+r.id+"/history", t.model.accounts[r.owner].session)
	if err != nil {
		return err
	}
	if total != len(events) {
		t.find("total", r.key, "the total of the history is %d, and there are %d", total, len(events))
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
		t.figures.add(t.figures.Checked, "events of the history", 1)
	}
	for action, n := range got {
		if n > most[action] {
			t.find("doubled", r.key, "the history has %s %d times, at most %d happened", action, n, most[action])
		}
	}
	for action, n := range least {
		if got[action] < n {
			t.find("lost", r.key, "the history has %s %d times, %d happened", action, got[action], n)
		}
	}
	return nil
}

// checkLists compares the lists of every account with the model, and their totals
// under every filter with the lists.
func (t *town) checkLists(ctx context.Context) error {
	for _, a := range t.model.accounts {
		mine := map[string]*record{}
		masks := map[string]int{}
		for _, r := range t.model.records {
			if mask := t.roles(r)[uuid(a.id)]; r.exists() && mask != 0 {
				mine[r.id], masks[r.id] = r, mask
			}
		}
		list, total, err := all[wireWarranty](ctx, t.front, "/api/v1/warranties", a.session)
		if err != nil {
			return err
		}
		t.figures.add(t.figures.Checked, "entries of lists", len(list))
		seen := map[string]bool{}
		for _, w := range list {
			r := mine[w.ID]
			switch {
			case seen[w.ID]:
				t.find("doubled", keyOf(w.Product), "account %d sees it twice in the list", a.n)
			case r == nil:
				t.find("leaked", keyOf(w.Product), "account %d sees it", a.n)
			case !w.equals(r.content):
				t.find("stale", r.key, "the list of account %d shows %+v", a.n, w)
			}
			seen[w.ID] = true
		}
		for id, r := range mine {
			if !seen[id] {
				t.find("lost", r.key, "it is not in the list of account %d", a.n)
			}
		}
		if total != len(mine) {
			t.find("total", fmt.Sprint("account ", a.n), "the total is %d, and %d records are there", total, len(mine))
		}
		for _, filter := range filters {
			want := 0
			for id, r := range mine {
				if filter.fits(r, masks[id]) {
					want++
				}
			}
			got := t.front.call(ctx, http.MethodGet, "/api/v1/warranties?limit=1&"+filter.query, a.session, nil)
			var p page[wireWarranty]
			if err := decode(got, &p); err != nil {
				return err
			}
			t.figures.add(t.figures.Checked, "totals", 1)
			if p.Pagination.Total != want {
				t.find("total", fmt.Sprint("account ", a.n), "the total under %s is %d, and %d records fit", filter.query, p.Pagination.Total, want)
			}
		}
	}
	return nil
}

// filter is a question to a list, and the records that fit.
type filter struct {
	query string
	fits  func(r *record, mask int) bool
}

var filters = func() (all []filter) {
	statuses := []string{"active", "void", "cancelled", "upcoming", "expired"}
	bits := map[string]int{"owner": ownerBit, "seller": sellerBit, "issuer": issuerBit}
	for _, status := range statuses {
		all = append(all, filter{"status=" + status, func(r *record, _ int) bool { return statusOf(r.content) == status }})
		all = append(all, filter{"role=owner&status=" + status, func(r *record, mask int) bool { return mask&ownerBit != 0 && statusOf(r.content) == status }})
	}
	for role, bit := range bits {
		all = append(all, filter{"role=" + role, func(_ *record, mask int) bool { return mask&bit != 0 }})
	}
	for n := range 4 {
		category := fmt.Sprint("Category ", n)
		all = append(all, filter{"category=" + url.QueryEscape(category), func(r *record, _ int) bool { return r.content.Category == category }})
	}
	return all
}()

// keysAgain is how many creates are sent again at each check.
const keysAgain = 30

// checkKeys sends some creates again that were made: each is answered as it was.
func (t *town) checkKeys(ctx context.Context) error {
	n := 0
	for _, r := range t.model.records {
		if n == keysAgain {
			break
		}
		if !r.exists() || len(r.steps) == 0 || r.steps[0].Kind != "create" {
			continue
		}
		n++
		t.figures.add(t.figures.Checked, "idempotency keys", 1)
		first := &record{after: contentOf(r.steps[0], content{}), seller: r.seller}
		a := t.front.call(ctx, http.MethodPost, "/api/v1/warranties", t.model.accounts[r.issuer].session, t.body(first), "Idempotency-Key", r.key)
		var got wireWarranty
		if err := decode(a, &struct {
			Data *wireWarranty `json:"data"`
		}{&got}); err != nil {
			return err
		}
		if got.ID != r.id || a.header.Get("Idempotent-Replayed") != "true" {
			t.find("doubled", r.key, "its create was answered with %s when it was sent again, and it is %s", got.ID, r.id)
		}
	}
	return nil
}

// checkTokens uses every token, and compares the lists.
func (t *town) checkTokens(ctx context.Context) error {
	type wireToken struct{ ID, Name, Status string }
	listed := map[string]wireToken{}
	for _, a := range t.model.accounts {
		tokens, total, err := all[wireToken](ctx, t.front, "/api/integration-tokens", a.session)
		if err != nil {
			return err
		}
		if total != len(tokens) {
			t.find("total", fmt.Sprint("account ", a.n), "the total of tokens is %d, and there are %d", total, len(tokens))
		}
		for _, k := range tokens {
			if _, twice := listed[k.Name]; twice {
				t.find("doubled", k.Name, "the token is there twice")
			}
			listed[k.Name] = k
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.model.tokens)) {
		k, got := t.model.tokens[key], listed[key]
		delete(listed, key)
		t.figures.add(t.figures.Checked, "tokens", 1)
		if pending := k.pending; pending != nil {
			k.pending = nil
			if pending.Kind == "token" { // its secret is not known, so nobody can use it
				t.settled(got.ID != "")
				if got.ID == "" {
					delete(t.model.tokens, key)
					continue
				}
				k.id = got.ID
			}
			k.revoked = got.Status == "revoked"
			t.settled(k.revoked)
		}
		if want := map[bool]string{true: "revoked", false: "active"}[k.revoked]; got.Status != want {
			t.find("lost", key, "the token is %q, not %q", got.Status, want)
		}
		if k.secret == "" {
			continue
		}
		a := t.front.call(ctx, http.MethodGet, "/api/v1/auth/status", k.secret, nil)
		switch {
		case a.err != nil || a.status >= 500:
			return fmt.Errorf("use a token: %s", a)
		case k.revoked && a.status == http.StatusOK:
			t.find("late", key, "a revoked token works")
		case !k.revoked && a.status != http.StatusOK:
			t.find("lost", key, "a token does not work: %s", a)
		}
	}
	for key := range listed {
		t.find("unknown", key, "there is a token that nobody made")
	}
	return nil
}

// readAll reads the list of an account, as a client does.
func (t *town) readAll() error {
	_, _, err := all[wireWarranty](t.ctx, t.front, "/api/v1/warranties", t.model.accounts[0].session)
	return err
}

// checkReminders waits until the service has noted a reminder for each record that
// was there when it last started, and that ends soon.
func (t *town) checkReminders(ctx context.Context, db database) error {
	if t.remindedBefore == 0 {
		return nil
	}
	due := map[uuid]*record{}
	for _, r := range t.model.records {
		// Only records that nothing else happened to: these were due without doubt.
		if r.exists() && r.remind && len(r.steps) > 0 && r.steps[0].At < t.remindedBefore && r.steps[0].Outcome == acknowledged.String() &&
			!slices.ContainsFunc(r.steps, func(s step) bool { return s.Kind == "update" || s.Kind == "transfer" || s.Kind == "delete" }) {
			due[uuid(r.id)] = r
		}
	}
	t.remindedBefore = 0
	for range 300 {
		if err := db.each(ctx, `SELECT subject_id FROM reminders`, func(rows *sql.Rows) error {
			var id uuid
			err := rows.Scan(&id)
			delete(due, id)
			return err
		}); err != nil {
			return err
		}
		if len(due) == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		pause(ctx, 100*time.Millisecond)
	}
	for _, r := range due {
		t.find("lost mail", r.key, "it ends soon, and nobody was reminded within 30 seconds after a start")
	}
	return nil
}

// checkQueue waits until every mail that may be sent has been: only those are left
// that a server held when it was killed, for two minutes.
func (t *town) checkQueue(ctx context.Context, db database, onPostgres bool) error {
	now := `CAST(strftime('%s', 'now') AS INTEGER) * 1000000`
	if onPostgres {
		now = `(extract(epoch FROM now()) * 1000000)::bigint`
	}
	left := 0
	for range 600 {
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM mails WHERE claimed_until < `+now).Scan(&left); err != nil {
			return err
		}
		if left == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		pause(ctx, 100*time.Millisecond)
	}
	t.find("lost mail", "queue", "%d mails wait for a minute, and no server sends them", left)
	return nil
}

// checkMails compares what arrived with what was promised. A mail that waits in the
// database has not been lost.
func (t *town) checkMails(f facts, letters []letter) {
	contents := map[string][]letter{}
	for _, l := range letters {
		contents[l.to+"\n"+l.subject+"\n"+l.text] = append(contents[l.to+"\n"+l.subject+"\n"+l.text], l)
	}
	for _, same := range contents {
		ids := map[string]bool{}
		for _, l := range same {
			ids[l.id] = true
		}
		if len(ids) > 1 {
			t.find("doubled mail", same[0].subject+" "+same[0].to, "the same mail came %d times", len(ids))
		}
		if again := len(same) - len(ids); again > 0 {
			if crashes := t.crashes(); again > crashes {
				t.find("doubled mail", same[0].subject+" "+same[0].to, "the same mail came again %d times, and servers were started again %d times", again, crashes)
			}
			t.again(again)
		}
	}
	arrived := func(to, contains string) int {
		ids := map[string]bool{}
		for _, l := range letters {
			if l.to == to && strings.Contains(l.text, contains) {
				ids[l.id] = true
			}
		}
		return len(ids)
	}
	waiting := func(to, contains string) bool {
		return slices.ContainsFunc(f.waiting, func(l letter) bool { return l.to == to && strings.Contains(l.text, contains) })
	}
	for _, e := range t.model.mails {
		t.figures.add(t.figures.Checked, "mails", 1)
		n := arrived(e.to, e.contains)
		switch {
		case n > 1:
			t.find("doubled mail", e.from.Subject, "a mail to %s with %s came %d times", e.to, e.contains, n)
		case n == 0 && !e.maybe && !waiting(e.to, e.contains):
			t.find("lost mail", e.from.Subject, "a mail to %s with %s did not come, and does not wait", e.to, e.contains)
		}
	}
	for _, r := range t.model.records {
		if n := f.reminded[uuid(r.id)]; r.id != "" && n > 0 {
			t.figures.add(t.figures.Checked, "reminders", 1)
			came := 0
			for _, a := range t.model.accounts {
				ids := map[string]bool{}
				for _, l := range letters {
					if l.to == a.email && strings.Contains(l.subject, "warranty ends") && strings.Contains(l.text, r.key) {
						ids[l.id] = true
					}
				}
				came += len(ids)
				if slices.ContainsFunc(f.waiting, func(l letter) bool {
					return l.to == a.email && strings.Contains(l.subject, "warranty ends") && strings.Contains(l.text, r.key)
				}) {
					came = max(came, 1)
				}
			}
			if came > n {
				t.find("doubled mail", r.key, "%d reminders came, %d were noted", came, n)
			}
			if came == 0 {
				t.find("lost mail", r.key, "a reminder was noted, and neither came nor waits")
			}
		}
	}
}

func (t *town) again(n int) {
	t.figures.mu.Lock()
	defer t.figures.mu.Unlock()
	t.figures.Again = max(t.figures.Again, n)
}

// checkFiles compares the folder with the database. A file that no document has is
// one whose upload was not answered, or a deleted document's, kept for a day.
func (t *town) checkFiles(_ context.Context, f facts, folder string) error {
	files, err := filesIn(folder)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for id, d := range f.documents {
		known[d.key] = true
		size, there := files[d.key]
		if !there || size != d.size {
			t.find("lost", string(id), "a document of %d bytes has a file of %d (there: %v)", d.size, size, there)
		}
		if _, live := f.live[d.warranty]; !live && len(f.access[id]) > 0 {
			t.find("half", string(id), "a document of a warranty that is gone")
		}
	}
	unknown, excused := 0, t.model.excused()
	for key := range files {
		if !known[key] {
			unknown++
		}
	}
	if unknown > excused {
		t.find("file without a row", "folder", "%d files belong to no document, and %d uploads were not answered, refused or deleted since", unknown, excused)
	}
	return nil
}

// excused is how many files may be there without a document.
func (m *model) excused() int {
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
