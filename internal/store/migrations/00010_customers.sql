-- The customers of organizations (ADR 55).

-- Whom the organization account_id issued to, or whose claim it decides. key says who that is: 'e' and the email address,
-- or 'n' and the folded name if there is no address, or 'x' and the id once the person was erased. user_id is the account
-- that filed claims or took an offer, if it is known. folded_name is the name for comparing, search the words that a search
-- finds, and phone_digits the number's digits. A merged customer has merged_into and merged_at; head_id is the one that is
-- shown in its place, and its own id otherwise. last_contact_at is its own last contact, and recent_at, of the one that is
-- shown, the latest of all that were merged into it.
CREATE TABLE customers (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  key TEXT /*pg: COLLATE "C" */ NOT NULL,
  head_id UUID NOT NULL,
  merged_into UUID,
  merged_at BIGINT,
  user_id UUID,
  email TEXT,
  name TEXT,
  folded_name TEXT /*pg: COLLATE "C" */ NOT NULL,
  phone TEXT,
  phone_digits TEXT /*pg: COLLATE "C" */ NOT NULL DEFAULT '',
  note TEXT,
  search TEXT /*pg: COLLATE "C" */ NOT NULL,
  last_contact_at BIGINT NOT NULL,
  recent_at BIGINT NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX customers_by_key ON customers (key, account_id);
-- A search reads only this index on SQLite, where looking up the rows takes longer than comparing their texts.
CREATE INDEX customers_by_contact ON customers (account_id, recent_at, id /*sqlite: , folded_name, email, search */)
  WHERE merged_into IS NULL;
CREATE INDEX customers_merged ON customers (account_id, head_id) WHERE merged_into IS NOT NULL;
CREATE INDEX customers_by_name ON customers (account_id, folded_name);
CREATE INDEX customers_by_phone ON customers (account_id, phone_digits) WHERE phone_digits <> '';
CREATE INDEX customers_of_user ON customers (user_id, account_id) WHERE user_id IS NOT NULL;

-- customer_id is the issuer's customer. 1.0.0 does not write it, and records from before have none: the worker links those
-- of organizations.
ALTER TABLE warranties ADD COLUMN customer_id UUID;
CREATE INDEX warranties_of_customer ON warranties (issuer_id, customer_id, serial_number /*pg: COLLATE "C" */)
  WHERE customer_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX warranties_without_customer ON warranties (issuer_id, id) WHERE customer_id IS NULL AND deleted_at IS NULL
  AND (customer_email IS NOT NULL OR customer_name IS NOT NULL);

-- met is 1 once the organizations that decide the claim have its customer_id among their customers.
ALTER TABLE claims ADD COLUMN met SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX claims_to_meet ON claims (id) WHERE met = 0 AND customer_id IS NOT NULL;
CREATE INDEX claims_of_customer ON claims (customer_id) WHERE customer_id IS NOT NULL;
