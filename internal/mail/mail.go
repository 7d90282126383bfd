// Package mail composes the emails of the service and sends them through an SMTP
// server or writes them to the log.
package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"strings"
	"unicode"
)

// Message is one email to one recipient.
type Message struct {
	ID      string // same for every attempt, so that recipients can detect duplicates
	To      string // a bare address
	Subject string
	Text    string // plain text with \n line endings
	Code    string // the one-time code in Text, if any; all that Log shows of Text
	// Language is that of Subject and Text.
	Language string
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
	if addr, err := mail.ParseAddress(m.To); err != nil || addr.Address != m.To {
		return errors.New("mail: recipient is not a bare email address")
	}
	return nil
}

// Log is the Sender of a service without an SMTP server. Operators can read the
// one-time codes in the log.
type Log struct {
	log *slog.Logger
}

// NewLog returns a Sender that writes one log line per email, with its code but
// without its text.
func NewLog(log *slog.Logger) *Log { return &Log{log: log} }

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
	l.log.LogAttrs(ctx, slog.LevelInfo, "mail", attrs...)
	return nil
}
