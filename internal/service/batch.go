package service

import (
	"context"
	"errors"
	"fmt"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// CreateBatch creates many warranties. Items with an external id that the account has used update that
// record, so a batch can be repeated after any failure.
func (s *Service) CreateBatch(
	ctx context.Context, p warranty.Principal, in warranty.CreateBatch,
) (warranty.BatchResults, error) {
	if err := in.Check(); err != nil {
		return warranty.BatchResults{}, err
	}
	if err := p.Account.Require(warranty.Member); err != nil {
		return warranty.BatchResults{}, err
	}
	// The first request was counted by the server.
	for n := warranty.BatchPerRequest; n < len(in.Items); n += warranty.BatchPerRequest {
		if err := s.Throttle(ctx, BatchItems, p.Window()); err != nil {
			return warranty.BatchResults{}, err
		}
	}
	b := batch{Service: s, p: p, items: make([]item, len(in.Items))}
	for i, sent := range in.Items {
		b.items[i].in, b.items[i].err = decodeItem(sent)
		if in.IdempotencyKey != nil && b.items[i].err == nil {
			key := fmt.Sprintf("%s#%d", *in.IdempotencyKey, i)
			b.items[i].in.IdempotencyKey = &key
		}
	}
	if in.IdempotencyKey == nil {
		if err := b.createNew(ctx); err != nil {
			return warranty.BatchResults{}, err
		}
	}
	results := make([]warranty.BatchResult, len(b.items))
	for i := range b.items {
		if err := b.finish(ctx, &b.items[i]); err != nil {
			return warranty.BatchResults{}, err
		}
		results[i] = b.items[i].result(ctx, s)
	}
	s.wakeMail()
	return warranty.BatchResults{Results: results}, nil
}

// decodeItem decodes an item like the body of a request that creates it.
func decodeItem(sent warranty.BatchItem) (warranty.CreateWarranty, error) {
	decoded, err := api.CreateWarranty.Decode(api.Parts{Body: sent.Text})
	if err != nil {
		return warranty.CreateWarranty{}, err
	}
	in := *decoded.(*warranty.CreateWarranty)
	return in, in.Check()
}

// batch is a batch that is being performed.
type batch struct {
	*Service
	p     warranty.Principal
	items []item
}

// item is an item of a batch. It is done once it has a status or an error.
type item struct {
	in     warranty.CreateWarranty
	status warranty.BatchStatus
	made   warranty.Warranty
	err    error
}

func (i *item) done() bool { return i.status != "" || i.err != nil }

func (i *item) result(ctx context.Context, s *Service) warranty.BatchResult {
	r := warranty.BatchResult{Status: i.status, ExternalID: warranty.Optional(i.in.ExternalID)}
	if i.err != nil {
		problem := warranty.AsError(i.err).Problem(s.PublicURL, api.CallerOf(ctx).RequestID)
		r.Status, r.Problem = warranty.BatchFailed, &problem
		return r
	}
	r.ID, r.ReferenceNumber = &i.made.ID, &i.made.ReferenceNumber
	if i.made.Handover != nil {
		r.NotEmailed = i.made.Handover.NotEmailed
	}
	return r
}

// createNew creates the valid items whose external ids are new in one transaction. If it is refused, for
// example because another request used one of the ids, finish performs the items one by one.
func (b *batch) createNew(ctx context.Context) error {
	known, err := b.known(ctx)
	if err != nil {
		return err
	}
	var fresh []*item
	var offers []offer
	var events []warranty.Event
	mails := false
	for i := range b.items {
		it := &b.items[i]
		if it.done() || known[it.in.ExternalID] {
			continue
		}
		if it.in.ExternalID != "" {
			known[it.in.ExternalID] = true // a second item with it updates the first
		}
		w, o, err := b.prepare(ctx, b.p, it.in)
		if err != nil {
			it.err = err
			continue
		}
		it.made, mails = w, mails || o.mailed()
		fresh, offers = append(fresh, it), append(offers, o)
		events = append(events, b.event(b.p, warranty.WarrantyCreated, w.ID, w.CreatedAt))
	}
	if len(fresh) == 0 {
		return nil
	}
	made := make([]warranty.Warranty, len(fresh))
	err = b.writeIssuing(ctx, b.p, mails, func(tx *store.Tx, from *sender) error {
		list := make([]issuing, len(fresh))
		for i, it := range fresh {
			made[i] = it.made // the transaction may be repeated
			list[i] = issuing{&made[i], offers[i]}
		}
		return b.create(tx, b.p, from, list, events)
	})
	if err != nil && (b.Store.IsDuplicate(err) || isRefusal(err)) {
		return nil // one by one
	}
	if err != nil {
		return err
	}
	for i, it := range fresh {
		it.made, it.status = made[i], warranty.BatchCreated
	}
	return nil
}

// known returns the external ids of the batch that the account has used.
func (b *batch) known(ctx context.Context) (map[string]bool, error) {
	var ids []string
	for _, it := range b.items {
		if it.err == nil && it.in.ExternalID != "" {
			ids = append(ids, it.in.ExternalID)
		}
	}
	return b.Store.ExternalIDs(ctx, b.p.Account.ID, ids)
}

// finish creates or updates the record of an item that is not done. A refusal is the item's result; any other
// error ends the batch, which can be repeated.
func (b *batch) finish(ctx context.Context, it *item) error {
	if it.done() {
		return nil
	}
	var err error
	if it.made, err = b.CreateWarranty(ctx, b.p, it.in); err == nil {
		it.status = warranty.BatchCreated
		return nil
	}
	var refusal *warranty.Error
	if errors.As(err, &refusal) && refusal.Code == warranty.AlreadyExists && refusal.ExistingID != nil {
		err = b.update(ctx, it, *refusal.ExistingID)
	}
	if err != nil && !isRefusal(err) {
		return err
	}
	it.err = err
	return nil
}

// update updates the record with the external id of an item.
func (b *batch) update(ctx context.Context, it *item, id warranty.ID) error {
	key := warranty.WarrantyKey{ID: id}
	before, err := b.GetWarranty(ctx, b.p, warranty.GetWarranty{ID: key})
	if err != nil {
		return err
	}
	in, err := it.in.UpdateOf(before)
	if err != nil {
		return err
	}
	it.made, it.status = before, warranty.BatchUnchanged
	if in == (warranty.UpdateWarranty{}) {
		return nil
	}
	in.ID = key
	it.status = warranty.BatchUpdated
	it.made, err = b.UpdateWarranty(ctx, b.p, in)
	return err
}
