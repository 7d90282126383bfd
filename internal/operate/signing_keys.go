package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// openSigningKey reads the key that signs certificates, after checkSigningKey, and makes it at the first start.
func openSigningKey(ctx context.Context, c config.Config, s *service.Service) error {
	if c.SigningKey == "" {
		s.Log.Warn("certificates are off; set --signing-key to a file that stays, to make a key and sign certificates")
		return nil
	}
	key, err := readSigningKey(c.SigningKey)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		key, made, err = makeSigningKey(c.SigningKey)
	}
	if err != nil {
		return UsageError{fmt.Errorf("--signing-key: %w", err)}
	}
	err = s.BindSigningKey(ctx, key)
	var other service.OtherKeyError
	if !errors.As(err, &other) {
		return err
	}
	if made { // another replica was faster; this key has signed nothing
		return errors.Join(UsageError{missingKey(c, other.Active)}, os.Remove(c.SigningKey))
	}
	return UsageError{otherKey(c, other)}
}

// missingKey says what to do without the file of the active key.
func missingKey(c config.Config, active string) error {
	return fmt.Errorf("--signing-key: no key at %s, and the certificates of this database are signed with %s; "+
		"copy its file there from another replica or from where you keep it, or make a new key with svcd signing-key rotate",
		c.SigningKey, active)
}

func otherKey(c config.Config, other error) error {
	return fmt.Errorf("--signing-key: %s: %w; copy its file there from another replica, or make a new key with "+
		"svcd signing-key rotate", c.SigningKey, other)
}

func activeKey(keys []store.SigningKey) string {
	for _, k := range keys {
		if k.Active {
			return k.ID
		}
	}
	return ""
}

// readSigningKey reads a key that nobody else can read.
func readSigningKey(path string) (key warranty.SigningKey, err error) {
	text, err := readKeyFile(path, "signing key")
	if err != nil {
		return key, err
	}
	if key, err = warranty.ParseSigningKey(text); err != nil {
		return key, fmt.Errorf("%s is not a signing key: %w", path, err)
	}
	return key, nil
}

// placedKey returns the id of the key that is at its place already, or nothing.
func placedKey(c config.Config) (string, error) {
	if c.SigningKey == "" {
		return "", nil
	}
	key, err := readSigningKey(c.SigningKey)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", UsageError{fmt.Errorf("--signing-key: %w", err)}
	}
	return key.Public().ID, nil
}

// makeSigningKey makes a key, or reads the one that a replica with the same folder made meanwhile.
func makeSigningKey(path string) (key warranty.SigningKey, made bool, err error) {
	if err := files.MkdirAll(filepath.Dir(path)); err != nil {
		return key, false, explainDenied(fmt.Errorf("cannot make a key: %w", err), filepath.Dir(path))
	}
	if key, err = warranty.NewSigningKey(); err != nil {
		return key, false, err
	}
	switch err := writeKey(key, path, moveNew); {
	case errors.Is(err, fs.ErrExist):
		key, err = readSigningKey(path)
		return key, false, err
	case err != nil:
		return key, false, explainDenied(fmt.Errorf("cannot make a key: %w", err), filepath.Dir(path))
	}
	return key, true, nil
}

// writeKey writes a file that appears when it is complete.
func writeKey(key warranty.SigningKey, path string, move func(from, to string) error) error {
	text, err := key.PEM()
	if err != nil {
		return err
	}
	return writeKeyFile(text, path, move)
}

// signingKeyCommand manages the keys of certificates. It works with and without a running server.
func signingKeyCommand() *cobra.Command {
	keys := &cobra.Command{
		Use:   "signing-key",
		Short: "List, replace and revoke the keys that sign certificates",
		RunE: func(*cobra.Command, []string) error {
			return UsageError{errors.New("missing command: list, rotate or revoke; see svcd signing-key --help")}
		},
	}
	keys.AddCommand(
		&cobra.Command{
			Use:   "list",
			Short: "List the keys that sign certificates, or did",
			Args:  NoArguments,
			RunE: withService(func(cmd *cobra.Command, s *service.Service, _ string) error {
				return listKeys(cmd.Context(), cmd.OutOrStdout(), s)
			}),
		},
		rotateKeyCommand(),
		&cobra.Command{
			Use:   "revoke KEY",
			Short: "Make all certificates of a replaced key invalid, after it was stolen",
			Args:  oneArgument("give the ID of a key; svcd signing-key list shows it"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return withService(func(cmd *cobra.Command, s *service.Service, _ string) error {
					return revokeKey(cmd, s, strings.TrimSpace(args[0]))
				})(cmd, nil) // ids of keys have capital letters
			},
		},
	)
	return keys
}

func listKeys(ctx context.Context, out io.Writer, s *service.Service) error {
	keys, err := s.Store.SigningKeys(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tSTATE\tMADE")
	for _, k := range keys {
		state := "active"
		switch {
		case k.RevokedAt != nil:
			state = "revoked " + day(k.RevokedAt)
		case k.RetiredAt != nil:
			state = "replaced " + day(k.RetiredAt)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", k.ID, state, day(&k.CreatedAt))
	}
	return table.Flush()
}

func rotateKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Sign certificates with a new key; earlier ones stay valid",
		Args:  NoArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := Load(cmd)
			if err != nil {
				return err
			}
			if c.SigningKey == "" {
				return UsageError{errors.New("set --signing-key to the file of the key")}
			}
			return withService(func(cmd *cobra.Command, s *service.Service, _ string) error {
				return rotateKey(cmd, c, s)
			})(cmd, args)
		},
	}
}

// rotateKey registers a new key and then replaces the file. If it is interrupted between the two, svcd refuses to
// start until it is repeated.
func rotateKey(cmd *cobra.Command, c config.Config, s *service.Service) error {
	if err := files.MkdirAll(filepath.Dir(c.SigningKey)); err != nil {
		return UsageError{fmt.Errorf("--signing-key: %w", err)}
	}
	key, err := warranty.NewSigningKey()
	if err != nil {
		return err
	}
	err = writeKey(key, c.SigningKey, func(from, to string) error {
		err := s.Store.Write(cmd.Context(), func(tx *store.Tx) error {
			return tx.ReplaceSigningKey(key.Public(), s.Store.Now())
		})
		if err != nil {
			return err
		}
		return os.Rename(from, to)
	})
	if err != nil {
		return explainDenied(err, filepath.Dir(c.SigningKey))
	}
	if err := chownToFolderOwner([]string{c.SigningKey}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "certificates will be signed with the key %s\n"+
		"copy %s to all replicas and restart them; earlier certificates stay valid\n", key.Public().ID, c.SigningKey)
	return err
}

func revokeKey(cmd *cobra.Command, s *service.Service, id string) error {
	keys, err := s.Store.SigningKeys(cmd.Context())
	if err != nil {
		return err
	}
	at := slices.IndexFunc(keys, func(k store.SigningKey) bool { return k.ID == id })
	switch {
	case at < 0:
		return UsageError{errors.New("there is no such key; svcd signing-key list shows all")}
	case keys[at].Active:
		return UsageError{errors.New("this key is in use; replace it first with svcd signing-key rotate")}
	}
	err = s.Store.Write(cmd.Context(), func(tx *store.Tx) error { return tx.RevokeSigningKey(id, s.Store.Now()) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "revoked; certificates signed with %s no longer verify "+
		"with the keys at /.well-known/jwks.json\n", id)
	return err
}

// checkSigningKey compares the key with the database and changes nothing.
func checkSigningKey(ctx context.Context, st *store.Store, c config.Config) (string, error) {
	have, err := st.SchemaVersion(ctx)
	if err != nil {
		return "", err
	}
	if latest, err := store.LatestSchema(); err != nil || have < latest {
		return "not checked before the migration", err
	}
	keys, err := st.SigningKeys(ctx)
	if err != nil {
		return "", err
	}
	active := activeKey(keys)
	if c.SigningKey == "" && active == "" {
		return "not set; certificates are off", nil
	}
	if c.SigningKey == "" {
		return "", UsageError{fmt.Errorf("--signing-key is required: the certificates of this database are signed "+
			"with the key %s; copy its file from another replica", active)}
	}
	key, err := readSigningKey(c.SigningKey)
	switch {
	case errors.Is(err, fs.ErrNotExist) && active == "":
		return "none yet; the next start makes one", nil
	case errors.Is(err, fs.ErrNotExist):
		return "", UsageError{missingKey(c, active)}
	case err != nil:
		return "", UsageError{fmt.Errorf("--signing-key: %w", err)}
	case active == "":
		return "not used yet", nil
	}
	if err := service.CheckSigningKey(keys, key.Public()); err != nil {
		return "", UsageError{otherKey(c, err)}
	}
	return key.Public().ID, nil
}

// checkSecrets rejects key files and keys for S3 that a start could not use, before anything is created.
func checkSecrets(c config.Config) error {
	if c.S3 != nil {
		bucket, err := c.S3.Connect() // it contacts nobody yet
		if err == nil {
			err = bucket.Close()
		}
		if err != nil {
			return fmt.Errorf("--files: %w", err)
		}
	}
	err := checkKeyFile(c, "signing-key", c.SigningKey, func() (err error) { _, err = readSigningKey(c.SigningKey); return err })
	if err == nil {
		err = checkKeyFile(c, "secrets-key", c.SecretsKey, func() (err error) { _, err = readSecretsKey(c.SecretsKey); return err })
	}
	return err
}
