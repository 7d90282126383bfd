package cli

import (
	"errors"
	"net/url"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/credentials"
	"warranty.example/svc/internal/signin"
	"warranty.example/svc/warranty"
)

func (r *run) loginCommand() *cobra.Command {
	var web bool
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Sign in to this service, or store an API key for it",
		Long: `With --web, opens the service in your browser, where you sign in and decide what
svc may do. It prints the address too, in case no browser opens. Settings,
Connected apps shows the connection; it ends if you do not use it for 90 days.

Otherwise, reads an integration token from the terminal without echo, or from
standard input, and checks it with the service.

Either is stored for this base URL and used by svc-mcp too. The file is
svc/credentials in your configuration directory, with mode 0600.`,
		Example: "  svc auth login --web\n  svc auth login < token.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("The key cannot be an argument, because it would stay in the shell history.",
					"Run svc auth login and paste the key when asked. If you have already typed it, rotate the token.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if web {
				return r.loginWeb(cmd)
			}
			return r.login(cmd)
		},
	}
	cmd.Flags().BoolVar(&web, "web", false, "sign in with the browser instead of a token")
	return cmd
}

// signIn returns what connects svc to the service in the browser.
func (r *run) signIn() *signin.Service { return &signin.Service{Store: r.keyStore(), Now: r.Now} }

func (r *run) loginWeb(cmd *cobra.Command) error {
	if _, err := r.connectAs(credentials.Key{}, false); err != nil { // checks the base URL
		return err
	}
	service := r.signIn()
	file, err := service.Connect(cmd.Context(), func(address string) {
		if r.OpenBrowser(address) {
			r.note("Sign in and decide in your browser. If it does not open, visit this address:")
		} else {
			r.note("Visit this address on this computer, sign in and decide:")
		}
		r.note("%s", address)
	})
	if err != nil {
		return asRemote(err)
	}
	r.note("Signed in to %s. Stored in %s. Only you can read this file.", r.address(), file)
	r.noteOverride()
	stored, err := r.loadKeys()
	if err != nil {
		return err
	}
	r.key = credentials.Key{Secret: stored.Connections[r.address()].Access, From: "svc auth login", Connected: true}
	return r.showConnection(cmd)
}

// asRemote makes an error of the network one that was returned by a request.
func asRemote(err error) error {
	var network *client.NetworkError
	if errors.As(err, &network) {
		return &remoteError{err: err}
	}
	return err
}

// showConnection says which account svc was connected to, and what it may do there.
func (r *run) showConnection(cmd *cobra.Command) error {
	remote, err := r.connectAs(r.key, false)
	if err != nil {
		return err
	}
	status, response, err := call(cmd.Context(), remote, api.GetAuthStatus, warranty.GetAuthStatus{})
	if err != nil {
		return err
	}
	r.note("%s", status.Describe("svc"))
	return r.show(cmd.Context(), api.GetAuthStatus.Spec, &status, response, nil)
}

// noteOverride tells the user if the environment has a key, which is used instead of the stored one.
func (r *run) noteOverride() {
	for _, name := range []string{credentials.KeyEnv, credentials.KeyFileEnv} {
		if r.Getenv(name) != "" {
			r.note("%s is set and takes precedence over the stored key.", name)
		}
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
	remote, err := r.connectAs(credentials.Key{Secret: key}, false)
	if err != nil {
		return err
	}
	status, response, err := call(cmd.Context(), remote, api.GetAuthStatus, warranty.GetAuthStatus{})
	if err != nil {
		return err
	}
	file, err := r.keyStore().Update(cmd.Context(), func(stored *credentials.StoredKeys, damaged error) error {
		if damaged != nil {
			r.note("%s", damaged.Error())
		}
		if _, connected := stored.Connections[r.address()]; connected {
			r.note("svc was signed in to this service. If you no longer need this, disconnect it in Settings, Connected apps.")
		}
		stored.Set(r.address(), key, credentials.Connection{})
		return nil
	})
	if err != nil {
		return err
	}
	r.note("Stored the key for %s in %s. Only you can read this file.", r.address(), file)
	r.key.From = "svc auth login"
	r.noteOverride()
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
		Short: "Sign out of this service, or remove its stored API key",
		Long: `Ends the connection that "svc auth login --web" made, at the service too. A stored
key is only removed: the token remains valid until it expires or you revoke it in
the settings.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, connected, err := r.signIn().Disconnect(cmd.Context())
			switch {
			case file == "" && err == nil:
				r.note("No key is stored for %s.", r.address())
			case connected && err == nil:
				r.note("Signed out of %s.", r.address())
			case connected:
				r.note("Removed the sign-in for %s from %s, but could not end it at the service. "+
					"Disconnect svc in Settings, Connected apps.", r.address(), file)
			case err == nil:
				r.note("Removed the key for %s from %s. If nothing else uses the token, revoke it in the settings.",
					r.address(), file)
			}
			return asRemote(err)
		},
	}
}
