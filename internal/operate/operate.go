// Package operate does the work of an operator: it opens and checks a data folder, and has the commands of svcd for
// accounts, keys, backups and checks.
package operate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/outbound"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
)

// AddCommands adds the commands for operators and the flags of all settings to the command of the server.
func AddCommands(root *cobra.Command) {
	root.Flags().SortFlags, root.PersistentFlags().SortFlags = false, false
	config.AddFlags(root.PersistentFlags())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return UsageError{fmt.Errorf("%w; see svcd --help", err)}
	})
	root.AddCommand(
		userCommand(),
		organizationCommand(),
		signingKeyCommand(),
		secretsKeyCommand(),
		setupLinkCommand(),
		configCommand(),
		backupCommand(),
		restoreCommand(),
		copyCommand(),
		doctorCommand(),
		healthcheckCommand(),
	)
	setUsage(root)
}

// NoArguments rejects arguments.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError{fmt.Errorf("unknown command %q; see svcd --help", args[0])}
	}
	return nil
}

// Load reads the settings of a command and checks the paths in them.
func Load(cmd *cobra.Command) (config.Config, error) {
	c, err := config.Load(cmd.Flags(), os.Getenv, config.SystemFile)
	if err == nil {
		err = config.Misspelled(config.UnknownVars(os.Environ()))
	}
	if err != nil {
		return c, UsageError{err}
	}
	if err := checkPaths(c); err != nil {
		return c, UsageError{err}
	}
	if !c.IsPostgres() {
		c.Database = resolveLinks(c.Database)
	}
	return c, nil
}

// Open locks and opens what a server needs: the database, the document files and the keys. Nothing is created
// if the settings or the place are wrong. The returned function closes all of it.
func Open(
	ctx context.Context, c config.Config, log *slog.Logger,
) (s *service.Service, release func() error, err error) {
	var opened []func() error
	closeAll := func() (err error) {
		for i := len(opened) - 1; i >= 0; i-- {
			err = errors.Join(err, opened[i]())
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	if err := checkSecrets(c); err != nil {
		return nil, nil, UsageError{err}
	}
	if err := checkFresh(ctx, c); err != nil {
		return nil, nil, err
	}
	unlock, err := lockDatabase(c)
	if err != nil {
		return nil, nil, err
	}
	opened = append(opened, unlock)
	if err := checkFinished(ctx, c); err != nil {
		return nil, nil, err
	}
	if s, err = openService(ctx, c, log); err != nil {
		return nil, nil, err
	}
	opened = append(opened, s.Store.Close)
	if err := checkKeys(ctx, c, s.Store); err != nil {
		return nil, nil, err // before openFiles binds the folder: running replicas may need it
	}
	closeFiles, err := openFiles(ctx, c, s)
	if err != nil {
		return nil, nil, err
	}
	opened = append(opened, closeFiles)
	if err := openSigningKey(ctx, c, s); err != nil {
		return nil, nil, err
	}
	if err := openSecretsKey(ctx, c, s); err != nil {
		return nil, nil, err
	}
	return s, closeAll, openPasskeys(s)
}

// openPasskeys offers passkeys if the public URL can have them. doctor says why it cannot.
func openPasskeys(s *service.Service) error {
	err := s.OpenPasskeys()
	if unavailable := identity.Unavailable(""); errors.As(err, &unavailable) {
		return nil
	}
	return err
}

// checkKeys rejects keys that are not those of the database. It changes nothing.
func checkKeys(ctx context.Context, c config.Config, st *store.Store) error {
	if _, err := checkSigningKey(ctx, st, c); err != nil {
		return err
	}
	_, err := checkSecretsKey(ctx, st, c)
	return err
}

// openService opens the store and the service on it.
func openService(ctx context.Context, c config.Config, log *slog.Logger) (*service.Service, error) {
	st, err := store.Open(ctx, c.Database)
	err = explainUnfinished(err)
	if err != nil && !c.IsPostgres() { // a URL can contain a password
		err = explainDamage(explainDenied(fmt.Errorf("open %s: %w", c.Database, err), databaseFiles(c)...), c)
	}
	if err != nil {
		return nil, err
	}
	s := service.New(st, log)
	s.PublicURL, s.RateLimit, s.MaxTokenRate = c.PublicURL, c.RateLimit, c.MaxTokenRate
	s.SignupClosed, s.SignupSet = c.Signup == "closed", c.Signup != ""
	s.RequireTwoStep = c.RequireTwoStep
	s.StorageLimit, s.MailLimit, s.OrganizationLimit = int64(c.StorageLimit)<<20, c.MailLimit, c.OrganizationLimit
	if !c.NoMetadataDocuments {
		s.Documents = (&outbound.Client{}).JSON
	}
	if c.SMTP != nil {
		s.Mail, s.RequireVerified = mail.NewSMTP(c.SMTP, c.MailFrom), true
	}
	return s, nil
}
