package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// issueCommand issues a warranty to a customer: with a code to print, or by email.
func (r *run) issueCommand() *cobra.Command {
	op := api.IssueWarranty.Spec
	cmd := &cobra.Command{
		Use:   "issue",
		Short: "Issue a warranty to a customer",
		Long: `Creates a warranty of your organization and offers it to a customer.

With --customer-email, the offer is emailed. Otherwise svc prints a one-time code
for the customer, and an address for a QR code. The code is shown only once; for a
new one, use svc warranties hand-over.

With --product, the name, brand, model, GTIN, category, terms and length come from a
product of your organization (svc products list), and the start date is the date of
purchase or today. Other flags override them. A name needs the scope
` + string(warranty.WarrantiesRead) + ` too; an ID does not.
Requires the scope ` + string(op.Scope) + `, and a key of an organization.`,
		Example: `  svc warranties issue --product-name 'Kettle' --start-date 2026-03-01 --end-date 2028-02-29
  svc warranties issue --product-name 'Kettle' --start-date 2026-03-01 --end-date 2028-02-29 --customer-email kim@people.example
  svc warranties issue --product 'Tessel induction hob T64' --serial-number T64-0311`,
		Args:              arguments(),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	addParams(cmd, op)
	cmd.Flags().Var(&textFlag{kind: "name or id"}, productFlag, "name or ID of a product, instead of --product-id")
	r.addJQ(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.issue(cmd, op) }
	return cmd
}

func (r *run) issue(cmd *cobra.Command, op *api.Spec) error {
	flags := cmd.Flags()
	if flags.Changed(productFlag) {
		if err := r.setProduct(cmd); err != nil {
			return err
		}
	}
	if !flags.Changed("customer-email") && !flags.Changed("print") {
		if err := flags.Set("print", "true"); err != nil {
			return err
		}
	}
	return r.operate(cmd, op, nil)
}

const productFlag = "product"

// setProduct sets --product-id to the product of --product.
func (r *run) setProduct(cmd *cobra.Command) error {
	named := strings.TrimSpace(cmd.Flags().Lookup(productFlag).Value.String())
	switch {
	case named == "":
		return usage("--product is empty.", "Use the name or ID of a product. svc products list shows them.")
	case cmd.Flags().Changed("product-id"):
		return usage("--product and --product-id are the same.", "Use one of them.")
	}
	if _, err := warranty.ParseID(named); err == nil {
		return cmd.Flags().Set("product-id", named)
	}
	remote, err := r.connect(false)
	if err != nil {
		return err
	}
	product, err := r.findProduct(cmd.Context(), remote, named)
	if err != nil {
		return err
	}
	return cmd.Flags().Set("product-id", product.ID.String())
}

// findProduct returns the product with a name, ignoring case.
func (r *run) findProduct(ctx context.Context, remote *client.Client, named string) (warranty.Product, error) {
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
