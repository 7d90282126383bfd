package service_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

type (
	request = servertest.Request
	fields  = map[string]any
)

// world is a service with helpers that bypass HTTP.
type world struct {
	*servertest.World
	postgres    bool
	everything  *sql.Stmt // the query of snapshot, which takes longer to prepare than to run
	reader      *sql.Conn
	shot        map[string]string // the last snapshot
	shotVersion int64
}

// each runs a test on PostgreSQL, which has more than one writer, and in a long run also on SQLite.
func each(t *testing.T, test func(t *testing.T, w *world), options ...servertest.Option) {
	t.Helper()
	on(t, servertest.JustPostgres, test, options...)
}

// eachInTurn runs a test that is about neither attacks nor concurrency on the database that its name chooses, and in a
// long run on both.
func eachInTurn(t *testing.T, test func(t *testing.T, w *world), options ...servertest.Option) {
	t.Helper()
	on(t, servertest.InTurn, test, options...)
}

// eachBoth runs a test on both databases.
func eachBoth(t *testing.T, test func(t *testing.T, w *world), options ...servertest.Option) {
	t.Helper()
	on(t, servertest.Both, test, options...)
}

func on(t *testing.T, choice servertest.Choice, test func(t *testing.T, w *world), options ...servertest.Option) {
	t.Helper()
	servertest.On(t, choice, func(t *testing.T, w *servertest.World) { test(t, wrap(w)) }, options...)
}

// eachStore runs a test on SQLite with the files in a folder and on PostgreSQL with the files in S3, in parallel. "make
// long" also runs it with the files in the other place.
func eachStore(t *testing.T, test func(t *testing.T, w *world), options ...servertest.Option) {
	t.Helper()
	t.Parallel()
	for _, database := range servertest.Databases {
		for _, s3 := range []bool{false, true} {
			if s3 != (database.Name == "postgres") && !testenv.Long() {
				continue
			}
			t.Run(database.Name+map[bool]string{true: " and S3"}[s3], func(t *testing.T) {
				t.Parallel()
				options := slices.Clone(options)
				if s3 {
					options = append(options, servertest.OnS3(t))
				}
				test(t, newWorld(t, database.Open(t), options...))
			})
		}
	}
}

// eachStopped is each with a clock that only moves when the test sets it.
func eachStopped(t *testing.T, test func(*testing.T, *world, *stoppedClock), options ...servertest.Option) {
	t.Helper()
	onStopped(t, servertest.JustPostgres, test, options...)
}

// eachStoppedInTurn is eachInTurn with a clock that only moves when the test sets it.
func eachStoppedInTurn(t *testing.T, test func(*testing.T, *world, *stoppedClock), options ...servertest.Option) {
	t.Helper()
	onStopped(t, servertest.InTurn, test, options...)
}

func onStopped(
	t *testing.T, choice servertest.Choice, test func(*testing.T, *world, *stoppedClock), options ...servertest.Option,
) {
	t.Helper()
	servertest.OnStopped(t, choice, func(t *testing.T, w *servertest.World, clock *stoppedClock) {
		test(t, wrap(w), clock)
	}, options...)
}

// eachReplicas runs a test on one server on SQLite, and on three on one PostgreSQL database.
func eachReplicas(t *testing.T, test func(t *testing.T, worlds []*world), options ...servertest.Option) {
	t.Helper()
	servertest.EachReplicas(t, func(t *testing.T, replicas []*servertest.World) {
		var worlds []*world
		for _, w := range replicas {
			worlds = append(worlds, wrap(w))
		}
		test(t, worlds)
	}, options...)
}

func wrap(w *servertest.World) *world { return &world{World: w, postgres: w.IsPostgres()} }

func newWorld(t testing.TB, database string, options ...servertest.Option) *world {
	t.Helper()
	return wrap(servertest.New(t, database, options...))
}

var (
	hashed sync.Once
	hash   string
)

// passwordHash is the hash of the password of all users; hashing is slow.
func passwordHash(t testing.TB, w *world) string {
	hashed.Do(func() {
		u, err := w.Service.AddUser(context.Background(),
			warranty.Register{Name: "First", Email: "first@people.example", Password: servertest.Password})
		if err != nil {
			t.Fatal(err)
		}
		account, err := w.Store.AccountByEmail(context.Background(), u.Email)
		if err != nil {
			t.Fatal(err)
		}
		hash = account.PasswordHash
	})
	return hash
}

// person is a user with a session, created without the cost of a sign-in.
type person struct {
	warranty.Principal
	session string
}

// person creates a user with a unique name.
func (w *world) person(name string, verified bool) person {
	w.T.Helper()
	id, now := w.Service.NewID(), w.Clock.Now().UTC().Truncate(time.Microsecond)
	u := warranty.User{
		ID:            id,
		Name:          name,
		Email:         fmt.Sprintf("%s.%x@people.example", strings.ToLower(name), id[8:]),
		EmailVerified: verified,
		CreatedAt:     now,
	}
	hash := passwordHash(w.T, w)
	w.write(func(tx *store.Tx) error { return tx.InsertUser(u, hash) })
	return w.session(u, 12*time.Hour)
}

// session starts a session for a duration; a negative one has expired.
func (w *world) session(u warranty.User, lifetime time.Duration) person {
	w.T.Helper()
	now := w.Clock.Now().UTC().Truncate(time.Microsecond)
	p := person{
		session: secret(w.T, warranty.SessionSecret),
		Principal: warranty.Principal{User: u, Account: warranty.OwnAccount(u), Credential: warranty.BySession, CredentialID: w.Service.NewID(),
			Scopes: warranty.AllScopes, RateLimit: 1_000_000, ExpiresAt: now.Add(lifetime), ConfirmedAt: now, Door: warranty.DoorAPI},
	}
	w.write(func(tx *store.Tx) error {
		return tx.InsertSession(store.Session{ID: p.CredentialID, User: u.ID, Secret: warranty.HashSecret(p.session),
			Method: warranty.MethodPassword, Created: now, Confirmed: now, Expires: p.ExpiresAt})
	})
	return p
}

// token inserts an integration token directly, so that it can be expired or revoked.
func (w *world) token(
	u warranty.User, scopes warranty.Scopes, lifetime time.Duration, revoked bool,
) (key string, id warranty.ID) {
	w.T.Helper()
	key, id = secret(w.T, warranty.TokenSecret), w.Service.NewID()
	now := w.Clock.Now().UTC().Truncate(time.Microsecond)
	w.write(func(tx *store.Tx) error {
		t := warranty.Token{
			ID:                 id,
			Name:               id.String(),
			Prefix:             key[:warranty.PrefixLength],
			Scopes:             scopes,
			RateLimitPerMinute: 1_000_000,
			ExpiresAt:          now.Add(lifetime),
			CreatedAt:          now,
		}
		if err := tx.InsertToken(u.ID, u.ID, t, warranty.HashSecret(key)); err != nil || !revoked {
			return err
		}
		return tx.RevokeToken(id, now)
	})
	return key, id
}

// tokenOf is a principal with a new integration token of the user.
func (w *world) tokenOf(who person) warranty.Principal {
	w.T.Helper()
	key, id := w.token(who.User, warranty.AllScopes, time.Hour, false)
	p := who.Principal
	p.Credential, p.CredentialID, p.SecretHash = warranty.ByToken, id, warranty.HashSecret(key)
	return p
}

func secret(t testing.TB, kind warranty.SecretKind) string {
	t.Helper()
	s, err := warranty.NewSecret(kind, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// code creates a one-time code, as if it had been emailed.
func (w *world) code(u warranty.User, purpose store.Purpose) string {
	w.T.Helper()
	code := w.newCode()
	w.write(func(tx *store.Tx) error {
		return tx.InsertCode(warranty.HashCode(code), purpose, u.ID, w.Clock.Now().Add(time.Hour))
	})
	return code
}

// newCode returns a code that is not stored.
func (w *world) newCode() string {
	w.T.Helper()
	code, err := warranty.NewCode(rand.Reader)
	if err != nil {
		w.T.Fatal(err)
	}
	return code
}

func (w *world) write(fn func(*store.Tx) error) {
	w.T.Helper()
	if err := w.Store.Write(context.Background(), fn); err != nil {
		w.T.Fatal(err)
	}
}

// execute changes the database directly.
func (w *world) execute(statement string, args ...any) {
	w.T.Helper()
	if _, err := w.DB.Exec(statement, args...); err != nil {
		w.T.Fatalf("%s: %v", statement, err)
	}
}

// key returns an id as the second connection expects it.
func (w *world) key(id warranty.ID) any {
	if w.postgres {
		return id.String()
	}
	return id[:]
}

// samples reports whether a part of a matrix is tried: everything is tried on SQLite, and a part on PostgreSQL, where
// it takes several times as long. "make long" tries everything on both.
func (w *world) samples() bool { return w.postgres && !testenv.Long() }

// tries reports whether a cell of a matrix is tried: one in 32 if there is a sample.
func (w *world) tries(cell ...string) bool { return !w.samples() || oneIn(32, cell...) }

// oneIn reports whether a cell is one of a fixed part of a matrix.
func oneIn(n uint32, cell ...string) bool {
	hash := fnv.New32a()
	for _, part := range cell {
		_, _ = io.WriteString(hash, part) // never fails
	}
	return hash.Sum32()%n == 0
}

// number queries a single number.
func (w *world) number(question string, args ...any) (n int64) {
	w.T.Helper()
	if err := w.DB.QueryRow(question, args...).Scan(&n); err != nil {
		w.T.Fatalf("%s: %v", question, err)
	}
	return n
}

// tables lists all tables with data of the service.
func (w *world) tables() []string {
	w.T.Helper()
	if w.postgres {
		return w.strings(
			`SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'schema_versions'`)
	}
	return w.strings(
		`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'schema_versions'`)
}

// snapshot returns all rows of every table by its name. It is one query, because the matrix takes thousands, and
// SQLite says whether anything was committed since the last one.
func (w *world) snapshot() map[string]string {
	w.T.Helper()
	if w.everything == nil {
		reader, err := w.DB.Conn(context.Background())
		if err != nil {
			w.T.Fatal(err)
		}
		w.T.Cleanup(func() { _ = reader.Close() })
		w.reader = reader
		if w.everything, err = reader.PrepareContext(context.Background(), w.queryEverything()); err != nil {
			w.T.Fatal(err)
		}
	}
	var version int64
	if !w.postgres {
		if err := w.reader.QueryRowContext(context.Background(), `PRAGMA data_version`).Scan(&version); err != nil {
			w.T.Fatal(err)
		}
		if w.shot != nil && version == w.shotVersion {
			return w.shot
		}
	}
	rows, err := w.everything.QueryContext(context.Background())
	if err != nil {
		w.T.Fatal(err)
	}
	defer rows.Close()
	found := map[string][]string{}
	for rows.Next() {
		var table string
		var row sql.NullString // tables without rows have a NULL
		if err := rows.Scan(&table, &row); err != nil {
			w.T.Fatal(err)
		}
		found[table] = append(found[table], row.String)
	}
	if err := rows.Err(); err != nil {
		w.T.Fatal(err)
	}
	shot := map[string]string{}
	for table, rows := range found {
		slices.Sort(rows)
		shot[table] = fmt.Sprintf("%d rows, %x", len(rows)-1, sha256.Sum256([]byte(strings.Join(rows, "\n"))))
	}
	w.shot, w.shotVersion = shot, version
	return shot
}

// queryEverything returns a query for the name of each table, alone and with each of its rows as text.
func (w *world) queryEverything() string {
	parts := make([]string, 0, 100)
	for _, table := range w.tables() {
		text := "x::text"
		if !w.postgres {
			columns := w.strings(`SELECT name FROM pragma_table_info('` + table + `')`)
			text = "quote(" + strings.Join(columns, ") || '|' || quote(") + ")"
		}
		parts = append(parts, `SELECT '`+table+`', NULL`, `SELECT '`+table+`', `+text+` FROM `+table+` x`)
	}
	return strings.Join(parts, " UNION ALL ")
}

// empty deletes all data, so that snapshots stay cheap.
func (w *world) empty() {
	w.T.Helper()
	var all strings.Builder
	for _, table := range w.tables() {
		if table != "installation" && table != "feed_marks" {
			all.WriteString(`DELETE FROM ` + table + `; `)
		}
	}
	begin := `BEGIN IMMEDIATE; `
	if w.postgres {
		begin = `BEGIN; `
	}
	w.execute(begin + all.String() + `COMMIT`)
}

func (w *world) strings(question string) (list []string) {
	w.T.Helper()
	rows, err := w.DB.Query(question)
	if err != nil {
		w.T.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			w.T.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// rows returns all rows of a table as text.
func (w *world) rows(table string) (list []string) {
	w.T.Helper()
	if w.postgres {
		return w.strings(`SELECT x::text FROM ` + table + ` x`)
	}
	rows, err := w.DB.Query(`SELECT * FROM ` + table)
	if err != nil {
		w.T.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		w.T.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			w.T.Fatal(err)
		}
		text := ""
		for _, v := range values {
			text += fmt.Sprintf("%v|", *v.(*any))
		}
		list = append(list, text)
	}
	return list
}

// changed lists the tables in which two snapshots differ.
func changed(before, after map[string]string) (tables []string) {
	for _, table := range slices.Sorted(maps.Keys(after)) {
		if before[table] != after[table] {
			tables = append(tables, fmt.Sprintf("%s (%s, then %s)", table, before[table], after[table]))
		}
	}
	return tables
}

// record creates a warranty without HTTP.
func (w *world) record(p person, sellerEmail string) warranty.Warranty {
	w.T.Helper()
	made, err := w.Service.CreateWarranty(context.Background(), p.Principal, warranty.CreateWarranty{
		ProductName: "Kettle",
		StartDate:   date("2020-01-01"),
		EndDate:     date("2099-12-31"),
		SellerEmail: sellerEmail,
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return made
}

// confirm confirms a warranty as its seller.
func (w *world) confirm(seller person, id warranty.ID) {
	w.T.Helper()
	if _, err := w.decide(seller, id, warranty.Confirm, false); err != nil {
		w.T.Fatal(err)
	}
}

// issue makes a warranty that a person created an issued one: see servertest.World.Issue.
func (w *world) issue(id warranty.ID, from, to person) {
	w.T.Helper()
	w.write(func(tx *store.Tx) error { return tx.MoveOwner(id, from.User.ID, to.User.ID) })
}

// transfer transfers a warranty from its owner to another user.
func (w *world) transfer(id warranty.ID, from, to person) {
	w.T.Helper()
	offer, err := w.Service.OfferTransfer(context.Background(), from.Principal,
		warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: id}, Email: to.User.Email})
	if err == nil {
		_, err = w.Service.Take(context.Background(), to.Principal, warranty.TakeHandover{Code: offer.Code})
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// claim files a claim on a warranty of the user.
func (w *world) claim(p person, id warranty.ID) warranty.Claim {
	w.T.Helper()
	c, err := w.Service.FileClaim(context.Background(), p.Principal, warranty.FileClaim{
		WarrantyID:   warranty.WarrantyKey{ID: id},
		Type:         warranty.Repair,
		Description:  "It broke.",
		IncidentDate: date("2024-05-17"),
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return c
}

// upload adds a document to a warranty that the user can see.
func (w *world) upload(p person, id warranty.ID, name string) (warranty.Document, error) {
	stored, err := w.Service.StoreFile(context.Background(), strings.NewReader("A receipt, in plain text."))
	if err != nil {
		return warranty.Document{}, err
	}
	return w.Service.UploadDocument(context.Background(), p.Principal, stored,
		warranty.UploadDocument{WarrantyID: warranty.WarrantyKey{ID: id}, Type: warranty.Receipt, FileName: name})
}

func (w *world) document(p person, id warranty.ID) warranty.Document {
	w.T.Helper()
	d, err := w.upload(p, id, "receipt.txt")
	if err != nil {
		w.T.Fatal(err)
	}
	return d
}

func date(s string) (d warranty.Date) {
	if err := d.UnmarshalText([]byte(s)); err != nil {
		panic(err)
	}
	return d
}

// codeOf returns the code of an API error, or "".
func codeOf(err error) warranty.Code {
	var refusal *warranty.Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	if err != nil {
		return warranty.Code("not a refusal: " + err.Error())
	}
	return ""
}

// together runs fn n times concurrently and waits.
func together(n int, fn func(i int)) { testenv.Together(n, fn) }

// bare removes what differs between responses.
func bare(t testing.TB, a servertest.Answer) string {
	t.Helper()
	body := a.Body
	var problem map[string]any
	if json.Unmarshal([]byte(body), &problem) == nil && problem["request_id"] != nil {
		body = strings.ReplaceAll(body, problem["request_id"].(string), "THE-REQUEST")
	}
	header := http.Header{}
	for name, values := range a.Header {
		switch name {
		case "X-Request-Id", "Date", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Ratelimit":
		default:
			header[name] = values
		}
	}
	lines := []string{fmt.Sprint(a.Status)}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		lines = append(lines, fmt.Sprintf("%s: %s", name, header[name]))
	}
	return strings.Join(append(lines, body), "\n")
}
