package web

import (
	"math"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
)

// backupLine says how old the last good backup is, and whether a later one failed.
func (web *Web) backupLine(words view.Reader, b service.BackupStatus) healthLine {
	line := healthLine{"admin.backup", "active", words.Text("admin.backup_never")}
	if !b.LastSuccess.IsZero() {
		line.Text = words.Text("admin.backup_text", web.ago(words, b.LastSuccess), words.Size(b.Bytes),
			int64(math.Ceil(b.Duration.Seconds())), b.Place)
	}
	if b.LostFiles > 0 {
		line.Text += " " + words.Text("admin.backup_lost", b.LostFiles)
		line.Tone = "expiring"
	}
	if b.Overdue(web.Service.Now()) {
		line.Tone = "expiring"
	}
	if b.Failing() {
		line.Text += " " + words.Text("admin.backup_failed", web.ago(words, b.LastFailure), b.Error)
		line.Tone = "expired"
	}
	return line
}

// jobsLine counts jobs.
func (web *Web) jobsLine(words view.Reader, q service.JobQueue) healthLine {
	line := healthLine{"admin.jobs", "active", words.Text("admin.jobs_text", q.Waiting, q.Running, q.Failed)}
	if q.Stuck(web.Service.Now()) {
		line.Text += " " + words.Text("admin.jobs_stuck", web.ago(words, q.Stalled))
		line.Tone = "expired"
	}
	return line
}
