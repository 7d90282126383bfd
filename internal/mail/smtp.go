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
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// timeout bounds one delivery from the first packet to the last, so that a mail
// server that hangs holds up nothing for long.
const timeout = 15 * time.Second

// SMTP is the Sender that hands mail to a mail server.
type SMTP struct {
	host           string
	port           int
	user, password string
	from           *mail.Address
	implicit       bool // TLS from the first byte
	loopback       bool // the server is on this machine
	plain          bool // the operator wants no TLS
	policy         gomail.TLSPolicy
	tls            *tls.Config
	timeout        time.Duration
	dial           func(ctx context.Context, network, addr string) (net.Conn, error)
}

// NewSMTP makes a Sender for the server at rawURL, smtp://[user:password@]host[:port]
// or smtps:// for TLS from the start, whose mails come from the address from.
// With smtp, STARTTLS is demanded unless the server is on this machine, or the URL
// ends with ?tls=off: mails carry codes that let people in. The port defaults to 465 for smtps, 587 with a password
// and 25 without. The error never holds the URL.
func NewSMTP(rawURL, from string) (*SMTP, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" {
		return nil, errors.New("mail: the server is not given as smtp://user:password@host:port")
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" && u.RawQuery != "tls=off" || u.Fragment != "" {
		return nil, errors.New("mail: the server's URL must end after host and port, or with ?tls=off")
	}
	sender, err := mail.ParseAddress(from)
	if err != nil || strings.ContainsFunc(from, unicode.IsControl) {
		return nil, errors.New("mail: the sender is not a mail address")
	}
	s := &SMTP{host: u.Hostname(), from: sender, implicit: u.Scheme == "smtps", plain: u.RawQuery != "", timeout: timeout}
	if s.plain && s.implicit {
		return nil, errors.New("mail: smtps and tls=off contradict each other")
	}
	s.user = u.User.Username()
	s.password, _ = u.User.Password()
	if (s.user == "") != (s.password == "") {
		return nil, errors.New("mail: the server's URL needs both user and password, or neither")
	}
	if err := s.setPort(u.Port()); err != nil {
		return nil, err
	}
	s.setTLS()
	s.dial = (&net.Dialer{}).DialContext
	return s, nil
}

func (s *SMTP) setPort(port string) error {
	switch {
	case port != "":
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return errors.New("mail: the server's URL has no valid port")
		}
		s.port = int(n)
	case s.implicit:
		s.port = gomail.DefaultPortSSL
	case s.password != "":
		s.port = gomail.DefaultPortTLS
	default:
		s.port = gomail.DefaultPort
	}
	return nil
}

// setTLS demands encryption where codes and passwords would cross a network. On
// loopback nobody stands in between, and a mail server there mostly has a
// certificate that it signed itself: neither encryption nor a known signer is asked for.
func (s *SMTP) setTLS() {
	s.tls = &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
	s.policy = gomail.TLSMandatory
	ip := net.ParseIP(s.host)
	s.loopback = strings.EqualFold(s.host, "localhost") || ip != nil && ip.IsLoopback()
	if s.loopback {
		s.tls.InsecureSkipVerify = true
		s.policy = gomail.TLSOpportunistic
	}
	if s.plain {
		s.policy = gomail.NoTLS
	}
}

// Send delivers m, or says why not within 15 seconds. An error after which the
// server may still have taken the mail is possible, as always with SMTP.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	if err := m.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("no answer within %v: %w", s.timeout, context.DeadlineExceeded))
	defer cancel()
	err := s.deliver(ctx, m)
	if err == nil {
		return nil
	}
	// On a busy machine the context's end may be seen later than what it caused.
	if until, _ := ctx.Deadline(); !time.Now().Before(until) {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("mail: sending through %s: %w", s.addr(), context.Cause(ctx))
	}
	return fmt.Errorf("mail: sending through %s: %s", s.addr(), s.scrub(err.Error()))
}

// deliver makes a connection of its own for m: a service that sends a mail now
// and then gains nothing from keeping one. The connection is closed when ctx
// ends, which the library heeds only while it dials.
func (s *SMTP) deliver(ctx context.Context, m Message) error {
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
	if err := client.SendWithSMTPClient(session, s.compose(m)); err != nil {
		return err
	}
	_ = client.CloseWithSMTPClient(session) // the server has the mail: how it says goodbye does not matter
	return nil
}

// client speaks SMTP over conn. It is made for one delivery, since the library's
// client changes while it signs in and must not be shared.
func (s *SMTP) client(conn net.Conn, m Message) (*gomail.Client, error) {
	options := []gomail.Option{
		gomail.WithPort(s.port),
		gomail.WithTimeout(2 * s.timeout), // never the first to end: Send's context is
		gomail.WithTLSConfig(s.tls),
		gomail.WithTLSPolicy(s.policy),
		gomail.WithHELO(s.domain()),
		gomail.WithoutNoop(), // one mail and goodbye: nothing to keep alive or to reset
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
	if isASCII(s.from.Address + m.To) { // a demand that some server on the way may not know
		options = append(options, gomail.WithoutSMTPUTF8())
	}
	if s.password != "" {
		options = append(options, gomail.WithUsername(s.user), gomail.WithPassword(s.password), s.mechanisms())
	}
	return gomail.NewClient(s.host, options...)
}

// mechanisms prefers what every server can check, since the line is safe by the
// time a password is sent: encrypted, within this machine, or one that the operator trusts.
func (s *SMTP) mechanisms() gomail.Option {
	if s.loopback || s.plain {
		return gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc)
	}
	return gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthPlain, gomail.SMTPAuthLogin)
}

// compose writes m as a mail. The Message-ID is of the sender's domain, the
// library's would tell the name of this machine; it is the same when a mail is sent
// again after a crash, so that mailboxes can tell.
func (s *SMTP) compose(m Message) *gomail.Msg {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(s.from)
	msg.AddToMailAddress(&mail.Address{Address: m.To})
	msg.Subject(m.Subject)
	msg.SetDate()
	msg.SetMessageIDWithValue(cmp.Or(m.ID, rand.Text()) + "@" + s.domain())
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no out-of-office replies, RFC 3834
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	return msg
}

// domain is the sender's, where a header or a greeting needs one.
func (s *SMTP) domain() string {
	domain := s.from.Address[strings.LastIndexByte(s.from.Address, '@')+1:]
	if !isASCII(domain) {
		return "localhost"
	}
	return domain
}

func (s *SMTP) addr() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// String names the server without the password, so that printing a sender by
// mistake gives nothing away.
func (s *SMTP) String() string { return "mail through " + s.addr() }

// scrub makes one line of an error and takes the password out of it, which a
// server could repeat in its answer, as it is or as it was sent.
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
