package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// userCommand is what the operator does with accounts, beside a running server or without one.
func userCommand() *cobra.Command {
	user := &cobra.Command{Use: "user", Short: "Add, disable or give a new password to an account",
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("say add, disable or password; see svcd user --help")}
		}}
	var name string
	add := &cobra.Command{Use: "add EMAIL", Short: "Add an account whose address counts as verified; the password is read from standard input", Args: oneEmail,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			password, err := readPassword(cmd)
			if err != nil {
				return err
			}
			u, err := s.AddUser(cmd.Context(), warranty.Register{Name: name, Email: email, Password: password})
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "added %s (%s)\n", u.Email, u.ID)
			}
			return err
		})}
	add.Flags().StringVar(&name, "name", "", "name shown to others (required)")
	disable := &cobra.Command{Use: "disable EMAIL", Short: "Shut an account out: its sessions end and its tokens stop working", Args: oneEmail,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			if err := s.DisableUser(cmd.Context(), email); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "disabled %s\n", email)
			return err
		})}
	var keepTokens bool
	password := &cobra.Command{Use: "password EMAIL", Short: "Reset a password, read from standard input; every session, token and calendar feed ends", Args: oneEmail,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			password, err := readPassword(cmd)
			if err != nil {
				return err
			}
			if err := s.SetPassword(cmd.Context(), email, password, keepTokens); err != nil {
				return err
			}
			ended := "every session, token and calendar feed has ended"
			if keepTokens {
				ended = "every session has ended"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "new password set for %s; %s\n", email, ended)
			return err
		})}
	password.Flags().BoolVar(&keepTokens, "keep-tokens", false, "end sessions only: tokens, calendar feeds and offers of transfer go on")
	user.AddCommand(add, disable, password)
	return user
}

func oneEmail(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{errors.New("name the account by its e-mail address")}
	}
	return nil
}

// withService opens the database for one command.
func withService(do func(*cobra.Command, *service.Service, string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		c, err := load(cmd)
		if err != nil {
			return err
		}
		if _, err := os.Stat(c.Database); !c.IsPostgres() && cmd.Name() != "add" && errors.Is(err, fs.ErrNotExist) {
			return usageError{fmt.Errorf("there is no database at %s; name its folder with --data", c.Database)}
		}
		made := missingFiles(c)
		if !c.IsPostgres() {
			if err := files.Make(filepath.Dir(c.Database)); err != nil {
				return denied(err, filepath.Dir(c.Database))
			}
		}
		s, err := open(cmd.Context(), c, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		if err != nil {
			return err
		}
		// At once, for a service that starts beside it, and for what the end leaves.
		defer func() { err = errors.Join(err, s.Store.Close(), handOver(made)) }()
		if err := handOver(made); err != nil {
			return err
		}
		email := strings.ToLower(strings.TrimSpace(args[0]))
		if err = do(cmd, s, email); errors.Is(err, warranty.ErrNotFound) {
			err = fmt.Errorf("there is no account %s", email)
		}
		var refusal *warranty.Error
		if errors.As(err, &refusal) && refusal.Code == warranty.ValidationFailed {
			err = usageError{err}
		}
		return err
	}
}

// readPassword takes a line from standard input: a password in the command's
// arguments would show in the process list and the shell's history.
func readPassword(cmd *cobra.Command) (string, error) {
	if file, ok := cmd.InOrStdin().(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			fmt.Fprint(cmd.ErrOrStderr(), "New password (shown as you type): ")
		}
	}
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", usageError{fmt.Errorf("give the password as one line on standard input: %w", errors.Join(err, errors.New("nothing was read")))}
	}
	return line, nil
}
