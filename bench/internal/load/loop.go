package load

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Result is the result of Run.
type Result struct {
	Connections int
	Elapsed     time.Duration
	Took        []time.Duration // sorted durations of all requests
}

// Percentile returns the p-th percentile of the durations.
func (r Result) Percentile(p float64) time.Duration {
	if len(r.Took) == 0 {
		return 0
	}
	return r.Took[min(int(float64(len(r.Took))*p/100), len(r.Took)-1)]
}

// responseTimeout is more than any server needs for the slowest page under load.
const responseTimeout = 5 * time.Minute

// Run keeps a number of connections busy: each sends its next call after the response
// to the previous one. After length no more calls are started, but the pending ones are
// completed and counted, so that CPU time and requests match. The first wrong response
// ends the run.
func Run(
	ctx context.Context, addr string, connections int, length time.Duration, next func(*rand.Rand) Call,
) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	took := make([][]time.Duration, connections)
	var wg sync.WaitGroup
	for i := range connections {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(start.UnixNano()))) //nolint:gosec // not a secret
			w := worker{addr: addr, rng: rng}
			err := w.run(ctx, start.Add(length), next)
			took[i] = w.took
			if err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	return Result{Connections: connections, Elapsed: time.Since(start), Took: all}, context.Cause(ctx)
}

// worker is one connection.
type worker struct {
	addr string
	rng  *rand.Rand
	conn net.Conn
	from *bufio.Reader
	out  []byte
	body bytes.Buffer
	took []time.Duration
}

func (w *worker) run(ctx context.Context, end time.Time, next func(*rand.Rand) Call) (err error) {
	if w.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", w.addr); err != nil {
		return err
	}
	defer w.conn.Close()
	defer context.AfterFunc(ctx, func() { w.conn.Close() })() // a canceled worker does not wait for the response
	w.from = bufio.NewReaderSize(w.conn, 1<<16)
	if err := w.conn.SetDeadline(end.Add(responseTimeout)); err != nil {
		return err
	}
	for ctx.Err() == nil && time.Now().Before(end) {
		if err := w.ask(next(w.rng)); err != nil {
			return err
		}
	}
	return nil
}

// ask sends a call and checks the response.
func (w *worker) ask(c Call) error {
	w.out = c.append(w.out[:0], w.addr)
	start := time.Now()
	if _, err := w.conn.Write(w.out); err != nil {
		return err
	}
	resp, err := http.ReadResponse(w.from, nil)
	if err != nil {
		return fmt.Errorf("%s %s: %w", c.Method, c.Path, err)
	}
	w.body.Reset()
	_, err = w.body.ReadFrom(resp.Body)
	if err := cmp.Or(err, resp.Body.Close()); err != nil {
		return err
	}
	w.took = append(w.took, time.Since(start))
	return c.check(resp.StatusCode, w.body.Bytes())
}
