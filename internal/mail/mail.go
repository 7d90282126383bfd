// Package mail composes the emails of the service and sends them through an SMTP
// server or writes them to the log.
package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"regexp"
	"strings"
	"unicode"

	"warranty.example/svc/warranty"
)

// Message is one email to one recipient.
type Message struct {
	ID      string // same for every attempt, so that recipients can detect duplicates
	To      string // a bare address
	Subject string
	Text    string // plain text with \n line endings
	// HTML is what Text says, as HTML without a page around it until Finish adds it. Empty for emails of an earlier release.
	HTML string
	Code string // the one-time code in Text, if any; all that Log shows of Text
	// NotMe means that Text has the code of Texts.NotMe.
	NotMe bool
	// Language is that of Subject and Text.
	Language string
	// Service is the name of the service, or empty for that of the program.
	Service string
	// From is the name of the organization that the email is from, which the recipient sees as "Halden via Warranty
	// Records"; empty for the name of the service alone.
	From string
	// Color is that of the organization's brand, which the email has above its text; empty without one.
	Color warranty.Color
	// ReplyTo is the address that answers go to, if not that of the service.
	ReplyTo string
	// Unsubscribe is the address that turns emails like this off; empty for emails that are always sent. Log
	// does not show it.
	Unsubscribe string
}

// Sender delivers messages. SMTP and Log implement it.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// check rejects values that could inject headers or recipients. The error does not
// repeat the value, because errors are logged.
func (m Message) check() error {
	if strings.ContainsFunc(m.To, unicode.IsControl) {
		return errors.New("mail: address contains a control character")
	}
	if strings.ContainsFunc(m.Subject, unicode.IsControl) {
		return errors.New("mail: subject contains a control character")
	}
	if strings.ContainsFunc(m.From, func(r rune) bool { return !unicode.IsPrint(r) }) || len([]rune(m.From)) > maxPlain {
		return errors.New("mail: name of the sender is too long or contains an unprintable character")
	}
	if !isBare(m.To) {
		return errors.New("mail: recipient is not a bare email address")
	}
	if m.ReplyTo != "" && (strings.ContainsFunc(m.ReplyTo, unicode.IsControl) || !isBare(m.ReplyTo)) {
		return errors.New("mail: address for answers is not a bare email address")
	}
	return nil
}

// isBare reports whether a text is one email address without a name.
func isBare(address string) bool {
	parsed, err := mail.ParseAddress(address)
	return err == nil && parsed.Address == address
}

// Log is the Sender of a service without an SMTP server. Operators can read the
// one-time codes in the log.
type Log struct {
	log *slog.Logger
}

// NewLog returns a Sender that writes one log line per email, with its codes but
// without its text.
func NewLog(log *slog.Logger) *Log { return &Log{log: log} }

// notMeLink is the link with which the reader of a notice says that it was not them.
var notMeLink = regexp.MustCompile(`/not-me/(\S+)`)

// Send writes the line. It rejects the same messages as SMTP, so that mistakes show
// up without a mail server.
func (l *Log) Send(ctx context.Context, m Message) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	if err := m.check(); err != nil {
		return err
	}
	attrs := []slog.Attr{slog.String("to", m.To), slog.String("subject", m.Subject)}
	if m.Code != "" {
		attrs = append(attrs, slog.String("code", m.Code))
	}
	if link := notMeLink.FindStringSubmatch(m.Text); link != nil {
		attrs = append(attrs, slog.String("not_me", link[1]))
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, "mail", attrs...)
	return nil
}
