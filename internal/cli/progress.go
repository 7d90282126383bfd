package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress is a line on a terminal that says how far a long command is. Without a
// terminal there is none: a log has no use for it.
type progress struct {
	w       io.Writer
	columns int
	now     func() time.Time
	last    time.Time
	shown   bool
}

// startProgress shows the line from now on.
func (r *run) startProgress() {
	if r.StderrTerminal {
		columns := r.Width()
		if columns <= 0 {
			columns = 80
		}
		r.bar = &progress{w: r.Stderr, columns: columns, now: r.Now}
	}
}

// update shows how much is done, from 0 to 1; less than 0 is unknown. It shows no
// more than ten pictures a second.
func (p *progress) update(done float64, text string) {
	if p == nil || p.shown && p.now().Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = p.now(), true
	bar := ""
	if done >= 0 {
		const columns = 24
		at := int(min(done, 1) * (columns - 1))
		bar = strings.Repeat("━", at) + "●" + strings.Repeat("─", columns-1-at) + fmt.Sprintf(" %3.0f %%  ", 100*min(done, 1))
	}
	_, _ = io.WriteString(p.w, "\r\x1b[K"+strings.TrimRight(fit(bar+line(text), p.columns-1), " ")) // a lost picture is no loss
}

// clear takes the line away, so that something else can be written there.
func (p *progress) clear() {
	if p == nil || !p.shown {
		return
	}
	p.shown = false
	_, _ = io.WriteString(p.w, "\r\x1b[K") // as above
}
