package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/service"
)

// sessionsCommand lists where a person is signed in.
func sessionsCommand() *cobra.Command {
	var asJSON bool
	list := &cobra.Command{
		Use:   "sessions EMAIL",
		Short: "List the sessions of an account, the most recently used first",
		Args:  oneEmail,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			sessions, err := s.UserSessions(cmd.Context(), email)
			if err != nil {
				return err
			}
			if asJSON {
				out := json.NewEncoder(cmd.OutOrStdout())
				out.SetIndent("", "  ")
				return out.Encode(sessions)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "ID\tMETHOD\tDEVICE\tNETWORK\tSIGNED IN\tLAST USED\tEXPIRES")
			for _, one := range sessions {
				var method string
				if one.Method != nil {
					method = string(*one.Method)
				}
				if one.Second != nil {
					method += "+" + string(*one.Second)
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", one.ID, method,
					strings.TrimSpace(one.Program+" "+one.System), one.Network, day(&one.CreatedAt), day(&one.LastSeenAt),
					day(&one.ExpiresAt))
			}
			return table.Flush()
		}),
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return list
}

// signOutCommand ends the sessions of a person, or of everyone.
func signOutCommand() *cobra.Command {
	var all bool
	signOut := &cobra.Command{
		Use:   "sign-out EMAIL",
		Short: "End all sessions of an account, or of all accounts with --all; tokens and apps keep working",
		Args: func(cmd *cobra.Command, args []string) error {
			if !all {
				return oneEmail(cmd, args)
			}
			if len(args) > 0 {
				return UsageError{errors.New("give either an email address or --all")}
			}
			return nil
		},
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			end, who := func() (int, error) { return s.SignOutUser(cmd.Context(), email) }, email
			if all {
				end, who = func() (int, error) { return s.SignOutAll(cmd.Context()) }, "everyone"
			}
			n, err := end()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed out %s; sessions ended: %d\n", who, n)
			return err
		}),
	}
	signOut.Flags().BoolVar(&all, "all", false, "sign everyone out")
	return signOut
}

// secondFactorCommand removes the second factors of a person who has lost them.
func secondFactorCommand() *cobra.Command {
	var reset bool
	factor := &cobra.Command{
		Use:   "second-factor EMAIL",
		Short: "With --reset, remove the passkeys, authenticator app and recovery codes of an account; ends its sessions",
		Args:  oneEmail,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			if !reset {
				return UsageError{errors.New("add --reset to remove the second factors; first make sure who asks for it")}
			}
			if err := s.ResetSecondFactors(cmd.Context(), email); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "second factors of %s removed; two-step sign-in is off, all sessions ended\n", email)
			return err
		}),
	}
	factor.Flags().BoolVar(&reset, "reset", false, "remove all second factors and turn two-step sign-in off")
	return factor
}
