package cli

import "warranty.example/svc/internal/credentials"

// address is the base address of the service.
func (r *run) address() string {
	return credentials.BaseURL(r.baseURL, r.Getenv(credentials.BaseURLEnv), r.BaseURL)
}

// places are where the key may be.
func (r *run) places() credentials.Places {
	return credentials.Places{BaseURL: r.address(), File: r.keyFile, Getenv: r.Getenv, ConfigDir: r.ConfigDir}
}

// findKey reads the key from the first place that has one. Without any it is empty.
func (r *run) findKey() (credentials.Key, error) {
	key, err := r.places().Find()
	r.key = key
	if key.Exposed {
		r.warnExposed()
	}
	return key, err
}

// loadKeys reads the stored keys.
func (r *run) loadKeys() (credentials.Stored, error) {
	stored, err := r.places().Load()
	if stored.Exposed {
		r.warnExposed()
	}
	return stored, err
}

func (r *run) warnExposed() {
	if file, err := r.places().StoredIn(); err == nil {
		r.note("Others on this machine can read your key: run chmod 600 %s", file)
	}
}
