-- +goose Up
-- The last good backup of this database and the last one that failed, in at most one row. duration is in
-- microseconds. lost_files are files of documents that the source no longer had.
CREATE TABLE backup_status (
  one SMALLINT NOT NULL PRIMARY KEY,
  succeeded_at BIGINT,
  duration BIGINT NOT NULL DEFAULT 0,
  size_bytes BIGINT NOT NULL DEFAULT 0,
  lost_files BIGINT NOT NULL DEFAULT 0,
  place TEXT NOT NULL DEFAULT '',
  failures BIGINT NOT NULL DEFAULT 0,
  failed_at BIGINT,
  error TEXT NOT NULL DEFAULT ''
);

-- +goose Down
DROP TABLE backup_status;
