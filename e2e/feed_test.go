package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
)

// feedRace is writers and a reader of one account, on three servers.
type feedRace struct {
	t        *testing.T
	servers  []*lab.Process
	database string
	secret   string
	changes  int64        // to make
	made     atomic.Int64 // acknowledged
	polls    atomic.Int64
	held     atomic.Int64 // transactions that were held open
}

// feedCopy is a copy of an account's records: the product name of each id.
type feedCopy struct {
	records        map[string]string
	changes, gone  string // where the next walks begin
	walked, unread int
}

// TestFeedOfThreeServers lets clients create, change and delete records on three servers while other
// transactions stay open, and a reader keeps a copy with the feed of changes. The copy must have
// everything. SVC_TEST_FEED is the number of changes; "make feed" makes 100,000.
func TestFeedOfThreeServers(t *testing.T) {
	t.Parallel()
	changes, err := strconv.ParseInt(os.Getenv("SVC_TEST_FEED"), 10, 64)
	if err != nil {
		changes = 400
	}
	r := &feedRace{t: t, database: servertest.Postgres(t), changes: changes}
	args := append(slices.Clone(lab.Unthrottled), "--database="+r.database)
	for range 3 {
		r.servers = append(r.servers, lab.Start(t, args...))
	}
	r.secret, _ = r.servers[0].Token(t, r.servers[0].Register(t, "olga"), "ERP", 1_000_000)
	r.run()
}

func (r *feedRace) run() {
	var writers, others sync.WaitGroup
	stop := make(chan struct{})
	copied := &feedCopy{records: map[string]string{}, changes: "2020-01-01T00:00:00Z"}
	others.Go(func() {
		for !closed(stop) {
			if err := r.poll(copied); err != nil {
				r.t.Error(err)
				return
			}
			r.polls.Add(1)
		}
	})
	for i := range 16 {
		writers.Go(func() { r.write(i) })
	}
	others.Go(func() { r.hold(stop) })
	writers.Wait()
	close(stop)
	others.Wait()
	if err := r.poll(copied); err != nil {
		r.t.Fatal(err)
	}
	r.compare(copied)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// write makes the changes of one client. Most records change only once or twice, so that few missed
// changes are hidden by later ones.
func (r *feedRace) write(client int) {
	var mine []string
	for i := 0; r.made.Load() < r.changes; i++ {
		p := r.servers[(client+i)%len(r.servers)]
		c := lab.Create(r.secret, fmt.Sprintf("%d-%d", client, i), "")
		status, last := 201, len(mine)-1
		switch {
		case last < 0:
		case i%5 == 3:
			c = lab.Call{Method: "PUT", Path: "/api/v1/warranties/" + mine[last/2], Secret: r.secret, Body: c.Body}
			c.Body = map[string]string{"product_name": fmt.Sprintf("%d-%d", client, i)}
			status = 200
		case i%10 == 9:
			c, status = lab.Call{Method: "DELETE", Path: "/api/v1/warranties/" + mine[last], Secret: r.secret}, 204
			mine = mine[:last]
		}
		a, err := p.Try(c)
		if err != nil || a.Status != status {
			r.t.Errorf("%s %s: %d %s %v", c.Method, c.Path, a.Status, a.Body, err)
			return
		}
		if status == 201 {
			id, err := a.At("data.id")
			if err != nil {
				r.t.Error(err)
				return
			}
			mine = append(mine, id)
		}
		r.made.Add(1)
	}
}

// hold changes records of its own as the service does, each in a transaction that it commits only
// after others have made changes and the reader has passed them.
func (r *feedRace) hold(stop <-chan struct{}) {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, r.database)
	if err != nil {
		r.t.Error(err)
		return
	}
	defer db.Close(ctx)
	for n := 0; !closed(stop); n++ {
		a, err := r.servers[n%len(r.servers)].Try(lab.Create(r.secret, "held", ""))
		if err != nil {
			r.t.Error(err)
			return
		}
		id, err := a.At("data.id")
		if err != nil {
			r.t.Error(err)
			return
		}
		err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE warranties SET product_name = $2, version = version + 1 WHERE id = $1`,
				id, fmt.Sprint("held ", n)); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `UPDATE access SET changed_at = greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
				(SELECT floor FROM feed_marks)) WHERE parent_id = $1 AND kind = 1`, id); err != nil {
				return err
			}
			made, polls := r.made.Load(), r.polls.Load()
			for !closed(stop) && (r.made.Load() < made+20 || r.polls.Load() < polls+2) {
				if _, err := tx.Exec(ctx, `SELECT pg_sleep(0.001)`); err != nil { // keeps the transaction in use
					return err
				}
			}
			return nil
		})
		if err != nil {
			r.t.Error(err)
			return
		}
		r.held.Add(1)
	}
}

// feedList is a page of changes.
type feedList struct {
	Data []struct {
		ID   string `json:"id"`
		Name string `json:"product_name"`
	} `json:"data"`
	Next     *string `json:"next"`
	SyncedTo string  `json:"synced_to"`
}

// poll reads what was lost and what changed since the last poll, from the servers in turn.
func (r *feedRace) poll(c *feedCopy) error {
	next, err := r.walk("/api/v1/warranties/deleted?limit=100", "since", c.gone, func(id, _ string) { delete(c.records, id) })
	if err != nil {
		return err
	}
	c.gone = next
	c.changes, err = r.walk("/api/v1/warranties?limit=100", "updated_since", c.changes, func(id, name string) {
		if c.walked++; c.records[id] == name {
			c.unread++
		}
		c.records[id] = name
	})
	return err
}

// walk reads all pages of a feed and returns where the next walk begins.
func (r *feedRace) walk(path, name, since string, each func(id, product string)) (string, error) {
	if since != "" {
		path += "&" + name + "=" + url.QueryEscape(since)
	}
	after := ""
	for page := 0; ; page++ {
		p := r.servers[(int(r.polls.Load())+page)%len(r.servers)]
		a, err := p.Try(lab.Call{Method: "GET", Path: path + after, Secret: r.secret})
		if err != nil || a.Status != 200 {
			return "", fmt.Errorf("%s: %d %s %w", path, a.Status, a.Body, err)
		}
		var list feedList
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
			return "", err
		}
		for _, record := range list.Data {
			each(record.ID, record.Name)
		}
		if list.Next == nil {
			return list.SyncedTo, nil
		}
		after = "&after=" + url.QueryEscape(*list.Next)
	}
}

// compare checks that the copy has what the service has.
func (r *feedRace) compare(c *feedCopy) {
	actual := map[string]string{}
	if _, err := r.walk("/api/v1/warranties?limit=100", "updated_since", "2020-01-01T00:00:00Z",
		func(id, name string) { actual[id] = name }); err != nil {
		r.t.Fatal(err)
	}
	total := r.servers[0].Want(r.t, 200, lab.Call{Method: "GET", Path: "/api/v1/warranties?limit=1", Secret: r.secret}).
		Must(r.t, "pagination.total")
	missed := 0
	for id, name := range actual {
		if c.records[id] != name {
			missed++
			r.t.Errorf("%s is %q in the copy, want %q", id, c.records[id], name)
		}
	}
	if len(c.records) != len(actual) || total != strconv.Itoa(len(actual)) {
		r.t.Errorf("%d records in the copy, %d in the feed, %s in the list", len(c.records), len(actual), total)
	}
	r.t.Logf("%d changes and %d in transactions held open, %d polls: missed %d of %d records; %d of %d entries repeated",
		r.made.Load(), r.held.Load(), r.polls.Load(), missed, len(actual), c.unread, c.walked)
	if r.held.Load() == 0 {
		r.t.Error("no transaction was held open")
	}
}
