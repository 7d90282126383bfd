// Package man writes the man pages of a program from its commands. Cobra's generator
// makes worse ones: it goes through Markdown, where <id> in a synopsis is HTML and
// disappears, it prints --limit= instead of --limit number, leaves help topics out,
// and has no sections for files and exit codes. It would also add two dependencies.
package man

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Manual describes the pages of one program.
type Manual struct {
	Program   string // as in the page footer
	Version   string
	Section   int    // 1 for commands, 8 for system administration
	Files     []File // shown on the page of the program, like ExitCodes
	ExitCodes []Exit
	// Instead has texts that replace the page of a command, by page name.
	Instead map[string]string
}

// File is a path and what is there.
type File struct{ Path, Meaning string }

// Exit is an exit code and its meaning.
type Exit struct {
	Code    int
	Meaning string
}

// Write writes a page for root and each of its visible subcommands to a folder, which
// it creates, and returns their number.
func (m Manual) Write(dir string, root *cobra.Command) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // man pages are public
		return 0, err
	}
	count := 0
	err := each(root, func(c *cobra.Command) error {
		count++
		text, ok := m.Instead[name(c)]
		if !ok {
			text = m.page(c)
		}
		file := filepath.Join(dir, fmt.Sprintf("%s.%d", name(c), m.Section))
		return os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // likewise
	})
	return count, err
}

func each(c *cobra.Command, do func(*cobra.Command) error) error {
	if c.Hidden || c.Name() == "help" {
		return nil
	}
	if err := do(c); err != nil {
		return err
	}
	for _, child := range c.Commands() {
		if err := each(child, do); err != nil {
			return err
		}
	}
	return nil
}

// name returns the name of a command's page.
func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// Head returns the header and the NAME section of a page.
func (m Manual) Head(name, short string) string {
	return fmt.Sprintf(".TH \"%s\" %d \"\" \"%s %s\" \"Warranty Records\"\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(roff(name)), m.Section, roff(m.Program), roff(m.Version), roff(name), roff(short))
}

// page returns the page of a command.
func (m Manual) page(c *cobra.Command) string {
	var b strings.Builder
	b.WriteString(m.Head(name(c), c.Short))
	if c.Runnable() {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	}
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + Text(long))
	options(&b, "OPTIONS", c.NonInheritedFlags())
	options(&b, "GLOBAL OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + roffLines(c.Example) + ".fi\n")
	}
	if !c.HasParent() {
		if len(m.Files) > 0 {
			b.WriteString(".SH FILES\n")
		}
		for _, f := range m.Files {
			fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(f.Path), roff(f.Meaning))
		}
		b.WriteString(".SH EXIT STATUS\n")
		for _, e := range m.ExitCodes {
			fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.Code, roff(e.Meaning))
		}
	}
	m.seeAlso(&b, c)
	return b.String()
}

func options(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH " + title + "\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, help := pflag.UnquoteUsage(f)
		names := "--" + f.Name
		if f.Shorthand != "" {
			names = "-" + f.Shorthand + ", " + names
		}
		if value != "" {
			value = " \\fI" + roff(value) + "\\fR"
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR%s\n%s\n", roff(names), value, roff(help))
	})
}

func (m Manual) seeAlso(b *strings.Builder, c *cobra.Command) {
	var also []string
	add := func(c *cobra.Command) { also = append(also, fmt.Sprintf("%s(%d)", roff(name(c)), m.Section)) }
	if c.HasParent() {
		add(c.Parent())
	}
	for _, child := range c.Commands() {
		if !child.Hidden && child.Name() != "help" {
			add(child)
		}
	}
	if len(also) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(also, ",\n") + "\n")
	}
}

// roff escapes a text for roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// roffLines escapes a text and keeps its lines.
func roffLines(s string) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString(roff(strings.TrimRight(l, "\n")) + "\n")
	}
	return b.String()
}

// Text formats paragraphs. Indented paragraphs keep their lines.
func Text(s string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(s, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") {
			b.WriteString(".nf\n" + roffLines(paragraph) + ".fi\n")
			continue
		}
		b.WriteString(roffLines(paragraph))
	}
	return b.String()
}
