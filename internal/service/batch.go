package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// CreateBatch creates many warranties. Items with an external id that the account has used update that
// record, so a batch can be repeated after any failure.
func (s *Service) CreateBatch(
	ctx context.Context, p warranty.Principal, in warranty.CreateBatch,
) (warranty.BatchResults, error) {
	return s.createBatch(ctx, p, in, func(int) *JobRow { return nil })
}

// CreateBatchInJob is CreateBatch for rows of a job, one per item. A row creates at most one warranty, also if two
// workers perform it.
func (s *Service) CreateBatchInJob(
	ctx context.Context, p warranty.Principal, in warranty.CreateBatch, job warranty.ID, rows []int64,
) (warranty.BatchResults, error) {
	return s.createBatch(ctx, p, in, func(item int) *JobRow { return &JobRow{job, rows[item]} })
}

func (s *Service) createBatch(
	ctx context.Context, p warranty.Principal, in warranty.CreateBatch, rowOf func(item int) *JobRow,
) (warranty.BatchResults, error) {
	if err := in.Check(); err != nil {
		return warranty.BatchResults{}, err
	}
	if err := p.Account.Require(warranty.Member); err != nil {
		return warranty.BatchResults{}, err
	}
	// The first request was counted by the server.
	for n := warranty.BatchPerRequest; n < len(in.Items); n += warranty.BatchPerRequest {
		if window := s.Limits.Take(ctx, p.Window(), p.RateLimit, time.Minute); !window.Allowed {
			return warranty.BatchResults{}, s.TooMany(warranty.RateLimited,
				warranty.Textf("A batch counts as one request per 50 items, and this one exceeds your limit."), window)
		}
	}
	b := batch{Service: s, p: p, items: make([]item, len(in.Items)), keep: in.Existing == warranty.KeepExisting}
	for i, sent := range in.Items {
		it := &b.items[i]
		it.row = rowOf(i)
		it.in, it.err = decodeItem(sent)
		if in.IdempotencyKey != nil && it.err == nil && it.in.IdempotencyKey == nil && it.in.ExternalID == "" {
			key := fmt.Sprintf("%s#%d", *in.IdempotencyKey, i)
			it.in.IdempotencyKey = &key
		}
	}
	if err := b.createNew(ctx); err != nil {
		return warranty.BatchResults{}, err
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
	key, fields, err := sent.Split()
	if err != nil {
		return warranty.CreateWarranty{}, err
	}
	decoded, err := api.CreateWarranty.Decode(api.Parts{Body: fields})
	if err != nil {
		return warranty.CreateWarranty{}, err
	}
	in := *decoded.(*warranty.CreateWarranty)
	in.IdempotencyKey = key
	return in, in.Check()
}

// batch is a batch that is being performed.
type batch struct {
	*Service
	p     warranty.Principal
	items []item
	keep  bool // do not change existing records
	known map[string]warranty.ID
}

// item is an item of a batch. It is done once it has a status or an error.
type item struct {
	in       warranty.CreateWarranty
	row      *JobRow // of the job that it belongs to, if any
	status   warranty.BatchStatus
	made     warranty.Warranty
	replayed bool
	differs  []string
	err      error
}

func (i *item) done() bool { return i.status != "" || i.err != nil }

func (i *item) result(ctx context.Context, s *Service) warranty.BatchResult {
	r := warranty.BatchResult{
		Status: i.status, ExternalID: warranty.Optional(i.in.ExternalID), Replayed: i.replayed, Differs: i.differs,
	}
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
func (b *batch) createNew(ctx context.Context) (err error) {
	if b.known, err = b.knownIDs(ctx); err != nil {
		return err
	}
	var fresh []*newItem
	mails := false
	taken := map[string]bool{}
	for i := range b.items {
		it := &b.items[i]
		if _, known := b.known[it.in.ExternalID]; it.done() || known || taken[it.in.ExternalID] {
			continue
		}
		if it.in.ExternalID != "" {
			taken[it.in.ExternalID] = true // a second item with it updates the first
		}
		n, err := b.newItem(ctx, it)
		if err != nil {
			it.err = err
			continue
		}
		fresh, mails = append(fresh, n), mails || n.offer.mailed()
	}
	if len(fresh) == 0 {
		return nil
	}
	// Concurrent batches with the same keys wait for each other in this order.
	slices.SortStableFunc(fresh, func(a, b *newItem) int { return strings.Compare(a.saved.Key, b.saved.Key) })
	err = b.writeIssuing(ctx, b.p, mails, func(tx *store.Tx, from *sender) error { return b.insert(tx, from, fresh) })
	if err != nil && (b.Store.IsDuplicate(err) || isRefusal(err)) {
		return nil // one by one
	}
	if err != nil {
		return err
	}
	for _, n := range fresh {
		if err := n.finish(b.Service); err != nil {
			return err
		}
	}
	return nil
}

// newItem is an item that is created together with others.
type newItem struct {
	*item
	prepared warranty.Warranty
	offer    offer
	event    warranty.Event
	saved    store.SavedResponse  // its key is empty if the item has none
	earlier  *store.SavedResponse // the response of an earlier request with the same key
}

// newItem prepares an item.
func (b *batch) newItem(ctx context.Context, it *item) (*newItem, error) {
	w, o, err := b.prepare(ctx, b.p, it.in, false)
	if err != nil {
		return nil, err
	}
	n := &newItem{item: it, prepared: w, offer: o, event: b.event(b.p, warranty.WarrantyCreated, w.ID, w.CreatedAt)}
	if key := it.in.IdempotencyKey; key != nil {
		in := it.in
		in.IdempotencyKey = nil
		n.saved, err = b.saved(b.p, api.CreateWarranty.Name, *key, in, w)
	}
	return n, err
}

// insert writes the items that no earlier request has created.
func (b *batch) insert(tx *store.Tx, from *sender, fresh []*newItem) (err error) {
	var list []issuing
	var events []warranty.Event
	var written []*newItem
	for _, n := range fresh {
		n.made, n.earlier = n.prepared, nil // the transaction may be repeated
		if n.saved.Key != "" {
			if n.earlier, err = tx.SaveResponse(n.saved); err != nil {
				return err
			}
		}
		if n.earlier == nil {
			written = append(written, n)
			list, events = append(list, issuing{&n.made, n.offer}), append(events, n.event)
		}
	}
	if len(written) == 0 {
		return nil
	}
	if err := b.create(tx, b.p, from, list, events); err != nil {
		return err
	}
	for _, n := range written {
		if err := n.row.noteCreated(tx, n.made.ID); err != nil {
			return err
		}
		if n.saved.Key != "" && n.made.Handover != nil && n.made.Handover.NotEmailed != nil {
			if err := complete(tx, b.p, api.CreateWarranty.Name, &n.saved.Key, n.made); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish notes that the item was created, now or by an earlier request.
func (n *newItem) finish(s *Service) error {
	if n.earlier == nil {
		n.status = warranty.BatchCreated
		return nil
	}
	w, err := replayed[warranty.Warranty](n.saved, n.earlier)
	if errors.Is(err, errKeyReused) {
		n.err = err
		return nil
	}
	s.setURLs(&w)
	n.made, n.status, n.replayed = w, warranty.BatchCreated, true
	return err
}

// knownIDs returns the warranties with the external ids of the batch.
func (b *batch) knownIDs(ctx context.Context) (map[string]warranty.ID, error) {
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
	err := error(warranty.ErrNotFound)
	if id, known := b.known[it.in.ExternalID]; known && it.in.IdempotencyKey == nil {
		err = b.update(ctx, it, id)
	}
	if errors.Is(err, warranty.ErrNotFound) { // it is new, or was deleted just now
		err = b.createOne(ctx, it)
	}
	if err != nil && !isRefusal(err) {
		return err
	}
	it.err = err
	return nil
}

// createOne creates the record of an item on its own, or updates the one that has its external id.
func (b *batch) createOne(ctx context.Context, it *item) (err error) {
	if it.made, err = b.createWarranty(ctx, b.p, it.in, it.row); err == nil {
		it.status, it.replayed = warranty.BatchCreated, it.made.Replayed()
		return nil
	}
	var refusal *warranty.Error
	if errors.As(err, &refusal) && refusal.Code == warranty.AlreadyExists && refusal.ExistingID != nil {
		return b.update(ctx, it, *refusal.ExistingID)
	}
	return err
}

// update updates the record with the external id of an item, or compares it.
func (b *batch) update(ctx context.Context, it *item, id warranty.ID) error {
	key := warranty.WarrantyKey{ID: id}
	before, err := b.GetWarranty(ctx, b.p, warranty.GetWarranty{ID: key})
	if err != nil {
		return err
	}
	in, err := it.in.UpdateOf(before)
	if b.keep {
		if it.differs, err = differing(in, err); err != nil {
			return err
		}
		it.made, it.status = before, warranty.BatchUnchanged
		if len(it.differs) > 0 {
			it.status = warranty.BatchDiffers
		}
		return nil
	}
	if err != nil {
		return err
	}
	it.made, it.status = before, warranty.BatchUnchanged
	if in == (warranty.UpdateWarranty{}) {
		return nil
	}
	in.ID = key
	it.status = warranty.BatchUpdated
	it.made, err = b.updateWarranty(ctx, b.p, in, it.row)
	return err
}

// differing returns the fields that an update changes or that it would be refused for.
func differing(in warranty.UpdateWarranty, refused error) ([]string, error) {
	text, err := api.AppendJSON(nil, in)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "id")
	var refusal *warranty.Error
	if errors.As(refused, &refusal) {
		for _, f := range refusal.Fields {
			fields[f.Field] = true
		}
	}
	return slices.Sorted(maps.Keys(fields)), nil
}
