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
	var yes, now bool
	remove := &cobra.Command{
		Use:   "delete EMAIL",
		Short: "Disable an account, and erase it and the records that only it can see after 30 days",
		Args:  oneEmail,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, email string) error {
			if yes && now {
				return usageError{errors.New("--now cannot be undone and needs the address as confirmation; leave out --yes")}
			}
			account, n, err := s.UserRecords(cmd.Context(), email)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintln(out, deletionOf(account, n, now))
			if !yes {
				if err := confirm(cmd, email, now); err != nil {
					return err
				}
			}
			if now {
				if err := s.EraseUser(cmd.Context(), email); err != nil {
					return err
				}
				_, err = fmt.Fprintf(out, "erased %s\n", email)
				return err
			}
			due, err := s.DeleteUser(cmd.Context(), email)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "disabled %s; it is erased on %s, unless you run: svcd user enable %s\n",
				email, day(&due), email)
			return err
		}),
	}
	remove.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	remove.Flags().BoolVar(&now, "now", false, "erase the account at once; asks for the address, also on standard input")
	return remove
}

// deletionOf says what deleting an account does.
func deletionOf(account store.Account, n store.UserRecords, now bool) string {
	text := fmt.Sprintf("%s (%s)\nRecords that only this account can see, and that are erased with it: %d, with %d documents (%s).",
		account.Email, printable(account.Name), n.Own, n.OwnDocuments, size(n.OwnBytes))
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

// confirm asks the operator to type the address.
func confirm(cmd *cobra.Command, email string, now bool) error {
	if !now && !isTerminal(cmd.InOrStdin()) {
		return usageError{errors.New("nothing was deleted; add --yes to delete without confirmation")}
	}
	if isTerminal(cmd.InOrStdin()) {
		fmt.Fprint(cmd.ErrOrStderr(), "Type the address to delete the account: ")
	}
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
