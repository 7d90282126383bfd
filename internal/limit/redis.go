package limit

import (
	"context"
	"crypto/rand"
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

	// replicasKey is where the servers that count in one Redis write themselves down.
	replicasKey = "svc:replicas"

	// registerEvery is how often a server does so. One that has not for three times
	// as long is taken for gone.
	registerEvery = 10 * time.Second
)

// registerScript writes a server down, forgets those that are gone, and counts the rest.
const registerScript = `
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 3 * ARGV[2])
redis.call('EXPIRE', KEYS[1], 3 * ARGV[2])
return redis.call('ZCARD', KEYS[1])`

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

// Redis is the Limiter that several servers share. Each server counts every request
// in its own memory as well. While Redis does not answer, that count decides, against
// the limit divided by the servers that were there last: what they let through in a
// window is the limit when requests are spread evenly, and never more than twice the
// limit however often Redis comes and goes. (A limit below the number of servers is
// one each.)
type Redis struct {
	client         *redis.Client
	take, register *redis.Script
	fallback       *Memory
	log            *slog.Logger
	now            func() time.Time
	patience       time.Duration
	id, replicas   string // this server's name, and the key of all of them

	mu         sync.Mutex
	down       bool
	probeAt    time.Time
	servers    int // that count in this Redis, as far as is known
	registerAt time.Time
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
		take:     redis.NewScript(takeScript),
		register: redis.NewScript(registerScript),
		id:       rand.Text(),
		replicas: replicasKey,
		servers:  1,
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

// Close closes the connections to Redis, and leaves the limit to the other servers.
func (r *Redis) Close() error {
	if ask, _ := r.ask(); ask {
		ctx, cancel := context.WithTimeout(context.Background(), r.patience)
		defer cancel()
		r.client.ZRem(ctx, r.replicas, r.id) // else they notice that it is gone
	}
	return r.client.Close()
}

// Take implements Limiter.
func (r *Redis) Take(ctx context.Context, key string, limit int, period time.Duration) Window {
	mine := r.fallback.Take(ctx, key, r.share(limit), period)
	mine.Limit = limit
	ask, probe := r.ask()
	if !ask {
		return mine
	}
	n, reset, left, err := r.count(ctx, key, period)
	r.heard(ctx, probe, err)
	if err != nil {
		return mine
	}
	r.keepRegistered(ctx)
	return window(int(n), limit, time.UnixMilli(reset), r.now().Add(time.Duration(left)*time.Millisecond))
}

// count runs the script. A caller that hangs up does not end it: the request
// still counts, and an impatient client does not pass for a Redis that is down.
func (r *Redis) count(ctx context.Context, key string, period time.Duration) (n, reset, left int64, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.patience)
	defer cancel()
	got, err := r.take.Run(ctx, r.client, []string{redisPrefix + key}, period.Milliseconds()).Int64Slice()
	if err != nil {
		return 0, 0, 0, err
	}
	return got[0], got[1], got[2], nil
}

// share is this server's part of a limit.
func (r *Redis) share(limit int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit <= 0 {
		return limit
	}
	return max(limit/r.servers, 1)
}

// keepRegistered writes this server down every now and then, and learns how many
// others there are. When that fails, what was known last goes on to hold.
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.patience)
	defer cancel()
	servers, err := r.register.Run(ctx, r.client, []string{r.replicas}, r.id, int(registerEvery.Seconds())).Int()
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers = max(servers, 1)
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
