-- Six digits that take over a warranty, what was handed over, and what is chosen at the set-up.

-- The page that asked for a code by email, as a hash of the secret that only the page has. link_hash and code_hash are the
-- rows of offer_codes of the email: the link, and the six digits together with the secret of the page. tries counts what
-- was entered on the page.
CREATE TABLE asked_codes (
  page_hash BYTEA NOT NULL PRIMARY KEY,
  warranty_id UUID NOT NULL,
  email TEXT NOT NULL,
  link_hash BYTEA NOT NULL,
  code_hash BYTEA NOT NULL,
  tries INTEGER NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX asked_codes_of_warranty ON asked_codes (warranty_id, email);
CREATE INDEX asked_codes_by_age ON asked_codes (expires_at);

-- Warranties that an account transferred to someone else and no longer sees: what a line of "Handed over" shows. id is the
-- event in the history.
CREATE TABLE handed_over (
  account_id UUID NOT NULL,
  id UUID NOT NULL,
  warranty_id UUID NOT NULL,
  product_name TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (account_id, id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX handed_over_of_warranty ON handed_over (warranty_id);

-- What was chosen at the set-up, in at most one row. Settings of the operator go first (ADR 62). signup is 'open' or
-- 'closed'.
CREATE TABLE service_settings (
  one SMALLINT NOT NULL PRIMARY KEY,
  signup TEXT NOT NULL
);
