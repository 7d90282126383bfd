package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Whether a sign-in is complete is decided in this file, and nothing else makes sessions (ADR 69). Until then there is a
// flow, with which nothing can be done but to continue it.

// firstFactor is what a person proved first. It is stored with a flow.
type firstFactor struct {
	Method warranty.SignInMethod `json:"method"`
	// Second is the second step that was proven too, in a flow of an account that is to be restored.
	Second warranty.SecondFactor `json:"second,omitempty"`
	// Identity is the identity of a provider that signed in.
	Identity *warranty.ID `json:"identity,omitempty"`
	// Decides means that the provider is the one of an organization, which decides about factors itself.
	Decides bool `json:"decides,omitempty"`
}

// suffices reports whether the factor completes a sign-in of a person with two-step sign-in.
func (f firstFactor) suffices() bool {
	return f.Method == warranty.MethodPasskey || f.Method == warranty.MethodProvider && f.Decides
}

// completion completes a sign-in with a session, or begins a flow that waits for its second step.
type completion struct {
	*Service
	p      warranty.Principal // whose browser or program signs in
	first  firstFactor
	second warranty.SecondFactor // that was proven, if any
	secret string                // of the session
	row    store.Session
	step   *warranty.SecondStep // what is missing
	erased *time.Time           // when the account is erased, if restoring it is what is missing
	user   warranty.User
}

// completing begins the completion of a sign-in, before the transaction in which complete decides.
func (s *Service) completing(p warranty.Principal, first firstFactor) (*completion, error) {
	secret, err := warranty.NewSecret(warranty.SessionSecret, s.Random)
	if err != nil {
		return nil, err
	}
	now, lifetime := s.now(), warranty.SessionLifetime
	if p.Door == warranty.DoorWeb {
		lifetime = warranty.WebSessionLifetime
	}
	c := &completion{Service: s, p: p, first: first, second: first.Second, secret: secret}
	c.row = store.Session{
		ID: s.NewID(), Secret: warranty.HashSecret(secret), Method: first.Method, Identity: first.Identity,
		Network: maskedNetwork(p.Address), Created: now, Confirmed: now, Expires: now.Add(lifetime),
	}
	c.row.Program, c.row.System = deviceName(p.UserAgent)
	return c, nil
}

// continuing is completing for a flow.
func (s *Service) continuing(p warranty.Principal, flow store.Flow) (*completion, error) {
	var first firstFactor
	if err := json.Unmarshal(flow.State, &first); err != nil {
		return nil, err
	}
	return s.completing(p, first)
}

// complete signs a person in whose account is locked, or begins a flow if the second step is missing: then signedIn is
// false, and the transaction must do nothing else for the person.
func (c *completion) complete(tx *store.Tx, user warranty.ID) (signedIn bool, err error) {
	account, err := tx.LockUser(user)
	if err != nil {
		return false, err
	}
	if account.Kind != warranty.PersonKind {
		return false, errSignIn
	}
	c.user, c.step, c.erased = account.User, nil, nil
	if account.Disabled {
		e, ok, err := c.closing(tx, account, c.row.Created)
		if err != nil || !ok {
			return false, cmp.Or[error](err, errSignIn)
		}
		c.erased = &e.Due
	}
	if account.TwoStep && c.second == "" && !c.first.suffices() {
		return false, c.begin(tx, store.FlowSecondStep)
	}
	if c.erased != nil {
		c.first.Second = c.second
		return false, c.begin(tx, store.FlowRestore)
	}
	if err := c.endEarlier(tx); err != nil {
		return false, err
	}
	if err := tx.EndUnusedSessions(account.ID, warranty.MaxSessions-1, c.row.Created); err != nil {
		return false, err
	}
	c.row.User, c.row.Second = account.ID, c.second
	if err := tx.InsertSession(c.row); err != nil {
		return false, err
	}
	return true, c.seeDevice(tx, c.p, account.User, c.row.Created)
}

// endEarlier ends the session that the same browser had. Programs send no session when they sign in.
func (c *completion) endEarlier(tx *store.Tx) error {
	if c.p.Door != warranty.DoorWeb || c.p.Credential != warranty.BySession {
		return nil
	}
	err := tx.DeleteSession(c.p.CredentialID)
	if errors.Is(err, warranty.ErrNotFound) {
		err = nil
	}
	return err
}

// begin adds the flow that waits for the second step, or for the decision to restore the account.
func (c *completion) begin(tx *store.Tx, kind store.FlowKind) error {
	browser, err := browserHash(c.p)
	if err != nil {
		return err
	}
	var methods []warranty.SecondFactor
	if kind == store.FlowSecondStep {
		c.erased = nil // nobody else is told
		if methods, err = tx.SecondFactors(c.user.ID); err != nil {
			return err
		}
	}
	state, err := json.Marshal(c.first)
	if err != nil {
		return err
	}
	secret, err := warranty.NewSecret(warranty.FlowSecret, c.Random)
	if err != nil {
		return err
	}
	c.step = &warranty.SecondStep{Flow: secret, Methods: methods, ExpiresAt: c.row.Created.Add(warranty.FlowLifetime)}
	return tx.InsertFlow(store.Flow{
		Hash: warranty.HashSecret(secret), Browser: browser, Kind: kind, User: &c.user.ID, State: state,
		Created: c.row.Created, Expires: c.step.ExpiresAt,
	})
}

// session returns the session after the commit, or what is missing.
func (c *completion) session(ctx context.Context) (warranty.Session, error) {
	if c.erased != nil {
		refusal := warranty.Refuse(warranty.AccountIsDeleted,
			"This account was deleted and will be erased on %s. You can restore it.", warranty.DateOf(*c.erased))
		refusal.SecondStep = c.step
		return warranty.Session{}, refusal
	}
	if c.step != nil {
		refusal := warranty.Refuse(warranty.SecondFactorRequired, "This account has two-step sign-in. Enter the second step.")
		refusal.SecondStep = c.step
		return warranty.Session{}, refusal
	}
	c.logSignIn(ctx, c.p, c.row)
	return warranty.Session{AccessToken: c.secret, ExpiresAt: c.row.Expires, User: c.user}, nil
}

// logSignIn logs a complete sign-in: who, from where, and with what.
func (s *Service) logSignIn(ctx context.Context, p warranty.Principal, in store.Session) {
	attrs := []any{"request_id", api.CallerOf(ctx).RequestID, "ip", p.Address, "door", p.Door.String(),
		"user", in.User.String(), "method", string(in.Method)}
	if in.Second != "" {
		attrs = append(attrs, "second", string(in.Second))
	}
	s.Log.InfoContext(ctx, "signed in", attrs...)
}

// browserHash identifies the browser that is signing in. It is nil for programs.
func browserHash(p warranty.Principal) (*warranty.Hash, error) {
	if p.Door != warranty.DoorWeb {
		return nil, nil
	}
	if p.Browser == "" {
		return nil, errors.New("a browser signs in without the cookie that a flow is bound to")
	}
	hash := warranty.Hash(sha256.Sum256([]byte("flow of browser " + p.Browser)))
	return &hash, nil
}

// renewSession replaces the secret of the session of the principal, whose account is locked, and returns the session.
// The old secret ends: no write that was authenticated with it commits afterwards.
func (s *Service) renewSession(tx *store.Tx, p warranty.Principal, secret string) (warranty.Session, error) {
	renewed := warranty.Session{AccessToken: secret, ExpiresAt: p.ExpiresAt, User: p.User}
	return renewed, tx.RenewSession(p.CredentialID, warranty.HashSecret(secret))
}

// confirmSession is renewSession, and marks the session as confirmed.
func (s *Service) confirmSession(
	tx *store.Tx, p warranty.Principal, secret string, now time.Time,
) (warranty.Session, error) {
	if err := tx.MarkConfirmed(p.CredentialID, now); err != nil {
		return warranty.Session{}, err
	}
	return s.renewSession(tx, p, secret)
}

// moveSession signs a person in who proved with an emailed code that an address is theirs, while they were signed in to
// another account. If they have two-step sign-in, the session ends instead: they sign in as always.
func (s *Service) moveSession(tx *store.Tx, p warranty.Principal, to warranty.ID) error {
	account, err := tx.LockUser(to)
	if err != nil {
		return err
	}
	if account.TwoStep {
		return tx.DeleteSession(p.CredentialID)
	}
	return tx.MoveSession(p.CredentialID, to, warranty.MethodEmailedCode)
}

// flowOf returns the flow of a kind that a request continues, and counts the try. Whatever is wrong with it, the answer
// is the same.
func (s *Service) flowOf(
	ctx context.Context, p warranty.Principal, secret string, kind store.FlowKind, now time.Time,
) (store.Flow, error) {
	browser, err := browserHash(p)
	if err != nil {
		return store.Flow{}, errFlow
	}
	flow, err := s.Store.Flow(ctx, warranty.HashSecret(secret), kind, browser, now)
	if errors.Is(err, warranty.ErrNotFound) {
		err = errFlow
	}
	if err != nil {
		return flow, err
	}
	counted := false
	err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		counted, err = tx.CountFlowTry(flow.Hash, warranty.FlowTries)
		return err
	})
	if err == nil && !counted {
		err = errFlow
	}
	return flow, err
}

var errFlow = warranty.Refuse(warranty.InvalidCredential,
	"This sign-in has expired, or too many wrong codes were entered. Sign in again.")
