-- +goose Up
-- Claims are conversations (ADR 36). account_id is the account that the author acted for, owner_id the account
-- that owned the warranty then: only it and the businesses may read the message. side: 1 owner, 2 business.
-- user_id is NULL once the author was erased.
CREATE TABLE claim_messages (
  id UUID NOT NULL PRIMARY KEY,
  claim_id UUID NOT NULL,
  account_id UUID NOT NULL,
  user_id UUID,
  owner_id UUID NOT NULL,
  side SMALLINT NOT NULL,
  name TEXT NOT NULL,
  account TEXT,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX claim_messages_of_claim ON claim_messages (claim_id, id);
CREATE INDEX claim_messages_of_user ON claim_messages (user_id) WHERE user_id IS NOT NULL;

-- customer_id is the owner who shared name and address with the businesses by filing the claim or writing a
-- message. spoke is who wrote last since the status changed: ten times the status, plus 1 for the owner or 2 for
-- a business. It means nothing for another status, so that an older release may change the status. Access rows
-- of claims repeat it in start_date.
ALTER TABLE claims ADD COLUMN customer_id UUID;
ALTER TABLE claims ADD COLUMN spoke SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX access_spoke ON access (user_id, status, roles, start_date) WHERE kind = 2 AND start_date > 0;

-- The message that a document was sent with, and for documents of claims the owner of the warranty then: later
-- owners do not see them. Older releases leave both NULL.
ALTER TABLE documents ADD COLUMN message_id UUID;
ALTER TABLE documents ADD COLUMN owner_id UUID;

-- The member who works on a claim for an organization.
CREATE TABLE claim_assignees (
  claim_id UUID NOT NULL,
  account_id UUID NOT NULL,
  user_id UUID NOT NULL,
  PRIMARY KEY (claim_id, account_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX claim_assignees_of_member ON claim_assignees (account_id, user_id, claim_id);
CREATE INDEX claim_assignees_of_user ON claim_assignees (user_id);

-- Texts that an account uses again in messages.
CREATE TABLE saved_replies (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX saved_replies_of_account ON saved_replies (account_id, id);

-- +goose Down
DROP TABLE saved_replies;
DROP TABLE claim_assignees;
ALTER TABLE documents DROP COLUMN owner_id;
ALTER TABLE documents DROP COLUMN message_id;
DROP INDEX access_spoke;
ALTER TABLE claims DROP COLUMN spoke;
ALTER TABLE claims DROP COLUMN customer_id;
DROP TABLE claim_messages;
