package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// finding is something that must not be.
type finding struct {
	what    string // "lost", "doubled", "half", …
	detail  string
	subject string // key of what it is about
	history []step // all that was tried on it, and the faults
	logs    string
}

// town is the clients of a service, and what they were told.
type town struct {
	ctx     context.Context
	seed    uint64
	model   *model
	front   *front
	figures *figures
	mailbox *mailbox
	strict  atomic.Bool // every request must succeed
	older   bool        // the previous release may answer, which does not mail about tokens

	crashes func() int // how often a server was started again
	// remindedBefore is when the records were made that the last start has reminded of.
	remindedBefore time.Duration

	mu       sync.Mutex
	findings []finding
	marks    atomic.Int64 // for names that are used once
}

// password is everyone's.
const password = "correct horse battery staple"

// find notes something that must not be, once for each thing.
func (t *town) find(what, subject, detail string, args ...any) {
	text := fmt.Sprintf(detail, args...)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.findings {
		if f.what == what && f.subject == subject {
			return
		}
	}
	t.findings = append(t.findings, finding{what: what, subject: subject, detail: text})
}

// historyOf is what was tried on a record or a token, with the faults.
func (t *town) historyOf(subject string) []step {
	t.model.mu.Lock()
	defer t.model.mu.Unlock()
	var steps []step
	if r := t.model.records[subject]; r != nil {
		steps = slices.Clone(r.steps)
	}
	if k := t.model.tokens[subject]; k != nil {
		steps = slices.Clone(k.steps)
	}
	steps = append(steps, t.model.faults...)
	slices.SortStableFunc(steps, func(a, b step) int { return int(a.At - b.At) })
	return steps
}

func (t *town) found() []finding {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := slices.Clone(t.findings)
	for i := range found {
		found[i].history = t.historyOf(found[i].subject)
	}
	return found
}

// settle registers accounts with verified addresses. Nothing is broken yet.
func (t *town) settle(count int) error {
	for n := range count {
		a := &account{n: n, name: fmt.Sprint("Person ", n), email: fmt.Sprintf("person%d@people.example", n)}
		got := t.front.call(t.ctx, http.MethodPost, "/api/auth/register", "", map[string]string{"name": a.name, "email": a.email, "password": password})
		var session struct {
			AccessToken string `json:"access_token"`
			User        struct {
				ID string `json:"id"`
			} `json:"user"`
		}
		if got.status != http.StatusCreated {
			return fmt.Errorf("register: %s", got)
		}
		if err := got.data(&session); err != nil {
			return err
		}
		a.id, a.session = session.User.ID, session.AccessToken
		code, err := t.mailbox.code(t.ctx, a.email, "Confirm your email address")
		if err != nil {
			return err
		}
		if got = t.front.call(t.ctx, http.MethodPost, "/api/auth/verify-email", a.session, map[string]string{"code": code}); got.status != http.StatusOK {
			return fmt.Errorf("verify: %s", got)
		}
		t.model.accounts = append(t.model.accounts, a)
	}
	return nil
}

// worker is a client that does one thing after the other. Its records are its own:
// what it was told about one of them is the order in which it happened.
type worker struct {
	*town
	n       int
	rng     *rand.Rand
	records []*record
	tokens  []*token
	made    int
}

func (t *town) newWorker(n int) *worker {
	return &worker{town: t, n: n, rng: rand.New(rand.NewPCG(t.seed, uint64(n)))}
}

// run works until stop is closed.
func (w *worker) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-w.ctx.Done():
			return
		default:
		}
		if w.perform(w.choose()) != acknowledged {
			select {
			case <-stop:
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// choose is the next thing to do.
func (w *worker) choose() step {
	s := step{Account: w.rng.IntN(len(w.model.accounts)), N: w.rng.IntN(1_000_000)}
	free := slices.DeleteFunc(slices.Clone(w.records), func(r *record) bool { return !r.exists() || r.pending != nil })
	pick := w.rng.IntN(100)
	if len(free) == 0 || pick < 30 {
		// A create without an answer is sent again under its key now and then.
		for _, r := range w.records {
			if r.id == "" && r.pending != nil && w.rng.IntN(2) == 0 {
				again := *r.pending
				return again
			}
		}
		w.made++
		s.Kind, s.Subject = "create", fmt.Sprintf("w%d-%d-%dz", w.n, w.made, w.marks.Add(1)) // no key begins another
		return s
	}
	r := free[w.rng.IntN(len(free))]
	s.Subject, s.Account = r.key, r.owner
	docs := slices.DeleteFunc(slices.Clone(r.docs), func(d *document) bool { return d.id == "" || d.deleted || d.pending != nil })
	claims := slices.DeleteFunc(slices.Clone(r.claims), func(c *claim) bool { return c.id == "" || c.pending != nil || nextStatus(c.status) == "" })
	switch {
	case pick < 45:
		s.Kind = "update"
	case pick < 50:
		s.Kind = "delete"
	case pick < 62:
		s.Kind, s.Item = "upload", fmt.Sprint("d", w.marks.Add(1))
	case pick < 66 && len(docs) > 0:
		s.Kind, s.Item = "remove", docs[w.rng.IntN(len(docs))].key
	case pick < 72 && r.content.Standing == "active":
		s.Kind, s.Item = "claim", fmt.Sprint("c", w.marks.Add(1))
	case pick < 78 && len(claims) > 0 && r.seller >= 0 && r.seller != r.owner:
		s.Kind, s.Item, s.Account = "move", claims[w.rng.IntN(len(claims))].key, r.seller
	case pick < 82:
		s.Kind = "transfer"
	case pick < 84:
		s.Kind, s.Subject, s.Account = "token", fmt.Sprintf("t%d-%dz", w.n, w.marks.Add(1)), w.rng.IntN(len(w.model.accounts))
	case pick < 88 && len(w.tokens) > 0:
		k := w.tokens[w.rng.IntN(len(w.tokens))]
		s.Subject, s.Account = k.key, k.owner
		s.Kind = []string{"use", "use", "revoke"}[w.rng.IntN(3)]
		if k.revoked || k.pending != nil {
			s.Kind = "use"
		}
	case pick < 92:
		s.Kind = "again"
	default:
		s.Kind = "read"
	}
	return s
}

// nextStatus is where a seller moves a claim to.
func nextStatus(status string) string {
	return map[string]string{"submitted": "under_review", "under_review": "approved", "approved": "in_progress"}[status]
}

func day(offset int) string { return time.Now().UTC().AddDate(0, 0, offset).Format(time.DateOnly) }

// contentOf is what a step writes into a record.
func contentOf(s step, before content) content {
	c := before
	switch s.Kind {
	case "create":
		c = content{Product: s.Subject, Category: fmt.Sprint("Category ", s.N%4), Start: day(-30), End: day(100 + s.N%900), Standing: "active"}
		switch s.N % 7 {
		case 0: // ends soon: a reminder is due
			c.End = day(20)
		case 1:
			c.Start, c.End = day(10), day(400)
		case 2:
			c.Start, c.End = day(-400), day(-3)
		}
	case "update":
		switch s.N % 4 {
		case 0:
			c.Category = fmt.Sprint("Category ", s.N/4%4)
		case 1:
			c.End = day(200 + s.N/4%900)
		case 2:
			c.Product = strings.SplitN(c.Product, " ", 2)[0] + fmt.Sprint(" changed ", s.N)
		case 3:
			switch c.Standing {
			case "active":
				c.Standing = []string{"void", "void", "cancelled"}[s.N/4%3]
			case "void":
				c.Standing = "active"
			}
		}
	}
	return c
}

// detailsOf are the texts of a record that are written once and never change.
func detailsOf(c content) map[string]string {
	key := keyOf(c.Product)
	return map[string]string{"description": "All about " + key, "serial_number": "SN " + key, "supplier": "Supplier of " + key, "seller_name": "Seller of " + key}
}

// changes are the fields of a request.
func (c content) changes(before content) map[string]string {
	fields := map[string]string{}
	for name, values := range map[string][2]string{"product_name": {c.Product, before.Product}, "category": {c.Category, before.Category},
		"start_date": {c.Start, before.Start}, "end_date": {c.End, before.End}, "status": {c.Standing, before.Standing}} {
		if values[0] != values[1] {
			fields[name] = values[0]
		}
	}
	return fields
}

// contentFor makes the bytes of a file.
func contentFor(s step) []byte {
	size := 200 + s.N%40_000
	text := make([]byte, 0, size+64)
	text = append(text, "%PDF-1.4\n% "+s.Subject+" "+s.Item+"\n"...)
	source := rand.NewPCG(uint64(s.N), uint64(size))
	for len(text) < size {
		text = append(text, hex.EncodeToString([]byte{byte(source.Uint64())})...)
	}
	return append(text, "\n%%EOF\n"...)
}

// perform carries a step out, and writes into the model what is known after it.
func (w *worker) perform(s step) outcome {
	s.At = w.model.since()
	act := map[string]func(*step) answer{"create": w.create, "update": w.update, "delete": w.remove, "upload": w.upload, "remove": w.removeDocument,
		"claim": w.file, "move": w.move, "transfer": w.transfer, "token": w.token, "use": w.use, "revoke": w.revoke, "again": w.again, "read": w.read}[s.Kind]
	a := act(&s)
	if a.status == 0 && a.err == nil {
		return refused // there was nothing to do
	}
	s.Outcome, s.Answer = a.outcome().String(), a.String()
	w.model.mu.Lock()
	if r := w.model.records[s.Subject]; r != nil {
		r.steps = append(r.steps, s)
	} else if k := w.model.tokens[s.Subject]; k != nil {
		k.steps = append(k.steps, s)
	}
	w.model.mu.Unlock()
	if w.strict.Load() && a.outcome() != acknowledged {
		w.find("failed", s.Subject, "%s failed: %s", s.Kind, a)
	}
	return a.outcome()
}

func (w *worker) account(n int) *account { return w.model.accounts[n] }

// recordOf is the record of a step.
func (w *worker) recordOf(s *step) *record {
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	return w.model.records[s.Subject]
}

type wireWarranty struct {
	ID        string `json:"id"`
	Reference string `json:"reference_number"`
	Product   string `json:"product_name"`
	Category  string `json:"category"`
	Start     string `json:"start_date"`
	End       string `json:"end_date"`
	Status    string `json:"status"`
	Seller    string `json:"seller_email"`

	Description  string   `json:"description"`
	SerialNumber string   `json:"serial_number"`
	Supplier     string   `json:"supplier"`
	SellerName   string   `json:"seller_name"`
	Roles        []string `json:"roles"`
}

// statusOf is what the service derives from dates and standing.
func statusOf(c content) string {
	switch today := day(0); {
	case c.Standing != "active":
		return c.Standing
	case today < c.Start:
		return "upcoming"
	case today > c.End:
		return "expired"
	}
	return "active"
}

func (w wireWarranty) equals(c content) bool {
	details := map[string]string{"description": w.Description, "serial_number": w.SerialNumber, "supplier": w.Supplier, "seller_name": w.SellerName}
	return maps.Equal(details, detailsOf(c)) && w.Product == c.Product && w.Category == c.Category && w.Start == c.Start && w.End == c.End && w.Status == statusOf(c)
}

func (w *worker) create(s *step) answer {
	r := w.recordOf(s)
	if r == nil {
		r = &record{key: s.Subject, owner: s.Account, issuer: s.Account, seller: -1}
		if s.N%3 == 0 {
			r.seller = s.N / 3 % len(w.model.accounts)
		}
		r.after = contentOf(*s, content{})
		w.model.addRecord(r)
		w.records = append(w.records, r)
	}
	a := w.front.call(w.ctx, http.MethodPost, "/api/v1/warranties", w.account(r.owner).session, w.body(r), "Idempotency-Key", r.key)
	w.created(r, s, a)
	return a
}

// body is the request that creates a record.
func (t *town) body(r *record) map[string]string {
	body := r.after.changes(content{Standing: "active"})
	for name, text := range detailsOf(r.after) {
		body[name] = text
	}
	if r.seller >= 0 {
		body["seller_email"] = t.model.accounts[r.seller].email
	}
	return body
}

// created notes what came of a create.
func (w *worker) created(r *record, s *step, a answer) {
	switch a.outcome() {
	case unanswered:
		pending := *s
		r.pending = &pending
	case refused:
		if a.err == nil && a.status != http.StatusTooManyRequests {
			w.find("refused", r.key, "a create was refused: %s", a)
		}
		if r.pending == nil {
			w.forget(r)
		}
	case acknowledged:
		var got wireWarranty
		if err := a.data(&got); err != nil || !got.equals(r.after) {
			w.find("wrong", r.key, "a create was answered with something else: %s", a.body)
			return
		}
		r.id, r.etag, r.content, r.pending = got.ID, a.header.Get("ETag"), r.after, nil
		r.remind = r.content.End == day(20) && r.content.Start <= day(0)
		r.events = append(r.events, "warranty.created")
		if r.seller >= 0 && r.seller != r.owner {
			r.events = append(r.events, "seller.linked?")
		}
	}
}

// forget drops a record that was never sent.
func (w *worker) forget(r *record) {
	w.model.mu.Lock()
	delete(w.model.records, r.key)
	w.model.mu.Unlock()
	w.records = slices.DeleteFunc(w.records, func(other *record) bool { return other == r })
}

// unexpected reports a refusal of something that must work.
func (w *worker) unexpected(subject, what string, a answer) {
	if a.err == nil && a.status >= 400 && a.status < 500 && a.status != http.StatusTooManyRequests {
		w.find("refused", subject, "%s was refused: %s", what, a)
	}
}

func (w *worker) update(s *step) answer {
	r := w.recordOf(s)
	after := contentOf(*s, r.content)
	fields := after.changes(r.content)
	if len(fields) == 0 {
		return answer{}
	}
	a := w.front.call(w.ctx, http.MethodPut, "/api/v1/warranties/"+r.id, w.account(r.owner).session, fields, "If-Match", r.etag)
	switch w.unexpected(r.key, "an update", a); a.outcome() {
	case acknowledged:
		var got wireWarranty
		if err := a.data(&got); err != nil || !got.equals(after) {
			w.find("wrong", r.key, "an update was answered with something else: %s", a.body)
		}
		r.content, r.etag = after, a.header.Get("ETag")
		r.events = append(r.events, "warranty.updated")
	case unanswered:
		pending := *s
		r.pending, r.after = &pending, after
	}
	return a
}

func (w *worker) remove(s *step) answer {
	r := w.recordOf(s)
	a := w.front.call(w.ctx, http.MethodDelete, "/api/v1/warranties/"+r.id, w.account(r.owner).session, nil)
	switch w.unexpected(r.key, "a delete", a); a.outcome() {
	case acknowledged:
		r.deleted = true
	case unanswered:
		pending := *s
		r.pending = &pending
	}
	return a
}

func (w *worker) upload(s *step) answer {
	r, content := w.recordOf(s), contentFor(*s)
	sum := sha256.Sum256(content)
	d := &document{key: s.Item, sha: hex.EncodeToString(sum[:]), size: len(content)}
	a := w.front.upload(w.ctx, w.account(r.owner).session, r.id, s.Item+".pdf", content)
	switch w.unexpected(r.key, "an upload", a); a.outcome() {
	case acknowledged:
		var got struct{ ID, SHA256 string }
		if err := a.data(&got); err != nil || got.SHA256 != d.sha {
			w.find("wrong", r.key, "an upload was answered with something else: %s", a.body)
			return a
		}
		d.id = got.ID
		r.events = append(r.events, "document.uploaded")
	case unanswered:
		pending := *s
		d.pending = &pending
	case refused:
		return a
	}
	r.docs = append(r.docs, d)
	return a
}

func (w *worker) removeDocument(s *step) answer {
	r := w.recordOf(s)
	i := slices.IndexFunc(r.docs, func(d *document) bool { return d.key == s.Item })
	if i < 0 || r.docs[i].id == "" {
		return answer{}
	}
	d := r.docs[i]
	a := w.front.call(w.ctx, http.MethodDelete, "/api/documents/"+d.id, w.account(r.owner).session, nil)
	switch w.unexpected(r.key, "removing a document", a); a.outcome() {
	case acknowledged:
		d.deleted = true
		r.events = append(r.events, "document.deleted")
	case unanswered:
		pending := *s
		d.pending = &pending
	}
	return a
}

func (w *worker) file(s *step) answer {
	r := w.recordOf(s)
	if statusOf(r.content) != "active" {
		return answer{}
	}
	a := w.front.call(w.ctx, http.MethodPost, "/api/claims", w.account(r.owner).session, map[string]string{"warranty_id": r.id, "type": "repair",
		"description": s.Item, "incident_date": day(0)})
	c := &claim{key: s.Item, after: "submitted"}
	switch w.unexpected(r.key, "a claim", a); a.outcome() {
	case acknowledged:
		var got struct {
			ID     string `json:"id"`
			Number string `json:"claim_number"`
		}
		if err := a.data(&got); err != nil {
			w.find("wrong", r.key, "a claim was answered with something else: %s", a.body)
			return a
		}
		c.id, c.number, c.status = got.ID, got.Number, "submitted"
		r.events = append(r.events, "claim.filed")
	case unanswered:
		pending := *s
		c.pending = &pending
	case refused:
		return a
	}
	r.claims = append(r.claims, c)
	return a
}

func (w *worker) move(s *step) answer {
	r := w.recordOf(s)
	i := slices.IndexFunc(r.claims, func(c *claim) bool { return c.key == s.Item })
	if i < 0 || r.claims[i].id == "" {
		return answer{}
	}
	c := r.claims[i]
	next := nextStatus(c.status)
	if next == "" {
		return answer{}
	}
	a := w.front.call(w.ctx, http.MethodPost, "/api/claims/"+c.id+"/status", w.account(s.Account).session, map[string]string{"status": next, "reason": "Moved by a test."})
	switch w.unexpected(r.key, "a move of a claim", a); a.outcome() {
	case acknowledged:
		c.status = next
		r.events = append(r.events, "claim.moved")
	case unanswered:
		pending := *s
		c.pending, c.after = &pending, next
	}
	return a
}

// transfer offers a record and takes it over, in two requests.
func (w *worker) transfer(s *step) answer {
	r := w.recordOf(s)
	to := s.N % len(w.model.accounts)
	if to == r.owner {
		return answer{}
	}
	a := w.front.call(w.ctx, http.MethodPost, "/api/warranties/"+r.id+"/transfer", w.account(r.owner).session, map[string]string{"email": w.account(to).email})
	var offer struct {
		Code   string `json:"code"`
		Mailed bool   `json:"mailed"`
	}
	switch w.unexpected(r.key, "an offer", a); a.outcome() {
	case unanswered:
		r.events = append(r.events, "transfer.offered?")
		return a
	case refused:
		return a
	}
	if err := a.data(&offer); err != nil {
		w.find("wrong", r.key, "an offer was answered with something else: %s", a.body)
		return a
	}
	r.events = append(r.events, "transfer.offered")
	if offer.Mailed {
		w.model.expectMail(expectation{to: w.account(to).email, contains: offer.Code, from: *s})
	}
	if s.N%5 == 0 {
		return a // it is never taken
	}
	a = w.front.call(w.ctx, http.MethodPost, "/api/transfers/accept", w.account(to).session, map[string]string{"code": offer.Code})
	switch w.unexpected(r.key, "taking over", a); a.outcome() {
	case acknowledged:
		r.owner, r.etag = to, a.header.Get("ETag")
		r.events = append(r.events, "transfer.accepted")
		if r.etag == "" {
			w.refresh(r)
		}
	case unanswered:
		pending := *s
		r.pending, r.after = &pending, r.content
	}
	return a
}

// refresh reads the version of a record.
func (w *worker) refresh(r *record) {
	a := w.front.call(w.ctx, http.MethodGet, "/api/v1/warranties/"+r.id, w.account(r.owner).session, nil)
	w.unexpected(r.key, "reading what was just taken over", a)
	r.etag = a.header.Get("ETag")
	if a.status != http.StatusOK { // it is read at the next check
		r.pending, r.after = &step{Kind: "refresh"}, r.content
	}
}

func (w *worker) read(s *step) answer {
	r := w.recordOf(s)
	a := w.front.call(w.ctx, http.MethodGet, "/api/v1/warranties/"+r.id, w.account(r.owner).session, nil)
	w.unexpected(r.key, "reading an acknowledged record", a)
	if a.status == http.StatusOK {
		var got wireWarranty
		if err := a.data(&got); err != nil || !got.equals(r.content) {
			w.find("stale", r.key, "read %s after %+v was acknowledged", a.body, r.content)
		}
	}
	return a
}

// again sends a create that was acknowledged once more.
func (w *worker) again(s *step) answer {
	r := w.recordOf(s)
	if len(r.steps) == 0 || r.issuer != r.owner {
		return answer{}
	}
	first := contentOf(r.steps[0], content{})
	body := (&record{after: first, seller: r.seller})
	a := w.front.call(w.ctx, http.MethodPost, "/api/v1/warranties", w.account(r.issuer).session, w.body(body), "Idempotency-Key", r.key)
	w.unexpected(r.key, "the same create again", a)
	if a.outcome() == acknowledged {
		var got wireWarranty
		if err := a.data(&got); err != nil || got.ID != r.id || a.header.Get("Idempotent-Replayed") != "true" {
			w.find("doubled", r.key, "the same key was answered with %s, and before with %s", a.body, r.id)
		}
	}
	return a
}

func (w *worker) token(s *step) answer {
	k := &token{key: s.Subject, owner: s.Account}
	active := 0
	for _, other := range w.tokens {
		if other.owner == s.Account && !other.revoked {
			active++
		}
	}
	if active >= 2 { // of 20 that an account may have, over all workers
		return answer{}
	}
	a := w.front.call(w.ctx, http.MethodPost, "/api/integration-tokens", w.account(s.Account).session,
		map[string]any{"name": k.key, "scopes": []string{"warranties:read", "warranties:write"}, "rate_limit_per_minute": 100_000})
	switch a.outcome() {
	case acknowledged:
		var got struct{ ID, Secret string }
		if err := a.data(&got); err != nil {
			w.find("wrong", k.key, "a token was answered with something else: %s", a.body)
			return a
		}
		k.id, k.secret = got.ID, got.Secret
		w.model.expectMail(expectation{to: w.account(s.Account).email, contains: k.key, from: *s, maybe: w.older})
	case unanswered:
		pending := *s
		k.pending = &pending
		w.model.expectMail(expectation{to: w.account(s.Account).email, contains: k.key, from: *s, maybe: true})
	case refused:
		return a
	}
	w.tokens = append(w.tokens, k)
	w.model.addToken(k)
	return a
}

// tokenOf is the token of a step.
func (w *worker) tokenOf(s *step) *token {
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	return w.model.tokens[s.Subject]
}

// use reads with a token. One whose revocation was acknowledged must not work.
func (w *worker) use(s *step) answer {
	k := w.tokenOf(s)
	if k == nil || k.secret == "" {
		return answer{}
	}
	a := w.front.call(w.ctx, http.MethodGet, "/api/v1/auth/status", k.secret, nil)
	w.judge(k, a)
	if k.revoked && a.status == http.StatusUnauthorized {
		return answer{} // as it must be
	}
	return a
}

// judge holds what a token could do against what is known of it.
func (w *worker) judge(k *token, a answer) {
	switch {
	case k.pending != nil: // nobody knows
	case k.revoked && a.err == nil && a.status < 400:
		w.find("late", k.key, "a token works after its revocation was acknowledged: %s", a)
	case !k.revoked && a.status == http.StatusUnauthorized:
		w.find("lost", k.key, "a token does not work: %s", a)
	}
}

// revoke ends a token while others write with it. What begins after the answer must
// be refused, on every replica.
func (w *worker) revoke(s *step) answer {
	k := w.tokenOf(s)
	if k == nil || k.secret == "" || k.revoked {
		return answer{}
	}
	var ended, over atomic.Bool // the token; the writes
	var wg sync.WaitGroup
	var made sync.Mutex
	var records []*record
	for n := range 3 {
		wg.Go(func() {
			for i := 0; i < 200; i++ {
				late, last := ended.Load(), over.Load()
				r := &record{key: fmt.Sprintf("b%d-%d-%dz", w.n, n, w.marks.Add(1)), owner: k.owner, issuer: k.owner, seller: -1}
				create := step{Kind: "create", Account: k.owner, Subject: r.key, N: 4, At: w.model.since()}
				r.after = contentOf(create, content{})
				a := w.front.call(w.ctx, http.MethodPost, "/api/v1/warranties", k.secret, w.body(r), "Idempotency-Key", r.key)
				create.Outcome, create.Answer = a.outcome().String(), a.String()
				if late && a.outcome() == acknowledged {
					w.find("late", k.key, "a token wrote %s after its revocation was acknowledged", r.key)
				}
				if a.outcome() != refused {
					r.steps = append(r.steps, create)
					w.model.addRecord(r)
					w.created(r, &create, a)
					made.Lock()
					records = append(records, r)
					made.Unlock()
				}
				if last || a.outcome() == unanswered {
					return
				}
			}
		})
	}
	a := w.front.call(w.ctx, http.MethodDelete, "/api/integration-tokens/"+k.id, w.account(k.owner).session, nil)
	switch w.unexpected(k.key, "a revocation", a); a.outcome() {
	case acknowledged:
		k.revoked = true
		ended.Store(true)
	case unanswered:
		pending := *s
		k.pending = &pending
	}
	over.Store(true)
	wg.Wait()
	w.records = append(w.records, records...)
	return a
}
