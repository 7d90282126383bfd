// Package service implements the operations: it checks permissions, makes each change
// in one transaction, and replays the response to a repeated request.
package service

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"
	_ "time/tzdata" // the time zones of readers, on machines without them, too

	"warranty.example/svc/api"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Service implements the operations on a store.
type Service struct {
	Store *store.Store
	Log   *slog.Logger
	Mail  mail.Sender
	// Files stores the uploaded files.
	Files files.Store
	// Limits counts requests and attempts.
	Limits limit.Limiter

	// PublicURL is the base of all absolute URLs, without a trailing slash.
	PublicURL string
	// SignupClosed allows nobody to register but customers, with the code of a hand-over. If the operator did not set it,
	// which SignupSet tells, it is what was chosen at the set-up.
	SignupClosed, SignupSet bool
	// MailLimit is the number of new people whom a person may email per day, over all of their organizations, and
	// of immediate emails about records; 0 means no limit.
	MailLimit int
	// OrganizationLimit is the number of organizations that a person may be a member of; 0 means no limit.
	OrganizationLimit int
	// RequireVerified requires a verified address for tokens and calendar feeds. It is
	// set if there is a mail server to send codes.
	RequireVerified bool
	// RequireTwoStep is of whom two-step sign-in is required: TwoStepOfOperators, TwoStepOfAll or nobody.
	RequireTwoStep string
	// Silent disables emails about claims and accounts, for the demo.
	Silent bool
	// RateLimit is the number of requests per minute of a session; MaxTokenRate is the
	// highest limit of a token.
	RateLimit, MaxTokenRate int
	// VerifyRate and SignInRate are limits per minute, SignUpRate per hour; 0 means no limit.
	VerifyRate, SignInRate, SignUpRate int
	// StorageLimit is the number of bytes of documents per user; 0 means no limit.
	StorageLimit int64

	// SigningKey signs certificates; nil means that there are none.
	SigningKey *warranty.SigningKey
	// Secrets seals what the service has to read again, such as the secrets of authenticator apps; a zero key seals nothing.
	Secrets identity.SecretsKey

	// Passkeys verifies passkeys; nil means that there are none. See OpenPasskeys.
	Passkeys *identity.RelyingParty

	// LookupTXT looks up the DNS records that verify domains.
	LookupTXT func(ctx context.Context, name string) ([]string, error)

	// Documents reads a JSON document that describes an OAuth client, and returns how long it may be kept; nil means
	// that such documents are not supported.
	Documents func(ctx context.Context, address string) (body []byte, fresh time.Duration, err error)

	// Now is the clock, NewID makes ids, and Random is the source of secrets.
	Now    func() time.Time
	NewID  func() warranty.ID
	Random io.Reader
	// PasswordCost is the cost of new password hashes.
	PasswordCost PasswordCost

	folder   *folderState
	pictures *pictureSlots
	papers   *turns
	// paperWait is how long a request waits for its turn to make a PDF.
	paperWait time.Duration
	uploads   *uploadGate

	passwords *passwords
	usage     *usage
	seen      *seen
	requests  *requestLog
	errors    *errorLog
	delivery  *delivery
	mailsLost *atomic.Int64 // given up by this process
	limited   *limited
	started   time.Time
	mailNow   chan struct{}
	codesNow  chan struct{}
	finished  *finishedMails

	unsubscribe *unsubscribeKey
	setUp       *atomic.Bool // known to have had an account
	name        *serviceName
}

// DatabaseTiming adds up the time that calls spent in the database.
type DatabaseTiming = store.Timing

// WithDatabaseTiming returns a context whose calls are timed.
func WithDatabaseTiming(ctx context.Context) (context.Context, *DatabaseTiming) {
	return store.WithTiming(ctx)
}

// New returns a service that uses the database's clock, random ids and crypto/rand. Fields
// may be changed before its first use.
func New(st *store.Store, log *slog.Logger) *Service {
	ids := &ids{}
	s := &Service{
		Store:  st,
		Log:    log,
		Mail:   mail.NewLog(log),
		Limits: limit.NewMemory(time.Now),

		RateLimit:    100,
		MaxTokenRate: 1000,
		StorageLimit: 1 << 30,
		MailLimit:    200,

		OrganizationLimit: 20,

		LookupTXT: (&net.Resolver{PreferGo: true}).LookupTXT,

		Now:          st.Now,
		Random:       rand.Reader,
		PasswordCost: StrongCost,

		folder:    &folderState{missed: map[warranty.ID]bool{}},
		pictures:  newPictureSlots(),
		papers:    newTurns(papersAtOnce),
		paperWait: paperWait,
		passwords: newPasswords(),
		usage:     newUsage(),
		seen:      newSeen(),
		requests:  newRequestLog(),
		errors:    newErrorLog(),
		delivery:  &delivery{},
		mailsLost: &atomic.Int64{},
		limited:   &limited{},
		started:   time.Now(),
		mailNow:   make(chan struct{}, 1),
		codesNow:  make(chan struct{}, 1),
		uploads:   new(uploadGate),
		finished:  newFinishedMails(),

		unsubscribe: &unsubscribeKey{},
		setUp:       &atomic.Bool{},
		name:        &serviceName{},
	}
	s.NewID = func() warranty.ID { return ids.next(s.Now()) }
	return s
}

// Operations returns all operations, bound to this service.
func (s *Service) Operations() []api.Bound {
	return slices.Concat(
		s.warrantyOperations(),
		s.claimOperations(),
		s.bulkOperations(),
		s.documentOperations(),
		s.transferOperations(),
		s.sellerOperations(),
		s.handoverOperations(),
		s.printedCodeOperations(),
		s.trashOperations(),
		s.tokenOperations(),
		s.accountOperations(),
		s.passkeyOperations(),
		s.securityOperations(),
		s.organizationOperations(),
		s.domainOperations(),
		s.brandOperations(),
		s.customerOperations(),
		s.productOperations(),
		s.replyOperations(),
		s.reminderOperations(),
	)
}

// now returns the time as stored in records: UTC, in microseconds.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// today returns the UTC date.
func (s *Service) today() warranty.Date { return warranty.DateOf(s.Now()) }

// writeAs runs a transaction that commits only if the principal's credential is still
// valid and the principal may change records of the account.
func (s *Service) writeAs(ctx context.Context, p warranty.Principal, fn func(*store.Tx) error) error {
	return s.writeWithLocks(ctx, p, warranty.Member, func(*store.Tx) error { return nil }, fn)
}

// writeLocked is writeAs with the principal's account locked.
func (s *Service) writeLocked(
	ctx context.Context, p warranty.Principal, fn func(*store.Tx, store.Account) error,
) error {
	return s.WriteToAccount(ctx, p, warranty.Member, fn)
}

// manage is writeLocked for what only admins of an organization may do.
func (s *Service) manage(
	ctx context.Context, p warranty.Principal, fn func(*store.Tx, store.Account) error,
) error {
	return s.WriteToAccount(ctx, p, warranty.Admin, fn)
}

// WriteToAccount runs a transaction with the principal's account locked. It commits only if the credential is still
// valid and the principal has the needed role.
func (s *Service) WriteToAccount(
	ctx context.Context, p warranty.Principal, needed warranty.MemberRole, fn func(*store.Tx, store.Account) error,
) error {
	var account store.Account
	lock := func(tx *store.Tx) (err error) {
		account, err = tx.LockUser(p.Account.ID)
		return err
	}
	return s.writeWithLocks(ctx, p, needed, lock, func(tx *store.Tx) error { return fn(tx, account) })
}

// writeWithLocks is writeAs with account locks, which lockAccounts takes first. All
// transactions lock in the same order to avoid deadlocks: accounts, then one-time codes
// and credentials, then records.
func (s *Service) writeWithLocks(
	ctx context.Context, p warranty.Principal, needed warranty.MemberRole, lockAccounts, fn func(*store.Tx) error,
) error {
	if err := p.Account.Require(needed); err != nil {
		return err
	}
	if err := s.countForm(ctx, p); err != nil {
		return err
	}
	now := s.now()
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		if err := lockAccounts(tx); err != nil {
			return err
		}
		if err := tx.HoldCredential(p, needed, now); err != nil {
			return err
		}
		return fn(tx)
	})
}

// countForm counts a form of the web pages like an API request. API requests were
// already counted by the server. Reading a page is not counted.
func (s *Service) countForm(ctx context.Context, p warranty.Principal) error {
	if p.Door != warranty.DoorWeb {
		return nil
	}
	if counted, ok := ctx.Value(oneForm{}).(*atomic.Bool); ok && counted.Swap(true) {
		return nil
	}
	return s.throttleForm(ctx, p.Window())
}

type oneForm struct{}

// AsOneForm returns a context under which all writes count as one form, for imports.
func AsOneForm(ctx context.Context) context.Context {
	return context.WithValue(ctx, oneForm{}, new(atomic.Bool))
}
