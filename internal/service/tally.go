package service

import "sync/atomic"

// Tally counts what this process gave up on since its start.
type Tally struct {
	Mails       int64
	RefusedJobs int64 // that ended because of their account: it signed out, lost access or reached a limit
	FailedJobs  int64 // that ended after too many errors
}

// Tally returns what this process gave up on since its start.
func (s *Service) Tally() Tally {
	return Tally{Mails: s.tally.mails.Load(), RefusedJobs: s.tally.refused.Load(), FailedJobs: s.tally.failed.Load()}
}

type tally struct{ mails, refused, failed atomic.Int64 }

// addJob counts a job that ended because of a refusal or an error.
func (t *tally) addJob(refused bool) {
	if refused {
		t.refused.Add(1)
	} else {
		t.failed.Add(1)
	}
}
