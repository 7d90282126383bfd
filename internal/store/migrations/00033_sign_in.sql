-- Sign-in that organizations accept (ADR 69).

-- method is the number of a warranty.SignInMethod and second that of a warranty.SecondFactor; both are 0 for sessions of
-- 1.0.0. confirmed_at is when the person last proved that they are the holder of the account: 0 is never. seen_at is
-- written at most every few minutes; 0 means created_at. identity_id is the identity of a provider that signed in.
-- program, system and network are what the person is told of the device: fixed words, and a masked address.
ALTER TABLE sessions ADD COLUMN method SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN second SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN confirmed_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN program TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN system TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN network TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN identity_id UUID;
CREATE INDEX sessions_of_identity ON sessions (identity_id) WHERE identity_id IS NOT NULL;

-- When the person of a session proved to the provider of an organization who they are. provider_id is the provider.
CREATE TABLE session_proofs (
  session_id UUID NOT NULL,
  account_id UUID NOT NULL,
  provider_id UUID NOT NULL,
  proved_at BIGINT NOT NULL,
  PRIMARY KEY (session_id, account_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX session_proofs_of_account ON session_proofs (account_id);
CREATE INDEX session_proofs_of_provider ON session_proofs (provider_id);

-- Sign-ins that are not complete. kind is the number of a store.FlowKind. flow_hash is that of the secret that continues
-- the flow, and browser_hash that of the cookie of the browser that started it; NULL for programs. user_id is who would
-- be signed in, if that is known. state is JSON, sealed if it has secrets.
CREATE TABLE sign_in_flows (
  flow_hash BYTEA NOT NULL PRIMARY KEY,
  kind SMALLINT NOT NULL,
  browser_hash BYTEA,
  user_id UUID,
  state BYTEA NOT NULL,
  tries INTEGER NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_flows_of_user ON sign_in_flows (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX sign_in_flows_by_age ON sign_in_flows (expires_at);

-- The handle of a person in the passkeys of their devices: 32 random bytes, made with the first passkey and never changed.
-- two_step_since is since when the person has two-step sign-in.
ALTER TABLE users ADD COLUMN passkey_handle BYTEA;
ALTER TABLE users ADD COLUMN two_step_since BIGINT;
CREATE UNIQUE INDEX users_by_passkey_handle ON users (passkey_handle) WHERE passkey_handle IS NOT NULL;

-- public_key is a COSE key. transports are separated by spaces. used_at is when it last signed in or confirmed.
CREATE TABLE passkeys (
  id UUID NOT NULL PRIMARY KEY,
  user_id UUID NOT NULL,
  name TEXT NOT NULL,
  credential_id BYTEA NOT NULL UNIQUE,
  public_key BYTEA NOT NULL,
  counter BIGINT NOT NULL,
  transports TEXT NOT NULL,
  backup_eligible SMALLINT NOT NULL,
  backed_up SMALLINT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT
);
CREATE INDEX passkeys_of_user ON passkeys (user_id, id);

-- The authenticator app of a person. sealed_secret is sealed with the key of --secrets-key. last_step is the latest time
-- step of which a code was accepted: earlier ones and this one are not accepted again.
CREATE TABLE totp (
  user_id UUID NOT NULL PRIMARY KEY,
  sealed_secret BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  confirmed_at BIGINT,
  last_step BIGINT NOT NULL
);

CREATE TABLE recovery_codes (
  user_id UUID NOT NULL,
  code_hash BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT,
  PRIMARY KEY (user_id, code_hash)
) /*sqlite: WITHOUT ROWID */;

-- Tries of second factors of a person since a time. what is the number of a store.FactorBudget. The rows outlive factors
-- that are removed, so that adding one again gives no new tries.
CREATE TABLE factor_tries (
  user_id UUID NOT NULL,
  what SMALLINT NOT NULL,
  since BIGINT NOT NULL,
  tries INTEGER NOT NULL,
  PRIMARY KEY (user_id, what)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX factor_tries_by_age ON factor_tries (since);

-- What works once: challenges of passkeys, ids of logout tokens. until is after which it is refused by its age anyway.
CREATE TABLE used_challenges (
  challenge_hash BYTEA NOT NULL PRIMARY KEY,
  until BIGINT NOT NULL
);
CREATE INDEX used_challenges_by_age ON used_challenges (until);

-- Who a person is to a provider. email is the address that the provider gave when it was linked: nothing is decided by it.
CREATE TABLE identities (
  id UUID NOT NULL PRIMARY KEY,
  provider_id UUID NOT NULL,
  subject TEXT /*pg: COLLATE "C" */ NOT NULL,
  user_id UUID NOT NULL,
  email TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT,
  UNIQUE (provider_id, subject),
  UNIQUE (user_id, provider_id)
);
