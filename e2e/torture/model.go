package main

import (
	"fmt"
	"sync"
	"time"
)

// outcome is what a client knows about a request.
type outcome int

const (
	acknowledged outcome = iota // the change was made
	refused                     // the change was not made
	unanswered                  // the change may have been made
)

func (o outcome) String() string { return [...]string{"acknowledged", "refused", "unanswered"}[o] }

// step is a request of a client, or a fault. A list of steps can be replayed.
type step struct {
	Kind    string `json:"kind"`
	Account int    `json:"account,omitempty"` // the account that sends it
	Subject string `json:"subject,omitempty"` // key of the record or token
	N       int    `json:"n,omitempty"`       // source of choices and sizes
	Item    string `json:"item,omitempty"`    // key of the document or claim

	// The result, for reports.
	At      time.Duration `json:"at"`
	Outcome string        `json:"outcome,omitempty"`
	Answer  string        `json:"answer,omitempty"`
}

func (s step) String() string {
	text := fmt.Sprintf("%8.3fs  account %d  %-8s %s", s.At.Seconds(), s.Account, s.Kind, s.Subject)
	if s.Item != "" {
		text += " " + s.Item
	}
	if s.N != 0 {
		text += fmt.Sprintf(" (%d)", s.N)
	}
	return text + "  " + s.Outcome + "  " + s.Answer
}

// account is an account in the model.
type account struct {
	n               int
	id, email, name string
	session         string
}

// content is the part of a record that updates change.
type content struct {
	Product, Category, Start, End, Standing string
}

// record is a warranty in the model. One worker at a time uses it.
type record struct {
	key     string
	id      string
	owner   int
	creator int
	issuer  int
	named   int // as the seller; -1 for none
	seller  int // who confirmed; -1 for none
	content content
	etag    string
	deleted bool

	// pending is the step without a response, and after the content that it may have written.
	pending *step
	after   content

	events []string // expected actions in its history, oldest first
	claims []*claim
	docs   []*document
	remind bool // it ends soon, so a reminder is due

	steps []step // all requests for it
}

// pass gives the record, which its owner recorded, to another account.
func (r *record) pass(to int) {
	if r.seller == r.owner {
		r.seller = -1
	}
	r.owner, r.issuer = to, to
	r.events = append(r.events, "transfer.accepted")
}

// exists reports whether the record was created and not deleted.
func (r *record) exists() bool { return r.id != "" && !r.deleted }

type claim struct {
	key, id, number, status string
	pending                 *step
	after                   string
}

type document struct {
	key, id string
	sha     string
	size    int
	deleted bool
	pending *step
}

// token is an integration token in the model.
type token struct {
	key, id, secret string
	owner           int
	revoked         bool
	pending         *step
	steps           []step
}

// model is the expected state: all acknowledged writes.
type model struct {
	mu       sync.Mutex
	accounts []*account
	records  map[string]*record // by key
	tokens   map[string]*token
	faults   []step
	begin    time.Time
	mails    []expectation
}

// expectation is an email that must arrive exactly once.
type expectation struct {
	to, contains string
	from         step
	maybe        bool // it may not be sent: the step had no response
}

func newModel() *model {
	return &model{records: map[string]*record{}, tokens: map[string]*token{}, begin: time.Now()}
}

func (m *model) since() time.Duration { return time.Since(m.begin).Round(time.Millisecond) }

func (m *model) addRecord(r *record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[r.key] = r
}

func (m *model) addToken(t *token) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[t.key] = t
}

func (m *model) expectMail(e expectation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mails = append(m.mails, e)
}

// noteFault adds a fault to all histories.
func (m *model) noteFault(name, detail string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, step{Kind: "fault", Subject: name, At: m.since(), Outcome: detail})
}
