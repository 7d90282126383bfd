-- +goose Up
-- One file for both databases: text in a pg or sqlite comment applies to that database only, and
-- the types UUID and BYTEA become BLOB on SQLite (see dialect.go). Dates are days since 1970-01-01,
-- instants are microseconds, enums are the numbers of package warranty. Text that is compared is
-- folded in Go, so that both databases agree on what is equal.

CREATE TABLE users (
  id UUID NOT NULL PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  verified_at BIGINT,
  disabled_at BIGINT,
  created_at BIGINT NOT NULL
);

CREATE TABLE sessions (
  id UUID NOT NULL PRIMARY KEY,
  secret_hash BYTEA NOT NULL UNIQUE,
  user_id UUID NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_age ON sessions (expires_at);

-- Tokens change only when they are rotated or revoked. Writers lock the row to check that the token
-- is valid, so usage is stored elsewhere.
CREATE TABLE tokens (
  id UUID NOT NULL PRIMARY KEY,
  user_id UUID NOT NULL,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  scopes SMALLINT NOT NULL,
  rate_limit INTEGER NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT,
  created_at BIGINT NOT NULL
);
CREATE INDEX tokens_of_user ON tokens (user_id, id);

-- A token has one secret without an expiry and, while a rotation overlaps, older ones with an
-- expiry.
CREATE TABLE token_secrets (
  secret_hash BYTEA NOT NULL PRIMARY KEY,
  token_id UUID NOT NULL,
  expires_at BIGINT
);
CREATE INDEX token_secrets_of_token ON token_secrets (token_id);

CREATE TABLE token_usage (
  token_id UUID NOT NULL,
  day INTEGER NOT NULL,
  requests BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL,
  PRIMARY KEY (token_id, day)
) /*sqlite: WITHOUT ROWID */;

CREATE TABLE one_time_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  purpose SMALLINT NOT NULL,
  user_id UUID NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX one_time_codes_of_user ON one_time_codes (user_id, purpose);
CREATE INDEX one_time_codes_by_age ON one_time_codes (expires_at);

CREATE TABLE warranties (
  id UUID NOT NULL PRIMARY KEY,
  reference TEXT /*pg: COLLATE "C" */ NOT NULL UNIQUE,
  issuer_id UUID NOT NULL,
  product_name TEXT NOT NULL,
  description TEXT,
  serial_number TEXT,
  category TEXT,
  folded_category TEXT NOT NULL,
  supplier TEXT,
  seller_name TEXT,
  seller_email TEXT,
  start_date INTEGER NOT NULL,
  end_date INTEGER NOT NULL,
  standing SMALLINT NOT NULL,
  search TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT
);
CREATE INDEX warranties_by_seller_email ON warranties (seller_email, id) WHERE seller_email IS NOT NULL;

CREATE TABLE claims (
  id UUID NOT NULL PRIMARY KEY,
  claim_number TEXT /*pg: COLLATE "C" */ NOT NULL UNIQUE,
  warranty_id UUID NOT NULL,
  type SMALLINT NOT NULL,
  description TEXT NOT NULL,
  incident_date INTEGER NOT NULL,
  status SMALLINT NOT NULL,
  status_reason TEXT,
  resolution SMALLINT,
  resolution_note TEXT,
  replacement_serial_number TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  resolved_at BIGINT
);
CREATE INDEX claims_of_warranty ON claims (warranty_id, id);

-- storage_key is the file in the file store. It is never selected together with fields that are
-- shown.
CREATE TABLE documents (
  id UUID NOT NULL PRIMARY KEY,
  warranty_id UUID NOT NULL,
  claim_id UUID,
  uploader_id UUID NOT NULL,
  file_name TEXT NOT NULL,
  type SMALLINT NOT NULL,
  content_type TEXT NOT NULL,
  size_bytes BIGINT NOT NULL,
  sha256 BYTEA NOT NULL,
  storage_key TEXT NOT NULL UNIQUE,
  search TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX documents_of_warranty ON documents (warranty_id, id);

-- Who sees what: one row per user and record, with a copy of the columns that lists filter on.
-- Lists and single reads both use it, so they cannot disagree. kind: 1 warranty, 2 claim, 3
-- document. parent_id is the warranty.
CREATE TABLE access (
  user_id UUID NOT NULL,
  kind SMALLINT NOT NULL,
  item_id UUID NOT NULL,
  parent_id UUID NOT NULL,
  roles SMALLINT NOT NULL,
  status SMALLINT NOT NULL,
  start_date INTEGER NOT NULL,
  end_date INTEGER NOT NULL,
  category TEXT /*pg: COLLATE "C" */ NOT NULL,
  PRIMARY KEY (user_id, kind, item_id) /*pg: INCLUDE (parent_id, roles, status, start_date, end_date, category) */
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX access_of_warranty ON access (parent_id);

CREATE TABLE idempotency (
  user_id UUID NOT NULL,
  operation TEXT NOT NULL,
  key TEXT /*pg: COLLATE "C" */ NOT NULL,
  fingerprint BYTEA NOT NULL,
  response TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, operation, key)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- Emails are inserted in the transaction that causes them and sent by a worker. claimed_until
-- prevents two workers from sending the same one.
CREATE TABLE mails (
  id UUID NOT NULL PRIMARY KEY,
  address TEXT NOT NULL,
  subject TEXT NOT NULL,
  body TEXT NOT NULL,
  code TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  claimed_until BIGINT NOT NULL
);
CREATE INDEX mails_by_claim ON mails (claimed_until, id);

-- Events that happen once per database.
CREATE TABLE milestones (
  name TEXT NOT NULL PRIMARY KEY,
  reached_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE milestones;
DROP TABLE mails;
DROP TABLE idempotency;
DROP TABLE access;
DROP TABLE documents;
DROP TABLE claims;
DROP TABLE warranties;
DROP TABLE one_time_codes;
DROP TABLE token_usage;
DROP TABLE token_secrets;
DROP TABLE tokens;
DROP TABLE sessions;
DROP TABLE users;
