-- Serial numbers without case, spaces and dashes, the documents that former owners kept, and codes that were replaced.

-- How serial numbers are compared (ADR 59); see serialKey. SQLite compares rows of columns by an index, but not rows with
-- expressions, so that it has a column for it. 1.0.0 knows neither.
/*sqlite: ALTER TABLE warranties ADD COLUMN serial_key TEXT
  GENERATED ALWAYS AS (lower(replace(replace(serial_number, ' ', ''), '-', ''))) VIRTUAL; */
-- For imports of records without an external id.
CREATE INDEX warranties_by_serial_key ON warranties (issuer_id,
  /*pg: lower(replace(replace(serial_number, ' ', ''), '-', '') COLLATE "C"), product_name COLLATE "C" */
  /*sqlite: serial_key, product_name */)
  WHERE serial_number IS NOT NULL AND deleted_at IS NULL;
-- For product links.
CREATE INDEX warranties_by_product_key ON warranties (gtin,
  /*pg: lower(replace(replace(serial_number, ' ', ''), '-', '') COLLATE "C") */ /*sqlite: serial_key */, issuer_id, id)
  WHERE gtin IS NOT NULL AND deleted_at IS NULL;

-- Codes of offers that were cancelled or replaced, to tell those who still have them. giver_id can make another one.
-- expires_at is when the offer would have expired.
CREATE TABLE ended_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  warranty_id UUID NOT NULL,
  giver_id UUID NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX ended_codes_by_age ON ended_codes (expires_at);

-- What former owners kept when they transferred a warranty, they still see; see keepsDocument.
INSERT INTO access (user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category)
SELECT d.owner_id, 3, d.id, d.warranty_id, 1, 0, 0, 0, ''
FROM documents d JOIN users u ON u.id = d.owner_id JOIN warranties w ON w.id = d.warranty_id
WHERE d.claim_id IS NULL AND d.uploader_id = d.owner_id AND u.deleted_at IS NULL AND w.deleted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM access a WHERE a.user_id = d.owner_id AND a.item_id = d.warranty_id)
ON CONFLICT DO NOTHING;
INSERT INTO index_pending (list, item_id, n)
SELECT l.list, d.id, 1 FROM documents d JOIN index_lists l ON l.user_id = d.owner_id AND l.kind = 3
WHERE d.claim_id IS NULL AND d.uploader_id = d.owner_id
ON CONFLICT (list, item_id) DO UPDATE SET n = index_pending.n + 1;
