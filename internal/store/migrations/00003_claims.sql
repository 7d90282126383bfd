-- Claims are conversations (ADR 36).

-- customer_id is the owner who shared name and address with the businesses by filing the claim or writing a message.
-- owner_id is the owner of the warranty when the claim was filed: later owners do not read what it says. spoke is who
-- wrote last since the status changed: ten times the status, plus 1 for the owner or 2 for a business. It means nothing
-- for another status. Access rows of claims repeat it in start_date.
CREATE TABLE claims (
  id UUID NOT NULL PRIMARY KEY,
  claim_number TEXT /*pg: COLLATE "C" */ NOT NULL UNIQUE,
  warranty_id UUID NOT NULL,
  owner_id UUID,
  customer_id UUID,
  type SMALLINT NOT NULL,
  description TEXT NOT NULL,
  incident_date INTEGER NOT NULL,
  status SMALLINT NOT NULL,
  status_reason TEXT,
  spoke SMALLINT NOT NULL DEFAULT 0,
  resolution SMALLINT,
  resolution_note TEXT,
  replacement_serial_number TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  resolved_at BIGINT
);
CREATE INDEX claims_of_warranty ON claims (warranty_id, id);

-- account_id is the account that the author acted for, owner_id the account that owned the warranty then: only it and
-- the businesses may read the message. side: 1 owner, 2 business. user_id is NULL once the author was erased.
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
