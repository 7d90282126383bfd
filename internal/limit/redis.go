package limit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"warranty.example/svc/internal/netaddr"
)

const (
	redisPrefix = "svc:limit:"

	// RedisTimeout is how long a request waits for Redis.
	RedisTimeout = 200 * time.Millisecond

	// probeEvery is how often a request probes Redis while it is down. It is longer
	// than RedisTimeout, so that no failure from before a recovery arrives after it.
	probeEvery = time.Second

	// replicasKey is the sorted set of servers that share a Redis.
	replicasKey = "svc:replicas"

	// registerEvery is how often a server registers itself. After three times as long
	// it is considered gone.
	registerEvery = 10 * time.Second
)

// registerScript registers a server, removes those that are gone and returns the
// number of servers.
const registerScript = `
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 3 * ARGV[2])
redis.call('EXPIRE', KEYS[1], 3 * ARGV[2])
return redis.call('ZCARD', KEYS[1])`

// takeScript counts one request in one round trip. It uses Redis's clock, so that all
// servers agree. If that clock was set back, a window that ends more than one period
// ahead is shortened and keeps its count. A key lives to the end of its last
// millisecond, hence the comparison.
const takeScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = now + ARGV[1]
local reset = tonumber(redis.call('HGET', KEYS[1], 'r') or 0)
if reset <= now then redis.call('DEL', KEYS[1]) end
local n = redis.call('HINCRBY', KEYS[1], 'n', 1)
if reset <= now or reset > last then
  reset = last
  redis.call('HSET', KEYS[1], 'r', reset)
  redis.call('PEXPIREAT', KEYS[1], reset)
end
return {n, reset, reset - now}`

// Redis is a Limiter shared by several servers. Each server also counts every request
// in memory. While Redis is down, that count is checked against the limit divided by
// the last known number of servers, but at least 1. Together the servers then allow
// the limit if requests are spread evenly, and never more than twice the limit per
// window, however often Redis fails.
type Redis struct {
	client         *redis.Client
	take, register *redis.Script
	fallback       *Memory
	log            *slog.Logger
	now            func() time.Time
	timeout        time.Duration
	id, replicas   string // this server's id, and the key of the set of servers

	mu         sync.Mutex
	down       bool
	probeAt    time.Time
	servers    int // last known number of servers
	registerAt time.Time
}

// RedisServer is a parsed Redis URL.
type RedisServer struct{ options redis.Options }

// Ping checks that the server answers.
func (s *RedisServer) Ping(ctx context.Context) error {
	silenceClient()
	options := s.options
	client := redis.NewClient(&options)
	return errors.Join(client.Ping(ctx).Err(), client.Close())
}

// ParseRedis parses redis[s]://[user:password@]host[:port][/db]. Errors never contain the
// URL.
func ParseRedis(url string) (*RedisServer, error) {
	u, err := netaddr.ParseURL(url, "redis", "rediss")
	if err != nil {
		return nil, err
	}
	if number := strings.Trim(u.Path, "/"); number != "" {
		if _, err := strconv.ParseUint(number, 10, 16); err != nil {
			return nil, errors.New("must end with a database number, such as /0, or with nothing")
		}
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("is not a valid Redis URL; check the parameters after the ?")
	}
	return &RedisServer{options: *options}, nil
}

// String returns the URL without user and password.
func (s *RedisServer) String() string {
	scheme := "redis"
	if s.options.TLSConfig != nil {
		scheme = "rediss"
	}
	return fmt.Sprintf("%s://%s/%d", scheme, s.options.Addr, s.options.DB)
}

// GoString is String, for %#v.
func (s *RedisServer) GoString() string { return s.String() }

// NewRedis returns a Limiter that uses a Redis, which need not be running yet. fallback is
// used while Redis is down or does not answer within timeout.
func NewRedis(
	server *RedisServer, fallback *Memory, log *slog.Logger, now func() time.Time, timeout time.Duration,
) *Redis {
	opt := server.options
	opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout, opt.PoolTimeout = timeout, timeout, timeout, timeout
	opt.ContextTimeoutEnabled = true
	opt.MaxRetries, opt.DialerRetries = -1, 1
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	silenceClient()
	return &Redis{
		client:   redis.NewClient(&opt),
		take:     redis.NewScript(takeScript),
		register: redis.NewScript(registerScript),
		id:       rand.Text(),
		replicas: replicasKey,
		servers:  1,
		fallback: fallback,
		log:      log,
		now:      now,
		timeout:  timeout,
	}
}

// silenceClient stops the client library from printing every failed dial to stderr.
// Its logger is global. Redis logs outages itself.
var silenceClient = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// Close unregisters this server and closes the connections to Redis.
func (r *Redis) Close() error {
	if ask, _ := r.useRedis(); ask {
		ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
		defer cancel()
		r.client.ZRem(ctx, r.replicas, r.id) // if this fails, the registration expires
	}
	return r.client.Close()
}

// Take implements Limiter.
func (r *Redis) Take(ctx context.Context, key string, limit int, period time.Duration) Window {
	mine := r.fallback.Take(ctx, key, r.share(limit), period)
	mine.Limit = limit
	ask, probe := r.useRedis()
	if !ask {
		return mine
	}
	n, reset, left, err := r.count(ctx, key, period)
	r.setResult(ctx, probe, err)
	if err != nil {
		return mine
	}
	r.keepRegistered(ctx)
	return window(int(n), limit, time.UnixMilli(reset), r.now().Add(time.Duration(left)*time.Millisecond))
}

// count runs takeScript. It ignores cancellation, so that requests of clients that
// hang up are counted and do not look like an outage of Redis.
func (r *Redis) count(ctx context.Context, key string, period time.Duration) (n, reset, left int64, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	got, err := r.take.Run(ctx, r.client, []string{redisPrefix + key}, period.Milliseconds()).Int64Slice()
	if err != nil {
		return 0, 0, 0, err
	}
	return got[0], got[1], got[2], nil
}

// share returns this server's part of a limit.
func (r *Redis) share(limit int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit <= 0 {
		return limit
	}
	return max(limit/r.servers, 1)
}

// keepRegistered registers this server every registerEvery and updates the number of
// servers. If that fails, the last known number stays.
func (r *Redis) keepRegistered(ctx context.Context) {
	r.mu.Lock()
	due := !r.now().Before(r.registerAt)
	if due {
		r.registerAt = r.now().Add(registerEvery)
	}
	r.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	servers, err := r.register.Run(ctx, r.client, []string{r.replicas}, r.id, int(registerEvery.Seconds())).Int()
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers = max(servers, 1)
}

// Up reports whether Redis answered last.
func (r *Redis) Up() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.down
}

// useRedis reports whether to send a request to Redis: every request while it is up,
// one probe per second while it is down.
func (r *Redis) useRedis() (use, probe bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.down {
		return true, false
	}
	now := r.now()
	if now.Before(r.probeAt) {
		return false, false
	}
	r.probeAt = now.Add(probeEvery)
	return true, true
}

// setResult records whether Redis answered and logs changes. Only a probe marks Redis
// as up: other answers may date from before it went down.
func (r *Redis) setResult(ctx context.Context, probe bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && !r.down {
		r.down, r.probeAt = true, r.now().Add(probeEvery)
		r.log.WarnContext(ctx, "rate limits: Redis is unavailable, counting in memory", "error", err)
	}
	if err == nil && probe && r.down {
		r.down = false
		r.log.InfoContext(ctx, "rate limits: Redis is available again")
	}
}

// Status reports whether Redis answers, and the last known number of servers that share it.
func (r *Redis) Status() (up bool, servers int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.down, r.servers
}
