package operate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// deleteCommand deletes a person's account by its address, or an organization by its id.
func deleteCommand(use, short string, args cobra.PositionalArgs) *cobra.Command {
	var yes, now bool
	remove := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  args,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, name string) error {
			if yes && now {
				return UsageError{errors.New("--now cannot be undone and needs the " + nameOf(name) +
					" as confirmation; leave out --yes")}
			}
			account, n, err := s.UserRecords(cmd.Context(), name)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintln(out, deletionOf(account, n, now))
			if !yes {
				if err := confirm(cmd, name, now); err != nil {
					return err
				}
			}
			if now {
				if err := s.EraseUser(cmd.Context(), name); err != nil {
					return err
				}
				_, err = fmt.Fprintf(out, "erased %s\n", name)
				return err
			}
			due, err := s.DeleteUser(cmd.Context(), name)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "disabled %s; it is erased on %s, unless you run: svcd %s enable %s\n",
				name, day(&due), cmd.Parent().Name(), name)
			return err
		}),
	}
	remove.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	remove.Flags().BoolVar(&now, "now", false,
		"erase the account at once; asks for the address or ID, also on standard input")
	return remove
}

// deletionOf says what deleting an account does.
func deletionOf(account store.Account, n store.UserRecords, now bool) string {
	id := account.Email
	if account.Kind == warranty.OrganizationKind {
		id = account.ID.String()
	}
	text := fmt.Sprintf("%s (%s)\nRecords that only this account can see, and that are erased with it: "+
		"%d, with %d documents (%s).",
		id, printable(account.Name), n.Own, n.OwnDocuments, size(n.OwnBytes))
	if n.Shared > 0 {
		text += fmt.Sprintf("\nRecords that others can see, and that stay with their claims and documents: %d.", n.Shared)
	}
	if n.Ownerless > 0 {
		text += fmt.Sprintf(" Without an owner afterwards: %d; to keep one, let this account transfer them first.",
			n.Ownerless)
	}
	if now {
		return text + "\nThis cannot be undone, except by restoring a backup."
	}
	return text + "\nIts sessions and tokens end now. Nothing is erased for 30 days."
}

// nameOf says what an account is named by.
func nameOf(name string) string {
	if strings.Contains(name, "@") {
		return "address"
	}
	return "ID"
}

// confirm asks the operator to type the address, or the id of an organization.
func confirm(cmd *cobra.Command, name string, now bool) error {
	if !now && !isTerminal(cmd.InOrStdin()) {
		return UsageError{errors.New("nothing was deleted; add --yes to delete without confirmation")}
	}
	if isTerminal(cmd.InOrStdin()) {
		fmt.Fprint(cmd.ErrOrStderr(), "Type the "+nameOf(name)+" to delete the account: ")
	}
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !strings.EqualFold(strings.TrimSpace(line), name) {
		what := "the addresses"
		if nameOf(name) == "ID" {
			what = "the IDs"
		}
		return UsageError{errors.New(what + " differ; nothing was deleted")}
	}
	return nil
}
