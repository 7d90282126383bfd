package service

import (
	"context"
	"sync/atomic"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/warranty"
)

// Throttle is a kind of attempt that has its own limit.
type Throttle string

// The throttles.
const (
	SignInAttempts  Throttle = "sign-in" // per network
	AccountAttempts Throttle = "account" // per account, from any network
	// CodeRequests counts requests for emailed codes per network, and CodeMails the
	// emails to an address. They are separate from sign-ins, so that neither blocks the
	// other.
	CodeRequests Throttle = "code"
	CodeMails    Throttle = "code-mail"
	// CodeMailsOfDay counts the codes of all kinds that a mailbox is emailed in a day, and PrintedCodeMails the
	// addresses to which someone with a printed code has codes sent.
	CodeMailsOfDay   Throttle = "code-mail-day"
	PrintedCodeMails Throttle = "printed-code-mail"
	// ShortCodeTries counts the six digits that are entered for a mailbox in a day, whatever page asked for them.
	ShortCodeTries Throttle = "short-code"
	SignUpAttempts Throttle = "sign-up"
	VerifyAttempts Throttle = "verify"
	MailsToOthers  Throttle = "mail"
	DomainChecks   Throttle = "domain"
	// UnknownSubscriptions counts unsubscribe addresses that are not valid, per network.
	UnknownSubscriptions Throttle = "unsubscribe"
	// ClientRegistrations counts OAuth clients that are new, per network.
	ClientRegistrations Throttle = "client"
	// ClientDocuments counts documents of OAuth clients that are read, per user.
	ClientDocuments Throttle = "client-document"
)

// throttles holds the error of each throttle.
var throttles = map[Throttle]struct {
	code warranty.Code
	what string
}{
	SignInAttempts:  {warranty.IPThrottled, "Too many sign-in attempts from your network."},
	AccountAttempts: {warranty.RateLimited, "Too many sign-in attempts for this account."},
	CodeRequests:    {warranty.IPThrottled, "Too many requests for codes from your network."},
	CodeMails: {warranty.RateLimited, "We have already emailed codes to this address in the past 15 minutes, " +
		"and they still work. Check the mailbox."},
	CodeMailsOfDay: {warranty.RateLimited, "We have emailed this address many codes today. " +
		"Sign in with a password, or try again tomorrow."},
	ShortCodeTries:       {warranty.RateLimited, "Too many codes were entered for this address today. Use the link in the email."},
	PrintedCodeMails:     {warranty.RateLimited, "This code was used to email several addresses today."},
	SignUpAttempts:       {warranty.IPThrottled, "Too many registrations from your network."},
	VerifyAttempts:       {warranty.IPThrottled, "Too many verifications from your network."},
	MailsToOthers:        {warranty.RateLimited, "You have sent too many emails to others."},
	UnknownSubscriptions: {warranty.IPThrottled, "Too many invalid links from your network."},
	DomainChecks:         {warranty.RateLimited, "You have checked your domains too often."},
	ClientRegistrations:  {warranty.IPThrottled, "Too many apps were registered from your network."},
	ClientDocuments:      {warranty.RateLimited, "You have connected new apps too often."},
}

// clientRegistrations is how many new OAuth clients a network can register per hour. Hosted apps share addresses.
const clientRegistrations = 120

const (
	codeMails        = 3  // codes of one kind to a mailbox per warranty.CodeMailWindow
	codeMailsOfDay   = 10 // codes of all kinds to a mailbox per day
	printedCodeMails = 5  // emails for a printed code per day
	shortCodeTries   = 20 // six digits that are entered for a mailbox per day
)

// rate returns how many attempts are allowed in which period; 0 means any number.
func (s *Service) rate(what Throttle) (int, time.Duration) {
	switch what {
	case SignInAttempts, AccountAttempts, MailsToOthers, CodeRequests, DomainChecks, ClientDocuments:
		return s.SignInRate, time.Minute
	case CodeMails:
		return min(codeMails, s.SignInRate), warranty.CodeMailWindow
	case CodeMailsOfDay:
		return codeMailsOfDay * min(s.SignInRate, 1), 24 * time.Hour
	case PrintedCodeMails:
		return printedCodeMails * min(s.SignInRate, 1), 24 * time.Hour
	case ShortCodeTries:
		return shortCodeTries * min(s.SignInRate, 1), 24 * time.Hour
	case SignUpAttempts:
		return s.SignUpRate, time.Hour
	case ClientRegistrations:
		return clientRegistrations, time.Hour
	default:
		return s.VerifyRate, time.Minute
	}
}

// throttle counts an attempt against its limit and returns an error when the limit is exceeded.
func (s *Service) throttle(ctx context.Context, what Throttle, whom string) error {
	rate, period := s.rate(what)
	if rate <= 0 {
		return nil
	}
	if window := s.Limits.Take(ctx, string(what)+":"+whom, rate, period); !window.Allowed {
		t := throttles[what]
		return s.TooMany(t.code, warranty.Text{Format: t.what}, window)
	}
	return nil
}

// throttleForm counts a submitted form against the rate limit that the user's API
// requests share, once per request.
func (s *Service) throttleForm(ctx context.Context, window string) error {
	caller := api.CallerOf(ctx)
	if caller.FormCounted {
		return caller.FormRefused
	}
	caller.FormCounted = true
	if window := s.Limits.Take(ctx, window, s.RateLimit, time.Minute); !window.Allowed {
		what := warranty.Textf("You reached the limit of %d changes a minute, so nothing was saved.", window.Limit)
		caller.FormRefused = s.TooMany(warranty.RateLimited, what, window)
	}
	return caller.FormRefused
}

// TooMany returns the error for an exhausted window, and counts it. The message starts with what.
func (s *Service) TooMany(code warranty.Code, what warranty.Text, w limit.Window) error {
	s.limited.of(code).Add(1)
	wait := max(time.Second, w.Until.Sub(s.Now()))
	return warranty.Refuse(code, "%s %s", what, tryAgain(wait)).After(wait)
}

// limited counts what was refused because of a limit.
type limited struct{ credential, network atomic.Int64 }

func (l *limited) of(code warranty.Code) *atomic.Int64 {
	if code == warranty.IPThrottled {
		return &l.network
	}
	return &l.credential
}

// Limited returns how often this process refused something with the code of a limit.
func (s *Service) Limited(code warranty.Code) int64 { return s.limited.of(code).Load() }

// tryAgain says when to try again, in seconds or minutes, rounded up.
func tryAgain(wait time.Duration) warranty.Text {
	seconds, minutes := int((wait+time.Second-1)/time.Second), int((wait+time.Minute-1)/time.Minute)
	switch {
	case wait > 2*time.Minute:
		return warranty.Textf("Try again in %d minutes.", minutes)
	case seconds == 1:
		return warranty.Textf("Try again in 1 second.")
	}
	return warranty.Textf("Try again in %d seconds.", seconds)
}
