-- +goose Up
-- Reminders by choice (ADR 38). days are the numbers of days before the end, such as '30,7'; '' means no
-- reminders. Accounts without a row have the default. weekly is 1 for one email a week instead, and
-- weekly_sent the Monday of the last one.
CREATE TABLE reminder_choices (
  account_id UUID NOT NULL PRIMARY KEY,
  days TEXT NOT NULL,
  weekly SMALLINT NOT NULL,
  weekly_sent INTEGER NOT NULL
);
CREATE INDEX reminder_choices_weekly ON reminder_choices (weekly_sent) WHERE weekly = 1;

-- The choice of an account for one warranty.
CREATE TABLE record_reminders (
  warranty_id UUID NOT NULL,
  account_id UUID NOT NULL,
  days TEXT NOT NULL,
  PRIMARY KEY (warranty_id, account_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX record_reminders_of_account ON record_reminders (account_id);

-- What an account was reminded of: the smallest number of days so far. mailed_at is NULL until the email is
-- in the outbox. Older releases know only reminders, which is still written for owners.
CREATE TABLE reminded (
  ends INTEGER NOT NULL,
  account_id UUID NOT NULL,
  warranty_id UUID NOT NULL,
  stage SMALLINT NOT NULL,
  mailed_at BIGINT,
  PRIMARY KEY (ends, account_id, warranty_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX reminded_open ON reminded (account_id) WHERE mailed_at IS NULL;

-- Who can unsubscribe with an email: kind, account and person. NULL for emails that are always sent.
ALTER TABLE mails ADD COLUMN unsubscribe BYTEA;
-- The key of the addresses that unsubscribe. It is not in backups.
CREATE TABLE unsubscribe_keys (
  id SMALLINT NOT NULL PRIMARY KEY,
  value BYTEA NOT NULL
);
-- The emails that the contact address gets if no member does: bits as in users.mail_choices.
ALTER TABLE organizations ADD COLUMN contact_mails SMALLINT NOT NULL DEFAULT 7;

-- +goose Down
ALTER TABLE organizations DROP COLUMN contact_mails;
DROP TABLE unsubscribe_keys;
ALTER TABLE mails DROP COLUMN unsubscribe;
DROP TABLE reminded;
DROP TABLE record_reminders;
DROP TABLE reminder_choices;
