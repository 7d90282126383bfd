package certs

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
)

// pair returns a self-signed certificate and its key.
func pair(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"w.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &signer.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// put replaces a file by renaming another one.
func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", content, 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// TestFilesAreReloaded replaces the files as certbot (renamed links) and Kubernetes (a
// renamed link to a folder) do, and by files that are no pair.
func TestFilesAreReloaded(t *testing.T) {
	dir := t.TempDir()
	version := func(name string, serial int64) {
		t.Helper()
		cert, key := pair(t, serial)
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name, "tls.crt"), cert)
		put(t, filepath.Join(dir, name, "tls.key"), key)
	}
	link := func(target string) {
		t.Helper()
		path := filepath.Join(dir, "current")
		if err := errors.Join(os.Symlink(target, path+".new"), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	version("one", 1)
	version("two", 2)
	link("one")
	cert, key := filepath.Join(dir, "current", "tls.crt"), filepath.Join(dir, "current", "tls.key")
	log := &lines{}
	f, err := OpenFiles(cert, key, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); f.watch(ctx, time.Millisecond) }()
	defer func() { cancel(); <-ended }()
	serial := func() int64 {
		c, err := f.Certificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.SerialNumber.Int64()
	}
	link("two")
	testenv.Wait(t, "the second certificate", func() bool { return serial() == 2 })

	// A new certificate without its key, a missing file, garbage: the old pair stays.
	newCert, newKey := pair(t, 3)
	put(t, cert, newCert)
	testenv.Wait(t, "an error in the log", func() bool { return log.count("cannot load the new certificate") == 1 })
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	testenv.Wait(t, "a second error in the log", func() bool { return log.count("cannot load the new certificate") == 2 })
	put(t, key, []byte("garbage"))
	testenv.Wait(t, "a third error in the log", func() bool { return log.count("cannot load the new certificate") == 3 })
	if got := serial(); got != 2 {
		t.Errorf("certificate %d is in use", got)
	}
	put(t, key, newKey)
	testenv.Wait(t, "the third certificate", func() bool { return serial() == 3 })
	if n := log.count("PRIVATE KEY"); n > 0 {
		t.Error("the key is logged")
	}
}

func TestFilesThatAreNoPair(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, 1)
	_, other := pair(t, 2)
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	put(t, a, cert)
	put(t, b, key)
	put(t, c, other)
	for _, files := range [][2]string{{a, c}, {b, a}, {a, a}, {a, dir}, {a, "missing"}, {"missing", b}} {
		if _, err := OpenFiles(files[0], files[1], slog.Default()); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", files, err)
		}
	}
	f, err := OpenFiles(a, b, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check("w.example", time.Now()); err != nil {
		t.Error(err)
	}
	if f.Check("other.example", time.Now()) == nil || f.Check("w.example", time.Now().AddDate(1, 0, 0)) == nil {
		t.Error("a certificate for another host or time is valid")
	}
}
