package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

const jobColumns = `j.id, j.account_id, j.user_id, j.session_id, j.kind, j.state, j.input, j.result, j.done, j.total,
	j.error, j.attempts, j.created_at, j.updated_at, j.ended_at`

func readJob(r *engine.Row) warranty.Job {
	return warranty.Job{
		ID:        r.ID(),
		Account:   r.ID(),
		User:      r.ID(),
		Session:   r.ID(),
		Kind:      r.Text(),
		State:     enum[warranty.JobState](r),
		Input:     r.Text(),
		Result:    r.Text(),
		Done:      r.Int(),
		Total:     r.Int(),
		Error:     r.Text(),
		Attempts:  r.Int(),
		CreatedAt: r.Time(),
		UpdatedAt: r.Time(),
		EndedAt:   r.OptionalTime(),
	}
}

// Job returns a job of an account.
func (s *Store) Job(ctx context.Context, account, id warranty.ID) (j warranty.Job, err error) {
	err = queryRow(ctx, s.db, `SELECT `+jobColumns+` FROM jobs j WHERE j.account_id = $1 AND j.id = $2`,
		func(r *engine.Row) { j = readJob(r) }, account, id)
	return j, err
}

// Jobs returns the newest jobs of an account without their inputs and results, and without jobs of the kind private
// that other people started.
func (s *Store) Jobs(ctx context.Context, account, user warranty.ID, private string, limit int) (list []warranty.Job, err error) {
	err = s.db.Query(ctx, `SELECT j.id, j.account_id, j.user_id, j.session_id, j.kind, j.state, '', '', j.done, j.total,
			j.error, j.attempts, j.created_at, j.updated_at, j.ended_at
		FROM jobs j WHERE j.account_id = $1 AND j.kind <> 'decision' AND (j.kind <> $2 OR j.user_id = $3) ORDER BY j.created_at DESC, j.id DESC LIMIT $4`,
		func(r *engine.Row) error { list = append(list, readJob(r)); return nil }, account, private, user, limit)
	return list, err
}

// JobQueue counts jobs. Waiting are open and no worker has a lease on them. Failed ones are kept for
// warranty.JobLifetime.
type JobQueue struct {
	Waiting, Running, Failed int64
	// Stalled is when the open job that waits longest was started or last made progress; zero without one.
	Stalled time.Time
}

// jobMaxStall is more than the attempts of a failing job take.
const jobMaxStall = 10 * time.Minute

// Stuck reports whether an open job makes no progress.
func (q JobQueue) Stuck(now time.Time) bool {
	return !q.Stalled.IsZero() && now.Sub(q.Stalled) > jobMaxStall
}

// CountJobs counts the jobs of all accounts.
func (s *Store) CountJobs(ctx context.Context, now time.Time) (q JobQueue, err error) {
	err = queryRow(ctx, s.db, `SELECT count(CASE WHEN leased_until <= $1 THEN 1 END),
			count(CASE WHEN leased_until > $1 THEN 1 END), min(updated_at),
			(SELECT count(*) FROM jobs WHERE state = `+jobFailed+`)
		FROM jobs WHERE state IN (`+openJobs+`)`, func(r *engine.Row) {
		q.Waiting, q.Running = r.Int(), r.Int()
		if stalled := r.OptionalTime(); stalled != nil {
			q.Stalled = *stalled
		}
		q.Failed = r.Int()
	}, now)
	return q, err
}

// InsertJob adds a job, for a worker to start.
func (t *Tx) InsertJob(j warranty.Job) error {
	return t.exactlyOne(`INSERT INTO jobs (id, account_id, user_id, session_id, kind, state, input, result, done, total,
			error, attempts, leased_until, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, '', 0, $8, '', 0, 0, $9, $9)`,
		j.ID, j.Account, j.User, j.Session, j.Kind, j.State, j.Input, j.Total, j.CreatedAt)
}

// CountOpenJobs counts the open jobs of a locked account.
func (t *Tx) CountOpenJobs(account warranty.ID) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM jobs WHERE account_id = $1 AND state IN (`+openJobs+`)`,
		func(r *engine.Row) { n = r.Int() }, account)
	return n, err
}

// CountJobsSince counts the jobs of a kind that a locked account started after a time.
func (t *Tx) CountJobsSince(account warranty.ID, kind string, after time.Time) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM jobs WHERE account_id = $1 AND kind = $2 AND created_at > $3`,
		func(r *engine.Row) { n = r.Int() }, account, kind, after)
	return n, err
}

// LockJob returns a job of an account, locked until the transaction ends.
func (t *Tx) LockJob(account, id warranty.ID) (j warranty.Job, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT `+jobColumns+` FROM jobs j WHERE j.account_id = $1 AND j.id = $2 /*pg: FOR UPDATE */`,
		func(r *engine.Row) { j = readJob(r) }, account, id)
	return j, err
}

// RestartJob opens a locked job again, for a person and their session.
func (t *Tx) RestartJob(j warranty.Job, now time.Time) error {
	return t.exactlyOne(`UPDATE jobs SET state = $2, user_id = $3, session_id = $4, done = 0, total = $5, error = '',
		attempts = 0, leased_until = 0, updated_at = $6 WHERE id = $1`, j.ID, j.State, j.User, j.Session, j.Total, now)
}

// waitsForImport selects the jobs j that wait for another import of their account, from which they would create the same
// records: one look-up does not see what another import is about to create. The oldest goes first, so that workers that
// claim jobs at once agree.
const waitsForImport = `j.kind = 'import' AND EXISTS (SELECT 1 FROM jobs o WHERE o.account_id = j.account_id AND o.kind = 'import'
	AND o.id <> j.id AND o.state IN (` + openJobs + `) AND (o.leased_until > $1 OR (o.created_at, o.id) < (j.created_at, j.id)))`

// ClaimJob returns an open job that no worker has a lease on and that need not wait, and gives a worker a lease. It is
// ErrNotFound if there is none.
func (s *Store) ClaimJob(ctx context.Context, worker warranty.ID, now, until time.Time) (j warranty.Job, err error) {
	err = s.Write(ctx, func(t *Tx) error {
		err := queryRow(t.ctx, t.tx, `SELECT `+jobColumns+` FROM jobs j
			WHERE j.state IN (`+openJobs+`) AND j.leased_until <= $1 AND NOT (`+waitsForImport+`)
			ORDER BY j.leased_until, j.id LIMIT 1 /*pg: FOR UPDATE SKIP LOCKED */`,
			func(r *engine.Row) { j = readJob(r) }, now)
		if err != nil {
			return err
		}
		j.Attempts++
		return t.exactlyOne(`UPDATE jobs SET leased_until = $2, leased_by = $3, attempts = attempts + 1 WHERE id = $1`,
			j.ID, until, worker)
	})
	return j, err
}

// SaveJob stores the progress of a job and renews the lease of its worker. It is ErrNotFound if the worker has
// lost the lease. The input is deleted once the job has ended, and when it first ended is kept.
func (s *Store) SaveJob(ctx context.Context, worker warranty.ID, j warranty.Job, now, until time.Time) error {
	var ended *time.Time
	if j.State == warranty.JobDone || j.State == warranty.JobFailed {
		ended = &now
	}
	return s.Write(ctx, func(t *Tx) error {
		n, err := t.exec(`UPDATE jobs SET state = $3, result = $4, done = $5, error = $6, leased_until = $7, updated_at = $8,
				ended_at = COALESCE(ended_at, $9), input = CASE WHEN CAST($9 AS BIGINT) IS NULL THEN input ELSE '' END
			WHERE id = $1 AND leased_by = $2 AND state IN (`+openJobs+`)`,
			j.ID, worker, j.State, j.Result, j.Done, j.Error, until, now, ended)
		if err == nil && n != 1 {
			err = warranty.ErrNotFound
		}
		return err
	})
}

// InsertJobRecord notes that a row of a job created a warranty. It fails with a duplicate if the row created
// one before.
func (t *Tx) InsertJobRecord(job warranty.ID, row int64, id warranty.ID) error {
	return t.later(`INSERT INTO job_records (job_id, row_number, warranty_id) VALUES ($1, $2, $3)`, job, row, id)
}

// JobRecords returns the warranties that a job created, by row.
func (s *Store) JobRecords(ctx context.Context, job warranty.ID) (rows []int64, ids []warranty.ID, err error) {
	err = s.db.Query(ctx, `SELECT row_number, warranty_id FROM job_records WHERE job_id = $1 ORDER BY row_number`,
		func(r *engine.Row) error { rows, ids = append(rows, r.Int()), append(ids, r.ID()); return nil }, job)
	return rows, ids, err
}

// CountJobRecords counts the warranties that a job created.
func (s *Store) CountJobRecords(ctx context.Context, job warranty.ID) (n int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM job_records WHERE job_id = $1`, func(r *engine.Row) { n = r.Int() }, job)
	return n, err
}

// CountJobRecordsLeft counts the warranties that a job created and nobody deleted.
func (s *Store) CountJobRecordsLeft(ctx context.Context, job warranty.ID) (n int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM job_records r JOIN warranties w ON w.id = r.warranty_id
		WHERE r.job_id = $1 AND w.deleted_at IS NULL`, func(r *engine.Row) { n = r.Int() }, job)
	return n, err
}

// SweepJobs deletes closed jobs that were last changed before a time.
func (s *Store) SweepJobs(ctx context.Context, before time.Time) error {
	return s.Write(ctx, func(t *Tx) error {
		const old = `SELECT id FROM jobs WHERE updated_at <= $1 AND state NOT IN (1, 4)`
		if err := t.later(`DELETE FROM job_records WHERE job_id IN (`+old+`)`, before); err != nil {
			return err
		}
		if err := t.later(`DELETE FROM job_changes WHERE job_id IN (`+old+`)`, before); err != nil {
			return err
		}
		return t.later(`DELETE FROM jobs WHERE id IN (`+old+`)`, before)
	})
}
