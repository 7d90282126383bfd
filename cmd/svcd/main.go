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
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/outbound"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/version"
	"warranty.example/svc/warranty"
)

func main() { os.Exit(run()) }

// run executes the command and returns the exit code: 2 for usage errors, 3 for a
// backup that is not good, 1 for other errors.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the process
	err := command().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "svcd: "+plain(err))
	var usage usageError
	var coded exitError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &usage):
		return 2
	}
	return 1
}

// oneLine joins the lines of an error.
var oneLine = strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ")

// plain returns an error in one line, without what a refusal of the service says to its clients.
func plain(err error) string {
	text := err.Error()
	var refusal *warranty.Error
	if errors.As(err, &refusal) {
		lines := []string{}
		for _, f := range refusal.Fields {
			lines = append(lines, f.Field+": "+f.Message)
		}
		if len(lines) == 0 {
			lines = append(lines, refusal.Message)
		}
		text = strings.Replace(text, refusal.Error()+": ", "", 1) // the cause says more
		text = strings.Replace(text, refusal.Error(), strings.Join(lines, "; "), 1)
	}
	return oneLine.Replace(text)
}

// usageError is an error that the user can fix on the command line.
type usageError struct{ error }

// Unwrap returns the cause.
func (e usageError) Unwrap() error { return e.error }

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "svcd",
		Short:         "The warranty records service",
		Version:       version.String(),
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load(cmd)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), c)
		},
	}
	root.Flags().SortFlags, root.PersistentFlags().SortFlags = false, false
	config.AddFlags(root.PersistentFlags())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see svcd --help", err)}
	})
	root.AddCommand(userCommand(), organizationCommand(), signingKeyCommand(), setupLinkCommand(), configCommand(), backupCommand(), restoreCommand(), copyCommand(), doctorCommand(),
		healthcheckCommand(), manCommand(), versionCommand())
	addCompletion(root)
	setUsage(root)
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "svcd version "+version.String())
			return err
		},
	}
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command %q; see svcd --help", args[0])}
	}
	return nil
}

func load(cmd *cobra.Command) (config.Config, error) {
	c, err := config.Load(cmd.Flags(), os.Getenv, config.SystemFile)
	if err == nil {
		err = config.Misspelled(config.UnknownVars(os.Environ()))
	}
	if err != nil {
		return c, usageError{err}
	}
	if err := checkPaths(c); err != nil {
		return c, usageError{err}
	}
	if !c.IsPostgres() {
		c.Database = resolveLinks(c.Database)
	}
	return c, nil
}

// open opens the store and the service on it.
func open(ctx context.Context, c config.Config, log *slog.Logger) (*service.Service, error) {
	st, err := store.Open(ctx, c.Database)
	err = explainUnfinished(err)
	if err != nil && !c.IsPostgres() { // a URL can contain a password
		err = explainDamage(explainDenied(fmt.Errorf("open %s: %w", c.Database, err), databaseFiles(c)...), c)
	}
	if err != nil {
		return nil, err
	}
	s := service.New(st, log)
	s.PublicURL, s.SignupClosed, s.RateLimit, s.MaxTokenRate = c.PublicURL, c.SignupClosed, c.RateLimit, c.MaxTokenRate
	s.StorageLimit, s.MailLimit, s.OrganizationLimit = int64(c.StorageLimit)<<20, c.MailLimit, c.OrganizationLimit
	if !c.NoMetadataDocuments {
		s.Documents = (&outbound.Client{}).JSON
	}
	if c.SMTP != nil {
		s.Mail, s.RequireVerified = mail.NewSMTP(c.SMTP, c.MailFrom), true
	}
	return s, nil
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
	files, err := openCertificate(c, log)
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
	if err := checkSecrets(c); err != nil {
		return usageError{err}
	}
	if err := checkFresh(ctx, c); err != nil {
		return err
	}
	release, err := lockDatabase(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := checkFinished(ctx, c); err != nil {
		return err
	}
	s, err := open(ctx, c, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Store.Close()) }()
	closeFiles, err := openFiles(ctx, c, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeFiles()) }()

	if err := openSigningKey(ctx, c, s); err != nil {
		return err
	}

	limits, closeLimits := limiter(c, log, s)
	defer func() { err = errors.Join(err, closeLimits()) }()

	srv := &server.Server{
		Service:               s,
		Limits:                limits,
		Log:                   log,
		Version:               version.String(),
		PublicURL:             c.PublicURL,
		Proxies:               c.TrustedProxies,
		IPRate:                c.IPRateLimit,
		VerifyRate:            c.VerifyRateLimit,
		SignInRate:            c.SignInRateLimit,
		SignUpRate:            c.SignUpRateLimit,
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
	if err := offerSetup(ctx, os.Stdout, s); err != nil {
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
