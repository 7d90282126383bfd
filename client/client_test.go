package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// key is a well-formed integration token that does not exist.
const key = "svc_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg3YSfms"

// fake is a service that sends the replies of a list in order and repeats the last.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
}

type reply func(w http.ResponseWriter, r *http.Request)

func serve(t *testing.T, replies ...reply) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		n := len(f.requests)
		f.requests = append(f.requests, r.Clone(context.Background()))
		f.mu.Unlock()
		replies[min(n, len(replies)-1)](w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

func (f *fake) client(t *testing.T, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(f.URL+"/api/v1", key, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func problem(code warranty.Code, header ...string) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/problem+json")
		info := code.Info()
		w.WriteHeader(info.Status)
		fmt.Fprintf(w,
			`{"type":"x","title":%q,"status":%d,"code":%q,"detail":"what and how","request_id":"r-1",`+
				`"errors":[{"field":"page","code":"c","message":"m"}]}`, info.Title, info.Status, code)
	}
}

func body(status int, mediaType, text string) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}
}

const record = `{"data":{"id":"01935b2e-7c4a-7def-8123-456789abcdef","reference_number":"WR-1",` +
	`"product_name":"Kettle","start_date":"2026-01-01","end_date":"2027-01-01","status":"active","roles":["owner"],` +
	`"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}}`

var created = body(201, "application/json", record)

// dropped closes the connection without a response, like a crashing proxy.
func dropped(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	conn.Close()
}

var draft = warranty.CreateWarranty{ProductName: "Kettle", StartDate: warranty.NewDate(2026, 1, 1),
	EndDate: warranty.NewDate(2027, 1, 1)}

// TestRetriesOfWhatIsSafe lists which requests are retried.
func TestRetriesOfWhatIsSafe(t *testing.T) {
	get := func(c *client.Client) error {
		_, err := c.GetWarranty(t.Context(), warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
		return err
	}
	create := func(c *client.Client) error { _, err := c.CreateWarranty(t.Context(), draft); return err }
	keyless := func(c *client.Client) error {
		_, err := client.Call(t.Context(), c, api.CreateWarranty, draft)
		return err
	}
	update := func(c *client.Client) error {
		_, err := c.UpdateWarranty(t.Context(), warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
		return err
	}
	remove := func(c *client.Client) error {
		return c.DeleteWarranty(t.Context(), warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
	}
	html := func(status int) reply { return body(status, "text/html", "<h1>proxy</h1>") }
	for name, test := range map[string]struct {
		call  func(*client.Client) error
		first reply
		again bool
	}{
		"read, service unavailable":           {get, problem(warranty.Unavailable), true},
		"read, response lost":                 {get, dropped, true},
		"read, bad gateway of a proxy":        {get, html(502), true},
		"read, gateway timeout of a proxy":    {get, html(504), true},
		"read, rate limited":                  {get, problem(warranty.RateLimited), true},
		"read, throttled by address":          {get, problem(warranty.IPThrottled), true},
		"read, internal error":                {get, problem(warranty.Internal), false},
		"read, not found":                     {get, problem(warranty.NotFound), false},
		"read, not found by something else":   {get, html(404), false},
		"read, garbage":                       {get, html(200), false},
		"create, unavailable":                 {create, problem(warranty.Unavailable), true},
		"create, response lost":               {create, dropped, true},
		"create, refused":                     {create, problem(warranty.ValidationFailed), false},
		"create without a key, unavailable":   {keyless, problem(warranty.Unavailable), false},
		"create without a key, response lost": {keyless, dropped, false},
		"create without a key, rate limited":  {keyless, problem(warranty.RateLimited), true},
		"update, unavailable":                 {update, problem(warranty.Unavailable), false},
		"update, response lost":               {update, dropped, false},
		"update, rate limited":                {update, problem(warranty.RateLimited), true},
		"delete, response lost":               {remove, dropped, false},
		"delete, bad gateway":                 {remove, html(502), false},
		"delete, rate limited":                {remove, problem(warranty.RateLimited), true},
		"read, credential refused":            {get, problem(warranty.InvalidCredential), false},
		"create, same key and another body":   {create, problem(warranty.IdempotencyKeyReused), false},
		"update, precondition failed":         {update, problem(warranty.PreconditionFailed), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, test.first, created)
			err := test.call(f.client(t))
			want := 1
			if test.again {
				want = 2
			}
			if f.count() != want || (err == nil) != test.again {
				t.Errorf("sent %d times, want %d; error %v", f.count(), want, err)
			}
		})
	}
}

// TestRetriedCreateIsTheSameRequest: a retry cannot create a second record.
func TestRetriedCreateIsTheSameRequest(t *testing.T) {
	var bodies []string
	keep := func(next reply) reply {
		return func(w http.ResponseWriter, r *http.Request) {
			text := make([]byte, 4096)
			n, _ := r.Body.Read(text)
			bodies = append(bodies, r.Header.Get("Idempotency-Key")+" "+string(text[:n]))
			next(w, r)
		}
	}
	f := serve(t, keep(dropped), keep(problem(warranty.Unavailable)), keep(created))
	w, err := f.client(t).CreateWarranty(t.Context(), draft)
	if err != nil || w.ProductName != "Kettle" {
		t.Fatal(w, err)
	}
	if len(bodies) != 3 || bodies[0] != bodies[1] || bodies[1] != bodies[2] || strings.HasPrefix(bodies[0], " ") ||
		!strings.Contains(bodies[0], `"product_name":"Kettle"`) {
		t.Errorf("the attempts differ: %q", bodies)
	}
}

func TestUnsentRequestsAreRepeatedWhateverTheyAre(t *testing.T) {
	f := serve(t, created)
	f.Close() // connections are refused
	attempts := 0
	c := f.client(t, client.WithAttempts(3), client.WithObserver(func(client.Attempt) { attempts++ }))
	err := c.DeleteWarranty(t.Context(), warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
	var network *client.NetworkError
	if attempts != 3 || !errors.As(err, &network) {
		t.Errorf("%d attempts, %v", attempts, err)
	}
}

// offline is a service without a network, so that synctest's clock is the only one.
type offline reply

// RoundTrip implements http.RoundTripper.
func (o offline) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder, answered := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(answered)
		o(recorder, r)
	}()
	select {
	case <-answered:
		return recorder.Result(), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// offlineClient returns a client of a service that sends these replies and repeats the
// last.
func offlineClient(t *testing.T, timeout time.Duration, replies []reply, options ...client.Option) *client.Client {
	t.Helper()
	n := 0
	transport := offline(func(w http.ResponseWriter, r *http.Request) {
		reply := replies[min(n, len(replies)-1)]
		n++
		reply(w, r)
	})
	options = append(options, client.WithHTTPClient(&http.Client{Transport: transport, Timeout: timeout}))
	c, err := client.New("http://service.example/api/v1", key, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for name, header := range map[string]func() string{
		"seconds": func() string { return "7" },
		"date":    func() string { return time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var waited time.Duration
				limited := func(w http.ResponseWriter, r *http.Request) {
					problem(warranty.RateLimited, "Retry-After", header())(w, r)
				}
				c := offlineClient(t, 0, []reply{limited, created},
					client.WithObserver(func(a client.Attempt) { waited += a.Wait }))
				start := time.Now()
				if _, err := c.GetWarranty(t.Context(), warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != 7*time.Second || waited != took {
					t.Errorf("waited %v, reported %v", took, waited)
				}
			})
		})
	}
}

func TestLongerRetryAfterThanPatienceEndsTheCall(t *testing.T) {
	f := serve(t, problem(warranty.RateLimited, "Retry-After", "60"))
	_, err := f.client(t, client.WithMaxWait(5*time.Second)).GetWarranty(t.Context(),
		warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.RetryAfter != time.Minute || f.count() != 1 {
		t.Fatalf("%v after %d requests", err, f.count())
	}
	for _, nonsense := range []string{"soon", "-5", "99999999999999999999", "1e3"} {
		f := serve(t, problem(warranty.RateLimited, "Retry-After", nonsense))
		_, err := f.client(t, client.WithAttempts(1)).GetWarranty(t.Context(), warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
		if !errors.As(err, &refused) || refused.RetryAfter != 0 {
			t.Errorf("Retry-After %q is read as %v", nonsense, refused.RetryAfter)
		}
	}
}

func TestWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		c := offlineClient(t, 0, []reply{problem(warranty.RateLimited, "Retry-After", "30")})
		_, err := c.GetWarranty(ctx, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
		var refused *client.Error
		if time.Since(start) != 5*time.Second || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &refused) {
			t.Errorf("%v: %v", time.Since(start), err)
		}
	})
}

func TestSilenceIsANetworkError(t *testing.T) {
	silence := []reply{func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
	for name, limits := range map[string][2]time.Duration{ // of a request, and of the call
		"by the client timeout": {3 * time.Second, time.Hour},
		"by the context":        {0, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), limits[1])
				defer cancel()
				start := time.Now()
				_, err := offlineClient(t, limits[0], silence, client.WithAttempts(1)).GetWarranty(ctx,
					warranty.GetWarranty{ID: warranty.WarrantyKey{ID: warranty.ID{1}}})
				var network *client.NetworkError
				if !errors.As(err, &network) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
			})
		})
	}
}

func TestTraceparentIsSent(t *testing.T) {
	const mine, other = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, c := range []struct{ option, call, want string }{
		{"", "", ""},
		{mine, "", mine},
		{"", other, other},
		{mine, other, other},
		{mine, "wrong", mine},
		{"wrong", "", ""},
	} {
		ctx := context.Background()
		if c.call != "" {
			ctx = api.WithTraceparent(ctx, c.call)
		}
		_, err := f.client(t, client.WithTraceparent(c.option)).Send(ctx, api.Request{Method: http.MethodGet, Path: "/"})
		if got := f.requests[f.count()-1].Header.Get("Traceparent"); err != nil || got != c.want {
			t.Errorf("option %q, call %q: sent %q, %v", c.option, c.call, got, err)
		}
	}
}
