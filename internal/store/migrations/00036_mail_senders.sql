-- +goose Up
-- Emails to others are counted for the person who causes them as well, over all of their organizations. chosen is 1
-- if the person chose the address, as for an offer or an invitation.
ALTER TABLE mail_log ADD COLUMN person_id UUID;
ALTER TABLE mail_log ADD COLUMN chosen SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE mail_digest ADD COLUMN person_id UUID;
CREATE INDEX mail_log_of_person ON mail_log (person_id, at);

-- +goose Down
DROP INDEX mail_log_of_person;
ALTER TABLE mail_digest DROP COLUMN person_id;
ALTER TABLE mail_log DROP COLUMN chosen;
ALTER TABLE mail_log DROP COLUMN person_id;
