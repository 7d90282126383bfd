package server_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"       // for direct connections to PostgreSQL
	_ "github.com/ncruces/go-sqlite3/driver" // for direct connections to SQLite

	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

type (
	request = servertest.Request
	answer  = servertest.Answer
	option  = func(*server.Server)
	fields  = map[string]any
)

// world is a service with a second, direct connection to its database.
type world struct {
	*servertest.World
	db *sql.DB
}

var databases = []struct {
	name string
	open func(testing.TB) string
}{{"sqlite", servertest.SQLite}, {"postgres", testenv.Postgres}}

// each runs a test on both databases in parallel.
func each(t *testing.T, test func(t *testing.T, w *world), options ...option) {
	t.Helper()
	t.Parallel()
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, database.open(t), options...))
		})
	}
}

// eachStopped is each with a clock that only moves when the test sets it.
func eachStopped(t *testing.T, test func(t *testing.T, w *world, clock *stoppedClock), options ...option) {
	t.Helper()
	t.Parallel()
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			clock := &stoppedClock{at: time.Now().UTC().Truncate(time.Second)}
			test(t, newWorld(t, database.open(t), append(options, clock.drive)...), clock)
		})
	}
}

// eachReplicas runs a test on one server on SQLite, and on three on one PostgreSQL database.
func eachReplicas(t *testing.T, test func(t *testing.T, worlds []*world), options ...option) {
	t.Helper()
	t.Parallel()
	for i, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			address := database.open(t)
			var worlds []*world
			for range 1 + 2*i {
				worlds = append(worlds, newWorld(t, address, options...))
			}
			test(t, worlds)
		})
	}
}

// newWorld serves a database. At the end of every test the log must contain no secret
// and no password, and no response may contain a secret except one that creates it.
func newWorld(t *testing.T, database string, options ...option) *world {
	t.Helper()
	w := &world{World: servertest.New(t, database, options...), db: direct(t, database)}
	w.Client.Transport = secretsWatch{t, w.Client.Transport}
	t.Cleanup(func() {
		if found := wholeSecret.FindString(w.Log.String()); found != "" {
			t.Errorf("the log contains the secret %s", found)
		}
		if strings.Contains(w.Log.String(), servertest.Password) || strings.Contains(w.Log.String(), passwordCanary) {
			t.Error("the log contains a password")
		}
	})
	return w
}

// passwordCanary is part of every password in tests.
const passwordCanary = "canary in the coal mine"

// wholeSecret matches more of a secret than the prefix that identifies tokens.
var wholeSecret = regexp.MustCompile(`sv[cs]_[0-9A-Za-z]{12,}`)

// secretsWatch fails a test when a response contains a secret, unless it creates one.
type secretsWatch struct {
	t    testing.TB
	base http.RoundTripper
}

var makesSecret = regexp.MustCompile(`^POST /api/(integration-tokens|integration-tokens/[^/]+/rotate|auth/(register|sessions|password))$`)

func (s secretsWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	said := r.Method + " " + r.URL.Path
	if makesSecret.MatchString(said) && resp.StatusCode < 300 || r.URL.Path == "/openapi.json" { // which has examples
		return resp, nil
	}
	if wholeSecret.Match(body) || wholeSecret.MatchString(fmt.Sprint(resp.Header)) {
		s.t.Errorf("%s: the response %d contains a secret", said, resp.StatusCode)
	}
	return resp, nil
}

// busy raises the rate limits for tests that are not about them.
func busy(s *server.Server) { s.Service.RateLimit, s.Service.MaxTokenRate = 1_000_000, 1_000_000 }

// stoppedClock is a clock that only moves when set.
type stoppedClock struct {
	mu sync.Mutex
	at time.Time
}

// drive is an option that makes the server use the clock.
func (c *stoppedClock) drive(s *server.Server) {
	s.Service.Now = c.now
	s.Limits = limit.NewMemory(c.now)
}

func (c *stoppedClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *stoppedClock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// setTo is set with a time in RFC 3339 format.
func (c *stoppedClock) setTo(t testing.TB, text string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	c.set(at)
}

// send sends a request; headers alternates names and values.
func (w *world) send(method, path, secret string, body any, headers ...string) answer {
	w.T.Helper()
	return w.Do(made(method, path, secret, body, headers...))
}

func (w *world) get(path, secret string, headers ...string) answer {
	w.T.Helper()
	return w.send("GET", path, secret, nil, headers...)
}

func made(method, path, secret string, body any, headers ...string) request {
	r := request{Method: method, Path: path, Secret: secret, Body: body, Header: map[string]string{}}
	if !strings.HasPrefix(path, "/api/") {
		r.Header["Accept"] = "application/json" // browsers would get a page
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = headers[i+1]
	}
	return r
}

// want fails the test unless the response has the status and the error code.
func want(t testing.TB, what string, a answer, status int, code warranty.Code) {
	t.Helper()
	if a.Status != status || a.Code() != string(code) {
		t.Errorf("%s: got %d %s, want %d %s: %s", what, a.Status, a.Code(), status, code, a.Body)
	}
}

// refused is want with the status of the code.
func refused(t testing.TB, what string, a answer, code warranty.Code) {
	t.Helper()
	want(t, what, a, code.Info().Status, code)
}

// problemOf decodes an error response.
func problemOf(t testing.TB, a answer) warranty.Problem {
	t.Helper()
	var p warranty.Problem
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil {
		t.Fatalf("response %d %s: %v", a.Status, a.Body, err)
	}
	return p
}

// wrongFields lists the fields of a validation error with their codes: "end_date before_start".
func wrongFields(t testing.TB, a answer) []string {
	t.Helper()
	var list []string
	for _, f := range problemOf(t, a).Errors {
		list = append(list, f.Field+" "+f.Code)
	}
	return list
}

// number parses an integer header.
func number(t testing.TB, h http.Header, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(h.Get(name), 10, 64)
	if err != nil {
		t.Errorf("header %s is %q, not a number", name, h.Get(name))
	}
	return n
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func together(n int, do func(i int)) { testenv.Together(n, do) }

// outcome summarizes a response: "201", or "409 already_exists".
func outcome(a answer) string {
	return strings.TrimSpace(strconv.Itoa(a.Status) + " " + a.Code())
}

// flood sends n concurrent requests, spread over the worlds, and counts the outcomes.
func flood(t testing.TB, worlds []*world, n int, make func(i int) request) (map[string]int, []answer) {
	t.Helper()
	answers := slices.Repeat([]answer{{}}, n)
	together(n, func(i int) {
		a, err := worlds[i%len(worlds)].Try(make(i))
		if err != nil {
			t.Errorf("request %d: %v", i, err)
		}
		answers[i] = a
	})
	count := map[string]int{}
	for _, a := range answers {
		count[outcome(a)]++
	}
	return count, answers
}

// roundTrip sends an *http.Request, for requests that the request type cannot describe.
func (w *world) roundTrip(req *http.Request) answer {
	w.T.Helper()
	resp, err := w.Client.Do(req)
	if err != nil {
		w.T.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
		return answer{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.T.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	return answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
}

// hold sends a request without its body, and returns once the server has
// authenticated the caller and waits for the body. release sends the body.
func (w *world) hold(r request) (release func() answer) {
	w.T.Helper()
	body := &heldBody{asked: make(chan struct{}), send: make(chan struct{})}
	encoded, err := json.Marshal(r.Body)
	if err != nil {
		w.T.Fatal(err)
	}
	body.text.Write(encoded)
	req, err := http.NewRequest(r.Method, w.HTTP.URL+r.Path, body)
	if err != nil {
		w.T.Fatal(err)
	}
	req.ContentLength = int64(len(encoded))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Expect", "100-continue") // the server sends 100 Continue when its handler reads the body
	req.Header.Set("Authorization", "Bearer "+r.Secret)
	got := make(chan answer, 1)
	go func() { got <- w.roundTrip(req) }()
	select {
	case <-body.asked:
	case a := <-got:
		w.T.Fatalf("%s %s got a response before its body was sent: %d %s", r.Method, r.Path, a.Status, a.Body)
	}
	return func() answer { close(body.send); return <-got }
}

type heldBody struct {
	asked, send chan struct{}
	once        sync.Once
	text        bytes.Buffer
}

func (b *heldBody) Read(p []byte) (int, error) {
	b.once.Do(func() { close(b.asked) })
	<-b.send
	return b.text.Read(p)
}

// direct opens a connection to a database that bypasses the service.
func direct(t testing.TB, database string) *sql.DB {
	t.Helper()
	driver, source := "sqlite3", "file:"+database+"?_pragma=busy_timeout(10000)"
	if strings.HasPrefix(database, "postgres") {
		driver, source = "pgx", database
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(2)
	t.Cleanup(func() { _ = db.Close() }) // tests check the errors of their statements
	return db
}

// exec changes the database directly.
func (w *world) exec(statement string, args ...any) {
	w.T.Helper()
	if _, err := w.db.Exec(statement, args...); err != nil {
		w.T.Fatalf("%s: %v", statement, err)
	}
}

// count queries the database directly for a number.
func (w *world) count(query string, args ...any) int {
	w.T.Helper()
	var n int
	if err := w.db.QueryRow(query, args...).Scan(&n); err != nil {
		w.T.Fatalf("%s: %v", query, err)
	}
	return n
}

// isPostgres reports whether the world runs on PostgreSQL.
func (w *world) isPostgres() bool { return strings.HasPrefix(w.Database, "postgres") }

// contents returns a hash of each table's rows, except for the tables of mails and
// usage, which the worker changes.
func (w *world) contents() map[string]string {
	w.T.Helper()
	tables := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	if w.isPostgres() {
		tables = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`
	}
	sums := map[string]string{}
	for _, row := range w.rows(tables) {
		if table := row; table != "mails" && table != "token_usage" && !strings.HasPrefix(table, "goose") {
			rows := w.rows(`SELECT * FROM ` + table)
			slices.Sort(rows)
			sums[table] = fmt.Sprintf("%d rows, %x", len(rows), sha256.Sum256([]byte(strings.Join(rows, "\n"))))
		}
	}
	if len(sums) < 8 {
		w.T.Fatalf("only these tables were found: %v", slices.Collect(maps.Keys(sums)))
	}
	return sums
}

// rows returns every row of a query as one string.
func (w *world) rows(query string) []string {
	w.T.Helper()
	rows, err := w.db.Query(query)
	if err != nil {
		w.T.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		w.T.Fatal(err)
	}
	var list []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			w.T.Fatalf("%s: %v", query, err)
		}
		texts := make([]string, len(values))
		for i, v := range values {
			s := v.(*sql.NullString)
			texts[i] = s.String
			if !s.Valid {
				texts[i] = "NULL"
			}
		}
		list = append(list, strings.Join(texts, " | "))
	}
	if err := rows.Err(); err != nil {
		w.T.Fatalf("%s: %v", query, err)
	}
	return list
}

// unchanged fails the test when do changes the database.
func (w *world) unchanged(t testing.TB, what string, do func()) {
	t.Helper()
	before := w.contents()
	do()
	equal(t, what+" changed the database", w.contents(), before)
}

// cable is a proxy to a PostgreSQL server that tests can cut.
type cable struct {
	listener net.Listener
	mu       sync.Mutex
	open     []net.Conn
	isCut    bool
}

// throughCable returns a URL of the same database through a cable.
func throughCable(t *testing.T, database string) (string, *cable) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	target := u.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: listener}
	t.Cleanup(c.cut)
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil || !c.keep(near, far) {
				_ = near.Close() // the client sees the error
				continue
			}
			go pump(near, far)
			go pump(far, near)
		}
	}()
	u.Host = listener.Addr().String()
	return u.String(), c
}

func pump(to, from net.Conn) {
	_, _ = io.Copy(to, from) // ends when either side is closed
	_ = to.Close()
}

func (c *cable) keep(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, conns...)
	return !c.isCut
}

// cut closes every connection and accepts no new ones.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	_ = c.listener.Close()
	for _, conn := range c.open {
		_ = conn.Close()
	}
}

// ids lists the ids of the records in a response, in order.
func ids(t testing.TB, a answer) []string {
	t.Helper()
	var list []servertest.Record
	a.Into(t, &list)
	out := []string{}
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

// newest sorts ids like lists do: newest first. Later ids are greater.
func newest(list ...string) []string {
	out := append([]string{}, list...)
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(b, a) })
	return out
}

const unknownID = "01935b2e-7c4a-7def-8123-456789abcdef"
