package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// finding is a violated guarantee.
type finding struct {
	what    string // the kind: "lost", "doubled", "half", …
	subject string // key of the record or token
	detail  string
	history []step // all requests for the subject, and the faults
	logs    string
}

// workload is the clients of a service and the responses that they got.
type workload struct {
	ctx     context.Context
	seed    uint64
	model   *model
	api     *apiClient
	figures *figures
	mailbox *mailbox
	strict  atomic.Bool // every request must succeed

	crashes func() int // returns the number of restarts of servers
	// remindedBefore is set after a restart: reminders are due for records created before it.
	remindedBefore time.Duration

	mu       sync.Mutex
	findings []finding
	counter  atomic.Int64 // for unique names
}

// password is the password of all accounts.
const password = "correct horse battery staple"

// find adds a finding, once for each kind and subject.
func (l *workload) find(what, subject, detail string, args ...any) {
	text := fmt.Sprintf(detail, args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.findings {
		if f.what == what && f.subject == subject {
			return
		}
	}
	l.findings = append(l.findings, finding{what: what, subject: subject, detail: text})
}

// historyOf returns all requests for a record or token, and the faults.
func (l *workload) historyOf(subject string) []step {
	l.model.mu.Lock()
	defer l.model.mu.Unlock()
	var steps []step
	if r := l.model.records[subject]; r != nil {
		steps = slices.Clone(r.steps)
	}
	if k := l.model.tokens[subject]; k != nil {
		steps = slices.Clone(k.steps)
	}
	steps = append(steps, l.model.faults...)
	slices.SortStableFunc(steps, func(a, b step) int { return int(a.At - b.At) })
	return steps
}

// found returns the findings with their histories.
func (l *workload) found() []finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := slices.Clone(l.findings)
	for i := range found {
		found[i].history = l.historyOf(found[i].subject)
	}
	return found
}

// setUp makes the first administrator with the link that a server printed. Earlier releases print none.
func (l *workload) setUp(servers []*server) error {
	for _, s := range servers {
		log, err := os.ReadFile(s.log)
		if err != nil {
			return err
		}
		code := regexp.MustCompile(`/setup#(\S+)`).FindSubmatch(log)
		if code == nil {
			continue
		}
		resp, err := http.PostForm(s.url+"/setup", url.Values{"code": {string(code[1])}, "name": {"Operator"}, "signup": {"open"},
			"email": {"operator@people.example"}, "password": {password}})
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= http.StatusBadRequest {
			return fmt.Errorf("set up: %s", resp.Status)
		}
		return nil
	}
	return nil
}

// register creates accounts with verified addresses, before any fault.
func (l *workload) register(count int) error {
	for n := range count {
		a := &account{n: n, name: fmt.Sprint("Person ", n), email: fmt.Sprintf("person%d@people.example", n)}
		got := l.api.call(l.ctx, http.MethodPost, "/api/auth/register", "",
			map[string]string{"name": a.name, "email": a.email, "password": password})
		if got.status != http.StatusCreated {
			return fmt.Errorf("register: %s", got)
		}
		var session struct {
			AccessToken string `json:"access_token"`
			User        struct {
				ID string `json:"id"`
			} `json:"user"`
		}
		if err := got.data(&session); err != nil {
			return err
		}
		a.id, a.session = session.User.ID, session.AccessToken
		code, err := l.mailbox.code(l.ctx, a.email, "Confirm your email address")
		if err != nil {
			return err
		}
		got = l.api.call(l.ctx, http.MethodPost, "/api/auth/verify-email", a.session, map[string]string{"code": code})
		if got.status != http.StatusOK {
			return fmt.Errorf("verify: %s", got)
		}
		l.model.accounts = append(l.model.accounts, a)
	}
	return nil
}
