-- How a person keeps their account (ADR 77).

-- Codes in security emails with which someone says, without signing in, that it was not them. email is the address that
-- the email went to: the account gets it back if it was changed since.
CREATE TABLE not_me_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  user_id UUID NOT NULL,
  email TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX not_me_codes_of_user ON not_me_codes (user_id);
CREATE INDEX not_me_codes_by_age ON not_me_codes (expires_at);

-- The session that asked for a person's new address, which alone can enter the code; NULL for other codes.
ALTER TABLE address_codes ADD COLUMN session_id UUID;
