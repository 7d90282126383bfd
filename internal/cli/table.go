package cli

import (
	"strings"
)

// column is a column of a table. If the terminal is too narrow, the columns with the
// highest drop value are left out first, and the flex column is truncated.
type column struct {
	title string
	drop  int
	flex  bool
	right bool
	cells []string
	paint func(row int, text string) string
}

const (
	gap       = "  "
	leastFlex = 16
)

// layout formats the columns as a table of at most limit terminal columns; 0 is
// unlimited.
func layout(columns []*column, limit int, s style) string {
	columns = fitting(columns, limit)
	widths := make([]int, len(columns))
	total := 0
	for i, c := range columns {
		widths[i] = c.width()
		total += widths[i] + len(gap)
	}
	total -= len(gap)
	for i, c := range columns {
		if c.flex && limit > 0 && total > limit {
			widths[i] = max(1, widths[i]-(total-limit))
		}
	}
	var b strings.Builder
	rows := len(columns[0].cells)
	for row := -1; row < rows; row++ {
		var line strings.Builder
		for i, c := range columns {
			if i > 0 {
				line.WriteString(gap)
			}
			line.WriteString(c.cell(row, widths[i], i == len(columns)-1, s))
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// fitting drops columns until the rest fits.
func fitting(columns []*column, limit int) []*column {
	for limit > 0 {
		total, worst := -len(gap), -1
		for i, c := range columns {
			w := c.width()
			if c.flex {
				w = min(w, leastFlex)
			}
			total += w + len(gap)
			if c.drop > 0 && (worst < 0 || c.drop > columns[worst].drop) {
				worst = i
			}
		}
		if total <= limit || worst < 0 {
			break
		}
		columns = append(append([]*column(nil), columns[:worst]...), columns[worst+1:]...)
	}
	return columns
}

func (c *column) width() int {
	w := width(c.title)
	for _, cell := range c.cells {
		w = max(w, width(cell))
	}
	return w
}

// cell formats a cell; row -1 is the header. The last column is not padded.
func (c *column) cell(row, columns int, last bool, s style) string {
	text := c.title
	if row >= 0 {
		text = c.cells[row]
	}
	filled := fit(text, columns)
	if c.right && width(text) < columns {
		filled = strings.Repeat(" ", columns-width(text)) + text
	}
	bare := strings.TrimRight(filled, " ")
	fill := filled[len(bare):]
	if last {
		fill = ""
	}
	switch {
	case row < 0:
		return s.faint(bare) + fill
	case c.paint != nil:
		return c.paint(row, bare) + fill
	}
	return bare + fill
}

// pair is a field of a record.
type pair struct{ name, value string }

// listing formats the fields of a record, one per line, without empty fields.
func listing(pairs []pair, s style) string {
	left := 0
	for _, p := range pairs {
		if p.value != "" {
			left = max(left, width(p.name))
		}
	}
	var b strings.Builder
	for _, p := range pairs {
		if p.value == "" {
			continue
		}
		indent := "\n" + strings.Repeat(" ", left+len(gap))
		b.WriteString(s.faint(fit(p.name, left)) + gap + strings.ReplaceAll(safeLines(p.value), "\n", indent) + "\n")
	}
	return b.String()
}
