-- +goose Up
-- The admin page (ADR 29). A failed email stays in the outbox with claimed_until in the year 9999,
-- so that no release sends it. failed_attempts equals attempts unless an attempt is in progress.
ALTER TABLE mails ADD COLUMN failed_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE mails ADD COLUMN last_error TEXT NOT NULL DEFAULT '';
ALTER TABLE mails ADD COLUMN failed_at BIGINT;
-- When the code in the email expires.
ALTER TABLE mails ADD COLUMN expires_at BIGINT;

-- Recent server errors of all replicas: failed requests, and failed tasks of the worker.
CREATE TABLE server_errors (
  at BIGINT NOT NULL,
  id UUID NOT NULL,
  replica TEXT NOT NULL,
  request_id TEXT /*pg: COLLATE "C" */ NOT NULL,
  source TEXT NOT NULL,
  status SMALLINT NOT NULL,
  user_id UUID,
  message TEXT NOT NULL,
  PRIMARY KEY (at, id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX server_errors_by_request ON server_errors (request_id);

-- The list of accounts, by page and in each of its orders.
CREATE INDEX users_listed ON users (id) WHERE deleted_at IS NULL;
CREATE INDEX users_by_sign_in ON users (COALESCE(last_sign_in_at, 0), id) WHERE deleted_at IS NULL;
CREATE INDEX users_by_email ON users (email /*pg: COLLATE "C" */, id) WHERE deleted_at IS NULL;

-- What operators did, by command (door 5) or on the admin page.
CREATE INDEX history_of_operators ON history (id) WHERE action >= 15 OR door = 5;

-- +goose Down
DROP INDEX history_of_operators;
DROP INDEX users_by_email;
DROP INDEX users_by_sign_in;
DROP INDEX users_listed;
DROP TABLE server_errors;
ALTER TABLE mails DROP COLUMN expires_at;
ALTER TABLE mails DROP COLUMN failed_at;
ALTER TABLE mails DROP COLUMN last_error;
ALTER TABLE mails DROP COLUMN failed_attempts;
