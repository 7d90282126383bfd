package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress is a progress bar on a terminal. A nil progress does nothing.
type progress struct {
	w       io.Writer
	columns int
	now     func() time.Time
	last    time.Time
	shown   bool
}

// startProgress enables the progress bar if standard error is a terminal.
func (r *run) startProgress() {
	if r.StderrTerminal {
		columns := r.Width()
		if columns <= 0 {
			columns = 80
		}
		r.bar = &progress{w: r.Stderr, columns: columns, now: r.Now}
	}
}

// update redraws the bar, at most ten times a second. done is from 0 to 1, or
// negative if unknown.
func (p *progress) update(done float64, text string) {
	if p == nil || p.shown && p.now().Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = p.now(), true
	bar := ""
	if done >= 0 {
		const columns = 24
		at := int(min(done, 1) * (columns - 1))
		bar = strings.Repeat("━", at) + "●" + strings.Repeat("─", columns-1-at) +
			fmt.Sprintf(" %3.0f %%  ", 100*min(done, 1))
	}
	text = strings.TrimRight(fit(bar+safeLine(text), p.columns-1), " ")
	_, _ = io.WriteString(p.w, "\r\x1b[K"+text) // failures do not matter
}

// clear removes the bar, so that other output can follow.
func (p *progress) clear() {
	if p == nil || !p.shown {
		return
	}
	p.shown = false
	_, _ = io.WriteString(p.w, "\r\x1b[K") // failures do not matter
}
