-- +goose Up
-- The issuer's own id of a record. A deleted record frees it.
ALTER TABLE warranties ADD COLUMN external_id TEXT /*pg: COLLATE "C" */;
CREATE UNIQUE INDEX warranties_by_external_id ON warranties (issuer_id, external_id) WHERE external_id IS NOT NULL AND deleted_at IS NULL;

-- Indexes for imports of records without an external id. Each record is in one of the two.
CREATE INDEX warranties_by_serial ON warranties (issuer_id, serial_number /*pg: COLLATE "C" */, product_name /*pg: COLLATE "C" */)
  WHERE serial_number IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX warranties_by_content ON warranties (issuer_id, start_date, product_name /*pg: COLLATE "C" */)
  WHERE serial_number IS NULL AND deleted_at IS NULL;

-- +goose Down
DROP INDEX warranties_by_content;
DROP INDEX warranties_by_serial;
DROP INDEX warranties_by_external_id;
ALTER TABLE warranties DROP COLUMN external_id;
