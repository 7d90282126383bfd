package credentials

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

func secret(t *testing.T, seed byte) string {
	t.Helper()
	s, err := warranty.NewSecret(warranty.TokenSecret, strings.NewReader(strings.Repeat(string(rune(seed)), 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoredKeyBelongsToOneAddress(t *testing.T) {
	dir := t.TempDir()
	one, two := secret(t, 'a'), secret(t, 'b')
	p := Store{Getenv: func(string) string { return "" }, ConfigDir: func() (string, error) { return dir, nil }}
	if _, err := p.Save(StoredKeys{Keys: map[string]string{"http://a/api/v1": one, "http://b/api/v1": two}}); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{"http://a/api/v1": one, "http://b/api/v1/": two, "http://c/api/v1": "",
		"http://a.evil/api/v1": ""} {
		p.BaseURL = BaseURL("", address, "http://default/api/v1")
		if got, err := p.Find(); err != nil || got.Secret != want {
			t.Errorf("%s: %+v %v", address, got, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "svc", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("unexpected files: %v %v", left, err)
	}
	if err := os.WriteFile(left[0], []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Find(); err == nil {
		t.Error("a damaged file was accepted")
	}
}

// TestFirstPlaceWins covers svc and svc-mcp, which both use this package (C20).
func TestFirstPlaceWins(t *testing.T) {
	dir, env := t.TempDir(), map[string]string{}
	p := Store{
		BaseURL:   "http://a/api/v1",
		Getenv:    func(name string) string { return env[name] },
		ConfigDir: func() (string, error) { return dir, nil },
	}
	find := func(want, from string) {
		t.Helper()
		if got, err := p.Find(); err != nil || got.Secret != want || got.From != from {
			t.Errorf("%+v %v, want %q from %s", got, err, want, from)
		}
	}
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	find("", "svc auth login")
	if _, err := p.Save(StoredKeys{Keys: map[string]string{p.BaseURL: secret(t, 'a')}}); err != nil {
		t.Fatal(err)
	}
	find(secret(t, 'a'), "svc auth login")
	env[KeyFileEnv] = write("mounted", "\n"+secret(t, 'b')+"\r\n")
	find(secret(t, 'b'), KeyFileEnv)
	env[KeyEnv] = " " + secret(t, 'c') + "\n"
	find(secret(t, 'c'), KeyEnv)
	p.File = write("flag", secret(t, 'd'))
	find(secret(t, 'd'), "--api-key-file")
	for name, file := range map[string]string{"empty": write("empty", " \n"), "missing": filepath.Join(dir, "missing"),
		"another's": write("other", "ghp_0123456789")} {
		p.File = file
		if _, err := p.Find(); err == nil || strings.Contains(err.Error(), "ghp_") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUpdatesDoNotOverwriteEachOther stores keys of many services at once.
func TestUpdatesDoNotOverwriteEachOther(t *testing.T) {
	dir := t.TempDir()
	p := Store{Getenv: func(string) string { return "" }, ConfigDir: func() (string, error) { return dir, nil }}
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			_, err := p.Update(t.Context(), func(s *StoredKeys, damaged error) error {
				s.Set(strconv.Itoa(i), secret(t, 'a'), Connection{})
				return damaged
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	stored, err := p.Load()
	if err != nil || len(stored.Keys) != 20 {
		t.Errorf("%d keys: %v", len(stored.Keys), err)
	}
	// A connection replaces a key, and the other way round; a canceled wait stores nothing.
	c := Connection{Access: "a", Refresh: "r", Expires: time.Unix(1, 0).UTC()}
	stored.Set("3", "", c)
	if stored.Keys["3"] != "" || stored.Connections["3"] != c {
		t.Errorf("%+v", stored)
	}
	if stored.Set("3", "key", Connection{}); stored.Keys["3"] != "key" || len(stored.Connections) != 0 {
		t.Errorf("%+v", stored)
	}
	held, release := make(chan struct{}), make(chan struct{})
	wait.Go(func() {
		if _, err := p.Update(t.Context(), func(*StoredKeys, error) error { close(held); <-release; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-held
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Update(ctx, func(*StoredKeys, error) error { t.Error("the lock was ignored"); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(release)
	wait.Wait()
}
