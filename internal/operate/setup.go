package operate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/service"
)

// setupLinkCommand prints a new set-up link.
func setupLinkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "setup-link",
		Short: "Print a new link that makes the first administrator, if there is no account yet",
		Args:  NoArguments,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, _ string) error {
			err := printSetupLink(cmd.Context(), cmd.OutOrStdout(), s)
			if errors.Is(err, service.ErrSetUp) {
				return UsageError{errors.New("this service already has accounts; " +
					"add another with svcd user add, and make it an administrator with svcd user admin")}
			}
			return err
		}),
	}
}

// printSetupLink prints a new link that makes the first administrator.
func printSetupLink(ctx context.Context, w io.Writer, s *service.Service) error {
	link, expires, err := s.SetupLink(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Open this link to set up the service and create the first administrator:\n\n    %s\n\n"+
		"It works once, until %s. Get a new one with: svcd setup-link\n", link, expires.UTC().Format("2 Jan 2006 15:04 MST"))
	return err
}

// OfferSetup prints a set-up link unless the service is set up.
func OfferSetup(ctx context.Context, w io.Writer, s *service.Service) error {
	err := printSetupLink(ctx, w, s)
	if errors.Is(err, service.ErrSetUp) {
		return nil
	}
	return err
}
