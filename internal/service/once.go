package service

import (
	"crypto/sha256"
	"errors"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// once performs a write that creates out, or returns the stored response of an earlier request with the
// same idempotency key. write runs a transaction that first calls replay, and ends if it reports true.
func once[In, Out any, P interface {
	*Out
	SetReplayed(bool)
}](
	s *Service, p warranty.Principal, operation string, key *string, in In, out Out,
	write func(replay func(*store.Tx) (bool, error)) error,
) (Out, error) {
	if key == nil {
		return out, write(func(*store.Tx) (bool, error) { return false, nil })
	}
	saved, err := s.saved(p, operation, *key, in, out)
	if err != nil {
		return out, err
	}
	var earlier *store.SavedResponse
	err = write(func(tx *store.Tx) (bool, error) {
		earlier, err = tx.SaveResponse(saved)
		return earlier != nil, err
	})
	if err != nil || earlier == nil {
		return out, err
	}
	stored, err := replayed[Out](saved, earlier)
	if errors.Is(err, errKeyReused) {
		return out, err
	}
	P(&stored).SetReplayed(true)
	return stored, err
}

// saved returns the response to store under an idempotency key.
func (s *Service) saved(p warranty.Principal, operation, key string, in, out any) (store.SavedResponse, error) {
	request, err := api.AppendJSON(nil, in)
	if err != nil {
		return store.SavedResponse{}, err
	}
	response, err := api.AppendJSON(nil, out)
	return store.SavedResponse{
		User:        p.Account.ID,
		Operation:   operation,
		Key:         key,
		Fingerprint: sha256.Sum256(request),
		Response:    string(response),
		At:          s.now(),
	}, err
}

// replayed returns the response of an earlier request with the key of a request that is the same.
func replayed[Out any](saved store.SavedResponse, earlier *store.SavedResponse) (out Out, err error) {
	if earlier.Fingerprint != saved.Fingerprint {
		return out, errKeyReused
	}
	return out, api.ReadJSON([]byte(earlier.Response), &out)
}

// complete replaces the response that once stored, for a record whose fields are only known in the transaction.
func complete(tx *store.Tx, p warranty.Principal, operation string, key *string, out any) error {
	if key == nil {
		return nil
	}
	response, err := api.AppendJSON(nil, out)
	if err != nil {
		return err
	}
	return tx.ReplaceResponse(p.Account.ID, operation, *key, string(response))
}

var errKeyReused = warranty.Refuse(warranty.IdempotencyKeyReused,
	"This Idempotency-Key was used for a different request in the last 24 hours. Use a new key for a new record.")
