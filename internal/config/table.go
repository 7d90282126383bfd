package config

import (
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"

	"warranty.example/svc/internal/listen"
	"warranty.example/svc/internal/netaddr"
)

// Kinds of arguments that a configuration file does not write as a string.
const (
	boolean  = "bool" // a flag without an argument; pflag requires this name
	number   = "number"
	networks = "networks" // a string or a list of strings
)

// FileFlag is the flag of the setting that names the configuration file. It is the first one of
// the table.
const FileFlag = "config"

// fileSuffix is appended to the name of a secret to name the file that contains it.
const fileSuffix = "-file"

// Setting describes one setting for the help, the docs and Load.
type Setting struct {
	Flag    string // without the dashes
	Env     string // the environment variable
	Default string // as shown in the help; empty for none
	Help    string // one phrase, without default and variable

	arg    string                      // placeholder of the value in the help
	derive func(Config) string         // computes the default from earlier settings
	set    func(*Config, string) error // validates and stores a value
	// shown removes the secret from a value. A setting that has it can also be given
	// as the path of a file, under its name and fileSuffix.
	shown func(string) string
}

// Literal reports whether a configuration file has the value without quotes.
func (s Setting) Literal() bool { return s.arg == boolean || s.arg == number }

// initial returns the default value.
func (s Setting) initial(c Config) string {
	if s.derive != nil {
		return s.derive(c)
	}
	return s.Default
}

// shownDefault returns the default as shown in the help.
func (s Setting) shownDefault() string {
	if s.Default == "" {
		return "none"
	}
	return s.Default
}

// Table lists all settings in the order of the help. A setting whose default depends
// on another one comes after it.
func Table() []Setting {
	table := []Setting{
		{
			Flag:    FileFlag,
			Default: SystemFile + " if it exists",
			arg:     "path",
			derive:  func(Config) string { return "" },
			Help:    "TOML file with settings by the names of these flags; flags and variables take precedence",
			set:     text(checkPath, func(c *Config) *string { return &c.ConfigFile }),
		},
		{
			Flag:    "listen",
			Default: "127.0.0.1:8080",
			arg:     "address",
			Help:    "host:port, unix:/path of a socket, or systemd for a socket passed by systemd (systemd:name if several)",
			set:     text(checkListen, func(c *Config) *string { return &c.Listen }),
		},
		{
			Flag:    "socket-mode",
			Default: "0660",
			arg:     "mode",
			Help:    "permissions of the Unix socket; who can connect to it counts as a trusted proxy",
			set:     setMode,
		},
		{
			Flag: "tls-cert",
			arg:  "path",
			Help: "PEM file with a certificate chain, to serve HTTPS; renewed files are loaded without a restart",
			set:  setTLSCert,
		},
		{
			Flag: "tls-key",
			arg:  "path",
			Help: "PEM file with the key of tls-cert",
			set:  setTLSKey,
		},
		{
			Flag:    "acme",
			Default: "false",
			arg:     boolean,
			Help:    "obtain and renew a certificate for the host of public-url by itself; accepts the terms of the certificate authority",
			set:     setACME,
		},
		{
			Flag: "acme-email",
			arg:  "address",
			Help: "address for messages of the certificate authority",
			set:  setACMEEmail,
		},
		{
			Flag:    "acme-directory",
			Default: "https://acme-v02.api.letsencrypt.org/directory",
			arg:     "url",
			Help:    "ACME directory of the certificate authority",
			set:     setACMEDirectory,
		},
		{
			Flag: "http-listen",
			arg:  "address",
			Help: "second address, without TLS, that redirects to the public URL; such as :80",
			set:  setHTTPListen,
		},
		{
			Flag:    "public-url",
			Default: "http:// or https:// + listen",
			arg:     "url",
			derive:  defaultPublicURL,
			Help:    "base URL of all links, as users see it",
			set:     setPublicURL,
		},
		{
			Flag:    "data",
			Default: "./data",
			arg:     "folder",
			Help:    "folder for the SQLite file, the document files and the keys",
			set:     text(checkPath, func(c *Config) *string { return &c.Data }),
		},
		{
			Flag:    "database",
			Default: "svc.db in data",
			arg:     "path|url",
			derive:  defaultDatabase,
			Help:    "SQLite file, or postgres://user:password@host/name",
			set:     text(checkDatabase, func(c *Config) *string { return &c.Database }),
			shown:   public,
		},
		{
			Flag:    "files",
			Default: "files in data",
			arg:     "url",
			derive:  func(Config) string { return "" },
			Help: "document files in S3: s3://bucket/prefix?endpoint=https://host:port;" +
				" keys from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
			set:   setFiles,
			shown: public,
		},
		{
			Flag:    "adopt-files",
			Default: "false",
			arg:     boolean,
			Help:    "take over document files that belong to another database; use it for one start only",
			set:     choice(func(c *Config) *bool { return &c.AdoptFiles }),
		},
		{
			Flag:    "signing-key",
			Default: "signing-key.pem in data",
			arg:     "path",
			derive:  defaultSigningKey,
			Help: "PEM file with the key that signs certificates, made at the first start; every replica needs the same;" +
				" without a default with PostgreSQL and S3, where certificates are off unless it is set",
			set: text(checkPath, func(c *Config) *string { return &c.SigningKey }),
		},
		{
			Flag:    "secrets-key",
			Default: "secrets.key in data",
			arg:     "path",
			derive:  defaultSecretsKey,
			Help: "file with the key that seals secrets such as those of authenticator apps, made at the first start; every" +
				" replica needs the same; without a default with PostgreSQL and S3, where these are off unless it is set",
			set: text(checkPath, func(c *Config) *string { return &c.SecretsKey }),
		},
		{
			Flag:  "redis",
			arg:   "url",
			Help:  "redis://host:port/number, or rediss:// for TLS; shares rate limits between replicas",
			set:   setRedis,
			shown: public,
		},
		{
			Flag:    "demo",
			Default: "false",
			arg:     boolean,
			Help:    "fill an empty database with demo data and print sign-ins and a token",
			set:     choice(func(c *Config) *bool { return &c.Demo }),
		},
		{
			Flag: "trusted-proxies",
			arg:  networks,
			Help: "comma-separated networks (CIDR) or addresses whose X-Forwarded-For is trusted",
			set:  setProxies,
		},
		{
			Flag: "smtp",
			arg:  "url",
			Help: "smtp://user:password@host:port (requires STARTTLS except on loopback or with ?tls=off)," +
				" or smtps:// for implicit TLS; without it emails are logged",
			set:   setSMTP,
			shown: public,
		},
		{
			Flag:    "mail-from",
			Default: "warranty@ + host of public-url",
			arg:     "address",
			derive:  defaultMailFrom,
			Help:    "sender address of emails",
			set:     setMailFrom,
		},
		{
			Flag:    "signup",
			Default: "as chosen at the set-up, or else open",
			arg:     "open|closed",
			derive:  func(Config) string { return "" },
			Help: "who can register: anyone, or nobody if closed: the operator adds accounts with svcd user add, and " +
				"customers register what a business issued to them",
			set: setSignup,
		},
		{
			Flag: "require-two-step",
			arg:  "operators|all",
			Help: "who must have two-step sign-in: those who may open the admin page, or everyone; who lacks it can only " +
				"turn it on",
			set: setRequireTwoStep,
		},
		{
			Flag:    "rate-limit",
			Default: "100",
			arg:     number,
			Help:    "requests per minute and session",
			set:     whole(1, func(c *Config) *int { return &c.RateLimit }),
		},
		{
			Flag:    "max-token-rate",
			Default: "1000",
			arg:     number,
			Help:    "highest rate limit of a token, in requests per minute",
			set:     whole(1, func(c *Config) *int { return &c.MaxTokenRate }),
		},
		{
			Flag:    "ip-rate-limit",
			Default: "600",
			arg:     number,
			Help:    "requests per minute and IP address, 0 for no limit",
			set:     whole(0, func(c *Config) *int { return &c.IPRateLimit }),
		},
		{
			Flag:    "verify-rate-limit",
			Default: "30",
			arg:     number,
			Help:    "public verifications per minute and IP address, 0 for no limit",
			set:     whole(0, func(c *Config) *int { return &c.VerifyRateLimit }),
		},
		{
			Flag:    "sign-in-rate-limit",
			Default: "10",
			arg:     number,
			Help:    "sign-ins per minute and IP address, 0 for no limit",
			set:     whole(0, func(c *Config) *int { return &c.SignInRateLimit }),
		},
		{
			Flag:    "sign-up-rate-limit",
			Default: "10",
			arg:     number,
			Help:    "registrations per hour and IP address, 0 for no limit",
			set:     whole(0, func(c *Config) *int { return &c.SignUpRateLimit }),
		},
		{
			Flag:    "storage-limit",
			Default: "1024",
			arg:     number,
			Help:    "MiB of documents per user, 0 for no limit",
			set:     whole(0, func(c *Config) *int { return &c.StorageLimit }),
		},
		{
			Flag:    "connections-per-address",
			Default: "200",
			arg:     number,
			Help:    "open connections per IP address, 0 for no limit; trusted proxies are not limited",
			set:     whole(0, func(c *Config) *int { return &c.ConnectionsPerAddress }),
		},
		{
			Flag:    "drain",
			Default: "5s",
			arg:     "duration",
			Help:    "how long to serve requests after SIGTERM, while /readyz returns 503",
			set:     duration(func(c *Config) *time.Duration { return &c.Drain }),
		},
		{
			Flag:    "mail-limit",
			Default: "200",
			arg:     number,
			Help:    "new people whom a person may email in 24 hours, over all of their organizations, 0 for no limit; 50 times that with a verified domain",
			set:     whole(0, func(c *Config) *int { return &c.MailLimit }),
		},
		{
			Flag:    "organization-limit",
			Default: "20",
			arg:     number,
			Help:    "organizations that a person may be a member of, 0 for no limit",
			set:     whole(0, func(c *Config) *int { return &c.OrganizationLimit }),
		},
		{
			Flag:    "oauth-metadata-documents",
			Default: "on",
			arg:     "on|off",
			Help:    "read the documents with which apps describe themselves, over https from public addresses only; off for hosts that must not call out",
			set:     oneOf("on", "off", func(c *Config) *bool { return &c.NoMetadataDocuments }),
		},
		{
			Flag: "security-contact",
			arg:  "address",
			Help: "email address or https:// URL for vulnerability reports, shown in /.well-known/security.txt",
			set:  setSecurityContact,
		},
		{
			Flag:    "log-level",
			Default: "info",
			arg:     "debug|info|warn|error",
			Help:    "lowest level to log; requests are logged at info, failed ones at error",
			set:     setLogLevel,
		},
		{
			Flag:    "log-format",
			Default: "json",
			arg:     "json|text",
			Help:    "format of the log on standard error",
			set:     oneOf("json", "text", func(c *Config) *bool { return &c.LogText }),
		},
		{
			Flag: "admin-listen",
			arg:  "host:port",
			Help: "second, loopback-only address for metrics and profiles",
			set:  setAdminListen,
		},
	}
	for i := range table {
		table[i].Env = envOf(table[i].Flag)
	}
	return table
}

// defaultPublicURL is the URL for a browser on the same machine. Only TCP has one, and a certificate
// authority needs a real name.
func defaultPublicURL(c Config) string {
	if !listen.IsTCP(c.Listen) || c.ACME {
		return ""
	}
	host, port, _ := net.SplitHostPort(c.Listen)
	if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr.Unmap().IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if c.HasTLS() {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// defaultDatabase puts the SQLite file beside the documents, so that one folder
// contains everything to back up.
func defaultDatabase(c Config) string { return filepath.Join(c.Data, "svc.db") }

// defaultSigningKey is in the data folder. PostgreSQL with S3 needs none, so that a key made there could be lost
// with the container.
func defaultSigningKey(c Config) string {
	if c.IsPostgres() && c.S3 != nil {
		return ""
	}
	return filepath.Join(c.Data, "signing-key.pem")
}

// defaultSecretsKey is beside the signing key, for the same reason.
func defaultSecretsKey(c Config) string {
	if c.IsPostgres() && c.S3 != nil {
		return ""
	}
	return filepath.Join(c.Data, "secrets.key")
}

// defaultMailFrom is an address at the public host, or at localhost if the host is
// an IP address.
func defaultMailFrom(c Config) string {
	host := "localhost"
	if u, err := url.Parse(c.PublicURL); err == nil && !netaddr.IsIP(u.Hostname()) {
		host = u.Hostname()
	}
	return "warranty@" + host
}
