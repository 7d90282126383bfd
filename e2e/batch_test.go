package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// batchSize is the most items of a batch.
const batchSize = 500

// batchOf returns a batch of numbered items.
func batchOf(secret string, number int) lab.Call {
	items := make([]map[string]string, batchSize)
	for i := range items {
		n := number*batchSize + i
		items[i] = map[string]string{
			"external_id": fmt.Sprintf("row-%d", n), "product_name": fmt.Sprintf("Pan %d", n), "serial_number": fmt.Sprintf("SN-%d", n),
			"start_date": "2026-01-01", "end_date": "2028-01-01", "brand": "Bosch", "category": "Kitchen",
		}
	}
	return lab.Call{Method: "POST", Path: "/api/v1/warranties/batch", Secret: secret, Body: items}
}

// sendBatch sends a batch and returns how many of its items were created.
func sendBatch(p *lab.Process, secret string, number int) (created int, err error) {
	a, err := p.Try(batchOf(secret, number))
	for deadline := time.Now().Add(testenv.Patience); err == nil && a.Status == http.StatusServiceUnavailable &&
		time.Now().Before(deadline); a, err = p.Try(batchOf(secret, number)) {
		time.Sleep(time.Second) // a busy database; the idempotency key makes it safe to send it again
	}
	if err != nil {
		return 0, err
	}
	if a.Status != http.StatusOK {
		return 0, fmt.Errorf("batch %d: %d %s", number, a.Status, a.Body)
	}
	var out struct {
		Data struct{ Results []struct{ Status string } }
	}
	if err := json.Unmarshal([]byte(a.Body), &out); err != nil {
		return 0, err
	}
	for _, r := range out.Data.Results {
		switch r.Status {
		case "created":
			created++
		case "unchanged":
		default:
			return 0, fmt.Errorf("batch %d has an item that is %s", number, r.Status)
		}
	}
	return created, nil
}

// TestKilledBatches kills svcd in the middle of batches and repeats them: every item is there once.
// SVC_TEST_BATCH is the number of items; "make batches" sends 10,000 and prints how long they take.
func TestKilledBatches(t *testing.T) {
	t.Parallel()
	rows, err := strconv.Atoi(os.Getenv("SVC_TEST_BATCH"))
	if err != nil {
		rows = testenv.Times(1000, 2000)
	}
	eachDatabase(t, func(t *testing.T, database string) {
		batches := rows / batchSize
		args := append(slices.Clone(lab.Unthrottled), database)
		p := lab.Start(t, args...)
		secret, _ := p.Token(t, p.Register(t, "olga"), "ERP", 1_000_000)
		began := time.Now()
		for n := range batches {
			if _, err := sendBatch(p, secret, n); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%d items in batches of %d, one after the other: %v", rows, batchSize, time.Since(began))
		took := time.Since(began) / time.Duration(batches)

		// More batches, four at a time, until the process is killed.
		for range 3 {
			var senders sync.WaitGroup
			for client := range 4 {
				senders.Go(func() {
					for n := batches + client; n < 2*batches; n += 4 {
						if _, err := sendBatch(p, secret, n); err != nil {
							return // killed
						}
					}
				})
			}
			time.Sleep(time.Duration(rand.Int64N(int64(took)*2 + 1)))
			p.Kill()
			senders.Wait()
			p = lab.Start(t, args...)
		}
		for range 2 {
			for n := range 2 * batches {
				if _, err := sendBatch(p, secret, n); err != nil {
					t.Fatal(err)
				}
			}
		}
		names := p.Products(t, secret)
		for name, times := range names {
			if times != 1 {
				t.Errorf("%s is there %d times", name, times)
			}
		}
		if len(names) != 2*batches*batchSize {
			t.Errorf("%d records, want %d", len(names), 2*batches*batchSize)
		}
	})
}
