-- +goose Up
-- What an organization called itself before, latest first, as JSON: [{"name": "Halden", "until": "2026-11-18T09:00:00Z"}].
ALTER TABLE users ADD COLUMN former_names TEXT;
-- Finds each issuer of a product without reading all warranties of one.
CREATE INDEX warranties_of_product ON warranties (gtin, serial_number, issuer_id, id)
  WHERE gtin IS NOT NULL AND deleted_at IS NULL;
DROP INDEX warranties_by_gtin;

-- +goose Down
CREATE INDEX warranties_by_gtin ON warranties (gtin, serial_number) WHERE gtin IS NOT NULL AND deleted_at IS NULL;
DROP INDEX warranties_of_product;
ALTER TABLE users DROP COLUMN former_names;
