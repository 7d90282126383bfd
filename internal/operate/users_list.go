package operate

import (
	"encoding/json"
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

// listedUser is an account in the JSON output of user list.
type listedUser struct {
	Email         string          `json:"email"`
	Name          string          `json:"name"`
	State         store.UserState `json:"state"`
	EmailVerified bool            `json:"email_verified"`
	Admin         bool            `json:"admin"`
	Records       int64           `json:"records"`
	StorageBytes  int64           `json:"storage_bytes"`
	LastSignInAt  *time.Time      `json:"last_sign_in_at"`
	EraseAt       *time.Time      `json:"erase_at"`
	CreatedAt     time.Time       `json:"created_at"`
	ID            string          `json:"id"`
}

// userBatch is the number of accounts per query.
const userBatch = 500

func listCommand() *cobra.Command {
	var asJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the accounts, with records, storage and last sign-in",
		Args:  NoArguments,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, _ string) error {
			print, flush := userTable(cmd.OutOrStdout())
			if asJSON {
				print, flush = userJSON(cmd.OutOrStdout())
			}
			for after := ""; ; {
				users, err := s.Store.Users(cmd.Context(), after, userBatch)
				if err != nil {
					return err
				}
				for _, u := range users {
					if err := print(u); err != nil {
						return err
					}
				}
				if len(users) < userBatch {
					return flush()
				}
				after = users[len(users)-1].Email
			}
		}),
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return list
}

// userTable prints accounts as a table.
func userTable(w io.Writer) (print func(store.UserSummary) error, flush func() error) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ADDRESS\tNAME\tRECORDS\tSTORAGE\tLAST SIGN-IN\tSTATE")
	return func(u store.UserSummary) error {
		state := string(u.State)
		if u.Admin {
			state += ", admin"
		}
		if u.State == store.UserActive && !u.Verified {
			state += ", unverified"
		}
		if u.EraseAt != nil {
			state += ", erased on " + day(u.EraseAt)
		}
		_, err := fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\n",
			u.Email, printable(u.Name), u.Records, size(u.StorageBytes), day(u.LastSignInAt), state)
		return err
	}, table.Flush
}

// userJSON prints accounts as a JSON array, one per line.
func userJSON(w io.Writer) (print func(store.UserSummary) error, flush func() error) {
	separator := "[\n"
	return func(u store.UserSummary) error {
			line, err := json.Marshal(listedUser{
				Email:         u.Email,
				Name:          u.Name,
				State:         u.State,
				EmailVerified: u.Verified,
				Admin:         u.Admin,
				Records:       u.Records,
				StorageBytes:  u.StorageBytes,
				LastSignInAt:  u.LastSignInAt,
				EraseAt:       u.EraseAt,
				CreatedAt:     u.CreatedAt,
				ID:            u.ID.String(),
			})
			if err == nil {
				_, err = fmt.Fprintf(w, "%s%s", separator, line)
			}
			separator = ",\n"
			return err
		}, func() error {
			if separator == "[\n" {
				separator = "["
			} else {
				separator = "\n"
			}
			_, err := fmt.Fprintln(w, separator+"]")
			return err
		}
}

func tokensCommand(use, short string, args cobra.PositionalArgs) *cobra.Command {
	var asJSON bool
	var revoke string
	tokens := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  args,
		RunE: withService(func(cmd *cobra.Command, s *service.Service, name string) error {
			if revoke != "" {
				id, err := warranty.ParseID(revoke)
				if err != nil {
					return UsageError{fmt.Errorf("--revoke: %q is not the ID of a token", revoke)}
				}
				if err := s.RevokeUserToken(cmd.Context(), name, id); err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "revoked %s\n", id)
				return err
			}
			list, err := s.UserTokens(cmd.Context(), name)
			if err != nil {
				return err
			}
			if asJSON {
				if list == nil {
					list = []warranty.Token{}
				}
				out := json.NewEncoder(cmd.OutOrStdout())
				out.SetIndent("", "  ")
				return out.Encode(list)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "ID\tNAME\tPREFIX\tSTATUS\tLAST USED\tEXPIRES\tSCOPES")
			for _, t := range list {
				scopes := make([]string, len(t.Scopes))
				for i, scope := range t.Scopes {
					scopes[i] = string(scope)
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, printable(t.Name), t.Prefix, t.Status,
					day(t.LastUsedAt), day(&t.ExpiresAt), strings.Join(scopes, " "))
			}
			return table.Flush()
		}),
	}
	tokens.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	tokens.Flags().StringVar(&revoke, "revoke", "", "revoke the token with this ID")
	return tokens
}
