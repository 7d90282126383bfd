package cli

import "warranty.example/svc/internal/credentials"

// address returns the base URL of the service.
func (r *run) address() string {
	return credentials.BaseURL(r.baseURL, r.Getenv(credentials.BaseURLEnv), r.BaseURL)
}

// keyStore returns the store of keys for this base URL.
func (r *run) keyStore() credentials.Store {
	return credentials.Store{
		BaseURL:   r.address(),
		File:      r.keyFile,
		Getenv:    r.Getenv,
		ConfigDir: r.ConfigDir,
	}
}

// findKey returns the key from the first source that has one. The secret is empty if
// there is none.
func (r *run) findKey() (credentials.Key, error) {
	key, err := r.keyStore().Find()
	r.key = key
	if key.Exposed {
		r.warnExposed()
	}
	return key, err
}

// loadKeys reads the stored keys.
func (r *run) loadKeys() (credentials.StoredKeys, error) {
	stored, err := r.keyStore().Load()
	if stored.Exposed {
		r.warnExposed()
	}
	return stored, err
}

func (r *run) warnExposed() {
	if file, err := r.keyStore().Path(); err == nil {
		r.note("Warning: other users can read your API key. Run chmod 600 %s", file)
	}
}
