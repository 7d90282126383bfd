package cli

import (
	"net/url"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/credentials"
	"warranty.example/svc/warranty"
)

func (r *run) loginCommand() *cobra.Command {
	return &cobra.Command{Use: "login", Short: "Store a key for this service in a file that only you can read",
		Long: `Reads an integration token from the terminal without echo, or from standard
input, asks the service who it is, and stores it for this base address. The
file is svc/credentials in your folder for settings, with mode 0600.`,
		Example: "  svc auth login\n  svc auth login < token.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("The key is never an argument: it would stay in the shell's history.", "Run svc auth login and paste the key when asked. If you have already typed it, rotate the token.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return r.login(cmd) }}
}

func (r *run) login(cmd *cobra.Command) error {
	if u, err := url.Parse(r.address()); err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		r.note("The key will be sent unencrypted to %s. Use https if the service has it.", u.Host)
	}
	key, err := r.askForKey(cmd)
	if err != nil {
		return err
	}
	switch kind, ok := warranty.ParseSecret(key); {
	case key == "":
		return warranty.Refuse(warranty.MissingCredential, "No key was given.")
	case !ok:
		return warranty.Refuse(warranty.InvalidCredential, "This is not a complete integration token. It was not sent.")
	case kind != warranty.TokenSecret:
		return warranty.Refuse(warranty.InvalidCredential, "This is a session, which expires soon. Generate an integration token in the settings, under API / CLI / MCP.")
	}
	remote, err := r.connectAs(key, false)
	if err != nil {
		return err
	}
	out, answer, err := remote.Do(cmd.Context(), api.GetAuthStatus.Spec, &warranty.GetAuthStatus{})
	if err != nil {
		return &remoteError{err, answer}
	}
	stored, err := r.loadKeys()
	if err != nil {
		r.note("%s", err.Error())
		stored = credentials.Stored{Keys: map[string]string{}}
	}
	stored.Keys[r.address()] = key
	file, err := r.places().Save(stored)
	if err != nil {
		return err
	}
	r.note("Stored the key for %s in %s, which only you can read.", r.address(), file)
	r.key.From = "svc auth login"
	for _, name := range []string{credentials.KeyEnv, credentials.KeyFileEnv} {
		if r.Getenv(name) != "" {
			r.note("%s is set and takes precedence over the stored key.", name)
		}
	}
	return r.show(api.GetAuthStatus.Spec, out, answer)
}

func (r *run) askForKey(cmd *cobra.Command) (string, error) {
	if !r.StdinTerminal {
		key, err := r.readLine(cmd.Context())
		r.key.Secret = key
		return key, err
	}
	r.prompt("API key for " + line(r.address()) + " (not shown): ")
	key, err := r.ReadSecret(cmd.Context())
	r.prompt("\n")
	r.key.Secret = key
	return key, err
}

func loopback(host string) bool {
	return host == "localhost" || host == "::1" || len(host) > 4 && host[:4] == "127."
}

func (r *run) logoutCommand() *cobra.Command {
	return &cobra.Command{Use: "logout", Short: "Forget the key that was stored for this service",
		Long: `Removes the stored key of this base address from the file. The token itself keeps
working until it expires or is revoked in the settings.`,
		Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			stored, err := r.loadKeys()
			if err != nil {
				return err
			}
			if _, ok := stored.Keys[r.address()]; !ok {
				r.note("No key was stored for %s.", r.address())
				return nil
			}
			delete(stored.Keys, r.address())
			file, err := r.places().Save(stored)
			if err != nil {
				return err
			}
			r.note("Removed the key for %s from %s. Revoke the token in the settings if nothing else uses it.", r.address(), file)
			return nil
		}}
}
