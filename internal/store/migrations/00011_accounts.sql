-- +goose Up
-- An account whose address was never verified is set aside when the owner of the mailbox claims the
-- address: it keeps its records, is disabled, and names the new account that may restore them.
ALTER TABLE users ADD COLUMN set_aside_for UUID;
CREATE INDEX users_set_aside ON users (set_aside_for) WHERE set_aside_for IS NOT NULL;

-- Browsers and networks that an account has signed in from, as hashes.
CREATE TABLE devices (
  user_id UUID NOT NULL,
  device_hash BYTEA NOT NULL,
  seen_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, device_hash)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX devices_by_age ON devices (seen_at);

-- Emails that one account caused to other users in the last day. topic is the claim or warranty
-- that the email is about; a digest has a row for each.
CREATE TABLE mail_log (
  sender_id UUID NOT NULL,
  at BIGINT NOT NULL,
  mail_id UUID NOT NULL,
  topic UUID NOT NULL,
  recipient TEXT NOT NULL,
  PRIMARY KEY (sender_id, at, mail_id, topic)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX mail_log_of_recipient ON mail_log (recipient, topic, at);
CREATE INDEX mail_log_by_age ON mail_log (at);

-- Changes that a user was not emailed about yet. One digest reports all of them.
CREATE TABLE mail_digest (
  user_id UUID NOT NULL,
  claim_id UUID NOT NULL,
  sender_id UUID NOT NULL,
  changes INTEGER NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, claim_id, sender_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX mail_digest_by_due ON mail_digest (due_at);

-- +goose Down
DROP TABLE mail_digest;
DROP TABLE mail_log;
DROP TABLE devices;
DROP INDEX users_set_aside;
ALTER TABLE users DROP COLUMN set_aside_for;
