package config

import (
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// boolean is the kind of a flag that stands alone; pflag knows it by this name.
const boolean = "bool"

// Setting is one thing that can be set, as the help, the README and Load need
// it.
type Setting struct {
	Flag    string // without the dashes
	Env     string // the environment variable
	Default string // as people read it; empty for none
	Help    string // one phrase, without default and variable

	arg    string                      // what the help shows as the value
	derive func(Config) string         // the default where it follows from settings above
	set    func(*Config, string) error // checks and stores
}

// initial is the value of a setting that is not given.
func (s Setting) initial(c Config) string {
	if s.derive != nil {
		return s.derive(c)
	}
	return s.Default
}

// shownDefault is the default for the help.
func (s Setting) shownDefault() string {
	if s.Default == "" {
		return "none"
	}
	return s.Default
}

// Table is every setting, in the order in which Load sets them and people read
// them: a default that follows from another setting stands below it.
func Table() []Setting {
	table := []Setting{
		{Flag: "listen", Default: "127.0.0.1:8080", arg: "host:port",
			Help: "address to listen on", set: text(checkListen, func(c *Config) *string { return &c.Listen })},
		{Flag: "public-url", Default: "http:// + listen", arg: "url", derive: defaultPublicURL,
			Help: "address that people and machines see; every absolute URL is built from it", set: setPublicURL},
		{Flag: "data", Default: "./data", arg: "folder",
			Help: "folder for the SQLite file and the document files", set: text(checkPath, func(c *Config) *string { return &c.Data })},
		{Flag: "database", Default: "svc.db in data", arg: "path|url", derive: defaultDatabase,
			Help: "SQLite file, or postgres://user:password@host/name", set: text(checkDatabase, func(c *Config) *string { return &c.Database })},
		{Flag: "adopt-files", Default: "false", arg: boolean,
			Help: "take over the document files in data although they belong to another database; give it once", set: choice(func(c *Config) *bool { return &c.AdoptFiles })},
		{Flag: "redis", arg: "url",
			Help: "redis://host:port/number, or rediss:// for TLS: rate limits shared by replicas", set: optional(checkRedis, func(c *Config) *string { return &c.Redis })},
		{Flag: "demo", Default: "false", arg: boolean,
			Help: "fill an empty database with a believable demo and print its sign-ins and a token", set: choice(func(c *Config) *bool { return &c.Demo })},
		{Flag: "trusted-proxies", arg: "networks",
			Help: "comma-separated networks (CIDR) or addresses whose X-Forwarded-For is believed", set: optional(checkProxies, func(c *Config) *string { return &c.TrustedProxies })},
		{Flag: "smtp", arg: "url",
			Help: "smtp://user:password@host:port (STARTTLS required unless on this machine or with ?tls=off), or smtps:// for TLS from the start; without it each mail is a log line", set: optional(checkSMTP, func(c *Config) *string { return &c.SMTP })},
		{Flag: "mail-from", Default: "warranty@ + host of public-url", arg: "address", derive: defaultMailFrom,
			Help: "address that mail is sent from", set: text(checkMailFrom, func(c *Config) *string { return &c.MailFrom })},
		{Flag: "signup", Default: "open", arg: "open|closed",
			Help: "who may register: anyone, or with closed only the first account", set: setSignup},
		{Flag: "rate-limit", Default: "100", arg: "number",
			Help: "requests per minute of a session", set: whole(1, func(c *Config) *int { return &c.RateLimit })},
		{Flag: "max-token-rate", Default: "1000", arg: "number",
			Help: "most requests per minute that a token may be given", set: whole(1, func(c *Config) *int { return &c.MaxTokenRate })},
		{Flag: "ip-rate-limit", Default: "600", arg: "number",
			Help: "requests per minute of an IP address, 0 for no limit", set: whole(0, func(c *Config) *int { return &c.IPRateLimit })},
		{Flag: "verify-rate-limit", Default: "30", arg: "number",
			Help: "public verifications per minute of an IP address, 0 for no limit", set: whole(0, func(c *Config) *int { return &c.VerifyRateLimit })},
		{Flag: "sign-in-rate-limit", Default: "10", arg: "number",
			Help: "sign-ins per minute of an IP address, 0 for no limit", set: whole(0, func(c *Config) *int { return &c.SignInRateLimit })},
		{Flag: "sign-up-rate-limit", Default: "10", arg: "number",
			Help: "registrations per hour of an IP address, 0 for no limit", set: whole(0, func(c *Config) *int { return &c.SignUpRateLimit })},
		{Flag: "storage-limit", Default: "1024", arg: "number",
			Help: "MiB of documents that a person may have uploaded, 0 for no limit", set: whole(0, func(c *Config) *int { return &c.StorageLimit })},
		{Flag: "connections-per-address", Default: "200", arg: "number",
			Help: "connections that an IP address may have open, 0 for no limit; trusted proxies have none",
			set:  whole(0, func(c *Config) *int { return &c.ConnectionsPerAddress })},
		{Flag: "drain", Default: "5s", arg: "duration",
			Help: "how long requests are still served after SIGTERM, while /readyz answers 503", set: duration(func(c *Config) *time.Duration { return &c.Drain })},
		{Flag: "mail-limit", Default: "200", arg: "number",
			Help: "emails to other people that an account may cause in 24 hours, 0 for no limit", set: whole(0, func(c *Config) *int { return &c.MailLimit })},
		{Flag: "security-contact", arg: "address",
			Help: "email address or https:// URL for reports of vulnerabilities, shown in /.well-known/security.txt", set: setSecurityContact},
		{Flag: "admin-listen", arg: "host:port",
			Help: "second, loopback address for metrics and profiles", set: setAdminListen},
	}
	for i := range table {
		table[i].Env = "SVC_" + strings.ToUpper(strings.ReplaceAll(table[i].Flag, "-", "_"))
	}
	return table
}

// defaultPublicURL is where a browser on the same machine finds the service.
func defaultPublicURL(c Config) string {
	host, port, _ := net.SplitHostPort(c.Listen)
	if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr.Unmap().IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// defaultDatabase is a file beside the documents, so that one folder is all
// there is to back up.
func defaultDatabase(c Config) string { return filepath.Join(c.Data, "svc.db") }

// defaultMailFrom is an address at the public host. A bare IP address is no
// mail domain, so it gives localhost: who sends real mail sets a real one.
func defaultMailFrom(c Config) string {
	host := "localhost"
	if u, err := url.Parse(c.PublicURL); err == nil && !isIP(u.Hostname()) {
		host = u.Hostname()
	}
	return "warranty@" + host
}
