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

// Result is what one stretch of load gave.
type Result struct {
	Connections int
	Elapsed     time.Duration
	Took        []time.Duration // of every request, the shortest first
}

// Percentile is the time that p of a hundred requests took at most.
func (r Result) Percentile(p float64) time.Duration {
	if len(r.Took) == 0 {
		return 0
	}
	return r.Took[min(int(float64(len(r.Took))*p/100), len(r.Took)-1)]
}

// answerLimit is more than any server here takes for the heaviest page under load.
const answerLimit = 5 * time.Minute

// Run keeps a number of connections busy: each sends its next call when the
// answer to the last one is there. After the time no call is begun any more, but
// those under way are waited for and counted, so that work and requests belong
// together. The first wrong answer ends it.
func Run(ctx context.Context, addr string, connections int, length time.Duration, next func(*rand.Rand) Call) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	took := make([][]time.Duration, connections)
	var wg sync.WaitGroup
	for i := range connections {
		wg.Go(func() {
			w := worker{addr: addr, dice: rand.New(rand.NewPCG(uint64(i), uint64(start.UnixNano())))} //nolint:gosec // whom to ask is no secret
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
	dice *rand.Rand
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
	defer context.AfterFunc(ctx, func() { w.conn.Close() })() // who is told to stop waits for no answer
	w.from = bufio.NewReaderSize(w.conn, 1<<16)
	if err := w.conn.SetDeadline(end.Add(answerLimit)); err != nil {
		return err
	}
	for ctx.Err() == nil && time.Now().Before(end) {
		if err := w.ask(next(w.dice)); err != nil {
			return err
		}
	}
	return nil
}

// ask sends one call and reads its answer.
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
