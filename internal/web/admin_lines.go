package web

import (
	"math"

	"warranty.example/svc/internal/service"
)

// backupLine says how old the last good backup is, and whether a later one failed.
func (web *Web) backupLine(words reader, b service.BackupStatus) healthLine {
	line := healthLine{"admin.backup", "active", words.get("admin.backup_never")}
	if !b.LastSuccess.IsZero() {
		line.Text = words.get("admin.backup_text", web.ago(words, b.LastSuccess), words.size(b.Bytes),
			int64(math.Ceil(b.Duration.Seconds())), b.Place)
	}
	if b.LostFiles > 0 {
		line.Text += " " + words.get("admin.backup_lost", b.LostFiles)
		line.Tone = "expiring"
	}
	if b.Overdue(web.Service.Now()) {
		line.Tone = "expiring"
	}
	if b.Failing() {
		line.Text += " " + words.get("admin.backup_failed", web.ago(words, b.LastFailure), b.Error)
		line.Tone = "expired"
	}
	return line
}

// jobsLine counts jobs.
func (web *Web) jobsLine(words reader, q service.JobQueue) healthLine {
	line := healthLine{"admin.jobs", "active", words.get("admin.jobs_text", q.Waiting, q.Running, q.Failed)}
	if q.Stuck(web.Service.Now()) {
		line.Text += " " + words.get("admin.jobs_stuck", web.ago(words, q.Stalled))
		line.Tone = "expired"
	}
	return line
}
