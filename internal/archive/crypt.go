package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
)

// Recipients are the keys for which a backup is encrypted.
type Recipients []age.Recipient

// Identities are the secret keys that decrypt backups.
type Identities []age.Identity

// Errors about keys never contain the text, which may be a secret key.
var (
	errRecipient = errors.New("not a recipient; it starts with age1 or ssh-ed25519")
	errSecret    = errors.New("this is a secret key; give its recipient, which starts with age1 or ssh-ed25519")
	errIdentity  = errors.New("not an age identity or an SSH private key without a passphrase")
)

// ErrEncrypted reports an encrypted backup that is read without an identity.
var ErrEncrypted = errors.New("the backup is encrypted; give a file with its identity (--identity)")

// ErrIdentity reports an encrypted backup for other recipients.
var ErrIdentity = errors.New("no identity matches: the backup is encrypted for other recipients, or its first lines are damaged")

// IsRecipient reports whether a text looks like a recipient or a secret key, and not like the path of a file.
func IsRecipient(text string) bool {
	for _, start := range []string{"age1", "ssh-", "AGE-SECRET-KEY-", "-----BEGIN"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// ParseRecipients parses recipients, one per line: of age, or public keys of SSH. Empty lines and lines that
// start with # are ignored.
func ParseRecipients(text string) (list Recipients, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := parseRecipient(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, errRecipient
	}
	return list, nil
}

func parseRecipient(line string) (age.Recipient, error) {
	switch {
	case strings.HasPrefix(line, "AGE-SECRET-KEY-"), strings.HasPrefix(line, "-----BEGIN"):
		return nil, errSecret
	case strings.HasPrefix(line, "ssh-"):
		r, err := agessh.ParseRecipient(line)
		if err != nil {
			return nil, errRecipient
		}
		return r, nil
	}
	list, err := age.ParseRecipients(strings.NewReader(line))
	if err != nil || len(list) != 1 {
		return nil, errRecipient
	}
	return list[0], nil
}

// ParseIdentities parses a file with identities of age, or with an SSH private key.
func ParseIdentities(text []byte) (Identities, error) {
	if bytes.HasPrefix(text, []byte("-----BEGIN")) {
		identity, err := agessh.ParseIdentity(text)
		if err != nil {
			return nil, errIdentity
		}
		return Identities{identity}, nil
	}
	list, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, errIdentity
	}
	return list, nil
}

// Encrypt returns a writer that encrypts a backup for recipients. The caller must close it.
func Encrypt(to io.Writer, recipients Recipients) (io.WriteCloser, error) {
	return age.Encrypt(to, recipients...)
}

// ageIntro is the beginning of an encrypted file.
const ageIntro = "age-encryption.org/v1\n"

// Decrypt returns the content of a backup, which may be encrypted.
func Decrypt(from io.Reader, identities Identities) (content io.Reader, encrypted bool, err error) {
	source := &remembering{from: from}
	buffered := bufio.NewReaderSize(source, 64<<10)
	start, err := buffered.Peek(len(ageIntro))
	switch {
	case source.err != nil:
		return nil, false, source.err
	case err != nil: // too short for it
		return buffered, false, nil //nolint:nilerr // whoever reads the content meets its end
	case string(start) != ageIntro:
		return buffered, false, nil
	case len(identities) == 0:
		return nil, true, ErrEncrypted
	}
	plain, err := age.Decrypt(buffered, identities...)
	if err != nil {
		return nil, true, source.explain(err)
	}
	return decrypted{plain, source}, true, nil
}

// remembering remembers the error of a source, to tell it from one of its content.
type remembering struct {
	from io.Reader
	err  error
}

// Read implements io.Reader.
func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// explain returns what an error of age means.
func (r *remembering) explain(err error) error {
	var other *age.NoIdentityMatchError
	switch {
	case r.err != nil:
		return r.err
	case errors.As(err, &other):
		return ErrIdentity
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrIncomplete
	}
	return fmt.Errorf("%w: it was changed or cut off, and cannot be decrypted", ErrChecksum)
}

// decrypted is the content of an encrypted backup.
type decrypted struct {
	plain  io.Reader
	source *remembering
}

// Read implements io.Reader.
func (d decrypted) Read(p []byte) (int, error) {
	n, err := d.plain.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, d.source.explain(err)
}
