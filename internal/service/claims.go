package service

import (
	"context"
	"errors"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// claimOperations binds the operations on claims.
func (s *Service) claimOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListClaims, s.ListClaims),
		api.Bind(api.CountClaims, s.CountClaims),
		api.Bind(api.GetClaim, s.GetClaim),
		api.Bind(api.FileClaim, s.FileClaim),
		api.Bind(api.MoveClaim, s.MoveClaim),
		api.Bind(api.ListMessages, s.ListMessages),
		api.Bind(api.WriteMessage, s.WriteMessage),
		api.Bind(api.ListNotes, s.ListNotes),
		api.Bind(api.WriteNote, s.WriteNote),
		api.Bind(api.GetClaimHandling, s.GetClaimHandling),
		api.Bind(api.AssignClaim, s.AssignClaim),
		api.Bind(api.MuteClaim, s.MuteClaim),
		api.Bind(api.DetachDocument, s.DetachDocument),
	}
}

// ListClaims lists the claims that the principal can see.
func (s *Service) ListClaims(
	ctx context.Context, p warranty.Principal, in warranty.ListClaims,
) (warranty.Page[warranty.Claim], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Claim]{}, err
	}
	list, total, err := s.Store.Claims(ctx, p.Account.ID, p.User.ID, in)
	if err == nil && in.Wants("last_message") {
		err = s.Store.LastMessages(ctx, p.Account.ID, list)
	}
	if err == nil && (in.Wants("customer") || in.Wants("assignee")) {
		err = s.Store.Handlings(ctx, p.Account.ID, list)
	}
	for i := range list {
		s.showClaim(&list[i])
	}
	return warranty.PageOf(list, in.Paging, total), err
}

// ClaimPlace finds a claim in a list of the principal.
func (s *Service) ClaimPlace(
	ctx context.Context, p warranty.Principal, in warranty.ListClaims, id warranty.ID,
) (warranty.Place, error) {
	return s.Store.ClaimPlace(ctx, p.Account.ID, p.User.ID, in, id)
}

// CountClaims counts the claims that the principal can see by queue.
func (s *Service) CountClaims(
	ctx context.Context, p warranty.Principal, _ warranty.CountClaims,
) (warranty.ClaimCounts, error) {
	return s.Store.ClaimCounts(ctx, p.Account.ID, p.User.ID)
}

// queueBatch is how many warranties QueueClaims reads at a time.
const queueBatch = 200

// QueueClaims stores the queues of claims that an earlier release filed or changed. Afterwards it has nothing to do.
func (s *Service) QueueClaims(ctx context.Context) error {
	for {
		list, err := s.Store.WarrantiesToQueue(ctx, queueBatch)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, id := range list {
			if err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.QueueClaims(id) }); err != nil {
				return err
			}
		}
	}
}

// GetClaim returns a claim that the principal can see, with its latest messages.
func (s *Service) GetClaim(ctx context.Context, p warranty.Principal, in warranty.GetClaim) (warranty.Claim, error) {
	c, err := s.Store.Claim(ctx, p.Account.ID, in.ID)
	if err != nil {
		return c, err
	}
	return s.wholeClaim(ctx, p, c)
}

// wholeClaim adds to a stored claim what a single one has: its customer, who works on it and its latest messages.
func (s *Service) wholeClaim(ctx context.Context, p warranty.Principal, c warranty.Claim) (warranty.Claim, error) {
	list := []warranty.Claim{c}
	if err := s.Store.Handlings(ctx, p.Account.ID, list); err != nil {
		return c, err
	}
	c = list[0]
	s.showClaim(&c)
	return s.withMessages(ctx, p, c)
}

// showClaim sets the derived fields of a stored claim.
func (s *Service) showClaim(c *warranty.Claim) {
	c.WebURL, c.WaitingFor = s.PublicURL+"/claims/"+c.ID.String(), c.Waiting()
	c.Queue, c.Fault, c.WaitingSince = c.QueueFor(c.Roles), warranty.Fault(c.Description), nil
	if c.WaitingFor != nil {
		since := c.Since
		c.WaitingSince = &since
	}
}

// FileClaim files a claim on a warranty that the principal owns.
func (s *Service) FileClaim(ctx context.Context, p warranty.Principal, in warranty.FileClaim) (warranty.Claim, error) {
	return s.FileClaimWith(ctx, p, in, nil)
}

// FileClaimWith files a claim with drafts of the principal, or nothing if one of them is gone. If the form was sent
// before, its files are new drafts, which are dropped.
func (s *Service) FileClaimWith(
	ctx context.Context, p warranty.Principal, in warranty.FileClaim, drafts []warranty.ID,
) (warranty.Claim, error) {
	if err := in.Check(); err != nil {
		return warranty.Claim{}, err
	}
	number, err := warranty.NewReference(warranty.ClaimPrefix, s.Random)
	if err != nil {
		return warranty.Claim{}, err
	}
	now := s.now()
	c := warranty.Claim{
		ID:           s.NewID(),
		ClaimNumber:  number,
		Type:         in.Type,
		Description:  in.Description,
		IncidentDate: in.IncidentDate,
		Status:       warranty.Submitted,
		CreatedAt:    now,
		UpdatedAt:    now,
		Since:        now,
		Messages:     []warranty.Message{},
	}
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	earlier, err := once(s, p, api.FileClaim.Name, key, in, c, func(replay func(*store.Tx) (bool, error)) error {
		return s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, actor *sender) error {
			if done, err := replay(tx); err != nil || done {
				return err
			}
			if err := s.fileClaim(tx, p, actor, in, drafts, &c); err != nil {
				return err
			}
			return complete(tx, p, api.FileClaim.Name, key, c)
		})
	})
	s.wakeMail()
	if earlier.Replay {
		return earlier, errors.Join(err, s.dropDrafts(ctx, p, drafts))
	}
	return c, err
}

// fileClaim writes a claim on a warranty and emails those who can see it.
func (s *Service) fileClaim(
	tx *store.Tx, p warranty.Principal, actor *sender, in warranty.FileClaim, drafts []warranty.ID, c *warranty.Claim,
) error {
	w, err := tx.LockWarranty(p.Account.ID, in.WarrantyID)
	if err != nil {
		return err
	}
	if err := w.Roles.May(warranty.FileAClaim); err != nil {
		return err
	}
	if err := in.CheckCoverage(w, warranty.DateOf(c.CreatedAt)); err != nil {
		return err
	}
	if c.ManagedBy, err = tx.ManagedBy(w.ID); err != nil {
		return err
	}
	c.WarrantyID = w.ID
	c.Warranty = warranty.WarrantyName{ID: w.ID, ReferenceNumber: w.ReferenceNumber, ProductName: w.ProductName}
	c.Roles = w.Roles
	s.showClaim(c)
	if err := tx.InsertClaim(*c, p.Account.ID); err != nil {
		return err
	}
	if err := tx.NoteClaimant(c.ID, c.CreatedAt, s.NewID); err != nil {
		return err
	}
	if err := s.fileDrafts(tx, p, *c, drafts, c.CreatedAt); err != nil {
		return err
	}
	if err := tx.AttachDocuments(*c, p.Account.ID, nil, warranty.DocumentIDs(in.DocumentIDs)); err != nil {
		return err
	}
	filed := s.event(p, warranty.ClaimFiled, c.ID, c.CreatedAt)
	if err := tx.InsertEvent(w.ID, filed); err != nil {
		return err
	}
	news := mail.ClaimNews{Claim: *c, Moved: true, Side: warranty.OwnerSide, Message: c.Description}
	return s.mailClaim(tx, p, actor, claimMail{ClaimNews: news}, c.CreatedAt)
}

// MoveClaim changes the status of a claim. The claim is locked, so that of two
// concurrent changes the second one sees the new status.
func (s *Service) MoveClaim(ctx context.Context, p warranty.Principal, in warranty.MoveClaim) (warranty.Claim, error) {
	if err := in.Check(); err != nil {
		return warranty.Claim{}, err
	}
	now := s.now()
	var after warranty.Claim
	err := s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, actor *sender) error {
		c, roles, err := tx.LockClaim(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		if after, err = in.Apply(c, roles, now); err != nil {
			return err
		}
		_, err = s.moveClaim(tx, p, actor, in, c, after, nil)
		return err
	})
	s.wakeMail()
	if err != nil {
		return after, err
	}
	return s.wholeClaim(ctx, p, after)
}

// moveClaim writes a status change of a locked claim, with its reason as a message, and emails it. It returns the id of the
// message, if there is one.
func (s *Service) moveClaim(
	tx *store.Tx, p warranty.Principal, actor *sender, in warranty.MoveClaim, c, after warranty.Claim, h *hold,
) (*warranty.ID, error) {
	now := after.UpdatedAt
	message := s.newMessage(p, in.Reason, now) // its id is before those of the events
	if err := tx.UpdateClaim(after, c.Status); err != nil {
		return nil, err
	}
	var written *warranty.ID
	if in.Reason != "" {
		message.Author.Role = warranty.MovedBy(c.Status, after.Status)
		if c.ManagedBy == warranty.ManagedByOwner {
			message.Author.Role = warranty.OwnerSide
		}
		if _, err := s.insertMessage(tx, p, c, message, in.Documents, in.DocumentIDs); err != nil {
			return nil, err
		}
		written = &message.ID
	}
	from := c.Status
	for _, to := range append(in.Steps(c), after.Status) {
		if err := insertMove(tx, c, s.event(p, warranty.ClaimMoved, c.ID, now), from, to); err != nil {
			return nil, err
		}
		from = to
	}
	news := mail.ClaimNews{
		Claim: after, From: c.Status, Moved: true, Side: warranty.MovedBy(c.Status, after.Status), Message: in.Reason,
	}
	progress := in.Reason == "" && warranty.IsProgress(c.Status, after.Status)
	return written, s.mailClaim(tx, p, actor, claimMail{news, message.ID, progress, h}, now)
}

// insertMove records a status change. The reason is a message, which later owners must not read.
func insertMove(
	tx *store.Tx, c warranty.Claim, e warranty.Event, from, to warranty.ClaimStatus,
) error {
	e.SubjectID = c.ID
	e.Changes = []warranty.Change{{
		Field: "status",
		From:  warranty.Optional(from.String()),
		To:    warranty.Optional(to.String()),
	}}
	return tx.InsertEvent(c.WarrantyID, e)
}

// ClaimMoves returns a claim and the statuses that the principal can change it to.
func (s *Service) ClaimMoves(
	ctx context.Context, p warranty.Principal, key warranty.ClaimKey,
) (warranty.Claim, []warranty.ClaimStatus, error) {
	c, roles, err := s.Store.ClaimWithRoles(ctx, p.Account.ID, key)
	s.showClaim(&c)
	return c, c.Moves(roles), err
}

// ClaimThread lists all documents and events of a claim, newest first.
func (s *Service) ClaimThread(
	ctx context.Context, p warranty.Principal, c warranty.Claim,
) (documents []warranty.Document, events []warranty.Event, err error) {
	if documents, err = s.Store.ClaimDocuments(ctx, p.Account.ID, c); err != nil {
		return nil, nil, err
	}
	events, err = s.Store.ClaimHistory(ctx, p.Account.ID, c)
	return documents, events, err
}
