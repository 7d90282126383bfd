package operate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/certs"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/store"
)

// checkSettings loads the settings and returns what is odd about them.
func checkSettings(cmd *cobra.Command) (c config.Config, values []config.Value, text string, err error) {
	if c, err = Load(cmd); err != nil {
		return c, nil, "", err
	}
	if _, values, err = config.Resolve(cmd.Flags(), os.Getenv, config.SystemFile); err != nil {
		return c, nil, "", err
	}
	text = "valid"
	if unknown := config.UnknownVars(os.Environ()); len(unknown) > 0 {
		text += "; not known: " + strings.Join(unknown, ", ")
	}
	if exposed := exposedSecrets(c, values); len(exposed) > 0 {
		text += "; every user of this machine can read the secrets in " + strings.Join(exposed, ", ")
	}
	return c, values, text, nil
}

// exposedSecrets lists the files with secrets that all users can read. It is not an error, because
// the secrets of containers often are.
func exposedSecrets(c config.Config, values []config.Value) (exposed []string) {
	if runtime.GOOS == "windows" {
		return nil // it has no such modes
	}
	paths := []string{c.TLSKey}
	for _, v := range values {
		if v.Hidden {
			paths = append(paths, v.File)
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.Mode()&0o004 != 0 && !slices.Contains(exposed, path) {
			exposed = append(exposed, path)
		}
	}
	return exposed
}

// checkTLS checks the certificate files as a start does.
func checkTLS(c config.Config) (string, error) {
	switch {
	case c.ACME:
		return "from " + c.ACMEDirectory, nil
	case c.TLSCert == "":
		return "not set; served without TLS", nil
	}
	files, err := certs.OpenFiles(c.TLSCert, c.TLSKey, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", fmt.Errorf("%w; check --tls-cert and --tls-key", err)
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return "", err
	}
	if err := files.Check(u.Hostname(), time.Now()); err != nil {
		return "", fmt.Errorf("%w; replace %s", err, c.TLSCert)
	}
	return fmt.Sprintf("valid for %s until %s", u.Hostname(), files.Expires().UTC().Format("2 Jan 2006")), nil
}

// checkACME checks the certificate that the service obtained.
func checkACME(ctx context.Context, st *store.Store, c config.Config) (string, error) {
	a, err := NewACME(c, st, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	expires, due, err := a.Stored(ctx)
	day := expires.UTC().Format("2 Jan 2006")
	const look = "; the log of the service says why it was not renewed"
	switch {
	case err != nil:
		return "", err
	case expires.IsZero():
		return "", warning{errors.New("there is no certificate yet; the service orders it after its start")}
	case st.Now().After(expires):
		return "", fmt.Errorf("the certificate for %s expired on %s%s", a.Host, day, look)
	case due:
		return "", warning{fmt.Errorf("the certificate for %s expires on %s%s", a.Host, day, look)}
	}
	return fmt.Sprintf("valid for %s until %s", a.Host, day), nil
}
