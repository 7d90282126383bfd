package cli

import (
	"strconv"
	"strings"

	"warranty.example/svc/warranty"
)

// cover is what the coverage line shows.
type cover struct {
	start, end warranty.Date
	status     warranty.Status
	days       *int // left, when there is a number to it
}

// soon is when an end is worth a colour.
const soon = 30

// mood is the word that chooses the colour.
func (c cover) mood() string {
	if c.status == warranty.Active && c.days != nil && *c.days <= soon {
		return "ending"
	}
	return c.status.String()
}

// bar is the coverage line: what has passed of the cover, today, and what is
// left. A hollow ring is a day outside of it.
func (c cover) bar(columns int, today warranty.Date) string {
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

// words say the same as the line.
func (c cover) words() string {
	switch {
	case c.status != warranty.Active:
		return c.status.String()
	case c.end == warranty.Lifetime:
		return "active, for life"
	case c.days == nil:
		return "active"
	case *c.days == 0:
		return "active, ends today"
	case *c.days == 1:
		return "active, 1 day left"
	}
	return "active, " + strconv.Itoa(*c.days) + " days left"
}

func (c cover) ends() string {
	if c.end == warranty.Lifetime {
		return "for life"
	}
	return c.end.String()
}
