package server_test

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// TestWaitingWorkAndBackupsAreInTheMetrics: emails that failed for good, jobs, and the age of the last good backup,
// which any process may have made. Never is 0.
func TestWaitingWorkAndBackupsAreInTheMetrics(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		ctx := context.Background()
		w.Server.Metrics = server.NewMetrics("test")
		w.Server.Metrics.WatchWork(w.Server)
		metrics := func() string {
			answer := httptest.NewRecorder()
			w.Server.Metrics.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
			return answer.Body.String()
		}
		says := func(lines ...string) {
			t.Helper()
			text := metrics()
			for _, line := range lines {
				if !strings.Contains(text, "\n"+line+"\n") {
					found := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(strings.FieldsFunc(line, func(r rune) bool { return r == '{' || r == ' ' })[0])+`.*`).FindAllString(text, -1)
					t.Errorf("no %s in %v", line, found)
				}
			}
		}
		says(`svc_backup_last_success_timestamp_seconds 0`, `svc_backup_failures_total 0`, `svc_jobs_oldest_seconds 0`,
			`svc_mail_queue{state="failed"} 0`, `svc_mail_failed_total 0`, `svc_jobs_failed_total{reason="error"} 0`)

		at := time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC)
		if err := w.Store.RecordBackupFailure(ctx, "the disk is full", at.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		err := w.Store.RecordBackup(ctx, store.BackupStatus{LastSuccess: at, Duration: 1500 * time.Millisecond, Bytes: 4096, LostFiles: 2})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Store.Write(ctx, func(tx *store.Tx) error {
			for range 3 {
				if err := tx.InsertMail(store.Mail{ID: w.Service.NewID(), To: "a@people.example"}); err != nil {
					return err
				}
			}
			return tx.InsertJob(warranty.Job{ID: w.Service.NewID(), Kind: "x", State: warranty.JobRunning, CreatedAt: w.Clock.Now().Add(-time.Hour)})
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Exec(`UPDATE mails SET claimed_until = 253402214400000000, failed_at = 1 WHERE id = (SELECT id FROM mails LIMIT 1)`)
		says(`svc_backup_last_success_timestamp_seconds 1.793502e+09`, `svc_backup_last_failure_timestamp_seconds 1.7934984e+09`,
			`svc_backup_failures_total 1`, `svc_backup_last_duration_seconds 1.5`, `svc_backup_last_size_bytes 4096`, `svc_backup_last_lost_files 2`,
			`svc_mail_queue{state="waiting"} 2`, `svc_mail_queue{state="retrying"} 0`, `svc_mail_queue{state="failed"} 1`,
			`svc_jobs{state="waiting"} 1`, `svc_jobs{state="running"} 0`, `svc_jobs{state="failed"} 0`)
		if !regexp.MustCompile(`(?m)^svc_jobs_oldest_seconds 3[67]\d\d`).MatchString(metrics()) {
			t.Error("the oldest job does not wait for an hour")
		}
	})
}
