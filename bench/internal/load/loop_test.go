package load

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestPercentilesAreOfTheSortedTimes(t *testing.T) {
	var r Result
	if r.Percentile(50) != 0 {
		t.Error("the percentile of no requests is not 0")
	}
	for i := range 200 {
		r.Took = append(r.Took, time.Duration(i+1))
	}
	for p, want := range map[float64]time.Duration{0: 1, 50: 101, 99: 199, 100: 200} {
		if got := r.Percentile(p); got != want {
			t.Errorf("p%v is %d, want %d", p, got, want)
		}
	}
}

func TestEveryRequestIsCountedAndChecked(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Idempotency-Key") != "k" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		served.Add(1)
		io.WriteString(w, "<"+string(body)+"> id id")
	}))
	defer server.Close()
	run := func(c Call) (Result, error) {
		address := server.Listener.Addr().String()
		return Run(t.Context(), address, 4, 50*time.Millisecond, func(*rand.Rand) Call { return c })
	}
	good := Call{
		Method: "POST", Path: "/", Token: "secret", Header: "Idempotency-Key: k", Body: "{}",
		Status: 200, Holds: []string{"<{}>"}, Each: "id", Count: 2,
	}
	result, err := run(good)
	n := len(result.Took)
	if err != nil || int64(n) != served.Load() || n < 4 || result.Elapsed < 50*time.Millisecond {
		t.Errorf("%d requests of %d in %v, %v", len(result.Took), served.Load(), result.Elapsed, err)
	}
	for want, change := range map[string]func(*Call){
		"status 401":   func(c *Call) { c.Token = "" },
		"no </>":       func(c *Call) { c.Holds = []string{"</>"} },
		"2 times id":   func(c *Call) { c.Count = 3 },
		"GET /: no <{": func(c *Call) { c.Method, c.Body = "GET", "" },
	} {
		bad := good
		change(&bad)
		if _, err := run(bad); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), ":  ", ": "), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
