package operate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
)

// openSecretsKey reads the key that seals secrets, after checkSecretsKey, and makes it at the first start.
func openSecretsKey(ctx context.Context, c config.Config, s *service.Service) error {
	if c.SecretsKey == "" {
		s.Log.Warn("authenticator apps are off; set --secrets-key to a file that stays, to make a key")
		return nil
	}
	key, err := readSecretsKey(c.SecretsKey)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		key, made, err = makeSecretsKey(c.SecretsKey)
	}
	if err != nil {
		return UsageError{fmt.Errorf("--secrets-key: %w", err)}
	}
	var active string
	err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		active, err = tx.AddSecretsKey(key.ID(), s.Store.Now())
		return err
	})
	switch {
	case err != nil:
		return err
	case active == key.ID():
		s.Secrets = key
		return nil
	case made: // another replica was faster; this key has sealed nothing
		return errors.Join(UsageError{missingSecretsKey(c, active)}, os.Remove(c.SecretsKey))
	}
	return UsageError{otherSecretsKey(c, key.ID(), active)}
}

// missingSecretsKey says what to do without the file of the active key.
func missingSecretsKey(c config.Config, active string) error {
	return fmt.Errorf("--secrets-key: no key at %s, and secrets in this database are sealed with %s; copy its file there from "+
		"another replica or from where you keep it, or make a new key with svcd secrets-key replace", c.SecretsKey, active)
}

func otherSecretsKey(c config.Config, given, active string) error {
	if active == "" { // it was replaced and the database has no other
		active = "another key"
	}
	return fmt.Errorf("--secrets-key: %s has the key %s, but secrets in this database are sealed with %s; copy its file there "+
		"from another replica, or make a new key with svcd secrets-key replace", c.SecretsKey, given, active)
}

// readSecretsKey reads a key that nobody else can read.
func readSecretsKey(path string) (key identity.SecretsKey, err error) {
	text, err := readKeyFile(path, "secrets key")
	if err != nil {
		return key, err
	}
	if key, err = identity.ParseSecretsKey(text); err != nil {
		return key, fmt.Errorf("%s is not a secrets key: %w", path, err)
	}
	return key, nil
}

// makeSecretsKey makes a key, or reads the one that a replica with the same folder made meanwhile.
func makeSecretsKey(path string) (key identity.SecretsKey, made bool, err error) {
	if err := files.MkdirAll(filepath.Dir(path)); err != nil {
		return key, false, explainDenied(fmt.Errorf("cannot make a key: %w", err), filepath.Dir(path))
	}
	if key, err = identity.NewSecretsKey(); err != nil {
		return key, false, err
	}
	switch err := writeKeyFile(key.Text(), path, moveNew); {
	case errors.Is(err, fs.ErrExist):
		key, err = readSecretsKey(path)
		return key, false, err
	case err != nil:
		return key, false, explainDenied(fmt.Errorf("cannot make a key: %w", err), filepath.Dir(path))
	}
	return key, true, nil
}

// placedSecretsKey returns the id of the key that is at its place already, or nothing.
func placedSecretsKey(c config.Config) (string, error) {
	if c.SecretsKey == "" {
		return "", nil
	}
	key, err := readSecretsKey(c.SecretsKey)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", UsageError{fmt.Errorf("--secrets-key: %w", err)}
	}
	return key.ID(), nil
}

// checkPasskeys says whether people can use passkeys, and why not. The check does not fail if they cannot.
func checkPasskeys(c config.Config) (string, error) {
	key, err := identity.NewSecretsKey() // any key does: only the address is checked
	if err != nil {
		return "", err
	}
	if c.SecretsKey == "" {
		key = identity.SecretsKey{}
	}
	party, err := service.RelyingParty(c.PublicURL, key)
	if unavailable := identity.Unavailable(""); errors.As(err, &unavailable) {
		return "off: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	return "of " + party.ID, nil
}

// checkSecretsKey compares the key with the database and changes nothing.
func checkSecretsKey(ctx context.Context, st *store.Store, c config.Config) (string, error) {
	have, err := st.SchemaVersion(ctx)
	if err != nil {
		return "", err
	}
	if latest, err := store.LatestSchema(); err != nil || have < latest {
		return "not checked before the migration", err
	}
	active, err := st.SecretsKey(ctx)
	if err != nil {
		return "", err
	}
	if c.SecretsKey == "" && active == "" {
		return "not set; authenticator apps are off", nil
	}
	if c.SecretsKey == "" {
		return "", UsageError{fmt.Errorf("--secrets-key is required: secrets in this database are sealed with the key %s; "+
			"copy its file from another replica", active)}
	}
	key, err := readSecretsKey(c.SecretsKey)
	switch {
	case errors.Is(err, fs.ErrNotExist) && active == "":
		return "none yet; the next start makes one", nil
	case errors.Is(err, fs.ErrNotExist):
		return "", UsageError{missingSecretsKey(c, active)}
	case err != nil:
		return "", UsageError{fmt.Errorf("--secrets-key: %w", err)}
	case active == "":
		return "not used yet", nil
	case active != key.ID():
		return "", UsageError{otherSecretsKey(c, key.ID(), active)}
	}
	return key.ID() + "; it is not in backups, keep a copy", nil
}

// secretsKeyCommand replaces the key that seals secrets.
func secretsKeyCommand() *cobra.Command {
	keys := &cobra.Command{
		Use:   "secrets-key",
		Short: "Replace the key that seals secrets",
		RunE: func(*cobra.Command, []string) error {
			return UsageError{errors.New("missing command: replace; see svcd secrets-key --help")}
		},
	}
	keys.AddCommand(&cobra.Command{
		Use:   "replace",
		Short: "Make a new key after the old one was lost; what was sealed with the old one is lost",
		Args:  NoArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := Load(cmd)
			if err != nil {
				return err
			}
			if c.SecretsKey == "" {
				return UsageError{errors.New("set --secrets-key to the file of the key")}
			}
			return withService(func(cmd *cobra.Command, s *service.Service, _ string) error {
				return replaceSecretsKey(cmd, c, s)
			})(cmd, args)
		},
	})
	return keys
}

// replaceSecretsKey registers a new key and then replaces the file. If it is interrupted between the two, svcd refuses to
// start until it is repeated.
func replaceSecretsKey(cmd *cobra.Command, c config.Config, s *service.Service) error {
	if err := files.MkdirAll(filepath.Dir(c.SecretsKey)); err != nil {
		return UsageError{fmt.Errorf("--secrets-key: %w", err)}
	}
	key, err := identity.NewSecretsKey()
	if err != nil {
		return err
	}
	err = writeKeyFile(key.Text(), c.SecretsKey, func(from, to string) error {
		err := s.Store.Write(cmd.Context(), func(tx *store.Tx) error { return tx.ReplaceSecretsKey(key.ID(), s.Store.Now()) })
		if err != nil {
			return err
		}
		return os.Rename(from, to)
	})
	if err != nil {
		return explainDenied(err, filepath.Dir(c.SecretsKey))
	}
	if err := chownToFolderOwner([]string{c.SecretsKey}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "secrets will be sealed with the key %s\n"+
		"copy %s to all replicas and restart them; authenticator apps and providers have to be set up again\n", key.ID(), c.SecretsKey)
	return err
}
