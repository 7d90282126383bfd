package e2e

import (
	"fmt"
	"sync"

	"warranty.example/svc/e2e/lab"
)

// load records the responses to clients that create warranties, each with its own key.
type load struct {
	mu           sync.Mutex
	acknowledged map[string]bool      // by key, which is also the product name
	unanswered   map[string]error     // by key; the outcome is unknown
	refused      map[int][]lab.Answer // by status
}

func newLoad() *load {
	return &load{acknowledged: map[string]bool{}, unanswered: map[string]error{}, refused: map[int][]lab.Answer{}}
}

// send creates one warranty.
func (l *load) send(p *lab.Process, secret, key string) {
	a, err := p.Try(lab.Create(secret, key, key))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.unanswered[key] = err
	case a.Status == 201:
		l.acknowledged[key] = true
		delete(l.unanswered, key)
	default:
		l.refused[a.Status] = append(l.refused[a.Status], a)
		l.unanswered[key] = fmt.Errorf("%d %s", a.Status, a.Body)
	}
}

// run lets clients create warranties until stop is closed, at most so many each.
// Names begin with prefix.
func (l *load) run(p *lab.Process, secret, prefix string, clients, most int, stop <-chan struct{}) {
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range most {
				select {
				case <-stop:
					return
				default:
					l.send(p, secret, fmt.Sprintf("%s-%d-%d", prefix, c, i))
				}
			}
		})
	}
	wg.Wait()
}

// progress returns the number of acknowledged warranties.
func (l *load) progress() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged)
}

// refusals returns the number of responses with this status.
func (l *load) refusals(status int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.refused[status])
}
