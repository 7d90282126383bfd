-- +goose Up
-- Moves with every change of the person or their tokens that a credential shows,
-- for the tokens that processes remember (see credentials.go).
ALTER TABLE users ADD COLUMN credential_epoch BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE users DROP COLUMN credential_epoch;
