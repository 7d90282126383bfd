package server

import (
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
)

const (
	// slowAfter is the time from which a request is logged as slow, without the time that the client took to send
	// its body and to receive the response. Forms wait for a change of many records for 2 seconds.
	slowAfter = 3 * time.Second
	// slowLines bounds the lines in a minute.
	slowLines = 30
)

// slowLog bounds the lines about slow requests.
type slowLog struct {
	mu             sync.Mutex
	since          time.Time
	lines, skipped int
}

// admit reports whether a line may be logged, and how many were skipped before it.
func (l *slowLog) admit(now time.Time) (skipped int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since).Abs() > time.Minute {
		l.since, l.lines = now, 0
	}
	if l.lines >= slowLines {
		l.skipped++
		return 0, false
	}
	l.lines++
	skipped, l.skipped = l.skipped, 0
	return skipped, true
}

// timedBody counts the time that reading takes.
type timedBody struct {
	io.ReadCloser
	took atomic.Int64
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	start := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.took.Add(int64(time.Since(start)))
	return n, err
}

// logSlow logs a request that took long, and where the time went.
func (s *Server) logSlow(
	r *http.Request, caller *api.Caller, rec *recorder, database *service.DatabaseTiming, body *timedBody, took time.Duration,
) {
	took -= time.Duration(body.took.Load()) + rec.sending
	if took < slowAfter {
		return
	}
	skipped, ok := s.slow.admit(time.Now())
	if !ok {
		return
	}
	ms := func(d time.Duration) int64 { return d.Milliseconds() }
	attrs := []slog.Attr{
		slog.String("request_id", caller.RequestID),
		slog.String("method", r.Method),
		slog.String("route", routeOf(r)),
		slog.Int("status", rec.outcome()),
		slog.Int64("ms", ms(took)),
		slog.String("reason", slowReason(took, database.Total(), database.Waited())),
		slog.Int64("database_ms", ms(database.Total())),
		slog.Int64("database_wait_ms", ms(database.Waited())),
		slog.Int64("writes_pending", s.Service.Store.Stats().Writes),
	}
	if skipped > 0 {
		attrs = append(attrs, slog.Int("not_logged", skipped))
	}
	s.Log.LogAttrs(r.Context(), slog.LevelWarn, "slow request", attrs...)
}

// slowReason names where most of the time went.
func slowReason(took, database, waited time.Duration) string {
	switch {
	case database < took/2:
		return "outside the database: files, password hashing or a busy machine"
	case waited > database/2:
		return "waiting for a database connection, or for other writes"
	}
	return "in the database: slow statements, locks or its disk"
}
