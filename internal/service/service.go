// Package service performs the operations: it decides who may, keeps each change
// in one transaction, and answers a repeated request with its first answer.
package service

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Service performs the operations on a store.
type Service struct {
	Store *store.Store
	Log   *slog.Logger
	Mail  mail.Sender
	// Files holds what people upload.
	Files *files.Dir
	// Throttle counts one attempt and refuses it when there were too many.
	Throttle func(ctx context.Context, what Throttle, whom string) error

	// PublicURL is the address that people and machines see, without a slash at its end.
	PublicURL string
	// SignupClosed lets only the first account register.
	SignupClosed bool
	// MailLimit is how many mails to other people an account may cause in a day; 0 is no limit.
	MailLimit int
	// RequireVerified demands a verified address before an account gets tokens or a
	// calendar feed; it is set when there is a mail server to verify it with.
	RequireVerified bool
	// Silent mails nobody about claims and accounts, for what the demo does by itself.
	Silent bool
	// RateLimit is a signed-in person's requests a minute; MaxTokenRate is the most a token may be given.
	RateLimit, MaxTokenRate int
	// StorageLimit is how many bytes of documents a person may have uploaded; 0 is no limit.
	StorageLimit int64

	// Now, NewID and Random are the clock, the id maker and the source of secrets.
	Now    func() time.Time
	NewID  func() warranty.ID
	Random io.Reader
	// PasswordCost is the cost of new password hashes.
	PasswordCost PasswordCost

	folder *folderState

	passwords *passwords
	usage     *usage
	requests  *requestLog
	mailNow   chan struct{}
	finished  *finishedMails
}

// Throttle is a kind of attempt that is counted apart from ordinary requests.
type Throttle string

// The throttles.
const (
	SignInAttempts  Throttle = "sign-in" // of a network
	AccountAttempts Throttle = "account" // on an account, from any network
	// CodeRequests are requests for mailed codes from a network, and CodeMails the mails
	// that an address gets: apart from sign-ins, so that one never locks out the other.
	CodeRequests   Throttle = "code"
	CodeMails      Throttle = "code-mail"
	SignUpAttempts Throttle = "sign-up"
	VerifyAttempts Throttle = "verify"
	MailsToOthers  Throttle = "mail"
	// FormPosts are the forms of the web pages; they share the window of a person's
	// API requests.
	FormPosts Throttle = "form"
)

// New makes a service on a store with the database's clock, real ids and randomness. Fields
// may be changed until its first use.
func New(st *store.Store, log *slog.Logger) *Service {
	ids := &ids{}
	s := &Service{
		Store: st, Log: log, Mail: mail.NewLog(log), Throttle: func(context.Context, Throttle, string) error { return nil },
		RateLimit: 100, MaxTokenRate: 1000, StorageLimit: 1 << 30, MailLimit: 200,
		Now: st.Now, Random: rand.Reader, PasswordCost: StrongCost, folder: &folderState{missed: map[warranty.ID]bool{}},
		passwords: newPasswords(), usage: newUsage(), requests: newRequestLog(), mailNow: make(chan struct{}, 1), finished: newFinishedMails(),
	}
	s.NewID = func() warranty.ID { return ids.next(s.Now()) }
	return s
}

// Operations are all operations, bound to this service.
func (s *Service) Operations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListWarranties, s.ListWarranties),
		api.Bind(api.CreateWarranty, s.CreateWarranty),
		api.Bind(api.GetWarranty, s.GetWarranty),
		api.Bind(api.UpdateWarranty, s.UpdateWarranty),
		api.Bind(api.DeleteWarranty, s.DeleteWarranty),
		api.Bind(api.LookupWarranties, s.LookupWarranties),
		api.Bind(api.VerifyWarranty, s.VerifyWarranty),
		api.Bind(api.ListClaims, s.ListClaims),
		api.Bind(api.GetClaim, s.GetClaim),
		api.Bind(api.FileClaim, s.FileClaim),
		api.Bind(api.MoveClaim, s.MoveClaim),
		api.Bind(api.ListDocuments, s.ListDocuments),
		api.Bind(api.GetDocument, s.GetDocument),
		api.Bind(api.DeleteDocument, s.DeleteDocument),
		api.Bind(api.OfferTransfer, s.OfferTransfer),
		api.Bind(api.CancelTransfer, s.CancelTransfer),
		api.Bind(api.AcceptTransfer, s.AcceptTransfer),
		api.Bind(api.ListHistory, s.ListHistory),
		api.Bind(api.GetAuthStatus, s.GetAuthStatus),
		api.Bind(api.CreateToken, s.CreateToken),
		api.Bind(api.ListTokens, s.ListTokens),
		api.Bind(api.GetToken, s.GetToken),
		api.Bind(api.RotateToken, s.RotateToken),
		api.Bind(api.RevokeToken, s.RevokeToken),
		api.Bind(api.ListTokenHistory, s.ListTokenHistory),
		api.Bind(api.ListTokenRequests, s.ListTokenRequests),
		api.Bind(api.Register, s.Register),
		api.Bind(api.SignIn, s.SignIn),
		api.Bind(api.RequestSignInCode, s.RequestSignInCode),
		api.Bind(api.SignOut, s.SignOut),
		api.Bind(api.VerifyEmail, s.VerifyEmail),
		api.Bind(api.SendVerification, s.SendVerification),
		api.Bind(api.RequestPasswordReset, s.RequestPasswordReset),
		api.Bind(api.ResetPassword, s.ResetPassword),
		api.Bind(api.ChangePassword, s.ChangePassword),
		api.Bind(api.GetAccount, s.GetAccount),
		api.Bind(api.UpdateAccount, s.UpdateAccount),
	}
}

// now is the time as records keep it: UTC, to the microsecond.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// today is the UTC day.
func (s *Service) today() warranty.Date { return warranty.DateOf(s.Now()) }

// writeAs runs a transaction for a principal whose credential is alive until it
// is durable.
func (s *Service) writeAs(ctx context.Context, p warranty.Principal, fn func(*store.Tx) error) error {
	return s.writeAfter(ctx, p, func(*store.Tx) error { return nil }, fn)
}

// writeAlone is writeAs for what is counted or changed for one account at a time.
func (s *Service) writeAlone(ctx context.Context, p warranty.Principal, fn func(*store.Tx, store.Account) error) error {
	var account store.Account
	lock := func(tx *store.Tx) (err error) {
		account, err = tx.LockUser(p.User.ID)
		return err
	}
	return s.writeAfter(ctx, p, lock, func(tx *store.Tx) error { return fn(tx, account) })
}

// writeAfter is writeAs for what locks accounts, which comes first. Everything is
// locked in one order, or transactions may deadlock: accounts, then one-time codes
// and credentials, then records.
func (s *Service) writeAfter(ctx context.Context, p warranty.Principal, lockAccounts, fn func(*store.Tx) error) error {
	if err := s.countForm(ctx, p); err != nil {
		return err
	}
	now := s.now()
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		if err := lockAccounts(tx); err != nil {
			return err
		}
		if err := tx.HoldCredential(p, now); err != nil {
			return err
		}
		return fn(tx)
	})
}

// countForm counts a form of the web pages like a request of the API, which is
// counted before it gets here. Reading a page is free.
func (s *Service) countForm(ctx context.Context, p warranty.Principal) error {
	if p.Door != warranty.DoorWeb {
		return nil
	}
	if counted, ok := ctx.Value(oneForm{}).(*atomic.Bool); ok && counted.Swap(true) {
		return nil
	}
	return s.Throttle(ctx, FormPosts, p.User.ID.String())
}

type oneForm struct{}

// AsOneForm makes everything that is done under the context count as one form, as
// an import of many rows does.
func AsOneForm(ctx context.Context) context.Context {
	return context.WithValue(ctx, oneForm{}, new(atomic.Bool))
}
