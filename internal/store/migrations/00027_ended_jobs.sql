-- +goose Up
-- When a job was done or failed; undoing it keeps the time.
ALTER TABLE jobs ADD COLUMN ended_at BIGINT;

-- +goose Down
ALTER TABLE jobs DROP COLUMN ended_at;
