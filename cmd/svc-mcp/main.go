// Command svc-mcp is the MCP server over stdio: it offers the service's
// operations to an agent and calls the service over HTTP.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/credentials"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/mcp"
	"warranty.example/svc/internal/version"
	"warranty.example/svc/warranty"
)

const usage = `svc-mcp serves the warranty records service to an agent over stdio (MCP).
The agent's program starts it. It takes no arguments.

The key is an integration token. It is read from SVC_API_KEY, else from the file
that SVC_API_KEY_FILE names, else from what "svc auth login" stored for the
address of the service. The address is SVC_BASE_URL, which ends in /api/v1
(default ` + client.DefaultBaseURL + `).

"svc mcp config" prints the settings for an agent's program.
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
		}
		return errors.New("svc-mcp takes no arguments, and a key is never one; see svc-mcp --help")
	}
	base := credentials.BaseURL(os.Getenv(credentials.BaseURLEnv), client.DefaultBaseURL)
	key, err := findKey(base)
	if err != nil {
		return err
	}
	c, err := client.New(base, key.Secret, client.WithUserAgent("svc-mcp/"+version.String()), client.WithMaxWait(10*time.Second))
	if err != nil {
		return fmt.Errorf("SVC_BASE_URL: %w", err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if key.Exposed {
		log.Warn("others on this machine can read the stored key; run svc auth status for what to do")
	}
	who := &whoami{client: c}
	if err := who.greet(ctx); err != nil {
		var refusal *client.Error
		if errors.As(err, &refusal) && refusal.Status == http.StatusUnauthorized {
			return fmt.Errorf("the service refuses the key from %s: %s", key.From, refusal.Detail)
		}
		log.Warn("cannot reach the service yet; each call will try again", "error", err.Error())
	}
	server, err := mcp.New(mcp.Config{Operations: c.Operations(), Caller: who.caller, Remote: who.problem, Schemas: describe.ToolSchemas,
		PublicURL: c.Root(), Version: version.String(), Log: log})
	if err != nil {
		return err
	}
	return mcp.ServeStdio(ctx, server, os.Stdin, os.Stdout)
}

// findKey finds the key as svc does.
func findKey(base string) (credentials.Key, error) {
	key, err := credentials.Places{BaseURL: base, Getenv: os.Getenv, ConfigDir: os.UserConfigDir}.Find()
	var refusal *warranty.Error
	switch {
	case errors.As(err, &refusal):
		return key, errors.New(refusal.Message)
	case err != nil:
		return key, err
	case key.Secret == "":
		return key, errors.New("no API key for " + base + ": set SVC_API_KEY to an integration token, or run svc auth login; " +
			"generate a token in the settings, under API / CLI / MCP")
	}
	return key, nil
}

// whoami asks the service who the key is, and again after a while: a token's
// scopes do not change, but the service may have been away.
type whoami struct {
	client *client.Client
	mu     sync.Mutex
	known  *api.Caller
	until  time.Time
}

const (
	knownFor = time.Minute
	// greetPatience is what the agent's program can be kept waiting for at the start.
	greetPatience = 5 * time.Second
)

// greet asks once, in a short time.
func (w *whoami) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, greetPatience)
	defer cancel()
	_, err := w.caller(ctx)
	return err
}

func (w *whoami) caller(ctx context.Context) (api.Caller, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known != nil && time.Now().Before(w.until) {
		return *w.known, nil
	}
	status, err := w.client.AuthStatus(ctx)
	if err != nil {
		return api.Caller{}, err
	}
	w.known = &api.Caller{Principal: warranty.Principal{User: status.User, Credential: warranty.ByToken, Scopes: status.Scopes}}
	w.until = time.Now().Add(knownFor)
	return *w.known, nil
}

// problem is what the service answered, or that it did not.
func (w *whoami) problem(err error) (warranty.Problem, bool) {
	var refusal *client.Error
	if errors.As(err, &refusal) {
		return refusal.Problem, true
	}
	var network *client.NetworkError
	if errors.As(err, &network) {
		away := warranty.Refuse(warranty.Unavailable, "Cannot reach the service at "+w.client.Root()+". Check that it is running and that SVC_BASE_URL is its address. Cause: "+network.Err.Error()+".")
		return away.Problem(w.client.Root(), ""), true
	}
	return warranty.Problem{}, false
}
