package sheet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// sending is a row that is sent, and where its outcome goes.
type sending struct {
	*Row
	outcome *Outcome
}

// send sends rows in one batch. Rows whose record an earlier run created, and someone deleted since, are sent again.
func (im *Import) send(ctx context.Context, rows []*sending) error {
	for len(rows) > 0 {
		in, lines, err := im.batchOf(rows)
		if err != nil {
			return err
		}
		out, err := im.Service.Batch(ctx, in, lines)
		if err != nil {
			return err
		}
		if len(out.Results) != len(rows) {
			return errors.New("the batch returned a different number of results")
		}
		var again []*sending
		for i, row := range rows {
			gone, err := im.settle(ctx, row, out.Results[i])
			if err != nil {
				return err
			}
			if gone {
				again = append(again, row)
			}
		}
		rows = again
	}
	return nil
}

// batchOf returns the batch of rows and their lines. Each item has its own idempotency key or an external id; the key of
// the batch tells clients that it can be repeated.
func (im *Import) batchOf(rows []*sending) (in warranty.CreateBatch, lines []int64, err error) {
	in.Existing = warranty.KeepExisting
	if im.Update {
		in.Existing = warranty.UpdateExisting
	}
	sum := sha256.New()
	for _, row := range rows {
		item := row.Input
		if item.ExternalID != "" {
			item.IdempotencyKey = nil
		}
		text, err := api.AppendJSON(nil, item)
		if err != nil {
			return in, nil, err
		}
		sum.Write(text)
		in.Items, lines = append(in.Items, warranty.BatchItem{Text: text}), append(lines, int64(row.Line))
	}
	key := "svc-import-" + hex.EncodeToString(sum.Sum(nil))
	in.IdempotencyKey = &key
	return in, lines, nil
}

// settle sets the outcome of a row that was sent. The status is set by an update, because a batch does not accept one.
// gone reports that the row must be sent again under another key.
func (im *Import) settle(ctx context.Context, row *sending, result warranty.BatchResult) (gone bool, err error) {
	if result.Status == warranty.BatchFailed || result.ID == nil {
		*row.outcome = Refused
		row.Err, err = problemOf(result)
		return false, err
	}
	id := warranty.WarrantyKey{ID: *result.ID}
	if result.NotEmailed != nil {
		row.NotEmailed = *result.NotEmailed
	}
	switch {
	case result.Status == warranty.BatchUpdated:
		*row.outcome = Updated
	case result.Status == warranty.BatchDiffers:
		*row.outcome, row.Differs = Differs, result.Differs
	case result.Status == warranty.BatchUnchanged:
		*row.outcome = AlreadyImported
		return false, im.finish(ctx, *row.Row, id.ID)
	case result.Replayed: // an earlier run created it
		_, err := im.Service.Get(ctx, warranty.GetWarranty{ID: id})
		if isCode(err, warranty.NotFound) {
			row.changeKey("gone", id.ID.String())
			return true, nil
		}
		if err != nil {
			return false, err
		}
		*row.outcome = AlreadyImported
		return false, im.finish(ctx, *row.Row, id.ID)
	default:
		*row.outcome = Created
		if row.Status != warranty.Active {
			err = im.Service.Update(ctx, warranty.UpdateWarranty{ID: id, Status: &row.Status}, int64(row.Line))
		}
	}
	return false, err
}

// problemOf returns why an item failed: an error of its row, or one that ends the import.
func problemOf(result warranty.BatchResult) (ofRow, ofImport error) {
	p := result.Problem
	if p == nil {
		return nil, errors.New("the batch returned a failure without a problem")
	}
	err := &warranty.Error{Code: p.Code, Message: p.Detail, Parts: p.Parts, Fields: p.Errors}
	if p.Status >= http.StatusInternalServerError || p.Code == warranty.RateLimited || p.Status == http.StatusUnauthorized {
		return nil, err
	}
	return err, nil
}
