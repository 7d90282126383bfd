package cli

import (
	"net/url"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/credentials"
	"warranty.example/svc/warranty"
)

func (r *run) loginCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "login",
		Short: "Store an API key for this service",
		Long: `Reads an integration token from the terminal without echo, or from standard
input, checks it with the service, and stores it for this base URL. The file is
svc/credentials in your configuration directory, with mode 0600.`,
		Example: "  svc auth login\n  svc auth login < token.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("The key cannot be an argument, because it would stay in the shell history.",
					"Run svc auth login and paste the key when asked. If you have already typed it, rotate the token.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return r.login(cmd) },
	}
}

func (r *run) login(cmd *cobra.Command) error {
	if u, err := url.Parse(r.address()); err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		r.note("Warning: the key will be sent unencrypted to %s. Use https if you can.", u.Host)
	}
	key, err := r.askForKey(cmd)
	if err != nil {
		return err
	}
	switch kind, ok := warranty.ParseSecret(key); {
	case key == "":
		return warranty.Refuse(warranty.MissingCredential, "No key entered.")
	case !ok:
		return warranty.Refuse(warranty.InvalidCredential, "This is not a complete integration token. It was not sent.")
	case kind != warranty.TokenSecret:
		return warranty.Refuse(warranty.InvalidCredential, "This is a session, not an integration token. "+
			"Generate a token in the settings, under API / CLI / MCP.")
	}
	remote, err := r.connectAs(key, false)
	if err != nil {
		return err
	}
	status, response, err := call(cmd.Context(), remote, api.GetAuthStatus, warranty.GetAuthStatus{})
	if err != nil {
		return err
	}
	stored, err := r.loadKeys()
	if err != nil {
		r.note("%s", err.Error())
		stored = credentials.StoredKeys{Keys: map[string]string{}}
	}
	stored.Keys[r.address()] = key
	file, err := r.keyStore().Save(stored)
	if err != nil {
		return err
	}
	r.note("Stored the key for %s in %s. Only you can read this file.", r.address(), file)
	r.key.From = "svc auth login"
	for _, name := range []string{credentials.KeyEnv, credentials.KeyFileEnv} {
		if r.Getenv(name) != "" {
			r.note("%s is set and takes precedence over the stored key.", name)
		}
	}
	return r.show(cmd.Context(), api.GetAuthStatus.Spec, &status, response, nil)
}

func (r *run) askForKey(cmd *cobra.Command) (string, error) {
	if !r.StdinTerminal {
		key, err := r.readLine(cmd.Context())
		r.key.Secret = key
		return key, err
	}
	r.prompt("API key for " + safeLine(r.address()) + " (hidden): ")
	key, err := r.ReadSecret(cmd.Context())
	r.prompt("\n")
	r.key.Secret = key
	return key, err
}

func loopback(host string) bool {
	return host == "localhost" || host == "::1" || len(host) > 4 && host[:4] == "127."
}

func (r *run) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Remove the stored API key for this service",
		Long: `Removes the stored key for this base URL. The token itself remains valid until it
expires or you revoke it in the settings.`,
		Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			stored, err := r.loadKeys()
			if err != nil {
				return err
			}
			if _, ok := stored.Keys[r.address()]; !ok {
				r.note("No key is stored for %s.", r.address())
				return nil
			}
			delete(stored.Keys, r.address())
			file, err := r.keyStore().Save(stored)
			if err != nil {
				return err
			}
			r.note("Removed the key for %s from %s. If nothing else uses the token, revoke it in the settings.",
				r.address(), file)
			return nil
		},
	}
}
