-- +goose Up
-- Connected apps (ADR 41). A connection is a row of tokens with the client that it was granted to: its access tokens are
-- in token_secrets, and everything that ends tokens ends it. created_by is always set. client_host is the host that the
-- client proved or that got the authorization code.
ALTER TABLE tokens ADD COLUMN client_id TEXT;
ALTER TABLE tokens ADD COLUMN client_host TEXT;
CREATE INDEX tokens_of_person ON tokens (created_by, user_id, id) WHERE client_id IS NOT NULL;
CREATE INDEX tokens_of_client ON tokens (client_id) WHERE client_id IS NOT NULL;

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

-- +goose Down
DROP TABLE refresh_tokens;
DROP TABLE oauth_codes;
DROP TABLE oauth_requests;
DROP TABLE oauth_clients;
DROP INDEX tokens_of_client;
DROP INDEX tokens_of_person;
ALTER TABLE tokens DROP COLUMN client_host;
ALTER TABLE tokens DROP COLUMN client_id;
