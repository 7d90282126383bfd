-- +goose Up
-- What an account is emailed about, gathered until it is due (ADR 48). kind: 1 a business changed the promise of a
-- warranty that the account owns. event_id is the first event in the history; sender_id and person_id caused it.
CREATE TABLE mail_notices (
  kind SMALLINT NOT NULL,
  account_id UUID NOT NULL,
  warranty_id UUID NOT NULL,
  sender_id UUID NOT NULL,
  person_id UUID NOT NULL,
  event_id UUID NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (kind, account_id, warranty_id, sender_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX mail_notices_by_due ON mail_notices (due_at);

-- +goose Down
DROP TABLE mail_notices;
