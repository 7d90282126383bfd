package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
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

With --product, the name, brand, model, GTIN, category, terms and length come from a
product of your organization (svc products list), and the start date is today. Other
flags override them. Products need a session as the key, with --account.
Requires the scope ` + string(op.Scope) + `, and a key of an organization.`,
		Example: `  svc warranties issue --product-name 'Kettle' --start-date 2026-03-01 --end-date 2028-02-29
  svc warranties issue --product-name 'Kettle' --start-date 2026-03-01 --end-date 2028-02-29 --customer-email kim@people.example
  svc warranties issue --product 'Tessel induction hob T64' --serial-number T64-0311`,
		Args:              arguments(),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	addParams(cmd, op)
	cmd.Flags().Var(&textFlag{kind: "name or id"}, productFlag, "product to fill the fields from")
	r.addJQ(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.issue(cmd, op) }
	return cmd
}

func (r *run) issue(cmd *cobra.Command, op *api.Spec) error {
	if err := r.ensureKey(cmd, op); err != nil {
		return err
	}
	if cmd.Flags().Changed(productFlag) {
		if err := r.fillProduct(cmd); err != nil {
			return err
		}
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
	if made.Handover != nil && made.Handover.NotEmailed != nil {
		r.note("%s", *made.Handover.NotEmailed)
	} else if in.CustomerEmail != "" {
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

const productFlag = "product"

// fillProduct sets the flags that were not given from the product of --product.
func (r *run) fillProduct(cmd *cobra.Command) error {
	named := strings.TrimSpace(cmd.Flags().Lookup(productFlag).Value.String())
	if named == "" {
		return usage("--product is empty.", "Use the name or ID of a product. svc products list shows them.")
	}
	remote, err := r.connect(false)
	if err != nil {
		return err
	}
	if kind, ok := warranty.ParseSecret(r.key.Secret); ok && kind != warranty.SessionSecret {
		return usage("Integration tokens cannot read products, and neither can a sign-in with the browser.",
			"Use a session as the key for --product, or give --product-name, --start-date and --end-date instead.")
	}
	product, err := r.findProduct(cmd.Context(), remote, named)
	if err != nil {
		return err
	}
	start := r.today()
	if given := cmd.Flags().Lookup("start-date"); given.Changed {
		start, _ = warranty.ParseDate(given.Value.String()) // input reports an invalid one
	}
	for name, value := range map[string]*string{
		"product-name": &product.Name, "brand": product.Brand, "model": product.Model, "gtin": product.GTIN,
		"category": product.Category, "description": product.Terms,
		"start-date": warranty.Optional(start.String()), "end-date": warranty.Optional(product.EndDate(max(start, 1)).String()),
	} {
		if flag := cmd.Flags().Lookup(name); value != nil && !flag.Changed {
			if err := cmd.Flags().Set(name, *value); err != nil {
				return err
			}
		}
	}
	return nil
}

// findProduct returns the product with an ID or a name, ignoring case.
func (r *run) findProduct(ctx context.Context, remote *client.Client, named string) (warranty.Product, error) {
	if id, err := warranty.ParseID(named); err == nil {
		product, _, err := call(ctx, remote, api.GetProduct, warranty.GetProduct{ID: id})
		return product, err
	}
	in := warranty.ListProducts{Q: named, Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit}}
	for ; ; in.Page++ {
		page, _, err := call(ctx, remote, api.ListProducts, in)
		if err != nil {
			return warranty.Product{}, err
		}
		for _, product := range page.Data {
			if warranty.Fold(product.Name) == warranty.Fold(named) {
				return product, nil
			}
		}
		if int64(in.Page) >= page.Pagination.TotalPages {
			return warranty.Product{}, usage("No product is named "+safeLine(named)+".",
				"Check the name and --account. svc products list shows the products of the organization.")
		}
	}
}
