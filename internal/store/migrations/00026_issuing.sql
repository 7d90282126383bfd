-- +goose Up
-- Issuing and handing over (ADR 32). The account that confirmed a record, as it is now, as its seller, and the
-- account that named the seller; NULL means the issuer. Sellers of earlier releases keep their role, but they
-- were never asked, so they have not confirmed.
ALTER TABLE warranties ADD COLUMN seller_id UUID;
ALTER TABLE warranties ADD COLUMN named_by UUID;

-- Records that an account declined to confirm or left as their seller, and accounts whose records it
-- declined altogether.
CREATE TABLE declined (
  account_id UUID NOT NULL,
  warranty_id UUID NOT NULL,
  PRIMARY KEY (account_id, warranty_id)
) /*sqlite: WITHOUT ROWID */;
CREATE TABLE declined_accounts (
  account_id UUID NOT NULL,
  from_id UUID NOT NULL,
  PRIMARY KEY (account_id, from_id)
) /*sqlite: WITHOUT ROWID */;

-- 1 for what a business uploaded, which other businesses may read too; 0 for what an owner uploaded. Earlier
-- releases leave it NULL and let everyone read it, until the worker decides.
ALTER TABLE documents ADD COLUMN business SMALLINT;
CREATE INDEX documents_undecided ON documents (id) WHERE business IS NULL;

-- The product and the purchase. customer_name and the hand-over are the issuer's. offered_at and taken_at are
-- those of the last hand-over.
ALTER TABLE warranties ADD COLUMN brand TEXT;
ALTER TABLE warranties ADD COLUMN model TEXT;
ALTER TABLE warranties ADD COLUMN gtin TEXT;
ALTER TABLE warranties ADD COLUMN purchase_date INTEGER;
ALTER TABLE warranties ADD COLUMN price TEXT;
ALTER TABLE warranties ADD COLUMN currency TEXT;
ALTER TABLE warranties ADD COLUMN customer_name TEXT;
ALTER TABLE warranties ADD COLUMN customer_email TEXT;
ALTER TABLE warranties ADD COLUMN offered_at BIGINT;
ALTER TABLE warranties ADD COLUMN offer_expires_at BIGINT;
ALTER TABLE warranties ADD COLUMN taken_at BIGINT;
-- For GS1 Digital Links.
CREATE INDEX warranties_by_gtin ON warranties (gtin, serial_number) WHERE gtin IS NOT NULL AND deleted_at IS NULL;

-- Codes that take a warranty from its issuer. email is the only address that can use the code; NULL for a
-- printed code. asked is 1 if the person at that address asked for the code, so that it also signs in. The
-- first one that is used ends the others; they stay, to tell that the warranty was taken.
CREATE TABLE handover_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  warranty_id UUID NOT NULL,
  email TEXT,
  asked SMALLINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at BIGINT
);
CREATE INDEX handover_codes_of_warranty ON handover_codes (warranty_id);
CREATE INDEX handover_codes_by_age ON handover_codes (expires_at);

-- Whom an issuer emailed an offer: nobody gets two for one warranty. taken_at is set once the person took
-- one, from when on their emails no longer count against the issuer's limit.
CREATE TABLE offers (
  warranty_id UUID NOT NULL,
  email TEXT NOT NULL,
  account_id UUID NOT NULL,
  at BIGINT NOT NULL,
  taken_at BIGINT,
  PRIMARY KEY (warranty_id, email)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX offers_of_account ON offers (account_id, at);
CREATE INDEX offers_taken ON offers (account_id, email) WHERE taken_at IS NOT NULL;

-- Domains of organizations. Several can ask for a domain, but only one has it verified. token is the text that
-- the DNS record must have. failing_since is the first of the checks that failed since the last good one; found
-- is what the last one found.
CREATE TABLE domains (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  domain TEXT /*pg: COLLATE "C" */ NOT NULL,
  token TEXT NOT NULL,
  by_operator SMALLINT NOT NULL,
  created_at BIGINT NOT NULL,
  verified_at BIGINT,
  checked_at BIGINT,
  failing_since BIGINT,
  found TEXT,
  UNIQUE (account_id, domain)
);
CREATE UNIQUE INDEX domains_verified ON domains (domain) WHERE verified_at IS NOT NULL;
CREATE INDEX domains_to_check ON domains (checked_at) WHERE verified_at IS NOT NULL AND by_operator = 0;

-- Templates for the warranties of an organization. folded_name is the name without regard to case; length_months is 0 for
-- a lifetime warranty.
CREATE TABLE products (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  name TEXT NOT NULL,
  folded_name TEXT /*pg: COLLATE "C" */ NOT NULL,
  brand TEXT,
  model TEXT,
  gtin TEXT,
  category TEXT,
  length_months INTEGER NOT NULL,
  terms TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX products_of_account ON products (account_id, folded_name);

-- Public halves of the keys that sign certificates (ADR 33). active is 1 for the one that is in use, and NULL
-- for earlier ones, which still verify what they signed unless they are revoked.
CREATE TABLE signing_keys (
  id TEXT NOT NULL PRIMARY KEY,
  public_key BYTEA NOT NULL,
  active SMALLINT UNIQUE,
  created_at BIGINT NOT NULL,
  retired_at BIGINT,
  revoked_at BIGINT
);

-- Work that goes on without the request that started it, with the session that started it. A worker has a
-- lease on an open job (state 1 or 4). job_records has what its rows created: a row creates one record.
CREATE TABLE jobs (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  user_id UUID NOT NULL,
  session_id UUID NOT NULL,
  kind TEXT NOT NULL,
  state SMALLINT NOT NULL,
  input TEXT NOT NULL,
  result TEXT NOT NULL,
  done BIGINT NOT NULL,
  total BIGINT NOT NULL,
  error TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  leased_until BIGINT NOT NULL,
  leased_by UUID,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX jobs_open ON jobs (leased_until) WHERE state IN (1, 4);
CREATE INDEX jobs_of_account ON jobs (account_id);
CREATE TABLE job_records (
  job_id UUID NOT NULL,
  row_number BIGINT NOT NULL,
  warranty_id UUID NOT NULL,
  PRIMARY KEY (job_id, row_number)
) /*sqlite: WITHOUT ROWID */;

-- +goose Down
DROP TABLE job_records;
DROP TABLE jobs;
DROP TABLE signing_keys;
DROP TABLE products;
DROP TABLE domains;
DROP TABLE offers;
DROP TABLE handover_codes;
DROP INDEX warranties_by_gtin;
ALTER TABLE warranties DROP COLUMN taken_at;
ALTER TABLE warranties DROP COLUMN offer_expires_at;
ALTER TABLE warranties DROP COLUMN offered_at;
ALTER TABLE warranties DROP COLUMN customer_email;
ALTER TABLE warranties DROP COLUMN customer_name;
ALTER TABLE warranties DROP COLUMN currency;
ALTER TABLE warranties DROP COLUMN price;
ALTER TABLE warranties DROP COLUMN purchase_date;
ALTER TABLE warranties DROP COLUMN gtin;
ALTER TABLE warranties DROP COLUMN model;
ALTER TABLE warranties DROP COLUMN brand;
DROP INDEX documents_undecided;
ALTER TABLE documents DROP COLUMN business;
DROP TABLE declined_accounts;
DROP TABLE declined;
ALTER TABLE warranties DROP COLUMN named_by;
ALTER TABLE warranties DROP COLUMN seller_id;
