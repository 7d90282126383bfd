package operate

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Settings that commands use.
var (
	databaseSettings = []string{"config", "data", "database", "database-file"}
	filesSettings    = append([]string{"files", "files-file"}, databaseSettings...)
)

// usedSettings lists the settings that each command uses. Commands that use all, or none, are not listed.
var usedSettings = map[string][]string{
	"user":         databaseSettings,
	"organization": databaseSettings,
	"setup-link":   append([]string{"public-url"}, databaseSettings...),
	"signing-key":  append([]string{"signing-key"}, databaseSettings...),
	"secrets-key":  append([]string{"secrets-key"}, databaseSettings...),
	"backup":       filesSettings,
	"restore":      append([]string{"signing-key", "secrets-key"}, filesSettings...),
	"copy":         {"config", "data", "files", "files-file"},
	"healthcheck":  {"config", "listen", "public-url", "tls-cert", "acme"},
}

// shortUsage is cobra's usage with the settings that a command uses in place of all.
const shortUsage = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Available Commands:{{range .Commands}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

{{settingUsages .}}{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}
`

func setUsage(root *cobra.Command) {
	cobra.AddTemplateFunc("settingUsages", settingUsages)
	root.SetUsageTemplate(shortUsage)
}

// settingUsages describes the settings that a command uses.
func settingUsages(cmd *cobra.Command) string {
	top := cmd
	for top.Parent() != nil && top.Parent().HasParent() {
		top = top.Parent()
	}
	var text string
	if names := usedSettings[top.Name()]; len(names) > 0 && cmd.CommandPath() != "svcd backup verify" {
		used := pflag.NewFlagSet("", pflag.ContinueOnError)
		for _, name := range names {
			used.AddFlag(cmd.InheritedFlags().Lookup(name))
		}
		text = "Settings:\n" + strings.TrimRight(used.FlagUsages(), "\n") + "\n\n"
	}
	return text + "All settings of the service can be given here too; svcd --help lists them."
}
