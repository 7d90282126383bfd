package operate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/terminal"
	"warranty.example/svc/warranty"
)

// userCommand manages accounts. It works with and without a running server.
func userCommand() *cobra.Command {
	user := &cobra.Command{
		Use:   "user",
		Short: "List, add, disable and delete accounts, reset passwords, revoke tokens, end sessions",
		RunE: func(*cobra.Command, []string) error {
			return UsageError{errors.New("missing command: list, add, password, disable, enable, delete, tokens, sessions, " +
				"sign-out, second-factor or admin; see svcd user --help")}
		},
	}
	user.AddCommand(listCommand(), addCommand(), passwordCommand(), disableCommand(),
		accountCommand("enable EMAIL",
			"Enable a disabled account, or one that is deleted but not erased yet; its tokens stay revoked",
			"enabled", (*service.Service).EnableUser),
		deleteCommand("delete EMAIL", "Disable an account, and erase it and the records that only it can see after 30 days",
			oneEmail),
		tokensCommand("tokens EMAIL", "List the integration tokens of an account, or revoke one", oneEmail), sessionsCommand(),
		signOutCommand(), secondFactorCommand(), adminCommand())
	return user
}

func addCommand() *cobra.Command {
	var name string
	add := &cobra.Command{
		Use:   "add EMAIL",
		Short: "Add an account with a verified address; reads the password from standard input",
		Args:  oneEmail,
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
		}),
	}
	add.Flags().StringVar(&name, "name", "", "name shown to others (required)")
	return add
}

// accountCommand is a command that changes the state of an account.
func accountCommand(
	use, short, done string, change func(*service.Service, context.Context, string) error,
) *cobra.Command {
	args := oneEmail
	if strings.HasSuffix(use, " ID") {
		args = oneID
	}
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  args,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, name string) error {
			if err := change(s, cmd.Context(), name); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", done, name)
			return err
		}),
	}
}

func disableCommand() *cobra.Command {
	var keepTokens bool
	disable := &cobra.Command{
		Use:   "disable EMAIL",
		Short: "Disable an account; ends its sessions, tokens and feeds, and those that the person made in organizations",
		Args:  oneEmail,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			disable := s.DisableUser
			if keepTokens {
				disable = s.DisableUserKeepingTokens
			}
			if err := disable(cmd.Context(), email); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if _, err := fmt.Fprintf(out, "disabled %s\n", email); err != nil {
				return err
			}
			left, err := s.LedOnlyBy(cmd.Context(), email)
			for _, o := range left {
				fmt.Fprintf(out, "%s has no active admin now; appoint one with: svcd organization admin %s EMAIL\n",
					leaderless(o), o.ID)
			}
			return err
		}),
	}
	disable.Flags().BoolVar(&keepTokens, "keep-tokens", false, "keep the tokens that the person made in organizations")
	return disable
}

func adminCommand() *cobra.Command {
	var revoke bool
	admin := &cobra.Command{
		Use:   "admin EMAIL",
		Short: "Grant an account access to the admin page",
		Args:  oneEmail,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			if err := s.SetAdmin(cmd.Context(), email, !revoke); err != nil {
				return err
			}
			done := "is now an administrator"
			if revoke {
				done = "is no longer an administrator"
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", email, done)
			return err
		}),
	}
	admin.Flags().BoolVar(&revoke, "revoke", false, "revoke the access")
	return admin
}

func passwordCommand() *cobra.Command {
	var keepTokens bool
	password := &cobra.Command{
		Use:   "password EMAIL",
		Short: "Reset a password, read from standard input; ends all sessions, tokens and calendar feeds",
		Args:  oneEmail,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			password, err := readPassword(cmd)
			if err != nil {
				return err
			}
			if err := s.SetPassword(cmd.Context(), email, password, keepTokens); err != nil {
				return err
			}
			ended := "all sessions, tokens and calendar feeds ended"
			if keepTokens {
				ended = "all sessions ended"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "new password set for %s; %s\n", email, ended)
			return err
		}),
	}
	password.Flags().BoolVar(&keepTokens, "keep-tokens", false,
		"end sessions only; keep tokens, calendar feeds and open transfers")
	return password
}

func oneEmail(_ *cobra.Command, args []string) error {
	if len(args) != 1 || !strings.Contains(args[0], "@") {
		return UsageError{errors.New("give the account's email address")}
	}
	return nil
}

// readPassword reads a line from standard input, because arguments are visible in
// the process list and the shell history. On a terminal it asks twice, without echo.
func readPassword(cmd *cobra.Command) (string, error) {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !terminal.Is(in) {
		return readLine(cmd)
	}
	ask := func(prompt string) (string, error) {
		fmt.Fprint(cmd.ErrOrStderr(), prompt)
		line, err := terminal.ReadSecret(cmd.Context(), in)
		fmt.Fprintln(cmd.ErrOrStderr())
		switch {
		case cmd.Context().Err() != nil:
			err = errors.New("interrupted; nothing was changed")
		case err != nil:
			err = UsageError{fmt.Errorf("read the password: %w", err)}
		}
		return line, err
	}
	password, err := ask("New password: ")
	if err != nil {
		return "", err
	}
	switch again, err := ask("Repeat the password: "); {
	case err != nil:
		return "", err
	case password != again:
		return "", UsageError{errors.New("the passwords differ; nothing was changed")}
	}
	return password, nil
}

// readLine reads the only line of standard input.
func readLine(cmd *cobra.Command) (string, error) {
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		if err != nil && !errors.Is(err, io.EOF) {
			return "", UsageError{fmt.Errorf("read the password: %w", err)}
		}
		return "", UsageError{errors.New("give the password as one line on standard input")}
	}
	return line, nil
}
