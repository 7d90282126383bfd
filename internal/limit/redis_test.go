package limit

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"warranty.example/svc/internal/testenv"
)

// unavailable skips a test that lacks a dependency, or fails it where all tests must
// run.
func unavailable(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// logBuffer collects log lines from several goroutines.
type logBuffer struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.String()
}

func (b *logBuffer) lines() int { return strings.Count(b.String(), "\n") }

func parseRedis(t testing.TB, url string) *RedisServer {
	t.Helper()
	server, err := ParseRedis(url)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// openRedis returns a limiter with a timeout long enough for a busy machine, so that
// tests do not fall back to memory because the scheduler was late.
func openRedis(t *testing.T, url string, now func() time.Time) (*Redis, *logBuffer) {
	t.Helper()
	logged := new(logBuffer)
	r := NewRedis(parseRedis(t, url), NewMemory(now), slog.New(slog.NewTextHandler(logged, nil)), now, testenv.Patience)
	t.Cleanup(func() { _ = r.Close() })
	return r, logged
}

func TestRedisIsExactAcrossServers(t *testing.T) {
	url := testenv.Redis(t)
	var servers []Limiter
	var logs []*logBuffer
	for range 3 {
		r, logged := openRedis(t, url, time.Now)
		servers, logs = append(servers, r), append(logs, logged)
	}
	for round := range 20 {
		if got := allowed(t, "test:"+rand.Text(), 100, 300, servers...); got != 100 {
			t.Errorf("round %d: %d of 300 passed, want 100", round, got)
		}
	}
	for _, logged := range logs {
		if logged.lines() != 0 {
			t.Errorf("logged: %s", logged)
		}
	}
}

// redisTime returns the time of Redis's own clock, which tests cannot change.
func redisTime(t *testing.T, r *Redis) time.Time {
	t.Helper()
	now, err := r.client.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func TestRedisCountsDownAndResets(t *testing.T) {
	c := newClock()
	r, logged := openRedis(t, testenv.Redis(t), c.now)
	const period = time.Hour // too long to end during the test
	key := "test:" + rand.Text()
	next := func() Window { return r.Take(context.Background(), key, 3, period) }
	first := next()
	if !first.Until.Equal(c.now().Add(period)) {
		t.Errorf("the window closes at %v, want %v from %v", first.Until, period, c.now())
	}
	for want := 2; want >= -2; want-- {
		w := first
		if want < 2 {
			w = next()
		}
		if w.Allowed != (want >= 0) || w.Remaining != max(want, 0) || w.Limit != 3 || !w.Reset.Equal(first.Reset) {
			t.Errorf("want %d remaining: %+v", want, w)
		}
	}
	r.client.HSet(t.Context(), redisPrefix+key, "r", redisTime(t, r).UnixMilli()) // the window ends now
	if w := next(); !w.Allowed || w.Remaining != 2 || !w.Until.Equal(c.now().Add(period)) ||
		w.Reset.Before(first.Reset) {
		t.Errorf("after the reset: %+v, before it %+v", w, first)
	}
	if ttl := r.client.PTTL(t.Context(), redisPrefix+key).Val(); ttl <= 0 || ttl > period {
		t.Errorf("the key lives for another %v", ttl)
	}
	if logged.lines() != 0 {
		t.Errorf("logged: %s", logged)
	}
}

// A Redis clock that was set back leaves a window far ahead.
func TestRedisWindowFromTheFuture(t *testing.T) {
	c := newClock()
	r, _ := openRedis(t, testenv.Redis(t), c.now)
	key := "test:" + rand.Text()
	ahead := redisTime(t, r).Add(time.Hour)
	r.client.HSet(t.Context(), redisPrefix+key, "n", 100, "r", ahead.UnixMilli())
	r.client.PExpireAt(t.Context(), redisPrefix+key, ahead)
	if w := take(r, key, 100); w.Allowed || !w.Until.Equal(c.now().Add(time.Minute)) {
		t.Errorf("%+v, want refused until %v", w, c.now().Add(time.Minute))
	}
	if ttl := r.client.PTTL(t.Context(), redisPrefix+key).Val(); ttl > time.Minute {
		t.Errorf("the key lives for another %v", ttl)
	}
}

// A window is over in the millisecond of its reset, while its key still exists.
func TestRedisWindowThatIsOver(t *testing.T) {
	r, _ := openRedis(t, testenv.Redis(t), time.Now)
	key := "test:" + rand.Text()
	r.client.HSet(t.Context(), redisPrefix+key, "n", 100, "r", redisTime(t, r).UnixMilli())
	if w := take(r, key, 100); !w.Allowed || w.Remaining != 99 {
		t.Errorf("%+v", w)
	}
	if ttl := r.client.PTTL(t.Context(), redisPrefix+key).Val(); ttl <= 0 {
		t.Error("the key lives for ever")
	}
}

func TestRedisCountsRequestsThatHungUp(t *testing.T) {
	r, logged := openRedis(t, testenv.Redis(t), time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	key := "test:" + rand.Text()
	r.Take(ctx, key, 10, time.Minute)
	if w := take(r, key, 10); w.Remaining != 8 || logged.lines() != 0 {
		t.Errorf("%+v, logged: %s", w, logged)
	}
}

func TestRedisURLErrorsHideThePassword(t *testing.T) {
	for _, url := range []string{
		"redis://user:hunter2@host:port", "redis://:hunter2/x@host", "redis://:hunter2%zz@host:6379", "redis://:hunter2 @host",
		"redis://host/hunter2", "http://:hunter2@host", "redis://host:6379/0?hunter2=1", "hunter2", "",
	} {
		_, err := ParseRedis(url)
		if err == nil {
			t.Errorf("%q: accepted", url)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// startRedis starts a Redis on a loopback port and returns how to kill it.
func startRedis(t *testing.T, addr string) (kill func()) {
	t.Helper()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		unavailable(t, "no redis-server to start: "+err.Error())
	}
	kill = sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	t.Cleanup(kill)
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	testenv.Wait(t, "redis-server answers on "+addr, func() bool { return client.Ping(t.Context()).Err() == nil })
	return kill
}

func TestRedisDownAndBack(t *testing.T) {
	addr, c := testenv.FreeAddress(t), newClock()
	kill := startRedis(t, addr)
	r, logged := openRedis(t, "redis://"+addr, c.now)
	if got := allowed(t, "token:a", 100, 60, r); got != 60 || logged.lines() != 0 {
		t.Fatalf("%d of 60 passed, logged: %s", got, logged)
	}

	kill()
	if got := allowed(t, "token:b", 100, 300, r); got != 100 {
		t.Errorf("without Redis: %d of 300 passed, want 100", got)
	}
	if logged.lines() != 1 || !strings.Contains(logged.String(), "level=WARN") {
		t.Errorf("want one line that Redis is down, got: %s", logged)
	}
	for range 5 { // failed probes log nothing more
		c.advance(probeEvery)
		take(r, "token:b", 100)
	}
	if logged.lines() != 1 {
		t.Errorf("logged again while down: %s", logged)
	}

	startRedis(t, addr)
	if take(r, "token:b", 100).Allowed {
		t.Error("Redis was asked before the next probe")
	}
	testenv.Wait(t, "a probe finds Redis again", func() bool {
		c.advance(probeEvery)
		take(r, "token:probe", 100)
		return logged.lines() > 1
	})
	if logged.lines() != 2 || !strings.Contains(logged.String(), "level=INFO") {
		t.Errorf("want one more line that Redis is back, got: %s", logged)
	}
	if got := allowed(t, "token:c", 100, 300, r); got != 100 {
		t.Errorf("with Redis back: %d of 300 passed, want 100", got)
	}
	if n := r.client.HGet(t.Context(), redisPrefix+"token:c", "n").Val(); n != "300" || logged.lines() != 2 {
		t.Errorf("Redis counted %s of 300, logged: %s", n, logged)
	}
}

// deaf is a Redis that accepts connections and never answers.
func deaf(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
		}
	}()
	return l.Addr().String()
}

// questions counts how often the limiter queries Redis, regardless of the driver's
// connections and greetings.
type questions struct{ atomic.Int64 }

func (*questions) DialHook(next redis.DialHook) redis.DialHook { return next }
func (*questions) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (q *questions) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			q.Add(1)
		}
		return next(ctx, cmd)
	}
}

// TestRedisSlowIsNotWaitedForTwice: after one request times out, no request waits until
// the next probe, and only one of many concurrent requests is the probe (D12: it used
// to count connections).
func TestRedisSlowIsNotWaitedForTwice(t *testing.T) {
	c, logged, asked := newClock(), new(logBuffer), new(questions)
	server := parseRedis(t, "redis://:hunter2@"+deaf(t))
	r := NewRedis(server, NewMemory(c.now), slog.New(slog.NewTextHandler(logged, nil)), c.now, 20*time.Millisecond)
	defer func() { _ = r.Close() }()
	r.client.AddHook(asked)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		take(r, "token:a", 100)
	}()
	testenv.Receive(t, "a request is answered though Redis is not", answered)
	for probes := range int64(3) {
		for range 1000 {
			take(r, "token:a", 100)
		}
		if got := asked.Load(); got != probes+1 {
			t.Fatalf("Redis was asked %d times after %d probes", got, probes)
		}
		c.advance(probeEvery)
		allowed(t, "token:"+rand.Text(), 10, 20, r) // one of them is the probe
	}
	if logged.lines() != 1 || strings.Contains(logged.String(), "hunter2") {
		t.Errorf("logged: %s", logged)
	}
}

func TestRedisIsNotBackForALateAnswer(t *testing.T) {
	r, logged := openRedis(t, "redis://"+testenv.FreeAddress(t), newClock().now)
	r.setResult(t.Context(), false, context.DeadlineExceeded)
	r.setResult(t.Context(), false, nil) // sent before Redis went down
	if ask, _ := r.useRedis(); ask || logged.lines() != 1 {
		t.Errorf("asked: %v, logged: %s", ask, logged)
	}
}

func BenchmarkRedis(b *testing.B) {
	url := os.Getenv("SVC_TEST_REDIS")
	if url == "" {
		b.Skip("SVC_TEST_REDIS is not set")
	}
	r := NewRedis(parseRedis(b, url), NewMemory(time.Now), slog.New(slog.DiscardHandler), time.Now, RedisTimeout)
	defer func() { _ = r.Close() }()
	key := "test:" + rand.Text()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			take(r, key, 100)
		}
	})
}
