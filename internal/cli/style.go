package cli

// style colors text if on is set.
type style struct{ on bool }

// outStyle is for standard output, errorStyle for standard error.
func (r *run) outStyle() style   { return style{r.StdoutTerminal && r.color()} }
func (r *run) errorStyle() style { return style{r.StderrTerminal && r.color()} }

func (r *run) color() bool {
	return !r.noColor && r.Getenv("NO_COLOR") == "" && r.Getenv("TERM") != "dumb"
}

func (s style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bad(text string) string    { return s.paint("1;31", text) }
func (s style) strong(text string) string { return s.paint("1", text) }
func (s style) faint(text string) string  { return s.paint("2", text) }

// status colors text by the status in word.
func (s style) status(word, text string) string {
	switch word {
	case "active", "approved", "resolved":
		return s.paint("32", text)
	case "ending", "info_requested", "under_review", "in_progress":
		return s.paint("33", text)
	case "void", "cancelled", "rejected":
		return s.paint("31", text)
	case "upcoming", "submitted":
		return s.paint("36", text)
	}
	return s.faint(text)
}
