package cli

import (
	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// issueCommand creates a warranty and hands it over: with a code to print, or by email.
func (r *run) issueCommand() *cobra.Command {
	op := api.CreateWarranty.Spec
	cmd := &cobra.Command{
		Use:   "issue",
		Short: "Issue a warranty to a customer",
		Long: `Creates a warranty of your organization and offers it to a customer.

With --customer-email, the offer is emailed. Otherwise svc prints a one-time code
for the customer, and an address for a QR code. The code is shown only once; for a
new one, use svc warranties hand-over.
Requires the scope ` + string(op.Scope) + `, and a key of an organization.`,
		Example: `  svc warranties issue --product-name 'Kettle' --start-date 2026-03-01 --end-date 2028-02-29
  svc warranties issue --product-name 'Kettle' --start-date 2026-03-01 --end-date 2028-02-29 --customer-email kim@people.example`,
		Args:              arguments(),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	addParams(cmd, op)
	r.addJQ(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.issue(cmd, op) }
	return cmd
}

func (r *run) issue(cmd *cobra.Command, op *api.Spec) error {
	if err := r.ensureKey(cmd, op); err != nil {
		return err
	}
	decoded, err := input(cmd, op, nil)
	if err != nil {
		return err
	}
	in := *decoded.(*warranty.CreateWarranty)
	remote, err := r.connect(false)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	made, response, err := call(ctx, remote, api.CreateWarranty, in)
	if err != nil {
		return err
	}
	if in.CustomerEmail != "" {
		return r.show(ctx, op, &made, response, nil)
	}
	r.note("Created %s.", made.ReferenceNumber)
	slip := warranty.OfferHandover{ID: warranty.WarrantyKey{ID: made.ID}, CustomerName: in.CustomerName}
	offer, response, err := call(ctx, remote, api.OfferHandover, slip)
	if err != nil {
		return err
	}
	return r.show(ctx, api.OfferHandover.Spec, &offer, response, nil)
}
