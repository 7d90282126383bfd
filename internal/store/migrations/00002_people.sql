-- +goose Up
-- Transfer offers, history, and email preferences.

-- One open offer per warranty. A newer one replaces it.
CREATE TABLE transfers (
  warranty_id UUID NOT NULL PRIMARY KEY,
  code_hash BYTEA NOT NULL UNIQUE,
  expires_at BIGINT NOT NULL
);

-- Rows are never updated or deleted. thread_id is the warranty or token whose history this is;
-- subject_id is the changed record.
CREATE TABLE history (
  thread_id UUID NOT NULL,
  id UUID NOT NULL,
  at BIGINT NOT NULL,
  actor_id UUID NOT NULL,
  actor TEXT NOT NULL,
  door SMALLINT NOT NULL,
  token_name TEXT,
  action SMALLINT NOT NULL,
  subject_id UUID NOT NULL,
  changes TEXT NOT NULL,
  PRIMARY KEY (thread_id, id)
) /*sqlite: WITHOUT ROWID */;

-- Bits of warranty.MailChoices; 7 means all.
ALTER TABLE users ADD COLUMN mail_choices SMALLINT NOT NULL DEFAULT 7;

-- Reminders that were sent, so that each is sent once. stage is the number of days before the end.
-- A changed end date gets new reminders.
CREATE TABLE reminders (
  subject_id UUID NOT NULL,
  stage SMALLINT NOT NULL,
  ends BIGINT NOT NULL,
  sent_at BIGINT NOT NULL,
  PRIMARY KEY (subject_id, stage, ends)
) /*sqlite: WITHOUT ROWID */;

-- +goose Down
DROP TABLE reminders;
ALTER TABLE users DROP COLUMN mail_choices;
DROP TABLE history;
DROP TABLE transfers;
