package store

import (
	"context"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// BenchmarkQueue reads the queue of an organization that decides 50,000 claims, and finds claims in it: with a twentieth of
// them open, and with all of them. Half of the claims are assigned, to ten members.
func BenchmarkQueue(b *testing.B) {
	const n, members = 50_000, 10
	for name, fresh := range map[string]func(testing.TB) string{"sqlite": newFile, "postgres": testenv.Postgres} {
		b.Run(name, func(b *testing.B) {
			ctx, s := context.Background(), open(b, fresh(b))
			shop := fillBench(b, s, n)[0]
			write := func(sql string, args ...any) {
				b.Helper()
				if err := s.Write(ctx, func(t *Tx) error { return t.later(sql, args...) }); err != nil {
					b.Fatal(err)
				}
			}
			write(`UPDATE access SET roles = 4 WHERE user_id = $1`, shop)
			write(`UPDATE warranties SET customer_email = 'person' || CAST(updated_at / 1000 % 9973 AS TEXT) || '@post.example',
				customer_name = CASE WHEN updated_at / 1000 % 50 = 7 THEN 'Cem' ELSE 'Andrea' END || ' Miller' || CAST(updated_at / 1000 % 9973 AS TEXT)`)
			var member warranty.ID
			for i := range members {
				member = newID()
				write(`INSERT INTO claim_assignees (claim_id, account_id, user_id) SELECT id, $1, $2 FROM claims
					WHERE updated_at / 1000 % $3 = $4`, shop, member, 2*members, i)
			}
			for _, part := range []struct {
				what string
				open int
			}{{"twentieth open", n / 20}, {"all open", n}} {
				write(`UPDATE claims SET status = 7, waiting_since = updated_at`)
				write(`UPDATE claims SET status = 1 + updated_at / 1000 % 4, spoke = (1 + updated_at / 1000 % 4) * 10 + 1
					WHERE id IN (SELECT id FROM claims ORDER BY id LIMIT $1)`, part.open)
				benchQueues(b, s)
				if err := s.MaintainSegments(ctx); err != nil {
					b.Fatal(err)
				}
				write(`/*pg: ANALYZE *//*sqlite: ANALYZE */`)
				benchQueue(b, part.what, s, shop, member)
			}
		})
	}
}

// benchQueues copies the claims that were changed by SQL to the access rows.
func benchQueues(b *testing.B, s *Store) {
	b.Helper()
	for _, sql := range []string{
		`UPDATE access SET status = (SELECT c.status FROM claims c WHERE c.id = access.item_id),
			start_date = (SELECT c.spoke FROM claims c WHERE c.id = access.item_id) WHERE kind = ` + kindClaim,
		`UPDATE access AS a SET ` + setQueue + ` WHERE a.kind = ` + kindClaim,
	} {
		if err := s.Write(context.Background(), func(t *Tx) error { return t.later(sql) }); err != nil {
			b.Fatal(err)
		}
	}
}

func benchQueue(b *testing.B, what string, s *Store, shop, member warranty.ID) {
	ctx := context.Background()
	run := func(name string, fn func() error) {
		b.Run(what+"/"+name, func(b *testing.B) {
			before := cpuTime(s)
			for b.Loop() {
				if err := fn(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime(s)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
	for _, q := range []string{"bosch", "broken7", "cem", "CL-"} {
		run("find "+q, func() error {
			if _, _, err := s.FindClaims(ctx, shop, q, 5); err != nil {
				return err
			}
			if _, _, err := s.FindWarranties(ctx, shop, q, 5, warranty.FromEpochDay(20500)); err != nil {
				return err
			}
			_, _, err := s.FindDocuments(ctx, shop, q, 5)
			return err
		})
	}
	var counts warranty.ClaimCounts
	run("counts", func() (err error) {
		counts, err = s.ClaimCounts(ctx, shop, member)
		return err
	})
	days := int(s.Now().Sub(time.UnixMicro(1700000000000000+500_000_000)).Hours() / 24)
	list := func(in warranty.ListClaims, page int, sort warranty.ClaimSort) warranty.ListClaims {
		in.Paging, in.Sort = warranty.Paging{Page: page, Limit: 50}, sort
		return in
	}
	for _, q := range []struct {
		name string
		in   warranty.ListClaims
	}{
		{"waiting", list(warranty.ListClaims{Queue: warranty.WaitingForUs}, 1, warranty.ClaimsByWaiting)},
		{"waiting, last page", list(warranty.ListClaims{Queue: warranty.WaitingForUs},
			int(counts.WaitingForUs)/50, warranty.ClaimsByWaiting)},
		{"in progress", list(warranty.ListClaims{Queue: warranty.WorkInProgress}, 1, warranty.ClaimsByWaiting)},
		{"waiting for them", list(warranty.ListClaims{Queue: warranty.WaitingForThem}, 1, warranty.ClaimsByWaiting)},
		{"done", list(warranty.ListClaims{Queue: warranty.WorkDone}, 1, warranty.ClaimsByUpdatedAtDesc)},
		{"done, page 200", list(warranty.ListClaims{Queue: warranty.WorkDone}, 200, warranty.ClaimsByUpdatedAtDesc)},
		{"all, page 200", list(warranty.ListClaims{}, 200, warranty.ClaimsByCreatedAtDesc)},
		{"mine", list(warranty.ListClaims{Queue: warranty.WaitingForUs, Assignee: "me"}, 1, warranty.ClaimsByWaiting)},
		{"unassigned", list(warranty.ListClaims{Queue: warranty.WaitingForUs, Assignee: "none"}, 1, warranty.ClaimsByWaiting)},
		{"replied", list(warranty.ListClaims{Queue: warranty.WaitingForUs, Replied: true}, 1, warranty.ClaimsByWaiting)},
		{"age", list(warranty.ListClaims{Queue: warranty.WaitingForUs, Age: &days}, 1, warranty.ClaimsByWaiting)},
		{"words", list(warranty.ListClaims{Queue: warranty.WaitingForUs, Q: "broken7"}, 1, warranty.ClaimsByWaiting)},
		{"frequent words", list(warranty.ListClaims{Queue: warranty.WaitingForUs, Q: "bosch"}, 1, warranty.ClaimsByWaiting)},
		{"frequent words, page 200", list(warranty.ListClaims{Queue: warranty.WaitingForUs, Q: "broken"}, 200, warranty.ClaimsByWaiting)},
		{"customer", list(warranty.ListClaims{Queue: warranty.WaitingForUs, Customer: "cem"}, 1, warranty.ClaimsByWaiting)},
		{"updated", list(warranty.ListClaims{Queue: warranty.WaitingForUs}, 1, warranty.ClaimsByUpdatedAtDesc)},
		{"updated, page 200", list(warranty.ListClaims{Queue: warranty.WaitingForUs}, 200, warranty.ClaimsByUpdatedAtDesc)},
		{"waiting, page 200", list(warranty.ListClaims{Queue: warranty.WaitingForUs}, 200, warranty.ClaimsByWaiting)},
		{"all, waiting", list(warranty.ListClaims{}, 1, warranty.ClaimsByWaiting)},
	} {
		var page []warranty.Claim
		run(q.name, func() (err error) {
			page, _, err = s.Claims(ctx, shop, member, q.in)
			return err
		})
		if len(page) > 0 {
			run(q.name+", place", func() error {
				_, err := s.ClaimPlace(ctx, shop, member, q.in, page[len(page)/2].ID)
				return err
			})
		}
	}
}
