// Package cli implements svc, the command-line client: one command per operation of
// package api. Data goes to standard output, everything else to standard error.
package cli

import (
	"context"
	"io"
	"time"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"

	"warranty.example/svc/client"
	"warranty.example/svc/internal/credentials"
)

// Program is svc with its environment, which tests replace.
type Program struct {
	Version string
	BaseURL string // default, without --base-url and SVC_BASE_URL

	Stdin          io.Reader
	Stdout, Stderr io.Writer

	StdinTerminal, StdoutTerminal, StderrTerminal bool

	Width      func() int                            // of the terminal in columns; 0 if unknown
	ReadSecret func(context.Context) (string, error) // from the terminal, without echo
	Getenv     func(string) string
	ConfigDir  func() (string, error) // as os.UserConfigDir
	FindMCP    func() (string, bool)  // path of svc-mcp
	Now        func() time.Time
	// OpenBrowser opens an address, and reports whether a browser was started.
	OpenBrowser func(address string) bool

	// ClientOptions are applied after the options of the command.
	ClientOptions []client.Option
}

// run is one invocation of the program, with the global flags.
type run struct {
	*Program
	baseURL, keyFile string
	account          string
	output           string
	jq               string     // the expression of --jq
	jqCode           *gojq.Code // nil without one
	pretty, noColor  bool
	debug            bool
	wait             time.Duration
	key              credentials.Key // set by findKey
	bar              *progress       // nil without a progress bar
}

// Execute runs a command line and returns the exit code.
func (p *Program) Execute(ctx context.Context, args []string) int {
	r := &run{Program: p}
	root := r.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return r.fail(ctx, err)
	}
	return exitOK
}

const longHelp = `svc is the command line of the warranty records service.

The API key is an integration token. svc uses the first one it finds:

  1. the file given by --api-key-file
  2. SVC_API_KEY
  3. the file named by SVC_API_KEY_FILE
  4. what "svc auth login" stored for this base URL: a key, or with --web a
     connection

The key itself is never a flag, and svc never prints it.

A token acts for the account it was made in. The key can also be a session, which
acts for your own account, or for an organization with --account or SVC_ACCOUNT.
Commands that manage organizations need a session.

On a terminal, svc prints tables. In a pipe, it prints the JSON of the service on
one line. Errors go to standard error: three lines on a terminal, otherwise the
problem object of the service. Exit codes: "svc help exit-codes".`

func (r *run) root() *cobra.Command {
	root := group("svc", "The command line of the warranty records service")
	root.Long, root.Version = longHelp, r.Version
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetVersionTemplate("svc {{.Version}}\n")
	root.SetOut(r.Stdout)
	root.SetErr(r.Stderr)
	root.SetIn(r.Stdin)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(sentence(err.Error()), "See "+cmd.CommandPath()+" --help.")
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("account") && r.account == "" { // a variable that is not set, in a script
			return usage("--account is empty.", "Give the ID of an organization, or leave out the flag.")
		}
		return r.checkOutput()
	}

	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&r.baseURL, "base-url", "",
		"base `URL` of the service, ending in /api/v1 (SVC_BASE_URL; default "+r.BaseURL+")")
	flags.StringVar(&r.keyFile, "api-key-file", "", "read the API key from this `file`")
	flags.StringVar(&r.account, "account", "",
		"`ID` of the organization that a session acts for (SVC_ACCOUNT)")
	flags.StringVarP(&r.output, "output", "o", "",
		"output `format`: table, json, ndjson or csv (default table on a terminal, otherwise json)")
	flags.BoolVar(&r.pretty, "pretty", false, "print indented JSON")
	flags.BoolVar(&r.noColor, "no-color", false, "disable color (also NO_COLOR)")
	flags.DurationVar(&r.wait, "wait", 0,
		"maximum `time` to wait before a retry (default 5s; 2m for import and export)")
	flags.BoolVar(&r.debug, "debug", false, "log requests to standard error, without the key")
	complete(root, "output", formats)

	groups := map[string]*cobra.Command{"": root}
	for _, g := range []struct{ name, short string }{
		{"warranties", "Manage, import and export warranties"},
		{"claims", "List and show claims"},
		{"documents", "List and show document metadata"},
		{"confirmations", "Confirm warranties that name you as the seller"},
		{"sellers", "Leave warranties that you confirmed"},
		{"organizations", "Manage organizations"},
		{"brand", "Manage the brand of an organization"},
		{"members", "Manage the members of an organization"},
		{"invitations", "Invite people to an organization, and join one"},
		{"addresses", "Manage the verified email addresses of an organization"},
		{"auth", "Log in, log out and show the current user"},
		{"mcp", "Connect AI agents"},
	} {
		groups[g.name] = group(g.name, g.short)
		root.AddCommand(groups[g.name])
	}
	r.addOperations(groups)
	groups["warranties"].AddCommand(r.issueCommand(), r.importCommand(), r.batchCommand(), r.exportCommand(), r.lookupCommand())
	groups["customers"].AddCommand(r.exportCustomersCommand())
	groups["auth"].AddCommand(r.loginCommand(), r.logoutCommand())
	groups["mcp"].AddCommand(r.mcpConfigCommand())
	root.AddCommand(r.apiCommand(), r.versionCommand(), exitCodesTopic(), r.manCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// group returns a command that only has subcommands. An unknown subcommand is an
// error; cobra would print the help and exit with 0.
func group(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:                        name,
		Short:                      short,
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			fix := "See " + cmd.CommandPath() + " --help."
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				fix = "Did you mean " + cmd.CommandPath() + " " + near[0] + "?"
			}
			return usage("Unknown command "+quote(args[0])+" for "+cmd.CommandPath()+".", fix)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// arguments requires one argument per name.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage("Missing argument: "+names[len(args)]+".", "Usage: "+cmd.UseLine())
		case len(args) > len(names):
			return usage("Unexpected argument "+quote(args[len(names)])+".",
				"Quote values that contain spaces. Usage: "+cmd.UseLine())
		}
		return nil
	}
}

// complete registers the values of a flag for shell completion.
func complete(cmd *cobra.Command, flag string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag does not exist
	}
}
