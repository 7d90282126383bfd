package store

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// benchRecords is the number of records of BenchmarkLongLists. 200,000 of a million are in the list of
// one account, and the same shares of fewer.
func benchRecords() int {
	if n, err := strconv.Atoi(os.Getenv("SVC_BENCH_RECORDS")); err == nil {
		return n
	}
	return 20_000
}

// fillBench adds records and four accounts: one sees all of them, one a fifth, one 2,008 and one 46.
func fillBench(b *testing.B, s *Store, records int) (users [4]warranty.ID) {
	b.Helper()
	const numbers = `WITH RECURSIVE n (i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $2) `
	const random = `(i * 2654435761 % 4294967296)`
	word := func(prefix string, modulo int) string {
		return fmt.Sprintf(`'%s' || CAST(%s %% %d AS TEXT)`, prefix, random, modulo)
	}
	const step = 50_000
	write := func(sql string, args ...any) {
		if err := s.Write(context.Background(), func(t *Tx) error { return t.later(sql, args...) }); err != nil {
			b.Fatal(err)
		}
	}
	for i := range users {
		users[i] = newID()
		write(`INSERT INTO users (id, email, name, password_hash, created_at) VALUES ($1, $2, 'x', 'x', 0)`,
			users[i], fmt.Sprint(users[i], "@people.example"))
	}
	for from := 1; from <= records; from += step {
		to := min(from+step-1, records)
		write(numbers+`INSERT INTO warranties (id, reference, issuer_id, product_name, description, serial_number,
				category, folded_category, supplier, seller_name, start_date, end_date, standing, version,
				created_at, updated_at)
			SELECT
				/*pg: CAST(lpad(to_hex(i * 4096), 12, '0') || '7' || substr(md5(i::text), 1, 19) AS UUID) */
				/*sqlite: unhex(printf('%012x7000', i * 4096) || hex(randomblob(8))) */,
				/*pg: 'WR-' || upper(substr(md5(i::text), 1, 4) || '-' || substr(md5(i::text), 5, 4) || '-'
					|| substr(md5(i::text), 9, 4)) || '-' || lpad(to_hex(i), 6, '0') */
				/*sqlite: 'WR-' || hex(randomblob(2)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(2)) || '-'
					|| printf('%06x', i) */,
				$3, CASE WHEN `+random+` % 2 = 0 THEN 'Bosch' ELSE `+word("Brand", 40)+` END || `+word(" Serie ", 9)+
			` || `+word(" product", 300)+` || ' M' || CAST(i % 7919 AS TEXT),
				`+word("term", 2003)+` || `+word(" note", 997)+` || `+word(" service", 101)+` || ' of ' ||
				CASE WHEN i % 50021 = 7 THEN 'quokka' ELSE 'the' END || ' customer' || CAST(i % 1501 AS TEXT),
				'SN' || CAST(`+random+` AS TEXT), `+word("Category ", 23)+`, `+word("category ", 23)+`,
				`+word("Supplier ", 211)+`, `+word("Seller ", 97)+`, 19000 + `+random+` % 1000,
				20000 + `+random+` % 1800, 1, 1, 0, 1700000000000000 + `+random+` * 1000
			FROM n`, from, to, users[0])
	}
	// PostgreSQL ends a statement after a minute.
	const parts = 20
	for i, every := range []int{1, 5, max(1, records/2008), max(1, records/46)} {
		for part := range parts {
			write(`INSERT INTO access (`+accessColumns+`, changed_at)
				SELECT $1, 1, id, id, 2, standing, start_date, end_date, folded_category /*sqlite: , row */, 1
				FROM warranties WHERE (created_at + updated_at / 1000) % $2 = 0 AND start_date % $3 = $4`,
				users[i], every, parts, part)
		}
	}
	for part := range parts {
		write(`INSERT INTO claims (id, claim_number, warranty_id, type, description, incident_date, status, created_at, updated_at)
			SELECT id, 'CL-' || substr(reference, 4), id, 1, 'broken' || CAST(start_date % 50 AS TEXT) || ' since ' || product_name,
				start_date, 1 + end_date % 8, created_at, updated_at FROM warranties
			WHERE start_date % $1 = $2 ORDER BY id LIMIT $3`, parts, part, benchChildren/parts)
		write(`INSERT INTO documents (id, warranty_id, uploader_id, file_name, type, content_type, size_bytes, sha256,
				storage_key, search, created_at, business)
			SELECT id, id, $1, 'receipt', 1, 'application/pdf', 1, $2, reference, 'receipt' || CAST(start_date % 50 AS TEXT)
				|| '.pdf' || /*pg: chr(10) */ /*sqlite: char(10) */ || 'receipt', created_at, 0 FROM warranties
			WHERE start_date % $3 = $4 ORDER BY id LIMIT $5`, users[0], []byte("x"), parts, part, benchChildren/parts)
	}
	for k, rows := range map[lists.Kind]string{
		lists.Claims:    `SELECT $1, $2, id, warranty_id, 2, status, 0, 0, '' FROM claims`,
		lists.Documents: `SELECT $1, $2, id, warranty_id, 2, 0, 0, 0, '' FROM documents`,
	} {
		write(`INSERT INTO access (user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category) `+rows,
			users[0], k)
	}
	write(`/*pg: ANALYZE *//*sqlite: SELECT 1 */`)
	return users
}

// benchChildren is the largest number of claims, and of documents, of the account that sees everything.
const benchChildren = 200_000

// cpuTime returns the CPU time of this process and, on PostgreSQL, of the server's processes for it.
func cpuTime(s *Store) (total time.Duration) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		total = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	if !s.db.Concurrent() {
		return total
	}
	_ = s.db.Query(context.Background(), `SELECT pid FROM pg_stat_activity WHERE datname = current_database()`,
		func(r *engine.Row) error {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.Int()))
			if fields := bytes.Fields(stat); err == nil && len(fields) > 15 {
				for _, ticks := range fields[13:15] {
					n, _ := strconv.Atoi(string(ticks))
					total += time.Duration(n) * 10 * time.Millisecond
				}
			}
			return nil
		})
	return total
}

// BenchmarkLongLists asks questions about long lists. SVC_BENCH_RECORDS sets how long.
func BenchmarkLongLists(b *testing.B) {
	for name, fresh := range map[string]func(testing.TB) string{"sqlite": newFile, "postgres": testenv.Postgres} {
		b.Run(name, func(b *testing.B) {
			s, records := open(b, fresh(b)), benchRecords()
			users := fillBench(b, s, records)
			if err := s.Write(b.Context(), func(tx *Tx) error {
				if err := tx.later(`UPDATE users SET kind = 2`); err != nil {
					return err
				}
				if err := tx.InsertDomain(users[0], warranty.Domain{ID: users[0], Domain: "halden.example"}, "token"); err != nil {
					return err
				}
				return tx.VerifyDomain(users[0], true, time.Now())
			}); err != nil {
				b.Fatal(err)
			}
			start, before := time.Now(), cpuTime(s)
			for _, u := range users {
				s.lists.NoteLength(u, 1<<20)
			}
			longest := s.longestWait(b, func() {
				if err := s.MaintainSegments(context.Background()); err != nil {
					b.Error(err)
				}
			})
			b.Logf("%s: made the segments in %v, CPU %v; another write waited up to %v",
				name, time.Since(start), cpuTime(s)-before, longest)
			for _, k := range []lists.Kind{lists.Warranties, lists.Claims, lists.Documents} {
				b.Logf("%s: the longest list of kind %d takes %d bytes", name, k, number(b, s, `SELECT CAST(sum(length(p.data)) AS BIGINT)
					FROM index_lists l JOIN index_parts p ON p.list = l.list WHERE l.user_id = $1 AND l.kind = $2`, users[0], k))
			}
			for i, who := range []string{"all", "fifth", "2008", "46"} {
				b.Run(who, func(b *testing.B) { benchQuestions(b, s, users[i]) })
			}
			b.Run("children", func(b *testing.B) { benchChildQuestions(b, s, users[0]) })
			b.Run("create", func(b *testing.B) { benchCreates(b, s, users) })
		})
	}
}

func benchQuestions(b *testing.B, s *Store, user warranty.ID) {
	today := warranty.FromEpochDay(20500)
	far := warranty.Paging{Page: 2000, Limit: 50}
	if number(b, s, `SELECT count(*) FROM access WHERE user_id = $1`, user) < 100_000 {
		far.Page = 2
	}
	for _, q := range []struct {
		name string
		in   warranty.ListWarranties
	}{
		{"plain", warranty.ListWarranties{}},
		{"plain_far", warranty.ListWarranties{Paging: far}},
		{"active", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Status: warranty.Active}}},
		{"rare", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Q: "quokka"}}},
		{"common", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Q: "bosch"}}},
		{"two", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Q: "bosch product17"}}},
		{"digits", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Q: "7342"}}},
		{"letter", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Q: "p"}}},
		{"covered", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{CoveredOn: today}}},
		{"verified", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Assurance: warranty.IssuerVerified}}},
		{"unverified", warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Assurance: warranty.Unverified}}},
		{"end_date", warranty.ListWarranties{Sort: warranty.ByEndDate}},
		{"end_date_far", warranty.ListWarranties{Sort: warranty.ByEndDate, Paging: far}},
		{"updated", warranty.ListWarranties{Sort: warranty.ByUpdatedAtDesc}},
		{"updated_far", warranty.ListWarranties{Sort: warranty.ByUpdatedAtDesc, Paging: far}},
		{"name", warranty.ListWarranties{Sort: warranty.ByProductName}},
		{"name_far", warranty.ListWarranties{Sort: warranty.ByProductName, Paging: far}},
	} {
		b.Run(q.name, func(b *testing.B) {
			if q.in.Limit == 0 {
				q.in.Paging = warranty.Paging{Page: 1, Limit: 50}
			}
			before, total, first := cpuTime(s), int64(0), time.Now()
			for n := 0; b.Loop(); n++ {
				var err error
				if _, total, err = s.Warranties(context.Background(), user, q.in, today); err != nil {
					b.Fatal(err)
				}
				if n == 0 {
					b.ReportMetric(float64(time.Since(first).Microseconds())/1000, "first-ms")
				}
			}
			b.ReportMetric(float64((cpuTime(s)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(total), "found")
		})
	}
	for _, by := range []warranty.SummaryGroup{warranty.GroupByStatus, warranty.GroupByCategory, warranty.GroupBySupplier, warranty.GroupByBrand} {
		b.Run("by_"+string(by), func(b *testing.B) {
			before := cpuTime(s)
			for b.Loop() {
				in := warranty.SummarizeWarranties{GroupBy: by, Limit: 50}
				if _, err := s.Summary(context.Background(), user, in, today); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime(s)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// benchChildQuestions asks questions about claims and documents.
func benchChildQuestions(b *testing.B, s *Store, user warranty.ID) {
	page := warranty.Paging{Page: 1, Limit: 50}
	for _, q := range []struct {
		name, q string
		status  warranty.ClaimStatus
	}{
		{name: "plain"}, {name: "status", status: warranty.Approved},
		{name: "rare", q: "quokka"}, {name: "common", q: "bosch"}, {name: "two", q: "bosch product17"}, {name: "digits", q: "7342"},
		{name: "own", q: "broken17"}, {name: "both", q: "bosch", status: warranty.Approved},
	} {
		ask := map[string]func() (int64, error){"claims": func() (int64, error) {
			_, total, err := s.Claims(context.Background(), user, user, warranty.ListClaims{Paging: page, Q: q.q, Status: q.status})
			return total, err
		}}
		if q.status == "" {
			ask["documents"] = func() (int64, error) {
				_, total, err := s.Documents(context.Background(), user, warranty.ListDocuments{Paging: page, Q: q.q})
				return total, err
			}
		}
		for kind, ask := range ask {
			b.Run(kind+"/"+q.name, func(b *testing.B) {
				before, total, first := cpuTime(s), int64(0), time.Now()
				for n := 0; b.Loop(); n++ {
					var err error
					if total, err = ask(); err != nil {
						b.Fatal(err)
					}
					if n == 0 {
						b.ReportMetric(float64(time.Since(first).Microseconds())/1000, "first-ms")
					}
				}
				b.ReportMetric(float64((cpuTime(s)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
				b.ReportMetric(float64(total), "found")
			})
		}
	}
}

// benchCreates creates records for the account with the longest list and the one with the shortest, and
// merges. It reports the longest merge.
func benchCreates(b *testing.B, s *Store, users [4]warranty.ID) {
	for name, user := range map[string]warranty.ID{"long": users[0], "short": users[3]} {
		b.Run(name, func(b *testing.B) {
			before := cpuTime(s)
			for b.Loop() {
				w := benchWarranty(b)
				if err := s.Write(context.Background(), func(tx *Tx) error { return tx.InsertWarranty(w, user) }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime(s)-before).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
	start, before := time.Now(), cpuTime(s)
	pending := number(b, s, `SELECT count(*) FROM index_pending`)
	longest := s.longestWait(b, func() {
		if err := s.MaintainSegments(context.Background()); err != nil {
			b.Error(err)
		}
	})
	b.Logf("merged %d of %d in %v, CPU %v; another write waited up to %v",
		pending-number(b, s, `SELECT count(*) FROM index_pending`), pending, time.Since(start), cpuTime(s)-before, longest)
}

// longestWait runs fn and returns the longest time that another transaction took meanwhile.
func (s *Store) longestWait(b *testing.B, fn func()) (longest time.Duration) {
	b.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	for {
		select {
		case <-done:
			return longest
		default:
		}
		start := time.Now()
		if err := s.Write(context.Background(), func(tx *Tx) error {
			return tx.later(`UPDATE users SET name = name WHERE email = 'nobody'`)
		}); err != nil {
			b.Fatal(err)
		}
		longest = max(longest, time.Since(start))
	}
}

func benchWarranty(b *testing.B) warranty.Warranty {
	b.Helper()
	reference, err := warranty.NewReference(warranty.WarrantyPrefix, strings.NewReader(fmt.Sprintf("%015d", ids.Add(1))))
	if err != nil {
		b.Fatal(err)
	}
	category, serial := "Category 7", fmt.Sprint("SN", ids.Add(1))
	return warranty.Warranty{
		ID:              warranty.ID(uuid.Must(uuid.NewV7())),
		ReferenceNumber: reference,
		ProductName:     fmt.Sprint("Bosch Serie 8 product", ids.Add(1)%300),
		Category:        &category,
		SerialNumber:    &serial,
		Standing:        warranty.Active,
		StartDate:       warranty.FromEpochDay(20000),
		EndDate:         warranty.FromEpochDay(21000),
		Version:         1,
	}
}
