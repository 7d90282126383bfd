-- +goose Up
-- Emails with a code that someone waits for have their own queue.
ALTER TABLE mails ADD COLUMN urgent SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX mails_urgent ON mails (claimed_until, id) WHERE urgent = 1;

-- Emails are counted for the mailbox: an address without what its owner adds to it (warranty.Mailbox).
ALTER TABLE mail_log ADD COLUMN mailbox TEXT NOT NULL DEFAULT '';
CREATE INDEX mail_log_of_mailbox ON mail_log (mailbox, at);

-- +goose Down
DROP INDEX mail_log_of_mailbox;
ALTER TABLE mail_log DROP COLUMN mailbox;
DROP INDEX mails_urgent;
ALTER TABLE mails DROP COLUMN urgent;
