-- The desk of a business: its queue of claims.

-- waiting_since is since when a claim waits for whom it waits for. 1.0.0 does not write it: 0 means updated_at.
ALTER TABLE claims ADD COLUMN waiting_since BIGINT NOT NULL DEFAULT 0;
UPDATE claims SET waiting_since = updated_at;

-- Notes about a claim that only the members of an account read.
CREATE TABLE claim_notes (
  id UUID NOT NULL PRIMARY KEY,
  claim_id UUID NOT NULL,
  account_id UUID NOT NULL,
  user_id UUID,
  name TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX claim_notes_of_claim ON claim_notes (claim_id, account_id, id);
CREATE INDEX claim_notes_of_user ON claim_notes (user_id) WHERE user_id IS NOT NULL;
