package operate

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/config"
)

// configCommand prints the settings that svcd would use, in the form of a
// configuration file. Values with a secret are comments without it.
func configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print all settings and where each one is set, without secrets",
		Args:  NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, values, err := config.Resolve(cmd.Flags(), os.Getenv, config.SystemFile)
			if err != nil {
				return UsageError{err}
			}
			var out bytes.Buffer
			for _, v := range values {
				text, from := v.Text, v.Source
				if !v.Setting.Literal() {
					text = strconv.Quote(text)
				}
				if from == "" {
					from = "default"
				}
				comment := ""
				if v.Hidden {
					comment, from = "# ", from+"; secret hidden"
				}
				if v.Setting.Flag == config.FileFlag {
					comment = "# " // a file cannot name another one
				}
				fmt.Fprintf(&out, "%s%s = %s # %s\n", comment, v.Setting.Flag, text, from)
			}
			_, err = out.WriteTo(cmd.OutOrStdout())
			return err
		},
	}
}
