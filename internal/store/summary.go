package store

import (
	"context"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Summary counts the warranties that the user has access to and that match in as of today.
func (s *Store) Summary(
	ctx context.Context, user warranty.ID, in warranty.SummarizeWarranties, today warranty.Date,
) (summary warranty.Summary, err error) {
	question := find.QuestionOf(in.WarrantyFilter, "", today)
	if err := s.verifiedAccounts(ctx, question); err != nil {
		return summary, err
	}
	counts, err := s.lists.Count(ctx, searchedList(user, in.WarrantyFilter), question, in.GroupBy)
	if err != nil {
		return summary, err
	}
	return counts.Summary(today, in.Limit), nil
}

// verifiedAccounts completes a question that needs them with the accounts that give an assurance and the time.
func (s *Store) verifiedAccounts(ctx context.Context, question *find.Question) error {
	if question.Assurance == "" {
		return nil
	}
	question.Verified, question.Now = map[warranty.ID]bool{}, s.db.Now().UnixMicro()
	return s.db.Query(ctx, `SELECT o.id FROM users o JOIN domains d ON d.account_id = o.id
		WHERE d.verified_at IS NOT NULL
		AND o.kind = `+kindOrganization+` AND o.disabled_at IS NULL`, func(r *engine.Row) error {
		question.Verified[r.ID()] = true
		return nil
	})
}
