package warranty

import "time"

// JobState is how far a job is.
type JobState string

// The states of a job. They are stored by position.
const (
	JobRunning JobState = "running"
	JobDone    JobState = "done"
	JobFailed  JobState = "failed"
	JobUndoing JobState = "undoing"
	JobUndone  JobState = "undone"
)

var jobStateNames = namesOf(JobRunning, JobDone, JobFailed, JobUndoing, JobUndone)

// Values lists the known states.
func (JobState) Values() []string { return jobStateNames }

// String returns the state's name.
func (s JobState) String() string { return string(s) }

// Open reports whether a worker has to work on the job.
func (s JobState) Open() bool { return s == JobRunning || s == JobUndoing }

// Limits of jobs.
const (
	MaxJobs    = 20 // that an account has open at a time
	MaxExports = 20 // that an account starts as jobs in 24 hours, because their files are kept that long
	// JobLifetime is how long a job is kept.
	JobLifetime = 30 * 24 * time.Hour
)

// Job is work that outlives the request that started it. Input and Result are of its kind.
type Job struct {
	ID        ID
	Kind      string
	State     JobState
	Input     string
	Result    string
	Done      int64 // of Total
	Total     int64
	Error     string // why it failed, or why undoing it stopped, as a stored Text
	Attempts  int64
	CreatedAt time.Time
	UpdatedAt time.Time
	EndedAt   *time.Time // when it was done or failed, also after it was undone

	Account, User, Session ID
}

// UndoStopped reports whether undoing the job stopped before its end. It can be started again.
func (j Job) UndoStopped() bool { return j.State == JobDone && j.Error != "" }
