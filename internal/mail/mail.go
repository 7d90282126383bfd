// Package mail sends the few mails of the service: to an SMTP server, or to the
// log of a service that has none.
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

// Message is one mail to one person.
type Message struct {
	ID      string // the same for each attempt: a mail that comes twice is known by it
	To      string // a bare address
	Subject string
	Text    string // plain text, lines end with \n
	Code    string // the one-time code in Text, if any: a log shows it alone
}

// Sender delivers messages. SMTP and Log are the two there are.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// check refuses what would say something else in a header than it does in the
// Message: a line break could add recipients or headers of its own. What
// was refused is not repeated in the error, which may end in a log.
func (m Message) check() error {
	if strings.ContainsFunc(m.To, unicode.IsControl) {
		return errors.New("mail: the address holds a control character")
	}
	if strings.ContainsFunc(m.Subject, unicode.IsControl) {
		return errors.New("mail: the subject holds a control character")
	}
	if addr, err := mail.ParseAddress(m.To); err != nil || addr.Address != m.To {
		return errors.New("mail: the recipient is not one bare mail address")
	}
	return nil
}

// Log is the Sender of a service without an SMTP server: the operator reads the
// code in the log and hands it on.
type Log struct {
	log *slog.Logger
}

// NewLog makes a Sender that writes each mail as one line to log. The text
// stays out of it: all that matters of it is the code.
func NewLog(log *slog.Logger) *Log { return &Log{log: log} }

// Send writes the line. It refuses what SMTP would refuse, so that a mistake
// shows before there is a mail server.
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
