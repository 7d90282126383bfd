package service

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

const (
	errorsWaiting = 200              // errors buffered in memory, at most half a MiB
	taskErrorGap  = time.Minute      // between two recorded errors of a task
	taskRepeatGap = 10 * time.Minute // between two records of the same error of a task
	errorsPruned  = 500              // errors between removals of the oldest
)

// errorLog buffers server errors until the worker writes them. It never blocks: when the buffer is
// full, it only counts new errors, because the first ones tell the most about an outage.
type errorLog struct {
	replica string

	mu      sync.Mutex
	waiting []store.ServerError
	dropped int
	written int                  // since the last removal of the oldest
	tasks   map[string]taskError // the last recorded error of each task
}

type taskError struct {
	text string
	at   time.Time
}

func newErrorLog() *errorLog {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &errorLog{replica: warranty.Printable(host, 64), tasks: map[string]taskError{}}
}

func (l *errorLog) add(list ...store.ServerError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := max(0, min(len(list), errorsWaiting-len(l.waiting)))
	l.waiting = append(l.waiting, list[:room]...)
	l.dropped += len(list) - room
}

// full counts an error and reports true if the buffer has no room, so that a flood of errors costs
// no more than this.
func (l *errorLog) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) < errorsWaiting {
		return false
	}
	l.dropped++
	return true
}

func (l *errorLog) take() (list []store.ServerError, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, dropped = l.waiting, l.dropped
	l.waiting, l.dropped = nil, 0
	return list, dropped
}

// putBack returns errors that could not be written, before newer ones.
func (l *errorLog) putBack(list []store.ServerError, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list = append(list, l.waiting...)
	room := min(len(list), errorsWaiting)
	l.waiting = list[:room:room]
	l.dropped += dropped + len(list) - room
}

// repeats reports whether an error of the task was recorded a short time ago.
func (l *errorLog) repeats(task, text string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.tasks[task]
	gap := taskErrorGap
	if last.text == text {
		gap = taskRepeatGap
	}
	if ok && now.Sub(last.at).Abs() < gap {
		return true
	}
	l.tasks[task] = taskError{text, now}
	return false
}

// wrote counts written errors and reports whether the oldest should be removed.
func (l *errorLog) wrote(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written += n
	if l.written < errorsPruned {
		return false
	}
	l.written = 0
	return true
}

// userInfo matches the user and password of a URL.
var userInfo = regexp.MustCompile(`://[^/@\s]*@`)

// errorText returns the text of an error without secrets.
func errorText(text string) string {
	text = text[:min(len(text), 2*store.MaxErrorText)] // secrets at the end must not be cut in two
	lines := strings.Split(userInfo.ReplaceAllString(text, "://(secret)@"), "\n")
	for i, line := range lines {
		lines[i] = warranty.Printable(strings.ReplaceAll(line, "\t", "  "), store.MaxErrorText)
	}
	text = strings.Join(lines, "\n")
	return strings.Clone(text[:min(len(text), store.MaxErrorText)])
}

// RecordError records a request that failed because of the server, for the admin page. Its route
// has parameter names in place of values.
func (s *Service) RecordError(p warranty.Principal, a RequestInfo, text string) {
	if s.errors.full() {
		return
	}
	if !knownMethods[a.Method] {
		a.Method = "-" // clients can send any word
	}
	s.errors.add(store.ServerError{
		ID:        s.NewID(),
		At:        s.now(),
		Replica:   s.errors.replica,
		RequestID: warranty.Printable(a.RequestID, 64),
		Source:    a.Method + " " + a.Route,
		Status:    a.Status,
		UserID:    p.User.ID,
		Message:   errorText(text),
	})
}

// RecordOtherAddress records that people use another address than the public URL.
func (s *Service) RecordOtherAddress(address string) {
	if s.errors.full() {
		return
	}
	s.errors.add(store.ServerError{
		ID: s.NewID(), At: s.now(), Replica: s.errors.replica, Source: store.AddressSource,
		Message: store.AddressMessage(s.PublicURL, warranty.Printable(address, 300)),
	})
}

// recordTaskError records a failed background task. A task that keeps failing is recorded again
// after taskErrorGap.
func (s *Service) recordTaskError(task, text string) {
	text = errorText(text)
	now := s.now()
	if s.errors.repeats(task, text, now) || s.errors.full() {
		return
	}
	s.errors.add(store.ServerError{
		ID: s.NewID(), At: now, Replica: s.errors.replica, Source: "worker: " + task, Message: text,
	})
}

// flushErrors writes the buffered errors. If a write fails, they are buffered again as far as there
// is room.
func (s *Service) flushErrors(ctx context.Context) error {
	list, dropped := s.errors.take()
	if len(list) == 0 {
		return nil
	}
	now, write := s.now(), list
	if dropped > 0 {
		write = append(slices.Clone(list), store.ServerError{
			ID:      s.NewID(),
			At:      now,
			Replica: s.errors.replica,
			Source:  "-",
			Message: fmt.Sprintf("%d more errors were not recorded. See the log.", dropped),
		})
	}
	if err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.InsertServerErrors(write) }); err != nil {
		s.errors.putBack(list, dropped)
		return err
	}
	if !s.errors.wrote(len(write)) {
		return nil
	}
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		return tx.PruneServerErrors(now.Add(-store.ServerErrorLifetime), store.MaxServerErrors)
	})
}
