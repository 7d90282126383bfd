package operate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/listen"
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
		Args:  NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(cmd.Flags(), os.Getenv, config.SystemFile)
			if err != nil {
				return UsageError{err}
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
	network, address := "tcp", c.Listen
	if socket, ok := strings.CutPrefix(c.Listen, "unix:"); ok {
		network, address = "unix", socket
	} else if !listen.IsTCP(c.Listen) {
		return UsageError{fmt.Errorf("the address of --listen %s is unknown; "+
			"give the one of the socket unit with --listen", c.Listen)}
	}
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		},
		// The certificate is for the public name, and the request has no secret.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}}
	status, err := ask(ctx, &client, "http://localhost"+path)
	if status == http.StatusBadRequest { // the answer of a TLS server
		public, parseErr := url.Parse(c.PublicURL)
		if parseErr != nil {
			return parseErr
		}
		status, err = ask(ctx, &client, "https://"+public.Hostname()+path)
	}
	switch {
	case err != nil:
		return fmt.Errorf("no answer from %s: %w", c.Listen, err)
	case status != http.StatusOK:
		return fmt.Errorf("%s returned %d", path, status)
	}
	return nil
}

// ask returns the status of a response.
func ask(ctx context.Context, client *http.Client, address string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, errors.Unwrap(err) // without the URL
	}
	return answer.StatusCode, answer.Body.Close()
}
