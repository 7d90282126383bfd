package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand writes the man pages; "make man" runs it. A writer of our own costs
// less than the two modules that cobra's would bring.
func (r *run) manCommand() *cobra.Command {
	return &cobra.Command{Use: "man <folder>", Short: "Write the man pages into a folder", Hidden: true, Args: arguments("folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // manuals are for everybody
				return err
			}
			count := 0
			err := eachCommand(cmd.Root(), func(c *cobra.Command) error {
				count++
				file := filepath.Join(args[0], strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
				return os.WriteFile(file, []byte(manPage(c, r.Version)), 0o644) //nolint:gosec // likewise
			})
			if err != nil {
				return err
			}
			r.note("%d man pages in %s.", count, args[0])
			return nil
		}}
}

func eachCommand(c *cobra.Command, do func(*cobra.Command) error) error {
	if c.Hidden || c.Name() == "help" {
		return nil
	}
	if err := do(c); err != nil {
		return err
	}
	for _, child := range c.Commands() {
		if err := eachCommand(child, do); err != nil {
			return err
		}
	}
	return nil
}

// manPage is one command in roff.
func manPage(c *cobra.Command, version string) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH \"%s\" 1 \"\" \"svc %s\" \"Warranty Records\"\n", strings.ToUpper(roff(name)), roff(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	if c.Runnable() {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	}
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + roffText(long))
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF EVERY COMMAND", c.InheritedFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + roffLines(c.Example) + ".fi\n")
	}
	if !c.HasParent() {
		b.WriteString(".SH EXIT STATUS\n")
		for _, e := range exitCodes {
			fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.code, roff(e.meaning))
		}
	}
	manSeeAlso(&b, c)
	return b.String()
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
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

func manSeeAlso(b *strings.Builder, c *cobra.Command) {
	var also []string
	if c.HasParent() {
		also = append(also, roff(strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))+"(1)")
	}
	for _, child := range c.Commands() {
		if !child.Hidden && child.Name() != "help" {
			also = append(also, roff(strings.ReplaceAll(child.CommandPath(), " ", "-"))+"(1)")
		}
	}
	if len(also) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(also, ",\n") + "\n")
	}
}

// roff is a text in which nothing is a command of roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// roffLines is a text whose lines stay as they are.
func roffLines(s string) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString(roff(strings.TrimRight(l, "\n")) + "\n")
	}
	return b.String()
}

// roffText is paragraphs; those that are indented keep their lines.
func roffText(s string) string {
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
