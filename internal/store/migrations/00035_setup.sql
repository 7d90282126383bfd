-- +goose Up
-- Codes of links that make the first administrator. All of them end when the first account is made.
CREATE TABLE setup_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  expires_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE setup_codes;
