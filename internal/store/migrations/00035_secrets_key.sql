-- The ids of the keys that seal secrets (ADR 71). The keys are in files and nowhere else. active is 1 for the one that is in
-- use, and NULL for earlier ones: what they sealed cannot be opened.
CREATE TABLE secrets_keys (
  id TEXT NOT NULL PRIMARY KEY,
  active SMALLINT UNIQUE,
  created_at BIGINT NOT NULL,
  retired_at BIGINT
);
