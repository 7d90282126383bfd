package limit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	redisPrefix = "svc:limit:"

	// Patience is the most that a request should wait for Redis.
	Patience = 200 * time.Millisecond

	// probeEvery is how often one request tries a Redis that did not answer. It
	// is above Patience, so that no failure from before a recovery arrives after it.
	probeEvery = time.Second
)

// takeScript counts one request in one round trip. Redis's clock alone opens and
// closes a window, so that all servers agree; a window further away than one
// period, left by a clock that was set back, is brought near without losing its
// count. A key lives to the end of its last millisecond, hence the comparison.
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

// Redis is the Limiter that several servers share. While Redis does not answer,
// each server counts in its own memory: a key can then have the limit once more
// a server and window, and never more than that however often Redis comes and goes.
type Redis struct {
	client   *redis.Client
	script   *redis.Script
	fallback *Memory
	log      *slog.Logger
	now      func() time.Time
	patience time.Duration

	mu      sync.Mutex
	down    bool
	probeAt time.Time
}

// NewRedis returns a Limiter on the Redis at url, which need not be up yet:
// fallback counts whenever it is not, or does not answer within patience.
func NewRedis(url string, fallback *Memory, log *slog.Logger, now func() time.Time, patience time.Duration) (*Redis, error) {
	opt, err := redis.ParseURL(url)
	if err != nil {
		// The parser's own message quotes pieces of the URL, the password's among them.
		return nil, errors.New("the Redis URL is not of the form redis[s]://[user:password@]host[:port][/db] " +
			"(signs such as / ? # % @ in a password have to be percent-encoded)")
	}
	opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout, opt.PoolTimeout = patience, patience, patience, patience
	opt.ContextTimeoutEnabled = true
	opt.MaxRetries, opt.DialerRetries = -1, 1
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	silenceClient()
	return &Redis{
		client:   redis.NewClient(opt),
		script:   redis.NewScript(takeScript),
		fallback: fallback,
		log:      log,
		now:      now,
		patience: patience,
	}, nil
}

// silenceClient stops the client from writing every failed dial to stderr. It
// has one logger a process; Redis logs what matters, once.
var silenceClient = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// Close closes the connections to Redis.
func (r *Redis) Close() error { return r.client.Close() }

// Take implements Limiter.
func (r *Redis) Take(ctx context.Context, key string, limit int, period time.Duration) Window {
	ask, probe := r.ask()
	if !ask {
		return r.fallback.Take(ctx, key, limit, period)
	}
	n, reset, left, err := r.count(ctx, key, period)
	r.heard(ctx, probe, err)
	if err != nil {
		return r.fallback.Take(ctx, key, limit, period)
	}
	return window(int(n), limit, time.UnixMilli(reset), r.now().Add(time.Duration(left)*time.Millisecond))
}

// count runs the script. A caller that hangs up does not end it: the request
// still counts, and an impatient client does not pass for a Redis that is down.
func (r *Redis) count(ctx context.Context, key string, period time.Duration) (n, reset, left int64, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.patience)
	defer cancel()
	got, err := r.script.Run(ctx, r.client, []string{redisPrefix + key}, period.Milliseconds()).Int64Slice()
	if err != nil {
		return 0, 0, 0, err
	}
	return got[0], got[1], got[2], nil
}

// ask says whether a request goes to Redis: each does while it answers, and one
// a second, the probe, while it does not.
func (r *Redis) ask() (ask, probe bool) {
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

// heard notes how Redis answered and logs a change. Only a probe brings Redis
// back: a late answer from before it went down says nothing about now.
func (r *Redis) heard(ctx context.Context, probe bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && !r.down {
		r.down, r.probeAt = true, r.now().Add(probeEvery)
		r.log.WarnContext(ctx, "rate limits: Redis does not answer, counting in memory", "error", err)
	}
	if err == nil && probe && r.down {
		r.down = false
		r.log.InfoContext(ctx, "rate limits: Redis answers again, counting there")
	}
}
