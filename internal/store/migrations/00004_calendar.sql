-- +goose Up
-- The secret URL of a user's calendar of end dates. A new one replaces it.
CREATE TABLE calendars (
  user_id UUID NOT NULL PRIMARY KEY,
  secret_hash BYTEA NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE calendars;
