package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/config"
)

// healthcheckTimeout bounds a health check.
const healthcheckTimeout = 5 * time.Second

// healthcheckCommand asks the server of this machine whether it is healthy. The
// container image has no other program that could.
func healthcheckCommand() *cobra.Command {
	var ready bool
	check := &cobra.Command{
		Use:   "healthcheck",
		Short: "Exit with 0 if the server with these settings answers at /healthz",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(cmd.Flags(), os.Getenv)
			if err != nil {
				return usageError{err}
			}
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			return healthcheck(cmd.Context(), c, path)
		},
	}
	check.Flags().BoolVar(&ready, "ready", false, "ask /readyz, which also needs the database and the data folder")
	return check
}

// healthcheck fails unless the server at --listen returns 200 for path. An unspecified
// listen address, such as 0.0.0.0, reaches this machine.
func healthcheck(ctx context.Context, c config.Config, path string) error {
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", c.Listen)
		},
	}}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("no answer from %s: %w", c.Listen, errors.Unwrap(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s returned %s", path, answer.Status)
	}
	return nil
}
