package warranty

import "time"

// Limits of what the admin page keeps.
const (
	ServerErrorLifetime = 30 * 24 * time.Hour
	MaxServerErrors     = 10_000
	MaxErrorText        = 2000
	FailedMailLifetime  = 30 * 24 * time.Hour
)

// ServerError is a request that failed because of the server, or a failed background task.
type ServerError struct {
	ID        ID
	At        time.Time
	Replica   string // host name
	RequestID string // empty for a background task
	Source    string // method and route, or the task
	Status    int    // 0 for a background task
	UserID    ID     // zero if nobody was signed in
	Message   string
}

// QueuedMail is an email in the outbox without its text, which may contain a code.
type QueuedMail struct {
	ID       ID
	To       string
	Subject  string
	Attempts int
	Error    string // of the last attempt
	// NextTry is zero if the email has failed for good.
	NextTry time.Time
	// FailedAt is when the service gave up; nil while the email is waiting.
	FailedAt *time.Time
	Sending  bool // an attempt is in progress
	// Expired means that the code in the email no longer works, so it cannot be sent.
	Expired bool
}
