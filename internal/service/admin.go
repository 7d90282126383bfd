package service

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// The types of the store that the admin page shows.
type (
	// UserSummary is an account.
	UserSummary = store.UserSummary
	// UserQuery is a page of the list of accounts.
	UserQuery = store.UserQuery
	// UserOrder is an order of the list.
	UserOrder = store.UserOrder
	// UserFilter selects accounts of the list.
	UserFilter = store.UserFilter
	// QueuedMail is an email in the outbox.
	QueuedMail = store.QueuedMail
	// MailQueue counts the emails in the outbox.
	MailQueue = store.MailQueue
	// JobQueue counts jobs.
	JobQueue = store.JobQueue
	// BackupStatus is the last good backup and the last one that failed.
	BackupStatus = store.BackupStatus
	// ServerError is a failed request or background task.
	ServerError = store.ServerError
	// OperatorEvent is something that an operator did.
	OperatorEvent = store.OperatorEvent
)

// MaxRecordsShown bounds the records that are counted per account in a list, and MaxCount the figures of the
// admin page.
const (
	MaxRecordsShown = store.MaxRecordsShown
	MaxCount        = store.MaxCount
)

const (
	// operatorSession is how long after signing in an operator can make changes on the admin page.
	operatorSession = 12 * time.Hour
	// accountEvents is the number of events on the page of an account.
	accountEvents = 50
	// recent are the periods of the figures on the admin page.
	recentSignIns, recentErrors = 30 * 24 * time.Hour, 24 * time.Hour
)

// ErrSignInAgain refuses a change on the admin page by a session that started too long ago.
var ErrSignInAgain = warranty.Refuse(warranty.SessionExpired, "Sign in again to make changes as an operator.")

// checkOperator refuses everyone but operators with a session, as if the page did not exist.
func checkOperator(p warranty.Principal) error {
	if p.Credential != warranty.BySession || !p.Admin {
		return warranty.ErrNotFound
	}
	return nil
}

// writeAsOperator runs a transaction on the admin page. It commits only if the principal is still an
// operator and signed in recently. The accounts of the operator and of other, if set, and the organizations of
// other are locked in the order of their ids, so that two operators who disable each other do not deadlock; one of
// them fails.
func (s *Service) writeAsOperator(
	ctx context.Context, p warranty.Principal, other warranty.ID,
	fn func(tx *store.Tx, other store.Account, now time.Time) error,
) error {
	if err := checkOperator(p); err != nil {
		return err
	}
	now := s.now()
	if now.Sub(p.SignedInAt) > operatorSession {
		return ErrSignInAgain
	}
	if err := s.requireConfirmed(p); err != nil {
		return err
	}
	var account store.Account
	lock := func(tx *store.Tx) error {
		whom := p.User.ID
		if !other.IsZero() {
			whom = other
		}
		locked, err := lockWithOrganizations(tx, whom, p.User.ID)
		if err == nil && !locked[p.User.ID].Admin {
			err = warranty.ErrNotFound
		}
		account = locked[other]
		return err
	}
	return s.writeWithLocks(ctx, p.Self(), warranty.Admin, lock, func(tx *store.Tx) error { return fn(tx, account, now) })
}

// AdminUsers lists accounts for an operator.
func (s *Service) AdminUsers(
	ctx context.Context, p warranty.Principal, q UserQuery,
) (warranty.Page[UserSummary], error) {
	if err := checkOperator(p); err != nil {
		return warranty.Page[UserSummary]{}, err
	}
	list, total, err := s.Store.FindUsers(ctx, q)
	return warranty.PageOf(list, q.Paging, total), err
}

// AdminUser is an account as an operator sees it.
type AdminUser struct {
	UserSummary
	Tokens  []warranty.Token
	History []warranty.Event
}

// AdminUser returns an account for an operator. It has no secrets.
func (s *Service) AdminUser(ctx context.Context, p warranty.Principal, id warranty.ID) (u AdminUser, err error) {
	if err := checkOperator(p); err != nil {
		return u, err
	}
	if u.UserSummary, err = s.Store.UserSummary(ctx, id); err != nil {
		return u, err
	}
	page := warranty.Paging{Page: 1, Limit: warranty.MaxLimit}
	if u.Tokens, _, err = s.Store.Tokens(ctx, id, page, s.today()); err != nil {
		return u, err
	}
	for i := range u.Tokens {
		u.Tokens[i].Show(s.now())
	}
	u.History, err = s.Store.AccountHistory(ctx, id, accountEvents)
	return u, err
}

// AdminDisable disables an account for an operator, like DisableUser.
func (s *Service) AdminDisable(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	return s.writeAsOperator(ctx, p, id, func(tx *store.Tx, account store.Account, now time.Time) error {
		if id == p.User.ID {
			return warranty.Refuse(warranty.RoleNotAllowed, "You cannot disable your own account.")
		}
		return s.disable(tx, p, account, false, now)
	})
}

// AdminEnable enables an account for an operator, like EnableUser.
func (s *Service) AdminEnable(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	return s.enabling(func() error {
		return s.writeAsOperator(ctx, p, id, func(tx *store.Tx, account store.Account, now time.Time) error {
			return s.enable(tx, p, account, now)
		})
	})
}

// AdminMails lists the waiting or the failed emails for an operator, and counts both.
func (s *Service) AdminMails(
	ctx context.Context, p warranty.Principal, failed bool, page warranty.Paging,
) (warranty.Page[QueuedMail], MailQueue, error) {
	if err := checkOperator(p); err != nil {
		return warranty.Page[QueuedMail]{}, MailQueue{}, err
	}
	queue, err := s.Store.CountMailQueue(ctx)
	if err != nil {
		return warranty.Page[QueuedMail]{}, queue, err
	}
	total := queue.Waiting
	if failed {
		total = queue.Failed
	}
	list, err := s.Store.ListMailQueue(ctx, failed, s.now(), page)
	return warranty.PageOf(list, page, total), queue, err
}

// AdminRetryMail makes an email due now.
func (s *Service) AdminRetryMail(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	err := s.changeMail(ctx, p, id, warranty.MailRetried, func(tx *store.Tx, m QueuedMail) error {
		if m.Expired {
			return warranty.Refuse(warranty.InvalidTransition,
				"The code in this email has expired, so it cannot be sent. The recipient has to request a new one.")
		}
		return tx.RetryMail(id)
	})
	s.wakeMail()
	return err
}

// AdminGiveUpMail removes an email from the outbox.
func (s *Service) AdminGiveUpMail(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	return s.changeMail(ctx, p, id, warranty.MailGivenUp, func(tx *store.Tx, _ QueuedMail) error {
		return tx.DeleteMail(id)
	})
}

// changeMail changes an email that is not being sent, and records it.
func (s *Service) changeMail(
	ctx context.Context, p warranty.Principal, id warranty.ID, action warranty.Action,
	change func(*store.Tx, QueuedMail) error,
) error {
	return s.writeAsOperator(ctx, p, warranty.ID{}, func(tx *store.Tx, _ store.Account, now time.Time) error {
		m, err := tx.LockQueuedMail(id, now)
		if err != nil {
			return err
		}
		if m.Sending {
			return warranty.Refuse(warranty.InvalidTransition, "This email is being sent right now. Try again in two minutes.")
		}
		if err := change(tx, m); err != nil {
			return err
		}
		recipient := warranty.Change{Field: "recipient", To: new(maskAddress(m.To))}
		return tx.InsertEvent(id, s.event(p, action, id, now, recipient))
	})
}

// maskAddress shortens an address for the history, which is kept when the account is deleted.
func maskAddress(email string) string {
	name, domain, _ := strings.Cut(email, "@")
	return name[:min(len(name), 1)] + "…@" + domain
}

// AdminRetryMails makes all emails due now that can be sent, and returns their number.
func (s *Service) AdminRetryMails(ctx context.Context, p warranty.Principal) (n int64, err error) {
	err = s.writeAsOperator(ctx, p, warranty.ID{}, func(tx *store.Tx, _ store.Account, now time.Time) error {
		if n, err = tx.RetryMails(now); err != nil || n == 0 {
			return err
		}
		e := s.event(p, warranty.MailRetried, s.NewID(), now,
			warranty.Change{Field: "emails", To: new(strconv.FormatInt(n, 10))})
		return tx.InsertEvent(e.SubjectID, e)
	})
	s.wakeMail()
	return n, err
}

// AdminErrors lists recent server errors for an operator, of one request or of all.
func (s *Service) AdminErrors(
	ctx context.Context, p warranty.Principal, requestID string, page warranty.Paging,
) (warranty.Page[ServerError], error) {
	if err := checkOperator(p); err != nil {
		return warranty.Page[ServerError]{}, err
	}
	list, total, err := s.Store.ServerErrors(ctx, requestID, page)
	return warranty.PageOf(list, page, total), err
}

// AdminHistory lists what operators did, by command or on the admin page.
func (s *Service) AdminHistory(
	ctx context.Context, p warranty.Principal, page warranty.Paging,
) (warranty.Page[OperatorEvent], error) {
	if err := checkOperator(p); err != nil {
		return warranty.Page[OperatorEvent]{}, err
	}
	list, total, err := s.Store.OperatorHistory(ctx, page)
	return warranty.PageOf(list, page, total), err
}

// Health is what this process knows about the service.
type Health struct {
	store.Counts
	Database   store.DatabaseInfo
	Backup     BackupStatus
	Jobs       JobQueue
	WritesFail bool
	FilesError string // why the files folder is unusable; empty if it is usable
	// OtherAddress is the address that people use instead of the public URL; empty if they use that.
	OtherAddress string
	MailServer   string // empty if emails go to the log
	// LastSent and LastFailed are the last delivery and the last failed one by this process; zero if
	// there was none.
	LastSent, LastFailed time.Time
	Replica              string
	Started              time.Time
}

// AdminHealth returns the state of the service for an operator.
func (s *Service) AdminHealth(ctx context.Context, p warranty.Principal) (h Health, err error) {
	if err := checkOperator(p); err != nil {
		return h, err
	}
	now := s.now()
	h.WritesFail, h.Replica, h.Started = s.Store.WritesFail(), s.errors.replica, s.started
	h.LastSent, h.LastFailed = s.delivery.last()
	if server, ok := s.Mail.(fmt.Stringer); ok {
		h.MailServer = server.String()
	}
	if err := s.FolderError(); err != nil {
		h.FilesError = warranty.AsError(err).Message
	}
	if h.Counts, err = s.Store.Count(ctx, now.Add(-recentSignIns), now.Add(-recentErrors)); err != nil {
		return h, err
	}
	if h.Backup, err = s.Store.BackupStatus(ctx); err != nil {
		return h, err
	}
	if h.OtherAddress, err = s.Store.OtherAddress(ctx, s.PublicURL, now); err != nil {
		return h, err
	}
	if h.Jobs, err = s.Store.CountJobs(ctx, now); err != nil {
		return h, err
	}
	h.Database, err = s.Store.DatabaseInfo(ctx)
	return h, err
}

// delivery holds when this process last delivered an email, and when that last failed, in
// microseconds.
type delivery struct{ sent, failed atomic.Int64 }

func (d *delivery) note(err error, now time.Time) {
	if err != nil {
		d.failed.Store(now.UnixMicro())
		return
	}
	d.sent.Store(now.UnixMicro())
}

func (d *delivery) last() (sent, failed time.Time) {
	at := func(micros int64) time.Time {
		if micros == 0 {
			return time.Time{}
		}
		return time.UnixMicro(micros).UTC()
	}
	return at(d.sent.Load()), at(d.failed.Load())
}
