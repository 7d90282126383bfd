// Package servertest runs the whole service behind HTTP for tests, on a fresh SQLite
// or PostgreSQL database, with a clock that tests can advance. Every response is
// validated against the OpenAPI document.
package servertest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"       // for direct connections to PostgreSQL
	_ "github.com/ncruces/go-sqlite3/driver" // for direct connections to SQLite

	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/openapitest"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// PublicURL is the configured public URL of the service under test.
const PublicURL = "https://warranty.example.com"

// World is one service with one database.
type World struct {
	T        testing.TB
	Database string
	Store    *store.Store
	Service  *service.Service
	Jobs     *jobs.Jobs
	Server   *server.Server
	HTTP     *httptest.Server
	Client   *http.Client
	Clock    *Clock
	Log      *Buffer
	DB       *sql.DB // a direct connection to the database
	Folder   string  // holds the files of documents

	watcher    *sql.Conn         // see commits
	contents   map[string]string // what Contents returned last, and when
	contentsAt int64
}

// Buffer is a bytes.Buffer that is safe for concurrent use.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to the buffer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns the content so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Option changes a server before it starts.
type Option = func(*server.Server)

// Fields is a JSON object.
type Fields = map[string]any

// Busy raises the rate limits for tests that are not about them.
func Busy(s *server.Server) { s.Service.RateLimit, s.Service.MaxTokenRate = 1_000_000, 1_000_000 }

// Databases are the databases that tests run on.
var Databases = []struct {
	Name string
	Open func(testing.TB) string // creates a database and returns its path or URL
}{{"sqlite", SQLite}, {"postgres", Postgres}}

// Each runs a test on both databases in parallel.
func Each(t *testing.T, test func(t *testing.T, w *World), options ...Option) {
	t.Helper()
	On(t, Both, test, options...)
}

// EachAtTheDoor is Each for what is in front of the service and has no SQL: it runs on SQLite, and in a long run on both
// databases.
func EachAtTheDoor(t *testing.T, test func(t *testing.T, w *World), options ...Option) {
	t.Helper()
	On(t, JustSQLite, test, options...)
}

// Choice says on which databases a test runs. A long run has all tests on both.
type Choice int

// The choices.
const (
	Both         Choice = iota
	JustSQLite          // what is in front of the service
	JustPostgres        // concurrency and attacks: PostgreSQL has more than one writer
	InTurn              // the name of the test chooses one
)

// Runs reports whether a test runs on a database.
func (c Choice) Runs(test, database string) bool {
	if c == Both || testenv.Long() {
		return true
	}
	chosen := map[Choice]string{JustSQLite: "sqlite", JustPostgres: "postgres"}[c]
	if c == InTurn {
		chosen = Databases[crc32.ChecksumIEEE([]byte(test))%uint32(len(Databases))].Name
	}
	return database == chosen
}

// On runs a test on the databases of a choice in parallel.
func On(t *testing.T, choice Choice, test func(t *testing.T, w *World), options ...Option) {
	t.Helper()
	t.Parallel()
	for _, database := range Databases {
		if !choice.Runs(t.Name(), database.Name) {
			continue
		}
		t.Run(database.Name, func(t *testing.T) {
			t.Parallel()
			test(t, New(t, database.Open(t), options...))
		})
	}
}

// EachStopped is Each with a clock that only moves when the test sets it.
func EachStopped(t *testing.T, test func(t *testing.T, w *World, clock *StoppedClock), options ...Option) {
	t.Helper()
	OnStopped(t, Both, test, options...)
}

// OnStopped is On with a clock that only moves when the test sets it.
func OnStopped(
	t *testing.T, choice Choice, test func(t *testing.T, w *World, clock *StoppedClock), options ...Option,
) {
	t.Helper()
	var clocks sync.Map // each server has its own
	start := func(s *server.Server) {
		clock := NewStoppedClock()
		clock.Drive(s)
		clocks.Store(s.Service, clock)
	}
	On(t, choice, func(t *testing.T, w *World) {
		clock, _ := clocks.Load(w.Service)
		test(t, w, clock.(*StoppedClock))
	}, append(slices.Clone(options), start)...)
}

// EachReplicas runs a test on one server on SQLite, and on three on one PostgreSQL database.
func EachReplicas(t *testing.T, test func(t *testing.T, worlds []*World), options ...Option) {
	t.Helper()
	t.Parallel()
	for i, database := range Databases {
		t.Run(database.Name, func(t *testing.T) {
			t.Parallel()
			address := database.Open(t)
			var worlds []*World
			for range 1 + 2*i {
				worlds = append(worlds, New(t, address, options...))
			}
			test(t, worlds)
		})
	}
}

// NewSQLite runs a test in parallel with others, on SQLite only.
func NewSQLite(t *testing.T, options ...Option) *World {
	t.Helper()
	t.Parallel()
	return New(t, SQLite(t), options...)
}

// New opens a database and serves it. Several worlds on one PostgreSQL database
// are replicas. Options may change the server before it starts. Limits per network
// are off unless an option sets them, because all tests run from one address.
//
// At the end of the test the log must contain no secret and no password. No response to
// World.Do may contain a secret unless the request creates it.
func New(t testing.TB, database string, options ...Option) *World {
	t.Helper()
	st, err := store.OpenUnsynced(context.Background(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	w := &World{
		T:        t,
		Database: database,
		Store:    st,
		Clock:    &Clock{},
		Log:      &Buffer{},
		DB:       Direct(t, database),
		Folder:   folderOf(t, database),
	}
	t.Cleanup(func() { checkLog(t, w.Log.String()) })
	log := slog.New(slog.NewJSONHandler(w.Log, nil))
	w.Service = service.New(st, log)
	w.Service.Now, w.Service.PublicURL = w.Clock.Now, PublicURL
	w.Service.Limits = limit.NewMemory(w.Clock.Now)
	w.Service.PasswordCost = WeakCost
	w.Service.LookupTXT = func(_ context.Context, name string) ([]string, error) { // tests ask no DNS server but their own
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if w.Service.Files, err = files.Open(w.Folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Service.Files.Close() }) // only releases a directory handle
	if err := w.Service.BindFolder(context.Background(), false, false); err != nil {
		t.Fatal(err)
	}
	w.setUp()
	if err := w.Service.BindSigningKey(context.Background(), signingKey()); err != nil {
		t.Fatal(err)
	}
	w.Service.Secrets = secretsKey()
	if err := w.Service.OpenPasskeys(); err != nil {
		t.Fatal(err)
	}
	w.Jobs = jobs.New(w.Service)
	w.Server = &server.Server{
		Service:   w.Service,
		Jobs:      w.Jobs,
		Log:       log,
		Version:   describe.Version,
		PublicURL: PublicURL,
		IPRate:    1_000_000,
		Deadline:  longDeadline,
	}
	for _, option := range options {
		option(w.Server)
	}
	handler, err := w.Server.Handler()
	if err != nil {
		t.Fatal(err)
	}
	w.HTTP = httptest.NewServer(handler)
	t.Cleanup(w.HTTP.Close)
	// A separate connection pool, with timeouts that a busy machine does not reach.
	transport := &http.Transport{MaxIdleConnsPerHost: 64, ExpectContinueTimeout: testenv.Patience}
	t.Cleanup(transport.CloseIdleConnections)
	w.Client = &http.Client{
		Transport:     secretsWatch{t, document(t).RoundTripper(transport)},
		Timeout:       testenv.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return w
}

// setUp ends the set-up without an account, so that anyone can register.
func (w *World) setUp() {
	w.T.Helper()
	err := w.Store.Write(context.Background(), func(tx *store.Tx) error {
		_, err := tx.ReachFirstAccount(w.Clock.Now())
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

// Unset makes the service one that nobody has set up. It has no account, and there was no request yet.
func (w *World) Unset() {
	w.T.Helper()
	if _, err := w.DB.Exec(`DELETE FROM milestones`); err != nil {
		w.T.Fatal(err)
	}
}

// signingKey returns the key of all worlds of a process, so that replicas have the same.
var signingKey = sync.OnceValue(func() warranty.SigningKey {
	key, err := warranty.NewSigningKey()
	if err != nil {
		panic(err) // the random source never fails
	}
	return key
})

// secretsKey returns the key that seals secrets in all worlds of a process.
var secretsKey = sync.OnceValue(func() identity.SecretsKey {
	key, err := identity.NewSecretsKey()
	if err != nil {
		panic(err) // the random source never fails
	}
	return key
})

// folders maps databases to their data folders.
var folders sync.Map

// folderOf returns the data folder of a database. Replicas share it, even when their
// database URLs differ.
func folderOf(t testing.TB, database string) string {
	key := database
	if u, err := url.Parse(database); err == nil && u.Scheme != "" {
		key = u.Path + " " + u.Query().Get("search_path")
	}
	folder, shared := folders.LoadOrStore(key, filepath.Join(t.TempDir(), "files"))
	if !shared {
		t.Cleanup(func() { folders.Delete(key) })
	}
	return folder.(string)
}

// longDeadline is a request deadline that a busy machine does not reach.
func longDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, testenv.Patience)
}

var openAPI = sync.OnceValues(func() ([]byte, error) { return describe.OpenAPI(PublicURL, describe.Version) })

func document(t testing.TB) *openapitest.Checker {
	t.Helper()
	doc, err := openAPI()
	if err != nil {
		t.Fatal(err)
	}
	return openapitest.New(t, doc)
}

// Answer is an HTTP response.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Code returns the code of a problem, or "" when the response is not a problem.
func (a Answer) Code() string {
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(a.Body), &p) // the code stays empty
	return p.Code
}

// Into decodes the data of the response into v.
func (a Answer) Into(t testing.TB, v any) {
	t.Helper()
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(a.Body), &envelope); err != nil {
		t.Fatalf("response %d %s: %v", a.Status, a.Body, err)
	}
	if err := json.Unmarshal(envelope.Data, v); err != nil {
		t.Fatalf("response %d %s: %v", a.Status, a.Body, err)
	}
}

// Request is an HTTP request. A string Body is sent unchanged, any other value as JSON.
type Request struct {
	Method, Path string
	Secret       string // an integration token, or a session
	Body         any
	Header       map[string]string
}

// Do sends a request and reads the response.
func (w *World) Do(r Request) Answer {
	w.T.Helper()
	a, err := w.Try(r)
	if err != nil {
		w.T.Fatalf("%s %s: %v", r.Method, r.Path, err)
	}
	return a
}

// Try is Do for goroutines, which must not call Fatal.
func (w *World) Try(r Request) (Answer, error) {
	var body io.Reader
	switch b := r.Body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return Answer{}, err
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequest(r.Method, w.HTTP.URL+r.Path, body)
	if err != nil {
		return Answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case strings.HasPrefix(r.Secret, string(warranty.TokenSecret)):
		req.Header.Set("X-Api-Key", r.Secret)
	case r.Secret != "":
		req.Header.Set("Authorization", "Bearer "+r.Secret)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := w.Client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}, err
}

// Must is Do, and fails the test unless the response has the given status.
func (w *World) Must(status int, r Request) Answer {
	w.T.Helper()
	a := w.Do(r)
	if a.Status != status {
		w.T.Fatalf("%s %s: got %d, want %d: %s", r.Method, r.Path, a.Status, status, a.Body)
	}
	return a
}

// WeakCost is the lowest cost that argon2id allows, to keep tests fast.
var WeakCost = service.PasswordCost{Memory: 8, Time: 1, Threads: 1}

// Person is an account with a session.
type Person struct {
	ID, Name, Email, Password, Session string
}

// Password is the password of every Person.
const Password = "correct horse battery staple"

// Person registers an account and signs in. The email address is not verified.
func (w *World) Person(name string) Person {
	w.T.Helper()
	p := Person{Name: name, Email: strings.ToLower(name) + "@people.example", Password: Password}
	var session struct {
		AccessToken string `json:"access_token"`
		User        struct{ ID string }
	}
	w.Must(http.StatusCreated, Request{
		Method: "POST",
		Path:   "/api/auth/register",
		Body:   map[string]string{"name": name, "email": p.Email, "password": Password},
	}).Into(w.T, &session)
	p.ID, p.Session = session.User.ID, session.AccessToken
	return p
}

// Verified is Person with a verified email address.
func (w *World) Verified(name string) Person {
	w.T.Helper()
	p := w.Person(name)
	w.Must(http.StatusOK, Request{
		Method: "POST",
		Path:   "/api/auth/verify-email",
		Secret: p.Session,
		Body:   map[string]string{"code": w.MailedCode(p.Email)},
	})
	return p
}

// MailedCode sends pending emails and returns the last code emailed to the address: that of the link, if there are six
// digits, too.
func (w *World) MailedCode(email string) string {
	w.T.Helper()
	codes := w.mailedCodes(email)
	return codes[len(codes)-1]
}

// MailedNotMe returns the code of the newest notice to an address with which its reader says that it was not them.
func (w *World) MailedNotMe(email string) string {
	w.T.Helper()
	return w.mailed(email, "not_me")
}

// MailedDigits is MailedCode for six digits.
func (w *World) MailedDigits(email string) string {
	w.T.Helper()
	return w.mailedCodes(email)[0]
}

func (w *World) mailedCodes(email string) []string {
	w.T.Helper()
	return strings.Fields(w.mailed(email, "code"))
}

// mailed returns what the log shows of the newest email to an address that has it.
func (w *World) mailed(email, what string) (code string) {
	w.T.Helper()
	if err := w.Service.SendMail(context.Background()); err != nil {
		w.T.Fatal(err)
	}
	for line := range strings.Lines(w.Log.String()) {
		var mail map[string]any
		if json.Unmarshal([]byte(line), &mail) == nil && mail["msg"] == "mail" && mail["to"] == email && mail[what] != nil {
			code, _ = mail[what].(string)
		}
	}
	if code == "" {
		w.T.Fatalf("no %s was emailed to %s", what, email)
	}
	return code
}

// Token creates an integration token for a person, with all scopes when none is given.
func (w *World) Token(p Person, scopes ...warranty.Scope) (secret, id string) {
	w.T.Helper()
	if len(scopes) == 0 {
		scopes = warranty.AllScopes
	}
	var token struct{ ID, Secret string }
	body := map[string]any{
		"name":                  fmt.Sprintf("token %s", w.Service.NewID()),
		"scopes":                scopes,
		"rate_limit_per_minute": 1000,
	}
	w.Must(http.StatusCreated, Request{Method: "POST", Path: "/api/integration-tokens", Secret: p.Session, Body: body}).
		Into(w.T, &token)
	return token.Secret, token.ID
}

// Record is a warranty in a response.
type Record struct {
	ID, Status      string
	ReferenceNumber string   `json:"reference_number"`
	ProductName     string   `json:"product_name"`
	Category        *string  `json:"category"`
	Supplier        *string  `json:"supplier"`
	SellerEmail     *string  `json:"seller_email"`
	StartDate       string   `json:"start_date"`
	EndDate         string   `json:"end_date"`
	DaysRemaining   *int     `json:"days_remaining"`
	Roles           []string `json:"roles"`
}

// Warranty creates a warranty. The fields are merged into a valid default body.
func (w *World) Warranty(secret string, fields map[string]any) Record {
	w.T.Helper()
	body := map[string]any{"product_name": "Kettle", "start_date": "2020-01-01", "end_date": "2099-12-31"}
	maps.Copy(body, fields)
	var r Record
	w.Must(http.StatusCreated, Request{Method: "POST", Path: "/api/v1/warranties", Secret: secret, Body: body}).
		Into(w.T, &r)
	return r
}
