-- +goose Up
-- The newest entry of a list that a process may have counted in a block: an entry
-- that comes below it moves the list's epoch, however late it is committed (see
-- blocks.go).
ALTER TABLE list_epochs ADD COLUMN horizon UUID;

-- The last batch of usage that each process wrote: a batch whose commit was
-- reported as failed is written again and counted once.
CREATE TABLE usage_batches (
  writer UUID NOT NULL PRIMARY KEY,
  batch BIGINT NOT NULL,
  written_at BIGINT NOT NULL
);

-- The lowest schema that a binary has to know to run on this one. A migration that
-- takes something away raises it to the first schema whose binaries do without.
CREATE TABLE schema_compatibility (
  oldest BIGINT NOT NULL
);
INSERT INTO schema_compatibility (oldest) VALUES (12);

-- +goose Down
DROP TABLE schema_compatibility;
DROP TABLE usage_batches;
ALTER TABLE list_epochs DROP COLUMN horizon;
