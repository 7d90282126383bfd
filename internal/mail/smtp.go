package mail

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"warranty.example/svc/internal/netaddr"
	"warranty.example/svc/warranty"
)

// timeout bounds one delivery, including the dial.
const timeout = 15 * time.Second

// Server is a parsed SMTP URL.
type Server struct {
	host           string
	port           int
	user, password string
	implicit       bool // smtps: TLS without STARTTLS
	plain          bool // tls=off
}

// ParseServer parses smtp[s]://[user:password@]host[:port]. smtps uses implicit TLS.
// smtp requires STARTTLS unless the host is a loopback address or the URL ends with
// ?tls=off, because emails contain sign-in codes. The port defaults to 465 for smtps, 587
// with a password and 25 without. Errors never contain the URL.
func ParseServer(rawURL string) (*Server, error) {
	u, err := netaddr.ParseURL(rawURL, "smtp", "smtps")
	if err != nil {
		return nil, err
	}
	if strings.Trim(u.Path, "/") != "" || strings.Contains(rawURL, "#") ||
		strings.Contains(rawURL, "?") && u.RawQuery != "tls=off" {
		return nil, errors.New("must end after host and port, or with ?tls=off")
	}
	s := &Server{host: u.Hostname(), user: u.User.Username(), implicit: u.Scheme == "smtps", plain: u.RawQuery != ""}
	if s.plain && s.implicit {
		return nil, errors.New("has ?tls=off, which contradicts smtps://")
	}
	s.password, _ = u.User.Password()
	if u.User != nil && (s.user == "" || s.password == "") {
		return nil, errors.New("needs both user and password, or neither")
	}
	switch {
	case u.Port() != "":
		s.port, err = strconv.Atoi(u.Port())
	case s.implicit:
		s.port = gomail.DefaultPortSSL
	case s.password != "":
		s.port = gomail.DefaultPortTLS
	default:
		s.port = gomail.DefaultPort
	}
	return s, err
}

func (s *Server) addr() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// String returns the URL without user and password.
func (s *Server) String() string {
	if s.implicit {
		return "smtps://" + s.addr()
	}
	return "smtp://" + s.addr()
}

// GoString is String, for %#v.
func (s *Server) GoString() string { return s.String() }

// ParseFrom parses a sender address, with or without a name.
func ParseFrom(from string) (*mail.Address, error) {
	address, err := mail.ParseAddress(from)
	if err != nil || strings.ContainsFunc(from, unicode.IsControl) {
		return nil, errors.New("is not an email address, such as warranty@example.com")
	}
	return address, nil
}

// SMTP is a Sender that delivers through a mail server.
type SMTP struct {
	*Server
	from     *mail.Address
	loopback bool
	policy   gomail.TLSPolicy
	tls      *tls.Config
	timeout  time.Duration
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
}

// NewSMTP returns a Sender that delivers through server, with the From address from.
func NewSMTP(server *Server, from *mail.Address) *SMTP {
	s := &SMTP{
		Server:   server,
		from:     from,
		loopback: netaddr.IsLoopback(server.host),
		timeout:  timeout,
		dial:     new(net.Dialer).DialContext,
	}
	s.setTLS()
	return s
}

// setTLS requires encryption unless the server is on loopback, where TLS is
// optional and certificates, which are mostly self-signed, are not verified.
func (s *SMTP) setTLS() {
	s.tls = &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
	s.policy = gomail.TLSMandatory
	if s.loopback {
		s.tls.InsecureSkipVerify = true
		s.policy = gomail.TLSOpportunistic
	}
	if s.plain {
		s.policy = gomail.NoTLS
	}
}

// Check connects to the server and authenticates, without sending anything.
func (s *SMTP) Check(ctx context.Context) error {
	if err := s.session(ctx, Message{}, func(*gomail.Client, *smtp.Client) error { return nil }); err != nil {
		return fmt.Errorf("mail: connecting to %s: %s", s.addr(), s.scrub(err.Error()))
	}
	return nil
}

// Send delivers m, or fails within 15 seconds. As always with SMTP, the server may
// have accepted an email although Send returns an error.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	if err := m.check(); err != nil {
		return err
	}
	cause := fmt.Errorf("no answer within %v: %w", s.timeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, cause)
	defer cancel()
	err := s.deliver(ctx, m)
	if err == nil {
		return nil
	}
	// On a busy machine the I/O error can arrive before the context is done.
	if until, _ := ctx.Deadline(); !time.Now().Before(until) {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("mail: sending through %s: %w", s.addr(), context.Cause(ctx))
	}
	return fmt.Errorf("mail: sending through %s: %s", s.addr(), s.scrub(err.Error()))
}

// deliver sends m on a new connection.
func (s *SMTP) deliver(ctx context.Context, m Message) error {
	return s.session(ctx, m, func(client *gomail.Client, session *smtp.Client) error {
		return client.SendWithSMTPClient(session, s.compose(m))
	})
}

// session runs fn on a new connection for m. It closes the connection when ctx is done,
// because the library checks ctx only while dialing.
func (s *SMTP) session(ctx context.Context, m Message, fn func(*gomail.Client, *smtp.Client) error) error {
	conn, err := s.dial(ctx, "tcp", s.addr())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()

	client, err := s.client(conn, m)
	if err != nil {
		return err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return err
	}
	if err := fn(client, session); err != nil {
		return err
	}
	_ = client.CloseWithSMTPClient(session) // the email is already accepted
	return nil
}

// client returns an SMTP client on conn for one delivery. The library's client
// changes state during authentication and must not be shared.
func (s *SMTP) client(conn net.Conn, m Message) (*gomail.Client, error) {
	options := []gomail.Option{
		gomail.WithPort(s.port),
		gomail.WithTimeout(2 * s.timeout), // Send's context expires first
		gomail.WithTLSConfig(s.tls),
		gomail.WithTLSPolicy(s.policy),
		gomail.WithHELO(s.domain()),
		gomail.WithoutNoop(), // a connection carries one email
		gomail.WithoutRset(),
		gomail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) {
			if s.implicit {
				return tls.Client(conn, s.tls), nil
			}
			return conn, nil
		}),
	}
	if s.implicit {
		options = append(options, gomail.WithSSL())
	}
	if isASCII(s.from.Address + m.To) { // not every server on the way supports SMTPUTF8
		options = append(options, gomail.WithoutSMTPUTF8())
	}
	if s.password != "" {
		options = append(options, gomail.WithUsername(s.user), gomail.WithPassword(s.password), s.mechanisms())
	}
	return gomail.NewClient(s.host, options...)
}

// mechanisms allows PLAIN and LOGIN, which every server supports. The connection is
// encrypted, local, or explicitly trusted by the operator when the password is sent.
func (s *SMTP) mechanisms() gomail.Option {
	if s.loopback || s.plain {
		return gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc)
	}
	return gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthPlain, gomail.SMTPAuthLogin)
}

// compose builds the email. The Message-ID uses the sender's domain, because the
// library's default reveals the host name, and stays the same across retries.
func (s *SMTP) compose(m Message) *gomail.Msg {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(s.sender(m))
	msg.AddToMailAddress(&mail.Address{Address: m.To})
	msg.Subject(m.Subject)
	msg.SetDate()
	msg.SetMessageIDWithValue(cmp.Or(m.ID, rand.Text()) + "@" + s.domain())
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no out-of-office replies, RFC 3834
	if m.Unsubscribe != "" && msg.SetListUnsubscribeOneClick(m.Unsubscribe) != nil {
		msg.SetListUnsubscribe(m.Unsubscribe) // not HTTPS, which RFC 8058 requires
	}
	if m.ReplyTo != "" {
		msg.ReplyToMailAddress(&mail.Address{Address: m.ReplyTo})
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return msg
}

// sender returns the From address of m. The address is always that of the service; only the name may begin with that of
// an organization.
func (s *SMTP) sender(m Message) *mail.Address {
	name := cmp.Or(s.from.Name, m.Service) // that of mail-from goes first
	if m.From != "" {
		name = In(warranty.Locale{Language: m.Language}).get("from", m.From, cmp.Or(name, Service))
	}
	return &mail.Address{Name: name, Address: s.from.Address}
}

// domain returns the sender's domain, for HELO and Message-ID.
func (s *SMTP) domain() string {
	domain := s.from.Address[strings.LastIndexByte(s.from.Address, '@')+1:]
	if !isASCII(domain) {
		return "localhost"
	}
	return domain
}

// String names the server without the password.
func (s *SMTP) String() string { return "mail through " + s.addr() }

// scrub joins the lines of an error and removes the password, which a server could
// repeat in its response, plain or encoded.
func (s *SMTP) scrub(text string) string {
	if s.password != "" {
		plain := base64.StdEncoding.EncodeToString([]byte("\x00" + s.user + "\x00" + s.password))
		login := base64.StdEncoding.EncodeToString([]byte(s.password))
		quoted := strings.Trim(strconv.Quote(s.password), `"`)
		text = strings.NewReplacer(plain, "***", login, "***", quoted, "***", s.password, "***").Replace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
