package operate

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progressLine shows what a long command does, on a terminal.
type progressLine struct {
	w     io.Writer // nil: not a terminal
	mu    sync.Mutex
	last  time.Time
	shown bool
}

func newProgress(w io.Writer) *progressLine {
	if !isTerminal(w) {
		w = nil
	}
	return &progressLine{w: w}
}

// show replaces the line, at most ten times a second.
func (p *progressLine) show(what string, done int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || time.Since(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = time.Now(), true
	fmt.Fprintf(p.w, "\r\x1b[K%s: %d", what, done)
}

// clear removes the line.
func (p *progressLine) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.shown = false
}
