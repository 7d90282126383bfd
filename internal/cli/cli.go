// Package cli is svc, the command-line client: the operations of the service as
// commands. Data goes to standard output and everything else to standard error;
// what an operation takes, and what is wrong with it, is what package api says.
package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"warranty.example/svc/client"
	"warranty.example/svc/internal/credentials"
)

// Program is svc and what it takes from its surroundings.
type Program struct {
	Version string
	BaseURL string // of the service, when neither flag nor environment names one

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Whether a person is at the other end of each.
	StdinTerminal, StdoutTerminal, StderrTerminal bool
	Width                                         func() int                            // columns of the terminal; 0 when unknown
	ReadSecret                                    func(context.Context) (string, error) // from the terminal, without echo

	Getenv    func(string) string
	ConfigDir func() (string, error) // of the user, for all programs
	FindMCP   func() (string, bool)  // where svc-mcp is installed
	Now       func() time.Time

	// ClientOptions are applied after those that a command chooses.
	ClientOptions []client.Option
}

// run is one start of the program: what was asked for by the flags that every
// command has.
type run struct {
	*Program
	baseURL, keyFile string
	output           string
	pretty, noColor  bool
	debug            bool
	wait             time.Duration
	key              credentials.Key // once it was read
	bar              *progress       // while there is one
}

// Execute performs one command line and returns the exit code.
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

The key is an integration token. It is read from the file that --api-key-file
names, else from SVC_API_KEY, else from the file that SVC_API_KEY_FILE names,
else from what "svc auth login" stored. It is never a flag and never printed.

On a terminal records are tables. Piped, the output is the service's JSON on
one line. Errors go to standard error: three lines on a terminal, else the
service's problem object. See "svc help exit-codes".`

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
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return r.checkOutput() }

	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&r.baseURL, "base-url", "", "base `address` of the service, ending in /api/v1 (SVC_BASE_URL; default "+r.BaseURL+")")
	flags.StringVar(&r.keyFile, "api-key-file", "", "`file` that holds the key")
	flags.StringVarP(&r.output, "output", "o", "", "`form` of the output: table, json, ndjson or csv (default table on a terminal, else json)")
	flags.BoolVar(&r.pretty, "pretty", false, "indented JSON")
	flags.BoolVar(&r.noColor, "no-color", false, "no colour (also NO_COLOR)")
	flags.DurationVar(&r.wait, "wait", 0, "`time` to wait at most when the service asks to try again later (default 5s; 2m for import and export)")
	flags.BoolVar(&r.debug, "debug", false, "tell on standard error what is sent, without the key")
	complete(root, "output", formats)

	groups := map[string]*cobra.Command{"": root}
	for _, g := range []struct{ name, short string }{
		{"warranties", "List, read, create, change, delete, import and export warranties"},
		{"claims", "List and read claims"},
		{"documents", "List and read the metadata of documents"},
		{"auth", "Log in, log out, and show whose key is in use"},
		{"mcp", "Connect agents"},
	} {
		groups[g.name] = group(g.name, g.short)
		root.AddCommand(groups[g.name])
	}
	r.addOperations(groups)
	groups["warranties"].AddCommand(r.importCommand(), r.exportCommand())
	groups["auth"].AddCommand(r.loginCommand(), r.logoutCommand())
	groups["mcp"].AddCommand(r.mcpConfigCommand())
	root.AddCommand(r.apiCommand(), r.versionCommand(), exitCodesTopic(), r.manCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// group is a command that only holds others. A name that it does not know is an
// error and no reason to print help as if all were well.
func group(name, short string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			fix := "See " + cmd.CommandPath() + " --help."
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				fix = "Did you mean " + cmd.CommandPath() + " " + near[0] + "?"
			}
			return usage(cmd.CommandPath()+" has no command "+quote(args[0])+".", fix)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
}

// arguments wants one argument for each name.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage("The "+names[len(args)]+" is missing.", "Write "+cmd.UseLine()+".")
		case len(args) > len(names):
			return usage("There is one argument too many: "+quote(args[len(names)])+".", "Write "+cmd.UseLine()+"; quote what holds spaces.")
		}
		return nil
	}
}

// complete offers fixed values for a flag to the shell.
func complete(cmd *cobra.Command, flag string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag does not exist: a mistake in this package
	}
}
