package main

import (
	"fmt"
	"sync"
	"time"
)

// outcome is what a caller knows about a request after it.
type outcome int

const (
	acknowledged outcome = iota // it was done
	refused                     // it was not done
	unanswered                  // it may have been done
)

func (o outcome) String() string { return [...]string{"acknowledged", "refused", "unanswered"}[o] }

// step is one thing that happens: a request of a client, or a fault. A list of
// steps is a history that can be carried out again.
type step struct {
	Kind    string `json:"kind"`
	Account int    `json:"account,omitempty"` // who does it
	Subject string `json:"subject,omitempty"` // key of the record or the token
	N       int    `json:"n,omitempty"`       // what else it needs: a choice, a size
	Item    string `json:"item,omitempty"`    // key of the document, the claim

	// What came of it, for people.
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

// account is a person of the model.
type account struct {
	n               int
	id, email, name string
	session         string
}

// content is what an owner has written into a record. Two are equal when nothing differs.
type content struct {
	Product, Category, Start, End, Standing string
}

// record is a warranty of the model. One worker at a time uses it.
type record struct {
	key     string
	id      string
	owner   int
	issuer  int
	seller  int // -1 for none
	content content
	etag    string
	deleted bool

	// pending is the step whose outcome is not known, and what it would have made.
	pending *step
	after   content

	events []string // actions that its history must hold, oldest first
	claims []*claim
	docs   []*document
	remind bool // it ends soon enough to be reminded of

	steps []step // all that was tried on it
}

// exists is false until its create was acknowledged.
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

// token is an integration token of the model.
type token struct {
	key, id, secret string
	owner           int
	revoked         bool
	pending         *step
	steps           []step
}

// model is all that has been acknowledged.
type model struct {
	mu       sync.Mutex
	accounts []*account
	records  map[string]*record // by key
	tokens   map[string]*token
	faults   []step
	begin    time.Time
	mails    []expectation
}

// expectation is a mail that must arrive exactly once.
type expectation struct {
	to, contains string
	from         step
	maybe        bool // the step was not answered
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

// noteFault writes a fault into the history of everything.
func (m *model) noteFault(name, detail string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, step{Kind: "fault", Subject: name, At: m.since(), Outcome: detail})
}
