-- +goose Up
-- Accounts that the operator deleted. Each is erased after due_at, in steps. disabled_at is that of the
-- account when it was deleted: if they differ, the account was enabled since and is kept. Once started_at is
-- set, it is too late for that. thread_id and event_id are the last event of history that was looked at.
CREATE TABLE erasures (
  user_id UUID NOT NULL PRIMARY KEY,
  due_at BIGINT NOT NULL,
  disabled_at BIGINT NOT NULL,
  started_at BIGINT,
  thread_id UUID NOT NULL,
  event_id UUID NOT NULL
);
CREATE INDEX erasures_by_due ON erasures (due_at);

-- Deleted warranties whose content can still be erased.
CREATE INDEX warranties_to_erase ON warranties (issuer_id, id) WHERE deleted_at IS NOT NULL AND product_name <> '';

-- +goose Down
DROP INDEX warranties_to_erase;
DROP TABLE erasures;
