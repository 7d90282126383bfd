-- +goose Up
-- The newest entry of a list that a process may have counted in a block. An entry inserted below it
-- increments the list's epoch, however late it is committed (see blocks.go).
ALTER TABLE list_epochs ADD COLUMN horizon UUID;

-- The last usage batch of each process. A batch whose commit seemed to fail is written again and
-- counted once.
CREATE TABLE usage_batches (
  writer UUID NOT NULL PRIMARY KEY,
  batch BIGINT NOT NULL,
  written_at BIGINT NOT NULL
);

-- The lowest schema version that a binary must support to run on this schema. A migration that
-- removes something raises it to the first version whose binaries do not use it.
CREATE TABLE schema_compatibility (
  oldest BIGINT NOT NULL
);
INSERT INTO schema_compatibility (oldest) VALUES (12);

-- +goose Down
DROP TABLE schema_compatibility;
DROP TABLE usage_batches;
ALTER TABLE list_epochs DROP COLUMN horizon;
