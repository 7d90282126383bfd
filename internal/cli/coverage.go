package cli

import (
	"strconv"
	"strings"

	"warranty.example/svc/warranty"
)

// coverage is the coverage period of a warranty.
type coverage struct {
	start, end warranty.Date
	status     warranty.Status
	days       *int // remaining, if known
}

// endingSoon is the number of remaining days from which a warranty is highlighted.
const endingSoon = 30

// statusWord returns the word that selects the color.
func (c coverage) statusWord() string {
	if c.status == warranty.Active && c.days != nil && *c.days <= endingSoon {
		return "ending"
	}
	return c.status.String()
}

// bar draws the coverage period: past, today (●) and remaining time. A ring (○) means
// that today is outside of the period.
func (c coverage) bar(columns int, today warranty.Date) string {
	switch {
	case c.status == warranty.Void || c.status == warranty.Cancelled:
		return strings.Repeat("╌", columns)
	case today < c.start:
		return "○" + strings.Repeat("─", columns-1)
	case today > c.end:
		return strings.Repeat("━", columns-1) + "○"
	case c.end == warranty.Lifetime:
		return "━●" + strings.Repeat("─", columns-3) + "∞"
	}
	at := 0
	if c.end > c.start {
		at = int(int64(today-c.start) * int64(columns-1) / int64(c.end-c.start))
	}
	return strings.Repeat("━", at) + "●" + strings.Repeat("─", columns-1-at)
}

// words describes the status as text.
func (c coverage) words() string {
	switch {
	case c.status != warranty.Active:
		return c.status.String()
	case c.end == warranty.Lifetime:
		return "active, lifetime"
	case c.days == nil:
		return "active"
	case *c.days == 0:
		return "active, ends today"
	case *c.days == 1:
		return "active, 1 day left"
	}
	return "active, " + strconv.Itoa(*c.days) + " days left"
}

func (c coverage) ends() string {
	if c.end == warranty.Lifetime {
		return "lifetime"
	}
	return c.end.String()
}
