-- +goose Up
-- When a domain of a disabled or deleted organization was verified: others may verify it meanwhile. It is verified
-- again if the organization comes back and the domain is free.
ALTER TABLE domains ADD COLUMN released_at BIGINT;

-- Who printed a code, and for which organization. NULL for codes that were emailed.
ALTER TABLE handover_codes ADD COLUMN account_id UUID;
ALTER TABLE handover_codes ADD COLUMN made_by UUID;
CREATE INDEX handover_codes_printed ON handover_codes (account_id, made_by, warranty_id)
  WHERE account_id IS NOT NULL AND used_at IS NULL;

-- The code that stops a conversion, which was emailed to the present address of the account.
ALTER TABLE address_codes ADD COLUMN stop_hash BYTEA;
CREATE UNIQUE INDEX address_codes_by_stop ON address_codes (stop_hash) WHERE stop_hash IS NOT NULL;

-- +goose Down
DROP INDEX address_codes_by_stop;
ALTER TABLE address_codes DROP COLUMN stop_hash;
DROP INDEX handover_codes_printed;
ALTER TABLE handover_codes DROP COLUMN made_by;
ALTER TABLE handover_codes DROP COLUMN account_id;
ALTER TABLE domains DROP COLUMN released_at;
