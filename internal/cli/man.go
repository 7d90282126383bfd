package cli

import (
	"github.com/spf13/cobra"

	"warranty.example/svc/internal/man"
)

// manCommand writes the man pages of svc and svc-mcp, for "make man".
func (r *run) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man <directory>",
		Short:  "Write the man pages to a directory",
		Hidden: true,
		Args:   arguments("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m := man.Manual{Program: "svc", Version: r.Version, Section: 1, ExitCodes: exitCodes}
			// The page of the program replaces that of the group "svc mcp", which has the same name.
			m.Instead = map[string]string{"svc-mcp": svcMCPPage(m)}
			count, err := m.Write(args[0], cmd.Root())
			if err != nil {
				return err
			}
			r.note("Wrote %d man pages to %s.", count, args[0])
			return nil
		},
	}
}

// svcMCPPage returns the page of the program svc-mcp.
func svcMCPPage(m man.Manual) string {
	return m.Head("svc-mcp", "Connect an AI agent to the warranty records service (MCP over stdio)") +
		".SH SYNOPSIS\n.B svc\\-mcp [\\-\\-read\\-only] [\\-\\-tools \\fINAME,NAME\\fB] [\\-\\-account \\fIID\\fB]\n.SH DESCRIPTION\n" +
		man.Text(`An agent's MCP client starts svc-mcp. It offers the operations of the service as
tools and calls the service over HTTP.

The API key is an integration token. svc-mcp uses SVC_API_KEY, the file named by
SVC_API_KEY_FILE, or the key stored by "svc auth login" for this base URL, in this
order.`) + `.SH OPTIONS
.TP
.B \-\-read\-only
offer only tools that change nothing (or SVC_MCP_READ_ONLY=true)
.TP
.B \-\-tools \fINAME,NAME\fR
offer only these tools (or SVC_MCP_TOOLS)
.TP
.B \-\-account \fIID\fR
act for an organization, if the key is a session (or SVC_ACCOUNT)
.TP
.B \-\-version
print the version
.SH ENVIRONMENT
.TP
.B SVC_API_KEY
API key
.TP
.B SVC_API_KEY_FILE
file with the API key
.TP
.B SVC_BASE_URL
base URL of the service, ending in /api/v1
.TP
.B SVC_ACCOUNT
ID of the organization that a session acts for
.SH SEE ALSO
svc\-mcp\-config(1),
svc\-auth\-login(1),
svc(1)
`
}
