package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// organizationCommand manages organizations. It works with and without a running server.
func organizationCommand() *cobra.Command {
	organization := &cobra.Command{
		Use:   "organization",
		Short: "List, disable and delete organizations, appoint admins, revoke tokens",
		RunE: func(*cobra.Command, []string) error {
			return UsageError{errors.New("missing command: list, admin, verify, disable, enable, delete or tokens; " +
				"see svcd organization --help")}
		},
	}
	organization.AddCommand(
		listOrganizationsCommand(),
		organizationAdminCommand(),
		organizationVerifyCommand(),
		accountCommand("disable ID", "Disable an organization: its members cannot act for it, and its tokens are revoked",
			"disabled", (*service.Service).DisableUser),
		accountCommand("enable ID",
			"Enable a disabled organization, or one that is deleted but not erased yet; its tokens stay revoked",
			"enabled", (*service.Service).EnableUser),
		deleteCommand("delete ID", "Disable an organization, and erase it and the records that only it can see after 30 days",
			oneID),
		tokensCommand("tokens ID", "List the integration tokens of an organization, or revoke one", oneID),
	)
	return organization
}

// oneID requires the id of an organization.
func oneID(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		if _, err := warranty.ParseID(strings.TrimSpace(args[0])); err == nil {
			return nil
		}
	}
	return UsageError{errors.New("give the ID of an organization; svcd organization list shows it")}
}

func organizationVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify ID DOMAIN",
		Short: "Verify a domain of an organization without DNS, for services that serve one business",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return UsageError{errors.New("give the ID of an organization and its domain")}
			}
			return oneID(cmd, args[:1])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withService(func(cmd *cobra.Command, s *service.Service, name string) error {
				id, err := warranty.ParseID(name)
				if err != nil {
					return err
				}
				d, err := s.VerifyDomain(cmd.Context(), id, args[1])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is now a verified domain of %s\n", d.Domain, id)
				return err
			})(cmd, args[:1])
		},
	}
}

func organizationAdminCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "admin ID EMAIL",
		Short: "Make a person an admin of an organization",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return UsageError{errors.New("give the ID of an organization and the email address of a person")}
			}
			return oneID(cmd, args[:1])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			email := strings.ToLower(strings.TrimSpace(args[1]))
			return withService(func(cmd *cobra.Command, s *service.Service, name string) error {
				id, err := warranty.ParseID(name)
				if err != nil {
					return err
				}
				if err := s.MakeAdmin(cmd.Context(), id, email); err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is now an admin of %s\n", email, id)
				return err
			})(cmd, args[:1])
		},
	}
}

// listedOrganization is an organization in the JSON output of organization list.
type listedOrganization struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	State        store.UserState `json:"state"`
	Members      int64           `json:"members"`
	Admins       []string        `json:"admins"`
	Records      int64           `json:"records"`
	StorageBytes int64           `json:"storage_bytes"`
	EraseAt      *time.Time      `json:"erase_at"`
	CreatedAt    time.Time       `json:"created_at"`
}

func listOrganizationsCommand() *cobra.Command {
	var asJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the organizations, with members, admins, records and storage",
		Args:  NoArguments,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, _ string) error {
			all := []store.OrganizationSummary{}
			for after := (warranty.ID{}); ; {
				page, err := s.Store.AllOrganizations(cmd.Context(), after, userBatch)
				if err != nil {
					return err
				}
				if all = append(all, page...); len(page) < userBatch {
					break
				}
				after = page[len(page)-1].ID
			}
			if asJSON {
				return organizationJSON(cmd.OutOrStdout(), all)
			}
			return organizationTable(cmd.OutOrStdout(), all)
		}),
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return list
}

func organizationTable(w io.Writer, list []store.OrganizationSummary) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tMEMBERS\tADMINS\tRECORDS\tSTORAGE\tSTATE")
	for _, o := range list {
		admins, state := strings.Join(o.Admins, " "), string(o.State)
		if admins == "" {
			admins = "none active"
		}
		if o.EraseAt != nil {
			state += ", erased on " + day(o.EraseAt)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%d\t%s\t%s\n",
			o.ID, printable(o.Name), o.Members, admins, o.Records, size(o.StorageBytes), state)
	}
	return table.Flush()
}

func organizationJSON(w io.Writer, list []store.OrganizationSummary) error {
	listed := make([]listedOrganization, len(list))
	for i, o := range list {
		listed[i] = listedOrganization{
			ID:           o.ID.String(),
			Name:         o.Name,
			State:        o.State,
			Members:      o.Members,
			Admins:       append([]string{}, o.Admins...),
			Records:      o.Records,
			StorageBytes: o.StorageBytes,
			EraseAt:      o.EraseAt,
			CreatedAt:    o.CreatedAt,
		}
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(listed)
}

// leaderless names an organization.
func leaderless(o warranty.Acting) string { return printable(o.Name) + " (" + o.ID.String() + ")" }
