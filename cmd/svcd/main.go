// Command svcd is the warranty records service.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/demo"
	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/operate"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/version"
)

func main() { os.Exit(run()) }

// run executes the command and returns the exit code.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the process
	err := command().ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil && strings.HasSuffix(err.Error(), "interrupted") {
		err = nil // a signal stopped the start in the middle of a statement of SQLite
	}
	return operate.Exit(os.Stderr, err)
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "svcd",
		Short:         "The warranty records service",
		Version:       version.String(),
		Args:          operate.NoArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := operate.Load(cmd)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), c)
		},
	}
	operate.AddCommands(root)
	root.AddCommand(manCommand(), versionCommand())
	addCompletion(root)
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  operate.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "svcd version "+version.String())
			return err
		},
	}
}

// newLog returns the log on standard error.
func newLog(c config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogText {
		return slog.New(slog.NewTextHandler(os.Stderr, options))
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, options))
}

// serve runs the server until ctx is done.
func serve(ctx context.Context, c config.Config) (err error) {
	defer func() {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil // stopped during startup
		}
	}()
	log := newLog(c)
	log.Debug("settings", "config", c)
	if names := config.UnknownVars(os.Environ()); len(names) > 0 {
		log.Warn("unknown SVC_ variables; svcd --help lists the known ones", "names", names)
	}
	files, err := operate.OpenCertificate(c, log)
	if err != nil {
		return err
	}
	listeners, err := openListeners(c)
	if err != nil {
		return err
	}
	defer listeners.Close()
	admin, err := openAdmin(c)
	if err != nil {
		return err
	}
	if admin != nil {
		defer admin.Close() // a no-op after a normal stop
	}
	s, release, err := operate.Open(ctx, c, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()

	var closeLimits func() error
	s.Limits, closeLimits = limiter(c, log, s)
	defer func() { err = errors.Join(err, closeLimits()) }()
	s.VerifyRate, s.SignInRate, s.SignUpRate = c.VerifyRateLimit, c.SignInRateLimit, c.SignUpRateLimit

	srv := &server.Server{
		Service:               s,
		Jobs:                  jobs.New(s),
		Log:                   log,
		Version:               version.String(),
		PublicURL:             c.PublicURL,
		Proxies:               c.TrustedProxies,
		IPRate:                c.IPRateLimit,
		Drain:                 c.Drain,
		ConnectionsPerAddress: c.ConnectionsPerAddress,
		SecurityContact:       c.SecurityContact,
	}
	if admin != nil {
		srv.Metrics = server.NewMetrics(version.String())
		s.Store.ObserveWrites(srv.Metrics.ObserveWrite)
		metrics, stopMetrics := context.WithCancel(context.WithoutCancel(ctx))
		defer stopMetrics() // after the last request
		go server.Admin(metrics, admin, log, srv.Metrics.Handler())
	}
	stopTLS, err := startTLS(ctx, c, srv, files, listeners.redirect)
	defer stopTLS() // before the database is closed
	if err != nil {
		return err
	}
	if c.Demo {
		d, err := demo.Fill(ctx, s)
		if err != nil {
			return err
		}
		if err := d.Print(os.Stdout, c.PublicURL); err != nil {
			return err
		}
	}
	if err := operate.OfferSetup(ctx, os.Stdout, s); err != nil {
		return err
	}
	log.Info("listening", "address", addressOf(listeners.public), "public_url", c.PublicURL, "version", version.String())
	defer notify(ctx, log)()
	return srv.Run(ctx, listeners.public)
}

// limiter returns a limiter in Redis if --redis is set, else in memory.
func limiter(c config.Config, log *slog.Logger, s *service.Service) (limit.Limiter, func() error) {
	memory := limit.NewMemory(s.Now)
	if c.Redis == nil {
		return memory, func() error { return nil }
	}
	shared := limit.NewRedis(c.Redis, memory, log, s.Now, limit.RedisTimeout)
	return shared, shared.Close
}
