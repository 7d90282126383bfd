// Command svc-mcp is an MCP server over stdio. It offers the operations of the
// service as tools and calls the service over HTTP.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/credentials"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/mcp"
	"warranty.example/svc/internal/signin"
	"warranty.example/svc/internal/version"
	"warranty.example/svc/warranty"
)

const usage = `svc-mcp connects an AI agent to the warranty records service over stdio (MCP).
The agent's MCP client starts it.

  --read-only         offer only tools that change nothing (or SVC_MCP_READ_ONLY=true)
  --tools NAME,NAME   offer only these tools (or SVC_MCP_TOOLS)
  --account ID        act for an organization, if the key is a session (or SVC_ACCOUNT)
  --version           print the version

  svc-mcp login       sign in with the browser, as "svc auth login --web" does
  svc-mcp logout      sign out

Set SVC_BASE_URL to the base URL of the service, ending in /api/v1
(default ` + client.DefaultBaseURL + `).

The API key is an integration token. svc-mcp uses the first one it finds:
  1. SVC_API_KEY
  2. the file named by SVC_API_KEY_FILE
  3. what "svc auth login" or "svc-mcp login" stored for this base URL

To print the settings for an MCP client, run "svc mcp config".
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "svc-mcp: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "-h", "--help", "help":
			_, err := fmt.Print(usage)
			return err
		case "--version", "version":
			_, err := fmt.Println("svc-mcp " + version.String())
			return err
		case "login", "logout":
			return signInOrOut(ctx, args)
		}
	}
	narrowing, account, err := parseFlags(args)
	if err != nil {
		return err
	}
	base := credentials.BaseURL(os.Getenv(credentials.BaseURLEnv), client.DefaultBaseURL)
	key, err := findKey(base)
	if err != nil {
		return err
	}
	options := []client.Option{
		client.WithUserAgent("svc-mcp/" + version.String()),
		client.WithMaxWait(10 * time.Second),
		client.WithTraceparent(os.Getenv(api.TraceparentEnv)),
	}
	if !account.IsZero() {
		options = append(options, client.WithAccount(account))
	}
	if key.Connected {
		options = append(options, client.WithCredentials(connection(base).Credential))
	}
	c, err := client.New(base, key.Secret, options...)
	if err != nil {
		return fmt.Errorf("SVC_BASE_URL: %w", err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if key.Exposed {
		log.Warn("other users can read the stored key; run svc auth status to see the fix")
	}
	who := &whoami{client: c}
	if err := who.check(ctx); err != nil {
		var refusal *client.Error
		var signedOut *signin.Error
		if errors.As(err, &signedOut) {
			return fmt.Errorf("%s Run svc-mcp login", signedOut.Detail)
		}
		if errors.As(err, &refusal) && refusal.Status == http.StatusUnauthorized {
			return fmt.Errorf("the service rejected the key from %s: %s", key.From, refusal.Detail)
		}
		if errors.As(err, &refusal) && refusal.Code == warranty.AccountNotAllowed {
			return fmt.Errorf("the service rejected the account %s: %s", account, refusal.Detail)
		}
		log.Warn("cannot reach the service; each call tries again", "error", err.Error())
	}
	server, err := mcp.New(mcp.Config{
		Operations:   c.Operations(),
		Caller:       who.caller,
		Remote:       who.problem,
		Today:        func() warranty.Date { return warranty.DateOf(time.Now()) },
		Narrowing:    narrowing,
		Schemas:      describe.ToolSchemas,
		RecordSchema: describe.RecordSchema,
		PublicURL:    c.Root(),
		Version:      version.String(),
		Log:          log,
	})
	if err != nil {
		return err
	}
	return mcp.ServeStdio(ctx, server, os.Stdin, os.Stdout)
}

// The environment variables of the flags.
const (
	readOnlyEnv = "SVC_MCP_READ_ONLY"
	toolsEnv    = "SVC_MCP_TOOLS"
)

// parseFlags returns the narrowing and the account that the flags and the environment ask for. A flag
// takes precedence over its variable.
func parseFlags(args []string) (n mcp.Narrowing, account warranty.ID, err error) {
	flags := flag.NewFlagSet("svc-mcp", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Bool("read-only", false, "")
	flags.String("tools", "", "")
	accountFlag := flags.String("account", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		// The argument may be a key, so it is not printed.
		return n, account, errors.New("unknown argument; set the key with SVC_API_KEY (see svc-mcp --help)")
	}
	if given := strings.TrimSpace(cmp.Or(*accountFlag, os.Getenv(credentials.AccountEnv))); given != "" {
		if account, err = warranty.ParseID(given); err != nil {
			return n, account, errors.New("--account or SVC_ACCOUNT is not the ID of an organization")
		}
	}
	names := map[string]string{"read-only": readOnlyEnv, "tools": toolsEnv}
	values := map[string]string{"read-only": os.Getenv(readOnlyEnv), "tools": os.Getenv(toolsEnv)}
	var empty string
	flags.Visit(func(f *flag.Flag) {
		names[f.Name], values[f.Name] = "--"+f.Name, f.Value.String()
		if f.Value.String() == "" {
			empty = f.Name
		}
	})
	if empty != "" {
		return n, account, errors.New("--" + empty + " is empty; give a value, or omit the flag")
	}
	n, err = mcp.ParseNarrowing(names["read-only"], values["read-only"], names["tools"], values["tools"])
	if err != nil {
		return n, account, errors.New(warranty.AsError(err).Message)
	}
	return n, account, nil
}

func store(base string) credentials.Store {
	return credentials.Store{BaseURL: base, Getenv: os.Getenv, ConfigDir: os.UserConfigDir}
}

// connection returns what connects to the service in the browser.
func connection(base string) *signin.Service {
	return &signin.Service{Store: store(base), Now: time.Now}
}

// signInOrOut performs "svc-mcp login" and "svc-mcp logout".
func signInOrOut(ctx context.Context, args []string) error {
	if len(args) == 2 && (args[1] == "-h" || args[1] == "--help") {
		_, err := fmt.Print(usage)
		return err
	}
	if len(args) > 1 {
		return errors.New("svc-mcp " + args[0] + " takes no arguments")
	}
	base := credentials.BaseURL(os.Getenv(credentials.BaseURLEnv), client.DefaultBaseURL)
	if _, err := client.New(base, ""); err != nil {
		return fmt.Errorf("SVC_BASE_URL: %w", err)
	}
	if args[0] == "logout" {
		file, _, err := connection(base).Disconnect(ctx)
		switch {
		case file == "" && err == nil:
			fmt.Fprintln(os.Stderr, "Nothing is stored for "+base+".")
		case file != "":
			fmt.Fprintln(os.Stderr, "Removed what was stored for "+base+".")
		}
		return err
	}
	file, err := connection(base).Connect(ctx, func(address string) {
		signin.Open(address, os.Getenv)
		fmt.Fprintln(os.Stderr, "Sign in and decide in your browser, on this computer:\n"+address)
	})
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "Signed in to "+base+". Stored in "+file+". Only you can read this file.")
	return describeConnection(ctx, base)
}

// describeConnection says which account svc-mcp was connected to, and what it may do there.
func describeConnection(ctx context.Context, base string) error {
	c, err := client.New(base, "", client.WithCredentials(connection(base).Credential))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	status, err := c.AuthStatus(ctx)
	if err != nil {
		return err
	}
	printable := func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}
	fmt.Fprintln(os.Stderr, strings.Map(printable, status.Describe("svc-mcp")))
	return nil
}

// findKey finds the key in the same places as svc.
func findKey(base string) (credentials.Key, error) {
	key, err := store(base).Find()
	var refusal *warranty.Error
	switch {
	case errors.As(err, &refusal):
		return key, errors.New(refusal.Message)
	case err != nil:
		return key, err
	case key.Secret == "":
		return key, errors.New("no API key for " + base + ": run svc-mcp login or svc auth login --web to sign in with your browser, or set " +
			"SVC_API_KEY to an integration token; generate one in the settings, under API / CLI / MCP")
	}
	return key, nil
}

// whoami caches the caller that the key belongs to.
type whoami struct {
	client  *client.Client
	mu      sync.Mutex
	cached  *api.Caller
	expires time.Time
}

const (
	cacheFor = time.Minute
	// checkTimeout bounds how long the agent waits at startup.
	checkTimeout = 5 * time.Second
)

// check looks up the caller once at startup, with a short timeout.
func (w *whoami) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := w.caller(ctx)
	return err
}

func (w *whoami) caller(ctx context.Context) (api.Caller, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cached != nil && time.Now().Before(w.expires) {
		return *w.cached, nil
	}
	status, err := w.client.AuthStatus(ctx)
	if err != nil {
		return api.Caller{}, err
	}
	w.cached = &api.Caller{Principal: warranty.Principal{
		User:       status.User,
		Credential: warranty.ByToken,
		Scopes:     status.Scopes,
	}}
	w.expires = time.Now().Add(cacheFor)
	return *w.cached, nil
}

// problem converts an error of the client to a problem for the agent.
func (w *whoami) problem(err error) (warranty.Problem, bool) {
	var refusal *client.Error
	if errors.As(err, &refusal) {
		return refusal.Problem, true
	}
	var signedOut *signin.Error
	if errors.As(err, &signedOut) {
		return warranty.Refuse(warranty.InvalidCredential, "%s", signedOut).Problem(w.client.Root(), ""), true
	}
	var network *client.NetworkError
	if errors.As(err, &network) {
		unavailable := warranty.Refuse(warranty.Unavailable, "Cannot reach the service at %s. "+
			"Check that it is running and that SVC_BASE_URL is correct. Cause: %s.", w.client.Root(), network.Err)
		return unavailable.Problem(w.client.Root(), ""), true
	}
	return warranty.Problem{}, false
}
