-- +goose Up
-- What signed-in people do: offers of transfer, history, and the mails they want.

-- One open offer a warranty; a newer one replaces it.
CREATE TABLE transfers (
  warranty_id UUID NOT NULL PRIMARY KEY,
  code_hash BYTEA NOT NULL UNIQUE,
  expires_at BIGINT NOT NULL
);

-- Rows are only ever added. thread_id is the warranty, or the token, that a page
-- of history is about; subject_id is what was done something to.
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

-- Bits of warranty.MailChoices; 7 is all of them.
ALTER TABLE users ADD COLUMN mail_choices SMALLINT NOT NULL DEFAULT 7;

-- What was reminded of, so that it is once: stage is the days before the end, and
-- an end that was moved is another one.
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
