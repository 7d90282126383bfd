package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

func (w *worker) account(n int) *account { return w.model.accounts[n] }

// recordOf returns the record of a step.
func (w *worker) recordOf(s *step) *record {
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	return w.model.records[s.Subject]
}

// tokenOf returns the token of a step.
func (w *worker) tokenOf(s *step) *token {
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	return w.model.tokens[s.Subject]
}

// send sends a request as an account. The request is valid, so a refusal is a finding.
func (w *worker) send(subject string, as int, method, path string, body any, headers ...string) answer {
	a := w.api.call(w.ctx, method, path, w.account(as).session, body, headers...)
	w.expectAccepted(subject, method+" "+path, a)
	return a
}

// expectAccepted adds a finding if a valid request was refused for another reason than its rate.
func (w *worker) expectAccepted(subject, what string, a answer) {
	if a.err == nil && a.status >= 400 && a.status < 500 && a.status != http.StatusTooManyRequests {
		w.find("refused", subject, "%s was refused: %s", what, a)
	}
}

// unexpected adds a finding for a response that does not match the request.
func (w *worker) unexpected(subject, what string, a answer) {
	w.find("wrong", subject, "unexpected response to %s: %s", what, a.body)
}

// create creates a record, or repeats a create without a response.
func (w *worker) create(s *step) answer {
	r := w.recordOf(s)
	if r == nil {
		r = &record{key: s.Subject, creator: s.Account, owner: s.Account, issuer: s.Account, named: -1, seller: -1}
		if s.N%3 == 0 {
			r.named = s.N / 3 % len(w.model.accounts)
		}
		if r.named == r.owner { // needs no confirmation
			r.seller = r.owner
		}
		r.after = contentOf(*s, content{})
		w.model.addRecord(r)
		w.records = append(w.records, r)
	}
	a := w.postWarranty(r, w.account(r.owner).session, r.key)
	w.created(r, s, a)
	return a
}

// postWarranty sends the request that creates a record.
func (l *workload) postWarranty(r *record, secret, key string) answer {
	body := r.after.changes(content{Standing: "active"})
	maps.Copy(body, detailsOf(r.after))
	if r.named >= 0 {
		body["seller_email"] = l.model.accounts[r.named].email
	}
	return l.api.call(l.ctx, http.MethodPost, "/api/v1/warranties", secret, body, "Idempotency-Key", key)
}

// created updates the model after a create.
func (w *worker) created(r *record, s *step, a answer) {
	switch a.outcome() {
	case unanswered:
		r.pending = new(*s)
	case refused:
		w.expectAccepted(r.key, "a create", a)
		if r.pending == nil {
			w.forget(r)
		}
	case acknowledged:
		var got wireWarranty
		if err := a.data(&got); err != nil || !got.equals(r.after) {
			w.unexpected(r.key, "a create", a)
			return
		}
		r.etag = a.header.Get("ETag")
		r.exist(got.ID)
		if r.named >= 0 && r.named != r.owner {
			w.confirm(r)
		}
	}
}

// confirm lets the seller confirm a record.
func (w *worker) confirm(r *record) {
	a := w.send(r.key, r.named, http.MethodPost, "/api/v1/confirmations/"+r.id, map[string]string{"decision": "confirm"},
		"If-Match", r.etag)
	switch a.outcome() {
	case acknowledged:
		r.seller = r.named
		r.events = append(r.events, "seller.confirmed")
		w.refresh(r)
	case unanswered:
		r.pending, r.after = &step{Kind: "confirm"}, r.content
	}
}

// exist sets the id of a record whose create succeeded.
func (r *record) exist(id string) {
	r.id, r.content, r.pending = id, r.after, nil
	r.remind = r.content.End == day(25) && r.content.Start <= day(0)
	r.events = append(r.events, "warranty.created")
}

// forget drops a record that does not exist.
func (w *worker) forget(r *record) {
	w.model.mu.Lock()
	delete(w.model.records, r.key)
	w.model.mu.Unlock()
	w.records = slices.DeleteFunc(w.records, func(other *record) bool { return other == r })
}

func (w *worker) update(s *step) answer {
	r := w.recordOf(s)
	after := contentOf(*s, r.content)
	fields := after.changes(r.content)
	if len(fields) == 0 {
		return answer{}
	}
	a := w.send(r.key, r.owner, http.MethodPut, "/api/v1/warranties/"+r.id, fields, "If-Match", r.etag)
	switch a.outcome() {
	case acknowledged:
		var got wireWarranty
		if err := a.data(&got); err != nil || !got.equals(after) {
			w.unexpected(r.key, "an update", a)
		}
		r.content, r.etag = after, a.header.Get("ETag")
		r.events = append(r.events, "warranty.updated")
	case unanswered:
		r.pending, r.after = new(*s), after
	}
	return a
}

func (w *worker) remove(s *step) answer {
	r := w.recordOf(s)
	a := w.send(r.key, r.owner, http.MethodDelete, "/api/v1/warranties/"+r.id+"?force=true", nil)
	switch a.outcome() {
	case acknowledged:
		r.deleted = true
	case unanswered:
		r.pending = new(*s)
	}
	return a
}

func (w *worker) upload(s *step) answer {
	r, content := w.recordOf(s), fileOf(*s)
	sum := sha256.Sum256(content)
	d := &document{key: s.Item, sha: hex.EncodeToString(sum[:]), size: len(content)}
	a := w.api.upload(w.ctx, w.account(r.owner).session, r.id, s.Item+".pdf", content)
	w.expectAccepted(r.key, "an upload", a)
	switch a.outcome() {
	case acknowledged:
		var got struct{ ID, SHA256 string }
		if err := a.data(&got); err != nil || got.SHA256 != d.sha {
			w.unexpected(r.key, "an upload", a)
			return a
		}
		d.id = got.ID
		r.events = append(r.events, "document.uploaded")
	case unanswered:
		d.pending = new(*s)
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
	a := w.send(r.key, r.owner, http.MethodDelete, "/api/documents/"+d.id, nil)
	switch a.outcome() {
	case acknowledged:
		d.deleted = true
		r.events = append(r.events, "document.deleted")
	case unanswered:
		d.pending = new(*s)
	}
	return a
}

func (w *worker) fileClaim(s *step) answer {
	r := w.recordOf(s)
	if statusOf(r.content) != "active" {
		return answer{}
	}
	a := w.send(r.key, r.owner, http.MethodPost, "/api/claims", map[string]string{
		"warranty_id":   r.id,
		"type":          "repair",
		"description":   s.Item,
		"incident_date": day(0),
	})
	c := &claim{key: s.Item, after: "submitted"}
	switch a.outcome() {
	case acknowledged:
		var got struct {
			ID     string `json:"id"`
			Number string `json:"claim_number"`
		}
		if err := a.data(&got); err != nil {
			w.unexpected(r.key, "a claim", a)
			return a
		}
		c.id, c.number, c.status = got.ID, got.Number, "submitted"
		r.events = append(r.events, "claim.filed")
	case unanswered:
		c.pending = new(*s)
	case refused:
		return a
	}
	r.claims = append(r.claims, c)
	return a
}

func (w *worker) moveClaim(s *step) answer {
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
	a := w.send(r.key, s.Account, http.MethodPost, "/api/claims/"+c.id+"/status",
		map[string]string{"status": next, "reason": "Moved by a test."})
	switch a.outcome() {
	case acknowledged:
		c.status = next
		r.events = append(r.events, "claim.moved")
	case unanswered:
		c.pending, c.after = new(*s), next
	}
	return a
}

// transfer offers a record and accepts the offer, in two requests.
func (w *worker) transfer(s *step) answer {
	r := w.recordOf(s)
	to := s.N % len(w.model.accounts)
	if to == r.owner {
		return answer{}
	}
	// All documents go along, so that the new owner reads them back.
	documents := []string{}
	for _, d := range r.docs {
		if d.pending != nil {
			return answer{}
		}
		if !d.deleted {
			documents = append(documents, d.id)
		}
	}
	if slices.ContainsFunc(r.claims, func(c *claim) bool { return c.pending != nil }) {
		return answer{} // the new owner would not recognize a claim whose id is unknown
	}
	// An address for each offer, because the code of its email is not in the response. Whoever has that takes it.
	buyer := fmt.Sprintf("buyer-%s-%d@people.example", r.key, len(r.events))
	a := w.send(r.key, r.owner, http.MethodPost, "/api/warranties/"+r.id+"/transfer",
		map[string]any{"email": buyer, "documents": documents})
	switch a.outcome() {
	case unanswered:
		r.events = append(r.events, "transfer.offered?")
		return a
	case refused:
		return a
	}
	var offer struct {
		Code   string `json:"code"`
		Mailed bool   `json:"mailed"`
	}
	if err := a.data(&offer); err != nil {
		w.unexpected(r.key, "an offer", a)
		return a
	}
	r.events = append(r.events, "transfer.offered")
	if offer.Mailed {
		w.model.expectMail(expectation{to: buyer, contains: "/take#", from: *s})
	}
	if s.N%5 == 0 {
		return a // the offer is never accepted
	}
	a = w.send(r.key, to, http.MethodPost, "/api/transfers/accept", map[string]string{"code": offer.Code})
	switch a.outcome() {
	case acknowledged:
		r.pass(to)
		r.etag = a.header.Get("ETag")
		if r.etag == "" {
			w.refresh(r)
		}
	case unanswered:
		r.pending, r.after = new(*s), r.content
	}
	return a
}

// refresh reads the ETag of a record.
func (w *worker) refresh(r *record) {
	a := w.send(r.key, r.owner, http.MethodGet, "/api/v1/warranties/"+r.id, nil)
	r.etag = a.header.Get("ETag")
	if a.status != http.StatusOK { // the next check reads it
		r.pending, r.after = &step{Kind: "refresh"}, r.content
	}
}

func (w *worker) read(s *step) answer {
	r := w.recordOf(s)
	a := w.send(r.key, r.owner, http.MethodGet, "/api/v1/warranties/"+r.id, nil)
	if a.status == http.StatusOK {
		var got wireWarranty
		if err := a.data(&got); err != nil || !got.equals(r.content) {
			w.find("stale", r.key, "read %s after %+v was acknowledged", a.body, r.content)
		}
	}
	return a
}

// createAgain repeats an acknowledged create.
func (w *worker) createAgain(s *step) answer {
	r := w.recordOf(s)
	if len(r.steps) == 0 || r.creator != r.owner {
		return answer{}
	}
	a := w.repeatCreate(r)
	w.expectAccepted(r.key, "a repeated create", a)
	if a.outcome() == acknowledged {
		w.checkReplay(r, a)
	}
	return a
}

// repeatCreate sends the first step of a record again.
func (l *workload) repeatCreate(r *record) answer {
	first := &record{after: contentOf(r.steps[0], content{}), named: r.named}
	return l.postWarranty(first, l.model.accounts[r.creator].session, r.key)
}

// checkReplay checks the response to a repeated create.
func (l *workload) checkReplay(r *record, a answer) {
	var got wireWarranty
	if err := a.data(&got); err != nil || got.ID != r.id || a.header.Get("Idempotent-Replayed") != "true" {
		l.find("doubled", r.key, "a repeated create returned %s, the record is %s", a.body, r.id)
	}
}

// tokensPerWorker limits the active tokens of a worker: an account may have 20.
const tokensPerWorker = 2

func (w *worker) createToken(s *step) answer {
	active := filter(w.tokens, func(k *token) bool { return k.owner == s.Account && !k.revoked })
	if len(active) >= tokensPerWorker {
		return answer{}
	}
	k, owner := &token{key: s.Subject, owner: s.Account}, w.account(s.Account)
	a := w.api.call(w.ctx, http.MethodPost, "/api/integration-tokens", owner.session, map[string]any{
		"name":                  k.key,
		"scopes":                []string{"warranties:read", "warranties:write"},
		"rate_limit_per_minute": 100_000,
	})
	switch a.outcome() {
	case acknowledged:
		var got struct{ ID, Secret string }
		if err := a.data(&got); err != nil {
			w.unexpected(k.key, "a create of a token", a)
			return a
		}
		k.id, k.secret = got.ID, got.Secret
		w.model.expectMail(expectation{to: owner.email, contains: k.key, from: *s})
	case unanswered:
		k.pending = new(*s)
		w.model.expectMail(expectation{to: owner.email, contains: k.key, from: *s, maybe: true})
	case refused:
		return a
	}
	w.tokens = append(w.tokens, k)
	w.model.addToken(k)
	return a
}

// useToken reads with a token, which must fail if its revocation was acknowledged.
func (w *worker) useToken(s *step) answer {
	k := w.tokenOf(s)
	if k == nil || k.secret == "" {
		return answer{}
	}
	a := w.api.call(w.ctx, http.MethodGet, "/api/v1/auth/status", k.secret, nil)
	switch {
	case k.pending != nil: // its state is unknown
	case k.revoked && a.err == nil && a.status < 400:
		w.find("late", k.key, "a token works after its revocation was acknowledged: %s", a)
	case k.revoked && a.status == http.StatusUnauthorized:
		return answer{} // the expected refusal is not a failed step
	case a.status == http.StatusUnauthorized:
		w.find("lost", k.key, "a token does not work: %s", a)
	}
	return a
}

// revoke revokes a token while it is used for writes. Writes that start after the
// response must be refused, on every replica.
func (w *worker) revoke(s *step) answer {
	k := w.tokenOf(s)
	if k == nil || k.secret == "" || k.revoked {
		return answer{}
	}
	var revoked, over atomic.Bool // the token is revoked; the writers stop
	var wg sync.WaitGroup
	var mu sync.Mutex
	var records []*record
	for n := range 3 {
		wg.Go(func() {
			for range 200 {
				late, last := revoked.Load(), over.Load()
				r, outcome := w.createWith(k, n)
				if late && outcome == acknowledged {
					w.find("late", k.key, "a token wrote %s after its revocation was acknowledged", r.key)
				}
				if outcome != refused {
					mu.Lock()
					records = append(records, r)
					mu.Unlock()
				}
				if last || outcome == unanswered {
					return
				}
			}
		})
	}
	a := w.send(k.key, k.owner, http.MethodDelete, "/api/integration-tokens/"+k.id, nil)
	switch a.outcome() {
	case acknowledged:
		k.revoked = true
		revoked.Store(true)
	case unanswered:
		k.pending = new(*s)
	}
	over.Store(true)
	wg.Wait()
	w.records = append(w.records, records...)
	return a
}

// createWith creates a record with a token, and adds it to the model unless it was refused.
func (w *worker) createWith(k *token, writer int) (*record, outcome) {
	r := &record{
		key:     fmt.Sprintf("b%d-%d-%dz", w.n, writer, w.counter.Add(1)),
		creator: k.owner,
		owner:   k.owner,
		issuer:  k.owner,
		named:   -1,
		seller:  -1,
	}
	create := step{Kind: "create", Account: k.owner, Subject: r.key, N: 4, At: w.model.since()}
	r.after = contentOf(create, content{})
	a := w.postWarranty(r, k.secret, r.key)
	create.Outcome, create.Answer = a.outcome().String(), a.String()
	if a.outcome() != refused {
		r.steps = append(r.steps, create)
		w.model.addRecord(r)
		w.created(r, &create, a)
	}
	return r, a.outcome()
}
