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
	"strings"
	"sync"
	"syscall"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/mcp"
	"warranty.example/svc/warranty"
)

// version is set when a release is built.
var version = "0.1.0"

const usage = `svc-mcp serves the warranty records service to an agent over stdio (MCP).
It is started by the agent's program and reads two environment variables:

  SVC_API_KEY    the integration token (required)
  SVC_BASE_URL   base address of the service, ending in /api/v1
                 (default ` + client.DefaultBaseURL + `)
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
			_, err := fmt.Println("svc-mcp " + version)
			return err
		}
		return fmt.Errorf("it takes no arguments, and a key is never one; see svc-mcp --help")
	}
	key := strings.TrimSpace(os.Getenv("SVC_API_KEY"))
	if key == "" {
		return errors.New("set SVC_API_KEY to an integration token; generate one in the settings, under API / CLI / MCP")
	}
	base := os.Getenv("SVC_BASE_URL")
	if base == "" {
		base = client.DefaultBaseURL
	}
	c, err := client.New(base, key, client.WithUserAgent("svc-mcp/"+version), client.WithMaxWait(10*time.Second))
	if err != nil {
		return fmt.Errorf("SVC_BASE_URL: %w", err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	who := &whoami{client: c}
	if err := who.greet(ctx); err != nil {
		var refusal *client.Error
		if errors.As(err, &refusal) && refusal.Status == http.StatusUnauthorized {
			return fmt.Errorf("SVC_API_KEY is refused: %s", refusal.Detail)
		}
		log.Warn("the service does not answer yet; calls will be tried when they come", "error", err.Error())
	}
	server, err := mcp.New(mcp.Config{Operations: c.Operations(), Caller: who.caller, Remote: who.problem, Schemas: describe.ToolSchemas,
		PublicURL: c.Root(), Version: version, Log: log})
	if err != nil {
		return err
	}
	return mcp.ServeStdio(ctx, server, os.Stdin, os.Stdout)
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
		away := warranty.Refuse(warranty.Unavailable, "The service does not answer; look whether it runs, and at SVC_BASE_URL. What happened: "+network.Err.Error())
		return away.Problem(w.client.Root(), ""), true
	}
	return warranty.Problem{}, false
}
