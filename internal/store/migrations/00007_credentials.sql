-- +goose Up
-- Incremented by every change to a user or their tokens that is visible in a credential, to
-- invalidate tokens cached by processes (see credentials.go).
ALTER TABLE users ADD COLUMN credential_epoch BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE users DROP COLUMN credential_epoch;
