package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Comparison returns the table of all servers with all records. Ratios are relative to
// the first server.
func (r *Report) Comparison() string {
	rows := [][]string{{"operation", "server", "CPU ms", "incl. database", "ratio", "spread", "requests/s", "p50 ms", "p99 ms"}}
	for _, op := range r.Operations {
		if op.Question != "" {
			continue
		}
		base := figure{r.Servers[0].Name, op.Name, r.Records}
		title := op.Title
		for _, s := range r.Servers {
			c, measured := r.Median(s.Name, r.Records, op.Name)
			if !measured {
				continue
			}
			ratio, _ := r.ratio(figure{s.Name, op.Name, r.Records}, base)
			rows = append(rows, []string{title, s.Title, millis(c.Total()), database(c), times(ratio), percent(c.Spread),
				strconv.FormatFloat(c.PerSecond, 'f', 0, 64), millis(c.P50) + r.fewer(c), millis(c.P99)})
			title = ""
		}
	}
	return table(rows)
}

// Finding returns the table of questions by account and server, or "" if none was measured.
func (r *Report) Finding() string {
	type column struct{ account, server string }
	var columns []column
	var questions []string
	cost := map[string]map[column]string{}
	head := []string{"question"}
	for _, account := range []string{"small", "big", "giant"} {
		for _, s := range r.Servers {
			found := false
			for _, op := range r.Operations {
				c, measured := r.Median(s.Name, r.Records, op.Name)
				if op.Account != account || !measured {
					continue
				}
				if cost[op.Question] == nil {
					cost[op.Question] = map[column]string{}
				}
				if !slices.Contains(questions, op.Question) {
					questions = append(questions, op.Question)
				}
				cost[op.Question][column{account, s.Name}] = millis(c.Total())
				found = true
			}
			if found {
				columns = append(columns, column{account, s.Name})
				head = append(head, account+", "+strings.TrimPrefix(s.Title, "svcd, "))
			}
		}
	}
	if len(questions) == 0 {
		return ""
	}
	rows := [][]string{head}
	for _, q := range questions {
		row := []string{q}
		for _, c := range columns {
			row = append(row, cost[q][c])
		}
		rows = append(rows, row)
	}
	return table(rows)
}

// fewer marks operations with fewer connections than the first operation of the first server.
func (r *Report) fewer(c Cell) string {
	if usual, _ := r.Median(r.Servers[0].Name, r.Records, r.Operations[0].Name); c.Connections >= usual.Connections {
		return ""
	}
	return fmt.Sprintf(" (%d connections)", c.Connections)
}

// Growth returns the table of CPU times by number of records, for servers with several sizes.
func (r *Report) Growth() string {
	sizes := append(slices.Clone(r.Smaller), r.Records)
	head := []string{"operation", "server"}
	for _, n := range sizes {
		head = append(head, thousands(n))
	}
	rows := [][]string{append(head, "growth")}
	for _, op := range r.Operations {
		title := op.Title
		for _, s := range r.Servers {
			growth, measured := r.ratio(figure{s.Name, op.Name, r.Records}, figure{s.Name, op.Name, sizes[0]})
			if !measured {
				continue
			}
			row := []string{title, s.Title}
			for _, n := range sizes {
				c, _ := r.Median(s.Name, n, op.Name)
				row = append(row, millis(c.Total()))
			}
			rows = append(rows, append(row, times(growth)))
			title = ""
		}
	}
	return table(rows)
}

// Memory returns the table of peak memory.
func (r *Report) Memory() string {
	rows := [][]string{{"server", "highest memory, MiB"}}
	for _, s := range r.Servers {
		if n, measured := r.Peaks[s.Name]; measured {
			rows = append(rows, []string{s.Title, strconv.FormatInt(n>>20, 10)})
		}
	}
	return table(rows)
}

// table lays rows out as Markdown that can be read as it is.
func table(rows [][]string) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for n, row := range rows {
		for i, text := range row {
			b.WriteString("| " + text + strings.Repeat(" ", width[i]-utf8.RuneCountInString(text)+1))
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for _, w := range width {
			b.WriteString("|" + strings.Repeat("-", w+2))
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// millis formats a duration in milliseconds with three significant digits.
func millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms >= 100:
		return strconv.FormatFloat(ms, 'f', 0, 64)
	case ms >= 10:
		return strconv.FormatFloat(ms, 'f', 1, 64)
	case ms >= 1:
		return strconv.FormatFloat(ms, 'f', 2, 64)
	}
	return strconv.FormatFloat(ms, 'f', 3, 64)
}

func database(c Cell) string {
	if c.Database == 0 {
		return ""
	}
	return millis(c.Database)
}

func times(ratio float64) string {
	if ratio >= 20 {
		return fmt.Sprintf("%.0f×", ratio)
	}
	return fmt.Sprintf("%.2f×", ratio)
}

func percent(part float64) string { return fmt.Sprintf("%.0f %%", part*100) }

// thousands formats a number of records: 10 thousand, 1 million.
func thousands(n int) string {
	switch {
	case n%1_000_000 == 0:
		return fmt.Sprintf("%d million", n/1_000_000)
	case n%1000 == 0:
		return fmt.Sprintf("%d thousand", n/1000)
	}
	return strconv.Itoa(n)
}
