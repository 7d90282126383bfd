package service

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// ServiceSettings are what the administrators choose in the web app, at the set-up or later. What the configuration sets
// goes first (ADR 62).
type ServiceSettings = store.ServiceSettings

const (
	// nameAge is how long a process shows the name of the service without reading it again.
	nameAge = 3 * time.Second
	// nameTime limits the reading, so that pages about a database that does not answer have a name soon.
	nameTime = time.Second
)

// serviceName is the name of the service that this process read last. The zero value has read none.
type serviceName struct {
	reading sync.Mutex
	last    atomic.Pointer[nameRead]
}

type nameRead struct {
	name string
	at   time.Time
}

// Name returns the name that was chosen for the service, or "". On other replicas it is up to nameAge behind; without the
// database it stays as it was. One caller at a time reads it, and the others have the earlier one.
func (s *Service) Name(ctx context.Context) string {
	last := s.name.last.Load()
	if last != nil && time.Since(last.at) < nameAge {
		return last.name
	}
	switch {
	case last == nil:
		s.name.reading.Lock()
	case !s.name.reading.TryLock():
		return last.name
	}
	defer s.name.reading.Unlock()
	if now := s.name.last.Load(); now != last {
		return now.name // another caller has read it meanwhile
	}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), nameTime)
	defer cancel()
	read := nameRead{at: time.Now()}
	set, err := s.Store.ServiceSettings(reading)
	switch {
	case err == nil:
		read.name = set.Name
	case last != nil:
		read.name = last.name
	}
	s.name.last.Store(&read)
	return read.name
}

// nameChanged makes this process read the name again.
func (s *Service) nameChanged() {
	if last := s.name.last.Load(); last != nil {
		s.name.last.CompareAndSwap(last, &nameRead{name: last.name})
	}
}

// checkServiceName validates the name of the service. Mail programs would make a link of a domain in it.
func checkServiceName(name string) (string, error) {
	var c warranty.Checks
	name = c.CheckServiceName("service_name", strings.TrimSpace(name))
	if len(c.Fields) == 0 && name != "" && !mail.IsPlain(name) {
		c.Add("service_name", "not_a_name", "The name of the service cannot contain a link, a domain or an email address.")
	}
	return name, c.Err()
}

// AdminSettings returns what administrators can choose.
func (s *Service) AdminSettings(ctx context.Context, p warranty.Principal) (ServiceSettings, error) {
	if err := checkOperator(p); err != nil {
		return ServiceSettings{}, err
	}
	return s.Store.ServiceSettings(ctx)
}

// ErrSettingsChanged refuses settings of a form that shows earlier ones.
var ErrSettingsChanged = warranty.Refuse(warranty.PreconditionFailed,
	"Someone else changed the settings meanwhile. Check them and save yours again.")

// AdminChangeSettings stores what an administrator chose, if the settings are still those that were shown. Sign-up is kept as it
// is stored if the configuration sets it.
func (s *Service) AdminChangeSettings(ctx context.Context, p warranty.Principal, shown, chosen ServiceSettings) error {
	var err error
	if chosen.Name, err = checkServiceName(chosen.Name); err != nil {
		return err
	}
	err = s.writeAsOperator(ctx, p, warranty.ID{}, func(tx *store.Tx, _ store.Account, now time.Time) error {
		before, err := tx.LockServiceSettings()
		if err != nil {
			return err
		}
		after := chosen
		if s.SignupSet || s.SignupClosed {
			after.SignupClosed, shown.SignupClosed = before.SignupClosed, before.SignupClosed
		}
		changes := settingsChanges(before, after)
		switch {
		case len(changes) == 0:
			return nil
		case before != shown:
			return ErrSettingsChanged
		}
		if err := tx.ChooseServiceSettings(after); err != nil {
			return err
		}
		by := p
		by.Door = warranty.DoorOperator // so that it is in the history of the operators
		e := s.event(by, warranty.ServiceUpdated, s.NewID(), now, changes...)
		return tx.InsertEvent(e.SubjectID, e)
	})
	s.nameChanged()
	return err
}

// settingsChanges lists what differs.
func settingsChanges(before, after ServiceSettings) (list []warranty.Change) {
	if before.Name != after.Name {
		list = append(list, warranty.Change{
			Field: "service_name", From: warranty.Optional(before.Name), To: warranty.Optional(after.Name),
		})
	}
	signup := func(set ServiceSettings) *string {
		if set.SignupClosed {
			return new("closed")
		}
		return new("open")
	}
	if before.SignupClosed != after.SignupClosed {
		list = append(list, warranty.Change{Field: "signup", From: signup(before), To: signup(after)})
	}
	return list
}

// senderOf returns the name of an organization for the sender of an email, or "" if it could be taken for something else,
// such as this service.
func senderOf(name, service string) string {
	return mail.SenderName(name, cmp.Or(service, mail.Service))
}
