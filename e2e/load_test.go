package e2e

import (
	"fmt"
	"sync"
)

// load records the responses to clients that create warranties, each with its own key.
type load struct {
	mu           sync.Mutex
	acknowledged map[string]bool  // by key, which is also the product name
	unanswered   map[string]error // by key; the outcome is unknown
	refused      map[int][]answer // by status
}

func newLoad() *load {
	return &load{acknowledged: map[string]bool{}, unanswered: map[string]error{}, refused: map[int][]answer{}}
}

// send creates one warranty.
func (l *load) send(p *process, secret, key string) {
	a, err := p.try(create(secret, key, key))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.unanswered[key] = err
	case a.status == 201:
		l.acknowledged[key] = true
		delete(l.unanswered, key)
	default:
		l.refused[a.status] = append(l.refused[a.status], a)
		l.unanswered[key] = fmt.Errorf("%d %s", a.status, a.body)
	}
}

// run lets clients create warranties until stop is closed, at most so many each.
// Names begin with prefix.
func (l *load) run(p *process, secret, prefix string, clients, most int, stop <-chan struct{}) {
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
