package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
)

func deleteCommand() *cobra.Command {
	var yes bool
	remove := &cobra.Command{
		Use:   "delete EMAIL",
		Short: "Delete an account, its personal data and the records that only it can see",
		Args:  oneEmail,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			account, n, err := s.UserRecords(cmd.Context(), email)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintln(out, deletionOf(account, n))
			if !yes {
				if err := confirm(cmd, email); err != nil {
					return err
				}
			}
			if err := s.DeleteUser(cmd.Context(), email); err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "deleted %s\n", email)
			return err
		}),
	}
	remove.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return remove
}

// deletionOf says what deleting an account does.
func deletionOf(account store.Account, n store.UserRecords) string {
	text := fmt.Sprintf("%s (%s)\nRecords that only this account can see, and that are deleted: %d, with %d documents (%s).",
		account.Email, printable(account.Name), n.Own, n.OwnDocuments, size(n.OwnBytes))
	if n.Shared > 0 {
		text += fmt.Sprintf("\nRecords that others can see, and that stay with their claims and documents: %d.", n.Shared)
	}
	if n.Ownerless > 0 {
		text += fmt.Sprintf(" Without an owner afterwards: %d; to keep one, let this account transfer them first.",
			n.Ownerless)
	}
	return text + "\nThis cannot be undone, except by restoring a backup."
}

// confirm asks the operator to type the address.
func confirm(cmd *cobra.Command, email string) error {
	if !isTerminal(cmd.InOrStdin()) {
		return usageError{errors.New("nothing was deleted; add --yes to delete without confirmation")}
	}
	fmt.Fprint(cmd.ErrOrStderr(), "Type the address to delete the account: ")
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !strings.EqualFold(strings.TrimSpace(line), email) {
		return usageError{errors.New("the addresses differ; nothing was deleted")}
	}
	return nil
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && file.Name() != os.DevNull
}
