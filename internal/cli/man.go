package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand writes the man pages, for "make man". It does not use cobra's generator,
// which would add two dependencies.
func (r *run) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man <directory>",
		Short:  "Write the man pages to a directory",
		Hidden: true,
		Args:   arguments("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // man pages are public
				return err
			}
			count := 0
			err := eachCommand(cmd.Root(), func(c *cobra.Command) error {
				count++
				name, text := manName(c), manPage(c, r.Version)
				if name == programPage {
					text = svcMCPPage(r.Version)
				}
				return os.WriteFile(filepath.Join(args[0], name+".1"), []byte(text), 0o644) //nolint:gosec // likewise
			})
			if err != nil {
				return err
			}
			r.note("Wrote %d man pages to %s.", count, args[0])
			return nil
		},
	}
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

// programPage is the page of the program svc-mcp. It replaces the page of the command
// group "svc mcp", which would have the same name.
const programPage = "svc-mcp"

// manName returns the name of a command's page.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// svcMCPPage returns the page of the program svc-mcp.
func svcMCPPage(version string) string {
	return manHead(programPage, version, "Connect an AI agent to the warranty records service (MCP over stdio)") +
		".SH SYNOPSIS\n.B svc\\-mcp\n.SH DESCRIPTION\n" +
		roffText(`An agent's MCP client starts svc-mcp. It offers the operations of the service as
tools and calls the service over HTTP.

The API key is an integration token. svc-mcp uses SVC_API_KEY, the file named by
SVC_API_KEY_FILE, or the key stored by "svc auth login" for this base URL, in this
order.`) + `.SH ENVIRONMENT
.TP
.B SVC_API_KEY
API key
.TP
.B SVC_API_KEY_FILE
file with the API key
.TP
.B SVC_BASE_URL
base URL of the service, ending in /api/v1
.SH SEE ALSO
svc\-mcp\-config(1),
svc\-auth\-login(1),
svc(1)
`
}

// manHead returns the header and the NAME section of a page.
func manHead(name, version, short string) string {
	return fmt.Sprintf(".TH \"%s\" 1 \"\" \"svc %s\" \"Warranty Records\"\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(roff(name)), roff(version), roff(name), roff(short))
}

// manPage returns the page of a command.
func manPage(c *cobra.Command, version string) string {
	var b strings.Builder
	b.WriteString(manHead(manName(c), version, c.Short))
	if c.Runnable() {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	}
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + roffText(long))
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	manFlags(&b, "GLOBAL OPTIONS", c.InheritedFlags())
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
		also = append(also, roff(manName(c.Parent()))+"(1)")
	}
	for _, child := range c.Commands() {
		if !child.Hidden && child.Name() != "help" {
			also = append(also, roff(manName(child))+"(1)")
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

// roffText formats paragraphs. Indented paragraphs keep their lines.
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
