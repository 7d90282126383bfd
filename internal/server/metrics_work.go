package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// watchWork exports what waits in the database, what this process gave up on, and the state of the backups.
func (m *Metrics) watchWork(s *Server) {
	m.registry.MustRegister(stored{s})
	m.counter("svc_mail_failed_total", "Emails that this process gave up on.", nil, s.Service.MailsGivenUp)
	const ended = "Jobs that this process ended because of errors, or because of their account (refused)."
	m.counter("svc_jobs_failed_total", ended, prometheus.Labels{"reason": "error"}, s.Jobs.Failed)
	m.counter("svc_jobs_failed_total", ended, prometheus.Labels{"reason": "refused"}, s.Jobs.Refused)
}

func (m *Metrics) counter(name, help string, labels prometheus.Labels, value func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
		func() float64 { return float64(value()) }))
}

// stored reads what the database knows when the metrics are read. It is the same on all replicas. While the
// database is unavailable, these metrics are absent.
type stored struct{ server *Server }

var (
	queuedMails = prometheus.NewDesc("svc_mail_queue",
		"Emails in the outbox: waiting, failed at least once (retrying), or failed for good and kept (failed).",
		[]string{"state"}, nil)
	queuedJobs = prometheus.NewDesc("svc_jobs",
		"Jobs: waiting, running, or failed and kept.", []string{"state"}, nil)
	stalledJob = prometheus.NewDesc("svc_jobs_oldest_seconds",
		"Time since the open job that waits longest was started or last made progress; 0 without one.", nil, nil)
	backupSuccess = prometheus.NewDesc("svc_backup_last_success_timestamp_seconds",
		"When the last good backup was completed; 0 if there was none.", nil, nil)
	backupFailure = prometheus.NewDesc("svc_backup_last_failure_timestamp_seconds",
		"When a backup last failed; 0 if none did.", nil, nil)
	backupFailures = prometheus.NewDesc("svc_backup_failures_total", "Backups that failed.", nil, nil)
	backupDuration = prometheus.NewDesc("svc_backup_last_duration_seconds", "Time that the last good backup took.", nil, nil)
	backupSize     = prometheus.NewDesc("svc_backup_last_size_bytes", "Size of the last good backup.", nil, nil)
	backupLost     = prometheus.NewDesc("svc_backup_last_lost_files",
		"Files of documents that were missing or damaged when the last good backup was made.", nil, nil)
)

// Describe implements prometheus.Collector.
func (stored) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queuedMails, queuedJobs, stalledJob, backupSuccess, backupFailure,
		backupFailures, backupDuration, backupSize, backupLost} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (q stored) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	store, now := q.server.Service.Store, q.server.Service.Now()
	if mails, err := store.CountMailQueue(ctx); err == nil {
		gauge(queuedMails, float64(mails.Waiting-mails.Retrying), "waiting")
		gauge(queuedMails, float64(mails.Retrying), "retrying")
		gauge(queuedMails, float64(mails.Failed), "failed")
	}
	if jobs, err := store.CountJobs(ctx, now); err == nil {
		gauge(queuedJobs, float64(jobs.Waiting), "waiting")
		gauge(queuedJobs, float64(jobs.Running), "running")
		gauge(queuedJobs, float64(jobs.Failed), "failed")
		stalled := 0.0
		if !jobs.Stalled.IsZero() {
			stalled = max(0, now.Sub(jobs.Stalled).Seconds())
		}
		gauge(stalledJob, stalled)
	}
	if b, err := store.BackupStatus(ctx); err == nil {
		gauge(backupSuccess, unix(b.LastSuccess))
		gauge(backupFailure, unix(b.LastFailure))
		gauge(backupDuration, b.Duration.Seconds())
		gauge(backupSize, float64(b.Bytes))
		gauge(backupLost, float64(b.LostFiles))
		to <- prometheus.MustNewConstMetric(backupFailures, prometheus.CounterValue, float64(b.Failures))
	}
}
