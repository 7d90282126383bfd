// Package certs provides the TLS certificate of the service: from files, or from an ACME
// certificate authority.
package certs

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// reloadPeriod is how often certificate files are read again.
const reloadPeriod = 10 * time.Second

// Files is a certificate in two PEM files that another program renews.
type Files struct {
	cert, key string
	log       *slog.Logger
	current   atomic.Pointer[tls.Certificate]
	seen      [sha256.Size]byte // of the content that was tried last
}

// OpenFiles reads a certificate chain and its key.
func OpenFiles(cert, key string, log *slog.Logger) (*Files, error) {
	f := &Files{cert: cert, key: key, log: log}
	_, err := f.read()
	return f, err
}

// read reads the files and reports whether there is a new certificate. It compares the
// content, so that it does not matter how the files are replaced. It keeps the
// current certificate if the new one is invalid, for example because only one of the
// files is replaced yet.
func (f *Files) read() (changed bool, err error) {
	cert, err := os.ReadFile(f.cert)
	if err != nil {
		return false, fmt.Errorf("cannot %w", err)
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		return false, fmt.Errorf("cannot %w", err)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%d\n", len(cert))
	hash.Write(cert)
	hash.Write(key)
	seen := [sha256.Size]byte(hash.Sum(nil))
	if seen == f.seen {
		return false, nil
	}
	f.seen = seen
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("%s and %s are not a certificate and its key: %w", f.cert, f.key, err)
	}
	f.current.Store(&pair)
	return true, nil
}

// Watch reads the files again every few seconds until the context is done. An error is
// logged once.
func (f *Files) Watch(ctx context.Context) { f.watch(ctx, reloadPeriod) }

func (f *Files) watch(ctx context.Context, period time.Duration) {
	last := ""
	for ticks := time.NewTicker(period); ; {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			ticks.Stop()
			return
		}
		changed, err := f.read()
		switch {
		case err != nil && err.Error() != last:
			last = err.Error()
			f.log.Error("cannot load the new certificate; the old one stays in use", "error", last)
		case changed:
			last = ""
			f.log.Info("certificate loaded", "expires", f.Expires())
		}
	}
}

// Certificate returns the current certificate, for tls.Config.
func (f *Files) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.current.Load(), nil
}

// Expires returns the end of the certificate's validity.
func (f *Files) Expires() time.Time { return f.current.Load().Leaf.NotAfter }

// Check returns an error if the certificate is not valid for a host at a time.
func (f *Files) Check(host string, now time.Time) error {
	leaf := f.current.Load().Leaf
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return fmt.Errorf("the certificate is valid from %s to %s",
			leaf.NotBefore.Format(time.RFC3339), leaf.NotAfter.Format(time.RFC3339))
	}
	return leaf.VerifyHostname(host)
}
