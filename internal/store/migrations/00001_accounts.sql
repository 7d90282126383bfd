-- Accounts, who signs in, and what programs use.
--
-- One file serves both databases: text in a pg or sqlite comment is for that database only, and the types UUID and
-- BYTEA become BLOB on SQLite (see engine/dialect.go). Dates are days since 1970-01-01, times are microseconds since
-- then, and enums are the numbers of package warranty. Text that is compared is folded in Go, so that both databases
-- agree on what is equal.

-- The lowest schema version that a binary must support to run on this schema. A migration that removes something
-- raises it to the first version whose binaries do not use it.
CREATE TABLE schema_compatibility (
  oldest BIGINT NOT NULL
);
INSERT INTO schema_compatibility (oldest) VALUES (5);

-- People and organizations. kind: 1 person, 2 organization, which nobody signs in to: what refers to a user refers to
-- an account. mail_choices has the bits of warranty.MailChoices; 7 means all. credential_epoch is incremented by every
-- change that is visible in a credential, so that processes forget cached tokens (see credentials.go). set_aside_for:
-- an account whose address was never verified is set aside when the owner of the mailbox claims the address; it keeps
-- its records and names the account that may restore them. An account that was deleted keeps its row without personal
-- data, because shared records refer to it. language and zone are '' for automatic. former_names has what an
-- organization called itself before, latest first, as JSON: [{"name": "Halden", "until": "2026-11-18T09:00:00Z"}].
CREATE TABLE users (
  id UUID NOT NULL PRIMARY KEY,
  kind SMALLINT NOT NULL DEFAULT 1,
  email TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  former_names TEXT,
  password_hash TEXT NOT NULL,
  mail_choices SMALLINT NOT NULL DEFAULT 7,
  language TEXT NOT NULL DEFAULT '',
  zone TEXT NOT NULL DEFAULT '',
  credential_epoch BIGINT NOT NULL DEFAULT 0,
  set_aside_for UUID,
  verified_at BIGINT,
  disabled_at BIGINT,
  admin_since BIGINT,
  last_sign_in_at BIGINT,
  created_at BIGINT NOT NULL,
  deleted_at BIGINT
);
CREATE INDEX users_set_aside ON users (set_aside_for) WHERE set_aside_for IS NOT NULL;
-- The operator's list of accounts, by page and in each of its orders.
CREATE INDEX users_listed ON users (id) WHERE deleted_at IS NULL;
CREATE INDEX users_by_sign_in ON users (COALESCE(last_sign_in_at, 0), id) WHERE deleted_at IS NULL;
CREATE INDEX users_by_email ON users (email /*pg: COLLATE "C" */, id) WHERE deleted_at IS NULL;

-- Every address belongs to one account. A person has the one of their row in users, where it is also verified. id and
-- verified_at are set for organizations only.
CREATE TABLE addresses (
  email TEXT NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  id UUID,
  verified_at BIGINT
);
CREATE INDEX addresses_of_account ON addresses (account_id);

-- Codes that were emailed to an address which an organization wants to have. For the conversion of a person's account,
-- names has the names of the organization and of its first admin, and stop_hash is the code that stops it, which was
-- emailed to the present address of the account.
CREATE TABLE address_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  email TEXT NOT NULL,
  names TEXT,
  stop_hash BYTEA,
  expires_at BIGINT NOT NULL
);
CREATE INDEX address_codes_of_account ON address_codes (account_id);
CREATE INDEX address_codes_by_age ON address_codes (expires_at);
CREATE UNIQUE INDEX address_codes_by_stop ON address_codes (stop_hash) WHERE stop_hash IS NOT NULL;

-- What customers see of an organization. contact_mails are the emails that the contact address gets if no member does:
-- bits as in users.mail_choices.
CREATE TABLE organizations (
  id UUID NOT NULL PRIMARY KEY,
  website TEXT,
  contact_email TEXT,
  contact_phone TEXT,
  contact_mails SMALLINT NOT NULL DEFAULT 7
);

-- role: 1 admin, 2 member, 3 viewer, 0 removed. Writes for an organization hold the row of their member, and a removed
-- row is deleted once nothing holds it.
CREATE TABLE members (
  account_id UUID NOT NULL,
  user_id UUID NOT NULL,
  role SMALLINT NOT NULL,
  mail_choices SMALLINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, user_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX members_of_user ON members (user_id, account_id);

CREATE TABLE invitations (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  email TEXT NOT NULL,
  role SMALLINT NOT NULL,
  code_hash BYTEA NOT NULL UNIQUE,
  invited_by UUID NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  UNIQUE (account_id, email)
);
CREATE INDEX invitations_by_age ON invitations (expires_at);

-- Several organizations can ask for a domain, but only one has it verified. token is the text that the DNS record must
-- have. failing_since is the first of the checks that failed since the last good one; found is what the last one
-- found. released_at is when a domain of a disabled or deleted organization was verified: others may verify it
-- meanwhile, and it is verified again if the organization comes back and the domain is free.
CREATE TABLE domains (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  domain TEXT /*pg: COLLATE "C" */ NOT NULL,
  token TEXT NOT NULL,
  by_operator SMALLINT NOT NULL,
  created_at BIGINT NOT NULL,
  verified_at BIGINT,
  checked_at BIGINT,
  failing_since BIGINT,
  found TEXT,
  released_at BIGINT,
  UNIQUE (account_id, domain)
);
CREATE UNIQUE INDEX domains_verified ON domains (domain) WHERE verified_at IS NOT NULL;
CREATE INDEX domains_to_check ON domains (checked_at) WHERE verified_at IS NOT NULL AND by_operator = 0;

-- Who gets the emails of an account: a person; or the members of an organization who chose them, and otherwise its
-- contact address if it is verified.
CREATE VIEW recipients AS
SELECT u.id AS account_id, u.id AS user_id, u.name AS name, u.email AS email, u.mail_choices AS choices
  FROM users u WHERE u.kind = 1 AND u.verified_at IS NOT NULL AND u.disabled_at IS NULL
UNION ALL
SELECT m.account_id, m.user_id, u.name, u.email, m.mail_choices
  FROM members m JOIN users u ON u.id = m.user_id JOIN users o ON o.id = m.account_id
  WHERE m.role > 0 AND u.verified_at IS NOT NULL AND u.disabled_at IS NULL AND o.disabled_at IS NULL
UNION ALL
SELECT o.id, o.id, u.name, a.email, 7 - COALESCE((
    SELECT max(m.mail_choices & 1) + max(m.mail_choices & 2) + max(m.mail_choices & 4)
    FROM members m JOIN users p ON p.id = m.user_id
    WHERE m.account_id = o.id AND m.role > 0 AND p.verified_at IS NOT NULL AND p.disabled_at IS NULL), 0)
  FROM organizations o JOIN users u ON u.id = o.id JOIN addresses a ON a.email = o.contact_email AND a.account_id = o.id
  WHERE u.disabled_at IS NULL AND a.verified_at IS NOT NULL;

CREATE TABLE sessions (
  id UUID NOT NULL PRIMARY KEY,
  secret_hash BYTEA NOT NULL UNIQUE,
  user_id UUID NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_age ON sessions (expires_at);

CREATE TABLE one_time_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  purpose SMALLINT NOT NULL,
  user_id UUID NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX one_time_codes_of_user ON one_time_codes (user_id, purpose);
CREATE INDEX one_time_codes_by_age ON one_time_codes (expires_at);

-- Codes of links that make the first administrator. All of them end when the first account is made.
CREATE TABLE setup_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  expires_at BIGINT NOT NULL
);

-- Browsers and networks that an account has signed in from, as hashes.
CREATE TABLE devices (
  user_id UUID NOT NULL,
  device_hash BYTEA NOT NULL,
  seen_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, device_hash)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX devices_by_age ON devices (seen_at);

-- Tokens change only when they are rotated or revoked. Writers lock the row to check that the token is valid, so usage
-- is stored elsewhere. created_by is who made a token of an organization; NULL for the account itself. A connected app
-- (ADR 41) is a token with the client that it was granted to; client_host is the host that the client proved or that
-- got the authorization code.
CREATE TABLE tokens (
  id UUID NOT NULL PRIMARY KEY,
  user_id UUID NOT NULL,
  created_by UUID,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  scopes SMALLINT NOT NULL,
  rate_limit INTEGER NOT NULL,
  client_id TEXT,
  client_host TEXT,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT,
  created_at BIGINT NOT NULL
);
CREATE INDEX tokens_of_user ON tokens (user_id, id);
CREATE INDEX tokens_of_person ON tokens (created_by, user_id, id) WHERE client_id IS NOT NULL;
CREATE INDEX tokens_of_client ON tokens (client_id) WHERE client_id IS NOT NULL;

-- A token has one secret without an expiry and, while a rotation overlaps, older ones with one.
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

-- The last batch of usage that each process wrote. A batch whose commit seemed to fail is written again and counted
-- once.
CREATE TABLE usage_batches (
  writer UUID NOT NULL PRIMARY KEY,
  batch BIGINT NOT NULL,
  written_at BIGINT NOT NULL
);

-- The latest requests made with tokens, shown to their owner. One row is inserted per request, so the table is ordered
-- by time. route is the pattern, never the requested URL.
CREATE TABLE requests (
  at BIGINT NOT NULL,
  id UUID NOT NULL,
  token_id UUID NOT NULL,
  method TEXT NOT NULL,
  route TEXT NOT NULL,
  status SMALLINT NOT NULL,
  ms INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  address TEXT NOT NULL,
  client TEXT NOT NULL,
  door SMALLINT NOT NULL,
  PRIMARY KEY (at, id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX requests_of_token ON requests (token_id, id);

-- Clients that registered, and those described by a document at their id, which is kept until fresh_until.
-- redirect_uris has one address per line.
CREATE TABLE oauth_clients (
  id TEXT /*pg: COLLATE "C" */ NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  redirect_uris TEXT NOT NULL,
  fresh_until BIGINT,
  used_at BIGINT NOT NULL
);
CREATE INDEX oauth_clients_by_use ON oauth_clients (used_at);

-- Requests that wait for the decision of the person who is signed in with a session.
CREATE TABLE oauth_requests (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  session_id UUID NOT NULL,
  client_id TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  state TEXT NOT NULL,
  scopes BIGINT NOT NULL,
  challenge TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX oauth_requests_by_age ON oauth_requests (expires_at);

-- Authorization codes. Used ones are kept, because using one again ends the connection.
CREATE TABLE oauth_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  token_id UUID NOT NULL,
  redirect_uri TEXT NOT NULL,
  challenge TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at BIGINT
);
CREATE INDEX oauth_codes_by_age ON oauth_codes (expires_at);

-- Refresh tokens. Rotated ones are kept until they expire, because using one again ends the connection. parent_hash is
-- the one that was exchanged for this one.
CREATE TABLE refresh_tokens (
  secret_hash BYTEA NOT NULL PRIMARY KEY,
  token_id UUID NOT NULL,
  parent_hash BYTEA,
  expires_at BIGINT NOT NULL,
  rotated_at BIGINT
);
CREATE INDEX refresh_tokens_of_token ON refresh_tokens (token_id);
CREATE INDEX refresh_tokens_by_age ON refresh_tokens (expires_at);

-- The secret URL of an account's calendar of end dates. A new one replaces it. created_by is as for tokens.
CREATE TABLE calendars (
  user_id UUID NOT NULL PRIMARY KEY,
  secret_hash BYTEA NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  created_by UUID
);

-- Deleted accounts. Each is erased after due_at, in steps. An account that is enabled again loses its row; once
-- started_at is set, it is too late for that. thread_id and event_id are the last event of history that was looked at.
-- restorable says whether an admin of a deleted organization may restore it: not if an operator deleted it.
CREATE TABLE erasures (
  user_id UUID NOT NULL PRIMARY KEY,
  due_at BIGINT NOT NULL,
  started_at BIGINT,
  thread_id UUID NOT NULL,
  event_id UUID NOT NULL,
  restorable SMALLINT NOT NULL
);
CREATE INDEX erasures_by_due ON erasures (due_at);
