package operate

import (
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"warranty.example/svc/internal/certs"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/store"
)

// OpenCertificate reads the certificate of --tls-cert. It returns nil without one.
func OpenCertificate(c config.Config, log *slog.Logger) (*certs.Files, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	files, err := certs.OpenFiles(c.TLSCert, c.TLSKey, log)
	if err != nil {
		return nil, UsageError{fmt.Errorf("--tls-cert: %w", err)}
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, err
	}
	// Clients reject such a certificate. The operator may be about to replace it.
	if err := files.Check(u.Hostname(), time.Now()); err != nil {
		log.Warn("the certificate is not valid for the public URL", "error", err.Error())
	}
	return files, nil
}

// NewACME returns what orders the certificate of the public URL.
func NewACME(c config.Config, st *store.Store, log *slog.Logger) (*certs.ACME, error) {
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, err
	}
	return &certs.ACME{
		Host:      u.Hostname(),
		Directory: c.ACMEDirectory,
		Email:     c.ACMEEmail,
		Store:     st,
		Log:       log,
	}, nil
}
